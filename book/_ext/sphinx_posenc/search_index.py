"""Keep numbers out of the search's index: the page's script never looks for a word of digits there.

What comes first among the results is `search_scorer.js`'s to say, which `_config.yml` names.
"""

from __future__ import annotations

from sphinx.search.en import SearchEnglish


class Words(SearchEnglish):
    """English, without numbers."""

    def word_filter(self, word: str) -> bool:
        return super().word_filter(word) and not word.isdigit()
