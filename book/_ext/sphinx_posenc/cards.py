"""Lists of chapters, on the first page and of all pages: each with its sign.

Signs, from ``book/signs.svg``, are written into the page, so that they follow its colors.
"""

import re
from pathlib import Path

from docutils import nodes

CHAPTER = re.compile(r"notebooks/(\d\d)_")
SYMBOL = re.compile(r'<symbol id="sign-(\d\d)">(.*?)</symbol>', re.DOTALL)
SIGN = '<svg class="sign" viewBox="0 0 100 100" aria-hidden="true">{}</svg>'
FILE = Path(__file__).parents[2] / "signs.svg"


def deal(app, doctree, docname):
    """Mark the lists in sections of these two pages, and add signs to their chapters."""
    kind = {app.config.root_doc: "signs", "book/all_pages": "shelf"}.get(docname)
    if kind is None:
        return
    signs = dict(SYMBOL.findall(FILE.read_text(encoding="utf-8")))
    _, *sections = doctree.findall(nodes.section)
    for section in sections:
        for chapters in section.findall(nodes.bullet_list):
            chapters["classes"].append(kind)
            for link in chapters.findall(nodes.reference):
                chapter = CHAPTER.search(link["refuri"])
                # A chapter that was just begun has none.
                if chapter and chapter[1] in signs:
                    sign = SIGN.format(signs[chapter[1]])
                    link.insert(0, nodes.raw("", sign, format="html"))
