"""Find and start the Chromium that tests and tools use."""

import os
import shutil
import sys

# As Debian, Ubuntu, Google and others call it.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def path():
    """Return the path of the browser that PLAYWRIGHT_CHROMIUM names, or an installed one."""
    candidates = [os.environ.get("PLAYWRIGHT_CHROMIUM"), *map(shutil.which, NAMES)]
    for candidate in candidates:
        if candidate:
            return candidate
    sys.exit("no Chromium found: install one, or set PLAYWRIGHT_CHROMIUM to its path")


def start(engine):
    """Start the browser, by an engine of Playwright, which closes it."""
    # Containers, as CI's, have no user namespaces for its sandbox.
    return engine.chromium.launch(executable_path=path(), args=["--no-sandbox"])


if __name__ == "__main__":
    print(path())
