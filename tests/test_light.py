"""Pages look the same before and after they are made light, and so does what a reader opens."""

import io
import shutil

import pytest
import small_site
from PIL import Image, ImageChops

# Nothing blinks or fades while a picture is taken.
CALM = "* { caret-color: transparent !important; transition: none !important }"


@pytest.fixture(scope="module")
def sites(site):
    """The pages as Sphinx writes them, and those that were made light."""
    raw = site.with_name("raw")
    return small_site.build(site.with_name("source"), raw, "-D", "html_optimized=0"), site


def as_it_is(page):
    pass


def without_formulas(page):
    page.add_style_tag(content=".katex { visibility: hidden }")


def menu(page):
    without_formulas(page)
    page.click('[data-bs-toggle="dropdown"]')


def search(page):
    without_formulas(page)
    page.keyboard.press("Control+k")


def sidebar(page):
    without_formulas(page)
    page.click(".primary-toggle")


def unfolded(page):
    without_formulas(page)
    page.click(".admonition.dropdown .admonition-title")


def picture(browser, site, name, scheme, width, act):
    """A page as it looks, from top to bottom, after a reader did something."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto((site / f"{name}.html").as_uri())
    page.add_style_tag(content=CALM)
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    page.evaluate("document.fonts.ready")
    act(page)
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    page.close()
    assert errors == []
    return shot


def apart(browser, sites, *view):
    """The greatest difference of a color, 0 to 255, between pictures at a quarter of their size.

    A glyph of a smaller font may differ by part of a pixel, by how the browser hints it.
    """
    before, after = (picture(browser, site, *view) for site in sites)
    assert before.size == after.size
    difference = ImageChops.difference(before.reduce(4), after.reduce(4))
    return max(high for _, high in difference.getextrema())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "width", "act"),
    [
        ("index", 390, without_formulas),
        ("index", 1280, without_formulas),
        ("index", 1280, menu),
        ("index", 390, sidebar),
        ("index", 390, search),
        ("index", 1280, unfolded),
        ("search", 1280, as_it_is),
        ("genindex", 390, as_it_is),
    ],
)
def test_pages_look_the_same(browser, sites, name, width, act, scheme):
    assert apart(browser, sites, name, scheme, width, act) <= 16


def test_formulas_look_the_same(browser, sites):
    """A glyph that is missing, or of another font, differs by more than 100."""
    assert apart(browser, sites, "index", "light", 1280, as_it_is) <= 40


def test_two_builds_are_the_same_to_the_byte(site, tmp_path):
    """Not in another folder, nor in another order of Python's sets, does anything differ."""
    source = shutil.copytree(site.with_name("source"), tmp_path / "elsewhere" / "source")
    again = small_site.build(source, tmp_path / "built", PYTHONHASHSEED="1")
    first, second = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        for folder in (site, again)
    )
    assert [*first] == [*second]
    assert [path for path, content in first.items() if second[path] != content] == []
