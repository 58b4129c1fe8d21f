"""Every page of the site that `make book` built: links, weight, names, contrast, width.

`test_site_browser.py` tests what a reader does with pages.
"""

import gzip
import os
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import PALE, SITE, themes

pytestmark = pytest.mark.browser  # it needs the site
# With PAGES_URL, the links of 404.html start at the site's root, and don't work from disk.
OTHERS = {"_static", "embed"} | ({"404.html"} if os.environ.get("PAGES_URL") else set())
PAGES = [
    page
    for page in sorted(SITE.rglob("*.html"))
    if not OTHERS & {*page.relative_to(SITE).parts}
]
HEAVIEST = 130_000  # bytes of a page without its pictures, for phones
# Without the hashes of a page's inline scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
# The problems that can be seen in a page's elements, and its links.
LOOK = r"""(policy) => {
    const all = (query, read) => [...document.querySelectorAll(query)].map(read);
    const text = document.body.cloneNode(true);
    for (const part of text.querySelectorAll("script, style, pre, code, .katex")) part.remove();
    const markup = /\{[a-z][\w:-]+\}`|:{3,}.*|\]\([^)\s]+\)|\*\*[^*\s][^*\n]*\*\*/g;
    const ids = all("[id]", (e) => e.id);
    const levels = all("main :is(h1, h2, h3, h4, h5, h6)", (e) => +e.tagName[1]);
    const description = document.querySelector("meta[name=description]")?.content ?? "";
    const given = document.querySelector("meta[http-equiv]").content
        .replace(/ 'sha256-[^']+'/g, "");
    const problems = {
        "a picture without alt text: say what a sighted reader sees":
            all("img", (e) => /\s/.test(e.alt) ? "" : e.src).filter(Boolean),
        "a duplicate id": ids.filter((id, n) => ids.indexOf(id) < n),
        "markup: look for a missing blank or fence": text.textContent.match(markup) ?? [],
        "headings that skip a level":
            levels.filter((level, n) => level > (levels[n - 1] ?? 0) + 1),
        "no description of 20 to 160 letters":
            [description].filter(({ length }) => length < 20 || length > 160),
        "another policy": [given].filter((words) => words !== policy),
    };
    return { problems, links: all("a[href]", (e) => e.getAttribute("href")) };
}"""
UNFOLD = """() => {
    const style = document.createElement("style"); // what is far from the window is laid out, too
    style.textContent = "section { content-visibility: visible !important }";
    document.head.append(style);
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    for (const evidence of document.querySelectorAll(".evidence")) evidence.hidden = false;
}"""
# Code of chapters that a wide window doesn't show whole.
CUT = """() => [...document.querySelectorAll("div.cell_input pre")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80))"""
# Elements wider than the window, and not in a scrolling box.
WIDE = """() => [...document.querySelectorAll("html, article :is(img, pre, table)")].filter((e) => {
    for (let box = e.parentElement; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible") return false;
    return (e.parentElement ? e.getBoundingClientRect().right : e.scrollWidth) > innerWidth;
}).map((e) => e.outerHTML.slice(0, 80))"""


@cache
def ids(file):
    return {*re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8"))}


def is_dead(page, link):
    """Whether a link leads to a missing file or anchor of the site."""
    there = urlsplit(link)
    if there.scheme or there.netloc:
        return False
    file = (page.parent / unquote(there.path)).resolve() if there.path else page
    anchor = unquote(there.fragment)
    has_anchors = anchor and file.suffix == ".html"
    return not file.is_file() or (has_anchors and anchor not in ids(file))


def weigh(loaded):
    """The bytes of a page and what it loads, without pictures."""
    files = {Path(unquote(urlsplit(url).path)) for url in loaded if "file:" in url}
    sizes = [
        len(gzip.compress(file.read_bytes()))
        for file in files
        if file.is_file() and file.parent.name != "_images"
    ]
    return sum(sizes)


@pytest.fixture(scope="module")
def tab(visit_all):
    """One tab for all pages: in a new one, the browser would compile their scripts again."""
    tab = visit_all()
    tab.loaded = []
    tab.on("request", lambda request: tab.loaded.append(request.url))
    return tab


def problems(tab, page):
    """Yield what is wrong on a page, with the cure, and the places."""
    tab.goto("about:blank")  # ends requests and errors of the previous page
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.emulate_media(color_scheme="light")
    tab.wrong.clear()
    tab.loaded.clear()
    tab.goto(page.as_uri())
    seen = tab.evaluate(LOOK, POLICY)
    yield from seen["problems"].items()
    yield "a dead link", [link for link in {*seen["links"]} if is_dead(page, link)]
    yield "an error in the browser: ship what it loads: no third parties", tab.wrong
    weight = weigh(tab.loaded)
    if weight > HEAVIEST:
        yield "more bytes than a phone should load", [weight]
    tab.evaluate(UNFOLD)
    yield "code cut off at the edge: break its lines", tab.evaluate(CUT)
    for theme in themes(tab):
        pale = tab.locator("body").evaluate(PALE)
        yield f"hard to read, {theme}: set a color of 4.5 to 1 in book.css", pale
    tab.set_viewport_size({"width": 320, "height": 844})
    yield "wider than a phone: let it wrap, shrink or scroll", tab.evaluate(WIDE)


def test_the_site_has_pages(site):
    assert site / "index.html" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_a_page_can_be_read_by_all(tab, page):
    wrong = [f"{what}: {place}" for what, all in problems(tab, page) for place in all]
    tab.wrong.clear()
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
