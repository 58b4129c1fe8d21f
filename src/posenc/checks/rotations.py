"""Rotations: what is specific to calling them, and to a norm or an order behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from posenc import conventions as conv
from posenc._validate import check_int, check_real
from posenc.checks.explanation import NEAR
from posenc.checks.subjects import Library, floats
from posenc.checks.trials import Raised, user
from posenc.checks.turning import Turning
from posenc.conventions import Convention, Floats
from posenc.reference import Reference

LOUD = 1024.0  # x times this, in front of a norm, makes the norm's ε negligible


class Rotation(Turning):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    carried = 1.0

    def __init__(
        self,
        rotate: Any,
        attention_factor: float = 1.0,
        axes: int | Sequence[int] | None = None,
        library: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(rotate, **options)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.owners = np.array(axes if isinstance(axes, Sequence) else [], dtype=int)
        if isinstance(axes, Sequence):
            axes = max(axes) + 1
        self.axes = 0 if axes is None else check_int("axes", axes, minimum=2)
        if np.ndim(self.frequencies) == 2 and len(self.frequencies) != self.axes:
            rows = len(self.frequencies)
            raise ValueError(
                f"frequencies need a row per axis, got {rows}, axes={axes}"
            )
        is_class = isinstance(rotate, type)
        self.made: Any = cache(lambda width: rotate(width) if is_class else rotate)
        self.output: Any = cache(self.find_output)
        self.moving: Any = cache(self.find_moving)

        def turned(tried: Library) -> Any:
            self.library = tried
            x = tried.array(np.ones((2, 3, self.widths[0])))
            if tried.name == "torch":  # numpy code refuses it then
                x = x.requires_grad_()
            return self.raw(x, self.places(range(3)))

        # numpy or torch: found by a call, since nothing in a signature tells.
        self.library = Library.of(library, turned)
        taken = [width for width in self.widths if self.takes(width)]
        self.widths = taken or self.widths[:1]
        self.module = self.made(self.widths[0])

    def takes(self, width: int) -> bool:
        """Whether heads of this width can be turned; a module may have one width."""
        try:
            self.raw(self.library.array(np.ones((3, width))), self.places(range(3)))
        except Raised:
            return False
        return True

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the function."""
        rotate = user(self.made, x.shape[-1]) if module is None else module
        return user(rotate, x, positions)

    def places(self, positions: Any) -> Any:
        """Give each axis the same coordinate, as text has."""
        where = np.asarray(positions)
        if self.axes:
            where = where[..., None].repeat(self.axes, -1)
        return super().places(where)

    def at_coordinates(self, x: Floats, coordinates: Any) -> Floats:
        """Call the function with other coordinates along each axis."""
        places = self.library.array(coordinates, "int64")
        return floats(self.raw(self.library.array(x), places))

    def call(
        self, x: Floats, positions: Any, dtype: str = "float32", module: Any = None
    ) -> Floats:
        """Call the function, and undo a norm that follows the rotation."""
        weights = self.output(x.shape[-1])[0] if x.size else None
        if weights is None:
            return super().call(x, positions, dtype, module)
        # A norm divides by the root mean square, and multiplies by its weights.
        size = np.sqrt((x**2).mean(axis=-1, keepdims=True))
        loud = x * (LOUD if dtype == "float32" else 1.0)
        return np.asarray(super().call(loud, positions, dtype, module) * size / weights)

    @property
    def normed(self) -> bool:  # type: ignore[override]
        """Whether a norm follows the rotation."""
        return self.output(self.widths[0])[0] is not None

    def find_output(self, width: int) -> tuple[Any, Any]:
        """Look at position 0, where nothing turns: return a norm's weights, and an order.

        After a norm, twice the input gives the same, and ones give the weights.
        """
        x = 1.0 + np.arange(width)[None]
        one, two, weights = (
            super(Rotation, self).call(y * LOUD, [0])[0] for y in (x, 2 * x, 0 * x + 1)
        )
        normed = one.any() and np.abs(one - two).max() <= NEAR * np.abs(one).max()
        size = np.sqrt((x**2).mean())
        # What it would be without the norm, or without the factors.
        out = one / weights * size if normed else one / LOUD / self.factor
        # x is 1, 2, 3, … so that the result says where each dimension went.
        order = np.round(out - 1).astype(int)
        exact = np.abs(out - 1 - order).max() < NEAR
        if not exact or sorted(order) != [*range(width)]:
            order = np.arange(width)
        return weights if normed else None, order

    def find_moving(self, width: int) -> Any:
        """Return the dimensions that change from row to row."""
        # Ones turn to cos - sin and cos + sin: a dimension that turns changes.
        out = self.in_order(self.call(np.ones((self.rows, width)), range(self.rows)))
        return np.flatnonzero(np.ptp(out, axis=0) > NEAR)

    def in_order(self, out: Floats) -> Floats:
        """Undo a permutation of the output."""
        return out[:, np.argsort(self.output(out.shape[1])[1])]

    def templates(self) -> list[Convention]:
        """Return whole, partial and proportional rotations of the share that turns."""
        width = max(self.widths)
        # In halves, partial and proportional rotations pair other dimensions.
        share, extents = len(self.moving(width)) / width, ["partial", "proportional"]
        if self.frequencies is not None:
            share, extents = 2 * self.frequencies.shape[-1] / width, ["partial"]
        extents = ["whole"] if share in (0, 1) else extents
        pairs = product(("halves", "neighbors"), extents)
        return [
            Convention(layout, extent=extent, share=share or 1)
            for layout, extent in pairs
        ]

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's rotation, permuted as the output is, if nothing is declared."""
        right = replace(super().reference(width, known), factor=self.factor)
        if self.declared is not None:
            return right
        one, two = right.pairs
        # 0 if nothing turns
        first = self.moving(width)[:1].sum()
        # A part of a head may turn, from another dimension on.
        if two[-1] + first < width:
            right = replace(right, pairs=(one + first, two + first))
        return replace(right, order=self.output(width)[1])

    def reordered(self) -> str:
        """Say if the output is permuted, though a convention was declared."""
        order = self.output(self.widths[0])[1].tolist()
        if self.declared is not None and order != sorted(order):
            return f"the output is permuted: it has dimensions {order}, in this order"
        return ""

    def waves(self, template: Convention, width: int) -> conv.Waves:
        """Turn ones in the first dimension of each pair, and zeros in the second."""
        one, two = self.reference(width, template).pairs
        x = np.zeros((self.rows, width))
        # (1, 0) turns to (cos, sin).
        x[:, one] = 1
        out = self.in_order(self.call(x, range(self.rows)))
        return out[:, one] + 1j * out[:, two]
