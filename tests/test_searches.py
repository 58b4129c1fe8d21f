"""What people type finds its section, and what answers link to is near, already before a build.

The page's search runs over the sources. Left out is the package's page, whose text stands in
docstrings: no query leads there.
"""

import json
import re
from pathlib import Path

import pytest
from docutils.nodes import make_id
from myst_parser.mdit_to_docutils.base import default_slugify
from py_mini_racer import MiniRacer
from sphinx_posenc.cross_references import Book
from sphinx_posenc.myst_markup import read_notebook
from sphinx_posenc.search_index import COMMON, NAME

ROOT = Path(__file__).parents[1]
TYPED = Path(__file__).with_name("searches.txt").read_text(encoding="utf-8")
EXCUSED = re.findall(r"^& (\S+): \S", TYPED, re.MULTILINE)
CODE = re.compile(r"^(```+)(?!\{).*?^\1$|^\$\$.*?^\$\$", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^:::\{index\} !(.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(\.\./(notebooks/\w+)\.ipynb#([\w-]+)\)")
MARKUP = re.compile(
    r"(?m)^[`:]{3,}.*$|^:\w[\w-]*:.*$|<[a-z/!][^>]*>|\]\([^)]*\)|[][`*|$]"
)


def written(cell):
    """A cell as Markdown, with what its code prints."""
    printed = "".join(
        "".join(output.get("text", "")) for output in cell.get("outputs", ())
    )
    is_code = cell["cell_type"] == "code"
    return f"```\n{cell['source']}\n{printed}\n```" if is_code else cell["source"]


def sections(path):
    """Anchor, title, other titles, text and code of each section, or term of the glossary."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^(\w.*)\n(?=  \w)", r"## term-\1\n", text, flags=re.MULTILINE)
    else:
        text = "\n\n".join(map(written, read_notebook(path)["cells"]))
    first, *others = re.split(r"^#{2,4} ", text, flags=re.MULTILINE)
    for part in ["\n" + first, *others]:
        title, _, body = part.partition("\n")
        title = MARKUP.sub("", title)
        anchor = (
            title.replace(" ", "-") if title.startswith("term-") else make_id(title)
        )
        code = " ".join(found[0] for found in CODE.finditer(body))
        plain = MARKUP.sub(" ", CODE.sub("", body))
        names = " ".join(
            sorted({*NAME.findall(code)} - {*NAME.findall(plain)} - COMMON)
        )
        yield (
            anchor,
            title.removeprefix("term-"),
            ", ".join(ENTRY.findall(body)),
            plain,
            names,
        )


@pytest.fixture(scope="module")
def index():
    """The sections of each page."""
    pages = {
        page: title
        for page, title in Book(ROOT).titles.items()
        if page != "book/api.md"
    }
    return {
        page.rpartition(".")[0]: [title, [*sections(ROOT / page)]]
        for page, title in pages.items()
    }


@pytest.fixture(scope="module")
def search(index):
    """A function that returns the page and anchor of each hit."""
    ask = "JSON.stringify(bookSearch({}).results.slice(0, 99).map((hit) => [hit.name, hit.anchor]))"
    with MiniRacer() as engine:
        engine.eval(f"var window = globalThis; window.bookPages = {json.dumps(index)}")
        for path in sorted((ROOT / "book" / "_static" / "search").glob("*.js")):
            engine.eval(path.read_text(encoding="utf-8"))
        yield lambda query: json.loads(engine.eval(ask.format(json.dumps(query))))


def test_searches_find_their_place(search):
    """One of the places that a line of searches.txt names is among the first two hits."""
    for line in (line for line in TYPED.splitlines() if line[:1] not in ("", "#", "&")):
        query, _, wanted = line.rpartition(": ")
        hits = search(query)[:2]
        found = {name for name, _ in hits} | {
            f"{name}#{anchor}" for name, anchor in hits
        }
        missed = (
            f"{query!r} finds {hits}: use its words on the page, best in the heading"
        )
        assert {*wanted.split()} & found, missed


@pytest.mark.parametrize("page", ["questions", "rope_in_production"])
def test_answers_link_to_sections_that_hold_their_words(index, search, page):
    """Of all sections of chapters, a search for question and sentence ranks the linked one high.

    In November 2026, 95 % of links were among the first 30; of links to random sections of other
    chapters 6 to 10 % were, of the same chapter 30 %. So it notices a wrong chapter.
    """
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
    for part in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]:
        question, _, answer = part.partition("\n")
        for sentence in re.split(r"\n\n|\n(?=\|)|(?<=[.?])\s+(?=[A-Z`[])", answer):
            links, query = (
                LINK.findall(sentence),
                MARKUP.sub(" ", f"{question} {sentence}"),
            )
            hits = (
                [hit for hit in search(query) if "notebooks/" in hit[0]]
                if links
                else []
            )
            for name, anchor in links:
                there = [
                    s[0] for s in index[name][1] if default_slugify(s[1]) == anchor
                ]
                if there and anchor not in EXCUSED and [name, *there] not in hits[:30]:
                    cure = (
                        f"link to {'#'.join(hits[0])}, or say what {name}#{anchor} is"
                    )
                    pytest.fail(f"{question}: {cure}, in its words", pytrace=False)
