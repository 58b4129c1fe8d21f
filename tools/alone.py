"""Run a command, unless another make is at work in this directory: `python3 alone.py command …`.

The kernel drops the lock when the last process of the build has ended, however it ended, so that
none is left behind.
"""

import fcntl
import os
import sys

if __name__ == "__main__":
    try:
        lock = os.open(".lock", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("Another make is at work in this directory. Wait until it has ended, or stop it.")
    except OSError as error:
        sys.exit(f"{error}: copy the book to a directory that you can write to.")
    os.set_inheritable(lock, True)
    os.execvp(sys.argv[1], sys.argv[1:])
