"""An encoding beside the book's: in the declared convention, or in the one recognized.

`Encoding` has, from top to bottom, what is declared, what calls of the code tell, which convention
that is, and how a call is compared. Tables, layers and rotations are subclasses, in `kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_choice, check_d_model, check_positions, check_real
from posenc.checks import causes
from posenc.checks.calls import Code
from posenc.checks.recognition import BASES, has_many_frequencies, rotations, tables
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import POSITIONS, argument
from posenc.checks.trials import OTHER_KIND, Broken, Raised, Skip, Trial, WrongShape
from posenc.conventions import KNOWN, UNIT, Convention, Floats
from posenc.museum import known

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
FAR = 2**17 + 1  # positions that are tried
ENTRIES = 2**21  # in one call, so that wide tables take no longer than narrow ones
NINE_TENTHS = 0.9  # of the entries are enough to recognize a convention
SOME = 9  # conventions, the likeliest: at least each layout and extent, upward
LOOSE = 4  # bounds: what is off by a little more has the convention, and is wrong by `values`
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
PAIRED = (
    "; pairs lie within the part if it is partial, across the head if proportional: to require "
    "one, pass convention=Convention(layout, extent=..., share=...)"
)
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)
UNKNOWN = "no known convention gives nine tenths of it; beside it is"


def convention_of(declared: str | Convention | None, turns: bool) -> Convention | None:
    """Return a convention, or the known one of a name, which must be of the right kind."""
    if isinstance(declared, str):
        check_choice("name of a convention", declared, KNOWN)
        declared = KNOWN[declared]
    if declared and declared.rotary != turns:
        of = "a rotation" if turns else "a table"
        raise ValueError(f"convention must be that of {of}, got {declared}")
    return declared


def of_axes(frequencies: Any) -> Floats:
    """Return declared frequencies, (axes, pairs), or no pairs of one axis if there are none."""
    if frequencies is None:
        return np.zeros((1, 0))
    omega = check_positions(frequencies, "frequencies", ndim=None)
    if not omega.size or omega.ndim not in (1, 2):
        rule = "must have shape (pairs,) or (axes, pairs)"
        raise ValueError(f"frequencies {rule}, got {omega.shape}")
    return np.atleast_2d(omega)


class Result(NamedTuple):
    """What a call gave."""

    x: Floats  # (..., seq_len, width)
    k: Floats  # positions, (seq_len,) or (batch, seq_len)
    out: Floats  # of the shape of x
    unit: float  # of rounding, in the type that was returned


class Encoding(Code):
    """Code of an encoding, what it is declared to be, and what it is compared with.

    That is the declared convention, or the first known one that gives nine tenths of the whole
    sequence. For example, code that adds the paper's table is compared with that if nothing is
    declared, and with Marian's if ``convention="Marian"`` is.
    """

    def __init__(
        self,
        subject: Any,
        widths: Sequence[int] | None = None,
        longest: int = 0,
        learned: bool = False,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        attention_factor: float = 1.0,
    ) -> None:
        if base is not None and (convention or frequencies is not None):
            raise ValueError("base must not be given with what includes it")
        # What is declared: it stays as it is.
        self.turns = self.kind == "rotary"
        # Those that it may have
        self.bases = BASES
        if base is not None:
            self.bases = [check_real("base", base, positive=True)]
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.declared_convention = convention_of(convention, self.turns)
        self.frequencies = of_axes(frequencies)
        self.count_of_axes, self.declared_pairs = self.frequencies.shape
        self.is_declared = bool(base or self.declared_convention or self.declared_pairs)
        self.learned = learned
        if learned and (self.is_declared or self.turns):
            raise ValueError("learned must not be given with what is of sinusoids")
        if widths is None:
            widths = self.widths_of(subject) if hasattr(subject, "training") else []
        usual = [2 * self.declared_pairs] if self.declared_pairs else [16, 24]
        # A single width is taken, too.
        taken = [check_d_model(width) for width in np.ravel(widths)] or usual
        self.check_widths(taken)
        super().__init__(subject, taken, longest)

    @property
    def carried(self) -> float:
        """The multiplier of x, where rows are added to it."""
        return 1.0

    @property
    def unit(self) -> float:
        """The unit of rounding, in the type that is returned."""
        return UNIT

    def widths_of(self, module: Any) -> list[int]:
        """Return the width of a torch module, if it tells."""
        return []

    def check_widths(self, widths: list[int]) -> None:
        """Raise if frequencies are declared, and aren't those of one of these widths alone."""
        known = self.declared_convention or Convention()
        most = len(known.encoding(np.zeros((1, widths[0])), [0]).powers)
        # Of a rotation, a part may turn.
        part = self.turns and not self.declared_convention
        fits = len(widths) == 1 and (0 if part else most) <= self.declared_pairs <= most
        if self.declared_pairs and not fits:
            rule = f"must be one that frequencies of {self.declared_pairs} pairs fit"
            raise ValueError(f"widths {rule}; got {widths}")

    # What calls of the code tell. Each is found out when a law first asks for it, since the code
    # may raise, which the law reports.

    @cached_property
    def place(self) -> Parameter | None:
        """The argument for positions, if it has a usual name."""
        call = getattr(self.module, "forward", self.module)
        name = argument(call, POSITIONS)
        return signature(call).parameters[name] if name else None

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
        except (Raised, WrongShape):
            return False
        except Broken:
            pass  # A law will report it.
        return True

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
        return Result(x[..., shown, :], k, out[..., shown, :], unit or self.unit)

    @cached_property
    def sequences(self) -> list[Result]:
        """For each width, a call of all rows; x is drawn for a rotation, else zeros."""
        inputs = [self.turns * self.draw((), self.rows, width) for width in self.widths]
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
        if self.learned or self.is_declared or self.turns:
            return self.learned
        few = self.rows < 64  # too few to tell
        return not few and has_many_frequencies(self.table)

    # Which convention it has. Until that is known, calls are compared with one that is passed on.

    def likely(self, bases: list[float], declared_pairs: int) -> list[Convention]:
        """Return conventions, usual ones first, if so many pairs turn; 0 is not to say."""
        x, _, out, _ = self.sequences[-1]
        found = rotations(x, out, declared_pairs) if self.turns else tables()
        return [replace(one, base=base) for base in bases for one in found]

    def share(self, convention: Convention) -> float:
        """Return which share of the entries a convention gives, at the width with the fewest."""
        trials = self.compare_with(convention, self.sequences)
        return float(min((trial.ratio <= LOOSE).mean() for trial in trials))

    @cached_property
    def convention(self) -> Convention | None:
        """The declared convention, or the one recognized, if there is one."""
        if self.declared_convention:
            return self.declared_convention
        likely = self.likely(self.bases, self.declared_pairs)
        return next((one for one in likely if self.share(one) >= NINE_TENTHS), None)

    @cached_property
    def nearest(self) -> Convention:
        """The convention, or that beside which a fault gives the same, or what gives most.

        A law that asks for it is skipped if the encoding is of another kind.
        """
        if self.other_kind:
            raise Skip(OTHER_KIND)
        if self.convention:
            return self.convention
        some = self.likely(self.bases, self.declared_pairs)[:SOME]
        for one in some + [replace(some[0], base=base) for base in self.bases]:
            if causes.causes(known(self.kind), self.compare_with(one, self.usual)):
                return one
        for one in some:
            if causes.measured_causes(self.compare_with(one, self.usual)):
                return one
        return max(some, key=self.share)

    # The comparison

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        if self.other_kind:
            return None, LEARNED
        text = f"{'compared with' if self.convention else UNKNOWN} {self.nearest}"
        if self.declared_pairs:
            text += ", but at the declared frequencies"
        if not self.declared_convention and self.nearest.extent != "whole":
            text += PAIRED
        return self.convention, text

    def compare_with(
        self, convention: Convention, results: list[Result]
    ) -> list[Trial]:
        """Compare results with a convention."""
        return [self.trial(convention, *result) for result in results]

    def trial(
        self, convention: Convention, x: Floats, k: Floats, out: Floats, unit: float
    ) -> Trial:
        """Compare a result with a convention."""
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        call = convention.encoding(x, np.broadcast_to(k, x.shape[:-1]))
        call = call._replace(factor=self.factor, carried=self.carried)
        if self.declared_pairs:
            # Coordinates of several axes are equal, so that their frequencies add up.
            call = call._replace(frequencies=self.frequencies.sum(axis=0))
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        return Trial(
            f"shape {x.shape}", out, call.meant, call.bounds(unit), axes, call, unit
        )

    def compare(self, x: Floats, positions: Any, **options: Any) -> Trial:
        """Call the code, as `measure` does, and compare it with the nearest convention."""
        result = self.measure(x, positions, **options)
        return self.trial(self.nearest, *result)

    def whole(self) -> list[Trial]:
        """Compare the whole sequence at each width."""
        return self.compare_with(self.nearest, self.sequences)

    def explain(self, trials: list[Trial]) -> str:
        """Return what gives these trials and the usual calls, or what to declare."""
        # Properties have no call that a fault could be run on.
        calls = [trial for trial in trials if trial.call]
        if not calls:
            return ""
        # Of results that are rounded to a half type, calls in other types say nothing.
        if calls[0].unit <= UNIT:
            calls = self.compare_with(self.nearest, self.usual) + calls
        # What is followed instead of what is declared, at its own frequencies
        others = self.likely(BASES, 0) if self.is_declared else []
        found = causes.explain(calls, self.kind, others)
        return found or ("" if self.convention else NO_CAUSE + MEANT)
