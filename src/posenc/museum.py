"""Known faults: functions that make a wrong result of the right encoding.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16. Whatever only a number or
two tell apart, such as another base, is fitted in `posenc.checks.families` and `function_families`.

What a fault's `make` gets and returns depends on its kind:

===================================  ==========================  ==================
kind                                 gets                        returns
===================================  ==========================  ==================
table, module, rotary                Reference, x, positions k   x, encoded wrongly
bias                                 right slopes, offsets k,    a bias
                                     its past by distance
left padding, packing, images        right ids, what was given   position ids
decoder                              Decoder, Text, lengths      scores
===================================  ==========================  ==================

`Decoder` and `Text` are those of `posenc.checks.decoders`, which imports this module. Where a
fault doesn't apply, its result is NaN, which is never what was measured.

`register` binds `make` to a change, which is all that the faults of a group differ in:

===================  ==============================================  =============================
how                  a change takes                                  and returns
===================  ==============================================  =============================
with_positions       k, (..., seq_len)                               the positions taken
with_frequencies     powers p = 2i/d, (pairs,), and the base         frequencies, (pairs,), or two
with_pairs           none: it is fields of the convention            the pairs taken
with_rounding        a half type, and what is rounded: any of "kfwa"  the numbers taken
without              none: it is the argument's name                 (it is left out)
None                 what `make` takes                               what it returns
===================  ==============================================  =============================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from posenc.conventions import Floats, Reference

__all__ = ["FAULTS", "MUSEUM", "Fault"]


@dataclass(frozen=True)
class Fault:
    """A fault, and the kinds of subjects that may have it."""

    name: str  # the key of the museum
    number: str  # of its exhibit, or ""
    sentence: str  # what goes wrong, and the cure
    kinds: tuple[str, ...]
    make: Callable[..., Any]
    """What comes of the right encoding and the arguments of a call, such as x and positions."""

    @property
    def says(self) -> str:
        """What a report says."""
        return f"{self.name}: {self.sentence}"

    @property
    def page(self) -> str:
        """The address of its exhibit in the book, or ""."""
        if not self.number:
            return ""
        chapter = "14_bug_museum" if self.number.isdigit() else "16_batches_and_caches"
        return f"notebooks/{chapter}.html#exhibit-{self.number.lower()}"

    def __str__(self) -> str:
        """Describe it in a sentence, with its exhibit."""
        exhibit = f" (exhibit {self.number}: {self.page})" if self.number else ""
        return self.says + exhibit


FAULTS: list[Fault] = []
"""All known faults that need no fit."""

TABLE, ROTARY = ("table", "module"), ("rotary",)
ANY = TABLE + ROTARY
SOME = ("some calls",)  # of a rotation, beside others that are right


def register(kinds: tuple[str, ...], how: Any, changes: Mapping[str, Any]) -> None:
    """Add faults: "name (exhibit n): what goes wrong; the cure", and a change, or `make` itself."""
    for text, change in changes.items():
        title, _, sentence = text.partition(": ")
        name, _, number = title.partition(" (exhibit ")
        make = partial(how, change) if how else change
        FAULTS.append(Fault(name, number.rstrip(")"), sentence, kinds, make))


# Wrong positions. A change takes k, the position of each row of x, of shape (..., seq_len).


def with_positions(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode right, at wrong positions."""
    return right(x, change(k))


def along(axis: int, k: Floats) -> Floats:
    """Return the number of each row along an axis; 0 if there is none."""
    number = np.indices(k.shape)[axis] if -axis <= k.ndim else 0 * k
    return np.asarray(number, np.float64)


