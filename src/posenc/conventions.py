r"""Which encoding is this? The known conventions, and how to recognize one from a table.

A convention is an order of the columns, an exponent, a base and a way to count positions: the angle
of the r-th row, or the r-th from the end if positions count down, is step · (first + r) · ω, where
ω is the base to the power of -i/(d/2), or of -i/(d/2 - 1). The chapter on conventions says who uses
which.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_d_model, check_real

__all__ = [
    "KNOWN",
    "LAYOUTS",
    "ROTARY_LAYOUTS",
    "Convention",
    "Fit",
    "fits",
    "measure",
    "rounding",
]

Floats = NDArray[np.float64]
Waves = NDArray[np.complex128]

UNIT = 2.0**-24  # unit roundoff of float32: half the distance from 1 to the next number
LAYOUTS = ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first")
COSINE_FIRST = ("cos, sin", "interleaved, cos first")
ROTARY_LAYOUTS = ("neighbors", "halves")
EXPONENTS = {"d/2": 0, "d/2 - 1": 1}
AROUND = "one turn"  # DETR's step: the rows share one turn, 2π / L each
USUAL_STEPS: tuple[float | str, ...] = (1.0, 1000.0, AROUND)
PAIRS = 3  # needed to tell a base: any two frequencies fit one
LARGEST = 1e12  # a larger base is noise from pairs that don't turn
DIGITS = 60
TURN = Decimal(
    "6.283185307179586476925286766559005768394338798750211641949889184615632812572"
)


@dataclass(frozen=True)
class Convention:
    """One variant of the encoding.

    Parameters
    ----------
    layout : str
        Order of the columns: "interleaved", "sin, cos", "cos, sin" or "interleaved, cos first"; or
        rotary: "neighbors" and "halves" turn dimension i with i + 1, or with i + d/2.
    rule : {"d/2", "d/2 - 1"}
        Divisor of i in the exponent.
    base, first, step : float
        The constant that spreads the frequencies, the position of the first row, and the positions
        between rows; the step "one turn" is 2π / L.
    direction : {"up", "down", "backwards"}
        Whether positions increase or decrease from row to row; "backwards" turns clockwise, which
        gives the same scores.
    extent : {"whole", "partial", "proportional"}
        "partial" turns the first dimensions of a head as if they were a separate head, with its own
        exponents; "proportional", the first pairs at the whole head's.
    share : float
        The share of the dimensions that turn, above 0 and at most 1.
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
        """Validate the parameters."""
        allowed = {"layout": (*LAYOUTS, *ROTARY_LAYOUTS), "rule": (*EXPONENTS,)}
        allowed["direction"] = ("up", "down", "backwards")
        allowed["extent"] = ("whole", "partial", "proportional")
        for name, each in allowed.items():
            if (found := getattr(self, name)) not in each:
                raise ValueError(
                    f"{name} must be one of {'; '.join(each)}; got {found!r}"
                )
        check_real("base", self.base, positive=True)
        check_real("first", self.first)
        if not 0 < check_real("share", self.share) <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share!r}")
        if self.step != AROUND and check_real("step", self.step) <= 0:
            raise ValueError(f"step must be positive, or {AROUND!r}, got {self.step!r}")

    def pairs(self, d_model: int) -> int:
        """Return the number of pairs that turn in a head of that width."""
        return max(int(self.share * (check_d_model(d_model) // 2) + 1e-9), 1)

    def omega(self, d_model: int, seq_len: int = 1) -> list[Decimal]:
        """Return the frequencies in 60 digits: radians from one row to the next."""
        pairs = self.pairs(d_model)
        whole = pairs if self.extent == "partial" else d_model // 2
        divisor = max(whole - EXPONENTS[self.rule], 1)
        with localcontext(prec=DIGITS):
            step = (
                TURN / max(seq_len, 1)
                if isinstance(self.step, str)
                else Decimal(self.step)
            )
            return [step * power for power in _powers(self.base, divisor, pairs)]

    def angles(self, rows: Sequence[int], seq_len: int, d_model: int) -> Floats:
        """Return the angles, modulo 2π, of some rows of a table of length `seq_len`."""
        down = self.direction == "down"
        counted = [Decimal(self.first) + (seq_len - 1 - r if down else r) for r in rows]
        return reduced_angles(counted, self.omega(d_model, seq_len))

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the whole table in float64, accurate to about 4e-16; a rotation has none."""
        if self.layout in ROTARY_LAYOUTS:
            names = "; ".join(LAYOUTS)
            raise ValueError(
                f"layout must be one of {names} for a table, got {self.layout!r}"
            )
        return join(
            np.exp(1j * self.angles(range(seq_len), seq_len, d_model)), self.layout
        )

    def names(self) -> list[str]:
        """Names of this convention in `KNOWN`."""
        return [name for name, known in KNOWN.items() if known == self]

    def __str__(self) -> str:
        """Describe it in one line."""
        text = f"{self.layout}; exponent i/({self.rule}); base {self.base:.10g}; "
        if self.layout in ROTARY_LAYOUTS or self.direction == "backwards":
            text += f"turned {'forwards' if self.direction == 'up' else self.direction}"
        else:
            text += f"counted from {self.first:g} {self.direction}"
        if self.step != 1:
            text += f" in steps of {self.step if self.step == AROUND else f'{self.step:.7g}'}"
        if self.extent != "whole":
            text += f"; {self.extent}, {self.share:.4g} of the width"
        return f"{text} ({names})" if (names := ", ".join(self.names())) else text


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
"""The named conventions; the last two are rotary."""


@lru_cache(maxsize=64)
def _powers(base: float, divisor: int, pairs: int) -> tuple[Decimal, ...]:
    """Return base^(-i/divisor) for each pair i, in 60 digits; each check asks dozens of times."""
    with localcontext(prec=DIGITS):
        return tuple(Decimal(base) ** (Decimal(-i) / divisor) for i in range(pairs))


def join(waves: Waves, layout: str) -> Floats:
    """Convert waves, cos + i·sin, to a table in one of the layouts."""
    parts = (
        [waves.real, waves.imag] if layout in COSINE_FIRST else [waves.imag, waves.real]
    )
    axis = 2 if layout.startswith("interleaved") else 1
    return np.stack(parts, axis=axis).reshape(len(waves), 2 * waves.shape[1])


def split(table: Floats, layout: str) -> Waves:
    """Convert a table of even width to waves, cos + i·sin."""
    both = table[:, 0::2], table[:, 1::2]
    sin, cos = both if layout.startswith("interleaved") else np.split(table, 2, axis=1)
    return np.asarray(sin + 1j * cos if layout in COSINE_FIRST else cos + 1j * sin)


def rounding(angles: Floats, omega: Floats, unit: float = UNIT) -> Floats:
    r"""Return the largest error explained by float32 angles and one rounding to a dtype.

    .. math:: \tau = 2u + u_{32}\,|\theta|\,(3\,|\ln\omega| + 5)

    The exponent of a frequency is a logarithm, divided, multiplied: three roundings, each with a
    relative error of :math:`u_{32}|\ln\omega|` in the frequency. The power (two), its inverse
    (one), the product with the position (one) and the position itself (one) add five. All of these
    scale with the angle. A sine or cosine is rounded when computed, and again when scaled or cast:
    two roundings of values up to 1, in the dtype of the result, whose unit is u.
    """
    logarithm = np.abs(np.log(np.maximum(np.abs(omega), 1e-30)))
    return np.asarray(2 * unit + UNIT * np.abs(angles) * (3 * logarithm + 5))


def reduced_angles(positions: Iterable[Decimal], omega: Sequence[Decimal]) -> Floats:
    """Return position · omega modulo 2π, shape (positions, pairs), from -π to π.

    A float64 angle at position 1 000 000 is off by 1e-10. Here the product has 60 digits; it is
    reduced to at most half a turn, and then rounded to float64 once. So its sine and cosine are
    accurate to about 4e-16, at positions of up to 40 digits.
    """
    rows = []
    with localcontext(prec=DIGITS):
        for position in positions:
            turns = [position * each / TURN for each in omega]
            rows.append([float((each - round(each)) * TURN) for each in turns])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(omega))


def wrapped(angles: Floats) -> Floats:
    """Reduce angles modulo 2π."""
    return np.asarray(-np.angle(np.exp(-1j * angles)), dtype=np.float64)


def measure(waves: Waves) -> tuple[Floats, Floats]:
    r"""Fit a line to the angle of each pair: radians per row, and the angle of the first row.

    How far off is the line? A wrong frequency affects all rows consistently, and the line should
    find it. The other errors are each row's own roundings: 2u in its sine and cosine, which move
    the angle by at most :math:`2u|\sin 2\theta|`, and :math:`2u\theta` in the position and the
    product. In the worst case of all signs, least squares over L rows multiplies the first by 3/L
    and the second by 3/2 per row: the slope is off by :math:`6u/L + 3u\omega`, the start, half a
    table away, by :math:`5u + 2.5u\omega L`. With the error of the frequency itself, :math:`u\omega
    (3|\ln\omega| + 3)`, the total stays below four times :math:`\tau` of the last row:
    :math:`4\tau/L` for the slope, :math:`4\tau` for the start.
    """
    rows = np.arange(len(waves), dtype=float)
    rough = np.angle((waves[1:] * waves[:-1].conj()).sum(axis=0))
    rest = np.unwrap(np.angle(waves * np.exp(-1j * np.outer(rows, rough))), axis=0)
    centered = rows - rows.mean()
    slope = centered @ rest / (centered @ centered)
    return rough + slope, rest.mean(axis=0) - slope * rows.mean()


def fitted(omega: Floats, rows: int, unit: float = UNIT) -> Floats:
    """Return how far off the line of `measure` may be at its end: 4τ there."""
    return 4 * rounding(rows * omega, omega / max(float(np.max(omega)), 1e-30), unit)


class Fit(NamedTuple):
    """A convention that waves may follow, with their errors in units of the bounds."""

    convention: Convention
    frequency: float
    start: float


def fits(
    waves: Waves, layout: str, unit: float = UNIT, whole: int | None = None
) -> Iterator[Fit]:
    """Yield the conventions that these waves may follow, within the bounds of `measure`.

    The waves are the first of `whole` pairs, by default all of them; `PAIRS` at least.
    """
    seq_len, pairs = waves.shape
    whole = pairs if whole is None else whole
    # A table that counts down is one that counts up, read from its last row.
    for direction in ("up", "down"):
        omega, phase = measure(waves if direction == "up" else waves[::-1])
        if (
            seq_len * np.abs(omega) <= fitted(np.ones(1), 1, unit)
        ).all():  # no pair turns
            return
        # `measure` gives each frequency modulo a turn. The slowest is the true one, since no known
        # convention turns it by half a turn per row; it has to be positive to count this way. The
        # first is the step: a short decimal, if that is within the fit's error.
        found, allowed = (
            abs(float(omega[0])),
            fitted(omega[:1], seq_len, unit)[0] / seq_len,
        )
        short = [float(f"{found:.{digits}g}") for digits in (1, 2, 3, 4)]
        near = next((each for each in short if abs(each - found) <= allowed), found)
        for step, (rule, minus) in itertools.product(
            (*USUAL_STEPS, near), EXPONENTS.items()
        ):
            size = 2 * math.pi / seq_len if isinstance(step, str) else step
            if not 0 < omega[-1] < size:  # else the slowest pair would be the fastest
                continue
            # The first frequency is the step, and the slowest is step · base^-powers[-1], so these
            # two give a rough base. It has as many digits as the fit: of its roundings to 1, 2, …
            # digits, the first that explains all frequencies within the bound is taken, up to three
            # digits; else the one that explains them best.
            powers = np.arange(pairs) / (whole - minus)
            rough = float((size / omega[-1]) ** (1 / powers[-1]))
            bases = [float(f"{rough:.{digits}e}") for digits in range(8)]
            made = size * np.array(bases)[:, None] ** -powers
            off = seq_len * np.abs(wrapped(omega - made)) / fitted(made, seq_len, unit)
            errors = off.max(axis=1).tolist()
            n = min(
                range(8),
                key=lambda n: (n if n < 3 and errors[n] <= 1 else 3, errors[n]),
            )
            if rough < LARGEST and errors[n] <= 1:
                # With the frequencies known, the phases tell where the positions begin.
                first, start = fit_start(phase, made[n], seq_len, unit)
                known = Convention(layout, rule, bases[n], first, step, direction)
                yield Fit(known, errors[n], start)


def fit_start(
    phase: Floats, omega: Floats, seq_len: int, unit: float
) -> tuple[float, float]:
    """Return the position where the angles begin, and the error in units of the bound.

    The slowest pair gives a rough estimate, since it hasn't made a whole turn; each faster one
    refines it. Round numbers are tried first; 0 if the pairs have no position in common.
    """
    first = 0.0
    for start, each in zip(phase[::-1], omega[::-1], strict=True):
        first += float(wrapped(start - first * each) / each)
    usual = np.array([0.0, 1.0, 2.0, round(first, 2) + 0.0, first])
    off = np.abs(wrapped(phase - usual[:, None] * omega)) / fitted(omega, seq_len, unit)
    best = int((off.max(axis=1) <= 1).argmax())
    return float(usual[best]), float(off[best].max())


def agree(found: Sequence[Sequence[Fit]], base: float | None = None) -> Fit | None:
    """Choose a fit that all widths have in common: the intended base, or the roundest.

    Ties go to the base nearest to 10 000: half of a head at base 10 000 also fits a proportional
    rotation at 10 000².
    """
    common = []
    for one, *_ in found[0]:
        same = [
            [two for two in each if alike(one, two.convention, math.inf)]
            for each in found
        ]
        if all(same):
            known, frequency, starts = zip(*itertools.chain(*same), strict=True)
            together = all(alike(one, two) for two in known)
            common.append(
                Fit(one, max(frequency), max(starts) if together else math.inf)
            )

    def rank(fit: Fit) -> tuple[float, ...]:
        one = fit.convention
        other = base is not None and not same_base(one.base, base)
        step = {1.0: 0, 1000.0: 1, AROUND: 1}.get(one.step, 2)
        return (
            fit.start > 1,
            other,
            step,
            digits_of(one.base),
            abs(math.log10(one.base) - 4),
        )

    return min(common, key=rank, default=None)


def alike(one: Convention, two: Convention, start: float = 1e-3) -> bool:
    """Whether two are equal up to their share, as precisely as float32 tells, or start anywhere."""
    same = (
        replace(one, base=two.base, step=two.step, first=two.first, share=two.share)
        == two
    )
    steps = [
        math.inf if each == AROUND else float(each) for each in (one.step, two.step)
    ]
    same = same and math.isclose(*steps, rel_tol=1e-5)
    return (
        same and same_base(one.base, two.base) and abs(one.first - two.first) <= start
    )


def same_base(one: float, two: float) -> bool:
    """Whether two bases are equal, as precisely as a float32 table can tell."""
    return math.isclose(one, two, rel_tol=1e-4)


def digits_of(base: float) -> int:
    """Return the number of significant digits, without trailing zeros."""
    return len(f"{base:.10e}".partition("e")[0].rstrip("0."))
