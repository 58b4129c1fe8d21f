"""Which words the search's index knows; `search_scorer.js`, named in `_config.yml`, ranks them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sphinx.application import Sphinx
from sphinx.search import js_index
from sphinx.search.en import SearchEnglish


class Words(SearchEnglish):
    """English, without numbers: the page's script never looks for a word of digits in the index."""

    def word_filter(self, word: str) -> bool:
        return super().word_filter(word) and not word.isdigit()


def keep_entries(app: Sphinx) -> list[Any]:
    """Give the entries of pages that aren't written back to the index: Sphinx 7.4 forgets them."""
    path = app.outdir / "searchindex.js"
    if path.exists():
        old = js_index.loads(path.read_text(encoding="utf-8"))
        kept = defaultdict(list)
        for entry, places in old["indexentries"].items():
            for number, anchor, is_main in places:
                kept[old["docnames"][number]].append((entry, anchor, "main" if is_main else ""))
        indexer = app.builder.indexer
        entries = {**kept, **indexer._index_entries}
        indexer._index_entries = {p: entries[p] for p in sorted(entries) if p in indexer._titles}
    return []  # pages to add
