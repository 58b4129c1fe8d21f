"""The text of a page: links to the glossary, and formulas that don't break.

Each term of the glossary is linked where a chapter first uses it.
"""

import re
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

# Characters of code and of LaTeX that fit on any line; longer ones may break.
CODE, FORMULA = 16, 38


@cache
def terms(app: Sphinx) -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    """A pattern of all terms, longer ones first, and their pages and anchors."""
    objects = app.env.get_domain("std").get_objects()
    places = {
        each[0].lower(): (each[3], each[4]) for each in objects if each[2] == "term"
    }
    words = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    return re.compile(rf"\b({words})(?:s|es)?\b", re.IGNORECASE), places


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    pattern, places = terms(app)
    left = dict(places) if docname.startswith("notebooks/") else {}
    for text in list(doctree.findall(nodes.Text)) if left else []:
        parts, end = list[nodes.Node](), 0
        prose = isinstance(text.parent, nodes.paragraph)
        if prose and not isinstance(text.parent.parent, nodes.entry):
            for found in pattern.finditer(text):
                if place := left.pop(found[1].lower(), None):
                    word = nodes.inline(
                        "", found[0], classes=["xref", "std", "std-term"]
                    )
                    link = make_refnode(app.builder, docname, *place, word)
                    parts += [nodes.Text(text[end : found.start()]), link]
                    end = found.end()
        if end:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def keep_together(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep short code, and a short formula and what follows it, as in "k-th", on one line.

    KaTeX renders inline boxes, and browsers may break lines next to any of them.
    """
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["together"] * (len(code.astext()) <= CODE)
    for formula in [
        each for each in doctree.findall(nodes.math) if len(each.astext()) <= FORMULA
    ]:
        formula["classes"].append("together")
        line, at = formula.parent, formula.parent.index(formula)
        after = [*line, ""][at + 1]
        if isinstance(after, nodes.Text) and (signs := re.match(r"\S+", after)):
            line[at + 1] = nodes.Text(after[signs.end() :])
            line[at] = nodes.inline(
                "", "", formula, nodes.Text(signs[0]), classes=["together"]
            )
