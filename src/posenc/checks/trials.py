"""Trials and laws: what is compared, how a law is judged, and how its cause is found.

A law is a function of a subject, which yields trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.checks.reports import INTERNAL, NO_CAUSE, Row
from posenc.conventions import Floats
from posenc.museum import FAULTS

SEED = int(os.environ.get("POSENC_SEED", "0"))  # of all that is drawn
NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
KINDS = ("table", "module", "rotary", "bias", "decoder", "positions")
ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
ON_REQUEST = ("device", "compile")  # they load a compiler
RAISES = "your code raises this error; its traceback is the report's `error`"


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why, or what to pass."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number; `cause` is what was seen to make it so."""

    def __init__(self, how: str, cause: str = "") -> None:
        super().__init__(how)
        self.cause = cause


class Raised(Exception):  # noqa: N818
    """The code under test raised an exception; `trace` begins at that code."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe(error))
        inside = error.__traceback__ and error.__traceback__.tb_next
        self.trace: str = "".join(
            traceback.format_exception(type(error), error, inside)
        )


def describe(error: BaseException) -> str:
    """Describe an exception in a line."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except (Broken, Raised):
        raise
    except Exception as error:
        raise Raised(error) from error


@dataclass(frozen=True)
class Trial:
    """One comparison. A bound of 0 asks for equal numbers.

    If it has the arguments of the call, known faults can be run on the same. What `call` holds:

    - table, module, rotary: x, (..., seq_len, width), and positions, (..., seq_len). Then `axes`
      ends in "position" and "dimension".
    - bias: how far each key is from its query.
    - decoder: the `Text` that is read, and the lengths of its chunks.
    - positions: the mask, the segments or the sizes of images.
    """

    words: str
    given: Floats
    meant: Floats
    bounds: Floats | float = 0.0
    axes: Sequence[str] = ()
    call: tuple[Any, ...] = ()
    rounded: bool = False  # to a half type, of which faults in other types say nothing

    @property
    def ratio(self) -> Floats:
        """Each entry's error in units of its bound; NaN counts as infinite."""
        ratio = np.abs(self.given - self.meant) / np.maximum(self.bounds, 1e-300)
        return np.asarray(np.where(np.isnan(ratio), np.inf, ratio))

    @property
    def worst(self) -> float:
        """The largest error in units of its bound."""
        return float(self.ratio.max(initial=0.0))

    def result(self) -> tuple[float, float, str]:
        """Return an error, its bound, and where: the first beyond it, or the nearest to it."""
        ratio, wrong = self.ratio, self.worst > 1
        if not ratio.size:
            return 0.0, 0.0, self.words
        place = int((ratio > 1).argmax() if wrong else ratio.argmax())
        entry = np.unravel_index(place, ratio.shape)
        arrays = np.broadcast_arrays(self.given, self.meant, self.bounds)
        given, meant, bound = (float(array[entry]) for array in arrays)
        names = [f"{name} {n}" for name, n in zip(self.axes, entry, strict=False)]
        if "position" in self.axes:
            names[-2] = f"position {self.call[1][entry[:-1]]:g}"
        numbers = f": {given:.7g} for {meant:.7g}" if wrong else ""
        where = ", ".join(filter(None, [self.words, *names]))
        return abs(given - meant), bound, where + numbers


Trials = Iterator[Trial]


@dataclass(frozen=True)
class Law:
    """A law: which kinds of subjects it is for, what it asks, and where its bound comes from."""

    name: str
    kinds: tuple[str, ...]
    asks: str
    source: str
    test: Callable[[Any], Iterable[Trial]]


LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""


def law(
    name: str, kinds: tuple[str, ...], asks: str, source: str = "exact"
) -> Callable[[Callable[[Any], Iterable[Trial]]], None]:
    """Register the function that tests a law; its name then holds None, as only `LAWS` is read."""
    return lambda test: LAWS.append(Law(name, kinds, asks, source, test))


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if isinstance(names, str):
        raise TypeError(f"laws must be a list of names, got {names!r}")
    known = laws_of(kind)
    wanted = {*known} - {*ON_REQUEST} if names is None else {*names}
    if not wanted or not wanted <= {*known}:
        rule = f"among those of a {kind}: {', '.join(known)}"
        raise ValueError(f"laws must be {rule}; got {sorted(wanted)}")
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Any, names: Iterable[str] | None) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in choose(subject.kind, names):
        if root:
            yield Row(law.name, law.asks, "follows", note=f"follows from {root}")
            continue
        row = judge(subject, law)
        yield row
        if row.status == "failed" and law.name in ROOTS:
            root = law.name


def judge(subject: Any, law: Law) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    row = Row(law.name, law.asks, "failed", source=law.source)
    try:
        subject.excuse(law.name)
        return compared(subject, row, [*law.test(subject)])
    except Skip as reason:
        return replace(row, status="skipped", note=str(reason))
    except Broken as how:
        return replace(row, measured=str(how), cause=how.cause)
    except Raised as error:
        return replace(row, measured=str(error), cause=RAISES, trace=error.trace)
    except Exception as error:
        trace = traceback.format_exc()
        measured = f"{describe(error)}; {INTERNAL}"
        return replace(row, status="internal", measured=measured, trace=trace)


def compared(subject: Any, row: Row, trials: list[Trial]) -> Row:
    """Complete the row of a law by its trials."""
    if not trials:
        return replace(row, status="passed")
    failing = [trial for trial in trials if trial.worst > 1]
    # The first call that parts is the simplest.
    shown = failing[0] if failing else max(trials, key=lambda trial: trial.worst)
    error, bound, note = shown.result()
    row = replace(row, measured=error, bound=bound, note=note)
    if not failing:
        return replace(row, status="passed")
    return replace(row, cause=subject.explain(trials) or NO_CAUSE)


def causes(kind: str, rights: list[Any], trials: list[Trial]) -> str:
    """Return the known faults that give all of these trials; `rights` has each trial's encoding."""
    faults = [fault for fault in FAULTS if kind in fault.kinds]
    alike = [str(fault) for fault in faults if gives(fault.make, rights, trials)]
    return "; or ".join(dict.fromkeys(alike))


def gives(make: Any, rights: list[Any], trials: list[Trial]) -> bool:
    """Whether a fault gives what was measured, in each of these calls.

    Entries may differ by their bounds, and by a tenth of what is to be explained, at most 1e-4.
    """
    # How far the two are apart, at most: what a fault has to explain.
    apart = max(np.abs(trial.given - trial.meant).max(initial=0) for trial in trials)
    for right, trial in zip(rights, trials, strict=True):
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            off = np.abs(make(right, *trial.call) - trial.given)
        if not (off <= trial.bounds + min(NEAR, apart / 10)).all():
            return False
    return True
