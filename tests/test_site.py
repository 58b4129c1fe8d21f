"""The built site: every link and anchor inside it resolves, and nothing is loaded from elsewhere.

The site is what `make book` left in ``_build/html``. CI builds it first; on a machine without one
these tests are skipped.
"""

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
LOADS = {"img": "src", "script": "src", "source": "src", "iframe": "src"}

pytestmark = pytest.mark.skipif(
    not PAGES and not os.environ.get("CI"), reason="no site was built: run `make book` first"
)


class Page(HTMLParser):
    """The links, anchors and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded, self.images = [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs.get("id"), attrs.get("name")} - {None}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "link" and "stylesheet" in attrs.get("rel", "").split():
            self.loaded.append(attrs["href"])
        if attrs.get(LOADS.get(tag)):
            self.loaded.append(attrs[LOADS[tag]])
        if tag == "img":
            self.images.append(attrs)


@cache
def page(path):
    return Page(path)


def local(links):
    return [urlsplit(link) for link in links if not urlsplit(link).scheme]


def test_the_site_is_there():
    assert (SITE / "index.html").is_file()
    assert len(PAGES) > 20


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_links_and_anchors_resolve(path):
    for link in local(page(path).links):
        target = (path.parent / unquote(link.path)).resolve() if link.path else path
        assert target.is_file(), f"dead link: {link.geturl()}"
        if link.fragment and target.suffix == ".html":
            assert unquote(link.fragment) in page(target).anchors, f"no anchor: {link.geturl()}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_nothing_is_loaded_from_elsewhere(path):
    assert len(local(page(path).loaded)) == len(page(path).loaded)
    for link in local(page(path).loaded):
        assert (path.parent / unquote(link.path)).resolve().is_file(), link.geturl()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_images_have_alt_text(path):
    assert [image["src"] for image in page(path).images if not image.get("alt")] == []
