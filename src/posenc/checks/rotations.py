"""Functions and modules that turn queries and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_int, check_positions, check_real
from posenc.checks import conventions as conv
from posenc.checks.arrays import Library, guess_library
from posenc.checks.conventions import Fit, Floats, Waves
from posenc.checks.laws import Broken, Raised, user
from posenc.checks.probe import Turning

MOVES = 2.0**-20  # 16u: a dimension that moves less doesn't count as turning
LOUD = 1024.0  # x times this, in front of a norm, makes the norm's ε negligible

Pairs = tuple[NDArray[Any], NDArray[Any]]
"""The first and the second dimension of each pair."""


class Rotation(Turning):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    layouts = conv.ROTARY_LAYOUTS
    backwards = False

    def __init__(
        self,
        rotate: Any,
        frequencies: Any = None,
        attention_factor: float = 1.0,
        axes: int | Sequence[int] | None = None,
        library: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(rotate, **options)
        self.attention_factor = check_real("attention_factor", attention_factor, positive=True)
        self.axis_of_pair: list[int] | None = None
        if isinstance(axes, Sequence):
            self.axis_of_pair = [check_int("axes", each, minimum=0) for each in axes]
            axes = max(self.axis_of_pair, default=0) + 1
        self.axes: int = 0 if axes is None else check_int("axes", axes, minimum=2)
        self.omega_of_axes: Floats | None = None
        if frequencies is not None:
            self.omega = check_positions(frequencies, "frequencies", ndim=None)
        if self.omega is not None and self.omega.ndim == 2:
            if len(self.omega) != self.axes:
                got = f"{len(self.omega)}, axes={axes}"
                raise ValueError(f"frequencies need a row per axis, got {got}")
            self.omega, self.omega_of_axes = self.omega.sum(axis=0), self.omega
        made = cache(rotate) if isinstance(rotate, type) else lambda d_model: rotate
        self.made: Callable[[int], Any] = made
        self.norm_weights: Callable[[int], Floats | None] = cache(self.find_norm)
        self.pair_dims: Callable[[int, str], Pairs | None] = cache(self.find_pairs)
        self.measured: Callable[[int], Floats] = cache(lambda d: self.matrices(range(self.rows), d))

        def turned(tried: Library) -> Any:
            self.library = tried
            x = self.give(np.ones((2, 3, self.candidate_widths[0])))
            x = x.requires_grad_() if tried.name == "torch" else x
            return made(x.shape[-1])(x, self.places(range(3)))

        self.library = guess_library(turned) if library is None else Library(library)

    def places(self, positions: Any) -> Any:
        """Convert positions to the library; with several axes, repeat them on each."""
        found = np.asarray(positions, dtype=np.int64)
        return super().places(np.repeat(found[..., None], self.axes, -1) if self.axes else found)

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        return user(via or user(self.made, x.shape[-1]), x, positions)

    def call(self, x: Any, positions: Any, dtype: str = "float32", via: Any = None) -> Floats:
        """Call the function and return float64 values, with a norm after it undone."""
        x = np.asarray(x)
        weights = self.norm_weights(x.shape[-1]) if x.size else None
        if weights is None:
            return super().call(x, positions, dtype, via)
        loud = x * (LOUD if dtype == "float32" else 1.0)
        size = np.sqrt((x**2).mean(axis=-1, keepdims=True))
        return np.asarray(super().call(loud, positions, dtype, via) * size / weights)

    def find_norm(self, d_model: int) -> Floats | None:
        """Return the weights of a norm that follows the rotation, or None if there is no norm.

        After one, twice the input gives the same; at position 0, ones give the weights.
        """
        x, ones = LOUD * np.linspace(1, 2, d_model)[None], np.full((1, d_model), LOUD)
        one, two, weights = (super(Rotation, self).call(y, [0]) for y in (x, 2 * x, ones))
        normed = one.any() and np.abs(one - two).max() <= 1e-4 * np.abs(one).max()
        return np.asarray(weights[0]) if normed else None

    def matrices(self, positions: Any, d_model: int | None = None, *how: Any) -> Floats:
        """Return the matrix that the function applies at each position."""
        unit = np.eye(self.widths[0] if d_model is None else d_model)[:, None]
        return self.call(unit.repeat(len(positions), 1), positions, *how).transpose(1, 2, 0)

    def takes(self, positions: Sequence[int], d_model: int | None = None) -> bool:
        """Whether a call raises nothing; what is wrong with its result, a law will report."""
        try:
            self.matrices(positions, d_model)
        except (Broken, Raised) as error:
            return isinstance(error, Broken)
        return True

    def reaches(self, seq_len: int) -> bool:
        return self.takes([seq_len - 1])

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths that the function takes; a layer may have just one."""
        tried = self.candidate_widths
        found = tuple(d for d in tried if self.takes(range(3), d))
        return found or (len(self.matrices(range(3), tried[0])),)  # raises

    @property
    def module(self) -> Any:
        """The function, or a module of the first width."""
        return self.made(self.widths[0])

    def permutation(self, d_model: int) -> NDArray[np.int64]:
        """Return where the result keeps each dimension, from position 0: usually in its place.

        DeepSeek-V3 takes neighbors, and returns halves. Queries and keys are permuted alike, so
        scores don't change.
        """
        start = self.measured(d_model)[0] / self.attention_factor
        order = np.abs(start).argmax(axis=0)
        exact = np.abs(start[order] - np.eye(d_model)).max() <= MOVES
        return order if exact else np.arange(d_model)

    def turned(self, d_model: int) -> Floats:
        """Return the matrices of the first positions, in the order of the input's dimensions."""
        return self.measured(d_model)[:, self.permutation(d_model)]

    def meant(self, x: Any, positions: Sequence[int]) -> Floats:
        if max(positions, default=0) < self.rows:
            matrices = self.measured(self.widths[0])[list(positions)]
        else:
            matrices = self.matrices(positions)
        return np.asarray(np.einsum("kij,...kj->...ki", matrices, x))

    def allowed(self, x: Any, meant: Floats, positions: Sequence[int], unit: float) -> Floats:
        """Return the bound for a product of the matrices and x, and a turned x.

        An entry is x₁·cos - x₂·sin. Sine and cosine are off by τ, once as computed and once as
        measured, and each product by one more rounding; so is the sum, which is at most |x₁| +
        |x₂|: (2τ + 2u)(|x₁| + |x₂|) in total. A right kernel in a half type may need it all.
        """
        mixed = np.abs(self.measured(self.widths[0])).max(axis=0) > 0
        size = np.abs(x) @ (mixed | mixed.T)  # a permuted output, or its gradient
        unit = unit * max(self.attention_factor, 1)
        return np.asarray((self.tau(positions, unit) + self.tau(positions) + 2 * unit) * size)

    def back(self, weights: Floats, positions: Sequence[int]) -> Floats:
        matrices = self.measured(self.widths[0])[list(positions)]
        return np.asarray(np.einsum("kji,...kj->...ki", matrices, weights))

    def halves(self) -> list[tuple[str, str, Any]]:
        names = [name for name in ("bfloat16", "float16") if hasattr(self.library.namespace, name)]
        return [(name, name, None) for name in names]

    def find_pairs(self, d_model: int, layout: str) -> Pairs | None:
        """Find the dimensions that turn together, while the others don't change.

        The four entries of a pair, each rounded twice, form a rotation: two of them differ by 4u.
        """
        matrices, limit = self.turned(d_model), 4 * self.unit * max(self.attention_factor, 1)
        moving = np.flatnonzero(np.abs(matrices - np.eye(d_model)).max(axis=(0, 2)) > MOVES)
        if not len(moving):
            return None
        first, last = int(moving[0]), int(moving[-1])
        if layout == "neighbors":
            one = np.arange(first - first % 2, last + 1, 2)
            tried = [(one, one + 1)]
        else:
            part, whole = np.arange((last - first) // 2 + 1), np.arange(d_model // 2)
            tried = [(first + part, first + part + len(part)), (whole, whole + len(whole))]
        for one, two in (pair for pair in tried if pair[1][-1] < d_model):
            rest, cos, sin = matrices.copy(), matrices[:, one, one], matrices[:, two, one]
            rest[:, one, one], rest[:, two, one] = 1, 0
            rest[:, two, two] -= cos - 1
            rest[:, one, two] += sin
            if np.abs(rest - np.eye(d_model)).max() <= limit:
                return one, two
        return None

    def waves(self, d_model: int, layout: str) -> Waves | None:
        """Return each pair's turn as cos + i·sin, counterclockwise whatever its direction.

        Trailing pairs that don't turn are left out.
        """
        found = self.pair_dims(d_model, layout)
        if found is None:
            return None
        waves = turns_in(self.turned(d_model), found) / self.attention_factor
        turning = np.flatnonzero(np.abs(waves - waves[0]).max(axis=0) > MOVES)
        waves = waves[:, : int(turning.max(initial=0)) + 1]
        self.backwards = bool(conv.measure(waves)[0][-1] < 0)
        return waves.conj() if self.backwards else waves

    @cached_property
    def dims(self) -> Pairs:
        """The pairs at the first width, in the layout that was found."""
        return self.pair_dims(self.widths[0], str(self.layout))  # type: ignore[return-value]

    def possible(self, waves: Waves, layout: str, d_model: int) -> list[Fit]:
        """Return the conventions that these waves may follow.

        In halves, the distance between a pair's dimensions tells a partial from a proportional
        rotation. In neighbors, both remain possible.
        """
        one, two = self.pair_dims(d_model, layout)  # type: ignore[misc]
        turning, half = waves.shape[1], d_model // 2
        extents = {"partial": len(one), "proportional": half}
        if turning == half:
            extents = {"whole": half}
        elif layout == "halves":
            del extents["partial" if two[0] - one[0] == half else "proportional"]
        known: dict[str, Any] = {"share": turning / half}
        known |= {"direction": "backwards"} if self.backwards else {}
        return [
            fit._replace(convention=replace(fit.convention, extent=extent, **known))
            for extent, whole in extents.items()
            for fit in conv.fits(waves, layout, self.unit, whole)
        ]

    def off(self, positions: Sequence[int]) -> Waves | None:
        """Return how far turns are from the convention's 50-digit values, if there are any."""
        pairs, first, known = len(self.dims[0]), 0.0, self.reference
        if self.omega is not None:
            omega = [Decimal(float(each)) for each in self.omega]
        elif known is not None:
            omega, first = known.omega(self.widths[0]), known.first
        else:
            return None
        if any(omega[pairs:]):
            return None
        omega = omega[:pairs] + [Decimal(0)] * (pairs - len(omega))
        angles = conv.reduced_angles([int(k) + Decimal(first) for k in positions], omega)
        exact = np.exp((-1j if self.backwards else 1j) * angles) * self.attention_factor
        matrices = self.matrices(positions)[:, self.permutation(self.widths[0])]
        return np.asarray(turns_in(matrices, self.dims) - exact)

    def matrices_of_axes(self, coordinates: NDArray[Any]) -> Floats:
        """Return the matrices at some coordinates, shape (rows, axes)."""
        where = self.library.array(coordinates, "int64")
        how = "float32", lambda x, _: self.module(x, where)
        return self.matrices(range(len(coordinates)), None, *how)

    @cached_property
    def omegas(self) -> Floats:
        """Radians per step along each axis alone, shape (axes, pairs)."""
        alone = np.arange(self.rows)[:, None] * np.eye(self.axes, dtype=np.int64)[:, None]
        found = [turns_in(self.matrices_of_axes(where), self.dims) for where in alone]
        sign = -1 if self.backwards else 1
        return sign * np.array([conv.measure(waves)[0] for waves in found])


def turns_in(matrices: Floats, dims: Pairs) -> Waves:
    """Return cos + i·sin of each pair, shape (positions, pairs)."""
    one, two = dims
    return np.asarray(matrices[:, one, one] + 1j * matrices[:, two, one])
