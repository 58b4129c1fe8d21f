"""Leaner highlighting of code.

Pygments wraps every token in an element. Names and punctuation, more than half of them, look like
the text around them; leaving them bare makes pages of code much cheaper to lay out on a phone.
"""

from collections.abc import Iterator
from typing import Any

from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace

PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}


class Python(find_lexer_class_by_name("python")):  # type: ignore[misc]
    """Python lexer that emits tokens without a color as plain text."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
