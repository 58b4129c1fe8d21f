"""What an encoding is compared with, and which convention or known fault gives its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc._validate import check_choice, check_positions, check_real
from posenc.checks.families import of_both, of_encoding
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import known
from posenc.checks.trials import (
    NEAR,
    OTHER_KIND,
    EncodingCall,
    Skip,
    Trial,
    causes,
    tolerance,
)
from posenc.conventions import (
    KNOWN,
    LAYOUTS,
    ROTARY_LAYOUTS,
    RULES,
    UNIT,
    Convention,
    Floats,
    Reference,
)

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
BASES += [8e6, 1.5e5, 1.6e5, 2.5e5, 5e4, 4e4, 3e4, 2e4]
# Bounds: what is off by a little more has the convention, and is wrong by `values`.
LOOSE = 4
MANY = 5000  # rows, of which some tell a cause
# Rounding of an angle, as of its position: u (3 |ln omega| + 5), of the least frequency
APART = 33 * UNIT
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
PAIRED = (
    "; pairs lie within the part if it is partial, across the head if proportional: to require "
    "one, pass convention=Convention(layout, extent=..., share=...)"
)
UNKNOWN = "no known convention gives nine tenths of it; beside it is"
MEANT = (
    "if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)


class Comparison:
    """An encoding beside the book's: in the declared convention, or in the one recognized.

    That is the first known one which gives nine tenths of the whole sequence. `check_table`
    describes what is declared. Of the encoding, this asks for `kind`, `widths`, `sequences`,
    `carried`, `unit` and `other_kind`, and to explain a failure, for another call.
    """

    def __init__(
        self,
        encoding: Encoding,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        attention_factor: float = 1.0,
    ) -> None:
        if base is not None and (convention or frequencies is not None):
            raise ValueError("base must not be given with what includes it")
        self.encoding = encoding
        self.base = None if base is None else check_real("base", base, positive=True)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.declared: Any = convention
        if not isinstance(convention, Convention | None):
            check_choice("name of a convention", convention, KNOWN)
            self.declared = KNOWN[convention]
        # (axes, pairs), if frequencies are declared
        omega = () if frequencies is None else frequencies
        omega = check_positions(omega, "frequencies", ndim=None)
        self.frequencies = np.atleast_2d(omega)
        self.axes, self.pairs = self.frequencies.shape
        self.is_declared = bool(self.base or self.declared or self.pairs)

    def check_widths(self, widths: list[int]) -> None:
        """Raise if frequencies are declared, and aren't those of one of these widths alone."""
        known = self.declared or Convention()
        most = len(known.encoding(widths[0]).frequencies)
        # Of a rotation, a part may turn.
        part = self.encoding.kind == "rotary" and not self.declared
        fits = len(widths) == 1 and (0 if part else most) <= self.pairs <= most
        if self.pairs and not fits:
            rule = f"must be one that frequencies of {self.pairs} pairs fit"
            raise ValueError(f"widths {rule}; got {widths}")

    @cached_property
    def templates(self) -> list[Convention]:
        """Conventions to try, of any base."""
        if self.encoding.kind == "rotary":
            return self.rotations()
        known = [table for table in KNOWN.values() if not table.rotary]
        starts = product(LAYOUTS, RULES, (0, 1, 2))
        return known + [Convention(layout, rule, first=k) for layout, rule, k in starts]

    def rotations(self) -> list[Convention]:
        """Return rotations of the dimensions that turn, in all layouts, and both ways."""
        x, out = self.encoding.sequences[-1]
        moving = np.flatnonzero((out != x).any(axis=0))
        turning, width = 2 * self.pairs or len(moving), x.shape[-1]
        share, start, extents = 1.0, 0.0, ["whole"]
        if 0 < turning < width:
            share = turning / width
            # If the first of 8 to 15 isn't seen to move, 4 declared pairs still start at 8 of 16.
            start = min([*moving[:1], width - turning]) / width
            extents = ["partial"] if start else ["partial", "proportional"]
        ways = product(ROTARY_LAYOUTS, extents, ("up", "backwards"))
        return [
            Convention(layout, direction=way, extent=extent, share=share, start=start)
            for layout, extent, way in ways
        ]

    def candidates(self) -> Iterator[Convention]:
        """Yield the templates, with the declared base, or each of the usual ones."""
        bases = [self.base] if self.base else BASES
        for base, template in product(bases, self.templates):
            yield replace(template, base=base)

    def follows(self, known: Convention) -> bool:
        """Whether a convention gives nine tenths of the entries, at all widths."""
        for x, out in self.encoding.sequences:
            # There are hundreds to try: every seventh row decides, the last among them.
            k = np.arange(x.shape[-2])[::-7]
            trial = self.trial(x[..., k, :], k, out[..., k, :], known)
            # `values` tells if the multiplier isn't 1.
            scaled = multiplier(trial.given, trial.meant) * trial.meant
            if (replace(trial, meant=scaled).ratio <= LOOSE).mean() < 0.9:
                return False
        return True

    @cached_property
    def convention(self) -> Any:
        """The declared convention, or the one recognized, if there is one."""
        if self.declared:
            return self.declared
        return next(filter(self.follows, self.candidates()), None)

    @property
    def nearest(self) -> Convention:
        """The convention, or the likeliest."""
        return self.convention or next(self.candidates())

    @property
    def about(self) -> str:
        """What the encoding was compared with."""
        words = "compared with" if self.convention else UNKNOWN
        text = f"{words} {self.nearest}"
        text += ", but at the declared frequencies" if self.pairs else ""
        seen = not self.declared and self.nearest.extent != "whole"
        return text + PAIRED if seen else text

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's encoding: of the convention, or with the declared frequencies.

        A law that asks for it is skipped if the encoding is of another kind.
        """
        if self.encoding.other_kind:
            raise Skip(OTHER_KIND)
        right = (known or self.nearest).encoding(width)
        # Coordinates of several axes are equal, so that their frequencies add up.
        omega = self.frequencies.sum(axis=0) if self.pairs else right.frequencies
        carried = self.encoding.carried
        return replace(right, frequencies=omega, carried=carried, factor=self.factor)

    def trial(
        self,
        x: Floats,
        positions: Any,
        out: Floats,
        known: Convention | None = None,
        unit: float = 0.0,
    ) -> Trial:
        """Compare a result, of the shape of x, with the book's.

        The rounding unit is that of the encoding, unless another is given.
        """
        k = np.asarray(positions, np.float64)
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        k = np.broadcast_to(k, x.shape[:-1])
        right, unit = self.reference(x.shape[-1], known), unit or self.encoding.unit
        angles = right.angles(k)
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        meant, bounds = right.encode(x, angles), right.bound(x, angles, unit)
        call, rounded = EncodingCall(right, x, k), unit > UNIT
        return Trial(f"shape {x.shape}", out, meant, bounds, axes, call, rounded)

    def whole(self) -> list[Trial]:
        """Compare the whole sequence at each width."""
        return [
            self.trial(x, range(x.shape[-2]), out) for x, out in self.encoding.sequences
        ]

    def explain(self, trials: list[Trial]) -> str:
        """Return what gives the same calls, a batch, and the whole sequence, as a report says it.

        Each step takes trials, and returns a str, "" if it finds nothing: then the next is tried.

        1. `by_known_faults`, of all calls: faults of the museum, by name.
        2. `by_another_convention`, of whole sequences, if they are wrong: one, or a multiplier.
        3. `by_fits`, of all calls: faults whose numbers are fitted, and what to declare.
        """
        # Properties have no call that a fault could be run on.
        calls = [trial for trial in trials if trial.call]
        if not calls:
            return ""
        whole = self.whole()
        if not calls[0].rounded:
            # Most faults are told by the batch, which is small.
            x = self.encoding.draw((2, 3), 5)
            calls = [self.encoding.compare(x, range(5)), *calls, *whole]
        near, agrees = tolerance(calls), all(trial.worst <= 1 for trial in whole)
        return (
            self.by_known_faults(calls, near)
            or ("" if agrees else self.by_another_convention(whole))
            or self.by_fits(calls, near)
            or ("" if agrees else NO_CAUSE + self.advice)
        )

    def by_known_faults(self, calls: list[Trial], near: float) -> str:
        """Name the known faults that give all calls, in the first convention in which any do."""
        for likely in self.recognized or self.likely:
            text = self.causes_in(likely, calls, near)
            if text:
                return text
        return ""

    def by_another_convention(self, whole: list[Trial]) -> str:
        """Say if it follows a convention that wasn't declared, or is multiplied by a number."""
        if self.is_declared:
            other = Comparison(self.encoding, attention_factor=self.factor).convention
            if other not in (None, self.convention):
                return f"these are the numbers of another convention: {other}"
        given, meant = whole[0].given, whole[0].meant
        number = multiplier(given, meant)
        multiplied = np.abs(given - number * meant).max() < NEAR < abs(number - 1)
        if multiplied and number > 0:
            cure = f"pass attention_factor={number:.9g}, widths=[{given.shape[-1]}]"
            return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
        return ""

    def by_fits(self, calls: list[Trial], near: float) -> str:
        """Name the faults that are fitted to the calls: of one thing, and else of two."""
        conventions = self.recognized or self.plain
        # One thing is tried in all conventions before two are in any.
        for fit, likely in product((of_encoding, of_both), conventions):
            text = self.causes_in(likely, calls, near, fit)
            if text:
                return text if self.recognized else text + self.advice
        return ""

    def causes_in(
        self, likely: Convention, calls: list[Trial], near: float, fit: Any = None
    ) -> str:
        """Name known faults, or fitted ones, beside a convention, and that if `about` doesn't."""
        beside = [self.beside(trial, likely) for trial in calls]
        faults = fit(beside) if fit else known(self.encoding.kind)
        # What is fitted may be of some calls only; a known fault is of all.
        text = causes(faults, beside, near, partly=bool(fit))
        if text and likely != self.nearest:
            text += f"; in {likely}"
        return text

    @property
    def advice(self) -> str:
        """What to do if the numbers are meant, and nothing is declared."""
        return "" if self.declared or self.pairs else f"; {MEANT}"

    def beside(self, trial: Trial, likely: Convention) -> Trial:
        """Compare the same call with a convention: some rows of many, and the first wrong."""
        _, x, k = trial.call
        rows: Any = range(k.shape[-1])
        if len(rows) > MANY:
            first = int(trial.failing.argmax())
            rows = np.unique([*rows[::50], max(first - 1, 0), first])
        parts = (x, trial.given, trial.bounds + 0 * x)
        x, given, bounds = (part[..., rows, :] for part in parts)
        right, k = self.reference(x.shape[-1], likely), k[..., rows]
        return replace(
            trial,
            given=given,
            meant=right(x, k),
            bounds=bounds,
            call=EncodingCall(right, x, k),
            apart=APART,
        )

    @property
    def recognized(self) -> list[Convention]:
        """The convention alone, or none: then others are tried in its place."""
        return [self.convention] if self.convention else []

    @property
    def plain(self) -> list[Convention]:
        """Those whose columns, or pairs, differ, beside which others are fitted."""
        if self.encoding.kind == "rotary":
            return [known for known in self.templates if known.direction == "up"]
        return [Convention(layout) for layout in LAYOUTS]

    @property
    def likely(self) -> list[Convention]:
        """The likeliest conventions: the templates, and the first with all bases."""
        bases = [replace(self.templates[0], base=base) for base in BASES]
        return [*islice(self.candidates(), 20), *bases]


def multiplier(given: Floats, meant: Floats) -> float:
    """Return the number that brings what is meant nearest to what was given: least squares."""
    return float((given * meant).sum() / (meant**2).sum())


def has_many_frequencies(rows: Floats) -> bool:
    """Whether most columns, of rows (seq_len, width), have their energy at many frequencies.

    A sinusoid's column has most of it at one, and so has every known bug's.
    """
    # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
    columns = (rows - rows.mean(axis=0)) * np.hanning(len(rows))[:, None]
    # (frequencies, width), the strongest last
    energy = np.sort(np.abs(np.fft.rfft(columns, axis=0)) ** 2, axis=0)
    # A column that is constant makes it NaN, and the answer no.
    with np.errstate(invalid="ignore"):
        share = np.median(energy[-5:].sum(axis=0) / energy.sum(axis=0))
    return bool(share < 0.5)
