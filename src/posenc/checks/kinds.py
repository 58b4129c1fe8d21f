"""Tables, layers and rotations: how each is called, with arrays of its library."""

from functools import cached_property
from typing import Any

import numpy as np

from posenc.checks.encodings import Encoding
from posenc.checks.trials import type_of, user
from posenc.conventions import UNIT

UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # of rounding
ROTATED = (
    "`rotate(x, positions)`; if it is made for one width, pass that, as in widths=[64]; if it "
    "counts by itself, or turns keys, too, pass `lambda x, positions: rotate(x)`, or "
    "`lambda x, positions: rotate(x, -x)[0]`, and "
    "laws=['shape', 'repeat', 'values', 'batch', 'masked', 'gradient']"
)


class Table(Encoding):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    usage = "`encode(seq_len, d_model)`"
    free = False
    leads = (0, 0)
    takes_x = False

    @cached_property
    def unit(self) -> float:
        """The unit of the type that a plain call returns, at least float32's."""
        return UNITS.get(type_of(self.plain()), UNIT)

    def raw(self, module: Any, x: Any, positions: Any) -> Any:
        """Return the rows, without a batch axis of length 1; in a half type, if x has one."""
        half = type_of(x) != "float32"
        rows = user(module, *x.shape, **{"dtype": x.dtype} if half else {})
        # (1, seq_len, width) and (seq_len, 1, width) are usual in layers.
        if getattr(rows, "ndim", 0) == 3 and 1 in rows.shape[:2]:
            return rows.reshape(-1, rows.shape[2])
        return rows


class Layer(Encoding):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"
    usage = (
        "`layer(x)`, x of shape (batch, seq_len, d_model); if d_model isn't its first table's, "
        "pass that, as in widths=[64]; if it returns its rows alone, not added to x, pass "
        "check_table `lambda n, d: Layer(d)(torch.zeros(1, n, d))`, with your class for Layer"
    )
    leads = (1, 1)

    def __init__(self, module: Any, batch_first: Any = None, **options: Any) -> None:
        self.batch_first = batch_first
        super().__init__(module, **options)

    @property
    def free(self) -> bool:
        """Whether it has an argument for positions."""
        return self.place is not None

    @cached_property
    def sequence_first(self) -> bool:
        """Whether it takes (seq_len, batch, d_model): an argument says so, or the module."""
        usual = getattr(self.module, "batch_first", True)
        return not (usual if self.batch_first is None else self.batch_first)

    def raw(self, module: Any, x: Any, positions: Any) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        swap = self.sequence_first
        # Where that is the same, a layer that may count by itself is left to it.
        same = positions.tolist() == [*range(len(positions))]
        place, places = self.place, {}
        if place and not (same and place.default is not place.empty):
            places = {place.name: positions}
        out = user(module, x.swapaxes(0, 1) if swap else x, **places)
        # Some layers also return what they added.
        out = out[0] if isinstance(out, tuple) else out
        return user(lambda: out.swapaxes(0, 1)) if swap else out

    @cached_property
    def carried(self) -> float:
        """The multiplier of x: 1 or the root of the width, whichever is nearer."""
        x, k = self.draw((), 2), range(2)
        # What is added to x cancels.
        times = np.median((self.call(x, k) - self.call(0 * x, k)) / x)
        root = float(x.shape[2] ** 0.5)
        return root if 2 * times > 1 + root else 1.0


class Rotation(Encoding):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    usage = ROTATED
    otherwise = "; if a norm follows the rotation, check what comes before it"

    def raw(self, module: Any, x: Any, positions: Any) -> Any:
        """Call the function; each of several axes gets the same coordinate."""
        if self.declared.count_of_axes > 1:
            positions = self.library.stack(
                [positions] * self.declared.count_of_axes, -1
            )
        return self.turned(module, x, positions)

    def turned(self, module: Any, x: Any, positions: Any) -> Any:
        """Call the function; positions are (..., seq_len), or (seq_len, axes)."""
        if self.place and self.place.kind is self.place.KEYWORD_ONLY:
            return user(module, x, **{self.place.name: positions})
        return user(module, x, positions)
