"""Why an encoding isn't right: which faults give the numbers that were measured.

A cause is a reproduction. `explain` takes calls that fail, and the usual ones, and asks for faults:
known ones (`posenc.museum`), what may be meant, and those of `families`. `causes` runs them on the
calls. For example, if code counts the batch, "batch for sequence" gives the same numbers in a batch
and in whole sequences, and is named; "lost half" gives others, and isn't.

If no convention is declared or recognized, `beside_a_fault` does the same beside each likely one,
and the first that answers tells which convention was meant.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posenc.checks.families import FAMILIES
from posenc.checks.recognition import BASES
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import Broken, Raised, Trial, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall, Floats
from posenc.museum import MUSEUM, Fault, Make, known

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

SOME = 6  # conventions, the likeliest: at least each layout, upward
IN_PART = "the rows that fail have "
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)
# Rounding of an angle, as of its position: u (3 |ln omega| + 5), of the least frequency
APART = 33 * UNIT


def explain(encoding: Encoding, trials: list[Trial]) -> str:
    """Return what gives these trials and the usual calls, beside the nearest convention, or "".

    The first of these that gives all of them:

    1. known faults;
    2. another known convention, if one was declared;
    3. a family of faults: another multiplier, positions, frequencies, or entries;
    4. the same, of the rows that fail alone.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.call]
    if not calls:
        return ""
    # Of results that are rounded to a half type, calls in other types say nothing.
    if calls[0].unit <= UNIT:
        calls = usual_calls(encoding) + calls
    found = causes(known(encoding.kind), calls)
    found = found or causes(another_convention(encoding), calls)
    found = found or measured_causes(calls)
    if not found:
        failing = [in_part(trial) for trial in calls if trial.failing.any()]
        found = measured_causes(failing)
        found = found and IN_PART + found
    if found or encoding.convention:
        return found
    return NO_CAUSE + MEANT


def measured_causes(trials: list[Trial]) -> str:
    """Return what the first family gives that gives all rows."""
    failing = [trial for trial in trials if trial.failing.any()]
    return next(
        filter(None, (causes(family(failing), trials) for family in FAMILIES)), ""
    )


def in_part(trial: Trial) -> Trial:
    """Return a trial of which only the rows that fail are compared: the others' bounds are none."""
    right = ~trial.failing[..., None]
    return replace(trial, bounds=np.where(right, np.inf, trial.bounds))


def beside_a_fault(encoding: Encoding) -> Convention | None:
    """Return the likeliest convention beside which a fault gives the usual calls, if any."""
    faults, likely = known(encoding.kind), encoding.likely[:SOME]
    bases = [replace(likely[0], base=base) for base in BASES]
    if not encoding.is_declared:  # what has the default base lost no other
        faults.remove(MUSEUM["lost setting"])
    for convention in likely + bases:
        if causes(faults, usual_calls(encoding.beside(convention))):
            return convention
    for convention in likely:
        if measured_causes(usual_calls(encoding.beside(convention))):
            return convention
    return None


def usual_calls(encoding: Encoding) -> list[Trial]:
    """Compare a batch, if the code takes any, and whole sequences."""
    calls = encoding.whole()
    # A batch goes first: it is small, and tells most faults.
    with suppress(Broken, Raised):
        calls = [encoding.compare(encoding.draw((2, 3), 5), range(5)), *calls]
    return calls


def another_convention(encoding: Encoding) -> Iterator[Fault]:
    """Yield what isn't a fault, if it is meant: a known convention, other than the declared."""
    if not encoding.is_declared:
        return
    # What is followed at its own frequencies, whatever is declared
    undeclared = copy.copy(encoding)
    undeclared.base, undeclared.pairs = None, 0
    followed = max(undeclared.likely, key=undeclared.share)
    other = undeclared.beside(followed)

    def make(call: EncodingCall) -> Floats:
        return other.reference(call.x.shape[-1])(call.x, call.k)

    yield Fault("these are the numbers of another convention", str(followed), make)


def causes(faults: Iterable[Fault], trials: list[Trial]) -> str:
    """Return the texts of those faults that give all of these trials."""
    near = tolerance(trials)
    # Some faults divide by zero, as the code that has them does.
    with np.errstate(all="ignore"):
        texts = [str(fault) for fault in faults if gives(fault.make, trials, near)]
    return "; or ".join(dict.fromkeys(texts))


def gives(make: Make, trials: list[Trial], near: float) -> bool:
    """Whether a fault gives what was measured in all trials, and not what is right."""
    explains = False
    for trial in trials:
        made = make(trial.call)
        if (unlike(trial, make, made) > near).any():
            return False
        explains |= bool((np.abs(made - trial.meant) > trial.bounds).any())
    return explains


def unlike(trial: Trial, make: Make, made: Floats) -> Floats:
    """How far what a fault made is from what was given, beyond what rounding explains."""
    call = trial.call
    off = np.abs(made - trial.given) - trial.bounds
    # A fault may have greater angles than are right, which are rounded more.
    for times in (1 - APART, 1 + APART):
        off -= np.abs(made - make(call._replace(k=call.k * times)))
    return np.where(np.isnan(off), np.inf, off)
