"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if only expected failures occur, 1 if another law fails, and 2 if something could
not be checked: the name doesn't exist, an argument is wrong, the code raises as the first law
calls it, or posenc itself failed.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

from posenc import checks
from posenc.checks.builders import BUILT
from posenc.checks.laws import KINDS
from posenc.checks.reports import Report

ABOUT = "Compare positional encodings with the book's."
EXPECT = "an expected failure: LAW=REASON, or a TOML file with a table of them for each subject"


def parse(arguments: Sequence[str] | None) -> dict[str, Any]:
    """Parse the arguments of the command; options that aren't given are left out."""
    parser = argparse.ArgumentParser(
        prog="python -m posenc.checks",
        description=ABOUT,
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("targets", nargs="+", metavar="package.module:name")
    add("--kind", choices=KINDS, help="what it is; guessed by default")
    add("--step", metavar="package.module:name", help="a decoder's step")
    add("--base", type=float, help="the intended base")
    add(
        "--expected",
        choices=("alibi", "t5", *BUILT),
        help="what a bias, or position ids, should be",
    )
    add("--laws", nargs="+", metavar="LAW", help="laws to test")
    add("--learned", action="store_true", help="it is another kind of table, or bias")
    add("--expect", action="append", default=[], help=EXPECT)
    add(
        "--json",
        action="store_true",
        default=False,
        help="print JSON, a list of reports",
    )
    return vars(parser.parse_args(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    options = parse(arguments)
    targets, expect, as_json = (
        options.pop(name) for name in ("targets", "expect", "json")
    )
    step = options.pop("step", None)
    # All that posenc says is ASCII; what the code says may not fit the terminal.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    reports: list[Report] = []
    for target in targets:
        try:
            if step:
                options["step"] = resolve_name(step)
            report = checks.check(resolve_name(target), **options)
            for text in expect:
                law, equals, reason = text.partition("=")
                file = text.endswith(".toml") and not equals
                report = report.expecting(text if file else {law: reason})
            reports.append(report)
        except (Exception, SystemExit) as error:  # an import may raise anything
            text = f"{target} could not be checked: {type(error).__name__}: {error}"
            print(text, file=sys.stderr)
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    else:
        print(*reports, sep="\n\n")
    # If already the first law's call raises, nothing could be checked.
    unchecked = any(
        report.rows[0].trace or report.of_status("internal") for report in reports
    )
    if len(reports) < len(targets) or unchecked:
        return 2
    return int(not all(report.passed for report in reports))


if __name__ == "__main__":
    sys.exit(main())
