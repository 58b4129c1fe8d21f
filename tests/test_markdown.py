"""Chapters in plain Markdown: what the build makes of them, what it holds true, what it offers."""

import json

import pytest
import reading
from citations import labels
from downloads import resolve
from plain import to_myst
from stated import Book, differences

BIB = """
@article{one2020, author = {One, Ann}, title = {A}, journal = {J}, year = {2020}}
@article{two2020, author = {van Two, Bo and Three, Cy}, title = {B}, journal = {J}, year = {2020}}
@book{more, author = {One, A. and Two, B. and Three, C.}, title = {C}, year = {2019}}
@book{moreagain, author = {One, A. and Four, D. and Five, E.}, title = {D}, year = {2019}}
@misc{S0, title = {A document}, key = {S0}}
"""
FIRST = [
    "# First\n\nSee [](#fig-a), [](#eq-a), [](02_second.ipynb#fig-b) and [](02_second.ipynb).",
    ("code", "picture"),
    '<a id="fig-a"></a>**Figure ?.** What it *shows*.',
    'Then\n<a id="eq-a"></a>\n\n$$\na = b\n\\tag{?}\n$$\n\nand [](../book/references.md#two2020).',
    '<a id="tab-a"></a>**Table ?.** What it holds.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.',
    ":::{exercise}\n:label: ex-a\n\nTry.\n:::\n\n:::{solution} ex-a\n:class: dropdown\n\nSo.\n:::",
    ("code", "solution"),
    "Below, [the second](02_second.ipynb), `[](not.md)`, [chapter 7](02_second.ipynb).",
]
SECOND = [
    "# Second\n\n{numref}`fig-b`, {eq}`eq-a`, {doc}`01_first`, found {cite}`more,S0`:",
    ("code", "old"),
]


def cell(n, content):
    if isinstance(content, str):
        return {"cell_type": "markdown", "id": str(n), "metadata": {}, "source": content}
    kind = content[1]
    code = {"cell_type": "code", "id": str(n), "metadata": {}, "source": "1", "outputs": []}
    if kind == "solution":
        code["metadata"]["tags"] = ["solution"]
    else:
        code["outputs"] = [{"output_type": "display_data", "data": {"image/svg+xml": ""}}]
    if kind == "old":
        code["metadata"]["mystnb"] = {"figure": {"name": "fig-b", "caption": "An old one."}}
    return code


@pytest.fixture
def book(tmp_path):
    toc = "root: index\nparts: [{chapters: [{file: notebooks/01_first}, {file: notebooks/02_second}"
    (tmp_path / "_toc.yml").write_text(f"{toc}, {{file: book/references}}]}}]")
    (tmp_path / "index.md").write_text("# Home\n\nRead [](notebooks/01_first.ipynb).\n")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "references.md").write_text("# References\n")
    (tmp_path / "book" / "references.bib").write_text(BIB)
    (tmp_path / "notebooks").mkdir()
    for name, cells in (("01_first", FIRST), ("02_second", SECOND)):
        text = json.dumps({"cells": [cell(n, c) for n, c in enumerate(cells)]})
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(text)
    return Book(tmp_path)


def texts(book, name):
    path = f"notebooks/{name}.ipynb"
    cells = json.loads((book.root / path).read_text())["cells"]
    return [cell["source"] for cell in book.cells(path, cells) if cell["cell_type"] == "markdown"]


def test_labels_have_two_names_at_most_and_tell_apart(book):
    assert labels(book.root / "book" / "references.bib") == {
        "one2020": "One, 2020",
        "two2020": "van Two and Three, 2020",
        "more": "One et al., 2019a",
        "moreagain": "One et al., 2019b",
        "S0": "S0",
    }


