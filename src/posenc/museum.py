"""Known faults: functions that make a wrong result of the right encoding.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16.

What a fault's `make` gets and returns depends on its kind:

===================================  ==========================  ==================
kind                                 gets                        returns
===================================  ==========================  ==================
table, module, rotary                Reference, x, positions k   x, encoded wrongly
bias                                 right slopes, offsets k     a bias
left padding, packing, images        right function, its input   position ids
decoder                              Decoder, Text, lengths      scores
===================================  ==========================  ==================

`register` binds `make` to a change, which is all that its faults differ in. A comment above each
group says what a change takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from posenc.conventions import Convention, Floats, Reference

__all__ = ["FAULTS", "MUSEUM", "TABLES", "Fault", "wrong_table"]

EXHIBITS = {
    "1": ["batch for sequence"],
    "2": ["dimension for pair", "twice the exponent"],
    "3": ["all ones"],
    "4": ["slipped parenthesis"],
    "5": ["sum thrown away"],
    "8": ["rows in bfloat16", "rows in float16"],
    "9": ["own exponent"],
    "10": ["minus sign", "swapped power"],
    "11": ["rows for columns"],
    "A": ["positions in bfloat16", "positions in float16", "product in bfloat16"],
    "B": ["offset that sticks", "step too many", "step too few", "step from 0"],
    "C": ["mixed layouts"],
    "D": ["lost half"],
    "E": ["lost setting"],
    "F": ["attention factor", "attention factor squared"],
    "H": ["signed distance"],
}
NUMBERS = {name: number for number, names in EXHIBITS.items() for name in names}


@dataclass(frozen=True)
class Fault:
    """A fault, and the kinds of subjects that may have it."""

    name: str  # the key of the museum
    sentence: str  # what goes wrong, and the cure
    kinds: tuple[str, ...]
    make: Callable[..., Any]
    """What comes of the right encoding and the arguments of a call, such as x and positions."""

    @property
    def number(self) -> str:
        """The number of its exhibit, or ""."""
        return NUMBERS.get(self.name, "")

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
        exhibit = f" (exhibit {self.number}: {self.page})" if self.number else ""
        return self.says + exhibit


FAULTS: list[Fault] = []
"""All known faults."""

TABLE, ROTARY = ("table", "module"), ("rotary",)
ANY = TABLE + ROTARY


def register(kinds: tuple[str, ...], how: Any, changes: Mapping[str, Any]) -> None:
    """Add faults: "name: what goes wrong; the cure", and a change, made as `how` says."""
    for text, change in changes.items():
        name, _, sentence = text.partition(": ")
        FAULTS.append(Fault(name, sentence, kinds, partial(how, change)))


def as_it_is(make: Any, *given: Any) -> Any:
    """Call a function that makes the wrong result itself."""
    return make(*given)


# Wrong positions. A change takes k, the position of each row of x, of shape (..., seq_len).


def with_positions(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode right, at wrong positions."""
    return right(x, change(k))


