"""Summaries for folded code, and leaner highlighting.

A cell tagged ``hide-input`` begins with a comment (a test requires it), which becomes the summary;
myst-nb would say "Show" and "Hide".

Pygments wraps every token in an element. Names and punctuation, more than half of them, look like
the text around them; leaving them bare makes pages of code much cheaper to lay out on a phone.
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
    """Python lexer that emits tokens without a color as plain text."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
