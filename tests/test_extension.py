"""Pages as the site has them: the one without an address, pictures, and formulas."""

import re

import pytest
import stacking
from sphinx_posenc import metadata, rendering


def test_the_page_of_no_address_works_at_any_depth():
    html = '<html data-content_root="./"><a href="plain.html"><a href="#x"><img src="https://a/">'
    right = html.replace("./", "/the-book/").replace("plain", "/the-book/plain")
    assert metadata.from_anywhere(html, "https://example.org/the-book/") == right


def drawn_row(lefts):
    """A picture with panels that begin there, in matplotlib's SVG."""
    axes = "".join(
        f'\n  <g id="axes_{number}"><g id="patch_{number}"><path d="M {left} 200\n'
        f'L {left + 120} 200"/></g><g id="ytick_1"></g></g>'
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


def test_pictures_have_the_signs_that_they_use(site):
    for path in site.glob("_images/*.svg"):
        picture = path.read_text("utf-8")
        used = {*re.findall('href="#([^"]+)"', picture)}
        assert used <= {*re.findall(' id="([^"]+)"', picture)}


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
