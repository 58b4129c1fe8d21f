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
from posenc.checks.laws import describe


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m posenc.checks", description=__doc__
    )
    add = parser.add_argument
    add("targets", nargs="+", metavar="package.module:name")
    add("--kind", choices=checks.CHECKS, help="what it is; guessed by default")
    add("--step", metavar="package.module:name", help="a decoder's step")
    add("--base", type=float, help="the intended base")
    add("--expected", choices=("alibi", "t5"), help="what a bias should be")
    add("--laws", nargs="+", metavar="LAW", help="laws to test; all by default")
    add("--tags", nargs="+", choices=checks.TAGS, help="what it is declared to be")
    add("--library", help="its array library, such as jax.numpy")
    expect = "an expected failure: LAW=REASON, or a TOML file with a table of them for each subject"
    add("--expect", action="append", default=[], help=expect)
    add("--json", action="store_true", help="print JSON, a list of reports")
    given = parser.parse_args(arguments)
    names = ("base", "expected", "laws", "tags", "library")
    options = {
        name: getattr(given, name) for name in names if getattr(given, name) is not None
    }
    kind, reports = given.kind or ("decoder" if given.step else None), []
    for target in given.targets:
        try:
            step = {"step": resolve_name(given.step)} if given.step else {}
            report = checks.check(resolve_name(target), kind, **options, **step)
            for each in given.expect:
                law, _, reason = each.partition("=")
                report = report.expecting(
                    each if each.endswith(".toml") else {law: reason}
                )
            trouble = (
                f"{report.rows[0].measured}\n{report.error}" if report.raised else ""
            )
        except (
            Exception,
            SystemExit,
        ) as error:  # an import or a layer may raise anything
            trouble = describe(error)
        if trouble:
            print(f"{target} could not be checked: {trouble}", file=sys.stderr)
        else:
            reports.append(report)
    if given.json:
        print(
            json.dumps(
                [each.as_dict() for each in reports], indent=1, ensure_ascii=False
            )
        )
    elif reports:
        print(*reports, sep="\n\n")
    if len(reports) < len(given.targets) or any(each.internal for each in reports):
        return 2
    return int(not all(each.passed for each in reports))


if __name__ == "__main__":
    sys.exit(main())
