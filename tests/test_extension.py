"""Links of a page without an address, and pictures in the dark: as the site has them."""

import base64
import io
import re
import tracemalloc

import numpy as np
import pytest
import stacking
import svg_theme
from docutils import nodes
from matplotlib.figure import Figure
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image
from sphinx_posenc import folds, metadata, theme

from posenc.book import plots, widgets


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    right = html.replace("./", "/the-book/").replace("plain", "/the-book/plain")
    assert metadata.from_anywhere(html, "https://example.org/the-book/") == right


def test_a_map_gets_a_dark_zero():
    svg = svg_theme.follow_theme(widgets.Heatmap(d_model=4, seq_len=4).picture())
    assert svg.count('<image class="map"') == svg.count("<image ") == 2


def test_a_map_with_empty_cells_gets_a_dark_zero():
    figure, file = Figure(), io.StringIO()
    plots.heatmap([[np.nan, -1], [0, 1]], figure.subplots(), colorbar=False)
    figure.savefig(file, format="svg")
    assert '<image class="map"' in svg_theme.follow_theme(file.getvalue())


def test_a_photo_is_no_map_and_fits_in_a_page_s_memory():
    """A page's Python has little; all pairs of a photo's colors took 400 MB."""
    pixels = np.random.default_rng(0).integers(256, size=(200, 200, 3))
    file = io.BytesIO()
    Image.fromarray(pixels.astype("uint8")).save(file, "png")
    data = base64.b64encode(file.getvalue()).decode()
    photo = f'<image xlink:href="data:image/png;base64,\n{data}" id="image1"/>'
    tracemalloc.start()
    marked = svg_theme.IMAGE.sub(svg_theme.mark_map, photo)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert marked == photo
    assert most < 20e6


def test_words_stay_bold_and_formulas_keep_all_their_signs():
    figure, file = Figure(), io.StringIO()
    figure.text(0.1, 0.1, "0.12")  # with a sign of the formula
    figure.text(0.1, 0.5, "1.00", weight="bold")
    figure.text(0.1, 0.9, r"$1 + \omega$")
    figure.savefig(file, format="svg")
    svg = svg_theme.set_words(file.getvalue())
    words = re.findall("<text .*?</text>", svg)
    assert ["bold" in word for word in words] == [False, True]
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
    style, ratio = stacking.stack(row)
    moves = re.findall(r"#(\w+) \{.*scale\(1.60\) translate\((.*?)px, (.*?)px\)", style)
    assert moves == [
        ("axes_1", "0.0", "0.0"),
        ("axes_2", "-160.0", "226.0"),
        ("axes_3", "-296.0", "452.0"),
        ("again_2", "0.0", "452.0"),
    ]
    assert ratio == 504 / ((3 * 216 + 2 * 10) * 1.6)
    assert stacking.stack(f'{row}\n  <g id="text_9">') is None
    # A last panel with other labels than the first one's gets no copy of these.
    assert "again" not in stacking.stack(f'{row}<g id="ytick_2">').style


@pytest.mark.parametrize(
    ("line", "label"),
    [("ALiBi's slopes", "ALiBi's slopes"), ("Draw PCA", "draw PCA"), ("", "")],
)
def test_a_picture_s_code_follows_it_and_names_keep_their_capitals(line, label):
    code = HideCodeCellNode("", nodes.literal_block("", f"# {line}\nplot()"))
    cell = nodes.container("", code, nodes.container("", nodes.image()))
    folds.fold_code(code)
    assert cell[-1].next_node(folds.Summary).astext() == f"Code: {label}"


def test_contents_gather_sections_that_go_further():
    entry = '<li class="toc-h2 x"><a href="#a">Going further: a</a>'
    below = '<ul class="x">\n<li class="toc-h3 x">b</li>\n</ul>\n'
    gathered = theme.grouped(f"{entry}</li>\n{entry}{below}</li>\n")
    assert gathered.count("Going further") == 1
    assert "toc-h3" not in gathered


def test_cells_of_tables_draw_intervals_and_have_true_minus_signs():
    drawn = theme.adapted("<td>-0.016 ± 0.024 undecided</td>")
    assert 'style="--mean:-0.016;--reach:0.024"' in drawn
    assert '</span><span class="outcome undecided">undecided</span></span>' in drawn
    assert "<td>−0.016 " in drawn
    for words in ("16 × base 500,000", "rotary", "ALiBi", "lower bound", "openai/gpt"):
        assert theme.adapted(f"<td>{words}</td>").startswith('<td class="words">')
    for number in ("+0.59 higher", "undecided", "0.042 (0.038–0.044)"):
        assert "words" not in theme.adapted(f"<td>{number}</td>")
    assert '<td>-a</td><td>2.40 <span class="reach">±' in theme.adapted(
        "<td>-a</td><td>2.40 ± 0.02</td>"
    )


@pytest.mark.parametrize(
    ("printed", "wraps"),
    [(words, True) for words in ("gemma-2-2b: 13 × base 10,000", "One.\n\nTwo.")]
    + [(columns, False) for columns in ("zeros     0.0", "[1 2]\n[3 4]", "  1\n 10")],
)
def test_what_is_printed_wraps_unless_it_stands_in_columns(printed, wraps):
    output = '<div class="output stream x"><div class="highlight"><pre><span></span>'
    assert ("prose" in theme.adapted(f"{output}{printed}</pre>")) == wraps
