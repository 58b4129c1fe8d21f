"""Print the book into `_build/book.pdf`: `make pdf`.

Chromium prints the site's pages, with the print styles in `book/_static/book.css`, one after the
other. Bookmarks lead to pages, links to the published site.
"""

import re
from io import BytesIO
from pathlib import Path

import pikepdf
import yaml
from browser import chromium

ROOT = Path(__file__).parents[1]
SITE, OUT = ROOT / "_build" / "html", ROOT / "_build" / "book.pdf"
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]+)"')
# Links to other pages lead to the published site; without one they are plain text.
LINKS = """([site, address]) => {
  for (const link of document.querySelectorAll('a[href]')) {
    if (!link.href.startsWith(site) || link.getAttribute('href').startsWith('#')) continue;
    if (address) link.href = address + link.href.slice(site.length);
    else link.removeAttribute('href');
  }
}"""
# Chromium fills in spans of these classes.
FOOT = """<p style="font: 8px sans-serif; margin: auto">
  <span class="title"></span>, page <span class="pageNumber"></span>
</p>"""
PAPER = {
    "format": "A4",
    "margin": dict.fromkeys(("top", "bottom", "left", "right"), "18mm"),
    "print_background": True,
    "display_header_footer": True,
    "header_template": "<p></p>",
    "footer_template": FOOT,
}


def page_names():
    """Return the names of the book's pages, in the order of its contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [
        chapter["file"] for part in toc["parts"] for chapter in part["chapters"]
    ]
    return [toc["root"], *chapters]


def main():
    """Print each page, and join them."""
    published = CANONICAL.search((SITE / "index.html").read_text(encoding="utf-8"))
    addresses = [f"{SITE.as_uri()}/", published[1] if published else ""]
    with chromium() as browser, pikepdf.new() as book:
        tab = browser.new_page()
        with book.open_outline() as outline:  # written where this block ends
            for name in page_names():
                tab.goto((SITE / f"{name}.html").as_uri(), wait_until="load")
                tab.evaluate(LINKS, addresses)
                bookmark = pikepdf.OutlineItem(tab.title(), len(book.pages))
                outline.root.append(bookmark)
                with pikepdf.open(BytesIO(tab.pdf(**PAPER))) as pages:
                    book.add_pages_from(pages)
        book.save(OUT)
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
