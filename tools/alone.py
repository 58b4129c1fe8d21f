"""Run a command, unless another make is at work in this directory: `python3 alone.py command …`.

The kernel drops the lock when the last process of the build has ended, however it ended, so that
none is left behind.
"""

import fcntl
import os
import sys


def hold():
    """Take the lock, to the end of this process and of those that it starts, or exit."""
    try:
        lock = os.open(".lock", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        sys.exit(
            f"{os.getcwd()} can't be written to ({error}). Copy the book to a directory of yours."
        )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("Another make is at work in this directory. Wait until it has ended, or stop it.")
    os.set_inheritable(lock, True)


if __name__ == "__main__":
    hold()
    os.execvp(sys.argv[1], sys.argv[1:])
