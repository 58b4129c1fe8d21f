"""Pages as the site has them: the one without an address, pictures, and what the theme writes."""

import io
import re

import numpy as np
import pytest
import stacking
import svg_theme
from matplotlib.figure import Figure
from sphinx_posenc import metadata, theme

from posenc.book import plots


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    right = html.replace("./", "/the-book/").replace("plain", "/the-book/plain")
    assert metadata.from_anywhere(html, "https://example.org/the-book/") == right


def save(figure):
    """A figure as SVG."""
    file = io.StringIO()
    figure.savefig(file, format="svg")
    return file.getvalue()


def test_maps_get_a_dark_zero_and_other_images_dont():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    plots.heatmap([[np.nan, -1], [0, 1]], left)  # with a color bar, and an empty cell
    right.imshow([[0, 1]], cmap="gray")
    svg = svg_theme.follow_theme(save(figure))
    assert (svg.count('<image class="map"'), svg.count("<image ")) == (2, 3)


def test_formulas_keep_all_their_signs():
    figure = Figure()
    figure.text(0.1, 0.1, "0.12")  # with a sign of the formula
    figure.text(0.1, 0.9, r"$1 + \omega$")
    svg = svg_theme.set_words(save(figure))
    defined = re.findall('<path id="(DejaVu[^"]*)"', svg)
    assert {*defined} == {*re.findall('href="#(DejaVu[^"]*)"', svg)} != set()


def test_panels_are_stacked_whole_and_in_their_order():
    """Three panels in a row: the second has labels of its own, the third shows the first one's."""
    axes = "".join(
        f'\n  <g id="axes_{number}"><g id="patch_{number}"><path d="M {left} 200\n'
        f'L {left + 120} 200"/></g><g id="ytick_1"></g></g>'
        for number, left in enumerate([40, 200, 336], 1)
    )
    row = f'<svg viewBox="0 0 504 216">{axes}'
    style = stacking.stack(row).style
    moves = re.findall(r"#(\w+) \{.*scale\(1.60\) translate\((.*?)px, (.*?)px\)", style)
    assert moves == [
        ("axes_1", "0.0", "0.0"),
        ("axes_2", "-160.0", "226.0"),
        ("axes_3", "-296.0", "452.0"),
        ("again_2", "0.0", "452.0"),
    ]
    assert stacking.stack(f'{row}\n  <g id="text_9">') is None, "words for all panels"


# What the stylesheet draws: each is in some chapter.
DRAWN = [
    '<li class="further"><details>',
    '<span class="goes-further">',
    '<td class="words">',
    "<td>−",
    '<span class="interval" style="--mean:-',
    '<span class="outcome undecided">',
]


def test_pages_have_what_the_stylesheet_draws(site):
    pages = [path.read_text("utf-8") for path in site.glob("notebooks/*.html")]
    missing = [mark for mark in DRAWN if not any(mark in page for page in pages)]
    assert missing == [], "the theme writes something else: see theme.py"


@pytest.mark.parametrize(
    ("printed", "wraps"),
    [("One.\n\nTwo.", True), ("zeros     0.0", False), ("[1 2]\n[3 4]", False)],
)
def test_what_is_printed_wraps_unless_it_stands_in_columns(printed, wraps):
    output = '<div class="output stream x"><div class="highlight"><pre><span></span>'
    assert ("prose" in theme.adapted(f"{output}{printed}</pre>")) == wraps
