"""Optimized pages look the same as raw ones.

The site under test has two pages, with everything that the book has, and the book's own settings.

Optimizing ships fonts with the glyphs alone that the pages use. The first comparison shows them:
they are drawn a little otherwise: a wider limit. In the others, text in these fonts (icons, math,
headings) is hidden, so that a narrower limit notices what a missing style would change.
"""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image, ImageChops
from sphinx_posenc import optimization

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.browser  # slow: builds a site; not for `make test PART=unit`
LEFT_OUT = {"jupyter_book", "sphinx_comments"}  # they need more than these pages


def settings():
    """The settings that conf.py would have."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config = book["sphinx"]["config"]
    config |= {
        "html_title": "A small site",
        "html_theme": "sphinx_book_theme",
        "html_optimized": False,
        "extensions": [name for name in config["extensions"] if name not in LEFT_OUT],
        "myst_enable_extensions": book["parse"]["myst_enable_extensions"],
        "nb_execution_mode": "off",
    }
    config["html_context"]["doors"] = {"Everything": ["plain"]}
    for name in ("html_static_path", "templates_path"):
        config[name] = [str(ROOT / path) for path in config[name]]
    return config


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The raw site, and the optimized one."""
    folder = tmp_path_factory.mktemp("small")
    raw, light = folder / "raw", folder / "light"
    code = f"globals().update({settings()!r})"
    (folder / "conf.py").write_text(code, encoding="utf-8")
    path = {"PYTHONPATH": f"{ROOT / 'book' / '_ext'}{os.pathsep}{ROOT / 'src'}"}
    source = ROOT / "tests" / "small_site"
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-c", folder, source, raw]
    subprocess.run(command, check=True, env=os.environ | path)
    shutil.copytree(raw, light)
    pages = {path: path.read_text("utf-8") for path in light.glob("*.html")}
    optimization.merge(light, pages)
    for path, html in pages.items():
        path.write_text(html, encoding="utf-8")
    return raw, light


def picture(page, site, press, opened, glyphs):
    """A full-page screenshot, optionally after a click that opens something."""
    page.goto((site / "index.html").as_uri())
    # No blinking or fading in the screenshot.
    still = "* { caret-color: transparent !important; transition: none !important }"
    page.add_style_tag(content=still)
    if not glyphs:  # text in fonts of which the optimized site has a part
        reduced = ".katex, [class*=fa-], h1, h2, h3, .navbar-brand"
        page.add_style_tag(content=f"{reduced} {{ visibility: hidden }}")
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    if press:
        page.click(press)
        page.wait_for_selector(opened)
    page.evaluate("document.fonts.ready")  # words in what has opened need theirs, too
    page.evaluate(
        "new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))"
    )
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


@pytest.mark.parametrize(
    ("scheme", "width", "press", "opened", "glyphs", "limit"),
    [
        # The limit is the largest difference of a channel, of 255.
        # A missing glyph, or one of another font, exceeds 100.
        ("light", 1280, None, None, True, 40),
        ("dark", 1280, "[popovertarget]", ":popover-open", False, 16),
        ("light", 390, ".primary-toggle", ".bd-sidebar-primary", False, 16),
        ("dark", 390, ".seek.small", "dialog.search input", False, 16),
    ],
)
def test_pages_look_the_same(visit, sites, scheme, width, press, opened, glyphs, limit):
    """Compared at a quarter of the size, since font hinting differs by fractions of a pixel."""
    page = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
    before, after = (picture(page, site, press, opened, glyphs) for site in sites)
    assert before.size == after.size
    difference = ImageChops.difference(before.reduce(4), after.reduce(4))
    assert max(high for _, high in difference.getextrema()) <= limit
