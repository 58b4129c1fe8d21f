"""Builders of position ids: for left-padded texts, packed texts, and images amid text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.checks.subjects import Library, Subject, values
from posenc.checks.trials import Broken, Trial, law, user
from posenc.conventions import Floats

MASK = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
SEGMENTS = np.array([[0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1]])
GRID = (2, 3, 4)  # frames, rows and columns of patches, all different


def restarted(segments: Any) -> Any:
    """Count from 0 in each segment."""
    count = np.broadcast_to(np.arange(segments.shape[1]), segments.shape)
    new = np.diff(segments, axis=1, prepend=segments[:, :1] - 1) != 0
    return count - np.maximum.accumulate(np.where(new, count, 0), axis=1)


def coordinates(grid: Any) -> Any:
    """Return frame, row and column of each patch, row by row: (patches, axes)."""
    return np.indices(tuple(grid)).reshape(len(grid), -1).T


Build = Callable[[Any], Any]
"""From a mask, segments or a grid to position ids."""


@dataclass(frozen=True)
class Expected:
    """What a builder is given, and what it should make of it."""

    given: Any
    right: Build
    wrong: dict[str, Build]  # known faults, by what a report says


EXPECTED = {
    "left padding": Expected(
        MASK,
        lambda mask: np.maximum(mask.cumsum(axis=1) - 1, 0),
        {
            "columns are counted, with the padding": lambda mask: np.indices(
                mask.shape
            )[1],
            "words are counted from 1: subtract 1": lambda mask: mask.cumsum(axis=1),
            "the first text's positions are taken for all": lambda mask: (
                np.maximum(mask[:1].cumsum(axis=1) - 1, 0) + 0 * mask
            ),
        },
    ),
    "packing": Expected(
        SEGMENTS,
        restarted,
        {
            "positions continue from the text before": lambda segments: np.indices(
                segments.shape
            )[1],
            "positions begin at 1": lambda segments: restarted(segments) + 1,
        },
    ),
    "images": Expected(
        np.array(GRID),
        coordinates,
        {
            "rows and columns are swapped": lambda grid: coordinates(grid)[
                :, [0, 2, 1]
            ],
            "rows and columns are swapped, in the numbering, too": lambda grid: (
                coordinates(grid[[0, 2, 1]])
            ),
            "patches are numbered column by column": lambda grid: coordinates(
                grid[[0, 2, 1]]
            )[:, [0, 2, 1]],
            "the frame is lost": lambda grid: coordinates(grid) * [0, 1, 1],
            "the row is lost": lambda grid: coordinates(grid) * [1, 0, 1],
            "the column is lost": lambda grid: coordinates(grid) * [1, 1, 0],
            "patches are counted one by one, without a grid": lambda grid: np.arange(
                grid.prod()
            )[:, None].repeat(3, axis=1),
        },
    ),
}


class Builder(Subject):
    """A function that builds position ids."""

    kind = "positions"

    def __init__(
        self, build: Any, expected: str, library: Any = None, **options: Any
    ) -> None:
        super().__init__(build, **options)
        if expected not in EXPECTED:
            raise ValueError(
                f"expected must be one of {', '.join(EXPECTED)}, got {expected!r}"
            )
        self.expected = EXPECTED[expected]
        self.given: Any = self.expected.given
        self.right: Any = self.expected.right(self.given)
        self.shown = MASK > 0 if expected == "left padding" else ...
        self.library = Library.of(
            library, lambda tried: build(tried.array(self.given, "int64"))
        )

    def built(self) -> Floats:
        """Call the code; the ids of padding don't matter."""
        ids = values(user(self.subject, self.library.array(self.given, "int64")))
        shape = self.right.shape
        # Axes may come first, as in (3, patches). What has the right shape isn't transposed.
        if ids.shape != shape and ids.T.shape == shape:
            ids = ids.T
        if ids.shape != shape:
            raise Broken(f"shape {ids.shape} for {shape}")
        return ids[self.shown].astype(np.float64)

    def explain(self, trials: Sequence[Trial]) -> str:
        """Run the known faults."""
        given = trials[0].given
        return "; or ".join(
            text
            for text, make in self.expected.wrong.items()
            if np.array_equal(make(self.given)[self.shown], given)
        )


@law("values", "positions", "the ids are those of the book")
def ids(builder: Builder) -> Iterator[Trial]:
    """Compare the ids, but those of padding."""
    built, right = builder.built(), builder.right[builder.shown]
    yield Trial("", built, right, 0 * built, ("row", "axis"))
