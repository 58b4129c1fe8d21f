"""Sums of few parts: what code takes by mistake, from what was measured.

Parts are arrays by name, such as "position" and "length". `fewest_parts` returns the sums of as few
of them as make what was measured, as weights by name; `written` says a sum in words.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from posenc.conventions import Floats

Parts = dict[str, Any]  # arrays of one shape, by what they are
Weights = dict[str, float]  # of parts, by the same names
CLOSE = 1e-3  # for positions, which are decoded from rounded angles
CLOSER = 1e-5  # for what is measured itself


def distinct(parts: Parts, close: float) -> Parts:
    """Leave out parts that equal an earlier one or its opposite, or a constant if "1" is a part."""
    kept: Parts = {}
    for name, part in parts.items():
        others = [np.full(part.shape, part.flat[0])] if "1" in parts else []
        for earlier in kept.values():
            others += [earlier, -earlier]
        differs = all(np.abs(part - other).max() > close for other in others)
        if differs or name == "1":
            kept[name] = part
    return kept


def fewest_parts(target: Floats, parts: Parts, close: float) -> list[Weights]:
    """Return all sums of as few parts as make a target, at most two; all have one shape.

    Any numbers are a sum of enough parts; the fewer there are, the less they fit by chance. What is
    a sum of one part is also one of that and any other, times 0, which says nothing new.
    """
    kept = distinct(parts, close)
    for count in range(3):
        fits = []
        for names in combinations(kept, count):
            # (entries, count)
            columns = np.reshape([kept[name] for name in names], (count, target.size)).T
            # Two weights always fit two rows that differ, and often three: that tells nothing.
            if count == 2 and len(np.unique(columns, axis=0)) < 4:
                continue
            weights = np.linalg.lstsq(columns, target.ravel(), rcond=None)[0]
            if np.abs(columns @ weights - target.ravel()).max() <= close:
                fits.append(dict(zip(names, weights.tolist(), strict=True)))
        if fits:
            return fits
    return []


def added(weights: Weights, parts: Parts) -> Any:
    """Return a sum of parts: 0 if there are none."""
    return sum(weight * parts[name] for name, weight in weights.items())


def written(weights: Weights) -> str:
    """Write a sum, such as "3*position - 2"."""
    text = ""
    # The constant, whose name is "1", comes last.
    for name in sorted(weights, key="1".__eq__):
        weight = weights[name]
        size = f"{abs(weight):.7g}"
        term = size if name == "1" else f"{size}*{name}".removeprefix("1*")
        text += f" {'-' if weight < 0 else '+'} {term}"
    # The first sign is dropped if it is a plus, and else has no blanks around it.
    if text.startswith(" - "):
        return f"-{text[3:]}"
    return text[3:] or "0"
