"""Functions that make a table, and layers that add one to embeddings."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from posenc._validate import check_int
from posenc.checks import conventions as conv
from posenc.checks.arrays import Library, floats, loaded_torch, same_type, unit_of, values
from posenc.checks.conventions import UNIT, Floats, Waves
from posenc.checks.laws import Skip, WrongShape, user
from posenc.checks.probe import POSITIONS, Turning, take

SCALES = {"1": (1.0, 0.0), "1/√d": (1.0, -0.5), "1/√(d/2)": (math.sqrt(2), -0.5), "√d": (1.0, 0.5)}
"""Usual factors of all rows: a number, and a power of the width that multiplies it."""
WIDTH = ("d_model", "embedding_dim", "embed_dim", "hidden_size", "dim", "channels", "d_hid")


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
        """Call the function."""
        return user(self.subject, seq_len, d_model)

    def floats_of(self, seq_len: int, d_model: int, half: str = "") -> Floats:
        """Return the rows in float64, without a batch axis of length 1; `table` is cached."""
        if half:
            space = loaded_torch() if half == "bfloat16" else np
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
        shape = values(self.table_of(seq_len, self.widths[0])).shape
        return bool(math.prod(shape) == seq_len * (shape or (1,))[-1])

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        """Add a table to x, as a layer does."""
        return x + (via or self.table)(len(positions), x.shape[-1])

    def meant(self, x: Any, positions: Sequence[int]) -> Floats:
        """Add rows of the whole table: the last ones, if positions count down."""
        known, count = self.convention, len(positions)
        if known is not None and known.step == conv.AROUND:
            rows = known.table(count, self.widths[0]) * self.scale
        else:
            table = self.table(max([self.rows, *(k + 1 for k in positions)]), self.widths[0])
            rows = table[len(table) - count :] if self.down else table[list(positions)]
        return np.asarray(self.multiplier * np.asarray(x) + rows)

    def allowed(self, x: Any, meant: Floats, positions: Sequence[int], unit: float) -> Floats:
        """Return τ twice, for two entries, and 4u(|y| + |p|) for two sums and products with x."""
        each = self.scale * (self.taus(positions, max(unit, self.unit)) + self.taus(positions))
        rows = each.max(axis=1, keepdims=True)
        if self.layout is not None:
            rows = conv.join(each + 1j * each, self.layout)
        sums = 4 * UNIT * (np.abs(meant) + max(self.scale, 1.0))
        return np.asarray(rows + np.where(np.asarray(x) == 0, 0, sums))

    def halves(self) -> list[tuple[str, str, Any]]:
        try:
            named = "dtype" in inspect.signature(self.subject).parameters
        except (TypeError, ValueError):  # of a builtin
            named = False
        if not named:
            raise Skip("no argument `dtype`")
        tensor = hasattr(self.table_of(self.rows, self.widths[0]), "detach")
        name = "bfloat16" if tensor else "float16"
        return [(name, "float32", partial(self.floats_of, half=name))]

    @cached_property
    def main(self) -> Floats:
        """The table at the first width."""
        return self.table(self.rows, self.widths[0])

    @property
    def down(self) -> bool:  # type: ignore[override]
        fit = self.fit
        return fit is not None and fit.start <= 1 and fit.convention.direction == "down"

    @cached_property
    def factor(self) -> tuple[str, dict[int, float]]:
        """The factor of all rows: its name in `SCALES`, or "", and its value by width."""
        size = {d: math.sqrt(2 * (self.table(self.rows, d) ** 2).mean()) for d in self.widths}
        known = {name: {d: a * d**b for d in size} for name, (a, b) in SCALES.items()}
        off = {name: max(abs(size[d] / each[d] - 1) for d in size) for name, each in known.items()}
        name = min(off, key=lambda each: off[each])
        if off[name] > 6 * self.unit and min(size.values()) > 0:
            for layout in self.layouts:  # does another factor put all pairs on a circle?
                if all(self.circle(d, layout, size[d], 12) is not None for d in size):
                    return "", size
        return name, known[name]

    def circle(self, d_model: int, layout: str, size: float, limit: float) -> Waves | None:
        """Return waves in a layout, or None if a pair leaves its circle by `limit` units."""
        waves = conv.split(self.table(self.rows, d_model) / size, layout)
        return waves if np.abs(np.abs(waves) ** 2 - 1).max() <= limit * self.unit else None

    def waves(self, d_model: int, layout: str) -> Waves | None:
        return self.circle(d_model, layout, self.factor[1][d_model], 6)

    def turned(self, d_model: int) -> Floats:
        """Return the rows, scaled so that pairs have length 1, as matrices of one column."""
        return self.table(self.rows, d_model)[..., None] / self.factor[1][d_model]

    def off(self, positions: Sequence[int], rows: Floats | None = None) -> Waves | None:
        """Return how far rows of the longest table are from exact values; or given rows."""
        if (known := self.reference) is None:
            return None
        seq_len = self.limit if rows is None else 1  # counts where positions go down, or around
        rows = self.floats_of(seq_len, self.widths[0])[list(positions)] if rows is None else rows
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
            doubled = np.abs(conv.wrapped(omega[1:] - 2 * omega[:-1])).max() < 1e-4 < abs(omega[0])
            return "frequencies double from pair to pair, as NeRF's do" if doubled else ""
        columns = (self.main - self.main.mean(axis=0)) * np.hanning(self.rows)[:, None]
        energy = np.abs(np.fft.rfft(columns, axis=0)) ** 2
        near = energy.argmax(axis=0) + np.arange(-2, 3)[:, None]
        peak = np.take_along_axis(energy, np.clip(near, 0, len(energy) - 1), axis=0).sum(axis=0)
        spread = np.median(peak / np.maximum(energy.sum(axis=0), 1e-300)) < 0.5
        learned = spread and self.rows >= 64 and energy.any(axis=0).all()
        return "its columns aren't sinusoids: a learned table?" if learned else ""


class Layer(Table):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"

    def __init__(
        self, module: Any, d_model: int | None, batch_first: bool | None, **options: Any
    ) -> None:
        import torch  # not among what a table needs

        super().__init__(self.added, **options)
        if d_model is not None:
            check_int("d_model", d_model, minimum=2)
        self.torch: Any = torch
        self.library = Library(torch)
        self.fixed: bool = isinstance(module, torch.nn.Module)
        fixed = user(copy.deepcopy, module) if self.fixed else None
        self.make: Callable[[int], Any] = (lambda d_model: fixed) if self.fixed else module
        if self.fixed:
            self.widths = (width_of(fixed) if d_model is None else d_model,)
        self.layer: Callable[[int], Any] = cache(lambda d_model: user(self.make, d_model).eval())
        self.module: Any = self.layer(self.widths[0])
        first = getattr(self.module, "batch_first", True) if batch_first is None else batch_first
        self.batch_first: bool = bool(first)
        names = list(inspect.signature(self.module.forward).parameters)
        self.positions: str | None = take(names, POSITIONS)
        self.free: bool = self.positions is not None

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        module = self.layer(x.shape[-1]) if via is None else via
        named = {} if positions is None else {str(self.positions): positions}
        with self.torch.set_grad_enabled(x.requires_grad):
            out = user(module, x if self.batch_first else x.transpose(0, 1), **named)
        out = out[0] if isinstance(out, tuple) else out
        return out if self.batch_first else out.transpose(0, 1)

    def added(self, seq_len: int, d_model: int) -> Any:
        """Return what the layer adds to the first of two equal sequences."""
        made = self.raw(self.torch.zeros(2, seq_len, d_model), None)
        floats(made)  # of both sequences
        return made[0]

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw embeddings; a layer takes one batch axis."""
        return super().draw((lead or (0,))[:1], seq_len)

    def places(self, positions: Any) -> Any:
        """Convert positions to a tensor; 0, 1, 2, … the layer counts by itself."""
        counted = np.array_equal(positions, np.arange(len(positions)))
        return None if counted else self.library.array(positions, "int64")

    @cached_property
    def multiplier(self) -> float:  # type: ignore[override]
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x = self.draw((2,), min(9, self.rows))
        rest = self.call(x, range(x.shape[1])) - self.table(x.shape[1], x.shape[2])
        found = float((rest * x).sum() / (x * x).sum())
        return min((1.0, math.sqrt(x.shape[2])), key=lambda one: abs(one - found))

    def back(self, weights: Floats, positions: Sequence[int]) -> Floats:
        return self.multiplier * weights

    def halves(self) -> list[tuple[str, str, Any]]:
        half = user(copy.deepcopy(self.module).to, self.torch.bfloat16)
        return [("bfloat16", "bfloat16", half)]


def width_of(module: Any) -> int:
    """Infer the width of a layer from its attributes or its table."""
    name = take(list(vars(module)), WIDTH)
    if name is not None and isinstance(getattr(module, name), int):
        return int(getattr(module, name))
    for each in [*module.buffers(), *module.parameters()]:
        if each.ndim > 1:
            return int(each.shape[-1])
    raise ValueError("the width of the layer can't be inferred: pass d_model")
