"""Sums of few parts: what code takes by mistake, from what was measured.

`fitted` takes trials whose calls failed, what was measured in each, and a function that gives a
call's parts: arrays by name, such as "position" and "length". It yields each sum of as few parts as
make what was measured, as weights by name, and the `make` of a fault whose code takes that sum.
`written` says a sum in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from posenc.checks.trials import Trial
from posenc.conventions import Floats
from posenc.museum import Make

Parts = dict[str, Any]  # arrays of one shape, by what they are
Weights = dict[str, float]  # of parts, by the same names
CLOSE = 1e-3  # for positions, which are decoded from rounded angles
CLOSER = 1e-5  # for what is measured itself
ENOUGH = 2000  # entries for a fit, which is then tried on all


def distinct(parts: Parts, close: float) -> Parts:
    """Leave out parts that equal an earlier one or its opposite, or a constant, which is "1"."""
    kept: Parts = {}
    for name, part in parts.items():
        others = [np.full(part.shape, part[0])]
        for earlier in kept.values():
            others += [earlier, -earlier]
        differs = all(np.abs(part - other).max() > close for other in others)
        if differs or name == "1":
            kept[name] = part
    return kept


def fewest_parts(target: Floats, parts: Parts, close: float) -> list[Weights]:
    """Return all sums of as few parts as make a target, at most two; each is (entries,).

    Any numbers are a sum of enough parts; the fewer there are, the less they fit by chance. What is
    a sum of one part is also one of that and any other, times 0, which says nothing new.
    """
    kept = distinct(parts, close)
    for count in range(3):
        fits = []
        for names in combinations(kept, count):
            # (entries, count)
            columns = np.reshape([kept[name] for name in names], (count, len(target))).T
            # Two weights always fit two rows that differ, and often three: that tells nothing.
            if count == 2 and len(np.unique(columns, axis=0)) < 4:
                continue
            weights = np.linalg.lstsq(columns, target, rcond=None)[0].round(6)
            if np.abs(columns @ weights - target).max() < close:
                fits.append(dict(zip(names, weights.tolist(), strict=True)))
        if fits:
            return fits
    return []


def written(weights: Weights) -> str:
    """Write a sum, such as "3*position - 2"."""
    text = ""
    # The constant, whose name is "1", comes last.
    for name in sorted(weights, key="1".__eq__):
        weight = weights[name]
        size = f"{abs(weight):.6g}"
        term = size if name == "1" else f"{size}*{name}".removeprefix("1*")
        if weight:
            text += f" {'-' if weight < 0 else '+'} {term}"
    # The first sign is dropped if it is a plus, and else has no blanks around it.
    if text.startswith(" - "):
        return f"-{text[3:]}"
    return text[3:] or "0"


def one_column(trials: list[Trial], arrays: list[Any]) -> Floats:
    """Return real numbers of the failing rows of all trials, from an array for each: (entries,)."""
    pieces = [
        array[trial.failing].ravel()
        for trial, array in zip(trials, arrays, strict=True)
    ]
    column = np.concatenate(pieces)
    some = column[:: 1 + len(column) // ENOUGH].copy()
    # A complex number becomes two.
    return some.view(np.float64)


def fitted(
    trials: list[Trial],
    parts_of: Callable[[Any], Parts],
    measured: list[Any],
    result: Callable[[Any, Any], Any] = lambda total, call: total,
    close: float = CLOSE,
) -> Iterator[tuple[Weights, Make]]:
    """Yield the sums of parts that were measured, each with the `make` of its fault.

    Parameters
    ----------
    parts_of : callable
        Takes a call, and returns its parts.
    measured : list of ndarray
        For each trial, what the parts should add up to, in the same shape.
    result : callable
        Takes a sum of parts and the call, and returns what code gives that takes it.
    """

    def taking(weights: Weights) -> Make:
        def make(call: Any) -> Any:
            parts = parts_of(call)
            return result(sum(weights[name] * parts[name] for name in weights), call)

        return make

    listed = [parts_of(trial.call) for trial in trials]
    columns = {
        name: one_column(trials, [parts[name] for parts in listed])
        for name in listed[0]
    }
    for weights in fewest_parts(one_column(trials, measured), columns, close):
        yield weights, taking(weights)
