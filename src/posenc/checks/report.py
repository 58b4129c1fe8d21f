"""Results of a check: one row per law, to inspect, print, raise, or export as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any

from posenc.conventions import Convention
from posenc.museum import Exhibit

STATUS = ("passed", "failed", "internal", "expected", "follows", "skipped")
MARKS = dict(zip(STATUS, "✓✗?!·–", strict=True))
QUIET = ("skipped", "follows")


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
        line += short(self.measured) + (f" (at most {short(self.bound)})" if self.bound else "")
        line += f", {self.note}" if self.note else ""
        cause, lead = self.exhibit or self.likely, f"\n  {'':12} "
        return f"{line}{lead}required: {self.asks}{lead}most likely: {cause}" if cause else line


@dataclass(frozen=True)
class Report:
    """Result of a check. It prints as a list in a terminal, and renders as a table in Jupyter.

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

    def expecting(self, reasons: Mapping[str, str]) -> Report:
        """Return a copy of the report with expected failures marked: law → reason.

        A law that passes unexpectedly counts as failed, so that an expectation doesn't outlive its
        reason. A ValueError names a law that wasn't tested, or has no reason.
        """
        rows = {row.law: row for row in self.rows}
        check_reasons(reasons, list(rows))
        for law, reason in reasons.items():
            row, how = rows[law], "it passed, but a failure was expected"
            fixed = f"it was fixed, so drop the expected failure: {reason}"
            if row.status in ("failed", "follows"):
                rows[law] = replace(row, status="expected", note=f"expected: {reason}")
            elif row.status == "passed":
                rows[law] = replace(row, status="failed", measured=how, bound="", likely=fixed)
        return replace(self, rows=tuple(rows.values()))

    def counts(self) -> str:
        """Summarize how many laws passed, failed and were skipped."""
        found = [row.status for row in self.rows]
        return ", ".join(f"{found.count(status)} {status}" for status in MARKS if status in found)

    def __repr__(self) -> str:
        """List the laws, for a terminal; those skipped for the same reason share a line."""
        lines = [f"{self.subject} ({self.kind}): {self.counts()}", f"convention: {self.known()}"]
        alike = groupby(self.rows, lambda row: (row.status in QUIET and row.note) or row.law)
        for _, (first, *more) in alike:
            names = ", ".join(row.law for row in (first, *more))
            lines.append(f"{MARKS[first.status]} {names}: {first.note}" if more else str(first))
        return "\n".join([*lines, *(["", self.error.rstrip()] if self.error else [])])

    def known(self) -> str:
        """Describe the convention."""
        return f"another kind: {self.other}" if self.other else str(self.convention or "none known")

    def _repr_html_(self) -> str:
        """Render the laws as a table, for Jupyter."""
        head = "</th><th>".join(("law", "result", "measured", "at most", "remark"))
        lines = [
            f'<table class="table report"><caption>{escape(self.subject)}: {self.counts()}.<br>',
            f"Convention: {escape(self.known())}</caption>",
            f"<thead><tr><th>{head}</th></tr></thead><tbody>",
        ]
        for row in self.rows:
            likely = re.sub("`(.*?)`", r"<code>\1</code>", escape(row.likely))
            remark = [escape(row.note), likely and f"Most likely: {likely}"]
            if at := row.exhibit:
                remark[1] += f' (<a href="../{at.page}">exhibit {at.number}</a>)'
            cells = [f"{MARKS[row.status]} {row.status}", escape(short(row.measured))]
            cells += [escape(short(row.bound)), "<br>".join(filter(None, remark))]
            lines.append(f"<tr><th>{row.law}</th><td>{'</td><td>'.join(cells)}</td></tr>")
        return "\n".join([*lines, "</tbody></table>"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        found = self.convention
        laws = [vars(row) | {"exhibit": row.exhibit and vars(row.exhibit)} for row in self]
        known = found and {**vars(found), "names": found.names()}
        kept = {name: value for name, value in vars(self).items() if name != "rows"}
        return kept | {"passed": self.passed, "convention": known, "laws": laws}

    def raise_if_failed(self) -> None:
        """Raise an error that lists the failures, if there are any.

        It is an AssertionError if a law failed, and a RuntimeError if posenc itself failed.
        """
        if not self.passed:
            wrong = [str(row) for row in self.rows if row.status in ("failed", "internal")]
            parts = [f"{self.subject}: {self.counts()}", *wrong, self.error]
            kind = RuntimeError if self.internal else AssertionError
            raise kind("\n".join(filter(None, parts)))


def check_reasons(reasons: Mapping[str, str], laws: Sequence[str]) -> None:
    """Raise unless expected failures are among these laws, and have reasons."""
    for law, reason in reasons.items():
        if law not in laws:
            raise ValueError(f"expected failures must be among {', '.join(laws)}, got {law!r}")
        if not isinstance(reason, str) or not reason:
            raise ValueError(f"an expected failure needs a reason, got {law} = {reason!r}")


def short(value: float | str) -> str:
    """Format a number with two digits; return text unchanged."""
    return value if isinstance(value, str) else f"{value:.1e}" if value else "0"
