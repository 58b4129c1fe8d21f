"""Code with elements for the tokens that have a color, and none for the rest.

Pygments wraps every token. Names and punctuation, more than half of them, are drawn like the text
around them: without elements of their own a page of code costs a phone much less to lay out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace

PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


class Python(find_lexer_class_by_name("python")):  # type: ignore[misc]
    """The Python of notebooks and pages; what isn't colored is text."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
