"""Citations: the five documents by their names, S0 to S4, the papers by number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pybtex.plugin
from pybtex.database import Entry
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting.author_year_title import SortingStyle


def is_document(entry: Entry) -> bool:
    return re.fullmatch(r"S\d", entry.key) is not None


class Order(SortingStyle):
    """The documents by their keys, and then everything else by author."""

    def sorting_key(self, entry: Entry) -> tuple[Any, ...]:
        document = is_document(entry)
        return (not document, entry.key if document else "", *super().sorting_key(entry))


class Labels(BaseLabelStyle):
    """A document's key, and 1, 2, 3, … for everything else."""

    def format_labels(self, sorted_entries: list[Entry]) -> Iterator[str]:
        number = 0
        for entry in sorted_entries:
            if is_document(entry):
                yield entry.key
            else:
                number += 1
                yield str(number)


class Style(PlainStyle):
    """The plain style in this order, with these labels."""

    default_sorting_style = Order
    default_label_style = Labels


def register() -> None:
    """Make the style known to pybtex, by the name that `_config.yml` gives it."""
    pybtex.plugin.register_plugin("pybtex.style.formatting", "documents", Style)
