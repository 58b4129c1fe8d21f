"""Run a command, unless another make is at work in this directory: `python3 alone.py command …`.

The kernel drops the lock when the last process of the build has ended, however it ended, so that
none is left behind.
"""

import fcntl
import os
import sys

try:
    lock = open(".lock", "a")  # noqa: SIM115 - it is held to the end of the command
except OSError as error:
    sys.exit(f"{os.getcwd()} can't be written to ({error}). Copy the book to a directory of yours.")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit("Another make is at work in this directory. Wait until it has ended, or stop it.")
os.set_inheritable(lock.fileno(), True)
os.execvp(sys.argv[1], sys.argv[1:])
