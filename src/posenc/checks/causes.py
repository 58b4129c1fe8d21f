"""Why an encoding isn't right: which faults, beside which convention, give what was measured.

`explain` asks for faults, known and fitted; `causes` runs them on the calls, and names those that
give the measured numbers, and in which rows. If the convention isn't known, `beside_a_fault` asks
beside each likely one, and the first answer tells the convention.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.families import of_encoding, other_factor
from posenc.checks.recognition import BASES
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import Broken, Raised, Trial, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall, Floats
from posenc.museum import MUSEUM, Fault, Make, known

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

MANY = 5000  # rows, of which some tell a cause
SOME = 6  # conventions, the likeliest: at least each layout, upward
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)
# Rounding of an angle, as of its position: u (3 |ln omega| + 5), of the least frequency
APART = 33 * UNIT


def explain(encoding: Encoding, trials: list[Trial]) -> str:
    """Return what gives these trials and the usual calls, beside the nearest convention, or "".

    1. Known faults.
    2. No fault: another convention, or another multiplier.
    3. Faults that are fitted, some of which give only what fails.
    4. If whole sequences are wrong: that no fault gives them, and what may be declared.
    """
    # Properties have no call that a fault could be run on.
    calls = [thinned(trial) for trial in trials if trial.call]
    if not calls:
        return ""
    # Of results that are rounded to a half type, faults in other types say nothing.
    if calls[0].unit <= UNIT:
        calls = usual_calls(encoding, encoding.nearest) + calls
    found = causes(known(encoding.kind), calls)
    found = found or causes(meant_otherwise(encoding, calls), calls)
    if found:
        return found
    # A base says little: the rest may be meant.
    hint = "" if encoding.declared_convention or encoding.pairs else MEANT
    found = causes(of_encoding(calls), calls, partly=True)
    if found:
        return found if encoding.convention else found + hint
    whole_is_wrong = any(trial.worst > 1 for trial in encoding.whole())
    return NO_CAUSE + hint if whole_is_wrong else ""


def beside_a_fault(encoding: Encoding) -> Convention | None:
    """Return the likeliest convention beside which a fault gives the usual calls, if any."""
    faults, likely = known(encoding.kind), encoding.likely[:SOME]
    bases = [replace(likely[0], base=base) for base in BASES]
    if not encoding.is_declared:  # what has the default base lost no other
        faults.remove(MUSEUM["lost setting"])
    for convention in likely + bases:
        if causes(faults, usual_calls(encoding, convention)):
            return convention
    for convention in likely:
        calls = usual_calls(encoding, convention)
        if causes(of_encoding(calls), calls, partly=True):
            return convention
    return None


def usual_calls(encoding: Encoding, convention: Convention) -> list[Trial]:
    """Compare a batch, if the code takes any, and whole sequences with a convention."""
    calls = encoding.whole(convention)
    # A batch goes first: it is small, and tells most faults.
    with suppress(Broken, Raised):
        x = encoding.draw((2, 3), 5)
        calls = [encoding.compare(x, range(5), convention=convention), *calls]
    return [thinned(trial) for trial in calls]


def thinned(trial: Trial) -> Trial:
    """Return a comparison of some rows, if there are many: the first wrong one, and the last.

    On the last, positions of others may depend. The call still has its length, and its rows their
    numbers.
    """
    right, x, k, _ = trial.call
    count = k.shape[-1]
    if count <= MANY:
        return trial
    first = int(trial.failing.argmax()) % count
    rows = np.unique([*range(0, count, 50), first, count - 1])
    some = {
        name: getattr(trial, name)[..., rows, :]
        for name in ("given", "meant", "bounds")
    }
    call = EncodingCall(right, x[..., rows, :], k[..., rows], rows)
    return replace(trial, call=call, **some)


def meant_otherwise(encoding: Encoding, trials: list[Trial]) -> Iterator[Fault]:
    """Yield what isn't a fault, if it is meant: another convention, or another factor."""
    # What is followed at its own frequencies, whatever is declared
    undeclared = copy.copy(encoding)
    undeclared.pairs = 0
    candidates = undeclared.candidates(BASES) if encoding.is_declared else ()
    followed = next(filter(undeclared.follows, candidates), None)

    def make(call: EncodingCall) -> Floats:
        return undeclared.reference(call.x.shape[-1], followed)(call.x, call.k)

    if followed:
        name = "these are the numbers of another convention"
        yield Fault(name, str(followed), make)
    yield from other_factor(trials)