def test_numbers_titles_and_labels_are_filled_in(book):
    first, caption, equation, table, _, last = texts(book, "01_first")
    assert "See [Figure 1.1](#fig-a), [(1.1)](#eq-a), [Figure 2.1](02_second.ipynb#fig-b)" in first
    assert "and [Second](02_second.ipynb)." in first
    assert caption.endswith("**Figure 1.1.** What it *shows*.")
    assert "\\tag{1.1}" in equation
    assert "[van Two and Three, 2020](../book/references.md#two2020)" in equation
    assert "**Table 1.1.**" in table
    assert last == (
        "Below, [the second](02_second.ipynb), `[](not.md)`, [chapter 2](02_second.ipynb)."
    )
    assert (
        book.page("index.md", "[](notebooks/01_first.ipynb)") == "[First](notebooks/01_first.ipynb)"
    )


def test_roles_and_captions_in_metadata_become_plain(book):
    text, caption = texts(book, "02_second")
    assert "[Figure 2.1](#fig-b), [(1.1)](01_first.ipynb#eq-a), [First](01_first.ipynb)" in text
    assert (
        "([One et al., 2019a](../book/references.md#more); [S0](../book/references.md#S0))" in text
    )
    assert caption == '<a id="fig-b"></a>**Figure 2.1.** An old one.'


def test_what_is_untrue_is_found(book):
    assert {page for page, *_ in differences(book)} == {"index.md", "notebooks/01_first.ipynb"}
    text = book.restate("notebooks/01_first.ipynb", "[Figure 7.7](#fig-a), [as shown](#fig-a)")
    assert text == "[Figure 1.1](#fig-a), [as shown](#fig-a)"


def test_the_build_gets_mysts_markup(book):
    path = book.root / "notebooks" / "01_first.ipynb"
    cells = list(
        to_myst(book.cells("notebooks/01_first.ipynb", json.loads(path.read_text())["cells"]))
    )
    source = [cell["source"] for cell in cells]
    assert cells[1]["metadata"]["mystnb"]["figure"] == {
        "name": "fig-a",
        "caption": "What it *shows*.",
    }
    assert not any("**Figure" in text for text in source)
    assert "$$\na = b\n$$ (eq-a)" in source[2]
    assert (
        ":::{table} What it holds.\n:name: tab-a\n\n| a | b |\n|---|---|\n| 1 | 2 |\n:::\n"
        in source[3]
    )
    assert source[4:8] == [
        ":::{exercise}\n:label: ex-a\n\nTry.\n:::\n\n",
        ":::{solution-start} ex-a\n:class: dropdown\n:::\n\nSo.",
        "1",
        ":::{solution-end}\n:::",
    ]


def test_a_download_needs_nothing_beside_it():
    text = "[First](01_first.ipynb#a), [(1.1)](#eq), [One, 2020](../book/references.md#one)"
    text += "\n\n::::{exercise}\n:label: x\n\nTry.\n\n:::{note}\nIt helps.\n:::\n::::"
    box = "\n\n> **Exercise**\n>\n> Try.\n>\n> > **Note**\n> >\n> > It helps."
    titles = {"notebooks/01_first.ipynb": "First"}
    assert resolve(text, "notebooks/x.ipynb", "", titles) == (
        "*First*, [(1.1)](#eq), One, 2020" + box
    )
    linked = resolve(text, "notebooks/x.ipynb", "https://book.test/", titles)
    assert "[First](https://book.test/notebooks/01_first.html#a)" in linked
    assert "(https://book.test/book/references.html#one)" in linked


def test_the_main_line_leaves_out_what_may_be_skipped():
    words = "word " * 199 + "word"
    cells = [
        cell(0, words),
        cell(1, f":::{{note}}\n{words}\n:::\n\n$$\nx\n$$\n\n| {words} |"),
        cell(2, ("code", "picture")) | {"source": "import os\n\n" + "x\n" * 12},
        cell(3, ("code", "solution"))
        | {"metadata": {"tags": ["hide-input"]}, "source": "x\n" * 24},
        cell(4, f"## Going further: more\n\n{words}\n\n### Still\n\n{words}"),
        cell(5, ("code", "picture")) | {"source": "x\n" * 12},
        cell(6, f"## Summary\n\n{words}"),
        cell(7, f"## Exercises\n\n{words}"),
    ]
    main, whole = reading.minutes(cells)
    assert main == pytest.approx(3, abs=0.02)
    assert whole == pytest.approx(7 + 4, abs=0.1)
