"""How a table, a layer or a rotation is called.

`Code` has what all kinds share; `kinds` has what differs. A call raises `Raised` if the code does,
and `Broken` if the result isn't what was asked for: a law that calls it reports that.
"""

import copy
from collections.abc import Callable
from functools import cache, cached_property, partial
from inspect import isroutine
from typing import Any

import numpy as np

from posenc.checks.trials import (
    POSITIONS,
    SEED,
    Broken,
    Subject,
    WrongShape,
    argument,
    floats,
    type_of,
    user,
)
from posenc.conventions import Floats

CAST = (
    "the result isn't cast back to the dtype of the input; `.half()` and `.to()` leave a tensor "
    "that is a plain attribute as it is: register it as a buffer, or cast it"
)


class Code(Subject):
    """What is called with x, (..., seq_len, width), and positions.

    Each kind says how: ``raw(module, x, positions)``, with arrays of the library. A module is
    whatever is called, such as a function. For example, a rotation's `raw` is ``module(x,
    positions)``, and a table's is ``module(*x.shape)``.
    """

    free: Any = True  # whether a call takes any positions, or counts from 0 by itself
    leads = (0, 2)  # the fewest and the most axes of x in front of (seq_len, width)
    takes_x = True  # or x is 0
    raw: Callable[[Any, Any, Any], Any]

    def __init__(self, subject: Any, widths: list[int]) -> None:
        super().__init__(subject)
        self.widths = widths
        # A class makes what is called; so does a function of the width, for a layer.
        makes = isroutine(subject) or isinstance(subject, partial)
        self.factory = isinstance(subject, type) or (self.kind == "module" and makes)
        self.made: Any = cache(self.make)

    def make(self, width: int) -> Any:
        """Return what is called: the subject, or what a class makes, in evaluation mode."""
        made = user(self.subject, width) if self.factory else self.subject
        if not hasattr(made, "eval"):
            return made
        # A copy, so that the module itself stays in its mode
        return user(user(copy.deepcopy, made).eval)

    @property
    def module(self) -> Any:
        """What is called at the first width."""
        return self.made(self.widths[0])

    @cached_property
    def place(self) -> Any:
        """The argument for positions, if it has a usual name."""
        return argument(self.module, POSITIONS)

    def plain(self) -> Any:
        """Call the code with a batch."""
        x = self.array(self.draw((2,), 3))
        if hasattr(x, "requires_grad_"):
            # Code of numpy, which may take tensors by luck, takes none that need a gradient.
            x = x.requires_grad_().clone()
        return self.result(x, range(3))

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, (*lead, seq_len, width), in numbers that all types have; or 0, if it takes none.

        The axes in front are those of the kind. A layer has one, of size 2 if none is asked for:
        () and (2, 3) become (2,). A table has none.
        """
        fewest, most = self.leads
        filled = lead + (2,) * (fewest - len(lead))
        size = (*filled[:most], seq_len, width or self.widths[0])
        drawn = np.random.default_rng(SEED).normal(size=size)
        # Odd sixteenths: eight digits, which bfloat16 has, are enough below 16; and none is 0.
        return self.takes_x * (2 * np.round(8 * drawn) + 1) / 16

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        # Tables are indexed by whole numbers.
        whole = np.asarray(positions).dtype.kind in "iu"
        return self.array(positions, "int64" if whole else "float32")

    def result(self, array: Any, positions: Any, module: Any = None) -> Any:
        """Call the code, or another module, with an array of the library."""
        module = self.made(array.shape[-1]) if module is None else module
        return self.raw(module, array, self.places(positions))

    def call(
        self,
        x: Floats,
        positions: Any,
        module: Any = None,
        dtype: str = "float32",
        finite: bool = True,
    ) -> Floats:
        """Call the code, or another module, for x in a dtype; return float64 values.

        x and the result are (..., seq_len, width), positions (seq_len,) or (batch, seq_len).
        """
        result = self.result(self.array(x, dtype), positions, module)
        if dtype not in ("float32", type_of(result)):
            raise Broken(f"{type_of(result)} for {dtype}", CAST)
        out = floats(result, finite)
        if out.shape != x.shape:
            raise WrongShape(f"shape {out.shape} for {x.shape}")
        return out
