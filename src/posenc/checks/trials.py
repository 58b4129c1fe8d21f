"""Trials and laws: what is compared, and how a law is judged.

A law is a function of a subject, which yields trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.checks.reports import INTERNAL, NO_CAUSE, Row
from posenc.conventions import Floats

SEED = int(os.environ.get("POSENC_SEED", "0"))  # of all that is drawn


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why, or what to pass."""


class Follows(Skip):
    """A law can't be tried, since another one is broken."""


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
        lines = traceback.format_exception(type(error), error, inside)
        self.trace: str = "".join(lines)


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
    """One comparison. With x and positions, known faults can be tried on the same call."""

    words: str
    given: Floats
    meant: Floats
    bounds: Floats
    axes: Sequence[str] = ()
    x: Floats | None = None
    positions: Floats | None = None
    group: str = ""  # the number type, where a fault may begin in one

    def of_type(self, name: str) -> Trial:
        """Return the trial of a number type."""
        return replace(self, group=name)

    def ratio(self) -> Floats:
        """Return each entry's error in units of its bound; NaN counts as infinite."""
        errors = np.abs(self.given - self.meant)
        # A bound of 0 asks for equal numbers.
        ratio = errors / np.maximum(self.bounds, 1e-300)
        return np.asarray(np.where(np.isnan(errors), np.inf, ratio))

    def worst(self) -> float:
        """Return the largest error in units of its bound."""
        return float(self.ratio().max(initial=0.0))

    def measured(self) -> tuple[float, float, str]:
        """Return the largest error, its bound, and where the two part: the first such entry."""
        ratio = self.ratio()
        if not ratio.size:
            return 0.0, 0.0, self.words
        wrong = ratio > 1
        # The first entry beyond its bound; or the nearest to it.
        place = int(wrong.argmax() if wrong.any() else ratio.argmax())
        entry = np.unravel_index(place, ratio.shape)
        names = [f"{name} {n}" for name, n in zip(self.axes, entry, strict=False)]
        if self.positions is not None and "position" in self.axes:
            names[-2] = f"position {self.positions[entry[:-1]]:g}"
        bounds = np.broadcast_to(self.bounds, ratio.shape)
        where = ", ".join(filter(None, [self.words, *names]))
        if wrong.any():
            where += f": {self.given[entry]:.7g} for {self.meant[entry]:.7g}"
        error = abs(float(self.given[entry]) - float(self.meant[entry]))
        return error, float(bounds[entry]), where


@dataclass(frozen=True)
class Law:
    """A law: which kinds of subjects it is for, what it asks, and where its bound comes from."""

    name: str
    kinds: str
    asks: str
    source: str
    test: Callable[[Any], Iterable[Trial]]
    on_request: bool = False


LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""

KINDS = ("table", "module", "rotary", "bias", "decoder", "positions")
ROOTS = (
    "shape",
    "repeat",
    "values",
)  # other laws say little while one of these is broken


def law(
    name: str, kinds: str, asks: str, source: str = "exact", on_request: bool = False
) -> Callable[[Callable[[Any], Iterable[Trial]]], Callable[[Any], Iterable[Trial]]]:
    """Register the function that tests a law."""

    def register(test: Callable[[Any], Iterable[Trial]]) -> Any:
        LAWS.append(Law(name, kinds, asks, source, test, on_request))
        return test

    return register


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds.split()]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if isinstance(names, str):
        raise TypeError(f"laws must be a list of names, got {names!r}")
    laws = [law for law in LAWS if kind in law.kinds.split()]
    if names is None:
        return [law for law in laws if not law.on_request]
    wanted = [*names]
    unknown = sorted({*wanted} - {law.name for law in laws})
    if unknown or not wanted:
        known = ", ".join(law.name for law in laws)
        raise ValueError(
            f"laws must be among those of a {kind}: {known}; got {unknown}"
        )
    return [law for law in laws if law.name in wanted]


def judge(subject: Any, law: Law) -> Row:
    """Test one law, and look for faults that give what was measured."""
    row = Row(law.name, law.asks, "failed", source=law.source)
    try:
        reason = subject.excuse(law.name)
        if reason:
            raise Skip(reason)
        trials = [*law.test(subject)]
        if not trials:
            return replace(row, status="passed")
        # The first call that parts is the simplest.
        failing = [trial for trial in trials if trial.worst() > 1]
        error, bound, note = (failing or [max(trials, key=Trial.worst)])[0].measured()
        row = replace(row, measured=error, bound=bound, note=note)
        if not failing:
            return replace(row, status="passed")
        return replace(row, cause=subject.explain(trials) or NO_CAUSE)
    except Skip as reason:
        status = "follows" if isinstance(reason, Follows) else "skipped"
        return replace(row, status=status, note=str(reason))
    except Broken as how:
        return replace(row, measured=str(how), cause=how.cause)
    except Raised as error:
        cause = "your code raises this error; its traceback is the report's `error`"
        return replace(row, measured=str(error), cause=cause, trace=error.trace)
    except Exception as error:
        trace = traceback.format_exc()
        told = f"{describe(error)}; {INTERNAL}"
        return replace(row, status="internal", measured=told, trace=trace)


def judge_all(subject: Any, names: Iterable[str] | None) -> tuple[Row, ...]:
    """Test laws one by one; if a root is broken, others that fail follow from it."""
    rows: list[Row] = []
    for each in choose(subject.kind, names):
        row = judge(subject, each)
        # What follows from another failure would only hide it.
        roots = [
            other.law
            for other in rows
            if other.law in ROOTS and other.status == "failed"
        ]
        if roots and row.status == "failed":
            row = replace(
                row, status="follows", note=f"follows from {roots[0]}", trace=""
            )
        rows.append(row)
    return tuple(rows)
