"""What is declared of an encoding, and which convention its results have. No code is called here.

If no convention is declared, it is recognized: each that results may have is tried on the results
of all rows, a width each, `sequences`. For example, code that adds the paper's table has the first
of `tables`. It needn't give all entries: a fault in a few is told beside what gives most.
"""

from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_choice, check_d_model, check_positions, check_real
from posenc.checks import causes
from posenc.checks.trials import Trial
from posenc.conventions import KNOWN, LAYOUTS, ROTARY_LAYOUTS, RULES, Convention, Floats
from posenc.museum import known

USUAL = [16, 24]  # widths
# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
# Of the entries, are enough to recognize a convention. A fault in fewer of them, such as a bad
# column of 16, is then told beside it.
NINE_TENTHS = 0.9
LOOSE = 4  # bounds: what is off by a little more has the convention, and is wrong by `values`


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
    omega = np.atleast_2d(check_positions(frequencies, "frequencies", ndim=None))
    if not omega.size or omega.ndim > 2:
        rule = "must have shape (pairs,) or (axes, pairs)"
        raise ValueError(f"frequencies {rule}, got {np.shape(frequencies)}")
    return omega


def tables() -> tuple[list[Convention], list[Convention]]:
    """Return usual conventions of tables, which count from 0, and rarer ones, of one base."""
    usual, *later = (
        [Convention(layout, rule, first=first) for rule in RULES for layout in LAYOUTS]
        for first in (0, 1, 2)
    )
    named = [one for one in KNOWN.values() if not one.rotary]
    return usual, [*chain(*later), *named]


def rotations(
    x: Floats, out: Floats, declared_pairs: int
) -> tuple[list[Convention], list[Convention]]:
    """Return rotations of the dimensions that turn, in all layouts: upward, and backwards.

    Parameters
    ----------
    x, out : ndarray, shape (seq_len, width)
        What was turned, and what became of it.
    declared_pairs : int
        How many are known to turn, or 0.
    """
    moving = np.flatnonzero((out != x).any(axis=0))
    width = x.shape[-1]
    turning = 2 * declared_pairs or len(moving)
    # A fault may keep pairs from turning, so that the whole is likely, too, unless it is declared.
    extents = [] if 0 < 2 * declared_pairs < width else [Convention("halves")]
    if 0 < turning < width:
        # If the first of 8 to 15 isn't seen to move, 4 declared pairs still start at 8 of 16.
        start = min([*moving[:1], width - turning]) / width
        share = turning / width
        part = Convention("halves", extent="partial", share=share, start=start)
        across = Convention("halves", extent="proportional", share=share)
        extents = [part, across, *extents]
    up = [replace(one, layout=layout) for one in extents for layout in ROTARY_LAYOUTS]
    return up, [replace(one, direction="backwards") for one in up]


class Result(NamedTuple):
    """What a call gave."""

    x: Floats  # what is turned, or rows are added to: (..., seq_len, width)
    k: Floats  # positions, (seq_len,) or (batch, seq_len)
    out: Floats  # of the shape of x
    unit: float  # of rounding, in the type that was returned


