"""What people type finds its section: the page's own ranking, over the index of the built site."""

import json

import pytest
from py_mini_racer import MiniRacer
from reading import text_of
from sphinx_posenc.search_index import read_asked

SCRIPTS = "minisearch", "words", "spelling", "ranking"  # as seek.js loads them
LINES = text_of("tests/searches.txt").splitlines()
TYPED = [line.rpartition(": ") for line in LINES if line and line[0] != "#"]
# The addresses of all hits, best first.
FIND = """(query) => JSON.stringify(
    bookSearch(query).results.map((hit) => `${hit.name}#${hit.anchor}`))"""
SECTIONS = """JSON.stringify(Object.entries(bookPages).flatMap(
    ([name, [, sections]]) => sections.map(([anchor]) => `${name}#${anchor}`)))"""


@pytest.fixture(scope="module")
def engine(site):
    """The search as the page has it."""
    with MiniRacer() as engine:
        index = (site / "searchindex.js").read_text("utf-8")
        engine.eval(f"window = globalThis; {index}")
        for script in SCRIPTS:
            engine.eval(text_of(f"book/_static/search/{script}.js"))
        yield engine


def test_searches_find_their_place(engine):
    """The page or section that a line names is among the first two hits."""
    wrong = {}
    for query, _, wanted in TYPED:
        hits = json.loads(engine.eval(f"({FIND})({json.dumps(query)})"))[:2]
        pages = [hit.partition("#")[0] for hit in hits]
        if not {*hits, *pages} & {*wanted.split()}:
            wrong[query] = hits
    assert wrong == {}


def test_how_people_ask_leads_to_sections_that_are_there(engine):
    """Phrases of a section that was renamed would be lost without a word."""
    asked = read_asked(text_of("book/asked.txt"))
    sections = {f"{page}#{anchor}" for page, anchor in asked}
    assert sections - {*json.loads(engine.eval(SECTIONS))} == set()
