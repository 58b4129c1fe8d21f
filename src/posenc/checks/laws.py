"""Laws: what a subject is asked, and how that is judged.

A check makes a subject, of `kinds`, `biases`, `builders` or `decoders`. Each law of its kind, of
`battery` or beside the subject, asks it for trials (`trials`). If one fails, the subject explains
it. What came out is a row of the report (`reports`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from posenc._validate import check_choice
from posenc.checks.reports import NO_CAUSE, Row
from posenc.checks.trials import Broken, Raised, Skip, Trial, Trials

ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
ON_REQUEST = ("meta", "device", "compile")  # rarely asked, or they load a compiler
RAISES = "your code raises this error, whose traceback is the report's `error`; it is called as "
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"
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
    test: Any = (
        None  # takes the subject; returns trials, or None, or raises as `trials` says
    )

    def __call__(self, test: Callable[[Any], Trials | None]) -> Any:
        """Keep the test, and return it: its name stays that of a function."""
        self.test = test
        LAWS.append(self)
        return test


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    known = laws_of(kind)
    usual = [name for name in known if name not in ON_REQUEST]
    # A generator could be read only once.
    wanted = usual if names is None else [*names]
    if not wanted:
        raise ValueError(f"laws must have one, of {', '.join(known)}")
    for name in wanted:
        check_choice(f"law of a {kind}", name, known)
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Any, laws: Iterable[Law]) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in laws:
        if root:
            note = f"follows from {root}"
            yield Row(law.name, law.asks, law.source, "follows", note=note)
            continue
        row = judge(subject, law)
        if row.status == "failed" and law.name in ROOTS:
            root = law.name
        yield row


def judge(subject: Any, law: Law) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    row: Callable[..., Row] = partial(Row, law.name, law.asks, law.source)
    try:
        trials = [*(law.test(subject) or ())]
        failing = [trial for trial in trials if trial.worst > 1]
        if failing:
            # The first call that parts is the simplest.
            cause = cause_of(subject, trials) or law.cure or NO_CAUSE
            return row("failed", *failing[0].place(), cause)
        closest = max(trials, key=lambda trial: trial.worst, default=None)
        return row("passed", *closest.place()) if closest else row()
    except Skip as reason:
        return row("skipped", note=str(reason))
    except Broken as broken:
        return row("failed", note=str(broken), cause=broken.cause or law.cure)
    except Raised as raised:
        status, cause = "failed", RAISES + subject.usage
        error = raised.__cause__
    except Exception as failure:
        status, cause = "internal", INTERNAL
        error = failure
    note = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
    trace = "".join(traceback.format_exception(error))
    return row(status, note=note, cause=cause, trace=trace)


def cause_of(subject: Any, trials: list[Trial]) -> str:
    """Return what the subject says of trials that fail."""
    # Explaining makes other calls; if they fail, what was measured still counts.
    with suppress(Broken, Raised):
        return str(subject.explain(trials))
    return ""
