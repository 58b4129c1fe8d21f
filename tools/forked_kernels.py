"""Kernels of the tests are forks of one Python that has imported what chapters need.

Importing it takes longer than all else in most chapters. `make notebooks` doesn't use this: what
it stores comes from a fresh Python.
"""

import multiprocessing
import os

FORKS = multiprocessing.get_context("forkserver")
# Optimizers of torch import `torch._dynamo` at their first step.
NEEDED = ["ipykernel.kernelapp", "ipykernel.debugger", "matplotlib.pyplot", "torch._dynamo"]


class Kernel(FORKS.Process):
    """A fork that runs a kernel, with the names of `subprocess.Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, cmd, cwd=None, env=None, **kwargs):
        super().__init__(daemon=True)
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        FORKS.set_forkserver_preload(NEEDED)
        self.start_in = cmd[cmd.index("-f") :], cwd or os.getcwd(), env
        self.leads = FORKS.Event()
        self.start()
        self.leads.wait()

    def run(self):
        options, cwd, env = self.start_in
        os.setsid()  # signals go to the group that it leads
        self.leads.set()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        from ipykernel.kernelapp import launch_new_instance

        launch_new_instance(options)

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode

    def send_signal(self, signum):
        os.kill(self.pid, signum)
