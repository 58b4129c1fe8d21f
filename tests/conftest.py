"""Shared fixtures: the built site, a browser (named or installed), and pages in it."""

import os
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
from browser import start
from pages import SITE
from playwright.sync_api import expect, sync_playwright

expect.set_options(timeout=60_000)  # for busy machines
OURS = re.compile(r"(file|data|blob|about):|(http|ws)://(127\.0\.0\.1|localhost)[:/]")
# `make bench` installs transformers, and runs this.
if not find_spec("transformers"):
    collect_ignore = ["test_watch.py"]
# Skip where a prerequisite is missing; in CI, fail.
absent = pytest.fail if os.environ.get("CI") else pytest.skip


def pytest_collection_modifyitems(items):
    """Mark the tests that use the site or a browser."""
    for item in items:
        if {"browser", "site"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def site():
    """The folder of the built site."""
    if not (SITE / "index.html").exists():
        absent("no site was built: run `make book` first")
    return SITE


@pytest.fixture(scope="module")
def served(site):
    """The address of the built site."""
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def engine():
    """What starts browsers: one for all tests of a worker."""
    with sync_playwright() as engine:
        yield engine


@pytest.fixture(scope="session")
def browser(engine):
    """The installed Chromium."""
    try:
        return start(engine)
    except SystemExit as missing:
        absent(str(missing))


def windows(browser):
    """Yield a function that opens a page; fail on script errors and third-party requests."""
    contexts, wrong = [], []

    def note_line(line):
        if line.type == "error":
            wrong.append(f"{line.text} {line.location}")

    def note_request(request):
        if not OURS.match(request.url):
            wrong.append(f"gets {request.url}")

    def visit(address="about:blank", width=1280, height=800, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
            **{"reduced_motion": "reduce"} | options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.wrong = wrong
        # What a script throws, what it asks in a dialog, what the policy or the console
        # complains of, and what would come from another host.
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", note_line)
        page.on("request", note_request)
        page.goto(address)
        return page

    yield visit
    # A context that stays open would go on reporting, to the next test.
    for context in contexts:
        context.close()
    assert wrong == [], "script errors, policy violations, or requests to other hosts"


visit = pytest.fixture(windows)
# For pages that several tests share.
visit_all = pytest.fixture(windows, scope="module")


@pytest.fixture(scope="module")
def desk(visit_all):
    """One tab for tests that leave nothing behind but a page: a new one takes longer than most."""
    return visit_all()