def causes(faults: Iterable[Fault], trials: list[Trial], partly: bool = False) -> str:
    """Return those faults that give all of these trials, as texts.

    If none does, and `partly`, those that give what fails, and where that is.
    """
    near = tolerance(trials)
    alike: dict[str, list[str]] = {}  # texts, by where
    # Some faults divide by zero, as the code that has them does.
    with np.errstate(all="ignore"):
        for fault in faults:
            where = rows_explained(fault.make, trials, near)
            if where is not None and (partly or not where):
                text = str(replace(fault, name=fault.name + where))
                alike.setdefault(where, []).append(text)
    texts = alike.get("") or chain.from_iterable(alike.values())
    return "; or ".join(dict.fromkeys(texts))


def rows_explained(make: Make, trials: list[Trial], near: float) -> str | None:
    """Say in which rows a fault gives what was measured, "" for all; None if it doesn't.

    Rows that it would spoil, but which are right, are told from those that fail by a number or two,
    such as that of heads, or the position. What `make` returns broadcasts to what was given.
    """
    explains, spared = False, []
    for trial in trials:
        made, failing = make(trial.call), trial.failing
        off = unlike(trial, make, made) > near
        if off[failing].any():
            return None
        spared.append(off.any(axis=-1).ravel())
        # A fault that gives what is right explains nothing.
        differs = np.abs(made - trial.meant) > trial.bounds
        explains |= bool(differs[failing].any())
    return limits(trials, np.concatenate(spared)) if explains else None


def unlike(trial: Trial, make: Make, made: Floats) -> Floats:
    """How far what a fault made is from what was given, beyond what rounding explains."""
    call = trial.call
    off = np.abs(made - trial.given) - trial.bounds
    # A fault may have greater angles than are right, which are rounded more.
    for times in (1 - APART, 1 + APART):
        off -= np.abs(made - make(call._replace(k=call.k * times)))
    return np.where(np.isnan(off), np.inf, off)


def numbers_of_rows(call: EncodingCall) -> dict[str, Floats]:
    """Return what may tell rows apart, each of the shape of k."""
    sequence, head, row = call.numbers()
    last = row.max()
    numbers = {
        "length": last + 1,
        "batch size": sequence.max() + 1,
        "number of heads": head.max() + 1,
        "position": call.k,
        "row": row,
        "head": head,
        "sequence": sequence,
        "row before the last": last - row,
    }
    return {name: number + 0 * call.k for name, number in numbers.items()}


def limits(trials: list[Trial], spared: Any) -> str | None:
    """Say from which numbers on rows are wrong, or up to which; None if two don't tell.

    `spared` are rows of all trials that a fault would spoil, but which are right. The fewest limits
    are taken that keep out all of them. The text is "" if there are none, and else follows a
    fault's name: ", from position 7 on, or up to length 1".
    """
    if not spared.any():
        return ""
    wrong = np.concatenate([trial.failing.ravel() for trial in trials])
    numbers = [numbers_of_rows(trial.call) for trial in trials]
    kept_out = {}  # which of the spared rows, by limit
    for name in numbers[0]:
        number = np.concatenate([of_call[name].ravel() for of_call in numbers])
        first, last = number[wrong].min(), number[wrong].max()
        kept_out[f"from {name} {first:.9g} on"] = number[spared] < first
        kept_out[f"up to {name} {last:.9g}"] = number[spared] > last
    for count in (1, 2):
        texts = [
            ", ".join(chosen)
            for chosen in combinations(kept_out, count)
            if np.any([kept_out[limit] for limit in chosen], axis=0).all()
        ]
        # Some tell alike.
        if texts:
            texts[3:] = ["..."] * (len(texts) > 3)
            return ", " + ", or ".join(texts)
    return None
