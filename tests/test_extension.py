"""Pages as the site has them: the one without an address, pictures, and what the theme writes."""

import re
from types import SimpleNamespace

import pytest
import stacking
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_posenc import live_figures, metadata, optimization, rendering, theme


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    right = html.replace("./", "/the-book/").replace("plain", "/the-book/plain")
    assert metadata.from_anywhere(html, "https://example.org/the-book/") == right


def drawn_row(lefts, content=""):
    """A picture with panels that begin there, in matplotlib's SVG."""
    axes = "".join(
        f'\n  <g id="axes_{number}"><g id="patch_{number}"><path d="M {left} 200\n'
        f'L {left + 120} 200"/></g><g id="ytick_1"></g>{content}</g>'
        for number, left in enumerate(lefts, 1)
    )
    return f'<svg viewBox="0 0 504 216">{axes}'


def test_panels_are_stacked_whole_and_in_their_order():
    """Three panels in a row: the second has labels of its own, the third shows the first one's."""
    style = stacking.stack(drawn_row([40, 200, 336])).style
    moves = re.findall(r"#(\w+) \{.*scale\(1.85\) translate\((.*?)px, (.*?)px\)", style)
    assert moves == [
        ("axes_1", "0.0", "0.0"),
        ("axes_2", "-160.0", "226.0"),
        ("axes_3", "-296.0", "452.0"),
        ("again_2", "0.0", "452.0"),
    ]


def test_two_maps_with_one_axis_stay_beside_each_other():
    assert stacking.stack(drawn_row([40, 170], "<image/>")) == ("", 504 / 216, 1)
    for others in drawn_row([40, 170]), drawn_row([40, 200], "<image/>"):
        assert stacking.stack(others).scale > 1


def test_a_picture_that_is_stacked_keeps_its_own_style(tmp_path):
    picture = drawn_row([40, 200]).replace("<svg", '<svg width="504" height="216"')
    (tmp_path / "two.svg").write_text(f"{picture}</svg>", encoding="utf-8")
    html = '<img alt="Two" src="two.svg" style="width: 50%" />'
    sized = optimization.size_images(html, tmp_path / "page.html")
    assert 'width="504" height="216"' in sized
    assert re.findall('style="(.*?)"', sized) == ["--stacked: 0.778; width: 50%"]


@pytest.mark.parametrize(
    "source", ['src="none.png"', 'src=""', "src='a.png'", 'src="https://a/b.png"']
)
def test_an_image_without_a_size_is_named_with_its_page(tmp_path, source):
    with pytest.raises(ExtensionError, match=f"page.html.*{source}"):
        optimization.size_images(f"<img {source} />", tmp_path / "page.html")


STYLE = '<link rel="stylesheet" href="_static/book.css" />'
SCRIPT = '<script src="_static/page/tools.js"></script>'


@pytest.mark.parametrize(
    "more",
    [
        '<link href="_static/book.css" rel="stylesheet" />',
        '<script defer src="_static/page/tools.js"></script>',
        f"<p></p>{SCRIPT}",
    ],
)
def test_what_would_stay_beside_the_sites_style_and_script_is_an_error(tmp_path, more):
    (tmp_path / "_static" / "page").mkdir(parents=True)
    for name in "book.css", "page/tools.js":
        (tmp_path / "_static" / name).touch()
    page = tmp_path / "page.html"
    pages = {page: f"<title></title>{STYLE}{SCRIPT}"}
    optimization.merge(tmp_path, pages)
    assert re.findall(r"_static/(\w+).*?\.(\w+)\"", pages[page]) == [
        ("site", "css"),
        ("site", "js"),
    ]
    with pytest.raises(ExtensionError, match=r"page\.html"):
        optimization.merge(tmp_path, {page: f"<title></title>{STYLE}{SCRIPT}{more}"})


def test_a_live_figure_that_is_not_there_is_named_with_its_page():
    app = SimpleNamespace(env=SimpleNamespace(docname="book/try"))
    without_picture = nodes.container(cell_metadata={"figure": {"kind": "Heatmap"}})
    misspelled = nodes.image(classes=["live-heatmpa"])
    for part in without_picture, misspelled:
        with pytest.raises(ExtensionError, match=r"book/try.*(?i:heatm)"):
            live_figures.replace_outputs(app, nodes.container("", part))


# What pages and pictures need on a phone, in the dark, or from the stylesheet: each is in some.
DRAWN = [
    '<li class="further"><details>',
    '<span class="goes-further">',
    '<td class="words">',
    "<td>−",
    '<span class="interval" style="--mean:-',
    '<span class="outcome undecided">',
    '<image class="map" ',  # dark where values are about zero
    'id="again_',  # labels of stacked panels
]


def test_pages_and_pictures_have_what_they_need(site):
    pages = [path.read_text("utf-8") for path in site.glob("notebooks/*.html")]
    pictures = [path.read_text("utf-8") for path in site.glob("_images/*.svg")]
    all_texts = "".join(pages + pictures)
    missing = [mark for mark in DRAWN if mark not in all_texts]
    assert missing == [], "another theme or matplotlib: see theme.py, svg_theme.py"
    for picture in pictures:  # signs of formulas
        used = {*re.findall('href="#([^"]+)"', picture)}
        assert used <= {*re.findall(' id="([^"]+)"', picture)}


@pytest.mark.parametrize(
    ("printed", "wraps"),
    [("One.\n\nTwo.", True), ("zeros     0.0", False), ("[1 2]\n[3 4]", False)],
)
def test_what_is_printed_wraps_unless_it_stands_in_columns(printed, wraps):
    output = '<div class="output stream x"><div class="highlight"><pre><span></span>'
    assert ("prose" in theme.adapted(f"{output}{printed}</pre>")) == wraps


# None: as KaTeX draws it.
FORMULAS = {
    "x^2": "<i>x</i><sup>2</sup>",
    r"d_\text{model}": "<i>d</i><sub>model</sub>",
    "i + 1 = k": "<i>i</i> + 1 = <i>k</i>",
    r"\log 10{,}000": "log\u200910,000",
    r"x_{i,\,j}": "<i>x</i><sub><i>i</i>,\u2009<i>j</i></sub>",
    "a~b": "<i>a</i>\u00a0<i>b</i>",
    r"a,\ b": "<i>a</i>,\u00a0\u2009<i>b</i>",
    "x'": None,
    "x_2^3": None,
    r"a\quad b": None,
    r"a\!b": None,
    r"a\phantom{b}c": None,
    r"\textcolor{red}{x}": None,
    r"\pmb{x}": None,
    r"\mathbf{x}": None,
    r"{\scriptsize x}y": None,
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_text_only_where_that_looks_the_same(formula):
    html = rendering.render(formula, display=False)
    text = re.sub('.*<span class="[^"]*plain"[^>]*>|</span>', "", html)
    assert (None if "katex-html" in html else text) == FORMULAS[formula]
