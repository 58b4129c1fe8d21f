"""Citable addresses: each page, and its figures, tables, equations, claims and exercises."""

import re
from pathlib import Path

SITE = Path(__file__).parents[1] / "_build" / "html"
CITED = re.compile(r'id="((?:fig|tab|equation|claim|ex)-[\w-]+)"')
MOVED = re.compile(r'http-equiv="refresh" content="0; url=([^"]+)"')


def places(page):
    """The citable anchors of a page, or of the page that it redirects to; empty without either."""
    path = SITE / page
    html = path.read_text("utf-8") if path.exists() else ""
    if moved := MOVED.search(html):
        html = (path.parent / moved[1]).read_text("utf-8")
    return {""} | {*CITED.findall(html)} if html else set()


if __name__ == "__main__":
    kinds = ("index", "notebooks/*", "book/*")
    pages = [path for kind in kinds for path in SITE.glob(f"{kind}.html")]
    names = [path.relative_to(SITE).as_posix() for path in pages]
    found = [f"{name}#{place}".rstrip("#") for name in names for place in places(name)]
    print("\n".join(sorted(found)))
