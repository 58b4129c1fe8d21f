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
    fitted,
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
    floats,
    same_shape,
    worst,
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
        meant = self.meant(x, positions)
        same_shape(found, meant)
        bounds = np.broadcast_to(self.allowed(x, meant, positions), found.shape)
        error, bound, place = worst(np.abs(found - meant), bounds)
        return error, bound, f"position {positions[place[-2]]}" if place else ""

    def compare_entries(
        self, found: Floats, positions: Sequence[int], unit: float = UNIT
    ) -> Measured:
        """Compare entries with those of a plain call; each has its own τ, in its own unit."""
        fine = self.entries(positions)
        same_shape(found, fine)
        bounds = self.tau(positions, unit) + self.tau(positions)
        error, bound, place = worst(np.abs(found - fine), bounds)
        return error, bound, f"position {positions[place[0]]}"

    def tau(self, positions: Sequence[int], unit: float = UNIT) -> Floats:
        """Return τ of the fastest pair at each position, shape (positions, 1)."""
        fastest = np.ones(1) if self.layout is None else self.measured_omega.max(keepdims=True)
        known = self.convention
        first = known.first if known else 0.0
        counted = np.abs(np.asarray(positions, dtype=np.float64) + first)
        if self.down:
            counted = np.full_like(counted, counted.max(initial=0))
        return rounding(counted[:, None] * fastest, fastest, unit) * max(self.attention_factor, 1)

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

    def explained(self, waves: Waves) -> Floats:
        """Return the error that float32 explains at each row and pair of measured waves."""
        omega, phase = measure(waves)
        rows = np.arange(len(waves))
        angles = np.abs(phase) + np.outer(rows, np.abs(omega))
        known = self.convention
        if known is not None and known.direction == "down":
            angles = angles[::-1] + len(waves) * np.abs(omega)
        if known is not None and known.step == 1000:  # angles alias: pairs turn too far per row
            made = known.speeds(2 * len(omega))
            return rounding(np.outer(rows, made), made / 1000, self.unit)
        return rounding(angles, omega, self.unit) * max(self.attention_factor, 1)

    def fit_uncertainty(self, positions: Floats, omega: Floats) -> Floats:
        """Return the uncertainty that the fit leaves in the angles at some positions.

        A base, step or start that isn't round is known only as precisely as a line through the
        rows: its slope and its start, each with the error that `measure` derives.
        """
        known = self.reference
        if known is None or known is self.asked or not known.measured(self.unit):
            return np.zeros((len(positions), len(omega)))
        return np.outer(np.abs(positions) / self.rows + 1, fitted(omega, self.rows, self.unit))

    def turning_pairs(self) -> list[int]:
        """Return the number of pairs that turn, at each width."""
        return [waves.shape[1] for waves in self.readable[str(self.layout)]]

    def explain_too_few_pairs(self) -> str | None:
        """Explain, if all widths have too few pairs to tell a base, and suggest wider ones."""
        pairs = self.turning_pairs()
        if max(pairs) >= PAIRS:
            return None
        wider = [d * -(-PAIRS // n) for d, n in zip(self.widths, pairs, strict=True)]
        found = f"{pairs[0]} pair{'s turn' if pairs[0] > 1 else ' turns'} at width {self.widths[0]}"
        return f"{found}; fitting a base takes at least {PAIRS}, as with widths={wider}"

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
