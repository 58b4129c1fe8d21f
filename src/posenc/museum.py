"""Known faults: functions that make a wrong result of the right encoding.

A check that fails runs all that apply on the same calls: one that gives the measured numbers is the
cause. Those with a number are exhibits of the book's chapters 14 and 16. Whatever only a number
tells apart, such as another position or frequency, is in `posenc.checks.causes`.

A fault's `make` takes a call of a table, a layer or a rotation, and returns what code that has the
fault gives, of the shape of x. What other kinds of subjects may have wrong is found beside them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from posenc.conventions import EncodingCall, Floats

Make = Callable[[EncodingCall], Floats]  # takes a call, and returns the wrong result

TABLE, ROTARY = ("table", "module"), ("rotary",)
ANY = TABLE + ROTARY
SOME_CALLS = ("some calls",)  # for which it is tried if others are right


@dataclass(frozen=True)
class Fault:
    """A fault, and the kinds of subjects that may have it."""

    name: str  # the key of the museum
    sentence: str  # what goes wrong, and the cure
    make: Make
    number: str = ""  # of its exhibit, or ""
    kinds: tuple[str, ...] = ANY

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


# What makes wrong results


class Numbers(NamedTuple):
    """Numbers of each row of a call, (..., seq_len), and how many rows a sequence has."""

    position: Floats
    row: Any  # in its sequence, from 0
    batch: Any  # of its sequence
    head: Any
    length: int
    first: float  # the position of row 0


def numbers_of(call: EncodingCall) -> Numbers:
    """Return what may be taken for the position of each row."""
    along: Any = np.indices(call.k.shape)  # each axis
    *lead, row = along
    # Without a batch, there is one sequence.
    lead = lead or [0 * row]
    # A layer has no heads; a rotation may take any axis for them.
    head = lead[-1] * call.convention.rotary
    return Numbers(call.k, row, lead[0], head, row.max() + 1, call.convention.first)


def at(place: Callable[[Numbers], Any]) -> Make:
    """Return what takes another number for the position of each row."""
    return lambda call: call.of(k=place(numbers_of(call)) + 0 * call.k)


def spread(frequencies: Callable[[Floats, float], Any], *ahead: float) -> Make:
    """Return what encodes at other frequencies, of the powers p, such as 2i/d, and the base.

    The powers are so many pairs ahead: one number, or the first and the second dimensions'.
    """

    def make(call: EncodingCall) -> Floats:
        per_pair = call.powers[1:2].sum()  # if there is one pair alone, 0
        angles = [
            call.positions[..., None]
            * frequencies(call.powers + pairs * per_pair, call.convention.base)
            for pairs in ahead
        ]
        return call.encode(*angles)

    return make


def paired(**changes: Any) -> Make:
    """Return what turns other dimensions together: those of a changed convention."""

    def make(call: EncodingCall) -> Floats:
        other = replace(call.convention, **changes).encoding(call.x, call.k)
        return call.of(pairs=other.pairs)

    return make


def rounded(x: Floats, digits: int) -> Floats:
    """Round to numbers with that many binary digits."""
    # x = fraction · 2^exponent, with a fraction from ½ to 1
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(fraction * 2.0**digits), exponent - digits))


HALVES = {"bfloat16": 8, "float16": 11}  # binary digits


def in_half(half: str, *parts: str) -> Make:
    """Return what rounds some of positions, frequencies and angles to a half type."""

    def stored(part: str, numbers: Floats) -> Floats:
        return rounded(numbers, HALVES[half]) if part in parts else numbers

    def make(call: EncodingCall) -> Floats:
        rows = stored("positions", call.k)
        positions = call.convention.counted(rows)[..., None]
        frequencies = stored("frequencies", call.frequencies)
        return call.encode(stored("angles", positions * frequencies))

    return make


def multiplied(change: Callable[[float], float]) -> Make:
    """Return what multiplies by another factor, given the right one."""
    return lambda call: call.of(factor=change(call.factor))


def by_rows(call: EncodingCall) -> Floats:
    """Take sines in even rows, and cosines in odd ones."""
    # A quarter turn makes a sine of a cosine, and a cosine of a sine.
    angles = call.angles + np.pi / 2 * (call.k[..., None] % 2)
    return call.encode(angles, angles - np.pi / 2)


# What is known

NOTHING_TURNS = Fault(
    "nothing turns",
    "x comes back, or rows of position 0; use the positions, and keep what is made of them",
    lambda call: call.encode(0 * call.angles),
)
ITSELF = (
    "if it counts by itself, test what it can do: "
    "laws=['shape', 'repeat', 'values', 'batch', 'masked', 'gradient']"
)
CAST = "compute positions and angles in float32, and cast sine and cosine last"
PRODUCT = (
    "angles are a product of matrices, or are rounded; multiply elementwise, in float32"
)
FAULTS = [
    Fault(
        "batch for sequence",
        "the batch is counted; write `x.size(1)` for `x.size(0)`",
        # Without a batch, these are rows.
        at(lambda of: of.batch if of.row.ndim > 1 else of.row),
        "1",
    ),
    Fault(
        "offset that sticks",
        f"each call begins at 0; use what is given, or {ITSELF}",
        at(lambda of: of.row),
        "B",
    ),
    Fault(
        "lost half",
        "two neighbors share a position; add up all of it",
        at(lambda of: of.position // 2),
        "D",
    ),
    *(
        Fault(name, cure, spread(frequencies, 0), number)
        for name, cure, frequencies, number in (
            (
                "all ones",
                "the exponent is an integer; divide by `/`",
                lambda p, base: base ** (0 * p),
                "3",
            ),
            (
                "slipped parenthesis",
                "pair i turns by e^(-2i); write `/ (d // 2)` for `/ d // 2`",
                # Of a usual width, the exponent's factor is rounded down to -1.
                lambda p, base: np.exp(-2.0 * np.arange(len(p))),
                "4",
            ),
            (
                "minus sign",
                "frequencies rise; divide by the power",
                lambda p, base: base**p,
                "10",
            ),
            (
                "swapped power",
                "it is exponent ** base; write `base ** exponent`",
                # Written x ** 1e-4 for 1e-4 ** x, so the base there is 1 / base.
                lambda p, base: p ** (1 / base),
                "10",
            ),
            (
                "lost setting",
                "the base is 10000, the default; pass it on, in each call",
                lambda p, base: 10_000.0**-p,
                "E",
            ),
        )
    ),
    *(
        Fault(
            "exponent off",
            f"it is that of i{ahead:+g} for pair i; take i itself, from 0",
            spread(lambda p, base: base**-p, ahead),
        )
        for ahead in (-1, -0.5, 0.5, 1)
    ),
    Fault(
        "step inverted",
        "its inverse is taken; divide for multiply, or multiply for divide",
        # The step is that between two positions, as the convention counts them.
        lambda call: call.of(
            stretch=call.stretch / np.ptp(call.convention.counted(np.arange(2.0))) ** 2
        ),
    ),
    Fault(
        "dimension for pair",
        "the exponent counts dimensions; write `2 * (i // 2)` for `2 * i`",
        spread(lambda p, base: base ** (-2 * p), 0, 0.5),
        "2",
    ),
    Fault(
        "own exponent",
        "the cosine has its own; write `2 * (i // 2)` for `i`",
        spread(lambda p, base: base**-p, 0, 0.5),
        "9",
    ),
    Fault(
        "within the part",
        "its halves are paired; pair i with i + d/2",
        paired(extent="partial"),
        kinds=ROTARY,
    ),
    # Beside calls that are right; if all calls had mixed layouts, it would be another convention.
    *(
        Fault(
            "mixed layouts",
            f"{layout} are paired; pair alike in all calls",
            paired(layout=layout),
            "C",
            SOME_CALLS,
        )
        for layout in ("neighbors", "halves")
    ),
    Fault(
        "zeros",
        "a pair gives 0; fill all rows, heads and dimensions",
        lambda call: call.placed(0 * call.angles, 0 * call.angles),
        kinds=ROTARY + SOME_CALLS,
    ),
    *(
        Fault(f"{name} in {half}", cure, in_half(half, *parts), number, kinds)
        for half in HALVES
        for name, cure, parts, number, kinds in (
            ("rows", CAST, ["positions"], "8", TABLE),
            ("positions", CAST, ["positions"], "A", ROTARY),
            ("angles", CAST, ["angles"], "", ANY),
            ("frequencies", CAST, ["frequencies"], "", ANY),
            ("product", PRODUCT, ["positions", "frequencies", "angles"], "A", ANY),
        )
    ),
    NOTHING_TURNS,
    Fault(
        "sum thrown away",
        "assign it, `x = x + pe`",
        lambda call: call.x,
        "5",
        TABLE,
    ),
    Fault(
        "whole numbers",
        "sine and cosine are cut off; cast them to the dtype of x, not of positions",
        # What is nearly 1 is 1 in float32.
        lambda call: call.x + np.trunc(np.float32(call.meant - call.x)),
        kinds=TABLE,
    ),
    Fault(
        "rows for columns",
        "write `pe[:, 0::2]` for `pe[0::2]`",
        by_rows,
        "11",
        TABLE,
    ),
    *(
        Fault(name, cure, multiplied(change), "F", ROTARY)
        for name, cure, change in (
            ("attention factor", "it is missing; multiply by it", lambda f: 1),
            ("attention factor squared", "apply it once", lambda f: f**2),
            (
                "attention factor of itself",
                "it enters its own formula, as (f - 1) f + 1; take it as it is",
                lambda f: (f - 1) * f + 1,
            ),
        )
    ),
]
"""All known faults that need no measurement."""

# Several faults may have one name: the first stays.
MUSEUM = {fault.name: fault for fault in reversed(FAULTS) if fault.number}
"""The exhibits of the book by name."""


def known(kind: str) -> list[Fault]:
    """Return the known faults of a kind."""
    return [fault for fault in FAULTS if kind in fault.kinds]
