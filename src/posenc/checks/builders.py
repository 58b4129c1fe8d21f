"""Builders of position ids, for padded and packed texts and for images."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.checks.laws import Law
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import Subject, floats
from posenc.checks.trials import NEAR, Broken, Trial, Trials, user
from posenc.conventions import Floats

COUNT = (
    "count each text alone, without its padding, and each axis, from the right number; if it is "
    "meant, pass a function as right="
)
# What a builder is given: padding is 0; which text a token belongs to; frames, rows and columns
MASK = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
SEGMENTS = np.array([[0, 0, 0, 1, 2], [0, 1, 1, 1, 1]])
GRID = np.array([2, 3, 4])
# By what is expected, what is given, and the right ids
BUILT = {
    "left padding": (MASK, np.array([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])),
    "packing": (SEGMENTS, np.array([[0, 1, 2, 0, 0], [0, 0, 1, 2, 3]])),
    "images": (GRID, np.indices((2, 3, 4)).reshape(3, -1)),
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
        # Ids of padding are never read, unless `right` says what they are.
        padded = expected == "left padding" and not right
        self.seen = MASK if padded else 1 + 0 * self.meant
        # From here on, functions are called.
        self.find_library(lambda: user(build, self.array(self.given, "int64")))
        if right:
            self.meant = self.built(right)

    def built(self, build: Any) -> Floats:
        """Return ids in the shape of those that are meant; where any are right, 0."""
        made = user(build, self.array(self.given, "int64"))
        ids = floats(made, finite=False)
        if ids.shape != self.meant.shape:
            raise Broken(f"shape {ids.shape} for {self.meant.shape}")
        return np.where(self.seen, ids, 0)

    def explain(self, trials: list[Trial]) -> str:
        """Return of what the ids are a multiple, and what is added; or ""."""
        parts = {
            "id": self.meant,
            "id from 0": BUILT[self.expected][1],
            "number": np.arange(self.meant.shape[1]) + 0 * self.meant,
        }
        seen, (trial,) = self.seen > 0, trials
        given = trial.given[seen]
        for name, part in parts.items():
            # Such as 1 * id + 2: least squares tell both numbers.
            columns = np.stack([part[seen], np.ones(len(given))], axis=1)
            numbers: Any = np.linalg.lstsq(columns, given, rcond=None)[0]
            if np.abs(columns @ numbers - given).max() < NEAR:
                times, more = np.round(numbers, 4) + 0.0  # which has no -0
                return f"they are {times:g} * {name} + {more:g}; {COUNT}"
        return ""


@Law(
    "values",
    ("positions",),
    "the ids are those of the book, or of `right`",
    cure=f"{NO_CAUSE}; if other ids are meant, pass right=, a function that builds them",
)
def ids(builder: Builder) -> Trials:
    """Compare the ids that matter."""
    axes = ("axis", "patch") if builder.expected == "images" else ("row", "column")
    given, meant = builder.built(builder.subject), builder.meant * builder.seen
    return [Trial(builder.expected, given, meant, axes=axes)]
