"""The built site: every link and anchor inside it resolves, and nothing is loaded from elsewhere.

The site is what `make book` left in ``_build/html``. CI builds it first; where there is none, these
tests are skipped, and where it is older than its sources, one test says so.
"""

import gzip
import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
LOADS = {"img": "src", "script": "src", "source": "src", "iframe": "src"}

if not PAGES and not os.environ.get("CI"):
    pytest.skip("no site was built: run `make book` first", allow_module_level=True)


class Page(HTMLParser):
    """The links, anchors and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded, self.images = [], set(), [], []
        self.meta = {}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs.get("id"), attrs.get("name")} - {None}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "link" and "stylesheet" in attrs.get("rel", "").split():
            self.loaded.append(attrs["href"])
        if tag == "link" and "icon" in attrs.get("rel", "").split():
            self.loaded.append(attrs["href"])
        if attrs.get(LOADS.get(tag)):
            self.loaded.append(attrs[LOADS[tag]])
        if tag == "img":
            self.images.append(attrs)
        if tag == "meta":
            self.meta[attrs.get("name") or attrs.get("http-equiv")] = attrs.get("content")


@cache
def page(path):
    return Page(path)


def local(links):
    return [urlsplit(link) for link in links if not urlsplit(link).scheme]


def test_the_site_is_that_of_these_sources():
    """All pages are there, and nothing was edited since."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    there = {path.relative_to(SITE).with_suffix("").as_posix() for path in PAGES}
    assert {*listed, "search", "404"} - there == set(), "pages are missing"
    sources = [ROOT / "index.md", ROOT / "_config.yml", ROOT / "_toc.yml"]
    for folder in ("book", "notebooks", "src"):
        sources += (ROOT / folder).rglob("*.*")
    built = (ROOT / "_build" / "complete").stat().st_mtime
    later = [
        path.relative_to(ROOT).as_posix()
        for path in sources
        if path.is_file() and "__pycache__" not in path.parts and path.stat().st_mtime > built
    ]
    assert later == [], "edited since the site was built: run `make book`, then `make test`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_links_and_anchors_resolve(path):
    for link in local(page(path).links):
        target = (path.parent / unquote(link.path)).resolve() if link.path else path
        assert target.is_file(), f"dead link: {link.geturl()}"
        if link.fragment and target.suffix == ".html":
            assert unquote(link.fragment) in page(target).anchors, f"no anchor: {link.geturl()}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_nothing_is_loaded_from_elsewhere(path):
    assert len(local(page(path).loaded)) == len(page(path).loaded)
    for link in local(page(path).loaded):
        assert (path.parent / unquote(link.path)).resolve().is_file(), link.geturl()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_images_have_alt_text(path):
    assert [image["src"] for image in page(path).images if not image.get("alt")] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_pages_are_light(path):
    """At most 12 requests and 110 KB before pictures, if a page used every font of the style."""
    files = {(path.parent / unquote(link.path)).resolve() for link in local(page(path).loaded)}
    pictures = {file for file in files if file.parent.name == "_images"}
    files = {path, *files} - pictures
    for style in [file for file in files if file.suffix == ".css"]:
        fonts = re.findall(
            r'url\("?([\w.-]+-(?:Regular|Italic)\.\w+\.woff2)', style.read_text("utf-8")
        )
        files |= {style.parent / font for font in fonts}
    sizes = {
        file: len(
            file.read_bytes() if file.suffix == ".woff2" else gzip.compress(file.read_bytes())
        )
        for file in files
    }
    assert sum(sizes.values()) <= 110_000, sizes
    assert len(files) + min(1, len(pictures)) <= 12, sorted(files)


def test_the_index_of_all_words_comes_with_a_search_alone():
    assert len(gzip.compress((SITE / "searchindex.js").read_bytes())) <= 50_000
    assert "searchindex.js" not in {Path(link).name for link in page(SITE / "search.html").loaded}


