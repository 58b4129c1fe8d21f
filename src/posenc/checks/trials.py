"""Subjects, and trials: one comparison of arrays each, and what may go wrong on the way to it.

A law is a function of a subject, which returns trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc.conventions import UNIT, Convention, EncodingCall, Floats

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
            names[-2] = f"position {self.call.k[entry[:-1]]:.10g}"
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


Mistakes = Iterator[tuple[str, Floats]]  # a sentence on each, and what it makes


def matching(trial: Trial, mistakes: Mistakes) -> Iterator[str]:
    """Yield the sentences on those that make what was measured, but for rounding."""
    near = tolerance([trial]) + trial.bounds
    for text, made in mistakes:
        if (np.abs(made - trial.given) <= near).all():
            yield text


def by_width(trials: list[Trial]) -> dict[int, Trial]:
    """Return, by width, the first trial that has many rows, one position apart."""
    return {
        trial.given.shape[-1]: trial
        for trial in reversed(trials)
        if trial.call.k.shape[-1] > 20 and (np.diff(trial.call.k) == 1).all()
    }


# Subjects

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""


def argument(call: Any, names: Sequence[str]) -> Any:
    """Return the argument of a function, or a module, that has the first of these names."""
    known: Any = {}
    with suppress(TypeError, ValueError):  # of a builtin
        known = inspect.signature(getattr(call, "forward", call)).parameters
    return next((known[name] for name in names if name in known), None)


def type_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def floats(array: Any, finite: bool = True) -> Floats:
    """Return numbers in float64; NaN and infinity break the law, so they can't pass it."""
    if hasattr(array, "detach"):
        array = user(lambda: array.detach().cpu())
        # numpy has no bfloat16; what is complex is refused below.
        array = array if array.is_complex() else array.double()
    numbers = user(np.asarray, array)
    if numbers.dtype.kind not in "biuf":
        raise Broken(f"{numbers.dtype}, which isn't a type of numbers")
    if finite and not np.isfinite(numbers).all():
        first = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise Broken(f"entries that are not finite, {first} of {numbers.shape} first")
    return np.array(numbers, np.float64)


class Subject:
    """What is checked, of one kind, and what it is declared to be."""

    kind = ""
    usage = ""  # how it is called
    explain: Any  # takes a law's trials, returns what gives the same numbers, or ""
    plain: Callable[[], Any]  # the first call of the code
    library: Any = np  # whose arrays the code takes: numpy or torch

    def __init__(self, subject: Any) -> None:
        self.subject: Any = subject

    def prepare(self) -> None:
        """Find the library: torch if a plain call takes and returns its tensors; or numpy."""
        # Tensors go first: code that caches tables would otherwise cache numpy's. If neither is
        # taken, a law will report the error that tensors make.
        torch = sys.modules.get("torch", np)
        for library in (torch, np):
            self.library = library
            with suppress(Raised):
                if hasattr(self.plain(), "detach") == (library is not np):
                    return
        self.library = torch

    def array(self, x: Any, dtype: str = "float32") -> Any:
        """Make an array of the library, in the named dtype and the same order in memory."""
        # A copy, so that code which changes its input changes nothing here
        return self.library.asarray(np.array(x), dtype=getattr(self.library, dtype))

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        return None, ""
