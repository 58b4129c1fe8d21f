"""Which conventions an encoding may follow, and whether it is a sinusoid at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posenc.conventions import KNOWN, LAYOUTS, ROTARY_LAYOUTS, RULES, Convention, Floats

# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
BASES += [8e6, 1.5e5, 1.6e5, 2.5e5, 5e4, 4e4, 3e4, 2e4]


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
        share = np.median(strongest / energy.sum(axis=0))
    return bool(share < 0.5)
