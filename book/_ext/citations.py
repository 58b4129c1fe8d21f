"""Citations: the five documents by their names, S0 to S4, the papers by number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pybtex.plugin
from pybtex.database import Entry
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx


class Labels(BaseLabelStyle):
    """A document's key, and 1, 2, 3, … for everything else."""

    def format_labels(self, sorted_entries: list[Entry]) -> Iterator[str]:
        number = 0
        for entry in sorted_entries:
            if re.fullmatch(r"S\d", entry.key):
                yield entry.key
            else:
                number += 1
                yield str(number)


class Style(PlainStyle):
    """The plain style with these labels."""

    default_label_style = Labels


def setup(app: Sphinx) -> dict[str, bool]:
    pybtex.plugin.register_plugin("pybtex.style.formatting", "documents", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
