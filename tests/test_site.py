"""Every page of the built site: what a reader gets, and what a change must not break.

The site is what `make book` left in ``_build/html``; where it is older than its sources, one test
says so. What needs a browser is in `test_site_browser.py`.
"""

import base64
import gzip
import hashlib
import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import nbformat
import numpy as np
import pytest
import yaml
from sphinx_posenc import svg_theme

from posenc import plots

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
pytestmark = pytest.mark.browser  # it needs the site, as those in a browser do
PAGES = sorted(path for path in SITE.rglob("*.html") if not {"_static", "embed"} & {*path.parts})
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

if not PAGES and not os.environ.get("CI"):
    pytest.skip("no site was built: run `make book` first", allow_module_level=True)


class Page(HTMLParser):
    """What a page links, loads, runs and says."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loaded, self.images, self.code = [], [], [], [], []
        self.meta, self.text, self.open = {}, "", []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if attrs.get("id"):
            self.ids.append(attrs["id"])
        self.code += [value for name, value in attrs.items() if name.startswith("on")]
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "link" and {"stylesheet", "icon"} & {*attrs.get("rel", "").split()}:
            self.loaded.append(attrs["href"])
        if tag in {"img", "script", "source", "iframe"} and attrs.get("src"):
            self.loaded.append(attrs["src"])
        if tag == "img":
            self.images.append(attrs)
        if tag == "meta":
            name = attrs.get("name") or attrs.get("property") or attrs.get("http-equiv")
            self.meta[name] = attrs.get("content")
        if tag in {"script", "style", "pre", "code", "annotation"}:
            self.open.append(tag)
            self.code += [""] if tag == "script" and "src" not in attrs else []

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if not self.open:
            self.text += data
        elif self.open[-1] == "script":
            self.code[-1] += data


@cache
def page(path):
    return Page(path)


def local(links):
    return [urlsplit(link) for link in links if not urlsplit(link).scheme]


def target(path, link):
    return (path.parent / unquote(link.path)).resolve() if link.path else path


every_page = pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(SITE).as_posix())
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def test_the_site_is_that_of_these_sources():
    """All pages are there, and nothing was edited since."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    there = {path.relative_to(SITE).with_suffix("").as_posix() for path in PAGES}
    assert {*listed, "search", "404"} - there == set(), "pages are missing: run `make book`"
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


@every_page
def test_links_and_anchors_resolve(path):
    for link in local(page(path).links):
        file = target(path, link)
        assert file.is_file(), f"dead link: {link.geturl()}"
        if link.fragment and file.suffix == ".html":
            assert unquote(link.fragment) in page(file).ids, f"no anchor: {link.geturl()}"


@every_page
def test_nothing_is_loaded_from_elsewhere_and_no_script_is_foreign(path):
    links = local(page(path).loaded)
    assert len(links) == len(page(path).loaded), "a page loads only what the site has"
    assert [link.geturl() for link in links if not target(path, link).is_file()] == []
    rules = page(path).meta["Content-Security-Policy"].split("; ")
    rules = dict(rule.split(" ", 1) for rule in rules)
    digests = {hashlib.sha256(code.encode()).digest() for code in page(path).code}
    own = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    assert {*rules.pop("script-src").split()} == {"'self'", "'unsafe-hashes'", *own}
    assert rules == POLICY


@every_page
def test_a_page_is_valid_and_shows_no_markup(path):
    ids = page(path).ids
    twice = {id for id in ids if ids.count(id) > 1}
    assert twice <= TWICE, "ids that stand there twice"
    assert [image["src"] for image in page(path).images if not image.get("alt")] == []
    markup = r"\{[a-z][\w:-]+\}`|:{3,}.*|\]\([^)\s]+\)|\*\*[^*\s][^*\n]*\*\*"
    raw = re.findall(markup, page(path).text)
    assert raw == [], "markup that was not rendered"
    assert 20 <= len(page(path).meta["description"]) <= 160


