r"""The laws, and how each is tested, judged and explained.

A law is a function of a probe. Its docstring says what it asks, then "Bound:" and where that comes
from (by default, it is exact), then "Likely:" and the usual cause of a failure. It returns the
measured error, the bound and a note; it raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised: the law failed,
and the report has the traceback, once. Any other exception is a failure of these checks
("internal"). A sign is a function of a probe that looks for a more exact cause.

No bound is tuned. Each follows from the number type, whose unit u is half the distance from 1 to
the next number (:math:`2^{-24}` in float32); the position, since the error of a float32 angle
:math:`\theta = k\omega` is proportional to it; and the width, over which errors add up. The error
of one entry in float32 arithmetic is at most :math:`\tau`, derived in `conventions.rounding`. A law
that compares two entries allows for both errors, one that adds entries for their sum. Even float64
tables need only float32 accuracy: models use float32, and many compute their angles in it.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.checks.report import Report, Row
from posenc.museum import MUSEUM

Measured = tuple[float, float, str]
"""A law's result: the measured error, the bound, and a note."""

Test = Callable[[Any], Measured]
Sign = Callable[[Any], str | None]
"""Looks for a cause: the name of an exhibit in `MUSEUM`, a sentence, or None."""


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this probe; the message says why."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number; the cause is what signs find, by default."""

    def __init__(self, how: str, cause: str | None = None) -> None:
        super().__init__(how)
        self.cause = cause


class WrongShape(Broken):
    """A result has another shape than its input."""


class Raised(Exception):  # noqa: N818
    """The code under test raised an exception; `traceback` begins at that code."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe(error))
        inside = error.__traceback__ and error.__traceback__.tb_next
        self.traceback: str = "".join(traceback.format_exception(type(error), error, inside))


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


def compared(
    found: Any, meant: Any, bounds: Any, note: str = "", *names: Sequence[Any]
) -> Measured:
    """Return the difference that is largest in units of its bound, the bound, and a note.

    The note may have a "{}" for the place on each axis: its name, or its number beyond the names.
    """
    if np.ndim(meant) and np.shape(found) != np.shape(meant):
        raise Broken(f"shapes {np.shape(found)} and {np.shape(meant)}")
    errors = np.abs(np.asarray(found) - meant)
    if not errors.size:
        return 0.0, float(np.max(bounds, initial=0.0)), ""
    limits = np.broadcast_to(bounds, errors.shape)
    ratio = np.where(np.isnan(errors), np.inf, errors) / np.maximum(limits, 1e-300)
    place = tuple(int(each) for each in np.unravel_index(int(ratio.argmax()), errors.shape))
    named = [name[k] for name, k in zip(names, place, strict=False)]
    note = note.format(*named, *place[len(names) :])
    return float(errors[place]), float(limits[place]), note


def largest(found: Iterable[Measured]) -> Measured:
    """Return the measurement with the largest ratio to its bound; NaN counts as infinite."""
    return max(found, key=lambda one: (math.isnan(one[0]), one[0] / max(one[1], 1e-300)))


@dataclass(frozen=True)
class Law:
    """A law: what it asks, where its bound comes from, and the most likely cause of a failure.

    If one of its roots, `after`, is broken, a failure of this law follows from that.
    """

    name: str
    kinds: tuple[str, ...]
    asks: str
    source: str
    likely: str
    after: tuple[str, ...]
    test: Test


LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""

SIGNS: list[tuple[list[str], list[str], Sign]] = []
"""Kinds, laws and function of each sign, in the order in which they are looked for."""

KINDS = ("table", "module", "rotary", "bias", "decoder")
ROOTS = ("shape", "repeat")  # nothing can be measured in a result that is wrong, or changes
RAISES = "your code raises an error, whose traceback is the report's `error`"
INTERNAL = (
    "posenc.checks failed, not your code: please report it to posenc, with this traceback and the "
    "code that was checked"
)
CALL = "2τ; 4u(|y| + |p|) more for x + p; 2(τ + u)(|x₁| + |x₂|) for a turned x"


def law(name: str, kinds: str, after: str = "") -> Callable[[Test], Test]:
    """Register the function that tests a law on some kinds of probes; names are in one string."""

    def register(test: Test) -> Test:
        asks, more, *_ = [*inspect.cleandoc(test.__doc__ or "").split("\n\n"), ""]
        bound, _, likely = " ".join(more.split()).removesuffix(".").partition("Likely: ")
        bound = bound.removeprefix("Bound: ").removesuffix(". ").replace("CALL", CALL) or "exact"
        roots = () if name == "shape" else (*ROOTS, *after.split())
        asks = asks[0].lower() + asks[1:].removesuffix(".")
        LAWS.append(Law(name, tuple(kinds.split()), asks, bound, likely, roots, test))
        return test

    return register


def sign(kinds: str, laws: str) -> Callable[[Sign], Sign]:
    """Register a function that looks for a more exact cause of broken laws."""

    def register(look: Sign) -> Sign:
        SIGNS.append((kinds.split(), laws.split(), look))
        return look

    return register


def laws_of(kind: str) -> list[str]:
    """Return the names of the laws of a "table", "module", "rotary", "bias" or "decoder"."""
    return [law.name for law in choose(kind)]


def choose(kind: str, only: Iterable[str] | None = None) -> list[Law]:
    """Return the laws to test; raise an error unless `only` names laws of this kind."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    laws = [law for law in LAWS if kind in law.kinds]
    if isinstance(only, str):
        raise TypeError(f"laws must be a list of names, got {only!r}")
    names = [law.name for law in laws]
    wanted = names if only is None else [*only]
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        raise ValueError(f"laws must be among those of a {kind}: {', '.join(names)}; got {unknown}")
    return [law for law in laws if law.name in wanted]


