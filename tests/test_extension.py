"""Links of a page without an address, and pictures in the dark: as the site has them."""

import re

import svg_theme
from sphinx_posenc import metadata

from posenc.book import widgets


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
