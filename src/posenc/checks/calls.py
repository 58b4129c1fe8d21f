"""How a table, a layer or a rotation is called, and how much of it.

What is known of the code is found out when it is first asked for, and kept: to find it out calls
the code, which may raise, and then the law that asked reports it. `sequences` asks for `limit`, and
both for a plain `call`. A kind may have a property in place of a class's attribute, such as `free`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from posenc._validate import check_int
from posenc.checks.subjects import Subject, floats, type_of
from posenc.checks.trials import SEED, Broken, Raised, WrongShape, user
from posenc.conventions import Floats

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
FAR = 2**17 + 1  # positions that are tried
ENTRIES = 2**21  # in one call, so that wide tables take no longer than narrow ones
CAST = (
    "the result isn't cast back to the dtype of the input; `.half()` and `.to()` leave a tensor "
    "that is a plain attribute as it is: register it as a buffer, or cast it"
)
ALONE = (
    "it returns its rows alone, not added to x: to check_table, pass "
    "`lambda n, d: Layer(d)(torch.zeros(1, n, d))`, with your class for Layer"
)


class Code(Subject):
    """What is called with x and positions.

    Each kind says how: ``raw(module, x, positions)``, with arrays of the library. A module is
    whatever is called, such as a function.

    `__init__` calls the code to find its library and widths. So a kind sets all that its `raw`
    reads before ``super().__init__``; `widths`, `made` and `factory` are set here, first. What
    calls the code, and may raise `Raised` or `Broken`, is read only in laws: `limit`, `rows`,
    `sequences`, `table`, and of some kinds `free`, `unit`, `carried` and `other_kind`.
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

    @cached_property
    def limit(self) -> int:
        """How many positions the code takes: those asked for, or a half, a quarter, … of them."""
        most = FAR if self.free else ENTRIES // self.widths[0] + 1
        count = self.longest or most
        # Layers hold tables of some length, which nobody declares.
        while count > 2 and not self.takes(count):
            count //= 2
        return count

    def takes(self, count: int) -> bool:
        """Whether the code takes the last of so many positions, or all if it counts by itself."""
        positions = [count - 1] if self.free else range(count)
        try:
            self.call(self.draw((), len(positions)), positions)
        except Raised:
            return False
        except Broken as broken:
            # A law will report what is broken; but a table may end early.
            return bool(self.free) or not isinstance(broken, WrongShape)
        return True

    @property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return min(self.limit, ROWS)

    @cached_property
    def sequences(self) -> list[tuple[Floats, Floats]]:
        """For each width, x and the result for all rows; x is drawn for a rotation, else zeros."""
        turns = self.kind == "rotary"
        inputs = [turns * self.draw((), self.rows, width) for width in self.widths]
        return [(x, self.call(x, range(self.rows))) for x in inputs]

    @property
    def table(self) -> Any:
        """The whole sequence at the first width: (rows, width), the first of a batch."""
        _, out = self.sequences[0]
        return out.reshape(-1, *out.shape[-2:])[0]
