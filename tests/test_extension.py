"""Unit tests of the book's Sphinx extension: text, code and addresses."""

import re

import pytest
from sphinx_posenc import metadata, slices, svg_theme
from sphinx_posenc.cross_references import Book

from posenc.book import widgets

HERE = "notebooks/01_first.ipynb"
REFERENCES = "../book/references.md"
SITE = "https://example.org/the-book"
BIB = """
@article{two2020, author = {van Two, Bo and Three, Cy}, title = {B}, journal = {J}, year = {2020}}
@misc{more, author = {One, A. and Two, B. and Three, C.}, title = {C}, year = {2019}}
"""
FIRST = [
    "# First steps",
    '<a id="fig-a"></a>**Figure ?.** What it shows.',
    '<a id="tab-a"></a>**Table ?.** What it holds.\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    '<a id="eq-a"></a>\n\n$$\na\n\\tag{?}\n$$',
]


@pytest.fixture
def book(tmp_path):
    """Two chapters and a page, without files."""
    (tmp_path / "_toc.yml").write_text("root: none", encoding="utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "references.bib").write_text(BIB, encoding="utf-8")
    book = Book(tmp_path)
    book.add(HERE, FIRST)
    book.add(
        "notebooks/02_second.ipynb", ["# Try the second", FIRST[1].replace("-a", "-b")]
    )
    book.add("index.md", ["# A page"])
    return book


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        ("[](#fig-a), [](#tab-a)", "[Figure 1.1](#fig-a), [Table 1.1](#tab-a)"),
        ("[](#eq-a), [equation 7.7](#eq-a)", "[(1.1)](#eq-a), [equation 1.1](#eq-a)"),
        (
            "[as shown](#fig-a), [as 7.7](#fig-a)",
            "[as shown](#fig-a), [as 1.1](#fig-a)",
        ),
        ("[](02_second.ipynb#fig-b)", "[Figure 2.1](02_second.ipynb#fig-b)"),
        ("[](../index.md)", "[A page](../index.md)"),
        ("[Chapter 7](02_second.ipynb)", "[Chapter 2](02_second.ipynb)"),
        ("[chapter\n7](02_second.ipynb)", "[chapter\n2](02_second.ipynb)"),
        ("[Its\ntitle](02_second.ipynb)", "[Try\nthe second](02_second.ipynb)"),
        (f"[]({REFERENCES}#more)", f"[One et al., 2019]({REFERENCES}#more)"),
        (
            f"[]({REFERENCES}#new)",
            f"[?new: add it to book/references.bib]({REFERENCES}#new)",
        ),
        ("`[](#fig-a)`, ![](#fig-a), [a](), \\[](#fig-a)\n```\n[](#fig-a)\n```",) * 2,
        (
            "```{figure} a\n```\n[](#fig-a)\n",
            "```{figure} a\n```\n[Figure 1.1](#fig-a)\n",
        ),
        (FIRST[1], FIRST[1].replace("?", "1.1")),
        (FIRST[3], FIRST[3].replace("?", "1.1")),
    ],
)
def test_what_a_link_leaves_out_is_filled_in(book, given, stated):
    assert book.restate(HERE, given) == stated


def test_a_link_to_an_anchor_that_does_not_exist_names_the_nearest(book):
    thread = "[vllm#1](https://github.com/vllm-project/vllm/pull/2)"
    book.add(
        "notebooks/02_second.ipynb", ["[](01_first.ipynb#fig-aa)\n[](#no)", thread]
    )
    other, first, second = book.dead_links("notebooks/02_second.ipynb")
    assert other.endswith("[vllm#1] leads to vllm#2")
    assert first.endswith(
        "notebooks/01_first.ipynb has no #fig-aa; the nearest is #fig-a"
    )
    assert "has no #no" in second
    assert [*book.dead_links(HERE)] == []


def test_cells_that_need_torch_have_no_button():
    cells = {
        "import numpy as np\nimport torch\ntorch.set_num_threads(1)": False,
        "x = torch.ones(2)": True,
        "def f():\n    return x": True,
        "for x in range(3):\n    print(x)": False,
        "exec('torch.ones(1)')": True,
    }
    assert dict(zip(cells, slices.needing_torch(cells), strict=True)) == cells
    assert [*slices.needing_torch(["x = 1", "y = x"], [0])] == [True, True]


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    assert metadata.from_anywhere(html, f"{SITE}/") == (
        '<html data-content_root="/the-book/"><a href="/the-book/plain.html"><a href="#x">'
        '<img src="https://a/">'
    )


def test_pictures_have_the_typeface_of_the_page_and_a_map_with_a_dark_zero():
    svg = svg_theme.follow_theme(widgets.Heatmap(d_model=4, seq_len=4).picture())
    assert {"position", "column", "−0.50"} <= {
        *re.findall(r"<text [^>]*>(.*?)</text>", svg)
    }
    assert svg.count('<image class="map"') == svg.count("<image ") == 2
    assert "DejaVu" not in svg
    formulas = svg_theme.follow_theme(widgets.Stretch().picture())
    defined = {*re.findall('<path id="(DejaVu[^"]*)"', formulas)}
    assert defined == {*re.findall('href="#(DejaVu[^"]*)"', formulas)} != set()


def test_panels_stack_on_a_phone():
    two, one = widgets.Words().picture(), widgets.Heatmap().picture()
    assert (
        svg_theme.stack(one)
        is svg_theme.stack(two.replace("axes_2", "legend_1"))
        is None
    )
    styles, ratio = svg_theme.stack(two)
    assert re.findall(r"^(#\w+).*scale\(1\.60\)", styles, re.M) == [
        "#axes_1",
        "#axes_2",
    ]
    assert ratio == pytest.approx(504 / (2 * 230.4 * 1.6))
    below, beside = (
        f'{two}\n  <g id="legend_1"><path d="M 99.0 {y} "/>' for y in (229.9, 9.9)
    )
    assert "#legend_1" in svg_theme.stack(below)[0]
    assert svg_theme.stack(beside) is None
    styles, _ = svg_theme.stack(widgets.Switch().picture())  # labels at the left one
    assert re.findall(r"^#\w+", styles, re.MULTILINE)[:3] == [
        "#axes_1",
        "#axes_2",
        "#axes_3",
    ]


def test_a_cell_needs_what_binds_or_changes_its_names_and_no_more():
    cells = [
        "import numpy as np\nnp.set_printoptions(precision=4)",
        "x = [1]",
        "print(x)",
        "def f(n):\n    return n + k",
        "k = 2",
        "x.append(2)",
        "y = np.ones(3)",
    ]
    assert slices.needed(cells, "check(x)") == [1, 5]
    assert slices.needed(cells, "f(1)") == [3, 4]
    assert slices.needed(cells, "x = np.ones(2)") == [0]
