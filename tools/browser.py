"""The Chromium that the tools look and print with."""

import os
import shutil
import sys
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def path():
    """Where the browser is that is named, or else installed."""
    found = [os.environ.get("PLAYWRIGHT_CHROMIUM"), *map(shutil.which, NAMES)]
    missing = "no Chromium: install one, or name it in PLAYWRIGHT_CHROMIUM"
    return next(filter(None, found), None) or sys.exit(missing)


@contextmanager
def chromium():
    """Start it, and stop it."""
    with sync_playwright() as engine:
        running = engine.chromium.launch(executable_path=path(), args=["--no-sandbox"])
        yield running
        running.close()


if __name__ == "__main__":
    print(path())
