"""The verdict on every specimen: `python tests/verdicts.py` records them in verdicts.txt.

One line per subject: its laws that passed (✓), failed (✗, with the cause that is named) and didn't
apply (–), and the convention found. A change of the checks changes lines; each needs a reason.
"""

from itertools import count, groupby
from pathlib import Path

from specimens import NOTED, RIGHT, WRONG, recall

from posenc import checks

RECORD = Path(__file__).with_suffix(".txt")
QUICK = {"longest": 5000, "length": 2500}  # float16 rounds from 2048 on, bfloat16 from 256 on


def subjects():
    """Yield a name, and the arguments of `checks.check`, for everything that the tests judge."""
    rows = [("right", kind, subject, options) for kind, subject, _, options in RIGHT]
    for each in WRONG:
        laws = {"laws": None} if "compile" in each.laws else {}
        rows.append(("wrong", each.kind, each.subject, laws | each.options))
    rows += [("noted", kind, subject, options) for kind, _, subject, _, options in NOTED]
    for bug in recall.BUGS:
        options = {key: value for key, value in bug.options.items() if key != "laws"}
        rows += [("bug", bug.kind, bug.wrong, options), ("mended", bug.kind, bug.right, options)]
    numbers = {}
    for group, kind, subject, options in rows:
        number = next(numbers.setdefault((group, kind), count(1)))
        laws = [law for law in checks.laws_of(kind) if law != "compile"]  # loads a compiler
        laws = {"laws": options.get("laws", laws) and laws}
        quick = {} if kind in ("bias", "decoder") else QUICK
        arguments = recall.named(subject, kind) | quick | options | laws
        yield f"{group} {kind} {number}", {"kind": kind} | arguments


def line(name, report):
    """Write the verdicts on a subject in one line."""
    marks = {
        "passed": "✓",
        "failed": "✗",
        "skipped": "–",
        "follows": "·",
        "internal": "POSENC FAILED",
    }

    def verdict(row):
        exhibit = row.exhibit and f"exhibit {row.exhibit.number}"
        return marks[row.status], exhibit or row.likely.partition(":")[0][:60]

    parts = [name]
    for (mark, cause), rows in groupby(report, verdict):
        parts.append(f"{mark} {' '.join(row.law for row in rows)}{cause and f' ({cause})'}")
    return " | ".join([*parts, report.known()])


def main():
    """Record all verdicts."""
    lines = [line(name, checks.check(**arguments)) for name, arguments in subjects()]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
