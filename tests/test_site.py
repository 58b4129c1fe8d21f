"""Every page of the site that `make book` built: links, weight, metadata, contrast, layout.

`test_site_browser.py` tests what a reader does with pages.
"""

import gzip
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import nbformat
import numpy as np
import pytest
from pages import PALE, SITE, themes
from sphinx_posenc import svg_theme

from posenc.book import plots

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.browser  # it needs the site
# With PAGES_URL, the links of 404.html start at the site's root, and don't work from disk.
OTHERS = {"_static", "embed"} | ({"404.html"} if os.environ.get("PAGES_URL") else set())
PAGES = sorted(path for path in SITE.rglob("*.html") if not OTHERS & {*path.parts})
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Without the hashes of a page's inline scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
MARKUP = re.compile(r"\{[a-z][\w:-]+\}`|:{3,}.*|\]\([^)\s]+\)|\*\*[^*\s][^*\n]*\*\*")
LOOK = """() => {
    const all = (query, read) => [...document.querySelectorAll(query)].map(read);
    const text = document.body.cloneNode(true);
    for (const part of text.querySelectorAll("script, style, pre, code, .katex")) part.remove();
    return {
        text: text.textContent,
        ids: all("[id]", (e) => e.id),
        links: all("a[href]", (e) => e.getAttribute("href")),
        nameless: all("img", (e) => /\\s/.test(e.alt) ? "" : e.src).filter(Boolean),
        levels: all("main :is(h1, h2, h3, h4, h5, h6)", (e) => +e.tagName[1]),
        meta: Object.fromEntries(all("meta[content]", (e) => [e.name || e.httpEquiv, e.content])),
        eager: all("article img[width]:not([loading])", (e) => e.src),
        folded: ["details.fold", "details.solution"]
            .map((query) => all(query, String).length),
    };
}"""
UNFOLD = """() => {
    const style = document.createElement("style"); // what is far from the window is laid out, too
    style.textContent = "section { content-visibility: visible !important }";
    document.head.append(style);
    for (const fold of document.querySelectorAll("details")) fold.open = true;
}"""
CUT = """() => [...document.querySelectorAll("pre, .pst-scrollable-table-container")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.textContent.trim().slice(0, 60))"""
# Elements wider than the viewport, and not in a scrolling box.
WIDE = """() => [...document.querySelectorAll("html, article :is(img, pre, table)")].filter((e) => {
    for (let box = e.parentElement; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible") return false;
    return (e.parentElement ? e.getBoundingClientRect().right : e.scrollWidth) > innerWidth;
}).map((e) => e.outerHTML.slice(0, 80))"""


