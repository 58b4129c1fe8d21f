"""Why an encoding isn't right: which faults give the numbers that were measured.

A cause is a reproduction: `causes` runs faults on the calls that were made. For example, if code
counts the batch, "batch for sequence" gives the same numbers in a batch and in whole sequences, and
is named; "lost half" gives others, and isn't.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from posenc.checks.families import FAMILIES
from posenc.checks.trials import Trial, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall, Floats
from posenc.museum import Fault, Make, known

# Rounding moves an angle by a share of it, u (3 |ln ω| + 5), which is this for ω = 10^-4.
APART = 33 * UNIT


def explain(trials: list[Trial], kind: str, meant: Iterable[Convention]) -> str:
    """Return what gives all these trials, or their rows that fail, or "".

    The first that does is told. `meant` are conventions that may be followed.
    """
    return (
        # Mistakes that people made. Nothing is fitted, so that they hardly fit by chance.
        causes(known(kind), trials)
        # It is no mistake if it is meant; a family may give the same by many numbers.
        or causes(map(following, meant), trials)
        or measured_causes(trials)
        # Some rows are right: what gives the others? A known mistake would be made in all of them.
        or measured_causes(trials, in_part=True)
    )


def measured_causes(trials: list[Trial], in_part: bool = False) -> str:
    """Return what the first family gives that gives all rows, or those that fail."""
    failing = [trial for trial in trials if trial.failing.any()]
    told = failing if in_part else trials
    for family in FAMILIES if failing else ():
        found = causes(family(failing), told, in_part)
        if found:
            return f"the rows that fail have {found}" if in_part else found
    return ""


def following(convention: Convention) -> Fault:
    """Return what isn't a fault, if it is meant: another convention, at its own frequencies."""

    def make(call: EncodingCall) -> Floats:
        other = convention.encoding(call.x, call.k)
        return other.of(factor=call.factor, carried=call.carried, stretch=call.stretch)

    return Fault("these are the numbers of another convention", str(convention), make)


def causes(faults: Iterable[Fault], trials: list[Trial], in_part: bool = False) -> str:
    """Return the texts of those faults that give all rows of these trials, or those that fail."""
    near = tolerance(trials)
    # Some faults divide by zero, as the code that has them does.
    with np.errstate(all="ignore"):
        texts = [
            str(fault) for fault in faults if gives(fault.make, trials, near, in_part)
        ]
    return "; or ".join(dict.fromkeys(texts))


def gives(make: Make, trials: list[Trial], near: float, in_part: bool) -> bool:
    """Whether a fault gives what was measured in all trials, and not what is right."""
    explains = False
    for trial in trials:
        rows: Any = trial.failing if in_part else ...
        made = make(trial.call)
        # Its angles may be greater than right, and so is their rounding: by what stretching them
        # both ways moves an entry, rounding may. One way may end at the same height of a sine.
        less, more = (
            make(trial.call._replace(stretch=1 + apart)) for apart in (-APART, APART)
        )
        rounding = trial.bounds + np.abs(less - made) + np.abs(more - made)
        off = np.abs(made - trial.given) - rounding
        # What isn't a number isn't near.
        if not (off[rows] <= near).all():
            return False
        explains |= bool((np.abs(made - trial.meant) > trial.bounds)[rows].any())
    return explains
