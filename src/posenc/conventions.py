r"""Conventions, and the book's encoding in each: what others are compared with.

A convention is an order of the columns, an exponent, a base and a way to count positions: the angle
of pair i at position k is step · (first + k) · ω, where ω is the base to the power of -i/(d/2), or
of -i/(d/2 - 1). The chapter on conventions says who uses which.

A table adds sines and cosines of the angles to x; a rotation turns pairs of x by them. So both are
given by an angle for each pair of dimensions, which is where most known faults differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_choice, check_d_model, check_real

Floats = NDArray[Any]  # of float64, almost everywhere

UNIT = 2.0**-24  # unit roundoff of float32: half the distance from 1 to the next number
LAYOUTS = ("interleaved", "sin, cos", "cos, sin", "interleaved, cos first")
AS_HALVES = "neighbors, returned as halves"  # as DeepSeek-V3 does
SIDE_BY_SIDE = ("interleaved", "interleaved, cos first", "neighbors", AS_HALVES)
COSINE_FIRST = ("cos, sin", "interleaved, cos first")
ROTARY_LAYOUTS = ("halves", "neighbors", AS_HALVES)
RULES = {"d/2": 0, "d/2 - 1": 1}
EXACT = 1e-9  # more than binary fractions, such as that of 2/3, are off by
AROUND = "one turn"  # DETR's step: the rows share one turn, 2π / L each
CHOICES = {
    "layout": (*LAYOUTS, *ROTARY_LAYOUTS),
    "rule": (*RULES,),
    "direction": ("up", "down", "backwards"),
    "extent": ("whole", "partial", "proportional"),
}


@dataclass(frozen=True)
class Convention:
    """One variant of the encoding.

    Parameters
    ----------
    layout : str
        Order of the columns: "interleaved", "sin, cos", "cos, sin" or "interleaved, cos first"; or
        rotary: "neighbors" and "halves" turn dimension i with i + 1, or with i + d/2; "neighbors,
        returned as halves" moves them apart.
    rule : {"d/2", "d/2 - 1"}
        Divisor of i in the exponent.
    base, first, step : float
        The constant that spreads the frequencies, the position of the first row, and the positions
        between rows; the step "one turn" is 2π / L.
    direction : {"up", "down", "backwards"}
        Whether positions increase or decrease from row to row; "backwards" turns clockwise, which
        gives each offset the score of its opposite.
    extent : {"whole", "partial", "proportional"}
        "partial" turns the first dimensions of a head as if they were a separate head, with its own
        exponents; "proportional", the first pairs at the whole head's.
    share, start : float
        The share of the dimensions that turn, above 0 and at most 1, and of those in front of a
        "partial" part that does, which must leave it room; 1 for "whole", and 0 for others.
    """

    layout: str = "interleaved"
    rule: str = "d/2"
    base: float = 10_000.0
    first: float = 0.0
    step: float | str = 1.0
    direction: str = "up"
    extent: str = "whole"
    share: float = 1.0
    start: float = 0.0

    def __post_init__(self) -> None:
        """Validate the parameters."""
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in ("base", "first", "step", "share", "start"):
            number = getattr(self, name)
            if (name, number) != ("step", AROUND):
                checked = check_real(name, number, positive=name in ("base", "step"))
                object.__setattr__(self, name, checked)  # of Python, not of numpy
        share, start = self.share, self.start
        # What is left in front of a part; thirds aren't exact in binary.
        room = 1 - share + EXACT if self.extent == "partial" else 0.0
        fits = self.rotary and 0 < share <= 1 and 0 <= start <= room
        if self.extent == "whole":
            fits = (share, start) == (1, 0)
        if not fits:
            rule = "must be a part of the width that fits the extent, of a rotation"
            raise ValueError(f"share and start {rule}; got {share} and {start}")

    @property
    def rotary(self) -> bool:
        """Whether it is a rotation, and no table."""
        return self.layout in ROTARY_LAYOUTS

    def encoding(self, x: Floats, positions: Any) -> EncodingCall:
        """Return what is right for x, (..., seq_len, width), at positions of its leading shape.

        For example, if half of 8 dimensions turn, neighbors are (0, 1) and (2, 3). Halves are
        (0, 2) and (1, 3) if the extent is partial, and (0, 4) and (1, 5) if it is proportional.
        """
        width = x.shape[-1]
        half = check_d_model(width) // 2
        # A part has a pair, however small it is.
        turning = max(int(self.share * half + EXACT), 1)
        start = min(int(self.start * width + EXACT), width - 2 * turning)
        # The first of these pairs turn.
        paired = turning if self.extent == "partial" else half
        # One pair has the power 0, whatever the divisor.
        powers = np.arange(turning) / max(paired - RULES[self.rule], 1)
        part = start + np.arange(2 * paired)
        first, second = part[:paired], part[paired:]
        if self.layout in SIDE_BY_SIDE:
            first, second = part[::2], part[1::2]
        order = np.arange(width)
        if self.layout == AS_HALVES:
            order[part] = np.concatenate([first, second])
        if self.layout in COSINE_FIRST:
            first, second = second, first
        return EncodingCall(
            convention=self,
            x=np.asarray(x, np.float64),
            k=np.asarray(positions, np.float64),
            pairs=(first[:turning], second[:turning]),
            order=order,
            powers=powers,
            frequencies=self.base**-powers,
        )

    def counted(self, rows: Floats) -> Floats:
        """Return the positions of the rows of sequences, shape (..., seq_len).

        The last row must be among them: it tells the length.
        """
        last = rows.max(axis=-1, keepdims=True, initial=0)  # of each sequence
        if self.direction == "down":
            rows = last - rows
        # DETR divides a turn among the rows, so that positions depend on the length.
        step = 2 * np.pi / (last + 1) if self.step == AROUND else float(self.step)
        sign = -1 if self.direction == "backwards" else 1
        return sign * step * (self.first + rows)

    def table(self, seq_len: int, d_model: int) -> Floats:
        """Return the whole table in float64; a rotation has none."""
        check_choice("layout of a table", self.layout, LAYOUTS)
        nothing = np.zeros((seq_len, d_model))
        return self.encoding(nothing, range(seq_len)).meant

    def __str__(self) -> str:
        """Describe it in one line."""
        text = f"{self.layout}; exponent i/({self.rule}); base {self.base:.10g}; "
        if self.rotary:
            text += f"turned {'forwards' if self.direction == 'up' else self.direction}"
            text += f", counted from {self.first:g}" if self.first else ""
        else:
            text += f"counted from {self.first:g} {self.direction}"
        if self.step != 1:
            text += f" in steps of {self.step}"
        if self.extent != "whole":
            text += f"; {self.extent}, {self.share:.4g} of the width"
        if self.start:
            text += f", from {self.start:.4g} of it on"
        names = ", ".join(name for name, known in KNOWN.items() if known == self)
        return f"{text} ({names})" if names else text


class EncodingCall(NamedTuple):
    """A call of a table, a layer or a rotation, and what is right there.

    Parameters
    ----------
    convention : Convention
        Its layout says whether it is a rotation, and it says how positions are counted.
    x, k : ndarray of float64, shapes (..., seq_len, width) and (..., seq_len)
        What rows are added to, or what is turned, and the position of each row.
    pairs : pair of ndarray, shape (pairs,)
        The first and the second dimension of each pair; in a table, the sine's and the cosine's.
    order : ndarray, shape (width,)
        Which of these dimensions are the result's, which may be permuted.
    powers, frequencies : ndarray, shape (pairs,)
        Radians per position, which usually are the base to the power of minus these powers.
    factor : float
        Multiplier of the rows, or of what turns.
    stretch : float
        Multiplier of all angles by which x is encoded, to see what rounding may do.
    """

    convention: Convention
    x: Floats
    k: Floats
    pairs: tuple[NDArray[Any], NDArray[Any]]
    order: NDArray[Any]
    powers: Floats
    frequencies: Floats
    factor: float = 1.0
    stretch: float = 1.0

    @property
    def positions(self) -> Floats:
        """The positions of rows, as the convention counts them, (..., seq_len)."""
        return self.convention.counted(self.k)

    @property
    def angles(self) -> Floats:
        """The right angle of each pair, (..., seq_len, pairs)."""
        return np.asarray(self.positions[..., None] * self.frequencies)

    @property
    def meant(self) -> Floats:
        """The right result, of the shape of x."""
        return self.encode(self.angles)

    def of(self, **changes: Any) -> Floats:
        """Return what a call gives that differs from this one in some fields."""
        return self._replace(**changes).meant

    def encode(self, angles: Floats, seconds: Floats | None = None) -> Floats:
        """Add sines and cosines, or turn; `seconds` are the second dimensions' angles, if other."""
        firsts = self.stretch * angles
        seconds = firsts if seconds is None else self.stretch * seconds
        a, b = (self.x[..., pair] for pair in self.pairs)
        if self.convention.rotary:
            # (a, b) turns by the angle, counterclockwise.
            one = a * np.cos(firsts) - b * np.sin(firsts)
            two = b * np.cos(seconds) + a * np.sin(seconds)
            return self.placed(self.factor * one, self.factor * two)
        one = a + self.factor * np.sin(firsts)
        two = b + self.factor * np.cos(seconds)
        return self.placed(one, two)

    def placed(self, one: Floats, two: Floats) -> Floats:
        """Return the result that has these entries in each pair."""
        out = self.x.copy()
        out[..., self.pairs[0]], out[..., self.pairs[1]] = one, two
        return np.asarray(out[..., self.order])

    def bounds(self, unit: float = UNIT) -> Floats:
        """Return how far each entry may be off, in arithmetic of a unit roundoff.

        A row is off by τ, see `rounding`; DETR also divides a turn by the number of rows and 1e-6.
        A turned entry is x₁·cos - x₂·sin: sine and cosine are off by τ, each product and the sum by
        a rounding, (τ + 2u)(|x₁| + |x₂|) in total. A sum with x adds 4u(|x| + 1).
        """
        tau = rounding(self.angles, self.frequencies, unit)
        if self.convention.step == AROUND:
            tau = tau + 1e-6 * np.abs(self.angles) / self.k.shape[-1]
        one, two = self.pairs
        # What doesn't turn, or is only added to, is rounded, too.
        size = np.abs(self.x)
        out = 4 * unit * np.where(self.x == 0, 0, size + self.factor)
        if self.convention.rotary:
            tau = (tau + 2 * unit) * (size[..., one] + size[..., two])
        out[..., one] += self.factor * tau
        out[..., two] += self.factor * tau
        return np.asarray(out[..., self.order])


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
