"""Optimized pages look the same as raw ones.

The site under test has two pages, with everything that the book has, and the book's own settings.

A missing glyph, or one of another font, differs by more than 100 of 255; what font hinting moves by
fractions of a pixel, by less than 40, at a quarter of the size.
"""

import io
import shutil

import pytest
import yaml
from PIL import Image, ImageChops
from playwright.sync_api import expect
from reading import ROOT, python, text_of
from sphinx_posenc import optimization

PAGES = "index.html", "plain.html"
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
# No blinking or fading in a screenshot.
STILL = "* { caret-color: transparent !important; transition: none !important }"
DRAWN = """async () => {
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode()));
    await document.fonts.ready;
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
}"""


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The two pages, built raw with the book's settings, and an optimized copy."""
    folder = tmp_path_factory.mktemp("sites") / "book"
    shutil.copytree(ROOT / "tests" / "small_site", folder)
    (folder / "book").symlink_to(ROOT / "book")
    book = yaml.safe_load(text_of("_config.yml"))
    config = book["sphinx"]["config"]
    config["html_context"]["doors"] = {"Everything": ["plain"]}
    config["html_optimized"] = False
    (folder / "_config.yml").write_text(yaml.safe_dump(book), encoding="utf-8")
    run = python("-c", JUPYTER_BOOK, "build", "-W", folder)
    assert run.returncode == 0, run.stderr
    raw = folder / "_build" / "html"
    light = shutil.copytree(raw, folder / "light")
    pages = {light / name: (light / name).read_text("utf-8") for name in PAGES}
    optimization.merge(light, pages)
    for path, html in pages.items():
        path.write_text(html, encoding="utf-8")
    return raw, light


def picture(page, site, press):
    """A full-page screenshot, optionally after a click that opens something."""
    page.goto((site / "index.html").as_uri())
    page.add_style_tag(content=STILL)
    if press:
        page.click(press)
        expect(page.get_by_text("Loading the index")).to_have_count(0)
    page.evaluate(DRAWN)
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


@pytest.mark.parametrize(
    ("scheme", "width", "press"), [("light", 1280, None), ("dark", 390, ".seek.small")]
)
def test_pages_look_the_same(visit, sites, scheme, width, press):
    page = visit(width=width, color_scheme=scheme)
    before, after = (picture(page, site, press) for site in sites)
    assert before.size == after.size
    difference = ImageChops.difference(before.reduce(4), after.reduce(4))
    assert max(high for _, high in difference.getextrema()) < 40
