"""Known faults: functions that make a wrong encoding of the right one.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from posenc.conventions import Convention, Floats
from posenc.reference import Reference, reference_for

__all__ = ["FAULTS", "MUSEUM", "TABLES", "Fault", "wrong_table"]

Make = Callable[[Reference, Floats, Floats], Floats]
"""The right encoding, x, and the position k of each of its rows."""


@dataclass(frozen=True)
class Fault:
    """A fault, the kinds of encodings that may have it, and the number of its exhibit."""

    name: str  # the key of the museum
    sentence: str  # what goes wrong, and the cure
    kinds: str
    number: str  # or ""
    make: Make

    @property
    def says(self) -> str:
        """What a report says."""
        return f"{self.name}: {self.sentence}"

    @property
    def page(self) -> str:
        """The address of its exhibit in the book."""
        chapter = "14_bug_museum" if self.number.isdigit() else "16_batches_and_caches"
        return f"notebooks/{chapter}.html#exhibit-{self.number.lower()}"

    def __str__(self) -> str:
        """Describe it in a sentence, with its exhibit."""
        return (
            f"{self.says} (exhibit {self.number}: {self.page})"
            if self.number
            else self.says
        )


# Kinds that may have a fault
TABLE_OR_LAYER = "table module"
LAYER_OR_ROTARY = "module rotary"
ROTARY = "rotary"
ANY = "table module rotary"

LENGTHS = (*(2**n for n in range(5, 18)), 5000)  # of tables
HALVES = {"bfloat16": 8, "float16": 11}  # binary digits of a number
TIMES = (1 / 8, 1 / 4, 1 / 2, 2, 4, 8)  # positions are scaled by


def rounded(digits: int, x: Floats) -> Floats:
    """Round to numbers with that many binary digits: 8 in bfloat16, 11 in float16 and TF32."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


def wrapped(length: int, k: Floats) -> Floats:
    """Begin again at a length."""
    return k % length


def along(axis: int, k: Floats) -> Floats:
    """Return the number of each row along an axis; without one, along the first."""
    return np.asarray(np.indices(k.shape)[axis if k.ndim > 1 else 0], np.float64)


def single(change: Callable[[Floats], Floats], k: Floats) -> Floats:
    """Change positions if a call has a single row."""
    return change(k) if k.shape[-1] == 1 else k


# Each row: its name, what goes wrong and its cure, which kinds may have it, its exhibit, and the
# change.
# Wrong positions, of the right ones
POSITIONS: list[tuple[str, str, str, str, Callable[[Floats], Floats]]] = [
    (
        "batch for sequence",
        "rows are counted along the batch; write `x.size(1)` for `x.size(0)`",
        LAYER_OR_ROTARY,
        "1",
        partial(along, 0),
    ),
    (
        "heads for sequence",
        "rows are counted along the heads; move the sequence behind them",
        LAYER_OR_ROTARY,
        "",
        partial(along, -2),
    ),
    (
        "offset that sticks",
        "positions are counted from 0 in each call; use those that are given",
        ANY,
        "B",
        partial(along, -1),
    ),
    (
        "no positions",
        "all rows are the first; use the positions that are given",
        ANY,
        "",
        lambda k: 0 * k,
    ),
    (
        "row for rows",
        "one row is taken for all; write `pe[:, :n]` for `pe[:, n]`",
        TABLE_OR_LAYER,
        "",
        lambda k: 0 * k + k.shape[-1],
    ),
    (
        "last for all",
        "the last row is taken for all; take a row for each position",
        ANY,
        "",
        lambda k: 0 * k + k.max(initial=0),
    ),
    (
        "first text for all",
        "the first sequence's positions are all rows'; don't index them",
        LAYER_OR_ROTARY,
        "",
        lambda k: k[:1] + 0 * k if k.ndim > 1 else k,
    ),
    (
        "one too many",
        "positions are one too large; count from 0",
        ANY,
        "",
        lambda k: k + 1,
    ),
    (
        "one too few",
        "positions are one too small; count from 0",
        ANY,
        "",
        lambda k: k - 1,
    ),
    (
        "step too many",
        "a single row is turned as the next; count what is in the cache",
        LAYER_OR_ROTARY,
        "B",
        partial(single, lambda k: k + 1),
    ),
    (
        "step too few",
        "a single row is turned as the one before; count the new one, too",
        LAYER_OR_ROTARY,
        "B",
        partial(single, lambda k: k - 1),
    ),
    (
        "step from 0",
        "a single row is turned as the first; add the length of the cache",
        LAYER_OR_ROTARY,
        "B",
        partial(single, lambda k: 0 * k),
    ),
    (
        "time from 0 to 1",
        "positions are divided by the last; count rows",
        ANY,
        "",
        lambda k: k / max(k.max(initial=0), 1),
    ),
    (
        "share of the length",
        "positions are divided by the length; count rows",
        ANY,
        "",
        lambda k: k / k.shape[-1],
    ),
    (
        "backwards",
        "rows are counted from the end; reverse them",
        ANY,
        "",
        lambda k: k[..., ::-1],
    ),
    ("clockwise", "all turn the other way; negate the sine", ANY, "", lambda k: -k),
    (
        "degrees",
        "angles are in degrees, or turns; leave out π",
        ANY,
        "",
        lambda k: 2 * np.pi * k,
    ),
    (
        "lost half",
        "two neighbors share a position; add up all of a position",
        ANY,
        "D",
        lambda k: k // 2,
    ),
]
for _n in LENGTHS:
    _cure = "make the table longer, or compute the angles"
    POSITIONS += [
        (
            f"wrap at {_n}",
            f"positions begin again there; {_cure}",
            ANY,
            "",
            partial(wrapped, _n),
        ),
        (
            f"end at {_n}",
            f"positions stay there; {_cure}",
            ANY,
            "",
            partial(np.minimum, _n - 1),
        ),
    ]
