r"""Which encoding is this? The conventions by name, and how one is read off a table.

A convention is an order of the columns, an exponent, a base and a way to count:

.. math::

    \omega_i = \mathrm{base}^{-i/(d/2)} \text{ or } \mathrm{base}^{-i/(d/2-1)}, \qquad
    \theta_{r,i} = \mathrm{step}\,(\mathrm{first} + r)\,\omega_i

for the r-th row, or the r-th from the end where counting goes down. The chapter on conventions says
who chose what.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_base, check_d_model, check_real
from posenc.checks._exact import TURN, geometric, reduced_angles

Floats = NDArray[np.float64]
Waves = NDArray[np.complex128]

UNIT = 2.0**-24  # half the distance from 1 to the next float32: what one rounding may cost
LAYOUTS = ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first")
ROTARY_LAYOUTS = ("neighbors", "halves")
EXPONENTS = {"d/2": 0, "d/2 - 1": 1}
EXTENTS = ("whole", "partial", "proportional")
DIRECTIONS = ("up", "down", "backwards")
AROUND = "one turn"  # the step of DETR: the rows share one turn, 2π / L each
PAIRS = 3  # any two frequencies fit some base
LARGEST = 1e12  # a base beyond it is the noise of pairs that stand still


@dataclass(frozen=True)
class Convention:
    r"""One way to write the encoding down.

    .. math:: \theta_{r,i} = \mathrm{step}\,(\mathrm{first} + r)\,\mathrm{base}^{-i/(d/2 - m)}

    Parameters
    ----------
    layout : {"interleaved", "sin, cos", "cos, sin", "interleaved, cos first", "halves"}
        Order of the columns; "halves" is the rotary one that turns dimension i with i + d/2.
    rule : {"d/2", "d/2 - 1"}
        What i is divided by in the exponent: m is 0 or 1.
    base : float
        The constant that spreads the frequencies.
    first : float
        What the first row counts as.
    step : float or "one turn"
        Positions from row to row; "one turn" stands for 2π / L.
    direction : {"up", "down", "backwards"}
        Whether positions grow or fall from row to row; "backwards" is a rotation with the clock,
        which scores can't tell from one against it.
    extent : {"whole", "partial", "proportional"}
        Which part of a head turns. "partial" turns the first dimensions as if they were a head of
        their own, with exponents i/(p/2) of their width p. "proportional" turns the first pairs of
        the whole head, at the whole head's frequencies.
    share : float
        The share of the dimensions that turn, above 0 and at most 1.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """

    layout: str = "interleaved"
    rule: str = "d/2"
    base: float = 10_000.0
    first: float = 0.0
    step: float | str = 1.0
    direction: str = "up"
    extent: str = "whole"
    share: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no convention."""
        for name, allowed in (
            ("layout", (*LAYOUTS, *ROTARY_LAYOUTS)),
            ("rule", tuple(EXPONENTS)),
            ("direction", DIRECTIONS),
            ("extent", EXTENTS),
        ):
            if getattr(self, name) not in allowed:
                found = getattr(self, name)
                raise ValueError(f"{name} must be one of {'; '.join(allowed)}; got {found!r}")
        check_base(self.base)
        check_real("first", self.first)
        if not 0 < check_real("share", self.share) <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share!r}")
        if self.step != AROUND and check_real("step", self.step) <= 0:
            raise ValueError(f"step must be positive, or {AROUND!r}, got {self.step!r}")

    def measured(self, unit: float = UNIT) -> bool:
        """Return whether a number of it isn't round, so that it's known as far as a fit tells.

        That is three digits of a base in float32, and in half precision no more than one.
        """
        usual = self.step in (1.0, 1000.0, AROUND)
        digits = 3 if unit <= UNIT else 1
        return not usual or digits_of(self.base) > digits or self.first != round(self.first, 2)

    def pairs(self, d_model: int) -> int:
        """Count the pairs that turn in a head of that width."""
        return max(int(self.share * (check_d_model(d_model) // 2) + 1e-9), 1)

    def omega(self, d_model: int, seq_len: int = 1) -> list[Decimal]:
        """Frequencies in 60 digits: radians from one row to the next.

        Raises
        ------
        TypeError, ValueError
            If `d_model` is not an even number, or less than 2.
        """
        pairs = self.pairs(d_model)
        whole = pairs if self.extent == "partial" else d_model // 2
        step = TURN / max(seq_len, 1) if isinstance(self.step, str) else Decimal(self.step)
        return geometric(self.base, pairs, max(whole - EXPONENTS[self.rule], 1), step)

    def speeds(self, d_model: int, seq_len: int = 1) -> Floats:
        """Frequencies in float64."""
        return np.array([float(each) for each in self.omega(d_model, seq_len)])

    def angles(self, rows: Sequence[int], seq_len: int, d_model: int) -> Floats:
        """Angles of some rows of a table of `seq_len`, less whole turns."""
        down = self.direction == "down"
        counted = [Decimal(self.first) + (seq_len - 1 - r if down else r) for r in rows]
        return reduced_angles(counted, self.omega(d_model, seq_len))

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the whole table in float64, each entry right to about 4e-16.

        Raises
        ------
        TypeError, ValueError
            If `d_model` is not an even number, or the layout is a rotary one: it has no table.
        """
        if self.layout in ROTARY_LAYOUTS:
            allowed = "; ".join(LAYOUTS)
            raise ValueError(f"layout must be one of {allowed} for a table, got {self.layout!r}")
        angles = self.angles(range(seq_len), seq_len, d_model)
        return join(np.cos(angles) + 1j * np.sin(angles), self.layout)

    def names(self) -> list[str]:
        """Return the names under which this convention is known."""
        return [name for name, known in KNOWN.items() if known == self]

    def __str__(self) -> str:
        """Say it in a line."""
        rotary = self.layout in ROTARY_LAYOUTS
        count = "turned forwards" if rotary else f"counted from {self.first:g} {self.direction}"
        count = "turned backwards" if self.direction == "backwards" else count
        step = self.step if isinstance(self.step, str) else f"{self.step:.7g}"
        count += "" if self.step == 1 else f" in steps of {step}"
        names = ", ".join(self.names())
        text = f"{self.layout}; exponent i/({self.rule}); base {self.base:.10g}; {count}"
        if self.extent != "whole":
            text += f"; {self.extent}, {self.share:.4g} of the width"
        return f"{text} ({names})" if names else text


KNOWN = {
    "paper": Convention(),
    "tensor2tensor": Convention("sin, cos", "d/2 - 1"),
    "fairseq": Convention("sin, cos", "d/2 - 1", first=2),
    "Marian": Convention("sin, cos", "d/2 - 1"),
    "Marian in transformers": Convention("sin, cos"),
    "Transformer-XL": Convention("sin, cos", direction="down"),
    "DDPM": Convention("sin, cos", "d/2 - 1"),
    "guided diffusion": Convention("cos, sin"),
    "Grad-TTS": Convention("sin, cos", "d/2 - 1", step=1000.0),
    "DETR, one axis": Convention(first=1, step=AROUND),
    "rotary, neighbors": Convention("neighbors"),
    "rotary, halves": Convention("halves"),
}
"""The conventions that are known by name; the last two are rotary."""


def join(waves: Waves, layout: str) -> Floats:
    """Write waves, cos + i·sin, as a table in one of the layouts."""
    sin, cos = waves.imag, waves.real
    if layout in ("sin, cos", "cos, sin"):
        return np.concatenate([sin, cos] if layout == "sin, cos" else [cos, sin], axis=1)
    parts = [cos, sin] if layout == "interleaved, cos first" else [sin, cos]
    return np.stack(parts, axis=2).reshape(len(sin), 2 * sin.shape[1])


def split(table: Floats, layout: str) -> Waves:
    """Read a table of an even width as waves, cos + i·sin."""
    if layout in ("sin, cos", "cos, sin"):
        first, second = np.split(table, 2, axis=1)
    else:
        first, second = table[:, 0::2], table[:, 1::2]
    sin, cos = (second, first) if layout.startswith("cos") or "cos f" in layout else (first, second)
    return np.asarray(cos + 1j * sin)


def rounding(angles: Floats, omega: Floats, unit: float = UNIT) -> Floats:
    r"""Return the largest error that float32 angles, and one rounding to a dtype, explain.

    .. math:: \tau = 2u + u_{32}\,|\theta|\,(3\,|\ln\omega| + 5)

    The exponent of a frequency is a logarithm, divided, multiplied: three roundings, each worth
    :math:`u_{32}|\ln\omega|` of the frequency. The power (two), its inverse (one), the product with
    the position (one) and the position itself (one) add five. All of it grows with the angle. A
    sine or cosine is rounded when it is computed, and once more when it is scaled or cast: two
    roundings of at most 1, in the dtype of the result, whose unit is u.
    """
    logarithm = np.abs(np.log(np.maximum(np.abs(omega), 1e-30)))
    return np.asarray(2 * unit + UNIT * np.abs(angles) * (3 * logarithm + 5))


def wrapped(angles: Floats) -> Floats:
    """Take whole turns off, to (-π, π]."""
    return np.asarray(-np.angle(np.exp(-1j * angles)), dtype=np.float64)


def measure(waves: Waves) -> tuple[Floats, Floats]:
    r"""Fit a line to the angle of each pair: radians per row, and the angle of the first row.

    How far off is the line? A wrong frequency turns all rows alike, and is what the line is to
    find. What is left are the roundings of a row's own: 2u of its sine and cosine, which move the
    angle by :math:`2u|\sin 2\theta|` at most, and :math:`2u\theta` of the position and the product.
    Least squares over L rows make 3/L of the first and 3/2 per row of the second out of it, if
    every sign is at its worst: the slope is off by :math:`6u/L + 3u\omega`, the start, half a table
    away, by :math:`5u + 2.5u\omega L`. With the error of the frequency itself, :math:`u\omega
    (3|\ln\omega| + 3)`, all of it stays below four times :math:`\tau` at the end: :math:`4\tau/L`
    for the slope, :math:`4\tau` for the start.
    """
    rows = np.arange(len(waves), dtype=float)
    rough = np.angle((waves[1:] * waves[:-1].conj()).sum(axis=0))
    rest = np.unwrap(np.angle(waves * np.exp(-1j * np.outer(rows, rough))), axis=0)
    centered = rows - rows.mean()
    slope = centered @ rest / (centered @ centered)
    return rough + slope, rest.mean(axis=0) - slope * rows.mean()


def fitted(omega: Floats, rows: int, unit: float = UNIT) -> Floats:
    """Return how far off the line of `measure` may be at its end: four times the error there."""
    return 4 * rounding(rows * omega, omega / max(float(np.max(omega)), 1e-30), unit)


@dataclass(frozen=True)
class Fit:
    """A convention that waves may follow, and how far off they are in units of what is allowed."""

    convention: Convention
    frequency: float
    start: float


def fits(waves: Waves, layout: str, unit: float = UNIT, whole: int | None = None) -> Iterator[Fit]:
    """Yield the conventions that these waves may follow; see `measure` for what is allowed.

    The waves are the first pairs of `whole` ones, by default of as many as there are.
    """
    seq_len, pairs = waves.shape
    whole = pairs if whole is None else whole
    if pairs < PAIRS:
        return
    for direction in ("up", "down"):
        omega, phase = measure(waves if direction == "up" else waves[::-1])
        if omega[-1] <= 0 or still(waves, unit):
            continue
        steps: tuple[float | str, ...] = (1.0, 1000.0, AROUND, near_step(omega, seq_len, unit))
        for step, (rule, minus) in itertools.product(steps, EXPONENTS.items()):
            size: float = 2 * math.pi / seq_len if isinstance(step, str) else step
            if omega[-1] >= size:
                continue
            powers = np.arange(pairs) / (whole - minus)
            rough = float((size / omega[-1]) ** ((whole - minus) / (pairs - 1)))
            bases = [float(f"{rough:.{digits}e}") for digits in range(8)]
            off = [astray(omega, size, base**-powers, seq_len, unit) for base in bases]
            round_ones = [n for n in range(3) if off[n] <= 1]
            digits = round_ones[0] if round_ones else int(np.argmin(off))
            if rough < LARGEST and off[digits] <= 1:
                base, made = bases[digits], size * bases[digits] ** -powers
                first, start = begun(phase, made, seq_len, unit)
                found = Convention(layout, rule, base, first, step, direction)
                yield Fit(found, off[digits], start)


def still(waves: Waves, unit: float = UNIT) -> bool:
    """Whether no pair turns farther than a fit tells."""
    angles = len(waves) * np.abs(measure(waves)[0])
    return bool((angles <= fitted(np.ones(1), 1, unit)).all())


def astray(omega: Floats, size: float, powers: Floats, seq_len: int, unit: float) -> float:
    """Say how far frequencies are from `size` times `powers`, in units of what is allowed."""
    off = np.abs(wrapped(omega - size * powers))
    return float((seq_len * off / fitted(size * powers, seq_len, unit)).max())


def near_step(omega: Floats, seq_len: int, unit: float) -> float:
    """Return the step from row to row: a whole number, one part of a whole, a short decimal.

    As measured, where none of these is as near as the fit tells.
    """
    found = abs(float(omega[0]))
    allowed = float(fitted(np.array([found]), seq_len, unit)[0]) / seq_len
    parts = round(1 / found) if found else 0
    usual = [float(round(found)), 1 / parts if 0 < parts <= 1000 else 0.0]
    usual += [float(f"{found:.{digits}g}") for digits in (1, 2, 3, 4)]
    return next((each for each in usual if each and abs(each - found) <= allowed), found)


def begun(phase: Floats, omega: Floats, seq_len: int, unit: float) -> tuple[float, float]:
    """Return the position where the angles begin, and how far off, in units of what is allowed.

    The slowest pair says roughly where, since it has made no whole turn; each faster one says it
    more finely. Usual numbers come first, and 0 if the pairs have no position in common.
    """
    first = 0.0
    for start, each in zip(phase[::-1], omega[::-1], strict=True):
        first += float(wrapped(start - first * each) / each)
    allowed = fitted(omega, seq_len, unit)
    off = {
        each: float((np.abs(wrapped(phase - each * omega)) / allowed).max())
        for each in (0.0, 1.0, 2.0, round(first, 2) + 0.0, first)
    }
    best = next((each for each in off if off[each] <= 1), 0.0)
    return best, off[best]


def agree(found: Sequence[Sequence[Fit]], base: float | None = None) -> Fit | None:
    """Choose what all widths have in common: the base that is meant, or the roundest.

    Among equally round ones it is the one nearest to 10 000: half of a head at base 10 000 can be
    read as a proportional rotation at 10 000².
    """
    common = []
    for one in found[0]:
        same = [[two for two in each if alike(one.convention, two.convention)] for each in found]
        if all(same):
            every = [two for each in same for two in each]
            worst = max(two.frequency for two in every)
            together = all(begin_alike(one.convention, two.convention) for two in every)
            start = max(two.start for two in every) if together else math.inf
            common.append(Fit(one.convention, worst, start))
    order = {1.0: 0, 1000.0: 1, AROUND: 1}
    return min(
        common,
        key=lambda one: (
            one.start > 1,
            base is not None and not same_base(one.convention.base, base),
            order.get(one.convention.step, 2),
            digits_of(one.convention.base),
            abs(math.log10(one.convention.base) - 4),
        ),
        default=None,
    )


def alike(one: Convention, two: Convention) -> bool:
    """Whether two are one, wherever they begin, as far as a table in float32 tells."""
    if isinstance(one.step, str) or isinstance(two.step, str):
        near = one.step == two.step
    else:
        near = math.isclose(one.step, two.step, rel_tol=1e-5)
    words = all(
        getattr(one, name) == getattr(two, name)
        for name in ("layout", "rule", "direction", "extent")
    )
    return near and words and same_base(one.base, two.base)


def same_base(one: float, two: float) -> bool:
    """Whether two bases are one, as far as a table in float32 tells."""
    return math.isclose(one, two, rel_tol=1e-4)


def begin_alike(one: Convention, two: Convention) -> bool:
    """Whether two begin at one position, as far as a table in float32 tells."""
    return abs(one.first - two.first) <= 1e-3


def digits_of(base: float) -> int:
    """Count the digits of a number, without the zeros at its end."""
    return len(f"{base:.10e}".partition("e")[0].rstrip("0."))
