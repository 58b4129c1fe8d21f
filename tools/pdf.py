"""Print the book, and each page of it, into `_build/html/pdf`: `make pdf`.

Chromium prints the site's pages with the print styles in `book/_static/book.css`. The book has a
cover, contents with page numbers and running heads; links lead to other pages of the same file, or
else to the published site. The menu of each page then offers its PDF.
"""

import json
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

import pikepdf
from browser import chromium
from bs4 import BeautifulSoup

SITE = Path(__file__).parents[1] / "_build" / "html"
OUT = SITE / "pdf"
LEFT_OUT = {"book/try", "book/vectors"}  # lookup lists, of little use on paper
LISTED = re.compile(r"^- \[.+?\]\((.+?)\.md\): ", re.MULTILINE)
PRINT_BUTTON = '<button type="button" data-does="print">Print, or save as PDF</button>'
TITLE = "Positional encoding, executed"
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
"""


def slug(name):
    return name.replace("/", "-")


class Page:
    """A page of the site, prepared for print."""

    def __init__(self, name):
        self.html = BeautifulSoup((SITE / f"{name}.html").read_text("utf-8"), "html.parser")
        self.article = self.html.select_one("article.bd-article")
        self.name, self.slug = name, slug(name)
        self.style = self.html.select_one("link[rel=stylesheet]")["href"].removeprefix("../")
        for part in self.article.select(".headerlink, script, .choices, .start, .reading-time"):
            part.decompose()
        self.title = " ".join(self.article.h1.text.split())

    def lead(self, names, address):
        """Return the article, with addresses rewritten for a file of these pages at the root."""
        article = BeautifulSoup(str(self.article), "html.parser").article
        for node in article.find_all(id=True):
            node["id"] = f"{self.slug}--{node['id']}"
        article["id"], article["style"] = self.slug, f"page: {self.slug}"
        for image in article.find_all("img", src=re.compile("^(?!data:)")):
            image["src"] = normpath(join(dirname(self.name), image["src"]))
        for link in article.find_all("a", href=re.compile(r"^(?!\w+:)")):
            page, hash, anchor = link["href"].partition("#")
            target = normpath(join(dirname(self.name), page)) if page else f"{self.name}.html"
            if (name := target.removesuffix(".html")) in names:
                link["href"] = f"#{slug(name)}--{anchor}" if anchor else f"#{slug(name)}"
            elif address:
                link["href"] = f"{address}{target}{hash}{anchor}"
            else:
                del link["href"]
        return str(article)


def document(chosen, address, front=""):
    """Return the HTML of some pages; `address` is the published site's, or empty."""
    names = {page.name for page in chosen}
    head = "@page {} {{ @top-right {{ content: {}; font: 8pt sans-serif }} }}"
    heads = [head.format(p.slug, json.dumps(p.title, ensure_ascii=False)) for p in chosen]
    articles = "\n".join(page.lead(names, address) for page in chosen)
    return f"""<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{TITLE if front else chosen[0].title}</title>
<link rel="stylesheet" href="{chosen[0].style}"><style>{STYLE}{"".join(heads)}</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{front}{articles}</div></div></main></body></html>"""


def front(chosen, starts):
    """Return cover and contents; `starts` are the numbers of the pages that chapters begin on."""
    rows = "".join(
        f'<li data-page="{start}"><a href="#{page.slug}">{page.title}</a></li>'
        for page, start in zip(chosen, starts, strict=True)
    )
    return f"""<section class="cover"><h1>{TITLE}</h1>
<p>How a transformer knows the order of its words</p>
<img src="pdf/cover.svg" alt="128 positions in 64 dimensions, as a heatmap"></section>
<nav class="contents"><h2>Contents</h2><ul>{rows}</ul></nav>"""


def write(browser, html, path):
    """Print a document, dated as the commit. Return the numbers of its first headings' pages."""
    source = SITE / "print.html"
    source.write_text(html, encoding="utf-8")
    tab = browser.new_page()
    tab.goto(source.as_uri(), wait_until="load")
    content = tab.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
    tab.close()
    source.unlink()
    git = ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y%m%d%H%M%S"]
    date = subprocess.check_output(git, cwd=SITE.parents[1]).strip()
    content = re.sub(rb"\(D:\d{14}", b"(D:" + date, content)
    with pikepdf.open(BytesIO(content)) as pdf:
        packed = pikepdf.ObjectStreamMode.generate  # compresses the tags, half of the file
        pdf.save(path, object_stream_mode=packed, deterministic_id=True)
        with pdf.open_outline() as outline:
            return [pikepdf.Page(each.destination[0]).index + 1 for each in outline.root]


def main():
    """Print the book and its pages, and link the PDFs in place of the buttons that print."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    cover = Path(shutil.copy(SITE.parents[1] / "book" / "_static" / "cover.svg", OUT))
    listed = LISTED.findall((SITE / "llms.txt").read_text(encoding="utf-8"))
    address = listed[0].removesuffix("index")
    names = [name.removeprefix(address) for name in listed]
    chosen = [Page(name) for name in names if name not in LEFT_OUT]
    book, starts = OUT / "book.pdf", [""] * len(chosen)
    with chromium() as browser:
        for _ in range(2):  # the first time for the numbers of the pages
            html = document(chosen, address, front(chosen, starts))
            _, *starts = write(browser, html, book)
        for page in chosen:
            write(browser, document([page], address), OUT / f"{page.slug}.pdf")
    cover.unlink()
    for path in SITE.rglob("*.html"):
        own = OUT / f"{slug(path.relative_to(SITE).with_suffix('').as_posix())}.pdf"
        target = relpath(own if own.exists() and own.stem != "index" else book, path.parent)
        link = f'<a href="{target}" download>Download PDF</a>'
        path.write_text(path.read_text("utf-8").replace(PRINT_BUTTON, link), encoding="utf-8")
    print(f"{book}: {book.stat().st_size / 1e6:.1f} MB, and {len(chosen)} pages of their own")


if __name__ == "__main__":
    main()