for _n in TIMES:
    _cure = "scale once, and alike in all paths"
    _scale = partial(np.multiply, _n)
    POSITIONS += [
        (f"times {_n:g}", f"so are all positions; {_cure}", ANY, "", _scale),
        (
            f"step times {_n:g}",
            f"so is a single row's position; {_cure}",
            LAYER_OR_ROTARY,
            "",
            partial(single, _scale),
        ),
    ]
CAST = "compute positions and angles in float32, and cast sine and cosine last"
for _name, _digits in HALVES.items():
    POSITIONS += [
        (
            f"{_is} in {_name}",
            f"that doesn't have them all; {CAST}",
            _kinds,
            _number,
            partial(rounded, _digits),
        )
        for _is, _kinds, _number in (
            ("rows", TABLE_OR_LAYER, "8"),
            ("positions", ROTARY, "A"),
        )
    ]

# As above, with the right frequencies, their powers and the base.
# Wrong frequencies, of the right ones, w; p is 2i/d for each pair, and base a number
FREQUENCIES: list[
    tuple[str, str, str, str, Callable[[Floats, Floats, float], Floats]]
] = [
    (
        "all ones",
        "all pairs have the same frequency, an exponent is an integer; divide by `/`",
        ANY,
        "3",
        lambda w, p, base: base ** (0 * p),
    ),
    (
        "slipped parenthesis",
        "the base changes with the width; write `/ (d // 2)` for `/ d // 2`",
        ANY,
        "4",
        lambda w, p, base: np.exp(-2.0 * np.arange(len(p))),
    ),
    (
        "minus sign",
        "frequencies rise from pair to pair; divide by the power",
        ANY,
        "10",
        lambda w, p, base: base**p,
    ),
    (
        "swapped power",
        "base and exponent are swapped; write `base ** exponent`",
        ANY,
        "10",
        lambda w, p, base: p ** (1 / base),
    ),
    (
        "frequencies reversed",
        "they rise from pair to pair; reverse them",
        ANY,
        "",
        lambda w, p, base: w[::-1],
    ),
    (
        "lost setting",
        "the base is 10000, the default; pass it on, the same in each call",
        ANY,
        "E",
        lambda w, p, base: 10_000.0**-p,
    ),
    (
        "half the exponent",
        "it is i/d for 2i/d; divide by half the width",
        ANY,
        "",
        lambda w, p, base: base ** (-p / 2),
    ),
    (
        "twice the exponent",
        "it is 4i/d for 2i/d; double i once",
        ANY,
        "2",
        lambda w, p, base: base ** (-2 * p),
    ),
    (
        "one pair late",
        "the exponent begins at the second pair; count pairs from 0",
        ANY,
        "",
        lambda w, p, base: base ** -(p + 1 / len(p)),
    ),
    (
        "odd numbers",
        "the exponent takes odd dimensions; count from 0 in steps of 2",
        ANY,
        "",
        lambda w, p, base: base ** -(p + 0.5 / len(p)),
    ),
    (
        "last pair at the base",
        "i is divided by d/2 - 1; divide it by d/2",
        ANY,
        "",
        lambda w, p, base: base ** (-p * len(p) / max(len(p) - 1, 1)),
    ),
    *(
        (
            f"frequencies in {name}",
            f"they are rounded; {CAST}",
            ANY,
            "A",
            lambda w, p, base, digits=digits: rounded(digits, w),
        )
        for name, digits in HALVES.items()
    ),
]


