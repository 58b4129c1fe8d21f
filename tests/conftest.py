"""What several tests need: the built site, a browser (named or installed), and windows in it."""

import os
import re

import pytest
from addresses import SITE
from browser import chromium

OURS = re.compile(r"(file|data|blob|about):|(http|ws)://(127\.0\.0\.1|localhost)[:/]")


def pytest_collection_modifyitems(items):
    """Mark what needs the site or a browser."""
    for item in items:
        if {"browser", "site"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker("browser")


# Where something isn't installed; in CI everything is.
absent = pytest.fail if os.environ.get("CI") else pytest.skip


@pytest.fixture(scope="session")
def site():
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        absent("no site was built: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a worker."""
    try:
        with chromium() as running:
            yield running
    except SystemExit as missing:
        absent(str(missing))


def windows(browser):
    """Give a function that opens a window; no script may fail, and no other host be asked."""
    opened, wrong = [], []

    def visit(address="about:blank", **options):
        usual = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
        page = browser.new_context(**usual | options).new_page()
        page.set_default_timeout(60_000)
        page.wrong = wrong
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("request", lambda made: OURS.match(made.url) or wrong.append(f"asks {made.url}"))
        opened.append(page.context)
        page.goto(address)
        return page

    yield visit
    for context in opened:
        context.close()
    assert wrong == [], "scripts of the page fail, its policy is broken, or another host is asked"


visit = pytest.fixture(windows)
visit_all = pytest.fixture(windows, scope="module")  # for windows that several tests look into
