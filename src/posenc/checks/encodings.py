"""An encoding beside the book's: in the declared convention, or in the one recognized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    multiplier,
    rotations,
    tables,
)
from posenc.checks.trials import NEAR, OTHER_KIND, Skip, Trial
from posenc.conventions import KNOWN, UNIT, Convention, EncodingCall, Floats, Reference

# Bounds: what is off by a little more has the convention, and is wrong by `values`.
LOOSE = 4
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

    That is the declared convention, or the first known one which gives nine tenths of the whole
    sequence. `check_table` describes what is declared. Of conventions,

    - `declared_convention` is None if none is declared;
    - `likely` are those that go with what is declared, such as the base, the usual ones first;
    - `convention` is the declared one, or the first of these that is followed, or None;
    - `nearest` is the same, or one of the likeliest, beside which a cause is found if there is
      any, never None: `reference` is of that.
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

    # The convention

    @cached_property
    def other_kind(self) -> bool:
        """Whether it is no sinusoid: that is declared, or seen from the entries."""
        if self.learned or self.is_declared or self.rows < 64:  # too few to tell
            return self.learned
        return has_many_frequencies(self.table)

    def candidates(self, bases: list[float]) -> Iterator[Convention]:
        """Yield the conventions that this kind may have, of each base."""
        found = tables()
        if self.kind == "rotary":
            found = rotations(*self.sequences[-1], self.pairs)
        for base, convention in product(bases, found):
            yield replace(convention, base=base)

    def share(self, convention: Convention, x: Floats, out: Floats) -> float:
        """Return which share of a sequence's entries a convention gives."""
        # There are hundreds to try: every seventh row decides, the last among them.
        k = np.arange(x.shape[-2])[::-7]
        right = self.reference(x.shape[-1], convention)
        trial = self.trial(x[..., k, :], k, out[..., k, :], right)
        # `values` tells if the multiplier isn't 1.
        scaled = multiplier(trial.given, trial.meant) * trial.meant
        return float((replace(trial, meant=scaled).ratio <= LOOSE).mean())

    def follows(self, convention: Convention) -> bool:
        """Whether a convention gives nine tenths of the entries, at all widths."""
        return all(self.share(convention, x, out) >= 0.9 for x, out in self.sequences)

    @cached_property
    def likely(self) -> list[Convention]:
        """All conventions that may be declared so."""
        return [*self.candidates([self.base] if self.base else BASES)]

    @cached_property
    def convention(self) -> Any:
        """The declared convention, or the one recognized, if there is one."""
        if self.declared_convention:
            return self.declared_convention
        return next(filter(self.follows, self.likely), None)

    @cached_property
    def nearest(self) -> Any:
        """The convention, or that beside which a fault gives the same, or the last to part."""
        return self.convention or beside_a_fault(self) or self.last_to_part

    @cached_property
    def last_to_part(self) -> Convention:
        """Of the likeliest conventions, the one whose entries are right for the most rows."""
        x, out = self.sequences[-1]
        rows = np.arange(x.shape[-2])

        def first_wrong(convention: Convention) -> int:
            meant = self.reference(x.shape[-1], convention)(x, rows)
            # One that never parts, by so much, parts behind the end.
            return int(np.append(np.abs(out - meant) > NEAR, True).argmax())

        return max(self.likely[:SOME], key=first_wrong)

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

    # What it gives there

    def reference(self, width: int, convention: Convention | None = None) -> Reference:
        """Return the book's encoding of a convention, by default the nearest, as it is declared.

        A law that asks for it is skipped if the encoding is of another kind.
        """
        if self.other_kind:
            raise Skip(OTHER_KIND)
        right = (convention or self.nearest).encoding(width)
        # Coordinates of several axes are equal, so that their frequencies add up.
        omega = self.frequencies.sum(axis=0) if self.pairs else right.frequencies
        return replace(
            right, frequencies=omega, factor=self.factor, carried=self.carried
        )

    def trial(
        self,
        x: Floats,
        positions: Any,
        out: Floats,
        right: Reference,
        unit: float = 0.0,
    ) -> Trial:
        """Compare a result, of the shape of x, with what is right."""
        k = np.asarray(positions, np.float64)
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        k = np.broadcast_to(k, x.shape[:-1])
        unit, angles = unit or self.unit, right.angles(k)
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        meant, bounds = right.encode(x, angles), right.bound(x, angles, unit)
        call = EncodingCall(right, x, k)
        return Trial(f"shape {x.shape}", out, meant, bounds, axes, call, unit)

    def compare(
        self,
        x: Floats,
        positions: Any,
        unit: float = 0.0,
        convention: Convention | None = None,
        **variant: Any,
    ) -> Trial:
        """Call the code, or a variant, whose results have a rounding unit; and compare it."""
        out = self.call(x, positions, **variant)
        right = self.reference(x.shape[-1], convention)
        return self.trial(x, positions, out, right, unit)

    def whole(self, convention: Convention | None = None) -> list[Trial]:
        """Compare the whole sequence at each width."""
        return [
            self.trial(
                x, range(x.shape[-2]), out, self.reference(x.shape[-1], convention)
            )
            for x, out in self.sequences
        ]

    def explain(self, trials: list[Trial]) -> str:
        """Return the faults that give what was measured, or what to declare."""
        return explain(self, trials)
