"""What the search (``book/_static/search/search.js``) reads: each section's title, text and code.

A page is ``[title, sections]``; a section, or a term of the glossary, is ``[anchor, title, other
titles, text, code]``. The book's own index entries count as titles. Of code and of its output only
the names that the text lacks are kept, each once: numbers fill outputs, and excerpts show prose.
"""

import json
import re
from html import unescape
from typing import IO, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.search import IndexBuilder

NAME = re.compile(r"(?=\w*[_A-Z])[^\W\d]\w{2,}")  # others are words, or serve one cell
COMMON = {"Draw", "False", "None", "True", "_000", "use_style"}


class Sections(IndexBuilder):
    """In the place of Sphinx's index, for its builder: the same calls, other contents."""

    pages: dict[str, Any]

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.pages = {}

    def feed(
        self, docname: str, filename: str, title: str, doctree: nodes.document
    ) -> None:
        page, found = doctree.deepcopy(), []
        take(page, nodes.field_list)  # each function's parameters
        for part in [*reversed([*page.findall(is_part)]), page]:  # inner ones first
            heading = anchor = ""
            if part is not page:
                heading, anchor = part[0].astext(), (part[0]["ids"] or part["ids"])[0]
                part.parent.remove(part)
                part.remove(part[0])
            # The book's own entries; autodoc's aren't marked as inline or not.
            indexes = [
                node for node in part.findall(addnodes.index) if "inline" in node
            ]
            others = [entry[1] for node in indexes for entry in node["entries"]]
            code = take(part, is_code)
            text = " ".join(prose(part).split())
            words = {*NAME.findall(text), *COMMON}
            names = [
                name for name in dict.fromkeys(NAME.findall(code)) if name not in words
            ]
            if text or names:
                found.append(
                    [anchor, heading, ", ".join(others), text, " ".join(names)]
                )
        self.pages[docname] = [unescape(re.sub("<[^>]*>", "", title)), found[::-1]]

    def dump(self, stream: IO[str], format: object) -> None:
        pages = json.dumps(self.pages, sort_keys=True, ensure_ascii=False)
        stream.write("window.bookPages=" + pages)


def take(part: nodes.Node, wanted: Any) -> str:
    """Remove nodes from a part, and return their text."""
    found = [*part.findall(wanted)]
    for node in found:
        node.parent.remove(node)
    return " ".join(node.astext() for node in found)


def prose(part: nodes.Node) -> str:
    """The prose of a part, with short formulas as their letters, without longer ones."""
    for formula in [*part.findall(nodes.math)]:
        letters = re.sub(r"\\(?:mathrm|text|mathbf|,|;)|[{}\\$]", "", formula.astext())
        formula.parent.replace(
            formula, nodes.Text(letters if len(letters) < 13 else "…")
        )
    texts = part.findall(lambda node: isinstance(node, nodes.TextElement))
    outer = [each for each in texts if not isinstance(each.parent, nodes.TextElement)]
    return " ".join(
        each.astext() for each in outer if not isinstance(each, nodes.Inline)
    )


def is_code(node: nodes.Node) -> bool:
    """Whether a node is code, its output, or a display formula."""
    if isinstance(node, nodes.container) and "cell_output" in node["classes"]:
        return not next(node.findall(nodes.caption), None)
    return isinstance(node, nodes.literal_block | nodes.math_block | nodes.raw)


def is_part(node: nodes.Node) -> bool:
    """Whether a node is a section within a page, or a term of the glossary."""
    if isinstance(node, nodes.section):
        return isinstance(node.parent, nodes.section)
    return bool(isinstance(node, nodes.definition_list_item) and node[0]["ids"])