def test_descriptions_are_there_short_and_different():
    meta = {path: page(path).meta for path in PAGES}
    texts = [content.get("description", "") for content in meta.values()]
    assert [
        path for path, text in zip(meta, texts, strict=True) if not 20 <= len(text) <= 160
    ] == []
    assert len({*texts}) == len(texts)


def complaints(tab):
    """What goes wrong in a page from now on, as it comes."""
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    return errors


def test_the_policy_lets_a_reader_use_the_page(browser):
    """Theme, full screen, code to the clipboard, a solution, a figure: each by its own control."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    errors = complaints(tab)
    tab.goto((SITE / "notebooks" / "07_linearity.html").as_uri())

    tab.click(".article-header-buttons .theme-switch-button")
    assert tab.evaluate("document.documentElement.dataset.mode") != "auto"
    tab.click("[onclick='toggleFullScreen()']")
    tab.wait_for_function("document.fullscreenElement")
    copy = tab.locator("button.copybtn:visible").first
    copy.scroll_into_view_if_needed()
    copy.click()
    tab.wait_for_selector("button.copybtn.success")
    solution = tab.locator(".solution.dropdown").first
    solution.locator(".admonition-title").click()
    assert "toggle-hidden" not in solution.get_attribute("class")
    figure = tab.locator("posenc-figure")
    before = figure.locator(".say").text_content()
    figure.locator("#field-offset").press("ArrowRight")
    assert figure.locator(".say").text_content() != before
    assert errors == []
    tab.close()


def test_the_search_button_is_called_what_it_shows(browser):
    """For those who speak to their browser (WCAG 2.5.3)."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "index.html").as_uri())
    button = tab.locator(".search-button-field").first
    shown = " ".join(button.inner_text().split())
    assert shown.startswith("Search")
    assert f'button "{shown}"' in " ".join(button.aria_snapshot().split())
    tab.close()


def test_a_dark_page_is_printed_light(browser):
    tab = browser.new_page(color_scheme="dark")
    tab.goto((SITE / "notebooks" / "05_heatmaps.html").as_uri())
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})")
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(theme) == "dark"
    tab.close()


WHERE_IT_RESTS = """id => new Promise((rest) => {
    let before;
    const look = () => {
        const { y } = document.getElementById(id).getBoundingClientRect();
        if (y === before) return rest(y);
        before = y;
        setTimeout(look, 500);
    };
    look();
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_an_address_with_a_place_leads_there(browser, width):
    """Even though what is above it goes on changing while the page loads."""
    chapter = SITE / "notebooks" / "02_formula.html"
    places = re.findall(r'<section [^>]*id="([^"]*)"', chapter.read_text(encoding="utf-8"))
    tops = {}
    for place in places[1:-1:4]:
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.goto(f"{chapter.as_uri()}#{place}")
        tops[place] = tab.evaluate(WHERE_IT_RESTS, place)
        tab.close()
    assert len(tops) > 3
    assert {place: top for place, top in tops.items() if not 0 <= top <= 100} == {}


def test_a_link_leads_to_its_place_at_once(browser):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "notebooks" / "02_formula.html").as_uri())
    top = tab.evaluate(
        """() => new Promise((done) => {
            location.hash = "exercises";
            const place = document.getElementById("exercises");
            requestAnimationFrame(() => done(place.getBoundingClientRect().y));
        })"""
    )
    assert 0 <= top <= 100
    tab.close()


@pytest.mark.parametrize("chapter", ["05_heatmaps", "14_bug_museum"])
def test_figures_are_whole_on_a_phone(browser, chapter):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto((SITE / "notebooks" / f"{chapter}.html").as_uri())
    rights = tab.eval_on_selector_all(
        "figure img", "all => all.map((img) => img.getBoundingClientRect().right)"
    )
    assert len(rights) > 5
    assert max(rights) <= 390
    tab.close()


@pytest.mark.parametrize("name", ["04_torch_stack_flatten", "12_conventions"])
def test_tables_code_and_messages_are_whole_on_a_desk(browser, name):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "notebooks" / f"{name}.html").as_uri())
    for solution in tab.locator(".solution.dropdown .admonition-title").all():
        solution.click()
    hidden = tab.eval_on_selector_all(
        "pre, .pst-scrollable-table-container",
        "all => all.map((box) => box.scrollWidth - box.clientWidth)",
    )
    assert len(hidden) > 20
    assert max(hidden) <= 1
    tab.close()


DOWNLOADS = sorted((SITE / "_sources" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", DOWNLOADS, ids=lambda path: path.stem)
def test_a_download_is_whole_by_itself(path):
    """No role, no directive, no link to a file beside it; numbers, captions and labels are text."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert re.findall(r"\{[\w:-]+\}`|^[>\s]*(?:`{3,}|:{3,}) *\{.*|^:{3,}", text, re.MULTILINE) == []
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if link[:1] not in "#h"] == []
    anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
    assert {*re.findall(r"\]\(#([\w-]+)\)", text)} <= {*anchors}
    assert (f"**Figure {int(path.stem[:2])}.1.**" in text) == ('<a id="fig-' in text)
    stored = nbformat.read(ROOT / "notebooks" / path.name, as_version=4)
    code = [[c.source for c in book.cells if c.cell_type == "code"] for book in (notebook, stored)]
    assert code[0] == code[1]
    links = page(SITE / "notebooks" / f"{path.stem}.html").links
    assert f"../_sources/notebooks/{path.name}" in links


