"""Find and start the Chromium that tests and tools use."""

import os
import shutil
import sys
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def path():
    """Return the path of the browser that PLAYWRIGHT_CHROMIUM names, or an installed one."""
    found = [os.environ.get("PLAYWRIGHT_CHROMIUM"), *map(shutil.which, NAMES)]
    missing = "no Chromium found: install one, or set PLAYWRIGHT_CHROMIUM to its path"
    return next(filter(None, found), None) or sys.exit(missing)


@contextmanager
def chromium():
    """Start the browser, and close it afterward."""
    with sync_playwright() as engine:
        running = engine.chromium.launch(executable_path=path(), args=["--no-sandbox"])
        yield running
        running.close()


if __name__ == "__main__":
    print(path())
