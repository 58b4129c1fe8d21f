"""Known faults: functions that make a wrong result of the right encoding.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16.

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
decoder's fault doesn't apply, its scores are NaN, which are never those that were measured.

`register` binds `make` to a change, which is all that the faults of a group differ in:

===================  ==============================================  =============================
how                  a change takes                                  and returns
===================  ==============================================  =============================
with_positions       k, (..., seq_len)                               the positions taken
with_frequencies     powers p = 2i/d, (pairs,), and the base         frequencies, (pairs,), or two
with_pairs           none: it is fields of the convention            the pairs taken
with_angles          right angles, (..., pairs)                      those of sines and of cosines
for_single_rows      Reference, x, k, where seq_len is 1             x, encoded wrongly
with_slopes          right slopes, numbers of heads, (heads, 1)      the slopes taken
with_ids             `Counted`                                       the positions taken
for_words            right ids, and the mask                         ids
without              none: it is the argument's name                 (it is left out)
None                 what `make` takes                               what it returns
===================  ==============================================  =============================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

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
"""All known faults."""

TABLE, ROTARY = ("table", "module"), ("rotary",)
ANY = TABLE + ROTARY


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
    """Return the number of each row along an axis."""
    return np.asarray(np.indices(k.shape)[axis], np.float64)


def sequence(k: Floats) -> Any:
    """Return the number of each row's sequence in the batch."""
    return np.arange(k.size).reshape(k.shape) // k.shape[-1]


def rounded(digits: int, x: Floats) -> Floats:
    """Round to numbers with that many binary digits."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


IN_BFLOAT16 = partial(rounded, 8)  # binary digits of a number
HALVES = {"bfloat16": IN_BFLOAT16, "float16": partial(rounded, 11)}
LENGTHS = (*(2**n for n in range(5, 18)), 5000)  # of tables
TIMES = (1 / 8, 1 / 4, 1 / 2, 2, 4, 8)  # positions are scaled by
LONGER = "make the table longer, or compute the angles"
CAST = "compute positions and angles in float32, and cast sine and cosine last"
ONCE = "scale once, alike in all paths (or declare it: Convention(step=...))"
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
        "first position alone: others are counted from it; use each, or turn row by row: "
        "`torch.cat([rotate(x[..., i : i + 1, :], offset=int(p)) "
        "for i, p in enumerate(positions)], -2)`": lambda k: k[..., :1] + along(-1, k),
        "no positions: all rows are the first; use what is given, also as the key of a "
        "cache": lambda k: 0 * k,
        "row for rows: one row is taken for all; write `pe[:, :n]` for `pe[:, n]`": (
            lambda k: 0 * k + k.shape[-1]
        ),
        "first text for all: its positions are all rows'; don't index them": (
            lambda k: k[:1] + 0 * k if k.ndim > 1 else k
        ),
        "run on: each sequence of a batch goes on from the one before; count each alone": (
            lambda k: k + k.shape[-1] * sequence(k)
        ),
        "run on, in steps: a step's sequences have one position after the other; count each "
        "alone": lambda k: k + sequence(k),
        # Of a table of two axes, called as the notes of `check_table` say, with three rows
        f"column by column: {CELLS}": lambda k: k // 3,
        f"column by column, along it: {CELLS}": lambda k: 3 * k % k.shape[-1],
        "one too many: positions are one too large; count from 0": lambda k: k + 1,
        "one too few: positions are one too small; count from 0": lambda k: k - 1,
        "time from 0 to 1: positions are divided by the last; count rows": (
            lambda k: k / max(k.max(initial=0), 1)
        ),
        "clockwise: all turn the other way; negate the sine": lambda k: -k,
        "lost half (exhibit D): two neighbors share a position; add up all of it": (
            lambda k: k // 2
        ),
    }
    | {f"wrap at {n}: {LONGER}": lambda k, n=n: k % n for n in LENGTHS}
    | {f"end at {n}: {LONGER}": partial(np.minimum, n - 1) for n in LENGTHS}
    | {f"times {n:g}: {ONCE}": partial(np.multiply, n) for n in TIMES},
)
register(
    TABLE,
    with_positions,
    {f"rows in {n} (exhibit 8): {CAST}": HALVES[n] for n in HALVES},
)
register(
    ROTARY,
    with_positions,
    {f"positions in {n} (exhibit A): {CAST}": HALVES[n] for n in HALVES}
    # Where there are none, a call has one head.
    | {
        "heads for sequence: heads are counted; move the sequence behind them": (
            lambda k: along(-2, k) if k.ndim > 1 else 0 * k
        )
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
        "half the exponent: it is i/d for 2i/d; divide by half the width": (
            lambda p, base: base ** (-p / 2)
        ),
        "twice the exponent (exhibit 2): it is 4i/d for 2i/d; double i once": (
            lambda p, base: base ** (-2 * p)
        ),
        "one pair late: the first exponent is the second's; count pairs from 0": (
            lambda p, base: base ** -(p + 1 / len(p))
        ),
        "one pair early: the first exponent is that of pair -1; count pairs from 0": (
            lambda p, base: base ** -(p - 1 / len(p))
        ),
        "last pair at the base: i is divided by d/2 - 1; divide it by d/2": (
            lambda p, base: base ** -(p / max(p.max(), 1e-9))
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

# Single rows alone are wrong. A change makes them, as above.


def for_single_rows(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode calls of a single row wrongly, and others right."""
    return (change if x.shape[-2] == 1 else Reference.__call__)(right, x, k)