@cache
def ids(file):
    return {*re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8"))}


def dead(path, links):
    """Links to missing files or anchors."""
    for link in {*links}:
        there = urlsplit(link)
        if there.scheme or there.netloc:
            continue
        file = (path.parent / unquote(there.path)).resolve() if there.path else path
        if not file.is_file():
            yield link
        elif (
            file.suffix == ".html"
            and there.fragment
            and unquote(there.fragment) not in ids(file)
        ):
            yield f"{link}, no such anchor"


def heavy(path, loaded):
    """Page weight: at most 12 requests and 110 KB before pictures, for phones."""
    files = {
        Path(unquote(urlsplit(url).path)) for url in loaded if url.startswith("file:")
    }
    files = {
        file for file in files if file.is_file()
    }  # a missing one is an error in the browser
    pictures = {file for file in files if file.parent.name == "_images"}
    sizes = {
        file.name: len(file.read_bytes() if file.suffix == ".woff2" else zipped(file))
        for file in files - pictures
    }
    if sum(sizes.values()) > 110_000 or len(sizes) + bool(pictures) > 12:
        yield sizes


@cache
def zipped(file):
    return gzip.compress(file.read_bytes())


@pytest.fixture(scope="module")
def tab(visit_all):
    """One tab for all pages: in a new one, the browser would compile their scripts again."""
    tab = visit_all()
    tab.loaded = []
    tab.on("request", lambda request: tab.loaded.append(request.url))
    return tab


def problems(tab, path):
    """Yield what is wrong on a page, with the cure, and the places."""
    tab.goto("about:blank")  # ends requests and errors of the previous page
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.emulate_media(color_scheme="light")
    tab.wrong.clear()
    tab.loaded.clear()
    tab.goto(path.as_uri())
    seen = tab.evaluate(LOOK)
    yield (
        "an error in the browser: ship what it loads, or remove it: no third parties",
        tab.wrong,
    )
    yield (
        "a dead link: fix it, or begin the target with <a id=…></a>",
        dead(path, seen["links"]),
    )
    yield (
        "more than 12 files or 110 KB: load it where it is needed",
        heavy(path, tab.loaded),
    )
    yield "a picture without alt text: say what a sighted reader sees", seen["nameless"]
    yield (
        "a duplicate id: rename one",
        [id for id, n in Counter(seen["ids"]).items() if n > 1],
    )
    yield "markup: look for a missing blank or fence", MARKUP.findall(seen["text"])
    levels, meta = seen["levels"], seen["meta"]
    if levels[:1] != [1] or levels.count(1) > 1 or max(np.diff(levels), default=0) > 1:
        yield (
            "headings that skip a level: begin with one #, go down one at a time",
            [levels],
        )
    policy = re.sub(" 'sha256-[^']+'", "", meta.get("Content-Security-Policy", "none"))
    if policy != POLICY:
        yield "another policy: make optimization.py agree with test_site.py", [policy]
    if not 20 <= len(meta.get("description", "")) <= 160:
        yield (
            "no description of 20 to 160 letters: begin with what the page is for",
            [meta],
        )
    if path.parent.name == "notebooks":
        source = (ROOT / "notebooks" / f"{path.stem}.ipynb").read_text("utf-8")
        wanted = [
            source.count('"hide-input"'),
            source.count(r"<details class=\"solution\">"),
        ]
        if seen["folded"] != wanted:
            counts = f"{seen['folded']}, not {wanted}"
            yield (
                "folds or solutions are lost: look at folds.py and myst_markup.py",
                [counts],
            )
        yield (
            "a picture far down isn't lazy: let optimization.py mark it",
            seen["eager"][1:],
        )
        yield (
            "cut off on a desktop: break at 80 characters, narrow the table",
            tab.evaluate(CUT),
        )
    tab.evaluate(UNFOLD)
    for theme in themes(tab):
        pale = tab.locator("body").evaluate(PALE)
        yield f"hard to read, {theme}: set a color of 4.5 to 1 in book.css", pale
    tab.set_viewport_size({"width": 320, "height": 844})
    yield (
        "wider than a phone: let it wrap, shrink or scroll in book.css",
        tab.evaluate(WIDE),
    )


@pytest.mark.parametrize(
    "path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix()
)
def test_a_page_can_be_read_by_all(tab, path):
    page = path.relative_to(SITE).with_suffix("")
    found = [
        f"{page}: {what}: {place}"
        for what, places in problems(tab, path)
        for place in places
    ]
    tab.wrong.clear()
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_a_search_is_light_and_loaded_by_a_search_alone():
    """Its index holds the excerpts, for which each search fetched pages before."""
    files = [SITE / "searchindex.js", *(SITE / "_static" / "search").glob("*.js")]
    size = sum(len(zipped(file)) for file in files)
    assert size / len(PAGES) <= 5_700, "too many bytes of search per page"
    assert "searchindex.js" not in (SITE / "search.html").read_text("utf-8")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_download_is_whole_by_itself(site, path):
    """No roles, directives or relative links; numbers, captions and labels are text."""
    notebook = nbformat.read(site / "_sources" / "notebooks" / path.name, as_version=4)
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert (
        re.findall(
            r"\{[\w:-]+\}`|^[>\s]*(?:`{3,}|:{3,}) *\{.*|^:{3,}", text, re.MULTILINE
        )
        == []
    )
    assert [
        link for link in re.findall(r"\]\(([^)]*)\)", text) if link[:1] not in "#h"
    ] == []
    anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
    assert {*re.findall(r"\]\(#([\w-]+)\)", text)} <= {*anchors}
    assert (f"**Figure {int(path.stem[:2])}.1.**" in text) == ('<a id="fig-' in text)
    stored = nbformat.read(path, as_version=4)
    code = [
        [c.source for c in book.cells if c.cell_type == "code"]
        for book in (notebook, stored)
    ]
    prepares = "".join(code[0][:1]).startswith("# Get what this notebook needs")
    assert code[0][prepares:] == code[1]


def contrast(*colors):
    parts = np.array([mpl.colors.to_rgb(color) for color in colors])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("page", "ink"), [("#ffffff", plots.INK), ("#121212", svg_theme.DARK_INK)]
)
def test_figures_can_be_read_in_both_themes(page, ink):
    """Lines at 3 to 1, colored text at 4.5 (WCAG 2.2); tests of pages can't look into SVG."""
    assert contrast(ink, page) >= 4.5
    share = svg_theme.SHARE / 100
    for color in plots.COLORS:
        pair = np.array([mpl.colors.to_rgb(color), mpl.colors.to_rgb(ink)])
        assert contrast(color, page) >= 3
        assert contrast([share, 1 - share] @ pair, page) >= 4.5
