"""Trials and laws: what is compared, how a law is judged, and how its cause is found.

A law is a function of a subject, which yields trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.reports import NO_CAUSE, Row
from posenc.conventions import Floats
from posenc.museum import FAULTS

if TYPE_CHECKING:
    from posenc.checks.subjects import Subject

SEED = int(os.environ.get("POSENC_SEED", "0"))  # of all that is drawn
NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
KINDS = ("table", "module", "rotary", "bias", "decoder", "positions")
ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
ON_REQUEST = ("meta", "device", "compile")  # rarely asked, or they load a compiler
RAISES = "your code raises this error; its traceback is the report's `error`"
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why, or what to pass."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number: how, and what made it so, if that was seen."""

    def __init__(self, how: str, cause: str = "") -> None:
        super().__init__(how)
        self.how, self.cause = how, cause


class Raised(Exception):  # noqa: N818
    """The code under test raised an exception, which is the cause of this one."""


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except Exception as error:
        raise Raised(describe(error)) from error


def describe(error: BaseException) -> str:
    """Describe an exception in a line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0][:200]


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
    axes: tuple[str, ...] = ()
    call: tuple[Any, ...] = ()
    rounded: bool = False  # to a half type, of which faults in other types say nothing
    cause: str = ""  # what was seen to make it so, if it is wrong

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
        place = (ratio > 1).argmax() if wrong else ratio.argmax()
        entry = np.unravel_index(int(place), ratio.shape)
        arrays = np.broadcast_arrays(self.given, self.meant, self.bounds)
        given, meant, bound = (float(array[entry]) for array in arrays)
        names = [f"{name} {n}" for name, n in zip(self.axes, entry, strict=False)]
        if "position" in self.axes:
            names[-2] = f"position {self.call[1][entry[:-1]]:g}"
        numbers = f": {given:.7g} for {meant:.7g}" if wrong else ""
        return abs(given - meant), bound, ", ".join([self.words, *names]) + numbers


Trials = Iterator[Trial]
Test = Callable[[Any], Iterable[Trial]]


LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""


@dataclass
class Law:
    """A law; the function that it decorates becomes its test, and the law is listed."""

    name: str
    kinds: tuple[str, ...]  # of subjects
    asks: str
    source: str = "exact"  # of its bound
    cure: str = ""  # what is said if it is broken, and no known fault gives the same
    test: Any = None  # a function of the subject that yields trials

    def __call__(self, test: Test) -> Test:
        """Keep the test."""
        self.test = test
        LAWS.append(self)
        return test


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    known = laws_of(kind)
    wanted = {*known} - {*ON_REQUEST} if names is None else {*names}
    if not wanted or not wanted <= {*known}:
        rule = f"among those of a {kind}: {', '.join(known)}"
        raise ValueError(f"laws must be {rule}; got {sorted(wanted)}")
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Subject, laws: Iterable[Law]) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in laws:
        row = Row(law.name, law.asks, law.source)
        if root:
            yield replace(row, status="follows", note=f"follows from {root}")
            continue
        row = judge(subject, law, row)
        yield row
        if row.status == "failed" and law.name in ROOTS:
            root = law.name


def judge(subject: Subject, law: Law, row: Row) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    try:
        if subject.other_kind and law.name not in subject.asked_if_learned:
            raise Skip("another kind isn't asked this")
        return compared(subject, row, [*law.test(subject)], law.cure)
    except Skip as reason:
        return replace(row, status="skipped", note=str(reason))
    except Broken as broken:
        cause = broken.cause or law.cure
        return replace(row, status="failed", note=broken.how, cause=cause)
    except Exception as error:
        status, cause = "internal", INTERNAL
        if isinstance(error, Raised):
            status, cause = "failed", RAISES
        trace = "".join(traceback.format_exception(error.__cause__ or error))
        note = describe(error.__cause__ or error)
        return replace(row, status=status, note=note, cause=cause, trace=trace)


def compared(subject: Subject, row: Row, trials: list[Trial], cure: str) -> Row:
    """Complete the row of a law by its trials."""
    failing = [trial for trial in trials if trial.worst > 1]
    # The first call that parts is the simplest.
    shown = failing[0] if failing else max(trials, key=lambda trial: trial.worst)
    error, bound, note = shown.result()
    row = replace(row, measured=error, bound=bound, note=note)
    if not failing:
        return row
    cause = failing[0].cause
    # Explaining makes other calls; if they fail, what was measured still counts.
    with suppress(Broken, Raised):
        cause = cause or subject.explain(trials)
    return replace(row, status="failed", cause=cause or cure or NO_CAUSE)


def causes(kind: str, rights: list[Any], trials: list[Trial]) -> str:
    """Return the known faults that give all of these trials; `rights` has each trial's encoding.

    Entries may differ by their bounds, and by a tenth of what is to be explained, at most 1e-4.
    """
    apart = max(np.abs(trial.given - trial.meant).max(initial=0) for trial in trials)
    near = min(NEAR, apart / 10)
    pairs = [*zip(rights, trials, strict=True)]

    def gives(make: Callable[..., Any]) -> bool:
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            off = [
                np.abs(make(right, *trial.call) - trial.given) - trial.bounds
                for right, trial in pairs
            ]
        return all((error <= near).all() for error in off)

    alike = [fault for fault in FAULTS if kind in fault.kinds and gives(fault.make)]
    return "; or ".join(dict.fromkeys(map(str, alike)))
