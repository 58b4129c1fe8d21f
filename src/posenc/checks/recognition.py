"""Which convention results have, and whether they are sinusoids at all. No code is called here.

Functions take `sequences`, the results of all rows, a width each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posenc.checks import causes
from posenc.checks.declared import Declared, Result
from posenc.conventions import KNOWN, LAYOUTS, ROTARY_LAYOUTS, RULES, Convention, Floats
from posenc.museum import known

# Of the entries, are enough to recognize a convention. A fault in fewer of them, such as a bad
# column of 16, is then told beside it.
NINE_TENTHS = 0.9
SOME = 9  # conventions, the likeliest: at least each layout and extent, upward
LOOSE = 4  # bounds: what is off by a little more has the convention, and is wrong by `values`


def tables() -> list[Convention]:
    """Return conventions of tables, of one base; those that differ in columns alone come first."""
    usual = [
        Convention(layout, rule, first=first)
        for rule in RULES
        for first in (0, 1, 2)
        for layout in LAYOUTS
    ]
    return usual + [known for known in KNOWN.values() if not known.rotary]


def rotations(x: Floats, out: Floats, declared_pairs: int) -> list[Convention]:
    """Return rotations of the dimensions that turn, in all layouts, and both ways, of one base.

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
        part = Convention(
            "halves",
            extent="partial",
            share=turning / width,
            start=start,
        )
        across = [] if start else [replace(part, extent="proportional")]
        extents = [part, *across, *extents]
    return [
        replace(one, layout=layout, direction=direction)
        for direction in ("up", "backwards")
        for one in extents
        for layout in ROTARY_LAYOUTS
    ]


def likely(declared: Declared, sequences: list[Result]) -> list[Convention]:
    """Return conventions that sequences may have, usual ones first."""
    # Which dimensions turn is seen at one width.
    x, out = sequences[-1].x, sequences[-1].out
    found = rotations(x, out, declared.pairs) if declared.turns else tables()
    return [replace(one, base=base) for base in declared.bases for one in found]


def share(declared: Declared, convention: Convention, sequences: list[Result]) -> float:
    """Return which share of the entries a convention gives, at the width with the fewest."""
    trials = declared.trials(convention, sequences)
    return float(min((trial.ratio <= LOOSE).mean() for trial in trials))


def recognize(declared: Declared, sequences: list[Result]) -> Convention | None:
    """Return the first convention that gives nine tenths of the sequences, if there is one.

    For example, code that adds the paper's table has that convention.
    """
    for one in likely(declared, sequences):
        if share(declared, one, sequences) >= NINE_TENTHS:
            return one
    return None


def nearest(
    declared: Declared, sequences: list[Result], usual: list[Result]
) -> Convention:
    """Return the convention beside which a fault gives all usual results, or what gives most."""
    some = likely(declared, sequences)[:SOME]
    for one in some + [replace(some[0], base=base) for base in declared.bases]:
        if causes.causes(known(declared.kind), declared.trials(one, usual)):
            return one
    for one in some:
        if causes.measured_causes(declared.trials(one, usual)):
            return one
    return max(some, key=lambda one: share(declared, one, sequences))


def has_many_frequencies(rows: Floats) -> bool:
    """Whether most columns, of rows (seq_len, width), have their energy at many frequencies.

    A sinusoid's column has most of it at one, and so has every known bug's.
    """
    # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
    window = np.hanning(len(rows))[:, None]
    columns = window * (rows - rows.mean(axis=0))
    # (frequencies, width), the strongest last
    energy = np.abs(np.fft.rfft(columns, axis=0)) ** 2
    energy.sort(axis=0)
    strongest = energy[-5:].sum(axis=0)
    # A column that is constant makes it NaN, and the answer no.
    with np.errstate(invalid="ignore"):
        typical = np.median(strongest / energy.sum(axis=0))
    return bool(typical < 0.5)
