"""What several tests need: a browser, the one that is named or installed, and a small site."""

import os
import shutil

import pytest
import small_site

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = "no Chromium: install one, or name it in PLAYWRIGHT_CHROMIUM"


def chromium():
    """Path of the browser, or None."""
    named = os.environ.get("PLAYWRIGHT_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_report_header():
    return f"browser: {chromium() or MISSING}"


def pytest_collection_modifyitems(config, items):
    """Name what needs a browser; what has a target of its own runs there alone."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    for name, target in {"timing": "make bench"}.items():
        if name not in config.option.markexpr:
            for item in filter(lambda item: item.get_closest_marker(name), items):
                item.add_marker(pytest.mark.skip(reason=f"run by `{target}`"))


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None and os.environ.get("CI"):
        pytest.fail(MISSING)
    if path is None:
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        running = engine.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The pages of the small site, made light."""
    folder = tmp_path_factory.mktemp("site")
    return small_site.build(small_site.write(folder / "source"), folder / "html")