def run(probe: Any, name: str, only: Iterable[str] | None = None) -> Report:
    """Test all laws, or only some, on a probe."""
    laws = choose(probe.kind, only)
    judged = [judge(probe, each) for each in laws]
    rows = silence(laws, [row for row, _ in judged])
    heard = [trace for row, (_, trace) in zip(rows, judged, strict=True) if row.status != "follows"]
    error = next(filter(None, heard), "")
    raised = bool(error) and judge(probe, choose(probe.kind)[0])[0].likely.startswith(RAISES)
    report = Report(name, probe.kind, None, tuple(rows), probe.errors, error, raised=raised)
    try:
        return replace(report, convention=probe.convention, other=probe.other_kind)
    except (Broken, Raised):  # the laws met it, too
        return report
    except Exception:
        return replace(report, error=error or traceback.format_exc())


def judge(probe: Any, law: Law) -> tuple[Row, str]:
    """Test one law; the second result is a traceback, if something raised."""
    row, cause = Row(law.name, law.asks, "failed", source=law.source, likely=law.likely), None
    try:
        try:
            if reason := probe.excused(law.name):
                raise Skip(reason)
            measured, bound, note = law.test(probe)
            row = replace(row, measured=measured, bound=bound, note=note)
            if measured <= bound:  # NaN is not
                return replace(row, status="passed", likely=""), ""
        except Broken as how:
            row, cause = replace(row, measured=str(how)), how.cause
        cause = cause or look(probe, law.name) or law.likely
        exhibit = MUSEUM.get(cause)
        return replace(row, exhibit=exhibit, likely=exhibit.says if exhibit else cause), ""
    except Skip as reason:
        return replace(row, status="skipped", likely="", note=str(reason)), ""
    except Raised as error:
        return replace(row, measured=str(error), likely=f"{RAISES} ({error})"), error.traceback
    except Exception as error:
        row = replace(row, status="internal", measured=describe(error), likely=INTERNAL)
        return row, traceback.format_exc()


def look(probe: Any, name: str) -> str | None:
    """Return the first cause that a sign of a law finds; code that raises gives no sign."""
    for kinds, laws, sign in SIGNS:
        if probe.kind in kinds and name in laws:
            with contextlib.suppress(Broken, Raised, Skip):
                if cause := sign(probe):
                    return cause
    return None


def silence(laws: Sequence[Law], rows: Sequence[Row]) -> list[Row]:
    """Mark failures that follow from the failure of a root, or have the same cause as another."""
    failed = {row.law for row in rows if row.status == "failed"}
    causes: dict[str, str] = {law.likely: "" for law in laws}  # of which law each is the cause
    found = []
    for law, row in zip(laws, rows, strict=True):
        roots = [name for name in law.after if name in failed and name != law.name]
        root = (roots or [causes.setdefault(row.likely, law.name)])[0]
        if row.law in failed and root not in ("", law.name):
            note = f"follows from {root}"
            row = replace(row, status="follows", note=note, likely="", exhibit=None)
        found.append(row)
    return found
