"""Layers that add positions to embeddings."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posenc.checks.conventions import UNIT, Floats
from posenc.checks.probe import POSITIONS, Library, Turning, floats, same_type, take, user
from posenc.checks.tables import Table

WIDTH = ("d_model", "embedding_dim", "embed_dim", "hidden_size", "dim", "channels", "d_hid")


class Layer(Table):
    """A module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"
    call = Turning.call

    def __init__(
        self,
        module: nn.Module | Callable[[int], nn.Module],
        d_model: int | None = None,
        batch_first: bool | None = None,
        positions: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(self.added, **options)
        self.library, self.fixed = Library(torch), isinstance(module, nn.Module)
        self.make: Any = module
        if self.fixed:
            fixed = user(copy.deepcopy, module)
            self.make = lambda d_model: fixed
            self.widths = (width_of(fixed) if d_model is None else d_model,)
        self.layer = cache(lambda d_model: user(self.make, d_model).eval())
        self.module: nn.Module = self.layer(self.widths[0])
        first = getattr(self.module, "batch_first", True) if batch_first is None else batch_first
        self.batch_first = bool(first)
        names = list(inspect.signature(self.module.forward).parameters)
        if positions is not None and positions not in names:
            raise ValueError(f"positions must name an argument of forward, got {positions!r}")
        self.positions = positions or take(names, POSITIONS)
        self.free = self.positions is not None

    def raw(self, x: Any, positions: Any, via: Any = None) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        module = self.layer(x.shape[-1]) if via is None else via
        named = {} if positions is None else {str(self.positions): positions}
        with torch.set_grad_enabled(x.requires_grad):
            out = user(module, x if self.batch_first else x.transpose(0, 1), **named)
        out = out[0] if isinstance(out, tuple) else out
        return out if self.batch_first else out.transpose(0, 1)

    def added(self, seq_len: int, d_model: int) -> Tensor:
        """Return what the layer adds to the first of two equal sequences."""
        made: Tensor = self.raw(torch.zeros(2, seq_len, d_model), None)
        floats(made)  # of both sequences
        return made[0]

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Floats:
        """Draw embeddings; a layer takes one batch axis."""
        return np.asarray(Turning.draw(self, (lead or (0,))[:1], seq_len))

    def give(self, x: Any, dtype: str = "float32") -> Any:
        return self.library.array(x, dtype)

    def places(self, positions: Any) -> Any:
        """Convert positions to a tensor; 0, 1, 2, … the layer counts by itself."""
        counted = np.array_equal(positions, np.arange(len(positions)))
        return None if counted else self.library.array(positions, "int64")

    @cached_property
    def multiplier(self) -> float:
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x = self.draw((2,), min(9, self.rows))
        rest = self.call(x, range(x.shape[1])) - self.table(x.shape[1], x.shape[2])
        found = float((rest * x).sum() / (x * x).sum())
        return min((1.0, math.sqrt(x.shape[2])), key=lambda one: abs(one - found))

    def meant(self, x: Any, positions: Sequence[int]) -> Floats:
        return self.multiplier * np.asarray(x) + super().meant(None, positions)

    def allowed(self, x: Any, meant: Floats, positions: Sequence[int]) -> Floats:
        """Return 2τ for the rows, and 4u(|y| + |p|) for a product and a sum, twice."""
        rows = super().allowed(None, meant, positions)
        return np.asarray(rows + 4 * UNIT * (np.abs(meant) + max(self.scale, 1.0)))

    def back(self, weights: Floats, positions: Sequence[int]) -> Floats:
        """Return the gradient of x, given that of the result."""
        return self.multiplier * weights

    def entries(self, positions: Sequence[int], dtype: str = "float32", via: Any = None) -> Floats:
        """Return rows of a sequence just long enough for the last position."""
        if via is None and dtype == "float32":
            return super().entries(positions)
        zeros = torch.zeros(1, max(positions) + 1, self.widths[0], dtype=getattr(torch, dtype))
        made = self.raw(zeros, None, via)
        if dtype != "float32":
            same_type(made, dtype)
        return np.asarray(floats(made)[0][list(positions)] / self.scale)


def width_of(module: nn.Module) -> int:
    """Infer the width of a layer from its attributes or its table."""
    name = take(list(vars(module)), WIDTH)
    if name is not None and isinstance(getattr(module, name), int):
        return int(getattr(module, name))
    for each in [*module.buffers(), *module.parameters()]:
        if each.ndim > 1:
            return each.shape[-1]
    raise ValueError("the width of the layer can't be inferred: pass d_model")