register(
    ANY,
    for_single_rows,
    {
        f"step times {n:g}: {ONCE}": partial(with_positions, partial(np.multiply, n))
        for n in TIMES
    }
    | {
        f"mixed layouts (exhibit C): a single row's {layout} are paired; pair alike in both "
        "paths": partial(with_pairs, {"layout": layout})
        for layout in ("neighbors", "halves")
    }
    | {
        "step too many (exhibit B): a single row is the next; count the cache": (
            lambda right, x, k: right(x, k + 1)
        ),
        "step too few (exhibit B): a single row is the one before; count it": (
            lambda right, x, k: right(x, k - 1)
        ),
        "step from 0 (exhibit B): a single row is the first; "
        "add the cache's length": lambda right, x, k: right(x, 0 * k),
        "single rows left out: a step adds nothing; add the row of its position": (
            lambda right, x, k: right.carried * x
        ),
        "first alone: of single rows in a batch, the first is turned; mind the axes": (
            lambda right, x, k: right(x, k) * (along(0, x) == 0)
        ),
    },
)

# Wrong angles. A change takes the right ones, (..., pairs).


def with_angles(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode with other angles: of each pair's first dimension, and of its second."""
    return right.encode(x, *change(right.angles(k)))


register(
    ANY,
    with_angles,
    {f"angles in {n}: {CAST}": lambda a, half=HALVES[n]: (half(a),) for n in HALVES},
)
register(
    ROTARY,
    with_angles,
    {
        "cosine for sine: they are swapped; give the cosine first": (
            lambda a: (np.pi / 2 - a,)
        ),
        "crossed: second dimensions are negated; or, if keys were given as -x, theirs are "
        "taken for the query's": lambda a: (a, a + np.pi),
        "two minus signs: both dimensions of a pair subtract; write b*cos + a*sin": (
            lambda a: (a, -a)
        ),
        "two plus signs: both dimensions of a pair add; write a*cos - b*sin": (
            lambda a: (-a, a)
        ),
    },
)

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
    out = 1 * x
    out[..., one], out[..., two] = -x[..., two] * cosines, x[..., one] * sines
    return np.asarray(out[..., right.order])


def beyond(length: int, kept: int, right: Reference, x: Floats, k: Floats) -> Floats:
    """Give zeros beyond a table's end, or x as it is."""
    return np.asarray(np.where((k < length)[..., None], right(x, k), kept * x))


register(
    ANY,
    None,
    {
        "product in bfloat16 (exhibit A): angles are a product of matrices; "
        "multiply elementwise": (
            lambda right, x, k: right.encode(
                x,
                IN_BFLOAT16(IN_BFLOAT16(k)[..., None] * IN_BFLOAT16(right.frequencies)),
            )
        ),
    }
    | {
        f"frequencies in {n}: {CAST}": lambda right, x, k, half=HALVES[n]: replace(
            right, frequencies=half(right.frequencies)
        )(x, k)
        for n in HALVES
    }
    | {f"past the end of {n}: {LONGER}": partial(beyond, n, 0) for n in LENGTHS},
)
register(
    TABLE,
    None,
    {
        "sum thrown away (exhibit 5): assign it, `x = x + pe`": lambda right, x, k: x,
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
    }
    | {f"unturned beyond {n}: {LONGER}": partial(beyond, n, 1) for n in LENGTHS},
)

# Wrong biases: the right slopes, (heads, 1), how far each key is from the query, and the measured
# past, by distance: (heads, seq_len).


def with_slopes(change: Any, slopes: Floats, k: Floats, past: Floats) -> Floats:
    """Take wrong slopes: a change takes the right ones, and the numbers of the heads from 1."""
    return np.asarray(-change(slopes, 1 + np.arange(len(slopes))[:, None]) * abs(k))


def shifted(slopes: Floats, k: Floats, past: Floats) -> Any:
    """Take what Transformer-XL's shift makes of a row: at later keys, the next row's."""
    # The row by distance, and the zero that a shift pads it with
    padded = np.pad(past, ((0, 0), (0, 1)))
    return padded[:, -k % padded.shape[1]] if k.max() > 0 else np.nan


ABS = "take `abs`; or if a mask hides later keys, pass causal=True"
register(
    ("bias",),
    None,
    {
        f"signed distance (exhibit H): {ABS}": lambda slopes, k, past: slopes * k,
        # Under a mask, there are no later keys: it would be the bonus, which follows.
        f"signed distance (exhibit H): it is from key to query; {ABS}": (
            lambda slopes, k, past: -slopes * k if k.max() > 0 else np.nan
        ),
        "shifted without the mask: later keys get the next row's values; count distances "
        "both ways, or if a mask hides them, pass causal=True": shifted,
        "bonus: a farther word gets one; subtract": (
            lambda slopes, k, past: slopes * abs(k)
        ),
        "one too far: distances are one too large; count from 0": (
            lambda slopes, k, past: -slopes * (abs(k) + 1)
        ),
    },
)
register(
    ("bias",),
    with_slopes,
    {
        "slopes 2^(-8h/n): n heads are no power of two; take every other of 2n": (
            lambda slopes, h: 2.0 ** (-8 * h / len(h))
        ),
        "slopes from head 0: the exponent counts from 0; write `h + 1` for `h`": (
            lambda slopes, h: 2.0 ** (-8 * (h - 1) / len(h))
        ),
        "slopes 2^-h: they are those of 8 heads; use the number of heads": (
            lambda slopes, h: 2.0**-h
        ),
        "slopes of a rank: all ranks have the first's heads; begin at its first head": (
            lambda slopes, h: np.resize(slopes[: len(h) // 2], h.shape)
        ),
    },
)

# Wrong position ids: the right ones, and what was given.

BEGIN = "begin at the right number, or if it is meant, pass a function as right="
COUNTED = {
    f"each {abs(n)} too {'small' if n < 0 else 'large'}: {BEGIN}": (
        lambda ids, given, n=n: ids + n
    )
    for n in (-2, -1, 1, 2)
} | {
    "numbered through: padding, texts before, or rows aren't told apart; count each alone": (
        lambda ids, given: 0 * ids + np.arange(ids.shape[-1])
    ),
    "first text for all: count each alone": lambda ids, given: 0 * ids + ids[:1],
}


def for_words(change: Any, ids: Floats, mask: Floats) -> Any:
    """Return 0 for padding, whose ids aren't compared."""
    return change(ids, mask) * mask


register(("packing", "images"), None, COUNTED)
register(("left padding",), for_words, COUNTED)
register(
    ("images",),
    None,
    {
        "swapped: rows are columns": lambda ids, grid: ids[[0, 2, 1]],
        "no frame: all patches are in the first; count frames": (
            lambda ids, grid: ids * [[0], [1], [1]]
        ),
        "column by column: number patches row by row": (
            # By column and then by row, and the frame before both
            lambda ids, grid: ids[:, np.lexsort((ids[1], ids[2], ids[0]))]
        ),
    },
)

# Wrong arguments of a decoder, which reads a text whole and gives the same as in steps. A change
# takes what `Counted` has.


class Counted(NamedTuple):
    """What a change of ids takes: numbers for each token, (seq_len,), or (texts, seq_len)."""

    right: Any  # the right positions
    k: Any  # 0, 1, 2, …
    begin: Any  # of its chunk
    size: Any  # of its chunk


def with_ids(change: Any, decoder: Any, text: Any, lengths: Any) -> Any:
    """Read at wrong positions; none, if the code ignores them, or these happen to be right."""
    k = np.arange(text.tokens.shape[1])
    sizes = np.array([*lengths, k.size - sum(lengths)])
    begin, size = (np.repeat(n, sizes) for n in (sizes.cumsum() - sizes, sizes))
    right = text.arguments.get("positions", k)
    ids = change(Counted(right, k, begin, size))
    if ignored(decoder, text) or (ids == right).all():
        return np.nan
    return decoder.read_again(text, positions=np.broadcast_to(ids, text.tokens.shape))


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


ADD = "add the length of the cache"
register(
    ("decoder",),
    with_ids,
    {
        f"step from 0 (exhibit B): each call begins at position 0; {ADD}": (
            lambda n: n.k - n.begin
        ),
        f"long chunk from 0: several tokens begin at position 0; {ADD}": (
            lambda n: n.k - n.begin * (n.size > 1)
        ),
        "one position a chunk: after the first, all tokens of one have its first's; count on": (
            lambda n: np.where(n.begin, n.begin, n.k)
        ),
        f"step too many (exhibit B): positions are one too large after the first; {ADD}": (
            lambda n: n.right + (n.begin > 0)
        ),
        f"step too few (exhibit B): positions are one too small after the first; {ADD}": (
            lambda n: n.right - (n.begin > 0)
        ),
        "prompt counted twice: after the first call, its length is added again; add it once": (
            lambda n: n.right + n.size[0] * (n.begin > 0)
        ),
        "all counted: padding or an earlier text is; count each text's own": lambda n: (
            n.k
        ),
        "padding in the cache counted: after the first call, it is; count the whole mask": (
            lambda n: np.where(n.begin, n.k, n.right)
        ),
    }
    | {f"wrap at {n}: {LONGER}": lambda ids, n=n: ids.right % n for n in (8, 12, 16)},
)
register(
    ("decoder",),
    without,
    {
        "positions ignored: they make no difference; pass them on": "positions",
        "padding seen: it is attended to; pass the mask on": "mask",
        "packed texts seen: they attend to each other; mask them": "segments",
    },
)

# Several faults may have one name, such as a decoder's and a table's: the first stays.
MUSEUM = {fault.name: fault for fault in reversed(FAULTS) if fault.number}
"""The exhibits of the book by name."""
