"""Contrast of what the book draws, computed from its own styles, in both themes (WCAG 2.2)."""

import re
import sys
from configparser import ConfigParser
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from pygments.styles import get_style_by_name
from pygments.token import Text

from posenc import plots

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import figures  # noqa: E402
import highlighting  # noqa: E402

CSS = (ROOT / "book" / "_static" / "book.css").read_text(encoding="utf-8")
PAPER = {"light": "#ffffff", "dark": "#121212"}  # pages of the theme
INK = {"light": plots.INK, "dark": figures.DARK_INK}


def luminance(color):
    parts = mpl.colors.to_rgb(color)
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def color_of(theme, name):
    rules = re.search(rf'html\[data-theme="{theme}"\] {{(.*?)}}', CSS, re.DOTALL)[1]
    return re.search(rf"--{name}: (#\w+);", rules)[1]


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


@pytest.mark.parametrize("theme", PAPER)
def test_every_token_of_code_is_aaa(theme):
    ground = color_of(theme, "pst-color-surface")
    tokens = {token["color"] for _, token in code_style(theme) if token["color"]}
    faint = {color for color in tokens if contrast(f"#{color}", ground) < 7}
    assert len(tokens) > 5
    assert not faint
    assert contrast(color_of(theme, "pst-color-inline-code"), ground) >= 7


@pytest.mark.parametrize("theme", PAPER)
def test_tokens_without_an_element_have_the_color_of_text(theme):
    style = code_style(theme)
    for kind in highlighting.PLAIN:
        assert style.style_for_token(kind) == style.style_for_token(Text), kind


@pytest.mark.parametrize("theme", PAPER)
def test_text_of_links_buttons_and_figures(theme):
    accent = color_of(theme, "pst-color-primary")
    assert contrast(color_of(theme, "pst-color-link"), PAPER[theme]) >= 4.5
    assert contrast(color_of(theme, "pst-color-link-hover"), PAPER[theme]) >= 4.5
    assert contrast(color_of(theme, "on-primary"), accent) >= 4.5
    assert contrast(INK[theme], PAPER[theme]) >= 4.5


@pytest.mark.parametrize("theme", PAPER)
def test_words_in_the_colors_of_figures(theme):
    share = figures.SHARE / 100
    ink = np.array(mpl.colors.to_rgb(INK[theme]))
    for color in plots.COLORS:
        mixed = share * np.array(mpl.colors.to_rgb(color)) + (1 - share) * ink
        assert contrast(mixed, PAPER[theme]) >= 4.5, color
