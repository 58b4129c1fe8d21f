"""Known faults: functions that make a wrong result of the right encoding.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16. Whatever only a number
tells apart, such as another position or frequency, is in `posenc.checks.families`.

A fault's `make` takes a call of a table, a layer or a rotation, and returns what code that has the
fault gives, of the shape of x. What other kinds of subjects may have wrong is found beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from posenc.conventions import EncodingCall, Floats, Numbers

__all__ = ["FAULTS", "MUSEUM", "Fault"]

Make = Callable[[EncodingCall], Floats]  # takes a call, and returns the wrong result


@dataclass(frozen=True)
class Fault:
    """A fault, and the kinds of subjects that may have it."""

    name: str  # the key of the museum
    sentence: str  # what goes wrong, and the cure
    make: Make
    number: str = ""  # of its exhibit, or ""
    kinds: tuple[str, ...] = ()

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
"""All known faults that need no measurement."""


def known(kind: str) -> list[Fault]:
    """Return the known faults of a kind."""
    return [fault for fault in FAULTS if kind in fault.kinds]


TABLE, ROTARY = ("table", "module"), ("rotary",)
SOME_CALLS = ("some calls",)  # for which it is tried if others are right
ANY = TABLE + ROTARY


def register(kinds: tuple[str, ...], makes: dict[str, Make]) -> None:
    """Add faults, each by a text: "name (exhibit n): what goes wrong; the cure".

    The first colon ends the name, which has none.
    """
    for text, make in makes.items():
        title, sentence = text.split(": ", 1)
        name, _, number = title.partition(" (exhibit ")
        FAULTS.append(Fault(name, sentence, make, number.rstrip(")"), kinds))


# Wrong positions


def at(place: Callable[[Numbers], Any]) -> Make:
    """Return what takes another number for the position of each row."""

    def make(call: EncodingCall) -> Floats:
        return call.at(place(call.numbers()) + 0.0 * call.k)

    return make


SIDE = 3  # of a table of two axes, called as the notes of `check_table` say
CELLS = "cells are numbered so, not row by row; mind the order of axes in `meshgrid`"
ITSELF = (
    "if it counts by itself, test what it can do: "
    "laws=['shape', 'repeat', 'values', 'batch', 'masked', 'gradient']"
)
register(
    ANY,
    {
        "batch for sequence (exhibit 1): the batch is counted; "
        "write `x.size(1)` for `x.size(0)`": (
            # Without a batch, these are rows.
            at(lambda of: of.batch if of.row.ndim > 1 else of.row)
        ),
        f"offset that sticks (exhibit B): each call begins at 0; use what is given, or {ITSELF}": (
            at(lambda of: of.row)
        ),
        "lost half (exhibit D): two neighbors share a position; add up all of it": (
            at(lambda of: of.position // 2)
        ),
        f"column by column: {CELLS}": at(lambda of: of.position // SIDE),
        f"column by column, along it: {CELLS}": (
            at(lambda of: SIDE * of.position % of.length)
        ),
    },
)


# Wrong frequencies


def spread(change: Callable[[Floats, float], Any]) -> Make:
    """Return what encodes at other frequencies, given the powers p of the base, such as 2i/d.

    `change` returns them for all pairs, (pairs,); or a pair of them, for the first and the second
    dimensions.
    """

    def make(call: EncodingCall) -> Floats:
        known = call.right.convention
        omega = known.encoding(call.x.shape[-1]).frequencies
        powers = -np.log(omega) / np.log(known.base)
        first, second = np.broadcast_to(change(powers, known.base), (2, len(omega)))
        positions = call.positions[..., None]
        return call.encode(positions * first, positions * second)

    return make


register(
    ANY,
    {
        "all ones (exhibit 3): the exponent is an integer; divide by `/`": (
            spread(lambda p, base: base ** (0 * p))
        ),
        "slipped parenthesis (exhibit 4): the base is e^d; "
        "write `/ (d // 2)` for `/ d // 2`": (
            spread(lambda p, base: np.exp(-2 * len(p) * p))
        ),
        "minus sign (exhibit 10): frequencies rise; divide by the power": (
            spread(lambda p, base: base**p)
        ),
        "swapped power (exhibit 10): it is exponent ** base; write `base ** exponent`": (
            # Written x ** 1e-4 for 1e-4 ** x, so the base there is 1 / base.
            spread(lambda p, base: p ** (1 / base))
        ),
        "lost setting (exhibit E): the base is 10000, the default; "
        "pass it on, in each call": spread(lambda p, base: 10_000.0**-p),
        "dimension for pair (exhibit 2): the exponent counts dimensions; "
        "write `2 * (i // 2)` for `2 * i`": (
            spread(lambda p, base: (base ** (-2 * p), base ** -(2 * p + 1 / len(p))))
        ),
        "own exponent (exhibit 9): the cosine has its own; "
        "write `2 * (i // 2)` for `i`": (
            spread(lambda p, base: (base**-p, base ** -(p + 1 / len(p) / 2)))
        ),
    },
)


# Other pairs


def paired(**changes: Any) -> Make:
    """Return what turns other dimensions together: those of a changed convention."""

    def make(call: EncodingCall) -> Floats:
        other = replace(call.right.convention, **changes).encoding(call.x.shape[-1])
        return call.of(pairs=other.pairs)

    return make


register(
    ROTARY,
    {
        "within the part: its halves are paired; pair i with i + d/2": (
            paired(extent="partial")
        ),
    },
)
# Beside calls that are right; if all calls had mixed layouts, it would be another convention.
register(
    SOME_CALLS,
    {
        f"mixed layouts (exhibit C): {layout} are paired; pair alike in all calls": (
            paired(layout=layout)
        )
        for layout in ("neighbors", "halves")
    },
)
register(
    ROTARY + SOME_CALLS,
    {
        "zeros: a pair gives 0; fill all rows, heads and dimensions": (
            lambda call: call.right.placed(call.x, 0 * call.angles, 0 * call.angles)
        ),
    },
)


# Rounding


def rounded(digits: int, x: Floats) -> Floats:
    """Round to numbers with that many binary digits."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


