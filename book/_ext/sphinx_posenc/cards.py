"""The chapters on the first page: each with its sign, from ``book/signs.svg``.

Signs are written into the page, so that they follow its colors.
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
    """Turn the lists of chapters in sections of the first page into rows of signs."""
    if docname != app.config.root_doc:
        return
    signs = dict(SIGN.findall(FILE.read_text(encoding="utf-8")))
    page = next(doctree.findall(nodes.section))
    for section in list(page.findall(nodes.section))[1:]:
        for chapters in section.findall(nodes.bullet_list):
            chapters["classes"].append("signs")
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
