"""Laws: what a subject is asked, and how that is judged.

A check makes a subject, of `kinds`, `biases`, `builders` or `decoders`. Each law of its kind, of
`battery` or beside the subject, asks it for trials (`trials`). If one fails, the subject explains
it. What came out is a row of the report (`reports`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from posenc._validate import check_choice
from posenc.checks.reports import NO_CAUSE, Row
from posenc.checks.trials import Broken, Raised, Skip, Trials

if TYPE_CHECKING:
    from posenc.checks.subjects import Subject

KINDS = ("table", "module", "rotary", "bias", "decoder", "positions")
ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
ON_REQUEST = ("meta", "device", "compile")  # rarely asked, or they load a compiler
RAISES = "your code raises this error, whose traceback is the report's `error`; it is called as "
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"

# A function of the subject that returns trials, or raises `Broken`
Test = Callable[[Any], Trials | None]
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
    test: Any = None  # a `Test`, by the decorator

    def __call__(self, test: Test) -> Test:
        """Keep the test, and return it: its name stays that of a function."""
        self.test = test
        LAWS.append(self)
        return test


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    check_choice("kind", kind, KINDS)
    if isinstance(names, str):
        raise TypeError(f"laws must be a list of names, got {names!r}")
    usual = set(laws_of(kind)) - set(ON_REQUEST)
    wanted = usual if names is None else list(names)
    if not wanted:
        raise ValueError(f"laws must have one, of {', '.join(laws_of(kind))}")
    for name in wanted:
        check_choice(f"law of a {kind}", name, laws_of(kind))
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Subject, laws: Iterable[Law]) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in laws:
        row = Row(law.name, law.asks, law.source)
        if root:
            row = replace(row, status="follows", note=f"follows from {root}")
        else:
            row = judge(subject, law, row)
        if row.status == "failed" and law.name in ROOTS:
            root = law.name
        yield row


def judge(subject: Subject, law: Law, row: Row) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    try:
        return compared(subject, law, row)
    except Skip as reason:
        return replace(row, status="skipped", note=str(reason))
    except Broken as broken:
        cause = broken.cause or law.cure
        return replace(row, status="failed", note=str(broken), cause=cause)
    except Raised as raised:
        row = replace(row, status="failed", cause=RAISES + subject.usage)
        return traced(row, raised.__cause__)
    except Exception as error:
        return traced(replace(row, status="internal", cause=INTERNAL), error)


def traced(row: Row, error: BaseException | None) -> Row:
    """Put an exception into a row: its first line, and its traceback."""
    lines = traceback.format_exception(error)
    note = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
    return replace(row, note=note, trace="".join(lines))


def compared(subject: Subject, law: Law, row: Row) -> Row:
    """Complete the row of a law by its trials; what can't part gives none."""
    trials = [*(law.test(subject) or ())]
    failing = [trial for trial in trials if trial.worst > 1]
    if not failing:
        closest = max(trials, key=lambda trial: trial.worst, default=None)
        return closest.filled(row) if closest else row
    cause = ""
    # Explaining makes other calls; if they fail, what was measured still counts.
    with suppress(Broken, Raised):
        cause = subject.explain(trials)
    # The first call that parts is the simplest.
    row = failing[0].filled(row)
    return replace(row, status="failed", cause=cause or law.cure or NO_CAUSE)
