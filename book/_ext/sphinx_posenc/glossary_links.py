"""Link each term of the glossary where a chapter first uses it in running text."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if not docname.startswith("notebooks/"):
        return
    objects = app.env.get_domain("std").get_objects()
    terms = [(name, page, anchor) for name, _, kind, page, anchor, _ in objects if kind == "term"]
    for term, page, anchor in sorted(terms, key=lambda term: len(term[0]), reverse=True):
        use = re.compile(rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE)
        for text in list(doctree.findall(nodes.Text)):
            found = use.search(text)
            prose = isinstance(text.parent, nodes.paragraph)
            if found and prose and not isinstance(text.parent.parent, nodes.entry):
                word = nodes.inline("", found[0], classes=["xref", "std", "std-term"])
                link = make_refnode(app.builder, docname, page, anchor, word)
                before, after = text[: found.start()], text[found.end() :]
                text.parent.replace(text, [nodes.Text(before), link, nodes.Text(after)])
                break
