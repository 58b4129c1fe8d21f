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
LINKS = """([site, address]) => {
  for (const link of document.querySelectorAll('a[href]')) {
    if (!link.href.startsWith(site) || link.getAttribute('href').startsWith('#')) continue;
    if (address) link.href = address + link.href.slice(site.length);
    else link.removeAttribute('href');
  }
}"""
FOOT = (
    '<p style="font: 8px sans-serif; margin: auto"><span class="title"></span>, page '
)
FOOT += '<span class="pageNumber"></span></p>'
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "18mm")
PAPER = {
    "format": "A4",
    "margin": MARGIN,
    "print_background": True,
    "footer_template": FOOT,
}
PAPER |= {"display_header_footer": True, "header_template": "<p></p>"}


def main():
    """Print each page, and join them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [
        toc["root"],
        *(each["file"] for part in toc["parts"] for each in part["chapters"]),
    ]
    published = CANONICAL.search((SITE / "index.html").read_text(encoding="utf-8"))
    links = [f"{SITE.as_uri()}/", published[1] if published else ""]
    with chromium() as browser, pikepdf.new() as book:
        tab = browser.new_page()
        with book.open_outline() as outline:  # written where this block ends
            for name in listed:
                tab.goto((SITE / f"{name}.html").as_uri(), wait_until="load")
                tab.evaluate(LINKS, links)
                with pikepdf.open(BytesIO(tab.pdf(**PAPER))) as pages:
                    outline.root.append(
                        pikepdf.OutlineItem(tab.title(), len(book.pages))
                    )
                    book.add_pages_from(pages)
        book.save(OUT)
    print(f"{OUT}: {OUT.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
