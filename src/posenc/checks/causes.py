"""Causes: which faults, known or fitted, give what was measured, and in which rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from posenc.checks.trials import NEAR, Trial
from posenc.conventions import UNIT, EncodingCall, Floats
from posenc.museum import Fault, Make

# Rounding of an angle, as of its position: u (3 |ln omega| + 5), of the least frequency
APART = 33 * UNIT


def tolerance(trials: list[Trial]) -> float:
    """Return how far a fault may be off: a tenth of what it is to explain, at most 1e-4."""
    apart = max(np.abs(trial.given - trial.meant).max() for trial in trials)
    return min(NEAR, float(apart) / 10)


def causes(
    faults: Iterable[Fault], trials: list[Trial], near: float, partly: bool = True
) -> str:
    """Return those faults that give all of these trials, but for bounds and this.

    If none does, and `partly`, those that give what fails, and where that is.
    """
    alike: dict[str, list[str]] = {}  # texts, by where
    for fault in faults:
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            where = rows_explained(fault.make, trials, near)
        if where is not None and (partly or not where):
            text = str(replace(fault, name=fault.name + where))
            alike.setdefault(where, []).append(text)
    texts = alike.get("") or chain.from_iterable(alike.values())
    return "; or ".join(dict.fromkeys(texts))


def rows_explained(make: Make, trials: list[Trial], near: float) -> str | None:
    """Say in which rows a fault gives what was measured, "" for all; None if it doesn't.

    Rows that it would spoil, but which are right, are told from those that fail by a number or two,
    such as that of heads, or the position. A trial fails in some row. What `make` returns
    broadcasts to what was given.
    """
    calls = []
    for trial in trials:
        off = unlike(trial, make) > near
        if off[trial.failing].any():
            return None
        if isinstance(trial.call, EncodingCall):
            numbers = numbers_of_rows(trial.call)
            calls.append(Rows(numbers, trial.failing, off.any(axis=-1)))
    return limits(calls) if calls else ""


def unlike(trial: Trial, make: Make) -> Floats:
    """How far a fault is from what was given, beyond what rounding explains."""
    call, made = trial.call, make(trial.call)
    off = np.abs(made - trial.given) - trial.bounds
    if isinstance(call, EncodingCall):
        # A fault may have greater angles than are right, which are rounded more.
        for times in (1 - APART, 1 + APART):
            off -= np.abs(made - make(call._replace(k=call.k * times)))
    return np.where(np.isnan(off), np.inf, off)


class Rows(NamedTuple):
    """Rows of a call: their numbers, by name, and which are wrong, and spared by a fault."""

    numbers: dict[str, Floats]
    wrong: Any
    spared: Any


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


def limits(calls: list[Rows]) -> str | None:
    """Say from which numbers on rows are wrong, or up to which; None if two don't tell.

    The fewest limits are taken that keep out all spared rows. The text is "" if there are none, and
    else follows a fault's name: ", from position 7 on, or up to length 1". In some call, a row is
    wrong.
    """
    if not any(call.spared.any() for call in calls):
        return ""
    kept_out = {}  # which of the spared rows, by limit
    for name in calls[0].numbers:
        wrong = np.concatenate([call.numbers[name][call.wrong] for call in calls])
        spared = np.concatenate([call.numbers[name][call.spared] for call in calls])
        kept_out[f"from {name} {wrong.min():g} on"] = spared < wrong.min()
        kept_out[f"up to {name} {wrong.max():g}"] = spared > wrong.max()
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
