"""Rows and reports: what a check says, as text, HTML, JSON and an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from posenc.conventions import Convention

MARKS = {
    "passed": "✓",
    "failed": "✗",
    "internal": "?",
    "expected": "!",
    "follows": "·",
    "skipped": "–",
}
PLAIN = {"✓": "+", "✗": "x", "·": "*", "–": "-", "τ": "tau", "√": "sqrt ", "²": "^2"}
PLAIN |= {"θ": "theta", "ω": "omega", "×": "x", "₁": "1", "₂": "2", "½": "1/2"}
NO_CAUSE = "no known fault gives these numbers"
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"


@dataclass(frozen=True)
class Row:
    """Result of one law.

    `status` is "passed", "failed", "expected" (an expected failure), "follows" (another law is
    broken, so that this one says nothing), "skipped", or "internal" (posenc itself failed).
    `measured` is the largest error, or what happened; `bound` what is allowed, and `source` where
    that comes from. `note` says which call and which entry, or why the law was skipped. `cause` is
    told if it was seen, or if known faults give the measured numbers.
    """

    law: str
    asks: str
    status: str = "passed"
    measured: float | str = ""
    bound: float | str = ""
    source: str = ""
    note: str = ""
    cause: str = ""
    trace: str = ""

    def result(self) -> str:
        """Say where the two part, by how much, and what is allowed."""
        if self.status in ("skipped", "follows", "expected"):
            return self.note
        if isinstance(self.measured, str):
            return "; ".join(filter(None, [self.measured, self.note]))
        if not (self.bound or self.measured):
            return self.note
        text = f"{self.note}; off by {self.measured:.1e}, at most {self.bound:.1e}"
        return f"{text} ({self.source})" if self.status == "failed" else text

    def expecting(self, reason: str) -> Row:
        """Return the row with this reason for a failure, or as failed if it passed."""
        if self.status in ("failed", "follows"):
            return replace(self, status="expected", note=f"expected: {reason}")
        if self.status != "passed":
            return self
        # An expectation that outlives its reason would hide the next failure.
        cause = f"it was fixed, so drop the expected failure: {reason}"
        return Row(self.law, self.asks, "failed", "it passed", cause=cause)

    def __str__(self) -> str:
        """Format as one line, or three if the law failed."""
        lines = [f"{MARKS[self.status]} {self.law:12} {self.result()}".rstrip()]
        if self.status == "failed":
            lines.append(f"required: {self.asks}")
            lines += [f"cause: {self.cause}"] if self.cause else []
        return f"\n  {'':12} ".join(lines)


@dataclass(frozen=True)
class Report:
    """Result of a check. It prints as a list, whose first line says where two results part.

    ``report["norm"]`` is the row of the law `norm`. `convention` is the one that it was compared
    with, if one is known; `about` says more, such as that a table is of another kind, or which
    argument would have let more be checked. `errors` has the largest error by position.
    """

    subject: str
    kind: str
    convention: Convention | None
    rows: tuple[Row, ...]
    about: str = ""
    errors: Mapping[int, float] | None = None

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

        Reasons may be in a TOML file: a table per subject, a ``law = "reason"`` per line. A law
        that passes unexpectedly counts as failed, so that an expectation doesn't outlive its
        reason. A ValueError names a law that wasn't tested, or has no reason.
        """
        if not isinstance(reasons, Mapping):
            import tomllib  # not among what a page loads

            tables = tomllib.loads(Path(reasons).read_text("utf-8"))
            reasons = dict(tables.get(self.subject, {}))
        laws = [row.law for row in self.rows]
        for law, reason in reasons.items():
            if law not in laws or not reason:
                rule = f"a law, of {', '.join(laws)}, and a reason"
                raise ValueError(
                    f"an expected failure needs {rule}; got {law}={reason!r}"
                )
        rows = [
            row.expecting(reasons[row.law]) if row.law in reasons else row
            for row in self.rows
        ]
        return replace(self, rows=tuple(rows))

    def counts(self) -> str:
        """Summarize how many laws passed, failed and were skipped."""
        numbers = {status: len(self.of_status(status)) for status in MARKS}
        return ", ".join(f"{n} {status}" for status, n in numbers.items() if n)

    def headline(self) -> str:
        """Say where the code and the book part first, or that they don't."""
        for row in self.rows:
            if row.status in ("failed", "internal"):
                return f"{self.subject} ({self.kind}) fails {row.law}: {row.result()}"
        return f"{self.subject} ({self.kind}): {self.counts()}"

    def compared(self) -> str:
        """Describe what it was compared with."""
        known = f"compared with {self.convention}" if self.convention else ""
        return "; ".join(filter(None, [known, self.about]))

    def __repr__(self) -> str:
        """List the laws, for a terminal."""
        lines = [self.headline(), self.compared()]
        lines += [str(row) for row in self.rows if row.status != "follows"]
        follows = ", ".join(self.of_status("follows"))
        lines.append(f"{MARKS['follows']} {follows}: not tried" if follows else "")
        return printable("\n".join(filter(None, [*lines, self.error.rstrip()])))

    def _repr_html_(self) -> str:
        """Render the laws as a table, for Jupyter."""
        caption = f"{escape(self.headline())}<br>{escape(self.compared())}"
        lines = [f'<table class="table report"><caption>{caption}</caption><tbody>']
        for row in self.rows:
            remark = f"{escape(row.result())}<br>{linked(row.cause)}"
            status = f"{MARKS[row.status]} {row.status}"
            lines.append(
                f"<tr><th>{row.law}</th><td>{status}</td><td>{remark}</td></tr>"
            )
        return "\n".join([*lines, "</tbody></table>"])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON types."""
        return asdict(self) | {"passed": self.passed, "headline": self.headline()}

    def raise_if_failed(self) -> None:
        """Raise an error that lists the failures, if there are any.

        It is an AssertionError if a law failed, and a RuntimeError if posenc itself failed.
        """
        wrong = [str(row) for row in self.rows if row.status in ("failed", "internal")]
        if wrong:
            kind = RuntimeError if self.of_status("internal") else AssertionError
            raise kind("\n".join(filter(None, [self.headline(), *wrong, self.error])))


def linked(cause: str) -> str:
    """Render a cause, with its code, and links to the exhibits."""
    text = re.sub("`(.*?)`", r"<code>\1</code>", escape(cause))
    return re.sub(r"(exhibit \w+): ([\w/.#-]+)", r'<a href="../\2">\1</a>', text)


def printable(text: str) -> str:
    """Spell out what the terminal can't show, such as marks on a Windows one."""
    # A terminal on Windows may have 256 letters.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for letter, plain in PLAIN.items():
            text = text.replace(letter, plain)
        return text.encode(encoding, "replace").decode(encoding)
    return text
