"""Recognition: which convention a table, a layer or a rotation follows, by its numbers.

Candidates come from the subject's `templates`. Those with known numbers go first; then the base,
the step and the direction are measured on the subject's `waves`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posenc import conventions as conv
from posenc.conventions import Convention

if TYPE_CHECKING:  # it imports this module
    from posenc.checks.turning import Turning


def recognized(subject: Turning) -> Convention | None:
    """Return the first convention that gives nine tenths of the entries."""
    for known in candidates(subject):
        if follows(subject, known):
            return known
    return None


def follows(subject: Turning, known: Convention) -> bool:
    """Whether a convention gives nine tenths of the entries, at all widths."""
    for width in subject.widths:
        x, out = subject.called(width)
        right, where = subject.reference(width, known), np.arange(subject.rows)
        meant = right(x, where)
        # Least squares: the number that brings the two nearest. `values` tells if it isn't 1.
        meant *= (meant * out).sum() / (meant**2).sum()
        near = np.abs(meant - out) <= 4 * right.bound(x, where, subject.unit)
        if near.mean() < 0.9:
            return False
    return True


def candidates(subject: Turning) -> Iterator[Convention]:
    """Yield known conventions, then those with the measured base, step and direction."""
    # Known numbers first, since any two frequencies fit some base.
    for template in subject.templates():
        yield replace(template, base=subject.base or 10_000.0)
    for template in subject.templates():
        yield from with_numbers(subject, template)


def with_numbers(subject: Turning, template: Convention) -> Iterator[Convention]:
    """Yield a convention with the base and the step that the slowest and fastest pair tell."""
    width = max(subject.widths)
    # radians per row: (pairs,)
    omega = conv.measure(subject.waves(template, width))
    # The slowest pair makes less than half a turn per row, so its sign is the direction.
    if omega[-1] < 0:
        way = "backwards" if template.rotary else "down"
        omega, template = -omega, replace(template, direction=way)
    power = template.powers(width)
    for step in (template.step, *conv.shortened(omega[0])):
        # The first frequency is the step, the last one is step · base^-power.
        size = 2 * np.pi / subject.rows if isinstance(step, str) else step
        if not 0 < omega[-1] < size:
            continue
        measured = conv.shortened((size / omega[-1]) ** (1 / power[-1]))
        for base in measured if subject.base is None else [subject.base]:
            # Modulo a turn, since steps may be large.
            off = np.exp(1j * size * base**-power) - np.exp(1j * omega)
            if np.abs(off).max() < 0.01:
                yield replace(template, step=step, base=base)
