"""Builders of position ids, for padded and packed texts and for images."""

from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.checks.trials import Broken, Subject, Trial, Trials, floats, user
from posenc.conventions import UNIT, Floats

COUNT = (
    "count each text alone, to its end, without its padding, and each axis, from the right number; "
    "if it is meant, pass a function as right="
)
# By what is expected: what is given, and the right ids
AFTER_PADDING = np.arange(5) - [[2], [0]]
MASK = AFTER_PADDING >= 0
# Texts that begin at 0; one is longer than what code may begin anew after, such as a sample.
PACKED = np.array([np.r_[:3, 0, 0, :300], np.r_[0, :4, :300]])
BUILT = {
    "left padding": (MASK, AFTER_PADDING * MASK),
    "packing": (np.cumsum(PACKED == 0, axis=1) - 1, PACKED),
    # How many frames, rows and columns there are
    "images": (np.array([2, 3, 4]), np.indices((2, 3, 4)).reshape(3, -1)),
}


class Builder(Subject):
    """A function that builds position ids, beside another one, if that is given.

    `given` is what it is called with, and `meant` the ids that are right.
    """

    kind = "positions"
    usage = "`build(given)`"

    def __init__(self, build: Any, expected: str, right: Any = None) -> None:
        super().__init__(build)
        check_choice("expected", expected, BUILT)
        self.expected, self.right = expected, right
        self.given, self.meant = BUILT[expected]

    def prepare(self) -> None:
        """Find the library, and build the ids that are meant."""
        super().prepare()
        if self.right:
            self.meant = self.built(self.right)

    def plain(self, build: Any = None) -> Any:
        """Call the function, or another one."""
        return user(build or self.subject, self.array(self.given, "int64"))

    def built(self, build: Any) -> Floats:
        """Return ids in the shape of those that are meant, and 0 for those that nobody reads."""
        ids = floats(self.plain(build), finite=False)
        if ids.shape != self.meant.shape:
            raise Broken(f"shape {ids.shape} for {self.meant.shape}")
        # Those of padding, unless `right` says what they are
        unread = self.expected == "left padding" and not self.right
        return np.where(MASK, ids, 0) if unread else ids

    def explain(self, trials: list[Trial]) -> str:
        """Return ids of the first text, or axis, that is wrong, and the right ones."""
        (trial,) = trials
        row, column = np.argwhere(trial.ratio > 1)[0]
        # The first wrong one, and some beside it
        part = slice(max(column - 4, 0), column + 5)
        given, meant = trial.given[row], trial.meant[row]
        wrong = np.flatnonzero(trial.ratio[row] > 1)[:5]
        return (
            f"it gives {listed(given[part])} for {listed(meant[part])}; the first wrong ones are "
            f"{listed((given - meant)[wrong])} more than right, and {listed(given[wrong] - wrong)} "
            f"more than their number in the row; {COUNT}"
        )


def listed(ids: Floats) -> str:
    """Return ids as text, whole numbers without a point."""
    return f"[{' '.join(f'{number:.10g}' for number in ids)}]"


def values(builder: Builder) -> Trials:
    """Compare the ids that matter."""
    axes = ("axis", "patch") if builder.expected == "images" else ("row", "column")
    given, meant = builder.built(builder.subject), builder.meant
    # A step and a product are rounded, if they aren't whole numbers.
    bounds = 4 * UNIT * np.abs(meant)
    yield Trial(builder.expected, given, meant, bounds, axes)
