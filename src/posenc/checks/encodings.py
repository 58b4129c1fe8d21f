"""An encoding beside the book's: in the declared convention, or in the one recognized.

`Encoding` has, from top to bottom, what is declared, what calls of the code tell, and how a call is
compared. Tables, layers and rotations are subclasses, in `kinds`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from posenc._validate import check_choice, check_d_model, check_positions, check_real
from posenc.checks.calls import Code
from posenc.checks.causes import SOME, beside_a_fault, explain
from posenc.checks.recognition import (
    BASES,
    has_many_frequencies,
    rotations,
    tables,
)
from posenc.checks.trials import OTHER_KIND, Broken, Raised, Skip, Trial, WrongShape
from posenc.conventions import KNOWN, UNIT, Convention, EncodingCall, Floats, Reference

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
FAR = 2**17 + 1  # positions that are tried
ENTRIES = 2**21  # in one call, so that wide tables take no longer than narrow ones
NINE_TENTHS = 0.9  # of the entries are enough to recognize a convention
LOOSE = 4  # bounds: what is off by a little more has the convention, and is wrong by `values`
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
PAIRED = (
    "; pairs lie within the part if it is partial, across the head if proportional: to require "
    "one, pass convention=Convention(layout, extent=..., share=...)"
)
UNKNOWN = "no known convention gives nine tenths of it; beside it is"


def declared(convention: str | Convention | None, turns: bool) -> Convention | None:
    """Return a convention, or the known one of a name, which must be of the right kind."""
    if not isinstance(convention, Convention | None):
        check_choice("name of a convention", convention, KNOWN)
        convention = KNOWN[convention]
    if convention and convention.rotary != turns:
        of = "a rotation" if turns else "a table"
        raise ValueError(f"convention must be that of {of}, got {convention}")
    return convention


def of_axes(frequencies: Any) -> Floats:
    """Return declared frequencies, (axes, pairs), or no pairs of one axis if there are none."""
    if frequencies is None:
        return np.zeros((1, 0))
    omega = check_positions(frequencies, "frequencies", ndim=None)
    if not omega.size or omega.ndim > 2:
        rule = "must have shape (pairs,) or (axes, pairs)"
        raise ValueError(f"frequencies {rule}, got {omega.shape}")
    return np.atleast_2d(omega)


class Encoding(Code):
    """Code of an encoding, what it is declared to be, and what it is compared with.

    That is the declared convention, or the first known one that gives nine tenths of the whole
    sequence. For example, code that adds the paper's table is compared with that if nothing is
    declared, and with Marian's if ``convention="Marian"`` is.
    """

    carried: Any = 1.0  # multiplier of x, where rows are added to it
    unit: Any = UNIT  # of rounding, in the type that is returned

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
        self.learned = learned
        self.base = None if base is None else check_real("base", base, positive=True)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.declared_convention = declared(convention, self.kind == "rotary")
        self.frequencies = of_axes(frequencies)
        self.axes, self.pairs = self.frequencies.shape
        self.is_declared = bool(self.base or self.declared_convention or self.pairs)
        if learned and (self.is_declared or self.kind == "rotary"):
            raise ValueError("learned must not be given with what is of sinusoids")
        if widths is None:
            widths = self.widths_of(subject) if hasattr(subject, "training") else []
        usual = [2 * self.pairs] if self.pairs else [16, 24]
        # A single width is taken, too.
        taken = [check_d_model(width) for width in np.ravel(widths)] or usual
        self.check_widths(taken)
        # This calls the code, for which a rotation reads `axes`.
        super().__init__(subject, taken, longest)

    def widths_of(self, module: Any) -> list[int]:
        """Return the width of a torch module, if it tells."""
        return []

    def check_widths(self, widths: list[int]) -> None:
        """Raise if frequencies are declared, and aren't those of one of these widths alone."""
        known = self.declared_convention or Convention()
        most = len(known.encoding(widths[0]).frequencies)
        # Of a rotation, a part may turn.
        part = self.kind == "rotary" and not self.declared_convention
        fits = len(widths) == 1 and (0 if part else most) <= self.pairs <= most
        if self.pairs and not fits:
            rule = f"must be one that frequencies of {self.pairs} pairs fit"
            raise ValueError(f"widths {rule}; got {widths}")

    # What calls of the code tell. Each is found out when a law first asks for it, since the code
    # may raise, which the law reports. `nearest` comes last, and comparing needs it: so while it is
    # looked for, code is compared `beside` a given one.

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

    @cached_property
    def other_kind(self) -> bool:
        """Whether it is no sinusoid: that is declared, or seen from the entries."""
        if self.learned or self.is_declared or self.rows < 64:  # too few to tell
            return self.learned
        return has_many_frequencies(self.table)

    @property
    def likely(self) -> list[Convention]:
        """The conventions that go with what is declared, such as the base, usual ones first."""
        found = tables()
        if self.kind == "rotary":
            found = rotations(*self.sequences[-1], self.pairs)
        bases = [self.base] if self.base else BASES
        return [replace(one, base=base) for base, one in product(bases, found)]

    def beside(self, convention: Convention) -> Encoding:
        """Return the same code, which is compared with this convention."""
        other = copy.copy(self)
        # What a cached property holds is looked for no more.
        other.nearest = convention
        return other

    def share(self, convention: Convention) -> float:
        """Return which share of the entries a convention gives, at the width with the fewest."""
        trials = self.beside(convention).whole()
        return float(min((trial.ratio <= LOOSE).mean() for trial in trials))

    @cached_property
    def convention(self) -> Convention | None:
        """The declared convention, or the one recognized, if there is one."""
        if self.declared_convention:
            return self.declared_convention
        return next(
            (one for one in self.likely if self.share(one) >= NINE_TENTHS), None
        )

    @cached_property
    def nearest(self) -> Convention:
        """The convention, or that beside which a fault gives the same, or what gives most."""
        found = self.convention or beside_a_fault(self)
        return found or max(self.likely[:SOME], key=self.share)

    # The comparison

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        if self.other_kind:
            return None, LEARNED
        text = f"{'compared with' if self.convention else UNKNOWN} {self.nearest}"
        if self.pairs:
            text += ", but at the declared frequencies"
        if not self.declared_convention and self.nearest.extent != "whole":
            text += PAIRED
        return self.convention, text

    def reference(self, width: int) -> Reference:
        """Return the book's encoding of the nearest convention, as it is declared.

        A law that asks for it is skipped if the encoding is of another kind.
        """
        if self.other_kind:
            raise Skip(OTHER_KIND)
        right = self.nearest.encoding(width)
        # Coordinates of several axes are equal, so that their frequencies add up.
        omega = self.frequencies.sum(axis=0) if self.pairs else right.frequencies
        return replace(
            right, frequencies=omega, factor=self.factor, carried=self.carried
        )

    def trial(self, x: Floats, positions: Any, out: Floats, unit: float = 0.0) -> Trial:
        """Compare a result, of the shape of x, which has a rounding unit, with what is right."""
        k = np.asarray(positions, np.float64)
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        right = self.reference(x.shape[-1])
        call = EncodingCall(right, x, np.broadcast_to(k, x.shape[:-1]))
        meant = call.encode(call.angles)
        unit = unit or self.unit
        bounds = right.bound(x, call.angles, unit)
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        return Trial(f"shape {x.shape}", out, meant, bounds, axes, call, unit)

    def compare(
        self,
        x: Floats,
        positions: Any,
        unit: float = 0.0,
        shown: Any = slice(None),
        **variant: Any,
    ) -> Trial:
        """Call the code, or a variant, and compare those rows that are shown."""
        out = self.call(x, positions, **variant)[..., shown, :]
        k = np.asarray(positions)[..., shown]
        return self.trial(x[..., shown, :], k, out, unit)

    def whole(self) -> list[Trial]:
        """Compare the whole sequence at each width."""
        return [self.trial(x, range(self.rows), out) for x, out in self.sequences]

    def explain(self, trials: list[Trial]) -> str:
        """Return the faults that give what was measured, or what to declare."""
        return explain(self, trials)
