"""Code with a line that says what it does where it is folded, and without needless elements.

A cell with the tag ``hide-input`` begins with a comment (a test of the book asks for it), and that
comment is the line. myst-nb folds the cell under lines of its own, "Show" and "Hide".

Pygments wraps every token. Names and punctuation, more than half of them, are drawn like the text
around them: without elements of their own a page of code costs a phone much less to lay out.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.writers.html import HTML5Translator

PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


def visit_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    comment = next(node.findall(nodes.literal_block)).astext().partition("\n")[0].lstrip("# ")
    translator.body.append(f'<details class="fold {" ".join(node["classes"])}">\n')
    translator.body.append(f"<summary>{escape(comment)}</summary>\n")


def depart_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    translator.body.append("</details>\n")


class Python(find_lexer_class_by_name("python")):  # type: ignore[misc]
    """The Python of notebooks and pages; what isn't colored is text."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
