"""Every page of the site that `make book` built: links, policy, contrast, width.

Axe looks at one of each kind. `test_site_browser.py` tests what a reader does with pages.
"""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from pages import PAINT_ALL, PALE, SITE, check_with_axe, themes

# Not 404.html, whose links start at the site's address, nor what pages embed.
KINDS = "[a-z]*.html", "book/*.html", "notebooks/*.html"
PAGES = [page for kind in KINDS for page in sorted(SITE.glob(kind))]
SEEN_BY_AXE = {"index", "search", "api", "claims", "config", "glossary", "questions"}
SEEN_BY_AXE |= {"rope_in_production", "teach", "03_linearity"}
# Colored parts of code, each an element, have nothing for axe.
FLATTEN = """() => document.querySelectorAll("pre:not(:has(a))")
    .forEach((pre) => (pre.textContent = pre.textContent))"""
# Without the hashes of a page's inline scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
READ_POLICY = """() => document.querySelector("meta[http-equiv]").content
    .replace(/ 'sha256-[^']+'/g, "")"""
LINKS = """() => [...document.querySelectorAll("a[href]")].map((e) => e.getAttribute("href"))"""
# Roles, fences, links, and bold words that stand on the page as they were written.
MARKUP = r"""() => {
    const text = document.body.cloneNode(true);
    for (const part of text.querySelectorAll("script, style, pre, code, .katex")) part.remove();
    return text.textContent.match(/\{[a-z][\w:-]+\}`|:{3,}.*|\]\([^)\s]+\)|\*\*[^*\s][^*\n]*\*\*/g)
        ?? [];
}"""
UNFOLD = """() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    for (const evidence of document.querySelectorAll(".evidence")) evidence.hidden = false;
}"""
# Code of chapters that a wide window doesn't show whole.
CUT = """() => [...document.querySelectorAll("div.cell_input pre")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 80))"""
# Links after words that only their color tells.
UNMARKED = r"""() => [...document.querySelectorAll("article a[href]:not(.headerlink)")]
    .filter((e) => /\w/.test(e.previousSibling?.data ?? ""))
    .filter((e) => getComputedStyle(e).textDecorationLine !== "underline")
    .map((e) => e.outerHTML)"""
# Elements wider than the window, and not in a scrolling box.
WIDE = """() => [...document.querySelectorAll("html, article :is(img, pre, table)")].filter((e) => {
    for (let box = e.parentElement; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible") return false;
    return (e.parentElement ? e.getBoundingClientRect().right : e.scrollWidth) > innerWidth;
}).map((e) => e.outerHTML.slice(0, 80))"""


@cache
def anchors(file):
    return {*re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8"))}


def is_dead(page, link):
    """Whether a link leads to a missing file or anchor of the site."""
    there = urlsplit(link)
    if there.scheme or there.netloc:
        return False
    file = (page.parent / unquote(there.path)).resolve() if there.path else page
    if there.fragment and file.suffix == ".html" and file.is_file():
        return unquote(there.fragment) not in anchors(file)
    return not file.is_file()


def problems(desk, page):
    """Yield what is wrong on a page, with the cure, and the places."""
    desk.goto("about:blank")  # ends requests and errors of the previous page
    desk.set_viewport_size({"width": 320, "height": 844})
    desk.wrong.clear()
    desk.goto(page.as_uri())
    policy = desk.evaluate(READ_POLICY)
    yield "another policy", [policy] if policy != POLICY else []
    dead = [link for link in desk.evaluate(LINKS) if is_dead(page, link)]
    yield "a dead link", dead
    yield "an error in the browser: ship what it loads: no third parties", desk.wrong
    yield "markup: look for a missing blank or fence", desk.evaluate(MARKUP)
    # What is folded or hidden must be readable, too, once it is opened.
    desk.evaluate(PAINT_ALL)
    desk.evaluate(UNFOLD)
    yield "wider than a phone: let it wrap, shrink or scroll", desk.evaluate(WIDE)
    yield "a link that only its color tells: underline it", desk.evaluate(UNMARKED)
    if desk.locator(".cell_input").count():
        desk.set_viewport_size({"width": 1280, "height": 800})
        yield "code cut off at the edge: break its lines", desk.evaluate(CUT)
    for theme in themes(desk):
        # What is drawn in a figure's shadow tree isn't in the body's.
        for part in desk.locator("body, .live").all():
            pale = part.evaluate(PALE)
            yield f"hard to read, {theme}: set a color of 4.5 to 1", pale


def test_pages_that_axe_looks_at_are_there(site):
    assert {page.stem for page in PAGES} >= SEEN_BY_AXE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_read_by_all(desk, page):
    wrong = [f"{what}: {place}" for what, all in problems(desk, page) for place in all]
    desk.wrong.clear()
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    if page.stem in SEEN_BY_AXE:
        # On a phone, where it also asks that what scrolls is reached by the keyboard.
        desk.set_viewport_size({"width": 390, "height": 800})
        desk.evaluate(FLATTEN)
        check_with_axe(desk, "body")
