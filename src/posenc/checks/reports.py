"""Rows and reports: what a check says, as text, HTML, JSON and an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from posenc.conventions import Convention

NO_CAUSE = "no known fault gives these numbers"


@dataclass(frozen=True)
class Row:
    """Result of one law.

    `status` is "passed", "failed", "expected" (an expected failure), "follows" (another law is
    broken, so that this one says nothing), "skipped", or "internal" (posenc itself failed).
    `measured` is the first error beyond its bound, or else the one nearest to it, or None if that
    isn't a finite number; `bound` is what is allowed there, and `source` where that comes from.
    `note` says which call and which entry, or what happened. `cause` is told if it was seen, or if
    known faults give the measured numbers.
    """

    law: str
    asks: str
    source: str = ""
    status: str = "passed"
    measured: float | None = 0.0
    bound: float = 0.0
    note: str = ""
    cause: str = ""
    trace: str = ""

    def result(self) -> str:
        """Say where the two part, by how much, and what is allowed."""
        if not self.measured:
            return self.note
        text = f"{self.note}; off by {self.measured:.1e}, at most {self.bound:.1e}"
        return f"{text} ({self.source})" if self.status == "failed" else text

    def expecting(self, reason: str) -> Row:
        """Return the row with this reason for a failure, or as failed if it passed."""
        # What follows from a failure can't be known to pass.
        if self.status in ("failed", "follows"):
            note = f"expected: {reason}"
            return Row(self.law, self.asks, status="expected", note=note)
        if self.status != "passed":
            return self
        # An expectation that outlives its reason would hide the next failure.
        cause = f"it was fixed, so drop the expected failure: {reason}"
        return replace(
            self, status="failed", measured=0.0, note="it passed", cause=cause
        )

    def __str__(self) -> str:
        """Format as one line, or three if the law failed."""
        # In columns: further lines begin below the note.
        lines = [f"{self.status:8} {self.law:8} {self.result()}".rstrip()]
        if self.status == "failed":
            lines.append(f"required: {self.asks}")
        lines += [f"cause: {self.cause}"] if self.cause else []
        return f"\n{'':18}".join(lines)


@dataclass(frozen=True)
class Report:
    """Result of a check. It prints as a list, whose first line says where two results part.

    ``report["far"]`` is the row of the law `far`. `convention` is the one that it was compared
    with, if one is known; `about` says so, and more, such as that a table is of another kind, or
    which argument would have let more be checked.
    """

    subject: str
    kind: str
    rows: tuple[Row, ...]
    convention: Convention | None = None
    about: str = ""

    def of_status(self, *statuses: str) -> list[str]:
        """Names of the laws with one of these statuses."""
        return [row.law for row in self.rows if row.status in statuses]

    @property
    def failed(self) -> list[str]:
        """Names of the laws that failed."""
        return self.of_status("failed")

    @property
    def passed(self) -> bool:
        """Whether no law failed, and posenc could test each."""
        return not self.of_status("failed", "internal")

    @property
    def error(self) -> str:
        """The first traceback, of the code under test or of posenc."""
        return next((row.trace for row in self.rows if row.trace), "")

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __getitem__(self, law: str) -> Row:
        """Return the row of a law."""
        return {row.law: row for row in self.rows}[law]

    def expecting(self, reasons: Mapping[str, str] | str | Path) -> Report:
        """Return a copy of the report with expected failures marked: law → reason.

        They may be in a TOML file: a table for each subject, in quotes if its name has a dot, and
        a ``law = "reason"`` a line.

        A law that passes unexpectedly counts as failed, so that an expectation doesn't outlive its
        reason. One that is skipped stays so. A ValueError names a law that the report lacks, or
        that has no reason.
        """
        if not isinstance(reasons, Mapping):
            import tomllib  # not among what a page loads

            text = Path(reasons).read_text("utf-8")
            subjects: dict[str, dict[str, str]] = tomllib.loads(text)
            reasons = subjects.get(self.subject, {})
        rows = {row.law: row for row in self.rows}
        for law, reason in reasons.items():
            if law not in rows or not reason:
                laws = ", ".join(rows)
                rule = f"an expected failure needs a law, of {laws}, and a reason"
                raise ValueError(f"{rule}; got {law}={reason!r}")
            # In place, so that rows keep their order
            rows[law] = rows[law].expecting(reason)
        return replace(self, rows=tuple(rows.values()))

    def counts(self) -> str:
        """Summarize how many laws passed, failed and were skipped."""
        counted = Counter(row.status for row in self.rows).most_common()
        return ", ".join(f"{number} {status}" for status, number in counted)

    def headline(self) -> str:
        """Say where the code and the book part first, or that they don't."""
        for law in self.of_status("failed", "internal"):
            return f"{self.subject} ({self.kind}) fails {law}: {self[law].result()}"
        return f"{self.subject} ({self.kind}): {self.counts()}"

    def __repr__(self) -> str:
        """List the laws, but those that follow from another, for a terminal."""
        rows = [str(row) for row in self.rows if row.status != "follows"]
        lines = [self.headline(), self.about, *rows, self.counts(), self.error]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        """Render the laws as a table, for Jupyter."""
        rows = [
            f"<tr><th>{row.law}</th><td>{row.status}</td>"
            f"<td>{escape(row.result())}<br>{linked(row.cause)}</td></tr>"
            for row in self.rows
        ]
        caption = f"{escape(self.headline())}<br>{escape(self.about)}"
        table = f'<table class="table report"><caption>{caption}</caption><tbody>'
        return "\n".join([table, *rows, "</tbody></table>"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        return asdict(self) | {"passed": self.passed, "headline": self.headline()}

    def raise_if_failed(self) -> None:
        """Raise an error that has the report, if a law failed.

        It is an AssertionError if a law failed, and a RuntimeError if posenc itself failed.
        """
        if not self.passed:
            kind = RuntimeError if self.of_status("internal") else AssertionError
            raise kind(repr(self))


def linked(cause: str) -> str:
    """Render a cause, with its code, and links to the exhibits."""
    # `code`, and then "exhibit H: notebooks/16_….html#exhibit-h", as seen from a chapter
    text = re.sub("`(.*?)`", r"<code>\1</code>", escape(cause))
    return re.sub(r"(exhibit \w+): ([\w/.#-]+)", r'<a href="../\2">\1</a>', text)
