"""Functions that turn queries and keys."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posenc.checks._exact import reduced_angles
from posenc.checks.conventions import (
    PAIRS,
    ROTARY_LAYOUTS,
    UNIT,
    Convention,
    Fit,
    Floats,
    Waves,
    agree,
    fits,
    fitted,
    measure,
    rounding,
    wrapped,
)
from posenc.checks.subjects import (
    FAR,
    ROWS,
    UNITS,
    Broken,
    Library,
    Measured,
    Skip,
    Turning,
    floats,
    loaded_torch,
    nearest_rows,
    positions_near,
    same_shape,
    same_type,
    severe,
    unit_of,
    values,
    worst,
)

MOVES = 2.0**-20  # 16u: a dimension that moves less doesn't count as turning
LIMITS = (1_000_000, 2**17, 2**15, 2**13, 4096, 2048, 1024, 512, ROWS, 64, 16)


class Rotary(Turning):
    """A function (x, positions) → x, turned."""

    kind = "rotary"
    layouts = ROTARY_LAYOUTS
    sources: ClassVar = {
        "shift": "2τ of both positions, and of the step that is read off positions 0 and 1",
        "offset": "4(1 + √2)·τ·Σ|q|·max|k|: two scores of a turned query and a turned key",
        "identity": "2u: τ at position 0",
        "start": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "steps": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "batch": "8u|x|: two products and a sum, twice",
        "token": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "rows": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "far": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "empty": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "strided": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
        "gradient": "4(τ + u)·max|g|: a matrix and a gradient turned back, two entries of each",
        "compile": "4(τ + u)·max|y|: a matrix and a turned x, two entries of each",
    }

    def __init__(
        self,
        rotate: Callable[..., Any],
        widths: Sequence[int] = (16, 24),
        base: float | None = None,
        asked: Convention | None = None,
        frequencies: Any = None,
        attention_factor: float = 1.0,
        length: int = 2048,
        longest: int = 1_000_000,
        library: Library | None = None,
        axes: int = 0,
        axis_of_pair: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.rotate, self.base, self.asked, self.factor = rotate, base, asked, attention_factor
        self.backwards = False
        self.length, self.longest = length, longest
        self.axes, self.axis_of_pair, self.given = axes, axis_of_pair, library
        omega = None if frequencies is None else np.asarray(frequencies, dtype=np.float64)
        self.omega_of_axes = omega if omega is not None and omega.ndim == 2 else None
        self.omega = omega if self.omega_of_axes is None else self.omega_of_axes.sum(axis=0)
        self.tried = tuple(widths)
        self.known: dict[int, Floats] = {}
        self.at: dict[tuple[int, str], tuple[NDArray[Any], NDArray[Any]]] = {}

    # The library, widths and positions that the function takes

    @cached_property
    def library(self) -> Library:
        """The requested library; otherwise torch if it takes tensors, else numpy.

        A tensor that requires a gradient can't become a numpy array, so numpy code refuses it.
        Tensors go first: code that caches tables would otherwise cache numpy's.
        """
        if self.given is not None:
            return self.given
        torch = loaded_torch()
        if torch is None:
            return Library(np)
        self.given = Library(torch)
        try:
            x = torch.ones(2, 3, self.tried[0], requires_grad=True)
            made = self.rotate(x, self.places([0, 1, 2]))
        except Exception:  # it doesn't take tensors
            self.given = Library(np)
            try:
                self.rotate(np.ones((2, 3, self.tried[0]), np.float32), self.places([0, 1, 2]))
            except Exception:  # it doesn't take arrays, either
                self.given = Library(torch)
            return self.given
        return self.given if isinstance(made, torch.Tensor) else Library(np)

    def give(self, x: Any, dtype: str = "float32") -> Any:
        """Convert to an array of the library."""
        return self.library.array(x, dtype)

    def places(self, positions: Any) -> Any:
        """Convert positions to the library; with several axes, repeat them on each."""
        found = np.asarray(positions, dtype=np.int64)
        return self.coordinates(np.repeat(found[..., None], self.axes, -1) if self.axes else found)

    def coordinates(self, positions: NDArray[Any]) -> Any:
        """Convert positions to the library, unchanged."""
        return self.library.array(positions, "int64")

    def turn(self, x: Any, positions: Any, dtype: str = "float32", rotate: Any = None) -> Any:
        """Call the function, or a replacement, and return float64 values."""
        made = (rotate or self.rotate)(self.give(x, dtype), self.places(positions))
        return floats(made, finite=bool(np.isfinite(x).all()))

    def matrices(
        self, positions: Sequence[int], d_model: int, dtype: str = "float32", rotate: Any = None
    ) -> Floats:
        """Return the matrix that the function applies at each position."""
        x = np.broadcast_to(np.eye(d_model)[:, None], (d_model, len(positions), d_model))
        out = self.turn(x, positions, dtype, rotate)
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return np.asarray(out.transpose(1, 2, 0))

    @cached_property
    def widths(self) -> tuple[int, ...]:  # type: ignore[override]
        """The widths that the function takes; a layer may have just one."""
        found = []
        for d_model in self.tried:
            try:
                self.matrices(range(3), d_model)
            except Broken:  # the width is accepted; a law will report what is wrong
                found.append(d_model)
            except Exception as error:  # refused; raised below if all widths are
                refused = error
            else:
                found.append(d_model)
        if not found:
            raise refused
        return tuple(found)

    @cached_property
    def limit(self) -> int:
        """The number of positions that the function takes, from 0."""
        for limit in sorted({min(each, self.longest) for each in LIMITS}, reverse=True):
            try:
                self.matrices([limit - 1], self.widths[0])
            except Broken:  # the length is accepted; a law will report what is wrong
                return limit
            except Exception:  # beyond its limit
                continue
            return limit
        raise Broken("no position is accepted")

    @property
    def rows(self) -> int:
        """The number of positions that most laws use."""
        return min(ROWS, self.limit)

    def turned(self, d_model: int) -> Floats:
        """Return the matrices of the first positions, cached."""
        if d_model not in self.known:
            self.known[d_model] = self.matrices(range(self.rows), d_model)
        return self.known[d_model]

    # Pairs that turn

    def pairs(self, d_model: int, layout: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Find the dimensions that turn together: the first and the second of each pair.

        The others don't change, and the four entries of a pair, each rounded twice, form a
        rotation: two differences of two entries are at most 8u.
        """
        matrices = self.turned(d_model)
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
        for one, two in tried:
            if two[-1] < d_model and self.proper(matrices, one, two):
                return one, two
        return None

    def proper(self, matrices: Floats, one: NDArray[Any], two: NDArray[Any]) -> bool:
        """Whether matrices rotate these pairs, and nothing else."""
        rest = matrices.copy()
        for a, b in ((one, one), (one, two), (two, one), (two, two)):
            rest[:, a, b] = 0
        still = np.setdiff1d(np.arange(matrices.shape[1]), [*one, *two])
        rest[:, still, still] -= 1
        turn = (
            np.abs(matrices[:, one, one] - matrices[:, two, two]).max()
            + np.abs(matrices[:, one, two] + matrices[:, two, one]).max()
        )
        return bool(max(np.abs(rest).max(), turn) <= 8 * self.unit * max(self.factor, 1))

    def waves(self, d_model: int, layout: str) -> Waves | None:
        """Return each pair's turn as cos + i·sin, counterclockwise whatever its direction.

        Trailing pairs that don't turn are left out.
        """
        found = self.pairs(d_model, layout)
        if found is None:
            return None
        one, two = self.at[d_model, layout] = found
        matrices = self.turned(d_model)
        waves: Waves = np.asarray(matrices[:, one, one] + 1j * matrices[:, two, one])
        waves = waves / self.factor
        turning = np.flatnonzero(np.abs(waves - waves[0]).max(axis=0) > MOVES)
        waves = waves[:, : int(turning.max(initial=0)) + 1]
        self.backwards = bool(measure(waves)[0][-1] < 0)
        return waves.conj() if self.backwards else waves

    def possible(self, waves: Waves, layout: str, d_model: int) -> list[Fit]:
        """Return the conventions that these waves may follow.

        In halves, the distance between a pair's dimensions tells a partial from a proportional
        rotation. In neighbors, both remain possible.
        """
        one, two = self.at[d_model, layout]
        turning, half = waves.shape[1], d_model // 2
        if turning == half:
            return list(fits(waves, layout, self.unit))
        extents = {"partial": len(one), "proportional": half}
        if layout == "halves":
            del extents["partial" if two[0] - one[0] == half else "proportional"]
        return [
            replace(
                fit,
                convention=replace(fit.convention, extent=extent, share=turning / half),
            )
            for extent, whole in extents.items()
            for fit in fits(waves, layout, self.unit, whole)
        ]

    @property
    def convention(self) -> Convention | None:
        """The convention; the direction is that of the width that was read last."""
        found = super().convention
        if found is None or not self.backwards:
            return found
        return replace(found, direction="backwards")

    def fastest(self) -> Floats:
        """Return the frequency of the fastest pair, or 1, shape (1,)."""
        if self.layout is None:
            return np.ones(1)
        found = np.abs(measure(self.readable[self.layout][0])[0])
        return np.array([found.max()])

    def explained(self, positions: Sequence[int], unit: float = UNIT) -> Floats:
        """Return the fastest pair's float32 error at each position, shape (positions, 1)."""
        fastest = self.fastest()
        angles = np.abs(np.asarray(positions, dtype=np.float64))[:, None] * fastest
        return rounding(angles, fastest, unit) * max(self.factor, 1)

    # The laws

    def law_shape(self) -> Measured:
        d_model = self.widths[0]
        for shape in ((5, d_model), (2, 5, d_model), (2, 3, 5, d_model)):
            out = self.turn(np.ones(shape), range(5))
            if out.shape != shape:
                raise Broken(f"shape {out.shape} for {shape}")
        return 0.0, 0.0, f"{self.library.name}, widths {', '.join(map(str, self.widths))}"

    def law_norm(self) -> Measured:
        found = []
        for d_model in self.widths:
            squares = (self.turned(d_model) ** 2).sum(axis=1)
            rest = np.abs(squares - 1)
            moving = np.abs(self.turned(d_model) - np.eye(d_model)).max(axis=(0, 1)) > MOVES
            off = np.where(moving, np.abs(squares / self.factor**2 - 1), rest)
            found.append(off.max(axis=1))
        error, bound, place = worst(np.array(found), 6 * self.unit)
        factor = "" if self.factor == 1 else f"; attention factor {self.factor:.6g}"
        return error, bound, f"position {place[1]}, width {self.widths[place[0]]}{factor}"

    def law_shift(self) -> Measured:
        """Rotate each position by the step from 0 to 1, and compare with the next.

        The step is off by τ of position 1 and √2 times that of position 0. It is applied to a
        column, |cos| + |sin| ≤ √2, which has its own error: τ(k + 1) + √2·τ(k) + √2·τ(1) + 2·τ(0).
        Since τ(0) is the smallest term, 2·(τ(k + 1) + τ(k) + τ(1)) is more.
        """
        matrices = self.turned(self.widths[0])
        step = matrices[1] @ np.linalg.inv(matrices[0])
        moved = np.einsum("ij,kjl->kil", step, matrices[:-1])
        allowed = self.explained(range(self.rows))[:, 0]
        bounds = 2 * (allowed[1:] + allowed[:-1] + allowed[1])[:, None, None]
        error, bound, place = worst(np.abs(matrices[1:] - moved), bounds)
        return error, bound, f"position {place[0] + 1}, dimension {place[1]}"

    def law_offset(self) -> Measured:
        """Compare scores with those one position later.

        In a pair, a turned query is off by τ(|q₁| + |q₂|) in both dimensions. Times a turned key,
        |k₁| + |k₂| ≤ 2·max|k|: 2τ·Σ|q|·max|k| over the pairs. A turned pair of the query is at most
        √2·(|q₁| + |q₂|), so the key's error adds 2√2·τ·Σ|q|·max|k|. Two scores are compared.
        """
        d_model = self.widths[0]
        q, k = np.random.default_rng(0).normal(size=(2, d_model))
        turned = [self.turned(d_model) @ each for each in (q, k)]
        scores = turned[0] @ turned[1].T
        allowed = self.explained(range(self.rows))[:, 0]
        size = np.abs(q).sum() * np.abs(k).max() * self.factor
        bounds = 4 * (1 + math.sqrt(2)) * size * np.maximum(allowed[1:, None], allowed[None, 1:])
        error, bound, place = worst(np.abs(scores[1:, 1:] - scores[:-1, :-1]), bounds)
        return error, bound, f"positions {place[0]} and {place[1]}, shifted by one"

    def law_identity(self) -> Measured:
        matrix = self.turned(self.widths[0])[0]
        meant = np.eye(len(matrix))
        if self.factor != 1 and self.layout is not None:
            both = np.concatenate(self.at[self.widths[0], self.layout])
            meant[both, both] = self.factor
        error, bound, place = worst(np.abs(matrix - meant), 2 * self.unit * max(self.factor, 1))
        return error, bound, f"dimension {place[0]}"

    def law_frequencies(self) -> Measured:
        if self.layout is None:
            raise Broken("no two dimensions turn together, neighbors or halves")
        if self.omega is None:
            if self.axes and self.fit is None:
                return self.frequencies_of_axes()
            return super().law_frequencies()
        found = np.abs(measure(self.readable[self.layout][0])[0])
        asked = len(self.omega)
        one, two = self.at[self.widths[0], self.layout]
        apart = int(two[0] - one[0]) if self.layout == "halves" else len(one)
        if self.layout == "neighbors" and apart < asked and not self.omega[apart:].any():
            apart = asked  # trailing pairs that don't turn are invisible
        if apart != asked:
            raise Broken(
                f"{len(one)} pairs turn, {apart} are paired, but {asked} were requested",
                likely="the pairs span the wrong part of the head: a partial rotation pairs "
                "within its part, a proportional one across the whole head",
            )
        found = np.pad(found, (0, asked - len(found)))
        limit = fitted(self.omega, self.rows) / self.rows
        error, bound, place = worst(np.abs(wrapped(found - self.omega)), limit)
        return error, bound, f"pair {place[0]}"

    def law_unique(self) -> Measured:
        seq_len = min(self.length, self.limit)
        d_model = self.widths[0]
        x = np.ones((seq_len, d_model))
        x[:, d_model // 2 :] = 0.5
        return nearest_rows(self.turn(x, range(seq_len)), self.unit)

    def compared(self, one: Floats, two: Floats, positions: Sequence[int]) -> Measured:
        """Compare turned rows with the product of the matrices and the original rows.

        A pair of x is no longer than √2 times the largest entry of its turned pair, so |x₁| + |x₂|
        is at most twice that. An entry is off by τ of it, once as computed, once as measured, and
        by the roundings of two products and a sum: (2τ + 2u)(|x₁| + |x₂|) in total.
        """
        same_shape(one, two)
        unit = UNIT * max(self.factor, 1)
        bounds = 4 * (self.explained(positions) + unit) * np.abs(two).max(initial=0.0)
        error, bound, place = worst(np.abs(one - two), np.broadcast_to(bounds, one.shape))
        return error, bound, f"position {positions[place[-2]]}" if place else ""

    def text(self, *shape: int) -> Floats:
        """Draw queries that float32 represents exactly."""
        drawn = np.random.default_rng(0).normal(size=shape)
        return drawn.astype(np.float32).astype(np.float64)

    def meant(self, x: Floats, positions: Sequence[int]) -> Floats:
        """Return the expected result: x turned by the matrices of the whole sequence."""
        matrices = self.turned(self.widths[0])[list(positions)]
        return np.asarray(np.einsum("kij,...kj->...ki", matrices, x))

    def law_start(self) -> Measured:
        found = []
        for positions in ([1, 2, 3, 4], [40, 41, 42, 43], [9, 3, 12, 5], [200, 0, 0, 7]):
            where = [k for k in positions if k < self.rows]
            x = self.text(2, len(where), self.widths[0])
            found.append(self.compared(self.turn(x, where), self.meant(x, where), where))
        return severe(found)

    def law_steps(self) -> Measured:
        x = self.text(9, self.widths[0])
        loop = [self.turn(x[k : k + 1], [k]) for k in range(9)]
        return self.compared(np.concatenate(loop), self.meant(x, range(9)), range(9))

    def law_batch(self) -> Measured:
        x = self.text(3, 2, 5, self.widths[0])
        together = self.turn(x, range(5))
        alone = np.array([[self.turn(head, range(5)) for head in each] for each in x])
        same_shape(together, alone)
        error, bound, place = worst(np.abs(together - alone), 8 * UNIT * float(np.abs(x).max()))
        expected = self.compared(together, self.meant(x, range(5)), range(5))
        return severe([(error, bound, f"sequence {place[0]}, head {place[1]}"), expected])

    def law_token(self) -> Measured:
        d_model, where = self.widths[0], [min(7, self.rows - 1)]
        found = []
        for shape in ((3, 1, d_model), (3, 2, 1, d_model), (1, 4, 1, d_model)):
            x = self.text(*shape)
            error, bound, _ = self.compared(self.turn(x, where), self.meant(x, where), where)
            found.append((error, bound, f"shape {shape}"))
        return severe(found)

    def law_rows(self) -> Measured:
        """Pass different positions for each sequence, if the function takes them."""
        d_model, found = self.widths[0], []
        where = np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]]) % self.rows
        for shape in ((3, 5, d_model), (3, 2, 5, d_model)):
            x = self.text(*shape)
            try:
                out = self.turn(x, where)
            except Broken:
                raise
            except Exception:  # refused
                continue
            if out.shape != shape:
                continue
            for row, positions in enumerate(where):
                meant = self.meant(x[row], positions)
                error, bound, _ = self.compared(out[row], meant, positions)
                found.append((error, bound, f"sequence {row}, shape {shape}"))
        if not found:
            raise Skip("takes only positions of shape (seq_len,)")
        return severe(found)

    def law_far(self) -> Measured:
        """Turn distant rows alone, in one call, and at the end of a long sequence."""
        d_model, where = self.widths[0], [k for k in FAR if k < self.limit]
        if not where:
            raise Skip(f"no position beyond {self.limit}")
        x = self.text(len(where), d_model)
        matrices = self.matrices(where, d_model)
        meant = np.einsum("kij,kj->ki", matrices, x)
        alone = np.concatenate([self.turn(x[[n]], [k]) for n, k in enumerate(where)])
        found = [self.compared(alone, meant, where)]
        seq_len = min(self.limit, 4200)
        inside = [k for k in where if k < seq_len]
        long = np.zeros((seq_len, d_model))
        long[inside] = x[: len(inside)]
        out = self.turn(long, range(seq_len))[inside]
        found.append(self.compared(out, meant[: len(inside)], inside))
        return severe(found)

    def law_reduced(self) -> Measured:
        """Round matrix products, as autocast and tensor cores do.

        An entry may then be rounded to the half type once more, but its angle may not.
        """
        torch = self.with_torch()
        if self.layout is None:
            raise Skip("no pairs to read")
        from posenc.checks._torch import RoundedProducts

        positions = [k for k in (*self.early, 10_001, 65_537, 65_538) if k < self.limit]
        exact, found = self.read(positions), []
        for name, mode in (
            ("bfloat16", torch.autocast("cpu", dtype=torch.bfloat16)),
            ("TF32", RoundedProducts()),
        ):
            with mode:
                rough = self.read(positions)
            allowed = self.explained(positions, UNITS[name]) + self.explained(positions)
            error, bound, note = self.near(rough, exact, positions, allowed)
            found.append((error, bound, f"{name}, {note}"))
        return severe(found)

    def law_cast(self) -> Measured:
        module, positions = self.with_module(), self.early
        if self.layout is None or (meant := self.exact(positions)) is None:
            raise Skip("no convention to compare with")
        cast = module.to(self.library.namespace.bfloat16)
        allowed = self.explained(positions, UNITS["bfloat16"])
        return self.near(self.read(positions, "bfloat16", cast), meant, positions, allowed)

    def law_meta(self) -> Measured:
        module, torch = self.with_module(), self.library.namespace
        from posenc.checks._torch import refilled

        filled, ways = refilled(module, copy.deepcopy(module.state_dict()))
        positions, d_model = range(min(9, self.rows)), self.widths[0]
        meant = self.turned(d_model)[: len(positions)]
        with torch.no_grad():
            x = self.give(np.eye(d_model)[:, None].repeat(len(positions), axis=1))
            made = values(filled(x, self.places(positions))).transpose(1, 2, 0)
        same = bool(np.abs(made - meant).max() <= 4 * self.unit * max(self.factor, 1))
        if not same and not ways and "meta" not in self.named:
            raise Skip("nothing reinitializes its buffers; to test anyway, pass laws=['meta']")
        if not same:
            raise Broken("a different result once created on meta and filled")
        return 0.0, 0.0, ", ".join(ways)

    def matrices_of_axes(self, coordinates: NDArray[Any]) -> Floats:
        """Return the matrices at some coordinates, shape (rows, axes)."""
        d_model = self.widths[0]
        x = np.broadcast_to(np.eye(d_model)[:, None], (d_model, len(coordinates), d_model))
        out = floats(self.rotate(self.give(x), self.coordinates(coordinates)))
        same_shape(out, np.asarray(x))
        return np.asarray(out.transpose(1, 2, 0))

    @cached_property
    def omegas(self) -> Floats:
        """Radians per step along each axis alone, shape (axes, pairs)."""
        one, two = self.at[self.widths[0], str(self.layout)]
        found = []
        for axis in range(self.axes):
            where = np.zeros((self.rows, self.axes), dtype=np.int64)
            where[:, axis] = np.arange(self.rows)
            matrices = self.matrices_of_axes(where)
            found.append(measure(matrices[:, one, one] + 1j * matrices[:, two, one])[0])
        return np.array(found) * (-1 if self.backwards else 1)

    def frequencies_of_axes(self) -> Measured:
        """Fit the pairs of each axis separately, as in an axial encoding."""
        owner, worst_of = np.abs(self.omegas).argmax(axis=0), 0.0
        for axis in range(self.axes):
            omega = np.abs(self.omegas[axis, owner == axis])
            if len(omega) < PAIRS:
                raise Skip(f"coordinate {axis} turns {len(omega)} pairs: too few for a base")
            waves = np.exp(1j * np.outer(np.arange(self.rows), omega))
            best = agree([list(fits(waves, str(self.layout), self.unit))])
            if best is None:
                raise Broken(f"no known base and exponent fit the pairs of coordinate {axis}")
            worst_of = max(worst_of, best.frequency)
        return worst_of, 1.0, "each coordinate by itself, in units of the bound"

    def law_axes(self) -> Measured:
        """Compare turning by several coordinates with turning by each, one after the other.

        A product of n matrices, each entry off by τ and two per row, is off by 2nτ; the matrix for
        all coordinates is off by τ.
        """
        if not self.axes:
            raise Skip("one coordinate")
        if self.layout is None:
            raise Broken("no two dimensions turn together, neighbors or halves")
        omegas = self.omegas
        turning = np.abs(omegas) * self.rows > MOVES
        for axis in range(self.axes):
            if not turning[axis].any():
                raise Broken(f"coordinate {axis} turns nothing")
        owner = np.abs(omegas).argmax(axis=0)
        if self.axis_of_pair is not None:
            asked = np.asarray(self.axis_of_pair)
            if asked.shape != owner.shape:
                raise Broken(f"{len(owner)} pairs, where {len(asked)} are asked for")
            for pair in np.flatnonzero(owner != asked):
                how = f"pair {pair} turns with coordinate {owner[pair]}, not {asked[pair]}"
                raise Broken(how)
        if self.omega_of_axes is not None:
            size = min(omegas.shape[1], self.omega_of_axes.shape[1])
            meant = self.omega_of_axes[:, :size]
            limit = fitted(meant.max(axis=0), self.rows) / self.rows
            error, bound, place = worst(np.abs(wrapped(omegas[:, :size] - meant)), limit)
            if error > bound:
                return error, bound, f"coordinate {place[0]}, pair {place[1]}"
        mixed = np.random.default_rng(0).integers(0, self.rows, (5, self.axes))
        together, apart = self.matrices_of_axes(mixed), np.eye(self.widths[0])
        for axis in range(self.axes):
            alone = np.where(np.arange(self.axes) == axis, mixed, 0)
            apart = self.matrices_of_axes(alone) / self.factor @ apart
        allowed = (2 * self.axes + 1) * self.explained(mixed.max(axis=1))[:, :, None]
        error, bound, place = worst(np.abs(together / self.factor - apart), allowed + 0 * apart)
        pairs = " ".join(map(str, owner))
        return error, bound, f"coordinates {mixed[place[0]].tolist()}; by pair {pairs}"

    def law_masked(self) -> Measured:
        x = self.text(2, 9, self.widths[0])
        out = self.turn(x, range(9))
        x[0, 3], x[1, 7] = math.nan, math.inf
        with np.errstate(invalid="ignore"):
            other = self.turn(x, range(9))
        kept = np.ones((2, 9), dtype=bool)
        kept[0, 3] = kept[1, 7] = False
        if not np.array_equal(out[kept], other[kept]):
            raise Broken("rows with unchanged input changed")
        return 0.0, 0.0, ""

    def exact(self, positions: Sequence[int]) -> Waves | None:
        """Return the turns of the convention at the first width, from 50-digit angles."""
        pairs = len(self.at[self.widths[0], str(self.layout)][0])
        if self.omega is not None:
            omega = [Decimal(float(each)) for each in self.omega]
        elif self.reference is not None:
            omega = self.reference.omega(self.widths[0])
        else:
            return None
        if len(omega) > pairs and any(omega[pairs:]):
            return None
        omega = omega[:pairs] + [Decimal(0)] * (pairs - len(omega))
        angles = reduced_angles([Decimal(int(k)) for k in positions], omega)
        return np.asarray(np.exp((-1j if self.backwards else 1j) * angles) * self.factor)

    def read(self, positions: Sequence[int], dtype: str = "float32", rotate: Any = None) -> Waves:
        """Return the pairs' turns at some positions."""
        matrices = self.matrices(positions, self.widths[0], dtype, rotate)
        one, two = self.at[self.widths[0], str(self.layout)]
        return np.asarray(matrices[:, one, one] + 1j * matrices[:, two, one])

    def near(self, one: Waves, two: Waves, positions: Sequence[int], allowed: Floats) -> Measured:
        """Compare turns at some positions."""
        off = one - two
        errors = np.maximum(np.abs(off.real), np.abs(off.imag))
        error, bound, place = worst(errors, np.broadcast_to(allowed, errors.shape))
        return error, bound, f"position {positions[place[0]]}, pair {place[1]}"

    def law_float32(self) -> Measured:
        positions = positions_near(self.limit)
        if self.layout is None or (meant := self.exact(positions)) is None:
            raise Skip("no convention to compare with")
        off = self.read(positions, "float32") - meant
        errors = np.maximum(np.abs(off.real), np.abs(off.imag))
        self.errors = dict(zip(positions, errors.max(axis=1).tolist(), strict=True))
        allowed = self.explained(positions)
        if self.omega is None:
            speeds = self.fastest()
            allowed = allowed + self.doubt(np.array(positions, dtype=float), speeds, self.rows)
        error, bound, place = worst(errors, allowed)
        return error, bound, f"position {positions[place[0]]}, pair {place[1]}"

    def law_half(self) -> Measured:
        positions = self.early
        if self.layout is None or (meant := self.exact(positions)) is None:
            raise Skip("no convention to compare with")
        known = ("float16",) if self.library.name == "numpy" else ("bfloat16", "float16")
        found = []
        for dtype in filter(self.library.has, known):
            out = self.rotate(self.give(np.ones((2, self.widths[0])), dtype), self.places([0, 1]))
            same_type(out, dtype)
            allowed = self.explained(positions, unit_of(out))
            error, bound, note = self.near(self.read(positions, dtype), meant, positions, allowed)
            found.append((error, bound, f"{dtype}, {note}"))
        if not found:
            raise Skip(f"{self.library.name} has no half precision")
        return severe(found)

    @property
    def early(self) -> list[int]:
        """Positions to test in half precision."""
        return positions_near(min(self.limit, 5000))

    def law_odd(self) -> Measured:
        odd = self.widths[0] - 1
        self.turn(np.ones((3, odd + 1)), range(3))  # an even width must work
        try:
            out = self.turn(np.ones((3, odd)), range(3))
        except Exception as error:  # any error is a refusal
            return 0.0, 0.0, f"refused: {type(error).__name__}"
        raise Broken(f"shape {out.shape} for width {odd}, and no error")

    def law_empty(self) -> Measured:
        d_model = self.widths[0]
        for shape in ((0, d_model), (2, 0, d_model), (0, 3, d_model)):
            out = self.turn(np.ones(shape), range(shape[-2]))
            if out.shape != shape:
                raise Broken(f"shape {out.shape} for {shape}")
        x = self.text(1, d_model)
        return self.compared(self.turn(x, [5]), self.meant(x, [5]), [5])

    def law_strided(self) -> Measured:
        if self.library.name not in ("numpy", "torch"):
            raise Skip(f"{self.library.name} doesn't expose strides")
        x = self.text(4, 12, 2 * self.widths[0])
        given = self.give(x)
        found = []
        width = self.widths[0]
        views = {
            "every second row": (given[:, ::2, :width], x[:, ::2, :width]),
            "transposed": (given.swapaxes(0, 1)[..., :width], x.swapaxes(0, 1)[..., :width]),
        }
        for name, (view, same) in views.items():
            rows = range(view.shape[-2])
            out = floats(self.rotate(view, self.places(rows)))
            error, bound, _ = self.compared(out, self.meant(same, rows), rows)
            found.append((error, bound, name))
        return severe(found)

    def law_repeat(self) -> Measured:
        x, where = self.give(self.text(2, 9, self.widths[0])), self.places(range(9))
        before = floats(x).copy()
        first = self.rotate(x, where)
        kept = floats(first).copy()
        second = floats(self.rotate(x, where))
        self.turn(np.ones((2, 9, self.widths[0])), range(3, 12))
        if not np.array_equal(floats(x), before) or not np.array_equal(
            values(where), values(self.places(range(9)))
        ):
            raise Broken("the input was changed")
        if not np.array_equal(floats(first), kept):
            raise Broken("a later call overwrote the first result")
        return float(np.abs(second - kept).max()), 0.0, ""

    def with_torch(self) -> Any:
        """Return torch, or skip the law if the function takes another library."""
        if self.library.name != "torch":
            raise Skip(f"{self.library.name} arrays")
        return self.library.namespace

    def with_module(self) -> Any:
        """Return a copy of the module, or skip the law if it isn't a torch module."""
        torch = self.with_torch()
        if not isinstance(self.rotate, torch.nn.Module):
            raise Skip("not a torch module")
        return copy.deepcopy(self.rotate)

    def law_gradient(self) -> Measured:
        self.with_torch()
        where = range(9)
        x = self.give(self.text(2, 9, self.widths[0])).requires_grad_()
        weights = self.text(2, 9, self.widths[0])[::-1].copy()
        out = self.rotate(x, self.places(where))
        (out * self.give(weights)).sum().backward()
        if x.grad is None:
            raise Broken("no gradient reaches x")
        matrices = self.turned(self.widths[0])[list(where)]
        back = np.einsum("kji,...kj->...ki", matrices, weights)
        return self.compared(floats(x.grad), back, where)

    def law_device(self) -> Measured:
        self.with_torch()
        x, where = self.give(self.text(2, 9, self.widths[0])), self.places(range(9))
        self.rotate(x, where)
        moved = self.rotate(x.to("meta"), where.to("meta"))
        if moved.device.type != "meta":
            raise Broken("the result isn't on the device of the input")
        double = self.rotate(x.double(), where)
        same_type(double, "float64")
        floats(double)
        return 0.0, 0.0, "to another device (torch's meta) and to float64"

    def law_compile(self) -> Measured:
        torch = self.with_torch()
        x = self.text(2, 9, self.widths[0])
        given, where = self.give(x), self.places(range(9))
        torch.compiler.reset()
        compiled = torch.compile(self.rotate, fullgraph=True, backend="eager")
        with torch.no_grad():
            found = floats(compiled(given, where))
        return self.compared(found, self.meant(x, range(9)), range(9))

    def resembles(self, law: str) -> str | None:
        """Compare with the exhibits of the museum's second wing."""
        if law == "half":
            error, bound, _ = self.law_float32()
            return "dtype of the query" if error <= bound else None
        if law in ("steps", "start", "empty", "batch"):
            return self.row_resembles()
        if law == "norm":
            squares = (self.turned(self.widths[0]) ** 2).sum(axis=1)
            off = abs(squares.max() - self.factor**2) > 1e-3
            return "attention factor" if off and np.ptp(squares, axis=0).max() < 1e-3 else None
        if law == "frequencies" and self.omega is not None:
            return "lost setting"
        if law in ("shift", "offset", "frequencies", "unique") and self.layout is not None:
            waves = self.readable[self.layout][0]
            return (
                "forgotten shift" if (np.abs(np.diff(waves, axis=0)).max(1) < 1e-6).any() else None
            )
        return None

    def row_resembles(self) -> str | None:
        """Look for a single row turned as at another position, or in another layout."""
        d_model = self.widths[0]
        x = self.text(1, d_model)
        out, matrices = self.turn(x, [5])[0], self.turned(d_model)
        off = np.abs(matrices @ x[0] - out).max(axis=1)
        if off.argmin() == 5 and off[5] < 1e-4:
            return None
        if off.min() < 1e-4 or np.array_equal(out, self.turn(x, [6])[0]):
            return "offset that sticks"
        order = np.argsort(np.arange(d_model) % 2, kind="stable")
        for turn in (order, np.argsort(order)):
            if np.abs(matrices[5][np.ix_(turn, turn)] @ x[0] - out).max() < 1e-4:
                return "mixed layouts"
        return None