def rounded(digits: int, x: Floats) -> Floats:
    """Round to numbers with that many binary digits."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


HALVES = {"bfloat16": partial(rounded, 8), "float16": partial(rounded, 11)}
CELLS = "cells are numbered so, not row by row; mind the order of axes in `meshgrid`"
ITSELF = (
    "if it counts by itself, test what it can do: "
    "laws=['shape', 'repeat', 'values', 'batch', 'masked', 'gradient']"
)

register(
    ANY,
    with_positions,
    {
        "batch for sequence (exhibit 1): the batch is counted; "
        "write `x.size(1)` for `x.size(0)`": partial(along, 0),
        f"offset that sticks (exhibit B): each call begins at 0; use what is given, or {ITSELF}": (
            partial(along, -1)
        ),
        "lost half (exhibit D): two neighbors share a position; add up all of it": (
            lambda k: k // 2
        ),
        # Of a table of two axes, called as the notes of `check_table` say, with three rows
        f"column by column: {CELLS}": lambda k: k // 3,
        f"column by column, along it: {CELLS}": lambda k: 3 * k % k.shape[-1],
    },
)
# Wrong frequencies. A change takes the powers, p = 2i/d, and the base.


def with_frequencies(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode at wrong frequencies: of all pairs, or of their first and second dimensions."""
    pairs = len(right.frequencies)
    omega = change(np.arange(pairs) / pairs, right.convention.base)
    first, second = (
        replace(right, frequencies=frequencies).angles(k)
        for frequencies in np.broadcast_to(omega, (2, pairs))
    )
    return right.encode(x, first, second)


register(
    ANY,
    with_frequencies,
    {
        "all ones (exhibit 3): the exponent is an integer; divide by `/`": (
            lambda p, base: base ** (0 * p)
        ),
        "slipped parenthesis (exhibit 4): the base is e^d; "
        "write `/ (d // 2)` for `/ d // 2`": (lambda p, base: np.exp(-2 * len(p) * p)),
        "minus sign (exhibit 10): frequencies rise; divide by the power": (
            lambda p, base: base**p
        ),
        "swapped power (exhibit 10): it is exponent ** base; write `base ** exponent`": (
            # Written x ** 1e-4 for 1e-4 ** x, so the base there is 1 / base.
            lambda p, base: p ** (1 / base)
        ),
        "lost setting (exhibit E): the base is 10000, the default; "
        "pass it on, in each call": lambda p, base: 10_000.0**-p,
        "dimension for pair (exhibit 2): the exponent counts dimensions; "
        "write `2 * (i // 2)` for `2 * i`": (
            lambda p, base: (base ** (-2 * p), base ** -(2 * p + 1 / len(p)))
        ),
        "own exponent (exhibit 9): the cosine has its own; "
        "write `2 * (i // 2)` for `i`": (
            lambda p, base: (base**-p, base ** -(p + 1 / len(p) / 2))
        ),
    },
)

# Other pairs. A change is that of the convention whose pairs turn, at the right frequencies.


