"""An encoding beside the book's: in the declared convention, or in the one recognized.

`Encoding` calls the code. What is declared, how a result is compared, and which convention results
have, is in `declared`. Tables, layers and rotations are subclasses, in `kinds`.
"""

from bisect import bisect
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from posenc._validate import check_int
from posenc.checks import causes
from posenc.checks.calls import Code
from posenc.checks.declared import Declared, Result, has_many_frequencies
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import OTHER_KIND, Broken, Raised, Skip, Trial
from posenc.conventions import UNIT, Convention, Floats

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
FAR = 2**17 + 1  # positions that are tried
ENTRIES = 2**21  # in one call, so that wide tables take no longer than narrow ones
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
PAIRED = (
    "; pairs lie within the part if it is partial, across the head if proportional: to require "
    "one, pass convention=Convention(layout, extent=..., share=...)"
)
MEANT = f"{NO_CAUSE}; if they are meant, pass base=, frequencies= or convention="
PADDED = (
    "if row 0 or 1, which is zeros, is padding's, check those behind it: pass `lambda n, d: "
    "encode(n + 2, d)[..., 2:, :]`, with your function for encode; a declared convention that "
    "counts from 0 has first=2 there"
)
UNKNOWN = "no known convention gives nine tenths of it; beside it is"


class Encoding(Code):
    """Code of an encoding, what its calls tell, and what laws compare.

    What calls tell is found out when a law first asks for it, and kept. Each of these needs those
    above it alone. What it may raise, the law reports, and the next law tries again.

    ==============  ==========================================  =======================
    limit           how many positions the code takes           Raised, if a class does
    unit, carried   of all results                              Raised, Broken
    sequences       results of all rows, one for each width     Raised, Broken
    usual           the same, and a batch in front              Raised, Broken
    other_kind      whether these aren't sinusoids              Raised, Broken
    convention      the declared one, or that of the sequences  Raised, Broken
    nearest         that, or one beside which a fault is told   Raised, Broken, or Skip
    ==============  ==========================================  =======================
    """

    otherwise = ", or learned=True for a table of another kind"  # if no cause is found
    unit: Any = UNIT  # of rounding, in the type that is returned
    carried: Any = 1.0  # the multiplier of x, where rows are added to it

    def __init__(
        self,
        subject: Any,
        widths: Sequence[int] | None = None,
        longest: int = 0,
        **declared: Any,
    ) -> None:
        self.declared = Declared(self.kind, **declared)
        self.longest = longest and check_int("longest", longest, minimum=16)
        if widths is None:
            widths = self.widths_of(subject)
        super().__init__(subject, self.declared.widths(widths))

    def widths_of(self, module: Any) -> list[int]:
        """Return the width of a module's first table, or of frequencies, one for each pair."""
        if not hasattr(module, "training"):
            return []
        parts = [*module.buffers(), *module.parameters()]
        shapes = [part.shape for part in parts if part.is_floating_point()]
        if self.declared.turns:
            return [2 * shape[0] for shape in shapes if len(shape) == 1][:1]
        return [shape[-1] for shape in shapes if len(shape) > 1][:1]

    # What calls of the code tell

    @cached_property
    def limit(self) -> int:
        """How many positions the code takes, of those asked for."""
        count = self.longest or (FAR if self.free else ENTRIES // self.widths[0] + 1)
        if self.takes(count):
            return count
        # Layers hold tables of some length, which nobody declares: more than that is refused. The
        # first count that is refused is found by halving; the one before it is the last that isn't.
        return bisect(range(count), False, 2, key=lambda n: not self.takes(n)) - 1

    def takes(self, count: int) -> bool:
        """Whether the code takes the last of so many positions, or all if it counts by itself."""
        positions = [count - 1] if self.free else range(count)
        with suppress(Raised, Broken):
            self.call(self.draw((), len(positions)), positions, finite=False)
            return True
        return False

    @property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return min(self.limit, ROWS)

    def measure(
        self,
        x: Floats,
        positions: Any,
        unit: float = 0.0,
        shown: Any = slice(None),
        **variant: Any,
    ) -> Result:
        """Call the code, or a variant, and keep those rows that are shown."""
        out = self.call(x, positions, **variant)
        k = np.asarray(positions, np.float64)[..., shown]
        x = self.carried * x[..., shown, :]
        return Result(x, k, out[..., shown, :], unit or self.unit)

    @cached_property
    def sequences(self) -> list[Result]:
        """For each width, a call of all rows; x is drawn for a rotation, else zeros."""
        turns = self.declared.turns
        inputs = [turns * self.draw((), self.rows, width) for width in self.widths]
        return [self.measure(x, range(self.rows)) for x in inputs]

    @cached_property
    def usual(self) -> list[Result]:
        """A batch, if the code takes any, and the sequences."""
        with suppress(Broken, Raised):
            # The batch goes first: it is small, and tells most faults.
            return [self.measure(self.draw((2, 3), 5), range(5)), *self.sequences]
        return self.sequences

    @property
    def table(self) -> Any:
        """The whole sequence at the first width: (rows, width), the first of a batch."""
        out = self.sequences[0].out
        return out.reshape(-1, *out.shape[-2:])[0]

    @cached_property
    def other_kind(self) -> bool:
        """Whether it is no sinusoid: that is declared, or seen from the entries."""
        declared = self.declared
        if declared.learned or declared.is_sinusoid or declared.turns:
            return declared.learned
        return has_many_frequencies(self.table)

    @cached_property
    def convention(self) -> Convention | None:
        """The declared convention, or the one recognized, if there is one."""
        declared = self.declared
        return declared.convention or declared.recognized(self.sequences)

    @cached_property
    def nearest(self) -> Convention:
        """The convention, or the nearest; a law is skipped if the encoding is of another kind."""
        if self.other_kind:
            raise Skip(OTHER_KIND)
        return self.convention or self.declared.nearest(self.sequences, self.usual)

    # What laws compare

    def compare(self, x: Floats, positions: Any, **options: Any) -> Trial:
        """Call the code, as `measure` does, and compare it with the nearest convention."""
        result = self.measure(x, positions, **options)
        return self.declared.trial(self.nearest, result)

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        if self.other_kind:
            return None, LEARNED
        text = f"{'compared with' if self.convention else UNKNOWN} {self.nearest}"
        if self.declared.pairs:
            text += ", but at the declared frequencies"
        if not self.declared.convention and self.nearest.extent != "whole":
            text += PAIRED
        return self.convention, text

    def explain(self, trials: list[Trial]) -> str:
        """Return what gives these trials and the usual calls, or what to declare."""
        # Properties have no call that a fault could be run on.
        calls = [trial for trial in trials if trial.call]
        if not calls:
            return ""
        # Of results that are rounded to a half type, calls in other types say nothing.
        if calls[0].unit <= UNIT:
            calls = self.declared.trials(self.nearest, self.usual) + calls
        # What is followed instead of what is declared, at its own frequencies
        is_declared = self.declared.is_sinusoid
        likely = Declared(self.kind).likely(self.sequences) if is_declared else []
        meant = "" if self.convention else MEANT + self.otherwise
        cause = causes.explain(calls, self.kind, chain(*likely)) or meant
        if self.kind == "table" and not self.table[:2].any(axis=-1).all():
            return f"{cause or NO_CAUSE}; {PADDED}"
        return cause
