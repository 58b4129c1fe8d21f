"""Every page of the built site: what a reader gets, and what a change must not break.

The site is what `make book` left in ``_build/html``; where it is older than its sources, one test
says so. What a reader does with a page is in `test_site_browser.py`.
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
import yaml
from addresses import SITE
from sphinx_posenc import svg_theme

from posenc import plots

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.browser  # it needs the site
# Where the site's address is known, the links of 404.html begin there, and don't work from a file.
OTHERS = {"_static", "embed", "slides"} | ({"404.html"} if os.environ.get("PAGES_URL") else set())
PAGES = sorted(path for path in SITE.rglob("*.html") if not OTHERS & {*path.parts})
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
POLICY = {
    "default-src": "'none'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
}
TWICE = {"exercise-content", "solution-content", "search-input"}  # sphinx-exercise's, the theme's
MARKUP = re.compile(r"\{[a-z][\w:-]+\}`|:{3,}.*|\]\([^)\s]+\)|\*\*[^*\s][^*\n]*\*\*")
LOOK = """() => {
    const all = (query, read) => [...document.querySelectorAll(query)].map(read);
    const text = document.body.cloneNode(true);
    for (const part of text.querySelectorAll("script, style, pre, code, .katex")) part.remove();
    return {
        text: text.textContent,
        ids: all("[id]", (e) => e.id),
        links: all("a[href]", (e) => e.getAttribute("href")),
        nameless: all("img", (e) => e.getAttribute("alt") ? "" : e.src).filter(Boolean),
        levels: all(":is(article, .bd-search-container) :is(h1, h2, h3, h4, h5, h6)",
            (e) => Number(e.tagName[1])),
        meta: Object.fromEntries(all("meta[content]",
            (e) => [e.name || e.httpEquiv, e.content])),
        eager: all("article img[width]:not([loading])", (e) => e.src),
        folds: all("details.fold", (e) => e.textContent).length,
        solutions: all(".solution.admonition", (e) => e.id).length,
        timed: document.querySelector(".reading-time") !== null,
    };
}"""
# Words whose color is too near to the one behind them (WCAG 2.2, 1.4.3), each pair of colors once.
PALE = """() => {
    const brush = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (color) => {
        if (!known.has(color)) {
            brush.clearRect(0, 0, 1, 1);
            brush.fillStyle = color;
            brush.fillRect(0, 0, 1, 1);
            known.set(color, [...brush.getImageData(0, 0, 1, 1).data].map((x) => x / 255));
        }
        return known.get(color);
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((x, n) => a * x + (1 - a) * below[n]);
    const grounds = new Map([[null, [1, 1, 1]]]);
    const behind = (e) => {
        if (!grounds.has(e)) grounds.set(e,
            over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement)));
        return grounds.get(e);
    };
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => {
        const [r, g, b] = rgb.map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = new Map();
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
        const e = words.currentNode.parentElement;
        if (words.currentNode.data.trim().length < 2 || e.closest("svg, :disabled")) continue;
        if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(e);
        const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
        const below = behind(e);
        const [low, high] = [light(over(rgba(color), below)), light(below)].sort((a, b) => a - b);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < (large ? 3 : 4.5))
            found.set(`${color} on ${below.map((x) => Math.round(255 * x))}`,
                `${contrast.toFixed(2)} to 1: ${e.outerHTML.slice(0, 80)}`);
    }
    return [...found].map(([colors, where]) => `${where}, ${colors}`);
}"""
CUT = """() => [...document.querySelectorAll("pre, .pst-scrollable-table-container")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.textContent.trim().slice(0, 60))"""
# Beyond a phone's edge, and not in a box that scrolls.
WIDE = """() => [...document.querySelectorAll("html, article :is(img, pre, table)")].filter((e) => {
    for (let box = e.parentElement; box; box = box.parentElement)
        if (getComputedStyle(box).overflowX !== "visible") return false;
    return (e.parentElement ? e.getBoundingClientRect().right : e.scrollWidth) > innerWidth;
}).map((e) => e.outerHTML.slice(0, 80))"""


@cache
def ids(file):
    return {*re.findall(r'\bid="([^"]+)"', file.read_text(encoding="utf-8"))}


def dead(path, links):
    """Links to a file or a place that isn't there."""
    for link in {*links}:
        there = urlsplit(link)
        if there.scheme or there.netloc:
            continue
        file = (path.parent / unquote(there.path)).resolve() if there.path else path
        if not file.is_file():
            yield f"dead link: {link}"
        elif file.suffix == ".html" and there.fragment and unquote(there.fragment) not in ids(file):
            yield f"dead link: there is no such place, {link}"


def heavy(path, loaded):
    """At most 12 requests and 110 KB before pictures: what is felt on a phone."""
    files = {Path(unquote(urlsplit(url).path)) for url in loaded if url.startswith("file:")}
    pictures = {file for file in files if file.parent.name == "_images"}
    sizes = {
        file.name: len(file.read_bytes() if file.suffix == ".woff2" else zipped(file))
        for file in files - pictures
    }
    if sum(sizes.values()) > 110_000 or len(sizes) + bool(pictures) > 12:
        yield f"heavier than 110 KB or 12 requests: {sizes}"


@cache
def zipped(file):
    return gzip.compress(file.read_bytes())


def guarded(meta):
    """Whether scripts are the site's own or the page's by their sums, and all else is ours."""
    rules = meta.get("Content-Security-Policy", "").split("; ")
    rules = dict(rule.partition(" ")[::2] for rule in rules)
    own = {*rules.pop("script-src", "").split()} - {"'self'", "'unsafe-hashes'"}
    return rules == POLICY and all(each.startswith("'sha256-") for each in own)


