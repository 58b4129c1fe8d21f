r"""The laws, and how each is tested, judged and explained.

A law is a function of a probe. Its docstring says what it asks, then "Bound:" and where that comes
from (by default, it is exact), then "Likely:" and the usual cause of a failure. It returns the
measured error, the bound and a note; or yields several, of which the worst counts; or returns
nothing if it holds exactly. It raises `Skip` if it doesn't apply, and `Broken` if it is broken in a
way that isn't a number. `Raised` means that the code under test raised: the law failed, and the
report has the traceback, once. Any other exception is a failure of these checks ("internal"). A
sign is a function of a probe that looks for a more exact cause.

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
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from posenc.conventions import Convention
from posenc.museum import MUSEUM, Exhibit

STATUS = ("passed", "failed", "internal", "expected", "follows", "skipped")
MARKS = dict(zip(STATUS, "✓✗?!·–", strict=True))
QUIET = ("skipped", "follows")

Measured = tuple[float, float, str]
"""The measured error, the bound, and a note."""

Test = Callable[[Any], Measured | Iterator[Measured] | None]
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
        self.traceback: str = "".join(
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


def compared(
    found: Any, meant: Any, bounds: Any, note: str = "", *names: Any
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
    place = tuple(
        int(each) for each in np.unravel_index(int(ratio.argmax()), errors.shape)
    )
    named = [name[k] for name, k in zip(names, place, strict=False)]
    note = note.format(*named, *place[len(names) :])
    return float(errors[place]), float(limits[place]), note


def largest(found: Iterable[Measured]) -> Measured:
    """Return the measurement with the largest ratio to its bound; NaN counts as infinite."""
    return max(
        found, key=lambda one: (math.isnan(one[0]), one[0] / max(one[1], 1e-300))
    )


@dataclass(frozen=True)
class Row:
    """Result of one law: the measurement, the bound, and where the bound comes from.

    `status` is "passed", "failed", "expected" (an expected failure), "follows" (it failed because
    another law is broken), "skipped", or "internal" (posenc itself failed). `note` says where the
    largest error was, or why the law was skipped; `likely` is the most likely cause of a failure.
    """

    law: str
    asks: str
    status: str
    measured: float | str = ""
    bound: float | str = ""
    source: str = ""
    note: str = ""
    likely: str = ""
    exhibit: Exhibit | None = None

    def __str__(self) -> str:
        """Format as one line, or three if the law failed."""
        line = f"{MARKS[self.status]} {self.law:12} "
        if self.status in (*QUIET, "expected"):
            return line + self.note
        line += short(self.measured) + (
            f" (at most {short(self.bound)})" if self.bound else ""
        )
        line += f", {self.note}" if self.note else ""
        cause, lead = self.exhibit or self.likely, f"\n  {'':12} "
        return (
            f"{line}{lead}required: {self.asks}{lead}most likely: {cause}"
            if cause
            else line
        )


@dataclass(frozen=True)
class Report:
    """Result of a check. It prints as a list.

    ``report["norm"]`` is the row of the law `norm`. `convention` is the one found, if any, and
    `errors` the largest error by position. `other` is another kind of encoding that it is. `error`
    is the traceback of what the code under test raised, or of one of these checks; `raised` says
    that a plain call raises, so that nothing could be checked.
    """

    subject: str
    kind: str
    convention: Convention | None
    rows: tuple[Row, ...]
    errors: dict[int, float] = field(default_factory=dict)
    error: str = ""
    other: str = ""
    raised: bool = False

    @property
    def failed(self) -> list[str]:
        """Names of the laws that failed."""
        return [row.law for row in self.rows if row.status == "failed"]

    @property
    def internal(self) -> list[str]:
        """Names of the laws whose test failed itself, by a bug of posenc, not of the subject."""
        return [row.law for row in self.rows if row.status == "internal"]

    @property
    def passed(self) -> bool:
        """Whether no law failed, and posenc could test each."""
        return not self.failed and not self.internal

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __getitem__(self, law: str) -> Row:
        """Return the row of a law."""
        return {row.law: row for row in self.rows}[law]

    def expecting(self, reasons: Mapping[str, str] | str | Path) -> Report:
        """Return a copy of the report with expected failures marked: law → reason.

        Reasons may be in a TOML file: a table per subject, a ``law = "reason"`` per line. A law
        that passes unexpectedly counts as failed, so that an expectation doesn't outlive its
        reason. A ValueError names a law that wasn't tested, or has no reason.
        """
        rows = {row.law: row for row in self.rows}
        if isinstance(reasons, (str, Path)):
            import tomllib  # not among what a page loads

            reasons = dict(
                tomllib.loads(Path(reasons).read_text("utf-8")).get(self.subject, {})
            )
        for law, reason in reasons.items():
            if law not in rows:
                raise ValueError(
                    f"expected failures must be among {', '.join(rows)}, got {law!r}"
                )
            if not isinstance(reason, str) or not reason:
                raise ValueError(
                    f"an expected failure needs a reason, got {law} = {reason!r}"
                )
            row, how = rows[law], "it passed, but a failure was expected"
            fixed = f"it was fixed, so drop the expected failure: {reason}"
            if row.status in ("failed", "follows"):
                rows[law] = replace(row, status="expected", note=f"expected: {reason}")
            elif row.status == "passed":
                rows[law] = replace(
                    row, status="failed", measured=how, bound="", likely=fixed
                )
        return replace(self, rows=tuple(rows.values()))

    def counts(self) -> str:
        """Summarize how many laws passed, failed and were skipped."""
        found = [row.status for row in self.rows]
        return ", ".join(
            f"{found.count(status)} {status}" for status in MARKS if status in found
        )

    def __repr__(self) -> str:
        """List the laws, for a terminal; those skipped for the same reason share a line."""
        lines = [
            f"{self.subject} ({self.kind}): {self.counts()}",
            f"convention: {self.known()}",
        ]
        alike = groupby(
            self.rows, lambda row: (row.status in QUIET and row.note) or row.law
        )
        for _, (first, *more) in alike:
            names = ", ".join(row.law for row in (first, *more))
            lines.append(
                f"{MARKS[first.status]} {names}: {first.note}" if more else str(first)
            )
        return "\n".join([*lines, *(["", self.error.rstrip()] if self.error else [])])

    def known(self) -> str:
        """Describe the convention."""
        return (
            f"another kind: {self.other}"
            if self.other
            else str(self.convention or "none known")
        )

    def _repr_html_(self) -> str:
        """Render the laws as a table, for Jupyter."""
        names = "</th><th>".join(("law", "result", "measured", "at most", "remark"))
        about = f"{escape(self.subject)}: {self.counts()}.<br>\nConvention: {escape(self.known())}"
        lines = [f'<table class="table report"><caption>{about}</caption>']
        lines.append(f"<thead><tr><th>{names}</th></tr></thead><tbody>")
        for row in self.rows:
            likely = re.sub("`(.*?)`", r"<code>\1</code>", escape(row.likely))
            remark = [escape(row.note), likely and f"Most likely: {likely}"]
            if at := row.exhibit:
                remark[1] += f' (<a href="../{at.page}">exhibit {at.number}</a>)'
            cells = [f"{MARKS[row.status]} {row.status}", escape(short(row.measured))]
            cells += [escape(short(row.bound)), "<br>".join(filter(None, remark))]
            lines.append(
                f"<tr><th>{row.law}</th><td>{'</td><td>'.join(cells)}</td></tr>"
            )
        return "\n".join([*lines, "</tbody></table>"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        found = self.convention
        laws = [
            vars(row) | {"exhibit": row.exhibit and vars(row.exhibit)} for row in self
        ]
        known = found and {**vars(found), "names": found.names()}
        kept = {name: value for name, value in vars(self).items() if name != "rows"}
        return kept | {"passed": self.passed, "convention": known, "laws": laws}

    def raise_if_failed(self) -> None:
        """Raise an error that lists the failures, if there are any.

        It is an AssertionError if a law failed, and a RuntimeError if posenc itself failed.
        """
        if not self.passed:
            wrong = [
                str(row) for row in self.rows if row.status in ("failed", "internal")
            ]
            parts = [f"{self.subject}: {self.counts()}", *wrong, self.error]
            kind = RuntimeError if self.internal else AssertionError
            raise kind("\n".join(filter(None, parts)))


def short(value: float | str) -> str:
    """Format a number with two digits; return text unchanged."""
    return value if isinstance(value, str) else f"{value:.1e}" if value else "0"


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
ROOTS = (
    "shape",
    "repeat",
)  # nothing can be measured in a result that is wrong, or changes
RAISES = "your code raises an error, whose traceback is the report's `error`"
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"
CALL = "2τ; 4u(|y| + |p|) more for x + p; 2(τ + u)(|x₁| + |x₂|) for a turned x"


def law(name: str, kinds: str, after: str = "") -> Callable[[Test], Test]:
    """Register the function that tests a law on some kinds of probes; names are in one string."""

    def register(test: Test) -> Test:
        asks, more, *_ = [*inspect.cleandoc(test.__doc__ or "").split("\n\n"), ""]
        bound, _, likely = (
            " ".join(more.split()).removesuffix(".").partition("Likely: ")
        )
        bound = (
            bound.removeprefix("Bound: ").removesuffix(". ").replace("CALL", CALL)
            or "exact"
        )
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
        raise ValueError(
            f"laws must be among those of a {kind}: {', '.join(names)}; got {unknown}"
        )
    return [law for law in laws if law.name in wanted]


def name_of(subject: Any) -> str:
    """Return the name of a function, a class, or a layer's class."""
    return str(getattr(subject, "__qualname__", type(subject).__name__))


