"""Builders of position ids: what they are given, how they are asked, and explained."""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.checks.laws import Law
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import Subject, values
from posenc.checks.sums import CLOSE, Parts, fewest_parts, written
from posenc.checks.trials import Broken, Trial, Trials, user
from posenc.conventions import Floats

AXES = ("frame", "row", "column")  # of images
COUNT = (
    "count each text alone, without its padding, and each axis, from the right number; if it is "
    "meant, pass a function as right="
)
# What a builder is given, and the right ids.
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
SEGMENTS = np.array([[0, 0, 0, 1, 2], [0, 1, 1, 1, 1]])
GRID = np.array([2, 3, 4])  # frames, rows and columns of patches, all different
COUNTED = np.maximum(MASK.cumsum(axis=1) - 1, 0)
RESTARTED = np.array([[0, 1, 2, 0, 0], [0, 0, 1, 2, 3]])
PATCHES = np.indices(tuple(GRID)).reshape(3, -1)
BUILT = {
    "left padding": (MASK, COUNTED),
    "packing": (SEGMENTS, RESTARTED),
    "images": (GRID, PATCHES),
}


class Builder(Subject):
    """A function that builds position ids, beside another one, if that is given.

    `given` is what it is called with, and `meant` the ids that are right; both, and `expected`, are
    of `BUILT`, in the shapes there, unless `right` builds other ids. `seen` is 0 where any are.
    """

    kind = "positions"
    usage = "`build(given)`"

    def __init__(self, build: Any, expected: str, right: Any = None) -> None:
        super().__init__(build)
        check_choice("expected", expected, BUILT)
        self.expected = expected
        self.given, self.meant = BUILT[expected]
        padded = expected == "left padding" and not right
        self.seen = MASK if padded else np.ones(self.meant.shape)
        self.find_library(partial(self.built, build))
        if right:
            ids = right(self.array(self.given, "int64"))
            try:
                self.meant = self.in_order(ids)
            except Broken as broken:
                raise ValueError(f"right must return ids, got {broken}") from broken

    def built(self, build: Any) -> Any:
        """Call a function that builds ids."""
        return user(build, self.array(self.given, "int64"))

    def in_order(self, ids: Any) -> Floats:
        """Return ids in the shape of those that are meant: of images, axes may come last."""
        numbers = np.asarray(values(ids), np.float64)
        if self.expected == "images" and numbers.shape == self.meant.T.shape:
            numbers = numbers.T
        if numbers.shape != self.meant.shape:
            raise Broken(f"shape {numbers.shape} for {self.meant.shape}")
        return numbers

    def explain(self, trials: list[Trial]) -> str:
        """Return what ids are made of: all of them alike, or else each axis of images."""
        (trial,) = trials
        given, right = trial.given, trial.meant
        number = np.arange(right.shape[1])
        parts: Parts = {
            "id": right,
            "id from 0": BUILT[self.expected][1],
            "number": number,
            "1": 1,
        }
        if self.expected != "images":
            parts["first text's"] = right[:1]
        parts = {name: (part + 0.0 * right) * self.seen for name, part in parts.items()}
        sums = fewest_parts(given, parts, CLOSE)
        if sums:
            return f"they are {' or '.join(map(written, sums))}; {COUNT}"
        return by_axis(given, right) if self.expected == "images" else ""


def by_axis(given: Floats, right: Floats) -> str:
    """Say what each axis of images' ids is made of; "" if one isn't a sum of two parts."""
    by_name = dict(zip(AXES, right, strict=True))
    parts: Parts = by_name | {"1": 1 + 0 * right[0], "number": np.arange(GRID.prod())}
    # Of patches in another order, from the slowest axis to the fastest
    for order in permutations(AXES):
        number = np.lexsort([by_name[name] for name in reversed(order)])
        for name, ids in by_name.items():
            parts[f"{name} in the order {', '.join(order)}"] = ids[number]
    texts = []
    for axis, ids in zip(AXES, given, strict=True):
        sums = fewest_parts(ids, parts, CLOSE)
        if not sums:
            return ""
        # Of sums that are equal, one says enough.
        texts.append(f"{axis} is {written(sums[0])}")
    return f"{', '.join(texts)}; {COUNT}"


@Law(
    "values",
    ("positions",),
    "the ids are those of the book, or of `right`",
    cure=f"{NO_CAUSE}; if other ids are meant, pass right=, a function that builds them",
)
def ids(builder: Builder) -> Trials:
    """Compare the ids that matter."""
    seen = builder.seen
    built = np.where(seen, builder.in_order(builder.built(builder.subject)), 0)
    axes = ("axis", "patch") if builder.expected == "images" else ("row", "column")
    return [Trial(builder.expected, built, builder.meant * seen, axes=axes)]
