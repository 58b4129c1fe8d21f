"""Indexes sections and glossary terms for the search; `search_scorer.js` ranks them."""

import json
import re
from collections.abc import Iterable
from html import escape
from typing import IO

from docutils import nodes
from sphinx import addnodes
from sphinx.search import IndexBuilder
from sphinx.search.en import SearchEnglish

WITHIN = re.compile(r"(?<=\d)[\s,](?=\d{3}(?!\d))|(?<=\w)//(?=\w)")  # one word: 10 000, i//2
NUMBER = re.compile(r"\b\d+\b")  # outputs are full of them


class Words(SearchEnglish):
    """English, where 10 000 is one word and single letters are none."""

    def split(self, input: str) -> list[str]:
        return super().split(WITHIN.sub("", input))

    def word_filter(self, word: str) -> bool:
        return super().word_filter(word) and not (len(word) == 1 and word.isascii())


class Sections(IndexBuilder):
    """Sphinx's index, with sections and terms as separate documents, ``page#anchor``.

    So is the code of a page, with its output: ``page#``.
    """

    def feed(self, docname: str, filename: str, title: str, doctree: nodes.document) -> None:
        page, code = doctree.deepcopy(), nodes.paragraph()
        for node in [*page.findall(is_code)]:
            code += nodes.Text(NUMBER.sub(" ", node.astext()))
            node.clear()
        for node in [*page.findall(addnodes.index)]:  # the book's own entries count as titles
            entries = node["entries"] if "inline" in node else []
            node.replace_self([nodes.title("", entry[1]) for entry in entries])
        for part in reversed([*page.findall(is_part)]):  # inner ones first
            part.parent.remove(part)
            anchor, heading = (part[0]["ids"] or part["ids"])[0], part[0].astext()
            part[0].replace_self(nodes.title("", heading))
            if len(part.astext().split()) > len(heading.split()):
                super().feed(f"{docname}#{anchor}", "", escape(heading), part)
        super().feed(f"{docname}#", "", "", code)
        super().feed(docname, "", title, page)

    def dump(self, stream: IO[str], format: object) -> None:
        index = json.dumps(self.freeze(), sort_keys=True, separators=(",", ":"))
        stream.write(f"Search.setIndex({index})")

    def prune(self, docnames: Iterable[str]) -> None:
        kept = set(docnames)
        super().prune([name for name in self._titles if name.partition("#")[0] in kept])
        for words in (self._mapping, self._title_mapping):  # Sphinx keeps words without pages
            for word in [word for word, pages in words.items() if not pages]:
                del words[word]


def is_code(node: nodes.Node) -> bool:
    """Whether a node is code, its output, or a display formula."""
    if isinstance(node, nodes.container):
        return "cell_output" in node["classes"]
    return isinstance(node, nodes.literal_block | nodes.math_block)


def is_part(node: nodes.Node) -> bool:
    """Whether a node is a section within a page, or a term of the glossary."""
    if isinstance(node, nodes.definition_list_item):
        return bool(node[0]["ids"])
    return isinstance(node, nodes.section) and isinstance(node.parent, nodes.section)
