"""Code with elements for the tokens that have a color, and none for the rest.

Pygments wraps every token. Names and punctuation, more than half of them, are drawn like the text
around them: without elements of their own a page of code costs a phone much less to lay out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.filter import Filter
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace, _TokenType

PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


class Colored(Filter):
    """Tokens whose color is that of the text become text."""

    def filter(
        self, lexer: Lexer, stream: Iterator[tuple[_TokenType, str]]
    ) -> Iterator[tuple[_TokenType, str]]:
        for kind, value in stream:
            yield (Text if kind in PLAIN else kind), value


class Python(find_lexer_class_by_name("ipython3")):  # type: ignore[misc]
    """The Python of notebooks, as Jupyter highlights it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_filter(Colored())
