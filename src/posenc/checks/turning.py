"""What a table, a layer and a rotation have in common: pairs that turn, and a convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from posenc.checks.conventions import (
    PAIRS,
    UNIT,
    Convention,
    Fit,
    Floats,
    Waves,
    agree,
    alike,
    begin_alike,
    fits,
    measure,
    rounding,
    same_base,
)
from posenc.checks.probe import (
    Broken,
    Measured,
    Probe,
    Raised,
    WrongShape,
    compared,
    floats,
    same_shape,
)

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly


class Turning(Probe):
    """A probe whose pairs turn, at some widths: a table, a layer or a rotation.

    The three kinds differ in how they are called, in `call`, `meant` and `allowed`; the laws on
    calls and on measured pairs are the same.
    """

    layouts: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()
    omega: Floats | None = None  # requested frequencies
    attention_factor = 1.0
    down = False  # whether positions decrease from row to row
    free = True  # whether a call takes any positions, or only 0, 1, 2, …

    # What a kind defines

    rows: int
    raw: Callable[..., Any]  # calls the code with arrays of its library, or `via` in its place
    give: Callable[..., Any]  # converts x to an array of the library
    places: Callable[..., Any]  # converts positions to one
    meant: Callable[..., Floats]  # what a call should give, from a call for the whole sequence
    allowed: Callable[..., Floats]  # the bound for each entry of a call
    entries: Callable[..., Floats]  # all that is known of some positions, shape (positions, any)
    waves: Callable[..., Waves | None]  # cos + i·sin by row and pair; None if a layout doesn't fit

    def __init__(
        self,
        widths: Sequence[int],
        base: float | None,
        asked: Convention | None,
        length: int,
        longest: int,
    ) -> None:
        super().__init__()
        self.candidate_widths, self.base, self.asked = tuple(widths), base, asked
        self.length, self.longest = length, longest

    # Calls

    def draw(self, lead: tuple[int, ...], seq_len: int) -> Any:
        """Draw input with these sizes before (seq_len, width)."""
        generator = np.random.default_rng(0)
        drawn = generator.normal(size=(*lead, seq_len, self.widths[0]))
        return drawn.astype(np.float32).astype(np.float64)

    def call(self, x: Any, positions: Any, dtype: str = "float32", via: Any = None) -> Floats:
        """Call the code and return float64 values."""
        made = self.raw(self.give(x, dtype), self.places(positions), via)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != np.shape(x):
            raise WrongShape(f"shape {out.shape} for {np.shape(x)}")
        return out

    def compare(self, found: Floats, x: Any, positions: Sequence[int]) -> Measured:
        """Compare a call's result with what it should be."""
        return self.near(found, self.meant(x, positions), x, positions)

    def near(self, found: Floats, meant: Floats, x: Any, positions: Sequence[int]) -> Measured:
        """Compare results with others, within the bound of calls."""
        same_shape(found, meant)
        lead = [range(n) for n in found.shape[:-2]]
        bounds, note = self.allowed(x, meant, positions), f"position {{{len(lead)}}}"
        return compared(found - meant, bounds, note, *lead, positions)

    def compare_entries(
        self, found: Floats, positions: Sequence[int], unit: float = UNIT
    ) -> Measured:
        """Compare entries with those of a plain call; each has its own τ, in its own unit."""
        fine = self.entries(positions)
        same_shape(found, fine)
        bounds = self.tau(positions, unit) + self.tau(positions)
        return compared(found - fine, bounds, "position {}", positions)

    def taus(self, positions: Any, unit: float | None = None) -> Floats:
        """Return τ of each pair at some positions, shape (*positions, pairs).

        Frequencies are those of the convention; without one, they are as measured.
        """
        counted = np.asarray(positions, dtype=np.float64)
        last = counted.max(initial=0)
        counted = last - counted if self.down else counted
        known = self.convention
        omega, first = np.ones(1), 0 * np.ones(1)
        if known is not None:
            omega = known.speeds(self.widths[0], int(last) + 1)
            first = known.first * omega
        elif self.layout is not None:
            omega, first = measure(self.readable[self.layout][0])
        angles = np.abs(first) + np.multiply.outer(counted, np.abs(omega))
        relative = omega / max(np.abs(omega).max(), 1e-30)
        return rounding(angles, relative, unit or self.unit) * max(self.attention_factor, 1)

    def tau(self, positions: Any, unit: float = UNIT) -> Floats:
        """Return τ of the fastest pair at each position, shape (*positions, 1)."""
        return np.asarray(self.taus(positions, unit).max(axis=-1, keepdims=True))

    def exact_taus(self, positions: Sequence[int]) -> Floats:
        """Return the bounds for a comparison with exact values.

        A base, step or start that isn't round is known only as precisely as a line through the
        rows: its slope and its start, each with the error that `measure` derives, add to τ.
        """
        known, allowed = self.reference, self.taus(positions)
        round_ones = known is None or known is self.asked or not known.measured(self.unit)
        if round_ones or self.omega is not None:
            return allowed
        return allowed + np.outer(
            np.abs(positions) / np.float64(self.rows) + 1, 4 * self.taus([self.rows])
        )

    # Pairs and convention

    @cached_property
    def readable(self) -> dict[str, list[Waves]]:
        """Waves at all widths, under each layout that fits all of them."""
        found = {}
        for layout in self.layouts:
            each = [self.waves(d_model, layout) for d_model in self.widths]
            sure = [waves for waves in each if waves is not None]
            if len(sure) == len(each):
                found[layout] = sure
        return found

    @cached_property
    def fit(self) -> Fit | None:
        """The convention and how well it fits, or None."""
        found = []
        for layout, waves in self.readable.items():
            all_widths = list(zip(self.widths, waves, strict=True))
            enough = [(d, each) for d, each in all_widths if each.shape[1] >= PAIRS]
            possible = [self.possible(each, layout, d) for d, each in enough or all_widths]
            best = agree(possible, self.base)
            if best is not None:
                found.append(best)
        return min(found, key=lambda one: (one.start > 1, one.frequency), default=None)

    def possible(self, waves: Waves, layout: str, d_model: int) -> list[Fit]:
        """Return the conventions that these waves may follow."""
        return list(fits(waves, layout, self.unit))

    @property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The convention, or None."""
        return self.fit.convention if self.fit else None

    @cached_property
    def layout(self) -> str | None:
        """The layout whose pairs stay on a circle, if there is one."""
        return self.convention.layout if self.convention else next(iter(self.readable), None)

    @property
    def measured_omega(self) -> Floats:
        """Measured radians per position of each pair at the first width, without their signs."""
        return np.asarray(np.abs(measure(self.readable[str(self.layout)][0])[0]))

    def turning_pairs(self) -> list[int]:
        """Return the number of pairs that turn, at each width."""
        return [waves.shape[1] for waves in self.readable[str(self.layout)]]

    @cached_property
    def reference(self) -> Convention | None:
        """The convention to compare with, using the requested numbers where they match."""
        found, asked = self.convention, self.asked
        if found and asked and alike(found, asked) and begin_alike(found, asked):
            return asked
        if found is None or self.base is None or not same_base(found.base, self.base):
            return found
        return replace(found, base=self.base)

    def takes(self, call: Any) -> bool:
        """Whether a call raises nothing; what is wrong with its result, a law will report."""
        try:
            call()
        except Raised:
            return False
        except Broken:
            pass
        return True
