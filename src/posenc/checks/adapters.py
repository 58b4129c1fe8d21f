"""The adapters: tables and layers that add one to embeddings; rotations of queries and keys."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc import conventions as conv
from posenc._validate import check_int, check_positions, check_real
from posenc.checks.laws import Broken, Raised, Skip, WrongShape, user
from posenc.checks.probe import (
    POSITIONS,
    Library,
    Turning,
    argument,
    floats,
    same_type,
    unit_of,
)
from posenc.conventions import UNIT, Fit, Floats, Waves

SCALES = {
    "1": (1.0, 0.0),
    "1/√d": (1.0, -0.5),
    "1/√(d/2)": (math.sqrt(2), -0.5),
    "√d": (1.0, 0.5),
}
"""Usual factors of all rows: a number, and a power of the width that multiplies it."""
WIDTH = (
    "d_model",
    "embedding_dim",
    "embed_dim",
    "hidden_size",
    "dim",
    "channels",
    "d_hid",
)
MOVES = 2.0**-20  # 16u: a dimension that moves less doesn't count as turning
LOUD = 1024.0  # x times this, in front of a norm, makes the norm's ε negligible

Pairs = tuple[NDArray[Any], NDArray[Any]]
"""The first and the second dimension of each pair."""


class Table(Turning):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    layouts = conv.LAYOUTS
    free = False
    multiplier = 1.0  # of x
    library = Library(np)

    def __init__(self, encode: Callable[..., Any], **options: Any) -> None:
        super().__init__(encode, **options)
        self.table: Callable[[int, int], Floats] = cache(self.floats_of)

    def table_of(self, seq_len: int, d_model: int) -> Any:
        return user(self.subject, seq_len, d_model)

    def floats_of(self, seq_len: int, d_model: int, half: str = "") -> Floats:
        """Return the rows in float64, without a batch axis of length 1; `table` is cached."""
        if half:
            space = sys.modules.get("torch") if half == "bfloat16" else np
            made = user(self.subject, seq_len, d_model, dtype=getattr(space, half))
            same_type(made, half)
        else:
            made = self.table_of(seq_len, d_model)
            self.unit: float = max(self.unit, unit_of(made))
        table = floats(made)
        if table.ndim == 3 and 1 in table.shape[:2]:
            table = table.reshape(-1, table.shape[2])
        if table.shape != (seq_len, d_model):
            cause = "doubled class" if table.shape == (seq_len, 2 * d_model) else None
            raise WrongShape(f"shape {table.shape} for {(seq_len, d_model)}", cause)
        return table

    def reaches(self, seq_len: int) -> bool:
        shape = np.shape(self.table_of(seq_len, self.widths[0]))
        return bool(math.prod(shape) == seq_len * (shape or (1,))[-1])

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        return x + (via or self.table)(len(positions), x.shape[-1])

    def meant(self, x: Any, positions: Sequence[int]) -> Floats:
        """Add rows of the whole table: the last ones, if positions count down."""
        known, count = self.convention, len(positions)
        if known is not None and known.step == conv.AROUND:
            rows = known.table(count, self.widths[0]) * self.scale
        else:
            table = self.table(
                max([self.rows, *(k + 1 for k in positions)]), self.widths[0]
            )
            rows = table[len(table) - count :] if self.down else table[list(positions)]
        return np.asarray(self.multiplier * np.asarray(x) + rows)

    def allowed(
        self, x: Any, meant: Floats, positions: Sequence[int], unit: float
    ) -> Floats:
        """Return τ twice, for two entries, and 4u(|y| + |p|) for two sums and products with x."""
        each = self.scale * (
            self.taus(positions, max(unit, self.unit)) + self.taus(positions)
        )
        rows = each.max(axis=1, keepdims=True)
        if self.layout is not None:
            rows = conv.join(each + 1j * each, self.layout)
        sums = 4 * UNIT * (np.abs(meant) + max(self.scale, 1.0))
        return np.asarray(rows + np.where(np.asarray(x) == 0, 0, sums))

    def halves(self) -> list[tuple[str, str, Any]]:
        if not argument(self.subject, ["dtype"]):
            raise Skip("no argument `dtype`")
        tensor = hasattr(self.table_of(self.rows, self.widths[0]), "detach")
        name = "bfloat16" if tensor else "float16"
        return [(name, "float32", partial(self.floats_of, half=name))]

    @property
    def down(self) -> bool:  # type: ignore[override]
        fit = self.fit
        return fit is not None and fit.start <= 1 and fit.convention.direction == "down"

    @cached_property
    def factor(self) -> tuple[str, dict[int, float]]:
        """The factor of all rows: its name in `SCALES`, or "", and its value by width."""
        norms = {
            d: np.sqrt(2 * (self.table(self.rows, d) ** 2).mean(axis=1))
            for d in self.widths
        }
        size = {d: float(norm.mean()) for d, norm in norms.items()}
        known = {name: {d: a * d**b for d in size} for name, (a, b) in SCALES.items()}
        off = {
            name: max(abs(size[d] / each[d] - 1) for d in size)
            for name, each in known.items()
        }
        name = min(off, key=lambda each: off[each])
        same = all(
            np.ptp(norm) <= 12 * self.unit * norm.mean() for norm in norms.values()
        )
        other = same and off[name] > 6 * self.unit and min(size.values()) > 0
        return ("", size) if other else (name, known[name])

    def waves(self, d_model: int, layout: str) -> Waves | None:
        waves = conv.split(
            self.table(self.rows, d_model) / self.factor[1][d_model], layout
        )
        return waves if np.abs(np.abs(waves) ** 2 - 1).max() <= 6 * self.unit else None

    def turned(self, d_model: int) -> Floats:
        """Return the rows, scaled so that pairs have length 1, as matrices of one column."""
        return self.table(self.rows, d_model)[..., None] / self.factor[1][d_model]

    def off(self, positions: Sequence[int], rows: Floats | None = None) -> Waves | None:
        """Return how far rows of the longest table are from exact values; or given rows."""
        if (known := self.convention) is None:
            return None
        seq_len = (
            self.limit if rows is None else 1
        )  # counts where positions go down, or around
        rows = (
            self.floats_of(seq_len, self.widths[0])[list(positions)]
            if rows is None
            else rows
        )
        exact = np.exp(1j * known.angles(positions, seq_len, self.widths[0]))
        return np.asarray(conv.split(rows / self.scale, known.layout) - exact)

    @property
    def scale(self) -> float:
        """The factor of all rows at the first width."""
        return self.factor[1][self.widths[0]]

    @cached_property
    def other_kind(self) -> str:  # type: ignore[override]
        """Another kind of table, for which laws on pairs of sine and cosine aren't meant.

        If nobody asked for a base or a convention, a table can be learned, or NeRF's. A sinusoid's
        column has most of its energy at one frequency, and so has every known bug's; a learned one
        has it spread, even when resized. NeRF's frequencies double from pair to pair.
        """
        if "learned" in self.tags:
            return "a learned table"
        if self.base is not None or self.asked is not None:
            return ""
        for waves in self.readable.values():
            omega = conv.measure(waves[0])[0]
            doubled = (
                np.abs(conv.wrapped(omega[1:] - 2 * omega[:-1])).max()
                < 1e-4
                < abs(omega[0])
            )
            return (
                "frequencies double from pair to pair, as NeRF's do" if doubled else ""
            )
        columns = self.table(self.rows, self.widths[0])
        columns = (columns - columns.mean(axis=0)) * np.hanning(self.rows)[:, None]
        energy = np.abs(np.fft.rfft(columns, axis=0)) ** 2
        near = energy.argmax(axis=0) + np.arange(-2, 3)[:, None]
        peak = np.take_along_axis(
            energy, np.clip(near, 0, len(energy) - 1), axis=0
        ).sum(axis=0)
        spread = np.median(peak / np.maximum(energy.sum(axis=0), 1e-300)) < 0.5
        learned = spread and self.rows >= 64 and energy.any(axis=0).all()
        return "its columns aren't sinusoids: a learned table?" if learned else ""


class Layer(Table):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"

    def __init__(
        self, module: Any, d_model: Any = None, batch_first: Any = None, **options: Any
    ) -> None:
        import torch  # not among what a table needs

        super().__init__(self.added, **options)
        self.library = Library(torch)
        self.fixed: bool = isinstance(module, torch.nn.Module)
        self.make: Callable[[int], Any] = module
        if self.fixed:
            fixed = user(copy.deepcopy, module)
            self.make = lambda d_model: fixed
            tables = [
                each
                for each in (*fixed.buffers(), *fixed.parameters())
                if each.ndim > 1
            ]
            sizes = [getattr(fixed, name, None) for name in WIDTH]
            sizes = [
                each
                for each in (*sizes, *(t.shape[-1] for t in tables))
                if type(each) is int
            ]
            if d_model is None and not sizes:
                raise ValueError(
                    "the width of the layer can't be inferred: pass d_model"
                )
            width = sizes[0] if d_model is None else d_model
            self.widths = (check_int("d_model", width, minimum=2),)
        self.layer: Callable[[int], Any] = cache(
            lambda d_model: user(self.make, d_model).eval()
        )
        self.module: Any = self.layer(self.widths[0])
        first = (
            getattr(self.module, "batch_first", True)
            if batch_first is None
            else batch_first
        )
        self.batch_first: bool = bool(first)
        self.positions: str | None = argument(self.module.forward, POSITIONS)
        self.free: bool = self.positions is not None

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        module = self.layer(x.shape[-1]) if via is None else via
        named = {} if positions is None else {str(self.positions): positions}
        with self.library.namespace.set_grad_enabled(x.requires_grad):
            out = user(module, x if self.batch_first else x.transpose(0, 1), **named)
        out = out[0] if isinstance(out, tuple) else out
        return out if self.batch_first else out.transpose(0, 1)

    def added(self, seq_len: int, d_model: int) -> Any:
        """Return what the layer adds to the first of two equal sequences."""
        made = self.raw(self.library.array(np.zeros((2, seq_len, d_model))), None)
        floats(made)  # of both sequences
        return made[0]

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw embeddings; a layer takes one batch axis."""
        return super().draw((lead or (0,))[:1], seq_len)

    def places(self, positions: Any) -> Any:
        counted = np.array_equal(
            positions, np.arange(len(positions))
        )  # by the layer itself
        return None if counted else self.library.array(positions, "int64")

    @cached_property
    def multiplier(self) -> float:  # type: ignore[override]
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x = self.draw((2,), min(9, self.rows))
        rest = self.call(x, range(x.shape[1])) - self.table(x.shape[1], x.shape[2])
        found = float((rest * x).sum() / (x * x).sum())
        return min((1.0, math.sqrt(x.shape[2])), key=lambda one: abs(one - found))

    def halves(self) -> list[tuple[str, str, Any]]:
        return [("bfloat16", "bfloat16", user(copy.deepcopy(self.module).bfloat16))]


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
        self.attention_factor = check_real(
            "attention_factor", attention_factor, positive=True
        )
        self.axis_of_pair: list[int] | None = None
        if isinstance(axes, Sequence):
            self.axis_of_pair = [check_int("axes", each, minimum=0) for each in axes]
            axes = max(self.axis_of_pair, default=0) + 1
        self.axes: int = 0 if axes is None else check_int("axes", axes, minimum=2)
        self.omega_of_axes: Floats | None = None
        if frequencies is not None:
            omega = self.omega = check_positions(frequencies, "frequencies", ndim=None)
            if omega.ndim == 2 and len(omega) != self.axes:
                raise ValueError(
                    f"frequencies need a row per axis, got {len(omega)}, axes={axes}"
                )
            if omega.ndim == 2:
                self.omega, self.omega_of_axes = omega.sum(axis=0), omega
        make: Any = rotate if isinstance(rotate, type) else lambda d_model: rotate
        self.made: Callable[[int], Any] = cache(make)
        self.norm_weights: Callable[[int], Floats | None] = cache(self.find_norm)
        self.pair_dims: Callable[[int, str], Pairs | None] = cache(self.find_pairs)
        self.measured: Callable[[int], Floats] = cache(
            lambda d: self.matrices(range(self.rows), d)
        )

        def turned(tried: Library) -> Any:
            self.library = tried
            x = self.library.array(np.ones((2, 3, self.widths[0])))
            x = x.requires_grad_() if tried.name == "torch" else x
            return self.made(x.shape[-1])(x, self.places(range(3)))

        self.library = Library.of(library, turned)
        taken = tuple(
            d for d in self.widths if self.takes(range(3), d)
        )  # a layer may have one
        self.widths = taken or self.widths[:1]

    def places(self, positions: Any) -> Any:
        found = np.asarray(positions, dtype=np.int64)
        return super().places(
            np.repeat(found[..., None], self.axes, -1) if self.axes else found
        )

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        return user(via or user(self.made, x.shape[-1]), x, positions)

    def call(
        self, x: Any, positions: Any, dtype: str = "float32", via: Any = None
    ) -> Floats:
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
        one, two, weights = (
            super(Rotation, self).call(y, [0]) for y in (x, 2 * x, ones)
        )
        normed = one.any() and np.abs(one - two).max() <= 1e-4 * np.abs(one).max()
        return np.asarray(weights[0]) if normed else None

    def matrices(self, positions: Any, d_model: int | None = None, *how: Any) -> Floats:
        """Return the matrix that the function applies at each position."""
        unit = np.eye(self.widths[0] if d_model is None else d_model)[:, None]
        return self.call(unit.repeat(len(positions), 1), positions, *how).transpose(
            1, 2, 0
        )

    def takes(self, positions: Sequence[int], d_model: int | None = None) -> bool:
        """Whether a call raises nothing; what is wrong with its result, a law will report."""
        try:
            self.matrices(positions, d_model)
        except (Broken, Raised) as error:
            return isinstance(error, Broken)
        return True

    def reaches(self, seq_len: int) -> bool:
        return self.takes([seq_len - 1])

    @property
    def module(self) -> Any:
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
        near = max(positions, default=0) < self.rows
        matrices = (
            self.measured(self.widths[0])[[*positions]]
            if near
            else self.matrices(positions)
        )
        return np.asarray(np.einsum("kij,...kj->...ki", matrices, x))

    def allowed(
        self, x: Any, meant: Floats, positions: Sequence[int], unit: float
    ) -> Floats:
        """Return the bound for a product of the matrices and x, and a turned x.

        An entry is x₁·cos - x₂·sin. Sine and cosine are off by τ, once as computed and once as
        measured, and each product by one more rounding; so is the sum, which is at most |x₁| +
        |x₂|: (2τ + 2u)(|x₁| + |x₂|) in total. A right kernel in a half type may need it all.
        """
        mixed = np.abs(self.measured(self.widths[0])).max(axis=0) > 0
        size = np.abs(x) @ (mixed | mixed.T)  # a permuted output, or its gradient
        unit = unit * max(self.attention_factor, 1)
        once, again = (self.taus(positions, each).max(axis=1) for each in (unit, UNIT))
        return np.asarray((once + again + 2 * unit)[:, None] * size)

    def halves(self) -> list[tuple[str, str, Any]]:
        names = [
            name
            for name in ("bfloat16", "float16")
            if hasattr(self.library.namespace, name)
        ]
        return [(name, name, None) for name in names]

    def find_pairs(self, d_model: int, layout: str) -> Pairs | None:
        """Find the dimensions that turn together, while the others don't change.

        The four entries of a pair, each rounded twice, form a rotation: two of them differ by 4u.
        """
        matrices, limit = (
            self.turned(d_model),
            4 * self.unit * max(self.attention_factor, 1),
        )
        moving = np.flatnonzero(
            np.abs(matrices - np.eye(d_model)).max(axis=(0, 2)) > MOVES
        )
        if not len(moving):
            return None
        first, last = int(moving[0]), int(moving[-1])
        part, whole = (
            first + np.arange((last - first) // 2 + 1),
            np.arange(d_model // 2),
        )
        tried = [(part, part + len(part)), (whole, whole + len(whole))]
        if layout == "neighbors":
            tried = [(even := np.arange(first - first % 2, last + 1, 2), even + 1)]
        for one, two in (pair for pair in tried if pair[1][-1] < d_model):
            made = np.eye(d_model) + np.zeros_like(matrices)
            made[:, one, one] = made[:, two, two] = matrices[:, one, one]
            made[:, two, one] = matrices[:, two, one]
            made[:, one, two] = -matrices[:, two, one]
            if np.abs(matrices - made).max() <= limit:
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
        turning, half, found = waves.shape[1], d_model // 2, []
        extents = {"partial": len(one), "proportional": half}
        if turning == half:
            extents = {"whole": half}
        elif layout == "halves":
            del extents["partial" if two[0] - one[0] == half else "proportional"]
        for extent, whole in extents.items():
            for fit in conv.fits(waves, layout, self.unit, whole):
                way = "backwards" if self.backwards else fit.convention.direction
                known = replace(
                    fit.convention, extent=extent, share=turning / half, direction=way
                )
                found.append(fit._replace(convention=known))
        return found

    def off(self, positions: Sequence[int]) -> Waves | None:
        """Return how far turns are from the convention's 50-digit values, if there are any."""
        pairs, first, omega = len(self.dims[0]), 0.0, []
        if self.omega is not None:
            omega = [Decimal(float(each)) for each in self.omega]
        elif known := self.convention:
            omega, first = known.omega(self.widths[0]), known.first
        if not omega or any(omega[pairs:]):
            return None
        omega = omega[:pairs] + [Decimal(0)] * (pairs - len(omega))
        angles = conv.reduced_angles(
            [int(k) + Decimal(first) for k in positions], omega
        )
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
        alone = (
            np.arange(self.rows)[:, None] * np.eye(self.axes, dtype=np.int64)[:, None]
        )
        found = [turns_in(self.matrices_of_axes(where), self.dims) for where in alone]
        sign = -1 if self.backwards else 1
        return sign * np.array([conv.measure(waves)[0] for waves in found])


def turns_in(matrices: Floats, dims: Pairs) -> Waves:
    """Return cos + i·sin of each pair, shape (positions, pairs)."""
    one, two = dims
    return np.asarray(matrices[:, one, one] + 1j * matrices[:, two, one])
