"""How a table, a layer or a rotation is called.

`Code` has what all kinds share; `kinds` has what differs. A call raises `Raised` if the code does,
and `Broken` if the result isn't what was asked for: a law that calls it reports that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from posenc._validate import check_int
from posenc.checks.subjects import Subject, floats, type_of
from posenc.checks.trials import SEED, Broken, WrongShape, user
from posenc.conventions import Floats

CAST = (
    "the result isn't cast back to the dtype of the input; `.half()` and `.to()` leave a tensor "
    "that is a plain attribute as it is: register it as a buffer, or cast it"
)
ALONE = (
    "it returns its rows alone, not added to x: to check_table, pass "
    "`lambda n, d: Layer(d)(torch.zeros(1, n, d))`, with your class for Layer"
)


class Code(Subject):
    """What is called with x, (..., seq_len, width), and positions.

    Each kind says how: ``raw(module, x, positions)``, with arrays of the library. A module is
    whatever is called, such as a function. For example, a rotation's `raw` is ``module(x,
    positions)``, and a table's is ``module(*x.shape)``.

    `__init__` calls the code to find its library and widths. So a kind sets all that its `raw`
    reads before ``super().__init__``.
    """

    free: Any = True  # whether a call takes any positions, or counts from 0 by itself
    leads = (0, 2)  # the fewest and the most axes of x in front of (seq_len, width)
    takes_x = True  # or x is 0
    raw: Callable[[Any, Any, Any], Any]

    def __init__(self, subject: Any, widths: list[int], longest: int) -> None:
        super().__init__(subject)
        self.longest = longest and check_int("longest", longest, minimum=16)
        # A class makes what is called; so does a function of the width, for a layer.
        makes = self.kind == "module" and not hasattr(subject, "training")
        self.factory = makes or isinstance(subject, type)
        self.made: Any = cache(self.make)
        self.widths = widths
        # From here on, the subject is called, for which `make` and `raw` read what is set above.
        self.find_library(lambda: self.plain(widths[0]))
        taken = [width for width in widths if self.accepts(partial(self.plain, width))]
        self.widths = taken or widths[:1]

    def make(self, width: int) -> Any:
        """Return what is called: the subject, or what a class makes, in evaluation mode."""
        made = user(self.subject, width) if self.factory else self.subject
        # A copy, so that the module itself stays in its mode
        return user(copy.deepcopy, made).eval() if hasattr(made, "eval") else made

    @property
    def module(self) -> Any:
        """What is called at the first width."""
        return self.made(self.widths[0])

    def plain(self, width: int) -> Any:
        """Call the code with a batch."""
        x = self.array(self.draw((2,), 3, width))
        return self.raw(self.made(width), x, self.places(range(3)))

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has: (*lead, seq_len, width); zeros if it takes none."""
        fewest, most = self.leads
        lead = (*lead, *[2] * fewest)[:most]
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        x = np.random.default_rng(SEED).normal(size=size).astype("f4")
        return self.takes_x * x.astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        # Tables are indexed by whole numbers.
        whole = np.asarray(positions).dtype.kind in "iu"
        return self.array(positions, "int64" if whole else "float32")

    def result(self, array: Any, positions: Any, module: Any = None) -> Any:
        """Call the code, or another module, with an array of the library."""
        module = self.made(array.shape[-1]) if module is None else module
        result = self.raw(module, array, self.places(positions))
        if isinstance(result, tuple):
            raise Broken("it returns a tuple", f"it is called as {self.usage}")
        return result

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
            alone = self.kind == "module" and out.size * len(x) == x.size
            cause = ALONE if alone else ""
            raise WrongShape(f"shape {out.shape} for {x.shape}", cause)
        return out