@every_page
def test_pages_are_light(path):
    """At most 12 requests and 110 KB before pictures, if a page used every font of the style."""
    files = {target(path, link) for link in local(page(path).loaded)}
    pictures = {file for file in files if file.parent.name == "_images"}
    files = {path, *files} - pictures
    for style in [file for file in files if file.suffix == ".css"]:
        fonts = r'url\("?([\w.-]+-(?:Regular|Italic)\.\w+\.woff2)'
        files |= {style.parent / font for font in re.findall(fonts, style.read_text("utf-8"))}
    contents = {file.name: file.read_bytes() for file in files}
    sizes = {
        name: len(content if name.endswith(".woff2") else gzip.compress(content))
        for name, content in contents.items()
    }
    assert sum(sizes.values()) <= 110_000, sizes
    assert len(files) + min(1, len(pictures)) <= 12, sorted(sizes)
    if "notebooks" in path.parts:
        assert all("loading" in image for image in page(path).images[1:] if "width" in image)


def test_descriptions_tell_pages_apart():
    texts = [page(path).meta["description"] for path in PAGES]
    assert sorted({text for text in texts if texts.count(text) > 1}) == []


def test_the_index_of_all_words_is_light_and_comes_with_a_search_alone():
    size = len(gzip.compress((SITE / "searchindex.js").read_bytes()))
    assert size / len(CHAPTERS) <= 5_100, "bytes of the search index for each chapter"
    assert "searchindex.js" not in {Path(link).name for link in page(SITE / "search.html").loaded}


@every_chapter
def test_a_chapter_folds_what_it_says_and_is_timed(path):
    """Each folded cell by its first comment, each solution in its box."""
    cells = nbformat.read(path, as_version=4).cells
    html = (SITE / "notebooks" / f"{path.stem}.html").read_text("utf-8")
    tagged = [c.source for c in cells if "hide-input" in c.metadata.get("tags", [])]
    lines = [re.match("# *(.*)", source)[1] for source in tagged]
    found = re.findall(r'<details class="fold[^>]*>\s*<summary>(.*?)</summary>', html)
    assert len(found) == len(lines)
    assert 'class="reading-time"' in html
    solutions = sum(c.source.count(":::{solution}") for c in cells if c.cell_type == "markdown")
    assert len(re.findall(r'<div class="[^"]*\bsolution\b[^"]*admonition', html)) == solutions


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
    prepares = "".join(code[0][:1]).startswith("# Get what this notebook needs")
    assert code[0][prepares:] == code[1]
    links = page(SITE / "notebooks" / f"{path.stem}.html").links
    assert f"../_sources/notebooks/{path.name}" in links


def test_an_address_that_leads_nowhere_gets_help():
    lost = page(SITE / "404.html")
    chapters = {path.name for path in PAGES if path.parent.name == "notebooks"}
    assert chapters <= {Path(link.path).name for link in local(lost.links)}


def test_the_site_ships_and_links_the_licenses_of_others():
    (shipped,) = (SITE / "_downloads").glob("*/licenses.txt")
    assert shipped.read_bytes() == (ROOT / "book" / "licenses.txt").read_bytes()
    assert any(
        link.path.endswith(f"{shipped.parent.name}/licenses.txt")
        for link in local(page(SITE / "index.html").links)
    )


def luminance(color):
    parts = np.array(mpl.colors.to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("page", "ink"), [("#ffffff", plots.INK), ("#121212", svg_theme.DARK_INK)])
def test_figures_can_be_read_in_both_themes(page, ink):
    """Lines at 3 to 1, words in their colors at 4.5 (WCAG 2.2); axe can't look into pictures."""
    assert contrast(ink, page) >= 4.5
    for color in plots.COLORS:
        share = svg_theme.SHARE / 100
        pair = np.array([mpl.colors.to_rgb(color), mpl.colors.to_rgb(ink)])
        assert contrast(color, page) >= 3
        assert contrast([share, 1 - share] @ pair, page) >= 4.5
