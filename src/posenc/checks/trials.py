"""Trials: one comparison of arrays each, and what may go wrong on the way to it.

A law is a function of a subject, which returns trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc.conventions import UNIT, EncodingCall, Floats

SEED = 0  # of all that is drawn
NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
OTHER_KIND = "another kind isn't asked this"


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why, or what to pass."""


class Broken(ValueError):  # noqa: N818
    """A law is broken in a way that isn't a number: how, and what made it so, if that was seen."""

    def __init__(self, how: str, cause: str = "") -> None:
        super().__init__(how)
        self.cause = cause


class WrongShape(Broken):
    """A result has another shape than is asked for."""


class Raised(ValueError):  # noqa: N818
    """The code under test raised an exception, which is the cause of this one."""


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except Exception as error:
        raise Raised(repr(error)) from error


@dataclass(frozen=True)
class Trial:
    """One comparison. A bound of 0 asks for equal numbers.

    If it has a call, as `posenc.museum` lists them, known faults can be run on the same.
    """

    words: str
    given: Floats
    meant: Floats
    bounds: Floats | float = 0.0
    axes: tuple[
        str, ...
    ] = ()  # of an `EncodingCall`, they end in "position", "dimension"
    call: Any = None
    unit: float = UNIT  # of rounding of what was given

    def __post_init__(self) -> None:
        """Raise `Broken` unless the two can be compared."""
        if self.given.shape != self.meant.shape:
            raise WrongShape(f"shape {self.given.shape} for {self.meant.shape}")

    @cached_property
    def ratio(self) -> Floats:
        """Each entry's error in units of its bound; NaN counts as infinite."""
        # A bound of 0 makes great numbers of errors; of infinity, less infinity, NaN is made.
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.abs(self.given - self.meant) / np.maximum(self.bounds, 1e-300)
        return np.where(np.isnan(ratio), np.inf, ratio)

    @property
    def worst(self) -> float:
        """The largest error in units of its bound."""
        return float(self.ratio.max())

    @cached_property
    def failing(self) -> Any:
        """Which rows have an entry beyond its bound."""
        return (self.ratio > 1).any(axis=-1)

    def place(self) -> tuple[float | None, float, str]:
        """Return an error, its bound, and where: the first beyond it, or else the nearest."""
        wrong = self.ratio > 1
        first = int((wrong if wrong.any() else self.ratio).argmax())
        entry = np.unravel_index(first, wrong.shape)
        given, meant = float(self.given[entry]), float(self.meant[entry])
        bound = float(np.broadcast_to(self.bounds, wrong.shape)[entry])
        names = [f"{name} {n}" for name, n in zip(self.axes, entry, strict=False)]
        if isinstance(self.call, EncodingCall):
            names[-2] = f"position {self.call.k[entry[:-1]]:g}"
        note = ", ".join([self.words, *names])
        if wrong.any():
            note += f": {given:.7g} for {meant:.7g}"
        error = abs(given - meant)
        return error if math.isfinite(error) else None, bound, note


Trials = Iterable[Trial]


def tolerance(trials: list[Trial]) -> float:
    """Return how far a fault may be off: a tenth of what it is to explain, at most 1e-4."""
    apart = max(np.abs(trial.given - trial.meant).max() for trial in trials)
    return min(NEAR, float(apart) / 10)
