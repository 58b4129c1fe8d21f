"""Kernels of the tests are forks of one Python that has imported what chapters need.

Importing it takes longer than all else in most chapters. `make notebooks` doesn't use this: what
it stores comes from a fresh Python.
"""

import multiprocessing
import os

FORKS = multiprocessing.get_context("forkserver")
# Optimizers of torch import `torch._dynamo` at their first step.
FORKS.set_forkserver_preload(
    ["ipykernel.kernelapp", "ipykernel.debugger", "matplotlib.pyplot", "torch._dynamo"]
)


def run(options, cwd, env, leads):
    """Be a kernel, which leads a process group: signals go to that."""
    os.setsid()
    leads.set()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(options)


def launch(cmd, cwd=None, env=None, **_):
    """Start a kernel as `cmd` would; return it with the names of `subprocess.Popen`."""
    leads = FORKS.Event()
    given = cmd[cmd.index("-f") :], cwd or os.getcwd(), env, leads
    kernel = FORKS.Process(target=run, args=given, daemon=True)
    kernel.start()
    leads.wait()
    kernel.poll, kernel.wait = lambda: kernel.exitcode, kernel.join
    kernel.stdin = kernel.stdout = kernel.stderr = None
    return kernel