def with_pairs(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn other dimensions together."""
    other = replace(right.convention, **change).encoding(x.shape[-1])
    return replace(right, pairs=other.pairs)(x, k)


register(
    ROTARY,
    with_pairs,
    {
        "within the part: its halves are paired; pair i with i + d/2": (
            {"extent": "partial"}
        ),
        "across the head: the part is paired with the rest; split it off first": (
            {"extent": "proportional", "start": 0.0}
        ),
    },
)
register(
    SOME,
    with_pairs,
    {
        f"mixed layouts (exhibit C): {layout} are paired; pair alike in all calls": {
            "layout": layout
        }
        for layout in ("neighbors", "halves")
    },
)

# Rounding. A change is a half type, and what is rounded: positions k, frequencies f, wavelengths w,
# or angles a.


def with_rounding(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode right, of rounded numbers."""
    of, half = {}, HALVES[change[0]]
    for part in "kfwa":
        of[part] = half if part in change[1] else np.asarray
    waves = of["w"](1 / np.maximum(of["f"](right.frequencies), 1e-30))
    angles = replace(right, frequencies=1 / waves).angles(of["k"](k))
    return right.encode(x, of["a"](angles))


CAST = "compute positions and angles in float32, and cast sine and cosine last"
for parts, kinds, text in (
    ("k", TABLE, f"rows in {{}} (exhibit 8): {CAST}"),
    ("k", ROTARY, f"positions in {{}} (exhibit A): {CAST}"),
    ("a", ANY, f"angles in {{}}: {CAST}"),
    ("f", ANY, f"frequencies in {{}}: {CAST}"),
    ("kwa", ANY, f"quotient in {{}}: {CAST}"),
    (
        "kfa",
        ANY,
        "product in {} (exhibit A): angles are a product of matrices, or are rounded; "
        "multiply elementwise, in float32",
    ),
):
    register(kinds, with_rounding, {text.format(n): (n, parts) for n in HALVES})

# Whatever isn't one change: the right encoding, x, k → the wrong result.


def by_rows(right: Reference, x: Floats, k: Floats) -> Floats:
    """Take sines in even rows, and cosines in odd ones."""
    # A quarter turn makes a sine of a cosine, and a cosine of a sine.
    angles = right.angles(k) + np.pi / 2 * (k[..., None] % 2)
    return right.encode(x, angles, angles - np.pi / 2)


def laid_out(right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn halves by the angles of neighbors, or neighbors by those of halves."""
    angles, pairs = right.angles(k), len(right.frequencies)
    # Of each pair's first and second dimension: all angles, and again; or each angle twice
    turned = np.arange(2 * pairs).reshape(-1, 2).T % pairs
    if right.convention.layout == "halves":
        turned = np.arange(2 * pairs).reshape(2, -1) // 2
    return right.encode(x, *(angles[..., pair] for pair in turned))


def table_in_two(right: Reference, x: Floats, k: Floats) -> Floats:
    """Take the halves of an interleaved table for sines and cosines, and leave out the sum."""
    angles, (one, two) = right.angles(k), right.pairs
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*k.shape, -1)
    sines, cosines = np.split(right.factor * table, 2, axis=-1)
    return right.placed(x, -x[..., two] * cosines, x[..., one] * sines)


register(
    TABLE,
    None,
    {
        "sum thrown away (exhibit 5): assign it, `x = x + pe`": lambda right, x, k: x,
        "overwritten: the cosine is taken of the sine; compute it of the angles": (
            lambda right, x, k: right.encode(
                x, right.angles(k), np.sin(right.angles(k))
            )
        ),
        "rows for columns (exhibit 11): write `pe[:, 0::2]` for `pe[0::2]`": by_rows,
    },
)
register(
    ROTARY,
    None,
    {
        "table in two: its halves are taken for sines and cosines, and not added; take `0::2` "
        "and `1::2`, and add": table_in_two,
        "attention factor (exhibit F): it is missing; multiply by it": (
            lambda right, x, k: replace(right, factor=1.0)(x, k)
        ),
        "attention factor squared (exhibit F): apply it once": (
            lambda right, x, k: replace(right, factor=right.factor**2)(x, k)
        ),
        "laid out for the other: `cat` angles for halves, "
        "`repeat_interleave` them for neighbors": laid_out,
    },
)

# Wrong biases: the right slopes, (heads, 1), how far each key is from the query, and the measured
# past, by distance: (heads, seq_len).


def shifted(slopes: Floats, k: Floats, past: Floats) -> Any:
    """Take what Transformer-XL's shift makes of a row: at later keys, the next row's."""
    # The row by distance, and the zero that a shift pads it with
    padded = np.pad(past, ((0, 0), (0, 1)))
    return padded[:, -k % padded.shape[1]] if k.max() > 0 else np.nan


register(
    ("bias",),
    None,
    {
        "shifted without the mask: later keys get the next row's values; count distances "
        "both ways, or if a mask hides them, pass causal=True": shifted,
    },
)
register(
    ("images",),
    None,
    {
        "swapped: rows are columns": lambda ids, grid: ids[[0, 2, 1]],
        "column by column: number patches row by row": (
            # By column and then by row, and the frame before both
            lambda ids, grid: ids[:, np.lexsort((ids[1], ids[2], ids[0]))]
        ),
    },
)

# Missing arguments of a decoder, which reads a text whole and gives the same as in steps.


def ignored(decoder: Any, text: Any) -> bool:
    """Whether positions make no difference to a text that is read whole."""
    zeros = decoder.read_again(text, positions=0 * text.tokens)
    return np.array_equal(zeros, decoder.read_again(text))


def without(name: str, decoder: Any, text: Any, lengths: Any) -> Any:
    """Read without the positions, if they are ignored, the mask or the segments."""
    if name not in text.arguments or (
        name == "positions" and not ignored(decoder, text)
    ):
        return np.nan
    return decoder.read_again(text, **{name: None})


register(
    ("decoder",),
    without,
    {
        "positions ignored: they make no difference; pass them on": "positions",
        "padding seen: it is attended to; pass the mask on": "mask",
        "packed texts seen: they attend to each other; mask them": "segments",
    },
)

# Several faults may have one name: the first stays.
MUSEUM = {fault.name: fault for fault in reversed(FAULTS) if fault.number}
"""The exhibits of the book by name."""
