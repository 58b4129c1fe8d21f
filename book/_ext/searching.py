"""Give the site's search a rule of its own for what comes first: ``scorer.js`` says which.

And keep numbers out of its index: the page's script never looks for a word of digits there.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.search import languages
from sphinx.search.en import SearchEnglish


class Words(SearchEnglish):
    """English, without numbers."""

    def word_filter(self, word: str) -> bool:
        return super().word_filter(word) and not word.isdigit()


def add_scorer(_: Sphinx, config: Config) -> None:
    languages["en"] = Words
    config.html_search_scorer = str(Path(__file__).with_name("scorer.js"))
