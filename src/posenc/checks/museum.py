"""The bugs of the book's museum, as likely causes of failed laws."""

from __future__ import annotations

import os
from dataclasses import dataclass

WINGS = {"14_bug_museum": "chapter 14", "16_batches_and_caches": "chapter 16"}
SIX_MORE = "going-further-six-more-exhibits"


@dataclass(frozen=True)
class Exhibit:
    """A bug shown in the book."""

    number: str
    law: str
    says: str
    chapter: str
    anchor: str

    @property
    def page(self) -> str:
        """Page and anchor, relative to the book's URL."""
        return f"notebooks/{self.chapter}.html#{self.anchor}"

    @property
    def url(self) -> str:
        """Full URL if the environment sets POSENC_BOOK to the book's; otherwise `page`."""
        book = os.environ.get("POSENC_BOOK", "")
        return f"{book.rstrip('/')}/{self.page}" if book else self.page

    def __str__(self) -> str:
        """Describe the bug, with a link to the exhibit."""
        return f"{self.says} (exhibit {self.number}, {WINGS[self.chapter]}: {self.url})"


def _first(number: str, law: str, anchor: str, says: str) -> Exhibit:
    return Exhibit(number, law, says, "14_bug_museum", f"exhibit-{number}-{anchor}")


def _second(number: str, law: str, anchor: str, says: str) -> Exhibit:
    return Exhibit(number, law, says, "16_batches_and_caches", anchor)


MUSEUM = {
    "batch for sequence": _first(
        "1",
        "batch",
        "x-size-0-on-batch-first-input",
        "The layer counts along the batch, not along the sequence: `x.size(0)` for `x.size(1)`",
    ),
    "dimension for pair": _first(
        "2",
        "norm",
        "2i-instead-of-2-i-2-in-the-exponent",
        "The exponent counts dimensions instead of pairs: `2 * i` for `2 * (i // 2)`",
    ),
    "all ones": _first(
        "3",
        "frequencies",
        "integer-division-and-all-frequencies-are-one",
        "All pairs have the same frequency: an exponent became an integer",
    ),
    "slipped parenthesis": _first(
        "4",
        "frequencies",
        "d-model-2-the-slipped-parenthesis",
        "The base changes with the width: a division in the exponent is in the wrong place, "
        "such as `/ d_model // 2` for `/ (d_model // 2)`",
    ),
    "sum thrown away": _first(
        "5",
        "norm",
        "x-pe-not-assigned-the-sum-thrown-away",
        "Nothing is added: `x + pe` without an assignment",
    ),
    "odd": _first(
        "6",
        "odd",
        "odd-d-model-sizes-that-don-t-match",
        "An odd width has a sine without a cosine: a column is missing, or zero",
    ),
    "trained table": _first(
        "7",
        "shift",
        "nn-parameter-the-table-that-learned",
        "The table is a parameter, and is trained: register it as a buffer",
    ),
    "rounded positions": _first(
        "8",
        "unique",
        "fp16-and-bf16-positions-that-are-rounded",
        "Positions are rounded to half precision before the angle is formed: cast last",
    ),
    "own exponent": _first(
        "9",
        "norm",
        "a-cosine-with-its-own-exponent",
        "A cosine has an exponent of its own: `i` for `2 * (i // 2)` in the odd dimensions",
    ),
    "minus sign": _first(
        "10",
        "frequencies",
        "frequencies-that-rise-or-stand-still",
        "Frequencies rise, or stay constant: dividing instead of multiplying, or base and exponent "
        "swapped",
    ),
    "rows for columns": _first(
        "11",
        "norm",
        "pe-0-2-for-pe-0-2-rows-for-columns",
        "Sines and cosines are taken by rows: `pe[0::2]` for `pe[:, 0::2]`",
    ),
    "doubled class": _first(
        "12",
        "shape",
        "embedding-dim-6-and-twelve-columns",
        "Every dimension got a sine and a cosine, so there are twice as many columns",
    ),
    "dtype of the query": _second(
        "A",
        "half",
        "exhibit-a-positions-in-the-dtype-of-the-query",
        "Positions or frequencies are cast to the query's dtype before the angle is formed",
    ),
    "offset that sticks": _second(
        "B",
        "steps",
        "exhibit-b-the-offset-that-sticks",
        "Angles are cached from an earlier call, or counted from 0 in each call",
    ),
    "mixed layouts": _second(
        "C", "steps", SIX_MORE, "A single row is turned in a different layout than a whole sequence"
    ),
    "forgotten shift": _second(
        "D",
        "shift",
        SIX_MORE,
        "Turns don't add up: a pending shift is overwritten, or a part of the position is lost",
    ),
    "lost setting": _second(
        "E",
        "frequencies",
        SIX_MORE,
        "The base isn't the requested one: a setting got lost on the way",
    ),
    "attention factor": _second(
        "F", "norm", SIX_MORE, "The attention factor is forgotten, or applied twice"
    ),
    "axes swapped": _second(
        "G", "shift", SIX_MORE, "Rows are out of order: coordinates of another axis?"
    ),
    "signed distance": _second(
        "H", "mirror", SIX_MORE, "The distance is signed, so that later words get a bonus"
    ),
}
"""The exhibits by name, each with the first law that it breaks."""
