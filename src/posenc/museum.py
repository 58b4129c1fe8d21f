"""The bugs of the book's museum: likely causes of failed laws, and the wrong tables, once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posenc.conventions import Floats

__all__ = ["MUSEUM", "TABLES", "Exhibit", "wrong_table"]


@dataclass(frozen=True)
class Exhibit:
    """A bug shown in the book: the first law that it breaks, and its page in the book."""

    number: str
    law: str
    page: str
    says: str

    def __str__(self) -> str:
        """Describe the bug, with the chapter and the page of its exhibit."""
        return f"{self.says} (exhibit {self.number}, chapter {self.page[10:12]}: {self.page})"


# fmt: off
_ROWS = {  # number, first law that it breaks, anchor of a section of its own, what it says
    "batch for sequence": ("1", "batch", "x-size-0-on-batch-first-input",
        "The layer counts along the batch, not along the sequence: `x.size(0)` for `x.size(1)`"),
    "dimension for pair": ("2", "norm", "2i-instead-of-2-i-2-in-the-exponent",
        "The exponent counts dimensions instead of pairs: `2 * i` for `2 * (i // 2)`"),
    "all ones": ("3", "frequencies", "integer-division-and-all-frequencies-are-one",
        "All pairs have the same frequency: an exponent became an integer"),
    "slipped parenthesis": ("4", "frequencies", "d-model-2-the-slipped-parenthesis",
        "The base changes with the width: a division in the exponent is in the wrong place, "
        "such as `/ d_model // 2` for `/ (d_model // 2)`"),
    "sum thrown away": ("5", "norm", "x-pe-not-assigned-the-sum-thrown-away",
        "Nothing is added: `x + pe` without an assignment"),
    "odd": ("6", "odd", "odd-d-model-sizes-that-don-t-match",
        "An odd width has a sine without a cosine: a column is missing, or zero"),
    "trained table": ("7", "shift", "nn-parameter-the-table-that-learned",
        "The table is a parameter, and is trained: register it as a buffer"),
    "rounded positions": ("8", "unique", "fp16-and-bf16-positions-that-are-rounded",
        "Positions are rounded to half precision before the angle is formed: cast last"),
    "own exponent": ("9", "norm", "a-cosine-with-its-own-exponent",
        "A cosine has an exponent of its own: `i` for `2 * (i // 2)` in the odd dimensions"),
    "minus sign": ("10", "frequencies", "frequencies-that-rise-or-stand-still",
        "Frequencies rise, or stay constant: dividing instead of multiplying, or base and exponent "
        "swapped"),
    "rows for columns": ("11", "norm", "pe-0-2-for-pe-0-2-rows-for-columns",
        "Sines and cosines are taken by rows: `pe[0::2]` for `pe[:, 0::2]`"),
    "doubled class": ("12", "shape", "embedding-dim-6-and-twelve-columns",
        "Every dimension got a sine and a cosine, so there are twice as many columns"),
    "dtype of the query": ("A", "half", "positions-in-the-dtype-of-the-query",
        "Positions or frequencies are cast to the query's dtype before the angle is formed"),
    "offset that sticks": ("B", "steps", "the-offset-that-sticks",
        "Angles are cached from an earlier call, or counted from 0 in each call"),
    "mixed layouts": ("C", "steps", "",
        "A single row is turned in a different layout than a whole sequence"),
    "forgotten shift": ("D", "shift", "",
        "Turns don't add up: a pending shift is overwritten, or a part of the position is lost"),
    "lost setting": ("E", "frequencies", "",
        "The base isn't the requested one: a setting got lost on the way"),
    "attention factor": ("F", "norm", "", "The attention factor is forgotten, or applied twice"),
    "axes swapped": ("G", "shift", "", "Rows are out of order: coordinates of another axis?"),
    "signed distance": ("H", "mirror", "",
        "The distance is signed, so that later words get a bonus"),
}
# fmt: on


_PAGES = (
    "notebooks/14_bug_museum.html#exhibit-",
    "notebooks/16_batches_and_caches.html#exhibit-",
)
_OTHERS = "notebooks/16_batches_and_caches.html#going-further-six-more-exhibits"
MUSEUM = {
    name: Exhibit(
        n,
        law,
        f"{_PAGES[n.isalpha()]}{n.lower()}-{anchor}" if anchor else _OTHERS,
        says,
    )
    for name, (n, law, anchor, says) in _ROWS.items()
}
"""The exhibits by name, each with the first law that it breaks."""

TABLES = [
    "dimension for pair",
    "own exponent",
    "all ones",
    "minus sign",
    "slipped parenthesis",
]
TABLES += ["rounded positions", "rows for columns", "swapped power"]
"""The wrong tables that `wrong_table` makes; the last is another form of "minus sign"."""


def wrong_table(
    name: str, seq_len: int, d_model: int, base: float = 10_000.0
) -> Floats:
    """Return a wrong table of the museum.

    The slipped parenthesis is `/ d_model // 2`: floor division turns a small negative number into
    -1. Rounded positions are stored in float16, which can't represent every integer beyond 2048.
    """
    k, j = np.ogrid[:seq_len, :d_model]
    pair, log = 2 * (j // 2) / d_model, math.log(base)
    exponents = {
        "dimension for pair": 2 * j / d_model,
        "own exponent": j / d_model,
        "all ones": 0.0 * j,
        "minus sign": -pair,
        "slipped parenthesis": 2 * (j // 2) * -(-log / d_model // 2) / (log or 1),
    }
    omega = base ** -exponents.get(name, pair)
    if name == "swapped power":
        omega = np.where(pair > 0, np.maximum(pair, 1e-300) ** (1 / base), 0.0)
    angles = (k.astype(np.float16) if name == "rounded positions" else k).astype(
        float
    ) * omega
    cosine = (k if name == "rows for columns" else j) % 2 == 1
    return np.where(cosine, np.cos(angles), np.sin(angles))
