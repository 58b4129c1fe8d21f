"""Results of a check: one row per law, to inspect, print, raise, or export as JSON."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from posenc.checks.conventions import Convention
from posenc.checks.museum import Exhibit

MARKS = {
    "passed": "✓",
    "failed": "✗",
    "internal": "?",
    "expected": "!",
    "follows": "·",
    "skipped": "–",
}

QUIET = ("skipped", "follows")


@dataclass(frozen=True)
class Row:
    """Result of one law: the measurement, the bound, and where the bound comes from.

    `status` is "passed", "failed", "expected" (an expected failure), "follows" (it failed because
    another law is broken), "skipped", or "internal" (posenc itself failed). `note` says where the
    largest error was, or why the law was skipped; `likely` is the most likely cause of a failure,
    and `exhibit` the museum's exhibit of it.
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
        if self.status in ("skipped", "expected", "follows"):
            return f"{MARKS[self.status]} {self.law:12} {self.note}"
        numbers = f"{short(self.measured)} (at most {short(self.bound)})" if self.bound else ""
        line = f"{MARKS[self.status]} {self.law:12} {numbers or short(self.measured)}"
        line += f", {self.note}" if self.note else ""
        if self.status == "passed":
            return line
        cause = str(self.exhibit) if self.exhibit else self.likely
        return f"{line}\n  {'':12} required: {self.asks}\n  {'':12} most likely: {cause}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        exhibit = self.exhibit and {
            "number": self.exhibit.number,
            "says": self.exhibit.says,
            "page": self.exhibit.url,
        }
        names = ("law", "asks", "status", "measured", "bound", "source", "note", "likely")
        return {name: getattr(self, name) for name in names} | {"exhibit": exhibit}


@dataclass(frozen=True)
class Report:
    """Result of `check` and the other functions ``check_…``.

    It prints as a list in a terminal, and renders as a table in Jupyter.

    Attributes
    ----------
    subject : str
        Name of the subject.
    kind : str
        "table", "module", "rotary", "bias" or "decoder".
    convention : Convention or None
        The convention found: layout, exponent, base, first position, direction.
    rows : tuple of Row
        One per law.
    errors : dict
        Largest error by position, if a convention was found.
    error : str
        The traceback of the exception that the code under test raised, or of one of these checks.
    other : str
        Another kind of encoding that it is, to which some laws don't apply.
    raised : bool
        Whether a plain call raises, so that nothing could be checked.
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
    def passed(self) -> bool:
        """Whether no law failed, and none could not be tested because posenc failed."""
        return not self.failed and not self.internal

    @property
    def internal(self) -> list[str]:
        """Names of the laws whose test failed itself, by a bug of posenc, not of the subject."""
        return [row.law for row in self.rows if row.status == "internal"]

    @property
    def failed(self) -> list[str]:
        """Names of the laws that failed."""
        return [row.law for row in self.rows if row.status == "failed"]

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __getitem__(self, law: str) -> Row:
        """Return the row of a law."""
        for row in self.rows:
            if row.law == law:
                return row
        raise KeyError(law)

    def expecting(self, reasons: Mapping[str, str]) -> Report:
        """Return a copy of the report with expected failures marked.

        Parameters
        ----------
        reasons : mapping of str to str
            Law → reason why it fails.

        Returns
        -------
        Report
            A law that passes unexpectedly counts as failed, so that an expectation doesn't
            outlive its reason.

        Raises
        ------
        ValueError
            If a law wasn't tested.
        """
        tried = [row.law for row in self.rows]
        for law in reasons:
            if law not in tried:
                raise ValueError(f"expected failures must be among {', '.join(tried)}, got {law!r}")
        rows = []
        for row in self.rows:
            if row.law in reasons and row.status in ("failed", "follows"):
                row = replace(row, status="expected", note=f"expected: {reasons[row.law]}")
            elif row.law in reasons and row.status == "passed":
                row = replace(
                    row,
                    status="failed",
                    measured="it passed, but a failure was expected",
                    bound="",
                    likely=f"it was fixed, so drop the expected failure: {reasons[row.law]}",
                )
            rows.append(row)
        return replace(self, rows=tuple(rows))

    def counts(self) -> str:
        """Summarize how many laws passed, failed and were skipped."""
        found = [row.status for row in self.rows]
        return ", ".join(f"{found.count(status)} {status}" for status in MARKS if status in found)

    def __repr__(self) -> str:
        """List the laws, for a terminal."""
        head = f"{self.subject} ({self.kind}): {self.counts()}"
        lines = [head, f"convention: {self.known()}"]
        for _, rows in groupby(
            self.rows, lambda row: (row.status in QUIET and row.note) or row.law
        ):
            first, *more = rows
            name = ", ".join(row.law for row in (first, *more))
            lines.append(f"{MARKS[first.status]} {name}: {first.note}" if more else str(first))
        if self.error:
            lines += ["", self.error.rstrip()]
        return "\n".join(lines)

    def known(self) -> str:
        """Describe the convention."""
        if self.other:
            return f"another kind: {self.other}"
        return str(self.convention) if self.convention else "none known"

    def _repr_html_(self) -> str:
        """Render the laws as a table, for Jupyter."""
        lines = [
            '<table class="table report"><caption>',
            f"{html.escape(self.subject)}: {self.counts()}.<br>",
            f"Convention: {html.escape(self.known())}</caption>",
            "<thead><tr><th>law</th><th>result</th><th>measured</th><th>at most</th>",
            "<th>remark</th></tr></thead><tbody>",
        ]
        for row in self.rows:
            remark = html.escape(row.note)
            if row.likely:
                likely = re.sub("`(.*?)`", r"<code>\1</code>", html.escape(row.likely))
                remark += f"{'<br>' if remark else ''}Most likely: {likely}"
            if row.exhibit is not None:
                link = row.exhibit.url
                link = link if "://" in link else f"../{link}"
                remark += f' (<a href="{html.escape(link)}">exhibit {row.exhibit.number}</a>)'
            cells = [
                f"<th>{row.law}</th>",
                f"<td>{MARKS[row.status]} {row.status}</td>",
                f"<td>{html.escape(short(row.measured))}</td>",
                f"<td>{html.escape(short(row.bound))}</td>",
                f"<td>{remark}</td>",
            ]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        return "\n".join([*lines, "</tbody></table>"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        found = self.convention
        return {
            "subject": self.subject,
            "kind": self.kind,
            "passed": self.passed,
            "error": self.error,
            "other": self.other,
            "convention": found and {**vars(found), "names": found.names()},
            "laws": [row.as_dict() for row in self.rows],
            "errors": {str(position): error for position, error in self.errors.items()},
        }

    def as_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def raise_if_failed(self) -> None:
        """Raise an error that lists the failures, if there are any.

        Raises
        ------
        AssertionError
            If a law failed.
        RuntimeError
            If posenc itself failed.
        """
        wrong = [str(row) for row in self.rows if row.status in ("failed", "internal")]
        if wrong:
            kind = RuntimeError if self.internal else AssertionError
            parts = [f"{self.subject}: {self.counts()}", *wrong, self.error]
            raise kind("\n".join(filter(None, parts)))


def short(value: float | str) -> str:
    """Format a number with two digits; return text unchanged."""
    return value if isinstance(value, str) else f"{value:.1e}" if value else "0"