def for_single_rows(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode a call of a single row at a wrong position, and others right."""
    return right(x, change(k) if k.shape[-1] == 1 else k)


def along(axis: int, k: Floats) -> Floats:
    """Return the number of each row along an axis; without one, along the first."""
    return np.asarray(np.indices(k.shape)[axis if k.ndim > 1 else 0], np.float64)


def rounded(digits: int, x: Floats) -> Floats:
    """Round to numbers with that many binary digits."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


HALVES = {"bfloat16": 8, "float16": 11}  # binary digits of a number
LENGTHS = (*(2**n for n in range(5, 18)), 5000)  # of tables
TIMES = (1 / 8, 1 / 4, 1 / 2, 2, 4, 8)  # positions are scaled by
LONGER = "make the table longer, or compute the angles"
CAST = "compute positions and angles in float32, and cast sine and cosine last"
ONCE = "scale once, alike in all paths (or declare it: Convention(step=…))"

register(
    ANY,
    with_positions,
    {
        "batch for sequence: the batch is counted; write `x.size(1)` for `x.size(0)`": (
            partial(along, 0)
        ),
        "heads for sequence: heads are counted; move the sequence behind them": (
            partial(along, -2)
        ),
        "offset that sticks: each call begins at 0; use the positions that are given": (
            partial(along, -1)
        ),
        "no positions: all rows are the first; use what is given": lambda k: 0 * k,
        "row for rows: one row is taken for all; write `pe[:, :n]` for `pe[:, n]`": (
            lambda k: 0 * k + k.shape[-1]
        ),
        "last for all: the last row is taken; take one for each position": (
            lambda k: 0 * k + k.max(initial=0)
        ),
        "first text for all: its positions are all rows'; don't index them": (
            lambda k: k[:1] + 0 * k if k.ndim > 1 else k
        ),
        "one too many: positions are one too large; count from 0": lambda k: k + 1,
        "one too few: positions are one too small; count from 0": lambda k: k - 1,
        "time from 0 to 1: positions are divided by the last; count rows": (
            lambda k: k / max(k.max(initial=0), 1)
        ),
        "share of the length: positions are divided by it; count rows": (
            lambda k: k / k.shape[-1]
        ),
        "backwards: rows count from the end; reverse them": lambda k: k[..., ::-1],
        "clockwise: all turn the other way; negate the sine": lambda k: -k,
        "degrees: angles are in degrees, or turns; leave out π": (
            lambda k: 2 * np.pi * k
        ),
        "lost half: two neighbors share a position; add up all of it": (
            lambda k: k // 2
        ),
    }
    | {f"wrap at {n}: {LONGER}": lambda k, n=n: k % n for n in LENGTHS}
    | {f"end at {n}: {LONGER}": partial(np.minimum, n - 1) for n in LENGTHS}
    | {f"times {n:g}: {ONCE}": partial(np.multiply, n) for n in TIMES},
)
register(
    ANY,
    for_single_rows,
    {
        "step too many: a single row is the next; count the cache": lambda k: k + 1,
        "step too few: a single row is the one before; count it": lambda k: k - 1,
        "step from 0: a single row is the first; add the cache's length": (
            lambda k: 0 * k
        ),
    }
    | {f"step times {n:g}: {ONCE}": partial(np.multiply, n) for n in TIMES},
)
for _name, _digits in HALVES.items():
    _round = partial(rounded, _digits)
    register(TABLE, with_positions, {f"rows in {_name}: {CAST}": _round})
    register(ROTARY, with_positions, {f"positions in {_name}: {CAST}": _round})

# Wrong frequencies. A change takes the right ones, w, their powers, p = 2i/d, and the base.


def with_frequencies(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Encode at wrong frequencies."""
    pairs = len(right.frequencies)
    omega = change(right.frequencies, np.arange(pairs) / pairs, right.convention.base)
    return replace(right, frequencies=omega)(x, k)


register(
    ANY,
    with_frequencies,
    {
        "all ones: the exponent is an integer; divide by `/`": (
            lambda w, p, base: base ** (0 * p)
        ),
        "slipped parenthesis: the base is e^d; write `/ (d // 2)` for `/ d // 2`": (
            lambda w, p, base: np.exp(-2 * len(p) * p)
        ),
        "minus sign: frequencies rise; divide by the power": (
            lambda w, p, base: base**p
        ),
        "swapped power: it is exponent ** base; write `base ** exponent`": (
            # Written x ** 1e-4 for 1e-4 ** x, so the base there is 1 / base.
            lambda w, p, base: p ** (1 / base)
        ),
        "frequencies reversed: they rise; reverse them": lambda w, p, base: w[::-1],
        "lost setting: the base is 10000, the default; pass it on, in each call": (
            lambda w, p, base: 10_000.0**-p
        ),
        "half the exponent: it is i/d for 2i/d; divide by half the width": (
            lambda w, p, base: base ** (-p / 2)
        ),
        "twice the exponent: it is 4i/d for 2i/d; double i once": (
            lambda w, p, base: base ** (-2 * p)
        ),
        "one pair late: the first exponent is the second's; count pairs from 0": (
            lambda w, p, base: base ** -(p + 1 / len(p))
        ),
        "odd numbers: the exponent takes odd dimensions; count even ones from 0": (
            lambda w, p, base: base ** -(p + 0.5 / len(p))
        ),
        "last pair at the base: i is divided by d/2 - 1; divide it by d/2": (
            lambda w, p, base: base ** -(p / max(p.max(), 1e-9))
        ),
    }
    | {
        f"frequencies in {name}: {CAST}": lambda w, p, base, n=n: rounded(n, w)
        for name, n in HALVES.items()
    },
)

# Another multiplier. A change takes the right one, and the width.


def with_factor(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Multiply what turns, or the rows, by another number."""
    return replace(right, factor=change(right.factor, x.shape[-1]))(x, k)


register(
    ROTARY,
    with_factor,
    {
        "attention factor: it is missing; multiply by it": lambda factor, d: 1,
        "attention factor squared: apply it once": lambda factor, d: factor**2,
    },
)
register(
    TABLE,
    with_factor,
    {"rows twice: they are added twice; add them once": lambda factor, d: 2 * factor}
    | {
        f"rows times {name}: add them as they are": lambda factor, d, n=n: d**n
        for name, n in {"1/d": -1.0, "1/√d": -0.5, "√d": 0.5, "d": 1.0}.items()
    },
)

# Other pairs. A change takes the numbers of the pairs, and the width.


def with_pairs(change: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn other dimensions together."""
    numbers = np.arange(len(right.frequencies))
    return replace(right, pairs=change(numbers, x.shape[-1]))(x, k)


def single_other(pairs: Any, right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn a single row in the other layout, and others right."""
    neighbors, halves = pairs
    other = halves if right.convention.layout == "neighbors" else neighbors
    return with_pairs(other, right, x, k) if x.shape[-2] == 1 else right(x, k)


def neighbors(i: Any, d: int) -> tuple[Any, Any]:
    """Pair each even dimension with the next."""
    return 2 * i, 2 * i + 1


def halves(i: Any, d: int) -> tuple[Any, Any]:
    """Pair the first dimensions with as many that follow."""
    return i, i + len(i)


register(
    ROTARY,
    with_pairs,
    {
        "neighbors for halves: permute the weights, or pair halves": neighbors,
        "within the part: its halves are paired; pair i with i + d/2": halves,
        "across the head: the part is paired with the rest; split it off first": (
            lambda i, d: (i, i + d // 2)
        ),
    },
)
register(
    ROTARY,
    single_other,
    {
        "mixed layouts: a single row has other pairs; pair alike in both paths": (
            neighbors,
            halves,
        )
    },
)

# Whatever isn't one change: the right encoding, x, k → the wrong result.


def by_dimension(times: float, right: Reference, x: Floats, k: Floats) -> Floats:
    """Take the dimension's number for the pair's, times a number, in the cosine, too."""
    pairs = len(right.frequencies)
    # Dimension 2i has the sine of pair i, dimension 2i + 1 its cosine.
    power = times * np.arange(2 * pairs) / (2 * pairs)
    angles = k[..., None] * right.convention.base**-power
    return right.encode(x, angles[..., ::2], angles[..., 1::2])


def by_rows(right: Reference, x: Floats, k: Floats) -> Floats:
    """Take sines in even rows, and cosines in odd ones."""
    # A quarter turn makes a sine of a cosine, and a cosine of a sine.
    angles = right.angles(k) + np.pi / 2 * (k[..., None] % 2)
    return right.encode(x, angles, angles - np.pi / 2)


def laid_out(right: Reference, x: Floats, k: Floats) -> Floats:
    """Turn halves by the angles of neighbors, or neighbors by those of halves."""
    angles = right.angles(k)
    # Each angle twice, as the dimensions of the other layout have them.
    if right.convention.layout == "halves":
        laid = np.repeat(angles, 2, axis=-1)
    else:
        laid = np.concatenate([angles, angles], axis=-1)
    one, two = np.mod(right.pairs, laid.shape[-1])
    return right.encode(x, laid[..., one], laid[..., two])


def beyond(length: int, kept: int, right: Reference, x: Floats, k: Floats) -> Floats:
    """Give zeros beyond a table's end, or x as it is."""
    return np.asarray(np.where((k < length)[..., None], right(x, k), kept * x))


def first_alone(right: Reference, x: Floats, k: Floats) -> Floats:
    """In a batch of single rows, encode the first; the others are zero."""
    others = along(0, x) > 0
    return np.where(others & (x.shape[-2] == 1), 0, right(x, k))


register(
    ANY,
    as_it_is,
    {
        "dimension for pair: the exponent counts dimensions; "
        "write `2 * (i // 2)` for `2 * i`": partial(by_dimension, 2),
        "own exponent: the cosine has its own; write `2 * (i // 2)` for `i`": (
            partial(by_dimension, 1)
        ),
        "first alone: of single rows in a batch, the first is turned; mind the axes": (
            first_alone
        ),
        "single rows are zero: a step reads nothing; take the row of its position": (
            lambda right, x, k: right(x, k) * (x.shape[-2] > 1)
        ),
        "product in bfloat16: angles are a product of matrices; multiply elementwise": (
            lambda right, x, k: right.encode(
                x, rounded(8, rounded(8, k)[..., None] * rounded(8, right.frequencies))
            )
        ),
    }
    | {
        f"angles in {name}: {CAST}": lambda right, x, k, n=n: right.encode(
            x, rounded(n, right.angles(k))
        )
        for name, n in HALVES.items()
    }
    | {f"past the end of {n}: {LONGER}": partial(beyond, n, 0) for n in LENGTHS},
)
register(
    TABLE,
    as_it_is,
    {
        "sum thrown away: assign it, `x = x + pe`": lambda right, x, k: x,
        "rows for columns: write `pe[:, 0::2]` for `pe[0::2]`": by_rows,
    },
)
register(
    ROTARY,
    as_it_is,
    {
        "laid out for the other: `cat` angles for halves, "
        "`repeat_interleave` them for neighbors": laid_out,
        "permuted: neighbors are returned as halves; permute queries and keys alike": (
            lambda right, x, k: np.concatenate(
                [right(x, k)[..., n::2] for n in (0, 1)], axis=-1
            )
        ),
        "cosine for sine: they are swapped; give the cosine first": (
            lambda right, x, k: right.encode(x, np.pi / 2 - right.angles(k))
        ),
        "two minus signs: both dimensions of a pair subtract; write b·cos + a·sin": (
            lambda right, x, k: right.encode(x, right.angles(k), -right.angles(k))
        ),
        "two plus signs: both dimensions of a pair add; write a·cos - b·sin": (
            lambda right, x, k: right.encode(x, -right.angles(k), right.angles(k))
        ),
    }
    | {f"unturned beyond {n}: {LONGER}": partial(beyond, n, 1) for n in LENGTHS},
)

# Wrong biases: the right slopes, (heads, 1), and how far each key is from the query.


def of_heads(slopes: Floats, step: float) -> Floats:
    """Return powers of 2 for heads that are counted from 1."""
    return np.asarray(2.0 ** (-step * (1 + np.arange(len(slopes))[:, None])))


register(
    ("bias",),
    as_it_is,
    {
        "signed distance: take `abs`; or if a mask hides later keys, "
        "pass causal=True": lambda slopes, k: slopes * k,
        "signed distance: it is from key to query; take `abs`, or pass causal=True": (
            lambda slopes, k: -slopes * k
        ),
        "bonus: a farther word gets one; subtract": lambda slopes, k: slopes * abs(k),
        "slopes 2^(-8h/n): n heads are no power of two; take every other of 2n": (
            lambda slopes, k: -of_heads(slopes, 8 / len(slopes)) * abs(k)
        ),
        "slopes 2^-h: they are those of 8 heads; use the number of heads": (
            lambda slopes, k: -of_heads(slopes, 1) * abs(k)
        ),
        "slopes of a rank: all ranks have the first's heads; begin at its first head": (
            lambda slopes, k: (
                -np.resize(slopes[: len(slopes) // 2], slopes.shape) * abs(k)
            )
        ),
        "one too far: distances are one too large; count from 0": (
            lambda slopes, k: -slopes * (abs(k) + 1)
        ),
    },
)

# Wrong position ids: the function that makes the right ones, and what it is given.


def words_counted(mask: Any) -> Any:
    """Return the positions of words, from a mask that is 0 for padding on their left."""
    return np.maximum(mask.cumsum(axis=1) - 1, 0)


def restarted(segments: Any) -> Any:
    """Count from 0 in each segment."""
    columns = np.indices(segments.shape)[1]
    new = np.diff(segments, axis=1, prepend=segments[:, :1] - 1) != 0
    return columns - np.maximum.accumulate(np.where(new, columns, 0), axis=1)


def coordinates(grid: Any) -> Any:
    """Return frame, row and column of each patch, row by row: (patches, axes)."""
    return np.indices(tuple(grid)).reshape(len(grid), -1).T


register(
    ("left padding",),
    as_it_is,
    {
        "columns for words: padding is counted, too; count the mask": (
            lambda right, mask: mask * np.indices(mask.shape)[1]
        ),
        "words from 1: subtract 1": lambda right, mask: right(mask) + mask,
        "first text for all: count each mask": (
            lambda right, mask: right(mask[:1]) * mask
        ),
    },
)
register(
    ("packing",),
    as_it_is,
    {
        "not restarted: positions continue from the text before; count each alone": (
            lambda right, segments: np.indices(segments.shape)[1]
        ),
        "from 1: count from 0": lambda right, segments: right(segments) + 1,
    },
)
register(
    ("images",),
    as_it_is,
    {
        "swapped: rows are columns": lambda right, grid: right(grid)[:, [0, 2, 1]],
        "sizes swapped: height is width": lambda right, grid: right(grid[[0, 2, 1]]),
        "column by column: number patches row by row": (
            lambda right, grid: right(grid[[0, 2, 1]])[:, [0, 2, 1]]
        ),
        "no frame: all patches are in the first; count frames": (
            lambda right, grid: right(grid) * [0, 1, 1]
        ),
    },
)

# Wrong arguments of a decoder, which reads a text whole and gives the same as in steps. A change
# takes the number of each token, from where its chunk begins, and the chunk's length.


def with_ids(change: Any, decoder: Any, text: Any, lengths: Any) -> Any:
    """Read at wrong positions."""
    seq_len = text.tokens.shape[1]
    sizes = [*lengths, seq_len - sum(lengths)]
    begin = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    ids = change(np.arange(seq_len), begin, np.repeat(sizes, sizes))
    wrong = decoder.changed(text, positions=np.broadcast_to(ids, text.tokens.shape))
    # If the code ignores positions, each fault in them would give the same.
    return text.scores * np.nan if ignored("positions", decoder, text) else wrong


def ignored(name: str, decoder: Any, text: Any) -> bool:
    """Whether an argument makes no difference to a text that is read whole."""
    zeros = np.zeros(text.tokens.shape, np.int64)
    return np.array_equal(decoder.changed(text, **{name: zeros}), decoder.changed(text))


def as_ignored(name: str, decoder: Any, text: Any, lengths: Any) -> Any:
    """Read as it is, if an argument makes no difference."""
    made = decoder.changed(text)
    return made if ignored(name, decoder, text) else made * np.nan


def without(name: str, decoder: Any, text: Any, lengths: Any) -> Any:
    """Read without the mask or the segments."""
    return decoder.changed(text, without=name)


ADD = "add the length of the cache"
register(
    ("decoder",),
    with_ids,
    {
        f"step from 0: each step begins at position 0; {ADD}": (
            lambda k, begin, size: 0 * k
        ),
        f"chunk from 0: each chunk begins at position 0; {ADD}": (
            lambda k, begin, size: k - begin
        ),
        f"long chunk from 0: several tokens begin at position 0; {ADD}": (
            lambda k, begin, size: k - begin * (size > 1)
        ),
        f"step too many: positions are one too large after the first; {ADD}": (
            lambda k, begin, size: k + (k > 0)
        ),
        f"step too few: positions are one too small after the first; {ADD}": (
            lambda k, begin, size: k - (k > 0)
        ),
        "all counted: padding or an earlier text is; count each text's own": (
            lambda k, begin, size: k
        ),
    }
    | {f"wrap at {n}: {LONGER}": lambda k, begin, size, n=n: k % n for n in (8, 12, 16)}
    | {
        f"end at {n}: {LONGER}": lambda k, begin, size, n=n: np.minimum(k, n - 1)
        for n in (8, 12, 16)
    },
)
IGNORED = "positions ignored: they make no difference, so padding counts; pass them on"
register(("decoder",), as_ignored, {IGNORED: "positions"})
register(
    ("decoder",),
    without,
    {
        "padding seen: it is attended to; pass the mask on": "mask",
        "packed texts seen: they attend to each other; mask them": "segments",
    },
)

# A decoder's faults may have the name of a table's, which came first and stays.
MUSEUM = {fault.name: fault for fault in reversed(FAULTS) if fault.number}
"""The exhibits of the book by name."""

TABLES = [
    "dimension for pair",
    "own exponent",
    "all ones",
    "minus sign",
    "slipped parenthesis",
    "rows in float16",
    "rows for columns",
    "swapped power",
]
"""The wrong tables of chapter 14."""


def wrong_table(
    name: str, seq_len: int, d_model: int, base: float = 10_000.0
) -> Floats:
    """Return a wrong table of the museum."""
    right, x = Convention(base=base).encoding(d_model), np.zeros((seq_len, d_model))
    return np.asarray(MUSEUM[name].make(right, x, np.arange(seq_len) + 0.0))