def test_an_address_that_leads_nowhere_gets_help():
    lost = page(SITE / "404.html")
    chapters = {path.name for path in PAGES if path.parent.name == "notebooks"}
    assert chapters <= {Path(link.path).name for link in local(lost.links)}


@pytest.fixture(scope="module")
def results(browser):
    """What a search finds, on the site opened from its files."""
    tab = browser.new_page()
    errors = complaints(tab)

    def found(word):
        tab.goto(f"{(SITE / 'search.html').as_uri()}?q={word}")
        tab.wait_for_selector("#search-results li a")
        tab.wait_for_selector("#search-results p:has-text('finished')")
        assert errors == []
        return tab.eval_on_selector_all("#search-results li > a", "as => as.map(a => a.href)")

    yield found
    tab.close()


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("wavelength", "glossary.html#term-wavelength"),
        ("omega", "notation.html"),
        ("RoPE", "10_rotary_and_alibi.html"),
        ("d_model", "notation.html"),
        ("heatmaps", "05_heatmaps.html"),
    ],
)
def test_search_finds_names(results, word, target):
    assert any(target in link for link in results(word))


def test_excerpts_of_a_search_are_of_the_text(browser):
    tab = browser.new_page()
    home = "https://book.test/"
    tab.route(f"{home}**", lambda to: to.fulfill(path=SITE / urlsplit(to.request.url).path[1:]))
    tab.goto(f"{home}search.html?q=wavelength")
    tab.wait_for_selector("#search-results p:has-text('finished')")
    tab.wait_for_function("document.querySelectorAll('#search-results .context').length >= 5")
    found = tab.eval_on_selector_all(
        "#search-results li:has(.context)",
        """all => all.map((one) =>
            [one.querySelector("a").href, one.querySelector(".context").innerText])""",
    )
    assert len(found) >= 5
    for address, excerpt in found[:5]:
        tab.goto(address.partition("?")[0])
        shown, there = (
            re.findall("[A-Za-z]{4,}", text)
            for text in (excerpt, tab.locator("article").text_content())
        )
        assert {*shown[1:-1]} <= {*there}, address  # the first and the last may be cut
    tab.close()


def test_the_site_ships_and_links_the_licenses_of_others():
    (shipped,) = (SITE / "_downloads").glob("*/licenses.txt")
    assert shipped.read_bytes() == (ROOT / "book" / "licenses.txt").read_bytes()
    assert any(
        link.path.endswith(f"{shipped.parent.name}/licenses.txt")
        for link in local(page(SITE / "index.html").links)
    )
