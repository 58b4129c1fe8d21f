"""Links each glossary term where a chapter first uses it, and adds tooltips.

A link to a term or reference has its definition as a title, which `book.js` shows as a tooltip.
"""

import posixpath
import re
from functools import cache

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


@cache
def said(app: Sphinx) -> dict[str, str]:
    """Tooltips by link target: a term's first sentence, or the reference itself."""
    found, kinds = {}, nodes.definition_list_item | nodes.list_item
    for page in sorted({"book/glossary", "book/references"} & app.env.found_docs):
        for item in app.env.get_doctree(page).findall(lambda node: isinstance(node, kinds)):
            text = next(item.findall(nodes.paragraph), nodes.paragraph()).astext()
            if isinstance(item, nodes.definition_list_item):
                anchors = item[0]["ids"]
                sentence = re.split(r"(?<=\.)\s", text)[0]
                text = re.sub(r"[;,][^;,]*\\.*", ".", sentence)  # without a formula
            else:
                anchors = [id for target in item.findall(nodes.target) for id in target["ids"]]
                text = text.partition(" URL: ")[0]
            found |= {f"{page}.html#{anchor}": " ".join(text.split()) for anchor in anchors}
    return found


def tell(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set the titles of links to terms and references."""
    for link in doctree.findall(nodes.reference):
        place = posixpath.normpath(posixpath.join(docname, "..", link.get("refuri", "")))
        if place in said(app):
            link["reftitle"] = said(app)[place]
