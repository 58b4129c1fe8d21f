"""Explanation: why a table, a layer or a rotation parts from the book's.

A known fault is the cause if it gives what was measured, in the same calls. If there is none, the
numbers may be those of another convention, or all may be multiplied by a number.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.recognition import candidates
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import Trial
from posenc.museum import FAULTS

if TYPE_CHECKING:  # it imports this module
    from posenc.checks.turning import Turning

NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
DECLARE = "if they are meant, pass base=, frequencies= or convention="


def explain(subject: Turning, trials: Sequence[Trial]) -> str:
    """Run the known faults on the same calls.

    A fault must give all of them, and the whole sequence, and a batch; in each number type.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.x is not None]
    if not calls:
        return ""
    if subject.agrees and subject.kind != "table":
        calls.append(subject.compare(subject.draw((2, 3), 5), range(5)))
    options = (
        [subject.convention]
        if subject.convention
        else [*islice(candidates(subject), 20)]
    )
    for known in options:
        faults = faults_of(subject, [*calls, *islice(subject.whole(), 1)], known)
        if faults:
            return "; or ".join(faults)
    if subject.agrees:
        return ""
    return subject.reordered() or other_numbers(subject, calls)


def faults_of(subject: Turning, calls: Sequence[Trial], known: Any) -> dict[str, None]:
    """Return what the faults that give what was measured say, if a convention is right."""
    said: dict[str, None] = {}
    # What is rounded to bfloat16 in one call is rounded to float16 in another.
    for group in dict.fromkeys(trial.group for trial in calls if trial.worst() > 1):
        tried = [trial for trial in calls if trial.group == group]
        faults = [fault for fault in FAULTS if subject.kind in fault.kinds.split()]
        alike = [
            str(fault) for fault in faults if gives(subject, fault.make, tried, known)
        ]
        if not alike:
            return {}
        said |= dict.fromkeys(alike)
    return said


def gives(subject: Turning, make: Any, trials: Sequence[Trial], known: Any) -> bool:
    """Whether a fault gives what was measured, in each of these calls.

    Entries may differ by their bounds, and by a tenth of what is to be explained, at most 1e-4.
    """
    # How far the two are apart, at most: what a fault has to explain.
    parts = max(np.abs(trial.given - trial.meant).max(initial=0) for trial in trials)
    for trial in trials:
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            right = subject.reference(trial.given.shape[-1], known)
            off = np.abs(make(right, trial.x, trial.positions) - trial.given)
        if not (off <= trial.bounds + min(NEAR, parts / 10)).all():
            return False
    return True


def other_numbers(subject: Turning, trials: Sequence[Trial]) -> str:
    """Say if all is multiplied by a number, or follows a convention that wasn't declared."""
    # The same subject, as if nothing had been declared.
    other = copy.copy(subject)
    other.base = other.declared = other.frequencies = None
    vars(other).pop("convention", None)
    if other.convention not in (None, subject.convention):
        return f"these are the numbers of another convention: {other.convention}"
    given = np.concatenate([trial.given.ravel() for trial in trials])
    meant = np.concatenate([trial.meant.ravel() for trial in trials])
    # Least squares again.
    number = float(given @ meant / (meant @ meant))
    if np.abs(given - number * meant).max() < NEAR < abs(number - 1):
        cure = f"pass attention_factor={number:.9g}, or check the result divided by it"
        return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
    undeclared = subject.convention is None and subject.frequencies is None
    return f"{NO_CAUSE}; {DECLARE}" if undeclared else ""
