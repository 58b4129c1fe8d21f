"""The text of a page: links to the glossary, and formulas that don't break.

Each term of the glossary is linked where a chapter first uses it.
"""

import re
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

from .folds import Fold

# Characters of code and of LaTeX that fit on any line; longer ones may break.
CODE, FORMULA = 16, 38


@cache
def glossary(app: Sphinx) -> dict[str, tuple[str, str]]:
    """The page and the anchor of each term, longer terms first."""
    objects = app.env.get_domain("std").get_objects()
    terms = {
        name.lower(): (page, anchor)
        for name, _, kind, page, anchor, _ in objects
        if kind == "term"
    }
    return {term: terms[term] for term in sorted(terms, key=len, reverse=True)}


def is_prose(text: nodes.Text) -> bool:
    """Whether a text stands in a paragraph of the main line, not in a link or a table."""
    around = text.parent.parent
    return isinstance(text.parent, nodes.paragraph) and not isinstance(
        around, nodes.entry | Fold
    )


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link each term where a chapter first uses it."""
    if not docname.startswith("notebooks/"):
        return
    # A text is cut in two where a term is linked; longer terms come first, so that
    # "positional encoding" is taken before "encoding".
    texts = [text for text in doctree.findall(nodes.Text) if is_prose(text)]
    for term, (page, anchor) in glossary(app).items():
        word = re.compile(rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE)
        for index, text in enumerate(texts):
            if match := word.search(text):
                shown = nodes.inline("", match[0], classes=["xref", "std", "std-term"])
                link = make_refnode(app.builder, docname, page, anchor, shown)
                before, after = (
                    nodes.Text(text[: match.start()]),
                    nodes.Text(text[match.end() :]),
                )
                text.parent.replace(text, [before, link, after])
                texts[index : index + 1] = [before, after]
                break


def keep_together(app: Sphinx, doctree: nodes.document, docname: str) -> None:
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
            rest = nodes.Text(after[signs.end() :])
            together = nodes.inline("", "", formula.deepcopy(), nodes.Text(signs[0]))
            together["classes"].append("together")
            formula.parent.replace(after, rest)
            formula.replace_self(together)
