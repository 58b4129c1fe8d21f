"""Links of the text, cells that others need, pictures: where a reader would be led wrong."""

import json
import re
import subprocess
import sys

import pytest
import slices
import svg_theme
from references import REFERENCES, ROOT, Book, stale
from sphinx_posenc import metadata

from posenc.book import widgets

HERE = "notebooks/01_first.ipynb"
FIGURE = '<a id="fig-a"></a>**Figure ?.** What it shows.'
EQUATION = '<a id="eq-a"></a>\n\n$$\na\n\\tag{?}\n$$'
TWO = "../book/references.md#two2020"


@pytest.fixture
def book(tmp_path):
    """Two chapters, a page and a reference, without files."""
    book = Book(tmp_path)
    book.add(HERE, ["# First steps", FIGURE, EQUATION])
    second = ["# Try the second", '<a id="ex-b"></a>**Exercise ?. By hand.** Do it.']
    book.add("notebooks/02_second.ipynb", second)
    book.add("index.md", ["# A page"])
    book.add(
        REFERENCES, ['- <a id="two2020"></a>**Two et al., 2020.** Bo Two. A book.']
    )
    return book


def test_what_a_link_leaves_out_is_filled_in_and_what_moved_is_numbered_anew(book):
    given = f"""[](#fig-a), [](#eq-a), [as 7.7](#fig-a), [](02_second.ipynb#ex-b), [](../index.md),
[Chapter 7](02_second.ipynb), []({TWO})

{FIGURE}

{EQUATION}"""
    stated = f"""[Figure 1.1](#fig-a), [(1.1)](#eq-a), [as 1.1](#fig-a), \
[Exercise 2.1](02_second.ipynb#ex-b), [A page](../index.md),
[Chapter 2](02_second.ipynb), [Two et al., 2020]({TWO})

{FIGURE}

{EQUATION}""".replace("?", "1.1")
    assert book.restate(HERE, given) == stated


def test_references_of_the_book_are_up_to_date():
    book = Book(ROOT)
    wrong = [path.name for path, _ in stale(book, book.titles)]
    assert wrong == [], "run make references"


def test_a_cell_needs_what_binds_or_changes_its_names_and_no_more():
    cells = ["import numpy as np", "x = [1]", "print(x)", "def f(n):\n    return n + k"]
    cells += ["k = 2", "x.append(2)", "y = np.ones(3)"]
    assert slices.needed(cells, "check(x)") == [1, 5]
    assert slices.needed(cells, "f(1)") == [3, 4]
    assert slices.needed(cells, "x = np.ones(2)") == [0]


# The kernel of a page, with what it sends on one line per cell; it replaces the main module.
KERNEL = """import json, sys, types
sent = []
page = sys.modules["page"] = types.ModuleType("page")
page.send = lambda message: sent.append(json.loads(message))
import kernel
for cell in json.load(sys.stdin):
    kernel.wanted(cell)
    error = json.loads(kernel.run(cell, "cell")).get("error")
    print([message["text"] for message in sent] or (error and error["line"]))
    sent.clear()
"""


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["from scipy import stats", "stats = 3", "stats"], "['3']"),
        (["from scipy import stats", "float(stats.norm.cdf(0))"], "['0.5']"),
        (["x = 1\n\ncompile('\\n' * 9 + '1 +', '', 'exec')"], "3"),
        (["x = 1\n\nfor"], "3"),
        (["import posenc", "import posenc.nn", "posenc.__name__"], "[\"'posenc'\"]"),
        # Its line is the import's, not that of the name that is missing then.
        (["from scipy import none", "none", "none"], "None"),
    ],
)
def test_a_page_s_kernel_keeps_a_name_s_value_and_an_error_s_line(cells, expected):
    command = [sys.executable, "-c", KERNEL]
    text = json.dumps(cells)
    run = subprocess.run(
        command, cwd=ROOT / "book/python", input=text, capture_output=True, text=True
    )
    assert run.stdout.splitlines()[-1] == expected, run.stderr


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    right = html.replace("./", "/the-book/").replace("plain", "/the-book/plain")
    assert metadata.from_anywhere(html, "https://example.org/the-book/") == right


def test_pictures_have_a_map_with_a_dark_zero_and_all_signs_of_formulas():
    svg = svg_theme.follow_theme(widgets.Heatmap(d_model=4, seq_len=4).picture())
    assert svg.count('<image class="map"') == svg.count("<image ") == 2
    formulas = svg_theme.follow_theme(widgets.Stretch().picture())
    defined = {*re.findall('<path id="(DejaVu[^"]*)"', formulas)}
    assert defined == {*re.findall('href="#(DejaVu[^"]*)"', formulas)} != set()
