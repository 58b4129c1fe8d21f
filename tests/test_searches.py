"""What people type finds its section: the page's own ranking, over the index of the built site."""

import json
from pathlib import Path

import pytest
from py_mini_racer import MiniRacer

SEARCH = Path(__file__).parents[1] / "book" / "_static" / "search"
LINES = Path(__file__).with_name("searches.txt").read_text("utf-8").splitlines()
TYPED = [line.rpartition(": ") for line in LINES if line and line[0] != "#"]


@pytest.fixture(scope="module")
def search(site):
    """A function that returns the addresses of all hits, best first."""
    with MiniRacer() as engine:
        engine.eval(f"window = globalThis; {(site / 'searchindex.js').read_text()}")
        engine.eval((SEARCH / "minisearch.js").read_text())
        engine.eval((SEARCH / "ranking.js").read_text())
        addresses = (
            "bookSearch({}).results.map((hit) => `${{hit.name}}#${{hit.anchor}}`)"
        )
        ask = f"JSON.stringify({addresses})"
        yield lambda query: json.loads(engine.eval(ask.format(json.dumps(query))))


def test_searches_find_their_place(search):
    """The page or section that a line names is among the first two hits."""
    for query, _, wanted in TYPED:
        hits = search(query)[:2]
        names = {*hits} | {hit.partition("#")[0] for hit in hits}
        assert names & {*wanted.split()}, f"{query!r} finds {hits}"
