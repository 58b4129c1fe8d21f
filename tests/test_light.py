"""Pages that were made light look as they did before, and a build of one change as a fresh one."""

import io

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


def without_glyphs(page):
    page.add_style_tag(content=".katex, [class*=fa-] { visibility: hidden }")


def menu(page):
    without_glyphs(page)
    page.click('[data-bs-toggle="dropdown"]')


def search(page):
    without_glyphs(page)
    page.keyboard.press("Control+k")


def sidebar(page):
    without_glyphs(page)
    page.click(".primary-toggle")


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


@pytest.mark.parametrize(
    ("scheme", "width", "act"),
    [
        ("light", 1280, without_glyphs),
        ("dark", 1280, menu),
        ("light", 390, sidebar),
        ("dark", 390, search),
    ],
)
def test_pages_look_the_same(browser, sites, width, act, scheme):
    assert apart(browser, sites, "index", scheme, width, act) <= 16


def test_formulas_and_icons_look_the_same(browser, sites):
    """A glyph that is missing, or of another font, differs by more than 100."""
    assert apart(browser, sites, "index", "light", 1280, as_it_is) <= 40


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.is_file()
    }


def test_a_build_of_one_change_is_a_fresh_one_to_the_byte(tmp_path):
    """A sentence, a title that other pages show: nothing is left of what was before."""
    source, built = small_site.write(tmp_path / "source"), tmp_path / "built"
    small_site.build(source, built)
    for page, old, new in (("plain.md", "never", "ever"), ("index.md", "# A page", "# Another")):
        path = source / page
        path.write_text(path.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
        small_site.build(source, built)
    fresh = small_site.build(source, tmp_path / "fresh", PYTHONHASHSEED="1")
    one, other = contents(built), contents(fresh)
    assert sorted(one) == sorted(other)
    assert [path for path, content in one.items() if other[path] != content] == []
