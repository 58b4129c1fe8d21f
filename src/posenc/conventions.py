r"""Which encoding is this? The known conventions, and how to recognize one from numbers.

A convention is an order of the columns, an exponent, a base and a way to count positions: the angle
of pair i at position k is step · (first + k) · ω, where ω is the base to the power of -i/(d/2), or
of -i/(d/2 - 1). The chapter on conventions says who uses which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posenc._validate import check_d_model, check_real

__all__ = ["KNOWN", "LAYOUTS", "ROTARY_LAYOUTS", "Convention", "measure", "rounding"]

Floats = NDArray[Any]  # of float64, almost everywhere
Ints = NDArray[np.int64]
Waves = NDArray[np.complex128]

UNIT = 2.0**-24  # unit roundoff of float32: half the distance from 1 to the next number
LAYOUTS = ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first")
COSINE_FIRST = ("cos, sin", "interleaved, cos first")
ROTARY_LAYOUTS = ("neighbors", "halves")
RULES = {"d/2": 0, "d/2 - 1": 1}
EXTENTS = ("whole", "partial", "proportional")
AROUND = "one turn"  # DETR's step: the rows share one turn, 2π / L each


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
        choices = {
            "layout": (*LAYOUTS, *ROTARY_LAYOUTS),
            "rule": (*RULES,),
            "extent": EXTENTS,
        }
        choices["direction"] = ("up", "down", "backwards")
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(
                    f"{name} must be one of {'; '.join(allowed)}; got {value!r}"
                )
        check_real("base", self.base, positive=True)
        check_real("first", self.first)
        if not 0 < check_real("share", self.share) <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share!r}")
        if self.step != AROUND and check_real("step", self.step) <= 0:
            raise ValueError(f"step must be positive, or {AROUND!r}, got {self.step!r}")

    @property
    def rotary(self) -> bool:
        """Whether it is a rotation, and no table."""
        return self.layout in ROTARY_LAYOUTS

    def pairs(self, d_model: int) -> int:
        """Return the number of pairs that turn in a head of that width."""
        # A share such as 2/3 isn't exact in binary.
        return max(int(self.share * (check_d_model(d_model) // 2) + 1e-9), 1)

    def powers(self, d_model: int) -> Floats:
        """Return the power of 1 / base for each pair that turns."""
        pairs = self.pairs(d_model)
        whole = pairs if self.extent == "partial" else d_model // 2
        # One pair has the power 0, whatever the divisor.
        return np.arange(pairs) / max(whole - RULES[self.rule], 1)

    def frequencies(self, d_model: int) -> Floats:
        """Return radians per position of each pair that turns."""
        return np.asarray(self.base ** -self.powers(d_model))

    def dimensions(self, d_model: int) -> tuple[Ints, Ints]:
        """Return the first and the second dimension of each pair; a table's sine and cosine."""
        pairs = self.pairs(d_model)
        if self.layout in ("neighbors", "interleaved", "interleaved, cos first"):
            one = 2 * np.arange(pairs)
            two = one + 1
        else:
            one = np.arange(pairs)
            # A proportional rotation pairs across the whole head, though a part of it turns.
            two = one + (pairs if self.extent == "partial" else d_model // 2)
        return (two, one) if self.layout in COSINE_FIRST else (one, two)

    def counted(self, rows: ArrayLike, seq_len: int) -> Floats:
        """Return the positions of some rows, of a sequence of length `seq_len`."""
        numbers = np.asarray(rows, dtype=np.float64)
        if self.direction == "down":
            numbers = seq_len - 1 - numbers
        # DETR divides a turn among the rows, so that positions depend on the length.
        step = 2 * np.pi / max(seq_len, 1) if self.step == AROUND else float(self.step)
        sign = -1 if self.direction == "backwards" else 1
        return sign * step * (self.first + numbers)

    def rows(self, rows: ArrayLike, seq_len: int, d_model: int) -> Floats:
        """Return some rows of a table of length `seq_len`; a rotation has none."""
        if self.rotary:
            rule = f"must be one of {'; '.join(LAYOUTS)} for a table"
            raise ValueError(f"layout {rule}, got {self.layout!r}")
        omega = self.frequencies(d_model)
        angles = np.multiply.outer(self.counted(rows, seq_len), omega)
        table = np.empty((*angles.shape[:-1], d_model))
        sine, cosine = self.dimensions(d_model)
        table[..., sine], table[..., cosine] = np.sin(angles), np.cos(angles)
        return table

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the whole table in float64."""
        return self.rows(range(seq_len), seq_len, d_model)

    def names(self) -> list[str]:
        """Names of this convention in `KNOWN`."""
        return [name for name, known in KNOWN.items() if known == self]

    def __str__(self) -> str:
        """Describe it in one line."""
        text = f"{self.layout}; exponent i/({self.rule}); base {self.base:.10g}; "
        if self.rotary:
            text += f"turned {'forwards' if self.direction == 'up' else self.direction}"
        else:
            text += f"counted from {self.first:g} {self.direction}"
        if self.step != 1:
            step = self.step if self.step == AROUND else f"{self.step:.7g}"
            text += f" in steps of {step}"
        if self.extent != "whole":
            text += f"; {self.extent}, {self.share:.4g} of the width"
        names = ", ".join(self.names())
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
"""The named conventions; the last two are rotary."""


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


def measure(waves: Waves) -> Floats:
    """Return the radians per row of each pair, from cos + i·sin.

    Longer and longer spans give the slope more digits, each unwrapped by the one before. Medians
    don't mind if some rows are wrong.
    """
    omega = np.zeros(waves.shape[1])
    span = 1
    while span < len(waves):
        # How far each pair turns in so many rows, minus what is known of it.
        turns = waves[span:] * waves[:-span].conj() * np.exp(-1j * span * omega)
        omega = omega + np.median(np.angle(turns), axis=0) / span
        span *= 4
    return omega


def shortened(number: float) -> list[float]:
    """Return a measured number, rounded to 1, 2, 3 and more digits."""
    return [float(f"{number:.{digits}g}") for digits in (1, 2, 3, 5, 7)]
