"""Print the book into `_build/book.pdf`: `make pdf`.

Chromium prints the site's pages with the print styles in `book/_static/book.css`. The book has a
cover, contents with page numbers and running heads; links lead to other pages of the file.
"""

import json
import re
from io import BytesIO
from pathlib import Path
from posixpath import dirname, join, normpath

import pikepdf
from browser import chromium
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[1]
SITE, OUT = ROOT / "_build" / "html", ROOT / "_build" / "book.pdf"
LEFT_OUT = {"book/try", "book/vectors"}  # lookup lists, of little use on paper
LISTED = re.compile(r"^(?:root:| +- file:) (\S+)$", re.MULTILINE)
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]+)"')
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


def article(name, names, address):
    """Return a page's title and HTML, with ids and links for a file that has all `names`."""
    html = BeautifulSoup((SITE / f"{name}.html").read_text("utf-8"), "html.parser")
    shown = html.select_one("article.bd-article")
    for part in shown.select(".headerlink, script, .choices, .start, .reading-time"):
        part.decompose()
    for node in shown.find_all(id=True):
        node["id"] = f"{slug(name)}--{node['id']}"
    shown["id"], shown["style"] = slug(name), f"page: {slug(name)}"
    for image in shown.find_all("img", src=re.compile("^(?!data:)")):
        image["src"] = normpath(join(dirname(name), image["src"]))
    for link in shown.find_all("a", href=re.compile(r"^(?!\w+:)")):
        page, hash, anchor = link["href"].partition("#")
        target = normpath(join(dirname(name), page)) if page else f"{name}.html"
        if (other := target.removesuffix(".html")) in names:
            link["href"] = f"#{slug(other)}--{anchor}" if anchor else f"#{slug(other)}"
        elif address:
            link["href"] = f"{address}{target}{hash}{anchor}"
        else:
            del link["href"]
    return " ".join(shown.h1.text.split()), str(shown)


def slug(name):
    return name.replace("/", "-")


def document(pages, starts):
    """Return the book's HTML; `starts` are the numbers of the pages that chapters begin on."""
    head = "@page {} {{ @top-right {{ content: {}; font: 8pt sans-serif }} }}"
    heads, rows = [], []
    for (name, (title, _)), start in zip(pages.items(), starts, strict=True):
        heads.append(head.format(slug(name), json.dumps(title, ensure_ascii=False)))
        rows.append(f'<li data-page="{start}"><a href="#{slug(name)}">{title}</a></li>')
    styles = re.search("<link[^>]* rel=.stylesheet.*?>", (SITE / "index.html").read_text("utf-8"))
    return f"""<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{TITLE}</title>{styles[0]}<style>{STYLE}{"".join(heads)}</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<section class="cover"><h1>{TITLE}</h1><p>How a transformer knows the order of its words</p>
<img src="../../book/_static/cover.svg" alt="128 positions in 64 dimensions, as a heatmap">
</section><nav class="contents"><h2>Contents</h2><ul>{"".join(rows)}</ul></nav>
{"".join(html for _, html in pages.values())}</div></div></main></body></html>"""


def main():
    """Print twice, the first time for the numbers of the pages."""
    listed = LISTED.findall((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [name for name in listed if name not in LEFT_OUT]
    published = CANONICAL.search((SITE / "index.html").read_text(encoding="utf-8"))
    pages = {name: article(name, names, published[1] if published else "") for name in names}
    source, starts = SITE / "print.html", [""] * len(pages)
    with chromium() as browser:
        tab = browser.new_page()
        for _ in range(2):
            source.write_text(document(pages, starts), encoding="utf-8")
            tab.goto(source.as_uri(), wait_until="load")
            content = tab.pdf(
                prefer_css_page_size=True, print_background=True, tagged=True, outline=True
            )
            with pikepdf.open(BytesIO(content)) as pdf, pdf.open_outline() as outline:
                # Compresses the tags, half of the file.
                pdf.save(OUT, object_stream_mode=pikepdf.ObjectStreamMode.generate)
                _, *starts = [pikepdf.Page(each.destination[0]).index + 1 for each in outline.root]
    source.unlink()
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
