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
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_d_model
from posenc.checks._exact import TURN, geometric, reduced_angles

Floats = NDArray[np.float64]
Waves = NDArray[np.complex128]

UNIT = 2.0**-24  # half the distance from 1 to the next float32: what one rounding may cost
LAYOUTS = ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first")
RULES = {"d/2": 0, "d/2 - 1": 1}
AROUND = "one turn"  # the step of DETR: the rows share one turn, 2π / L each


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
    """

    layout: str = "interleaved"
    rule: str = "d/2"
    base: float = 10_000.0
    first: float = 0.0
    step: float | str = 1.0
    direction: str = "up"

    def omega(self, d_model: int, seq_len: int = 1) -> list[Decimal]:
        """Frequencies in 60 digits: radians from one row to the next.

        Raises
        ------
        TypeError, ValueError
            If `d_model` is not an even number, or less than 2.
        """
        pairs = check_d_model(d_model) // 2
        step = TURN / max(seq_len, 1) if isinstance(self.step, str) else Decimal(self.step)
        return geometric(self.base, pairs, max(pairs - RULES[self.rule], 1), step)

    def angles(self, rows: Sequence[int], seq_len: int, d_model: int) -> Floats:
        """Angles of some rows of a table of `seq_len`, less whole turns."""
        down = self.direction == "down"
        counted = [Decimal(self.first) + (seq_len - 1 - r if down else r) for r in rows]
        return reduced_angles(counted, self.omega(d_model, seq_len))

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the whole table in float64, each entry right to about 4e-16."""
        angles = self.angles(range(seq_len), seq_len, d_model)
        return join(np.cos(angles) + 1j * np.sin(angles), self.layout)

    def names(self) -> list[str]:
        """Return the names under which this convention is known."""
        return [name for name, known in KNOWN.items() if known == self]

    def __str__(self) -> str:
        """Say it in a line."""
        rotary = self.layout in ("neighbors", "halves")
        count = "turned forwards" if rotary else f"counted from {self.first:g} {self.direction}"
        count = "turned backwards" if self.direction == "backwards" else count
        count += "" if self.step == 1 else f" in steps of {self.step}"
        names = ", ".join(self.names())
        text = f"{self.layout}; exponent i/({self.rule}); base {self.base:.10g}; {count}"
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
    sine or cosine is rounded when it is computed and when it is stored: two roundings of at most 1,
    in the dtype of the result, whose unit is u.
    """
    logarithm = np.abs(np.log(np.maximum(np.abs(omega), 1e-30)))
    return np.asarray(2 * unit + UNIT * np.abs(angles) * (3 * logarithm + 5))


def wrapped(angles: Floats) -> Floats:
    """Take whole turns off, to (-π, π]."""
    return np.asarray(-np.angle(np.exp(-1j * angles)), dtype=np.float64)


def measure(waves: Waves) -> tuple[Floats, Floats]:
    """Fit a line to the angle of each pair: radians per row, and the angle of the first row."""
    rows = np.arange(len(waves), dtype=float)
    rough = np.angle((waves[1:] * waves[:-1].conj()).sum(axis=0))
    rest = np.unwrap(np.angle(waves * np.exp(-1j * np.outer(rows, rough))), axis=0)
    centered = rows - rows.mean()
    slope = centered @ rest / (centered @ centered)
    return rough + slope, rest.mean(axis=0) - slope * rows.mean()


@dataclass(frozen=True)
class Fit:
    """A convention that waves may follow, and how far off they are in units of what is allowed."""

    convention: Convention
    frequency: float
    start: float


def fits(waves: Waves, layout: str, unit: float = UNIT) -> Iterator[Fit]:
    """Yield the conventions that these waves may follow.

    A line is fitted to the angles of each pair. Four times the error of an angle at the end,
    divided by the rows, is allowed for its slope, and four times that error for its start.
    """
    seq_len, pairs = waves.shape
    for direction in ("up", "down"):
        omega, phase = measure(waves if direction == "up" else waves[::-1])
        steps: tuple[float | str, ...] = (1.0, 1000.0, AROUND, float(f"{abs(omega[0]):.6g}"))
        for step, (rule, minus) in itertools.product(steps, RULES.items()):
            size: float = 2 * math.pi / seq_len if isinstance(step, str) else step
            if not 0 < omega[-1] < size or pairs < 3:
                continue
            powers = np.arange(pairs) / (pairs - minus)

            rough = float((size / omega[-1]) ** ((pairs - minus) / (pairs - 1)))
            bases = [float(f"{rough:.{digits}e}") for digits in range(8)]
            off = [astray(omega, size, base**-powers, seq_len, unit) for base in bases]
            round_ones = [n for n in range(3) if off[n] <= 1]
            digits = round_ones[0] if round_ones else int(np.argmin(off))
            base, made = bases[digits], size * bases[digits] ** -powers
            if off[digits] > 1:
                continue
            limit = 4 * rounding(seq_len * made, made / size, unit)
            starts = {}
            for first in (0.0, 1.0, 2.0, round(float(phase[-1] / made[-1]), 2) + 0.0):
                starts[first] = float((np.abs(wrapped(phase - first * made)) / limit).max())
            first = min(starts, key=lambda each: (starts[each] > 1, abs(each)))
            found = Convention(layout, rule, base, first, step, direction)
            yield Fit(found, off[digits], starts[first])


def astray(omega: Floats, size: float, powers: Floats, seq_len: int, unit: float) -> float:
    """Say how far frequencies are from `size` times `powers`, in units of what is allowed."""
    limit = 4 * rounding(seq_len * size * powers, powers, unit)
    return float((seq_len * np.abs(wrapped(omega - size * powers)) / limit).max())


def agree(found: Sequence[Sequence[Fit]]) -> Fit | None:
    """Choose what all widths have in common; at one width alone, the roundest base."""

    def same(one: Fit, two: Fit) -> bool:
        ours, theirs = one.convention, two.convention
        return replace(theirs, base=ours.base, first=ours.first) == ours and math.isclose(
            ours.base, theirs.base, rel_tol=1e-4
        )

    common = []
    for one in found[0]:
        alike = [[two for two in each if same(one, two)] for each in found]
        if all(alike):
            every = [two for each in alike for two in each]
            worst = max(two.frequency for two in every)
            apart = len({two.convention.first for two in every}) > 1
            start = math.inf if apart else max(two.start for two in every)
            common.append(Fit(one.convention, worst, start))
    order = {1.0: 0, 1000.0: 1, AROUND: 1}
    return min(
        common,
        key=lambda one: (
            one.start > 1,
            order.get(one.convention.step, 2),
            digits_of(one.convention.base),
        ),
        default=None,
    )


def digits_of(base: float) -> int:
    """Count the digits of a number, without the zeros at its end."""
    return len(f"{base:.10e}".partition("e")[0].rstrip("0."))