def with_positions(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode right, at wrong positions."""
    return right(x, change(k))


def with_frequencies(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode at wrong frequencies."""
    pairs = len(right.frequencies)
    # (pairs,)
    omega = change(right.frequencies, np.arange(pairs) / pairs, right.convention.base)
    return replace(right, frequencies=omega)(x, k)


def with_factor(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Multiply what turns, or the rows, by another number."""
    return replace(right, factor=change(right.factor, x.shape[-1]))(x, k)


def by_dimension(first: float, right: Reference, x: Floats, k: Floats) -> Floats:
    """Take the dimension's number for the pair's, times a number, in the cosine, too."""
    pairs, base = len(right.frequencies), right.convention.base
    # Dimension 2i has the sine of pair i, dimension 2i + 1 its cosine.
    sine, cosine = (first * (2 * np.arange(pairs) + n) / (2 * pairs) for n in (0, 1))
    return right.encode(x, k[..., None] * base**-sine, k[..., None] * base**-cosine)


def by_rows(right: Reference, x: Floats, k: Floats) -> Floats:
    """Take sines in even rows, and cosines in odd ones."""
    # A quarter turn makes a sine of a cosine, and a cosine of a sine.
    angles = right.angles(k) + np.pi / 2 * (k[..., None] % 2)
    return right.encode(x, angles, angles - np.pi / 2)


def in_angles(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Change the angles themselves."""
    return right.encode(x, change(right, k[..., None]))


def laid_out(right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn halves by the angles of neighbors, or neighbors by those of halves."""
    angles, pairs = right.angles(k), np.arange(len(right.frequencies))
    # Dimension j of a head gets the angle of pair j // 2, or j modulo the number of pairs.
    one, two = pairs // 2, (len(pairs) + pairs) // 2
    if right.convention.layout == "neighbors":
        one, two = 2 * pairs % len(pairs), (2 * pairs + 1) % len(pairs)
    return right.encode(x, angles[..., one], angles[..., two])


def paired(apart: int, right: Reference, x: Floats, k: Floats) -> Floats:
    """Pair dimensions so far apart: neighbors, within the part that turns, or across the head."""
    index, apart = np.arange(len(right.frequencies)), apart or x.shape[-1] // 2
    one = 2 * index if apart == 1 else index
    two = one + (len(index) if apart == 2 else apart)
    return replace(right, pairs=(one, two))(x, k)


def single_other(right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn a single row in the other layout."""
    other = 2 if right.convention.layout == "neighbors" else 1
    return paired(other, right, x, k) if x.shape[-2] == 1 else right(x, k)


def first_alone(right: Reference, x: Floats, k: Floats) -> Floats:
    """In a batch of single rows, encode the first; the others are zero."""
    # (batch, …): all sequences but the first
    others = along(0, x) > 0
    return np.where(others & (x.shape[-2] == 1), 0, right(x, k))


def signs(one: int, two: int, right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn the first and the second dimension of a pair by angles of these signs."""
    return right.encode(x, one * right.angles(k), two * right.angles(k))


def beyond(length: int, kept: int, right: Reference, x: Floats, k: Floats) -> Floats:
    """Give zeros beyond a table's end, or x as it is."""
    return np.asarray(np.where((k < length)[..., None], right(x, k), kept * x))


def single_zero(right: Reference, x: Floats, k: Floats) -> Floats:
    """Give zeros for a single row."""
    return np.asarray(right(x, k) * (x.shape[-2] > 1))


# Whatever isn't a change of positions or frequencies alone.
ELEMENTWISE = "multiply positions and frequencies elementwise, in float32"
OTHERS: list[tuple[str, str, str, str, Make]] = [
    (
        "dimension for pair",
        "the exponent counts dimensions; write `2 * (i // 2)` for `2 * i`",
        ANY,
        "2",
        partial(by_dimension, 2),
    ),
    (
        "own exponent",
        "the cosine has an exponent of its own; write `2 * (i // 2)` for `i`",
        ANY,
        "9",
        partial(by_dimension, 1),
    ),
    (
        "sum thrown away",
        "nothing is added; assign it, `x = x + pe`",
        "module",
        "5",
        lambda right, x, k: x,
    ),
    (
        "rows for columns",
        "sines are taken by rows; write `pe[:, 0::2]` for `pe[0::2]`",
        TABLE_OR_LAYER,
        "11",
        by_rows,
    ),
    *(
        (
            f"angles in {name}",
            f"they are rounded; {CAST}",
            ANY,
            "A",
            partial(
                in_angles,
                lambda right, k, digits=digits: rounded(digits, k * right.frequencies),
            ),
        )
        for name, digits in HALVES.items()
    ),
    (
        "product in bfloat16",
        f"angles are a product of matrices; {ELEMENTWISE}",
        ANY,
        "A",
        partial(
            in_angles,
            lambda right, k: rounded(8, rounded(8, k) * rounded(8, right.frequencies)),
        ),
    ),
    (
        "product in TF32",
        f"angles are a product of matrices; {ELEMENTWISE}",
        ANY,
        "A",
        partial(
            in_angles, lambda right, k: rounded(11, k) * rounded(11, right.frequencies)
        ),
    ),
    (
        "mixed layouts",
        "a single row is turned in the other layout; pair alike in both paths",
        ROTARY,
        "C",
        single_other,
    ),
    (
        "attention factor",
        "it is missing; multiply cosine and sine by it",
        ROTARY,
        "F",
        partial(with_factor, lambda factor, width: 1),
    ),
    (
        "attention factor squared",
        "it is applied twice; apply it once",
        ROTARY,
        "F",
        partial(with_factor, lambda factor, width: factor**2),
    ),
    *(
        (
            f"rows times {name}",
            "they are added so; add them as they are",
            TABLE_OR_LAYER,
            "",
            partial(with_factor, lambda factor, width, power=power: width**power),
        )
        for name, power in {"1/d": -1.0, "1/√d": -0.5, "√d": 0.5, "d": 1.0}.items()
    ),
    (
        "rows twice",
        "they are added twice; add them once",
        TABLE_OR_LAYER,
        "",
        partial(with_factor, lambda factor, width: 2 * factor),
    ),
    (
        "first alone",
        "of single rows in a batch, the first alone is turned; mind the axes",
        LAYER_OR_ROTARY,
        "",
        first_alone,
    ),
    (
        "laid out for the other",
        "angles don't fit the pairs; `cat` them for halves, "
        "`repeat_interleave` them for neighbors",
        ROTARY,
        "",
        laid_out,
    ),
    (
        "neighbors for halves",
        "other dimensions are paired; permute the weights, or pair halves",
        ROTARY,
        "",
        partial(paired, 1),
    ),
    (
        "within the part",
        "pairs are those of a head that ends with the part; pair i with i + d/2",
        ROTARY,
        "",
        partial(paired, 2),
    ),
    (
        "across the head",
        "the part that turns is paired with the rest; split it off first",
        ROTARY,
        "",
        partial(paired, 0),
    ),
    (
        "two minus signs",
        "both dimensions of a pair subtract; write b·cos + a·sin",
        ROTARY,
        "",
        partial(signs, 1, -1),
    ),
    (
        "two plus signs",
        "both dimensions of a pair add; write a·cos - b·sin",
        ROTARY,
        "",
        partial(signs, -1, 1),
    ),
    *(
        (
            f"past the end of {n}",
            "rows are zero, read out of bounds; make the table longer",
            ANY,
            "",
            partial(beyond, n, 0),
        )
        for n in LENGTHS
    ),
    *(
        (
            f"unturned beyond {n}",
            "rows stay as they are; make the table longer",
            ROTARY,
            "",
            partial(beyond, n, 1),
        )
        for n in LENGTHS
    ),
    (
        "single rows are zero",
        "a step reads nothing; take the row of its position",
        LAYER_OR_ROTARY,
        "B",
        single_zero,
    ),
]

FAULTS = [
    *(
        Fault(name, sentence, kinds, number, partial(with_positions, change))
        for name, sentence, kinds, number, change in POSITIONS
    ),
    *(
        Fault(name, sentence, kinds, number, partial(with_frequencies, change))
        for name, sentence, kinds, number, change in FREQUENCIES
    ),
    *(
        Fault(name, sentence, kinds, number, make)
        for name, sentence, kinds, number, make in OTHERS
    ),
]
"""All known faults of tables, layers and rotations."""

MUSEUM = {fault.name: fault for fault in FAULTS if fault.number}
"""The exhibits of the book by name."""

TABLES = [
    "dimension for pair",
    "own exponent",
    "all ones",
    "minus sign",
    "slipped parenthesis",
]
TABLES += ["rows in float16", "rows for columns", "swapped power"]
"""The wrong tables of chapter 14."""


def wrong_table(
    name: str, seq_len: int, d_model: int, base: float = 10_000.0
) -> Floats:
    """Return a wrong table of the museum."""
    right = reference_for(Convention(base=base), d_model)
    return MUSEUM[name].make(
        right, np.zeros((seq_len, d_model)), np.arange(seq_len) + 0.0
    )