def in_float16(x: Floats) -> Floats:
    """Round to float16: above 65,504 to infinity, and near 0 to fewer digits."""
    with np.errstate(over="ignore"):
        return np.asarray(x, np.float16).astype(np.float64)


HALVES: dict[str, Callable[[Floats], Floats]] = {
    "bfloat16": partial(rounded, 8),
    "float16": in_float16,
}


ALL = ("positions", "frequencies", "angles")


def rounding(half: str, *names: str) -> Make:
    """Return what encodes by numbers of which those with these names are rounded to a half type."""
    positions_of, frequencies_of, angles_of = (
        HALVES[half] if name in names else np.asarray for name in ALL
    )

    def make(call: EncodingCall) -> Floats:
        positions = call.right.convention.counted(positions_of(call.k))
        omega = frequencies_of(call.right.frequencies)
        return call.encode(angles_of(positions[..., None] * omega))

    return make


CAST = "compute positions and angles in float32, and cast sine and cosine last"
PRODUCT = (
    "angles are a product of matrices, or are rounded; multiply elementwise, in float32"
)
for half in HALVES:
    rows = rounding(half, "positions")
    register(TABLE, {f"rows in {half} (exhibit 8): {CAST}": rows})
    register(ROTARY, {f"positions in {half} (exhibit A): {CAST}": rows})
    register(
        ANY,
        {
            f"angles in {half}: {CAST}": rounding(half, "angles"),
            f"frequencies in {half}: {CAST}": rounding(half, "frequencies"),
            f"product in {half} (exhibit A): {PRODUCT}": rounding(half, *ALL),
        },
    )


# Whatever isn't one change


def by_rows(call: EncodingCall) -> Floats:
    """Take sines in even rows, and cosines in odd ones."""
    # A quarter turn makes a sine of a cosine, and a cosine of a sine.
    angles = call.angles + np.pi / 2 * (np.round(call.k)[..., None] % 2)
    return call.encode(angles, angles - np.pi / 2)


def laid_out(call: EncodingCall) -> Floats:
    """Turn halves by the angles of neighbors, or neighbors by those of halves."""
    pairs = len(call.right.frequencies)
    # Of each pair's first and second dimension: all angles, and again; or each angle twice
    turned = np.arange(2 * pairs).reshape(-1, 2).T % pairs
    if call.right.convention.layout == "halves":
        turned = np.arange(2 * pairs).reshape(2, -1) // 2
    first, second = turned
    return call.encode(call.angles[..., first], call.angles[..., second])


register(
    TABLE,
    {
        "sum thrown away (exhibit 5): assign it, `x = x + pe`": lambda call: call.x,
        "overwritten: the cosine is taken of the sine; compute it of the angles": (
            lambda call: call.encode(call.angles, np.sin(call.angles))
        ),
        "rows for columns (exhibit 11): write `pe[:, 0::2]` for `pe[0::2]`": by_rows,
    },
)
register(
    ROTARY,
    {
        "attention factor (exhibit F): it is missing; multiply by it": (
            lambda call: call.of(factor=1.0)
        ),
        "attention factor squared (exhibit F): apply it once": (
            lambda call: call.of(factor=call.right.factor**2)
        ),
        "laid out for the other: `cat` angles for halves, "
        "`repeat_interleave` them for neighbors": laid_out,
    },
)

# Several faults may have one name: the first stays.
MUSEUM = {fault.name: fault for fault in reversed(FAULTS) if fault.number}
"""The exhibits of the book by name."""
