"""Print the book, and each page of it, into `_build/html/pdf`: `make pdf`.

Chromium prints what the site shows, as the print rules in `book/_static/book.css` say: folds that
are closed stay closed. The book has a cover, contents with page numbers and running heads; links
lead to other pages of the same file, or else to the published site. Every page of the site then
offers its file in the menu of downloads.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pikepdf
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parents[1] / "_build" / "html"
OUT = SITE / "pdf"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Lists for looking things up, on paper of little use.
LEFT_OUT = {"book/try", "book/vectors"}
PRINT_BUTTON = re.compile(r'<button onclick="window\.print\(\)"(.*?)</button>', re.DOTALL)
STYLE = """
@page { size: A4; margin: 20mm 18mm 18mm;
  @bottom-center { content: counter(page); font: 9pt sans-serif }
  @top-left { content: "Positional encoding, executed"; font: 8pt sans-serif; color: #555 } }
@page cover { @bottom-center { content: none } @top-left { content: none } }
.cover { page: cover; text-align: center; padding-top: 30mm }
.cover img { width: 100%; margin: 15mm 0 }
.contents { break-before: page; box-shadow: none; border: 0; background: none }
.contents li { display: flex; list-style: none; gap: 0.5em }
.contents li::after { content: attr(data-page); margin-left: auto }
article.bd-article { break-before: page; margin: 0; padding: 0 }
.admonition { break-inside: auto }
.bd-main .bd-content .bd-article-container { max-width: none; padding: 0 }
.bd-article figure, .bd-article .picture, table { max-width: 100%; overflow: visible !important }
.bd-article .picture > img, posenc-figure > img { max-width: 100%; height: auto }
h1, h2, h3, h4 { break-after: avoid }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
.reading-time { display: none }
"""


class Page:
    """A page of the site, as it is printed."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        html = BeautifulSoup((SITE / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        self.article = html.select_one("article.bd-article")
        self.style = html.select_one("link[rel=stylesheet]")["href"].removeprefix("../")
        for part in self.article.select(".headerlink, script, .choices, .start, .run"):
            part.decompose()
        number = self.article.select_one("h1 .section-number")
        self.title = f"{number.text.strip() if number else ''} {title}".strip()
        self.head = re.sub(r'["\\]', "", self.title)

    @property
    def slug(self) -> str:
        return self.name.replace("/", "-")

    def lead(self, names: set[str], address: str) -> Tag:
        """The article, with addresses that hold in a file of these pages at the site's root."""
        article = BeautifulSoup(str(self.article), "html.parser").article
        folder = posixpath.dirname(self.name)
        article["style"] = f"page: {self.slug}"
        for node in article.find_all(id=True):
            node["id"] = f"{self.slug}--{node['id']}"
        article["id"] = self.slug
        for image in article.find_all("img"):
            if not image["src"].startswith("data:"):
                image["src"] = posixpath.normpath(posixpath.join(folder, image["src"]))
        for link in article.find_all("a", href=True):
            page, _, anchor = link["href"].partition("#")
            if re.match(r"\w+:", page):
                continue
            target = posixpath.normpath(posixpath.join(folder, page)) if page else self.name
            name = target.removesuffix(".html")
            if name in names:
                slug = name.replace("/", "-")
                link["href"] = f"#{slug}--{anchor}" if anchor else f"#{slug}"
            elif address:
                link["href"] = f"{address}{target}" + (f"#{anchor}" if anchor else "")
            else:
                del link["href"]
        return article


def pages() -> Iterator[Page]:
    """The pages, in the order of the book."""
    listed = (SITE / "llms.txt").read_text(encoding="utf-8")
    for title, name in re.findall(
        r"^- \[(.+?)\]\((?:https?://.*?/)??([\w/]+)\.md\): ", listed, re.M
    ):
        if name not in LEFT_OUT:
            yield Page(name, title)


def address() -> str:
    """Where the site is published, if the build knew."""
    index = BeautifulSoup((SITE / "index.html").read_text(encoding="utf-8"), "html.parser")
    link = index.select_one("link[rel=canonical]")
    return link["href"].removesuffix("index.html") if link else ""


def document(chosen: list[Page], front: str) -> str:
    """The HTML of some pages."""
    names, where = {page.name for page in chosen}, address()
    heads = "\n".join(
        f'@page {p.slug} {{ @top-right {{ content: "{p.head}"; font: 8pt sans-serif }} }}'
        for p in chosen
    )
    articles = "\n".join(str(page.lead(names, where)) for page in chosen)
    return f"""<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{chosen[0].title if not front else "Positional encoding, executed"}</title>
<link rel="stylesheet" href="{chosen[0].style}"><style>{STYLE}{heads}</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{front}{articles}</div></div></main></body></html>"""


def front(chosen: list[Page], at: dict[str, int]) -> str:
    """Cover and contents."""
    rows = ""
    for page in chosen:
        number = at.get(re.sub(r"\s", "", page.title), "")
        rows += f'<li data-page="{number}"><a href="#{page.slug}">{page.title}</a></li>'
    return f"""<section class="cover"><h1>Positional encoding, executed</h1>
<p>How a transformer knows the order of its words</p>
<img src="pdf/cover.svg" alt="128 positions in 64 dimensions, as a heatmap"></section>
<nav class="contents"><h2>Contents</h2><ul>{rows}</ul></nav>"""


def write(browser: Browser, html: str, path: Path) -> dict[str, int]:
    """Print a document. Return on which page each chapter begins, by its title without blanks.

    Two runs of one commit write the same bytes: the date is the commit's.
    """
    source = SITE / "print.html"
    source.write_text(html, encoding="utf-8")
    tab = browser.new_page()
    tab.goto(source.as_uri(), wait_until="load")
    content = tab.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    tab.close()
    source.unlink()
    git = ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y%m%d%H%M%S"]
    date = subprocess.run(git, cwd=SITE.parents[1], check=True, capture_output=True).stdout.strip()
    content = re.sub(rb"\(D:\d{14}", b"(D:" + date, content)
    with pikepdf.open(BytesIO(content)) as pdf:
        packed = pikepdf.ObjectStreamMode.generate  # the tags, a half of the file
        pdf.save(path, object_stream_mode=packed, deterministic_id=True)
        with pdf.open_outline() as outline:
            return {
                re.sub(r"\s", "", item.title): pikepdf.Page(item.destination[0]).index + 1
                for item in outline.root
            }


def main() -> None:
    """Print everything, and offer it."""
    browsers = filter(None, map(shutil.which, NAMES))
    path = next(browsers, None) or sys.exit("no Chromium: install one")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    shutil.copy(SITE.parents[1] / "book" / "_static" / "cover.svg", OUT)
    book, chosen = OUT / "book.pdf", list(pages())
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=["--no-sandbox"])
        starts = write(browser, document(chosen, front(chosen, {})), book)
        write(browser, document(chosen, front(chosen, starts)), book)
        for page in chosen:
            write(browser, document([page], ""), OUT / f"{page.slug}.pdf")
        browser.close()
    (OUT / "cover.svg").unlink()
    for page in SITE.rglob("*.html"):
        offer(page)
    print(f"{book}: {book.stat().st_size / 1e6:.1f} MB, and {len(chosen)} pages of their own")


def offer(page: Path) -> None:
    """Put the file in the place of the button that prints: the page's own, or the book's."""
    name = page.relative_to(SITE).with_suffix("").as_posix().replace("/", "-")
    own = OUT / f"{name}.pdf"
    target = own if own.exists() and name != "index" else OUT / "book.pdf"
    href = posixpath.relpath(target.as_posix(), page.parent.as_posix())
    html = page.read_text(encoding="utf-8")
    link = PRINT_BUTTON.sub(rf'<a href="{href}"\1</a>', html).replace(
        "Print to PDF", "Download PDF"
    )
    page.write_text(link, encoding="utf-8")


if __name__ == "__main__":
    main()