def folded(path):
    """How many cells, and how many solutions, a chapter folds."""
    cells = nbformat.read(ROOT / "notebooks" / f"{path.stem}.ipynb", as_version=4).cells
    hidden = sum("hide-input" in cell.metadata.get("tags", []) for cell in cells)
    boxes = [c.source.count(":::{solution}") for c in cells if c.cell_type == "markdown"]
    return {"folds": hidden, "solutions": sum(boxes), "timed": True}


def problems(tab, path):
    """What is wrong with a page."""
    loaded = []
    tab.on("request", lambda request: loaded.append(request.url))
    tab.goto(path.as_uri())
    seen = tab.evaluate(LOOK)
    yield from dead(path, seen["links"])
    yield from heavy(path, loaded)
    yield from (f"a picture without alt text: {src}" for src in seen["nameless"])
    yield from (
        f"an id that stands there twice: {id}"
        for id, n in Counter(seen["ids"]).items()
        if n > 1 and id not in TWICE
    )
    yield from (f"markup that was not rendered: {raw}" for raw in MARKUP.findall(seen["text"]))
    levels = seen["levels"]
    if levels[:1] != [1] or levels.count(1) > 1 or max(np.diff(levels), default=0) > 1:
        yield f"headings leave out a level, or a page has not one title: {levels}"
    if not guarded(seen["meta"]):
        yield f"its policy isn't the book's: {seen['meta'].get('Content-Security-Policy')}"
    if not 20 <= len(seen["meta"].get("description", "")) <= 160:
        yield "no description of 20 to 160 letters, which search engines show"
    if path.parent.name == "notebooks":
        wanted = folded(path)
        found = {name: seen[name] for name in wanted}
        if found != wanted:
            yield f"shows {found} where the chapter has {wanted}"
        if len(seen["eager"]) > 1:
            yield f"pictures far down are loaded at once: {seen['eager'][1:]}"
        yield from (f"cut off on a desk: {text}" for text in tab.evaluate(CUT))
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        yield from (f"hard to read, {scheme}: {words}" for words in tab.evaluate(PALE))
    tab.set_viewport_size({"width": 390, "height": 844})
    yield from (f"wider than a phone: {what}" for what in tab.evaluate(WIDE))
    yield from tab.wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(SITE).as_posix())
def test_a_page_can_be_read_by_all(visit, path):
    tab = visit()
    found = [*problems(tab, path)]
    tab.wrong.clear()
    if found:
        where = path.relative_to(SITE).with_suffix("")
        pytest.fail("\n".join(f"{where}: {problem}" for problem in found), pytrace=False)


def test_the_site_is_that_of_these_sources(site):
    """All pages are there, and nothing was edited since."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    there = {path.relative_to(site).with_suffix("").as_posix() for path in PAGES}
    assert {*listed, "search"} - there == set(), "pages are missing: run `make book`"
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


def test_descriptions_tell_pages_apart():
    found = [re.search('name="description" content="([^"]*)', p.read_text("utf-8")) for p in PAGES]
    assert [text for text, n in Counter(each[1] for each in found).items() if n > 1] == []


def test_the_index_of_all_words_is_light_and_comes_with_a_search_alone():
    size = len(gzip.compress((SITE / "searchindex.js").read_bytes()))
    assert size / len(CHAPTERS) <= 5_100, "bytes of the search index for each chapter"
    assert 'src="searchindex.js"' not in (SITE / "search.html").read_text("utf-8")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_download_is_whole_by_itself(site, path):
    """No role, no directive, no link to a file beside it; numbers, captions and labels are text."""
    notebook = nbformat.read(site / "_sources" / "notebooks" / path.name, as_version=4)
    nbformat.validate(notebook)
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert re.findall(r"\{[\w:-]+\}`|^[>\s]*(?:`{3,}|:{3,}) *\{.*|^:{3,}", text, re.MULTILINE) == []
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if link[:1] not in "#h"] == []
    anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
    assert {*re.findall(r"\]\(#([\w-]+)\)", text)} <= {*anchors}
    assert (f"**Figure {int(path.stem[:2])}.1.**" in text) == ('<a id="fig-' in text)
    stored = nbformat.read(path, as_version=4)
    code = [[c.source for c in book.cells if c.cell_type == "code"] for book in (notebook, stored)]
    prepares = "".join(code[0][:1]).startswith("# Get what this notebook needs")
    assert code[0][prepares:] == code[1]
    page = (site / "notebooks" / f"{path.stem}.html").read_text("utf-8")
    assert f"../_sources/notebooks/{path.name}" in page


def test_an_address_that_leads_nowhere_gets_help(site):
    lost = (site / "404.html").read_text("utf-8")
    assert [path.stem for path in CHAPTERS if f"{path.stem}.html" not in lost] == []


def test_the_site_ships_and_links_the_licenses_of_others(site):
    (shipped,) = (site / "_downloads").glob("*/licenses.txt")
    assert shipped.read_bytes() == (ROOT / "book" / "licenses.txt").read_bytes()
    assert f"{shipped.parent.name}/licenses.txt" in (site / "index.html").read_text("utf-8")


def contrast(*colors):
    parts = np.array([mpl.colors.to_rgb(color) for color in colors])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("page", "ink"), [("#ffffff", plots.INK), ("#121212", svg_theme.DARK_INK)])
def test_figures_can_be_read_in_both_themes(page, ink):
    """Lines at 3 to 1, words in their colors at 4.5 (WCAG 2.2): no look at pages goes into SVG."""
    assert contrast(ink, page) >= 4.5
    share = svg_theme.SHARE / 100
    for color in plots.COLORS:
        pair = np.array([mpl.colors.to_rgb(color), mpl.colors.to_rgb(ink)])
        assert contrast(color, page) >= 3
        assert contrast([share, 1 - share] @ pair, page) >= 4.5
