"""Signs of chapters: beside their titles, and in lists, on the first page and of all pages.

Signs, from ``book/signs.svg``, are written into the page, so that they follow its colors.
"""

import re
from functools import cache
from pathlib import Path

from docutils import nodes

CHAPTER = re.compile(r"notebooks/(\d\d)_")
SYMBOL = re.compile(r'<symbol id="sign-(\d\d)">(.*?)</symbol>', re.DOTALL)
SIGN = '<svg class="sign" viewBox="0 0 100 100" aria-hidden="true">{}</svg>'
FILE = Path(__file__).parents[2] / "signs.svg"


@cache
def sign_of(chapter):
    """A chapter's sign as a node, by its two digits; empty for one that was just begun."""
    signs = dict(SYMBOL.findall(FILE.read_text(encoding="utf-8")))
    drawn = SIGN.format(signs[chapter]) if chapter in signs else ""
    return nodes.raw("", drawn, format="html")


def head(app, doctree, docname):
    """Add a chapter's sign to the line below its title."""
    if chapter := CHAPTER.match(docname):
        lines = doctree.findall(nodes.paragraph)
        line = next(line for line in lines if "reading-time" in line["classes"])
        line += sign_of(chapter[1]).deepcopy()


def describe(link):
    """Make what a list says of a page, behind its title and a colon, a sentence."""
    line = link.parent
    behind = line.index(link) + 1
    if behind < len(line):
        words = line[behind].astext().removeprefix(": ")
        line[behind] = nodes.Text(words[0].upper() + words[1:])


def deal(app, doctree, docname):
    """Mark the lists in sections of these two pages, and add signs to their chapters."""
    kind = {app.config.root_doc: "signs", "book/all_pages": "shelf"}.get(docname)
    if kind is None:
        return
    _, *sections = doctree.findall(nodes.section)
    for section in sections:
        for chapters in section.findall(nodes.bullet_list):
            chapters["classes"].append(kind)
            for link in chapters.findall(nodes.reference):
                describe(link)
                chapter = CHAPTER.search(link["refuri"])
                if not chapter:
                    continue
                if number := int(chapter[1]):
                    link.insert(0, nodes.Text(f"{number}. "))
                link.insert(0, sign_of(chapter[1]).deepcopy())
