"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if only expected failures occur, 1 if another law fails, and 2 if something could
not be checked: the name doesn't exist, an argument is wrong, the code raises on a plain call, or
posenc itself failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

from posenc import checks
from posenc.checks.reports import Report, printable
from posenc.checks.trials import KINDS, describe

ABOUT = "Compare positional encodings with the book's."
EXPECT = "an expected failure: LAW=REASON, or a TOML file with a table of them for each subject"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m posenc.checks", description=ABOUT)
    add = parser.add_argument
    add("targets", nargs="+", metavar="package.module:name")
    add("--kind", choices=KINDS, help="what it is; guessed by default")
    add("--step", metavar="package.module:name", help="a decoder's step")
    add("--base", type=float, help="the intended base")
    add("--expected", choices=("alibi", "t5"), help="what a bias should be")
    add("--laws", nargs="+", metavar="LAW", help="laws to test")
    add("--tags", nargs="+", choices=checks.TAGS, help="what it is declared to be")
    add("--library", help="its array library, such as jax.numpy")
    add("--expect", action="append", default=[], help=EXPECT)
    add("--json", action="store_true", help="print JSON, a list of reports")
    return parser.parse_args(arguments)


def report_on(target: str, given: argparse.Namespace) -> Report:
    """Check one target."""
    # Those options that the shell can give.
    names = ("base", "expected", "laws", "tags", "library")
    options: dict[str, Any] = {name: getattr(given, name) for name in names}
    options = {name: value for name, value in options.items() if value is not None}
    kind = given.kind
    if given.step:
        options["step"] = resolve_name(given.step)
        kind = "decoder"
    report = checks.check(resolve_name(target), kind, **options)
    for each in given.expect:
        law, _, reason = each.partition("=")
        report = report.expecting(each if each.endswith(".toml") else {law: reason})
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    given = parse(arguments)
    reports = []
    for target in given.targets:
        try:
            report = report_on(target, given)
            # A plain call that raises: nothing could be checked.
            first = report.rows[0]
            trouble = f"{first.measured}\n{first.trace}" if first.trace else ""
        except (
            Exception,
            SystemExit,
        ) as error:  # an import or a layer may raise anything
            trouble = describe(error)
        if trouble:
            print(
                printable(f"{target} could not be checked: {trouble}"), file=sys.stderr
            )
        else:
            reports.append(report)
    if given.json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    elif reports:
        print(*reports, sep="\n\n")
    internal = any(report.of_status("internal") for report in reports)
    if len(reports) < len(given.targets) or internal:
        return 2
    return int(not all(report.passed for report in reports))


if __name__ == "__main__":
    sys.exit(main())
