"""Searches that readers make, on the built site: each finds its place among the first three hits.

The page's own script ranks, as it does for a reader. Where no site was built, this is skipped.
"""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "_build" / "html" / "search.html"
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))
FIRST = 3
# What `Search.query` shows, best first; the script sorts from worst to best.
ASK = """queries => queries.map((query) =>
    Search._performSearch(...Search._parseQuery(query)).reverse()
        .map(([page, title, anchor]) => page + anchor))"""


@cache
def anchors(page):
    """Sections and index entries of a page, in their order."""
    html = (PAGE.parent / f"{page}.html").read_text(encoding="utf-8")
    return re.findall(r'<section[^>]* id="([^"]+)"|id="(index-\d+)"', html)


def section_of(hit):
    """Where a hit leads: for an index entry, the section that it stands in."""
    page, _, anchor = hit.partition("#")
    if not anchor.startswith("index-"):
        return hit
    before = anchors(page)[: anchors(page).index(("", anchor))]
    return f"{page}#{[section for section, _ in before if section][-1]}"


def is_met(wanted, hits):
    """Whether a hit is what is wanted; if that is a page, any place on it will do."""
    return any(wanted in (hit, hit.partition("#")[0]) for hit in hits)


@pytest.fixture(scope="module")
def hits(browser):
    """The first hits of each search, from one page that is loaded once."""
    if not PAGE.exists():
        pytest.skip("no site was built: run `make book` first")
    tab = browser.new_page()
    tab.goto(f"{PAGE.as_uri()}?q=order")
    tab.wait_for_function("Search.hasIndex()")
    found = tab.evaluate(ASK, list(SEARCHES))
    tab.close()
    first = [[section_of(hit) for hit in each[:FIRST]] for each in found]
    return dict(zip(SEARCHES, first, strict=True))


def test_there_are_many_searches():
    assert len(SEARCHES) >= 80


def test_searches_find_their_place(hits):
    missed = {
        query: f"wanted {wanted}, found {hits[query]}"
        for query, wanted in SEARCHES.items()
        if not any(is_met(place, hits[query]) for place in wanted.split())
    }
    assert missed == {}
