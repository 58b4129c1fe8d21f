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

from posenc import checks
from posenc.checks.reports import Report, printable
from posenc.checks.trials import KINDS

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
    add("--expect", action="append", default=[], help=EXPECT)
    add("--json", action="store_true", help="print JSON, a list of reports")
    return parser.parse_args(arguments)


OPTIONS = ("base", "expected", "laws", "tags")


def report_on(target: str, given: argparse.Namespace) -> Report:
    """Check one target."""
    options = {name: value for name, value in vars(given).items() if name in OPTIONS}
    options = {name: value for name, value in options.items() if value is not None}
    kind = given.kind
    if given.step:
        kind, options["step"] = "decoder", resolve_name(given.step)
    report = checks.check(resolve_name(target), kind, **options)
    for text in given.expect:
        law, _, reason = text.partition("=")
        report = report.expecting(text if text.endswith(".toml") else {law: reason})
    # A plain call that raises: nothing could be checked.
    if report.rows[0].trace:
        raise RuntimeError(f"{report.rows[0].measured}\n{report.error}")
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    given = parse(arguments)
    reports = []
    for target in given.targets:
        try:
            reports.append(report_on(target, given))
        except (Exception, SystemExit) as error:  # an import may raise anything
            text = f"{target} could not be checked: {type(error).__name__}: {error}"
            print(printable(text), file=sys.stderr)
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
