"""Pages load little, and look as they did before they were made light."""

import base64
import hashlib
import io
import re
import shutil

import pytest
import small_site
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from PIL import Image, ImageChops
from rjsmin import jsmin
from sphinx_posenc.optimization import used_rules

# Nothing blinks or fades while a picture is taken.
CALM = "* { caret-color: transparent !important; transition: none !important }"


@pytest.fixture(scope="module")
def sites(site):
    """The pages as Sphinx writes them, and those that were made light."""
    raw = site.with_name("raw")
    return small_site.build(site.with_name("source"), raw, "-D", "html_optimized=0"), site


@pytest.fixture(scope="module")
def pages(sites):
    """The pages of both, as nodes."""
    names = [path.relative_to(sites[1]) for path in sites[1].rglob("*.html")]
    return [
        {n.as_posix(): BeautifulSoup((site / n).read_text("utf-8"), "html.parser") for n in names}
        for site in sites
    ]


@pytest.fixture(scope="module")
def css(sites):
    return next(sites[1].glob("_static/site.*.css")).read_text("utf-8")


def addresses(page, tag):
    name = {"link": "href", "script": "src"}[tag]
    found = page.select("link[rel=stylesheet], script[src]" if tag == "link" else "script[src]")
    return [each[name].rpartition("/")[2].partition("?")[0] for each in found if each.name == tag]


def test_a_page_loads_one_style_and_one_script_named_by_what_is_in_them(sites, pages):
    for name, page in pages[1].items():
        (style,), (script, *others) = (addresses(page, tag) for tag in ("link", "script"))
        for file in (style, script):
            digest = hashlib.sha256((sites[1] / "_static" / file).read_bytes()).hexdigest()
            assert re.fullmatch(rf"site\.{digest[:10]}\.(css|js)", file)
        searching = ["searchtools.js", "language_data.js"]
        assert others == (searching if name == "search.html" else [])
        assert page.select("script[src]")[0].parent is page.body
        assert page.select("link[rel=preload], link[rel=modulepreload]") == []
        ask = [s.text for s in page.select("head script") if "document.fonts.load" in s.text]
        assert len(ask) == bool(page.select(".katex"))
        assert all('load("1em KaTeX_Main");' in code for code in ask)


def test_the_script_is_what_all_pages_ran(sites, pages):
    code = next(sites[1].glob("_static/site.*.js")).read_text("utf-8")
    before = [addresses(page, "script") for page in pages[0].values()]
    for file in {*before[0]}.intersection(*before):
        (path,) = (sites[0] / "_static").rglob(file)
        assert jsmin(path.read_text("utf-8"), keep_bang_comments=True) in code
    assert "pagename" not in "".join(str(page) for page in pages[1].values())


RULES = {
    ".a{color:red}": ".a{color:red}",
    ".b{color:red}.a .b,p.b{top:0}": "",
    ".a .b, .a > p,#i{top:0}": ".a > p,#i{top:0}",
    "#j{top:0}b{top:0}": "",
    "p:hover,p::before{top:0}": "p:hover,p::before{top:0}",
    "p:not(.b),[data-x=b] p{top:0}": "p:not(.b),[data-x=b] p{top:0}",
    "p{}": "",
    "@media  print{.b{top:0}p{top:0}}": "@media print{p{top:0}}",
    "@supports (top:0){.b{top:0}}": "",
    "p{--x:1;--z:1;top:var(--x)}": "p{--x:1;top:var(--x)}",
    "p{--x:var(--z);--z:1}": "",
    "p{--y:1}": "p{--y:1}",
    "@keyframes k{to{top:0}}@keyframes l{to{top:0}}p{animation:k 1s}": (
        "@keyframes k{to{top:0}}p{animation:k 1s}"
    ),
    "@page{margin:0}": "@page{margin:0}",
}


@pytest.mark.parametrize("css", RULES)
def test_rules_stay_that_match_something(css):
    kept = used_rules(css, {"a", "p", "i"}, {"--y"})
    assert re.sub(r"; ?(?=})", "", kept).replace("} ", "}") == RULES[css]


def test_the_style_is_of_this_site(sites, css):
    assert css.startswith('@charset "utf-8";')
    assert "@import" not in css
    assert "/*!" in css
    assert ":where(img[height]){height:auto}" in css
    assert ".fold" in css
    assert ".katex" in css
    assert "#jb-print-toc" in css
    assert ".fa-moon" in css  # a script's
    assert ".carousel" not in css
    for url in re.findall(r'url\("?(?!data:|#)([^")]*)', css):
        assert (sites[1] / "_static" / url).is_file(), url


def test_fonts_have_the_glyphs_that_are_drawn(sites, css):
    fonts = {}
    for face in re.findall(r"@font-face ?\{(.*?)\}", css):
        family = re.search(r'font-family: ?"?([\w ]+)', face)[1]
        style = "italic" if "font-style:italic" in face.replace(": ", ":") else "normal"
        bold = re.search(r"font-weight: ?(700|900|bold)", face) is not None
        data = re.search(r'url\("?([^")]*)', face)[1]
        inline = data.startswith("data:")
        content = (
            base64.b64decode(data.partition(",")[2])
            if inline
            else (sites[1] / "_static" / data).read_bytes()
        )
        glyphs = {*map(chr, TTFont(io.BytesIO(content)).getBestCmap())}
        fonts[family, style, bold] = glyphs
        assert inline == (len(content) <= 3000 or family in ("KaTeX_Main", "KaTeX_Math"))
    assert fonts["KaTeX_Main", "normal", False] >= {*" =1−"}
    assert fonts["KaTeX_Math", "italic", False] >= {*" abxyzωin"}
    assert not fonts["KaTeX_Math", "italic", False] & {*"QZ\u03b2"}
    assert fonts["KaTeX_Caligraphic", "normal", False] >= {"L"}
    assert "KaTeX_Fraktur" not in {family for family, *_ in fonts}
    assert any("Awesome" in family for family, *_ in fonts)


def test_pictures_reserve_their_place_and_come_when_they_are_near(pages):
    images = pages[1]["index.html"].select("img")
    assert [image.get("loading") for image in images] == [None, *["lazy"] * (len(images) - 1)]
    assert {image["decoding"] for image in images} == {"async"}
    squares = [(i["width"], i["height"]) for i in images if "squares" in i["src"]]
    assert squares == [("400", "200")]


def test_files_are_there_if_something_names_them(sites):
    static = sites[1] / "_static"
    there = {path.name for path in static.rglob("*") if path.is_file()}
    assert any("LICENSE" in name for name in there)
    assert not {"book.css", "book.js", "bootstrap.js", "basic.css", "theme.css"} & there
    assert all(any(folder.iterdir()) for folder in static.rglob("*") if folder.is_dir())


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


def test_two_builds_look_the_same_to_the_byte(site, tmp_path):
    """Nothing depends on the folder, nor on the order of Python's sets."""
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
