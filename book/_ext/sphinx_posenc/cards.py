"""The chapters on the first page: each with its sign, from ``book/signs.svg``.

Signs are written into the page, so that they follow its colors.
"""

import re
from pathlib import Path

import lxml.etree
from docutils import nodes
from sphinx.application import Sphinx

CHAPTER = re.compile(r"notebooks/(\d\d)_")
SVG = "{http://www.w3.org/2000/svg}"
SIGNS = Path(__file__).parents[2] / "signs.svg"


def read_signs(path: Path) -> dict[str, str]:
    """The drawing of each chapter, by its number of two digits."""
    signs = {}
    for symbol in lxml.etree.parse(path).iter(f"{SVG}symbol"):
        parts = (lxml.etree.tostring(part, encoding="unicode") for part in symbol)
        drawing = "".join(part.strip() for part in parts)
        drawing = drawing.replace(' xmlns="http://www.w3.org/2000/svg"', "")
        signs[symbol.get("id").removeprefix("sign-")] = drawing
    return signs


def deal(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the lists of chapters in sections of the first page into rows of signs."""
    if docname != app.config.root_doc:
        return
    signs = read_signs(SIGNS)
    page = next(doctree.findall(nodes.section))
    for section in list(page.findall(nodes.section))[1:]:
        for chapters in section.findall(nodes.bullet_list):
            chapters["classes"].append("signs")
            for link in chapters.findall(nodes.reference):
                add_sign(link, signs)


def add_sign(link: nodes.reference, signs: dict[str, str]) -> None:
    """Begin a link with its chapter's sign, if there is one."""
    number = CHAPTER.search(link["refuri"])
    if number and number[1] in signs:
        drawing = signs[number[1]]
        svg = f'<svg class="sign" viewBox="0 0 100 100" aria-hidden="true">{drawing}</svg>'
        link.insert(0, nodes.raw("", svg, format="html"))
