"""The book's encoding as a function of x and positions: what others are compared with.

A table adds rows to x; a rotation turns x. Both are given by an angle for each pair of dimensions,
which is where most known faults differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.conventions import UNIT, Convention, Floats, Ints, rounding

__all__ = ["Reference", "reference_for", "spread"]


@dataclass(frozen=True)
class Reference:
    """A right encoding of one width.

    Parameters
    ----------
    convention : Convention
        Its layout says whether it is a table or a rotation, and how positions are counted.
    frequencies : ndarray, shape (pairs,)
        Radians per position.
    pairs : pair of ndarray, shape (pairs,)
        The first and the second dimension of each pair; in a table, the sine's and the cosine's.
    factor, carried : float
        Multipliers of the rows or of what turns, and of x in a layer.
    order : ndarray, shape (width,), optional
        Which of its dimensions are the result's, if that is permuted.
    """

    convention: Convention
    frequencies: Floats
    pairs: tuple[Ints, Ints]
    factor: float = 1.0
    carried: float = 1.0
    order: Ints | None = None

    def __call__(self, x: Floats, positions: Floats) -> Floats:
        """Encode x, shape (..., seq_len, width), at positions of its leading shape."""
        return self.encode(x, self.angles(positions))

    def angles(self, positions: Floats) -> Floats:
        """Return the angle of each pair, shape (..., seq_len, pairs)."""
        counted = self.convention.counted(positions, positions.shape[-1])
        return np.asarray(counted[..., None] * self.frequencies)

    def encode(
        self, x: Floats, angles: Floats, seconds: Floats | None = None
    ) -> Floats:
        """Add sines and cosines, or turn; `seconds` are the second dimensions' angles, if other."""
        # x: (..., seq_len, width), angles: (..., seq_len, pairs)
        seconds = angles if seconds is None else seconds
        one, two = self.pairs
        out = self.carried * x
        if self.convention.rotary:
            # (a, b) turns by the angle, counterclockwise.
            a, b = x[..., one], x[..., two]
            out[..., one] = self.factor * (a * np.cos(angles) - b * np.sin(angles))
            out[..., two] = self.factor * (b * np.cos(seconds) + a * np.sin(seconds))
        else:
            out[..., one] += self.factor * np.sin(angles)
            out[..., two] += self.factor * np.cos(seconds)
        return out if self.order is None else out[..., self.order]

    def bound(self, x: Floats, positions: Floats, unit: float = UNIT) -> Floats:
        """Return how far each entry may be off, in arithmetic of a unit roundoff.

        A row is off by τ, see `rounding`. A turned entry is x₁·cos - x₂·sin: sine and cosine are
        off by τ, each product and the sum by a rounding, (τ + 2u)(|x₁| + |x₂|) in total. A sum with
        x adds 4u(|x| + 1).
        """
        tau = self.factor * rounding(self.angles(positions), self.frequencies, unit)
        one, two = self.pairs
        # What doesn't turn, or is only added to, is rounded, too.
        size = np.abs(self.carried * x)
        out = 4 * unit * np.where(x == 0, 0, size + self.factor)
        if self.convention.rotary:
            tau = (tau + 2 * unit * self.factor) * (size[..., one] + size[..., two])
        out[..., one] += tau
        out[..., two] += tau
        return out if self.order is None else out[..., self.order]


def reference_for(convention: Convention, d_model: int) -> Reference:
    """Return the encoding of a convention in some width."""
    omega = convention.frequencies(d_model)
    return Reference(convention, omega, convention.dimensions(d_model))


def spread(x: Floats, positions: Floats) -> Floats:
    """Repeat positions, of shape (seq_len,) or (batch, seq_len), for each row of x."""
    if positions.ndim == 2:
        # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
        positions = positions.reshape(len(positions), *[1] * (x.ndim - 3), -1)
    return np.broadcast_to(positions, x.shape[:-1]).astype(np.float64)