def run(
    make: Any, subject: Any, laws: Iterable[str] | None = None, **options: Any
) -> Report:
    """Test all laws, or only some, on the probe that is made of a subject."""
    if not callable(subject):
        raise TypeError(f"a subject must be callable, got {subject!r}")
    try:
        probe = make(subject, **options)
    except Raised as how:  # a layer can't be made
        raise how.__cause__ or how from None
    chosen = choose(probe.kind, laws)
    judged = [judge(probe, each) for each in chosen]
    rows = silence(chosen, [row for row, _ in judged])
    heard = [
        trace
        for row, (_, trace) in zip(rows, judged, strict=True)
        if row.status != "follows"
    ]
    error = next(filter(None, heard), "")
    raised = bool(error) and judge(probe, choose(probe.kind)[0])[0].likely.startswith(
        RAISES
    )
    name = name_of(subject)
    report = Report(name, probe.kind, None, rows, probe.errors, error, raised=raised)
    try:
        return replace(report, convention=probe.convention, other=probe.other_kind)
    except (Broken, Raised):  # the laws met it, too
        return report
    except Exception:
        return replace(report, error=error or traceback.format_exc())


def judge(probe: Any, law: Law) -> tuple[Row, str]:
    """Test one law; the second result is a traceback, if something raised."""
    row, cause = (
        Row(law.name, law.asks, "failed", source=law.source, likely=law.likely),
        None,
    )
    try:
        try:
            if reason := probe.excused(law.name):
                raise Skip(reason)
            found = law.test(probe) or (0.0, 0.0, "")
            measured, bound, note = (
                found if isinstance(found, tuple) else largest(found)
            )
            row = replace(row, measured=measured, bound=bound, note=note)
            if measured <= bound:  # NaN is not
                return replace(row, status="passed", likely=""), ""
        except Broken as how:
            row, cause = replace(row, measured=str(how)), how.cause
        for kinds, laws, sign in SIGNS:  # code that raises gives no sign
            with contextlib.suppress(Broken, Raised, Skip):
                cause = (
                    cause
                    or (probe.kind in kinds and law.name in laws and sign(probe))
                    or None
                )
        cause = cause or law.likely
        exhibit = MUSEUM.get(cause)
        return replace(
            row, exhibit=exhibit, likely=exhibit.says if exhibit else cause
        ), ""
    except Skip as reason:
        return replace(row, status="skipped", likely="", note=str(reason)), ""
    except Raised as error:
        return replace(
            row, measured=str(error), likely=f"{RAISES} ({error})"
        ), error.traceback
    except Exception as error:
        row = replace(row, status="internal", measured=describe(error), likely=INTERNAL)
        return row, traceback.format_exc()


def silence(laws: Sequence[Law], rows: Sequence[Row]) -> tuple[Row, ...]:
    """Mark failures that follow from the failure of a root, or have the same cause as another."""
    failed = {row.law for row in rows if row.status == "failed"}
    causes: dict[str, str] = {
        law.likely: "" for law in laws
    }  # of which law each is the cause
    found = []
    for law, row in zip(laws, rows, strict=True):
        roots = [name for name in law.after if name in failed and name != law.name]
        root = (roots or [causes.setdefault(row.likely, law.name)])[0]
        if row.law in failed and root not in ("", law.name):
            note = f"follows from {root}"
            row = replace(row, status="follows", note=note, likely="", exhibit=None)
        found.append(row)
    return (*found,)
