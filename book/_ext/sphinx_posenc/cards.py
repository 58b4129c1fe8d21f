"""Lists of chapters, on the first page and of all pages: each with its sign.

Signs, from ``book/signs.svg``, are written into the page, so that they follow its colors.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

CHAPTER = re.compile(r"notebooks/(\d\d)_")
SIGN = re.compile(r'<symbol id="sign-(\d\d)"[^>]*>(.*?)</symbol>', re.DOTALL)
FILE = Path(__file__).parents[2] / "signs.svg"


def deal(
    app: Sphinx,
    doctree: nodes.document,
    docname: str,
) -> None:
    """Mark the lists in sections of these two pages, and add signs to their chapters."""
    kind = {app.config.root_doc: "signs", "book/all_pages": "shelf"}.get(docname)
    if kind is None:
        return
    signs = dict(SIGN.findall(FILE.read_text(encoding="utf-8")))
    page = next(doctree.findall(nodes.section))
    for section in list(page.findall(nodes.section))[1:]:
        for chapters in section.findall(nodes.bullet_list):
            chapters["classes"].append(kind)
            for link in chapters.findall(nodes.reference):
                add_sign(link, signs)


def add_sign(
    link: nodes.reference,
    signs: dict[str, str],
) -> None:
    """Begin a link with its chapter's sign, if there is one."""
    number = CHAPTER.search(link["refuri"])
    if number and number[1] in signs:
        drawing = "".join(line.strip() for line in signs[number[1]].splitlines())
        svg = f'<svg class="sign" viewBox="0 0 100 100" aria-hidden="true">{drawing}</svg>'
        link.insert(0, nodes.raw("", svg, format="html"))
