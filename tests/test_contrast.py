"""Contrast of what the book draws, computed from its own styles, in both themes (WCAG 2.2)."""

from configparser import ConfigParser
from importlib.resources import files

import matplotlib as mpl
import numpy as np
import pytest
from pygments.styles import get_style_by_name
from pygments.token import Text
from sphinx_posenc import highlighting, svg_theme

from posenc import plots

INK = {"light": plots.INK, "dark": svg_theme.DARK_INK}
COLOR = """value => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = value;
    const paint = document.createElement("canvas").getContext("2d");
    paint.fillStyle = getComputedStyle(probe).color;
    paint.fillRect(0, 0, 1, 1);
    return Array.from(paint.getImageData(0, 0, 1, 1).data.slice(0, 3), (part) => part / 255);
}"""


@pytest.fixture(params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture
def color(browser, site, theme):
    """What a color of the style is on a page of this theme."""
    page = browser.new_page(color_scheme=theme)
    page.goto((site / "index.html").as_uri())
    yield lambda name: page.evaluate(COLOR, f"var(--{name})")
    page.close()


def luminance(color):
    parts = mpl.colors.to_rgb(color)
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def code_style(theme):
    conf = ConfigParser(interpolation=None)
    conf.read_string(
        files("pydata_sphinx_theme")
        .joinpath("theme/pydata_sphinx_theme/theme.conf")
        .read_text(encoding="utf-8")
    )
    return get_style_by_name(conf["options"][f"pygments_{theme}_style"])


def test_contrast_is_that_of_the_standard():
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_every_token_of_code_is_aaa(color, theme):
    ground = color("pst-color-surface")
    tokens = {f"#{token['color']}" for _, token in code_style(theme) if token["color"]}
    assert len(tokens) > 5
    assert {token for token in tokens if contrast(token, ground) < 7} == set()
    assert contrast(color("pst-color-inline-code"), ground) >= 7


def test_tokens_without_an_element_have_the_color_of_text(theme):
    style = code_style(theme)
    for kind in highlighting.PLAIN:
        assert style.style_for_token(kind) == style.style_for_token(Text), kind


def test_text_of_links_buttons_and_figures(color, theme):
    page = color("pst-color-background")
    for name in ("pst-color-link", "pst-color-link-hover"):
        assert contrast(color(name), page) >= 4.5, name
    assert contrast(color("on-primary"), color("pst-color-primary")) >= 4.5
    assert contrast(INK[theme], page) >= 4.5


@pytest.mark.parametrize("line", plots.COLORS)
def test_colors_of_figures(color, theme, line):
    """Lines stand out (3 to 1), and words in their colors, which the build mixes, can be read."""
    page, share = color("pst-color-background"), svg_theme.SHARE / 100
    assert contrast(line, page) >= 3
    ours, ink = (np.array(mpl.colors.to_rgb(each)) for each in (line, INK[theme]))
    mixed = share * ours + (1 - share) * ink
    assert contrast(mixed, page) >= 4.5


def test_what_a_cell_returns_stands_on_the_page(browser, site, theme):
    """The theme's own ground for it has too little contrast in the dark."""
    page = browser.new_page(color_scheme=theme)
    page.goto((site / "notebooks" / "02_second.html").as_uri())
    grounds = page.locator(".cell_output .text_html").evaluate_all(
        "all => all.map((output) => getComputedStyle(output).backgroundColor)"
    )
    page.close()
    assert grounds
    assert set(grounds) == {"rgba(0, 0, 0, 0)"}
