"""Recognition: which convention a table, a layer or a rotation follows, by its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import NEAR, Trial
from posenc.conventions import Convention, Floats

if TYPE_CHECKING:  # it imports this module
    from posenc.checks.encodings import Encoding

# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
BASES += [8e6, 1.5e5, 1.6e5, 2.5e5, 5e4, 4e4, 3e4, 2e4]
DECLARE = "if they are meant, pass base=, frequencies= or convention="
OTHER_KIND = "; or if a table is of another kind, tags=['learned']"


def recognized(subject: Encoding) -> Convention | None:
    """Return the first convention that gives nine tenths of the entries."""
    return next(
        (known for known in candidates(subject) if follows(subject, known)), None
    )


def follows(subject: Encoding, known: Convention) -> bool:
    """Whether a convention gives nine tenths of the entries, at all widths."""
    for width in subject.widths:
        x, out = subject.called(width)
        k = np.broadcast_to(np.arange(subject.rows), x.shape[:-1])
        right = subject.reference(width, known)
        meant, bound = right(x, k), 4 * right.bound(x, k, subject.unit)
        # `values` tells if the multiplier isn't 1.
        near = np.abs(multiplier(out, meant) * meant - out) <= bound
        if near.mean() < 0.9:
            return False
    return True


def multiplier(given: Floats, meant: Floats) -> float:
    """Return the number that brings what is meant nearest to what was given: least squares."""
    return float((given * meant).sum() / (meant * meant).sum())


def candidates(subject: Encoding) -> Iterator[Convention]:
    """Yield the subject's templates, with the declared base, or each of the usual ones."""
    for base in [subject.base] if subject.base else BASES:
        for template in subject.templates():
            yield replace(template, base=base)


def other_numbers(subject: Encoding, trials: list[Trial]) -> str:
    """Say if all is multiplied by a number, or follows a convention that wasn't declared."""
    x = subject.draw((), 1)
    once, twice = (subject.call(n * x, [0]) for n in (64, 128))
    if subject.kind == "rotary" and np.abs(once - twice).max() < NEAR:
        return "a norm follows the rotation: check what comes before it"
    other = subject.undeclared()
    if other.convention not in (None, subject.convention):
        return f"these are the numbers of another convention: {other.convention}"
    given = np.concatenate([trial.given.ravel() for trial in trials])
    meant = np.concatenate([trial.meant.ravel() for trial in trials])
    number = multiplier(given, meant)
    if np.abs(given - number * meant).max() < NEAR < abs(number - 1):
        cure = f"pass attention_factor={number:.9g}, or check the result divided by it"
        return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
    undeclared = subject.convention is None and subject.frequencies is None
    declare = DECLARE if subject.kind == "rotary" else f"{DECLARE}{OTHER_KIND}"
    return f"{NO_CAUSE}; {declare}" if undeclared else ""
