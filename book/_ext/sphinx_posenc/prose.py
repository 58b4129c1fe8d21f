"""The text of a page: links to the glossary, and formulas that don't break.

Each term of the glossary is linked where a chapter first uses it.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

from .folds import Fold

# Characters of code and of LaTeX that fit on any line; longer ones may break.
CODE, FORMULA = 16, 38


def is_prose(text: nodes.Text) -> bool:
    """Whether a text stands in a paragraph of the main line, not in a link or a table."""
    if not isinstance(text.parent, nodes.paragraph):
        return False
    around = text.parent.parent
    while around and not isinstance(around, nodes.entry | Fold):
        around = around.parent
    return not around


def link_terms(
    app: Sphinx,
    doctree: nodes.document,
    docname: str,
) -> None:
    """Link each term where a chapter first uses it."""
    if not docname.startswith("notebooks/"):
        return
    terms = {}
    for name, _, kind, page, anchor, _ in app.env.get_domain("std").get_objects():
        if kind == "term":
            terms[name.lower()] = page, anchor
    # "positional encoding" is taken before "encoding".
    names = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    pattern = re.compile(rf"\b({names})(?:s|es)?\b", re.IGNORECASE)
    for text in [text for text in doctree.findall(nodes.Text) if is_prose(text)]:
        parts: list[nodes.Node] = []
        end = 0
        for word in pattern.finditer(text):
            if place := terms.pop(word[1].lower(), None):
                shown = nodes.inline("", word[0], classes=["xref", "std", "std-term"])
                parts.append(nodes.Text(text[end : word.start()]))
                parts.append(make_refnode(app.builder, docname, *place, shown))
                end = word.end()
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def keep_together(
    app: Sphinx,
    doctree: nodes.document,
    docname: str,
) -> None:
    """Keep short code, and a short formula and what follows it, as in "k-th", on one line.

    KaTeX renders inline boxes, and browsers may break lines next to any of them.
    """
    for code in doctree.findall(nodes.literal):
        if len(code.astext()) <= CODE:
            code["classes"].append("together")
    for formula in [*doctree.findall(nodes.math)]:
        if len(formula.astext()) > FORMULA:
            continue
        formula["classes"].append("together")
        after = formula.next_node(siblings=True, descend=False)
        signs = re.match(r"\S+", after) if isinstance(after, nodes.Text) else None
        if signs:
            parent = formula.parent
            # By its place: another text that is equal, such as a comma, may stand before it.
            parent[parent.index(formula) + 1] = nodes.Text(after[signs.end() :])
            together = nodes.inline(classes=["together"])
            parent.replace(formula, together)
            together += formula
            together += nodes.Text(signs[0])