class Declared:
    """What an encoding of some kind is declared to be; without options, nothing is."""

    def __init__(
        self,
        kind: str,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        attention_factor: float = 1.0,
        learned: bool = False,
    ) -> None:
        if base is not None and (convention or frequencies is not None):
            raise ValueError(
                "base must not be given with what includes it; write "
                f"convention=Convention(layout=..., base={base}), or frequencies= alone"
            )
        self.kind = kind
        self.turns = kind == "rotary"
        # Those that it may have
        self.bases = BASES
        if base is not None:
            self.bases = [check_real("base", base, positive=True)]
        self.convention = convention_of(convention, self.turns)
        self.frequencies = of_axes(frequencies)
        self.count_of_axes, self.pairs = self.frequencies.shape
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.is_sinusoid = bool(base or convention or self.pairs)
        self.learned = learned
        if learned and (self.is_sinusoid or self.turns):
            raise ValueError("learned must not be given with what is of sinusoids")

    def widths(self, widths: Any) -> list[int]:
        """Return these widths, or one, or the usual ones if there are none; check that they fit.

        Declared frequencies are those of one width alone.
        """
        usual = [2 * self.pairs] if self.pairs else USUAL
        taken = [check_d_model(width) for width in np.ravel(widths)] or usual
        meant = self.convention or Convention()
        most = len(meant.encoding(np.zeros((1, taken[0])), [0]).powers)
        # Of a rotation, a part may turn.
        fewest = 0 if self.turns and not self.convention else most
        fits = len(taken) == 1 and fewest <= self.pairs <= most
        if self.pairs and not fits:
            rule = f"must be one that frequencies of {self.pairs} pairs fit"
            raise ValueError(f"widths {rule}; got {taken}")
        return taken

    def trial(self, convention: Convention, result: Result) -> Trial:
        """Compare a result with a convention, at the declared frequencies if there are any."""
        x, k, out, unit = result
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        call = convention.encoding(x, np.broadcast_to(k, x.shape[:-1]))
        # Coordinates of several axes are equal, so that their frequencies add up.
        omega = self.frequencies.sum(axis=0) if self.pairs else call.frequencies
        call = call._replace(factor=self.factor, frequencies=omega)
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        return Trial(
            f"shape {x.shape}", out, call.meant, call.bounds(unit), axes, call, unit
        )

    def trials(self, convention: Convention, results: list[Result]) -> list[Trial]:
        """Compare results with a convention."""
        return [self.trial(convention, result) for result in results]

    # Recognition

    def likely(
        self, sequences: list[Result]
    ) -> tuple[list[Convention], list[Convention]]:
        """Return conventions that sequences may have, of all bases: usual ones, and rarer ones."""
        # Which dimensions turn is seen at one width.
        x, out = sequences[-1].x, sequences[-1].out
        usual, rarer = rotations(x, out, self.pairs) if self.turns else tables()
        return self.of_bases(usual), self.of_bases(rarer)

    def of_bases(self, conventions: list[Convention]) -> list[Convention]:
        """Return conventions of one base with each base that it may have, the likeliest first."""
        return [replace(one, base=base) for base in self.bases for one in conventions]

    def share(self, convention: Convention, sequences: list[Result]) -> float:
        """Return which share of the entries it gives, at the width with the fewest.

        Only columns of pairs count: what doesn't turn has any convention.
        """
        shares = []
        for trial in self.trials(convention, sequences):
            is_paired = np.isin(trial.call.order, trial.call.pairs)  # (width,)
            near = trial.ratio[..., is_paired] <= LOOSE
            shares.append(float(near.mean()))
        return min(shares)

    def recognized(self, sequences: list[Result]) -> Convention | None:
        """Return the first convention that gives nine tenths of the sequences, if one does."""
        for one in chain(*self.likely(sequences)):
            if self.share(one, sequences) >= NINE_TENTHS:
                return one
        return None

    def nearest(self, sequences: list[Result], usual: list[Result]) -> Convention:
        """Return the one beside which a fault gives all usual results, or that gives most."""
        likely, rarer = self.likely(sequences)
        base = self.bases[0]  # the likeliest; of others, rarer ones would take long
        for one in [*likely, *(one for one in rarer if one.base == base)]:
            if causes.causes(known(self.kind), self.trials(one, usual)):
                return one
        likeliest = [one for one in likely if one.base == base]
        for one in likeliest:
            if causes.measured_causes(self.trials(one, usual)):
                return one
        return max(likeliest, key=lambda one: self.share(one, sequences))


def has_many_frequencies(rows: Floats) -> bool:
    """Whether most columns, of rows (seq_len, width), have their energy at many frequencies.

    A sinusoid's column has most of it at one, or beside it, and so has every known bug's.
    """
    # (frequencies, width), the strongest last
    energy = np.abs(np.fft.rfft(rows - rows.mean(axis=0), axis=0)) ** 2
    energy.sort(axis=0)
    # All that a constant column has is at one.
    energy[-1] += 1e-30
    share = energy[-2:].sum(axis=0) / energy.sum(axis=0)
    return bool(np.median(share) < 0.65)
