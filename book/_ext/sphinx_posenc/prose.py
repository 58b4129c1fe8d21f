"""The text of a page: links to the glossary, and what doesn't break.

Each term of the glossary is linked where a chapter first uses it.
"""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

from .folds import Fold

# Characters of code and of LaTeX that fit on any line; longer ones may break.
CODE, FORMULA = 16, 38


def is_prose(text):
    """Whether a text stands in a paragraph of the main line, not in a link or a table."""
    if not isinstance(text.parent, nodes.paragraph):
        return False
    around = text.parent.parent
    while around and not isinstance(around, nodes.entry | Fold):
        around = around.parent
    return not around


def link_terms(app, doctree, docname):
    """Link each term where a chapter first uses it."""
    if not docname.startswith("notebooks/"):
        return
    places = {}  # of each form of a term
    for (kind, term), place in app.env.get_domain("std").objects.items():
        if kind == "term":
            forms = [f"{term.lower()}{ending}" for ending in ("", "s", "es")]
            places |= dict.fromkeys(forms, place)
    # "positional encoding" is taken before "encoding".
    forms = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    linked = []
    for text in [*filter(is_prose, doctree.findall(nodes.Text))]:
        parts = []
        for word in re.split(rf"\b({forms})\b", text, flags=re.IGNORECASE):
            part = nodes.Text(word)
            place = places.get(word.lower())
            if place and place not in linked:
                linked.append(place)
                shown = nodes.inline("", word, classes=["xref", "std", "std-term"])
                part = make_refnode(app.builder, docname, *place, shown)
            parts.append(part)
        text.parent.replace(text, parts)


def keep_together(app, doctree, docname):
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
        if isinstance(after, nodes.Text) and (signs := re.match(r"\S+", after)):
            both = [formula.deepcopy(), nodes.Text(signs[0])]
            together = nodes.inline("", "", *both, classes=["together"])
            # By its place: another text that is equal, such as a comma, may stand before it.
            place = formula.parent.index(formula)
            rest = nodes.Text(after[signs.end() :])
            formula.parent[place : place + 2] = [together, rest]
