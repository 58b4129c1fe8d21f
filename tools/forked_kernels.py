"""Kernels for the tests, each a fork of one process that has imported what chapters need.

Importing torch and matplotlib takes a Python three seconds, as long as all else in most chapters.
`make notebooks` doesn't use this: what is stored comes from a Python of its own.
"""

import multiprocessing
import os
import sys

from jupyter_client.provisioning import local_provisioner

FORKS = multiprocessing.get_context("forkserver")
# Optimizers of torch import `torch._dynamo` at their first step.
NEEDED = [
    "ipykernel.kernelapp",
    "ipykernel.debugger",
    "matplotlib.pyplot",
    "torch",
    "torch._dynamo",
]


def run(cmd, cwd, env, ready):
    """Be a kernel: lead a process group, which signals go to, and start as `cmd` would."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    ready.set()
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(cmd[cmd.index("-f") :])


class Kernel(FORKS.Process):
    """A process with the names of `subprocess.Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode

    def send_signal(self, signum):
        os.kill(self.pid, signum)


def launch_kernel(cmd, cwd=None, env=None, **kwargs):
    """Replace Jupyter's function of this name."""
    ready = FORKS.Event()
    env = {**env, "JPY_PARENT_PID": str(os.getpid())}
    kernel = Kernel(target=run, args=(cmd, cwd or os.getcwd(), env, ready), daemon=True)
    kernel.start()
    ready.wait()
    return kernel


def install():
    """Let the kernels of this process be forks; macOS's libraries don't survive one."""
    if sys.platform != "linux":
        return
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    FORKS.set_forkserver_preload(NEEDED)
    local_provisioner.launch_kernel = launch_kernel
