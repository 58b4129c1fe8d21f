"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if only expected failures occur, 1 if another law fails, and 2 if something could
not be checked: the name doesn't exist, an argument is wrong, the code raises on a plain call, or
posenc itself failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from posenc import checks
from posenc.checks.probe import describe


def find(target: str) -> Any:
    """Import ``package.module:name``; the name may have dots."""
    module, colon, name = target.partition(":")
    if not colon or not name:
        raise ValueError(f"the target must look like package.module:name, got {target!r}")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def reasons_of(given: Sequence[str], subject: str) -> dict[str, str]:
    """Return the expected failures of a subject: LAW=REASON, or a file of them."""
    reasons: dict[str, str] = {}
    for each in given:
        law, _, reason = each.partition("=")
        files = checks.expected_failures(each) if each.endswith(".toml") else {}
        reasons |= files.get(subject, {}) if each.endswith(".toml") else {law: reason}
    return reasons


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m posenc.checks", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="package.module:name")
    parser.add_argument("--kind", choices=checks.CHECKS, help="what it is; guessed by default")
    parser.add_argument("--step", metavar="package.module:name", help="a decoder's step")
    parser.add_argument("--base", type=float, help="the intended base")
    parser.add_argument("--expected", choices=("alibi", "t5"), help="what a bias should be")
    parser.add_argument("--longest", type=int, help="number of rows to compare with exact values")
    parser.add_argument("--laws", nargs="+", metavar="LAW", help="laws to test; all by default")
    parser.add_argument("--tags", nargs="+", choices=checks.TAGS, help="what it is declared to be")
    parser.add_argument("--library", help="its array library, such as jax.numpy")
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="LAW=REASON or FILE.toml",
        help="an expected failure and its reason, or a file with a table of them per subject",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, a list of reports")
    given = parser.parse_args(arguments)
    if not all(each.endswith(".toml") or each.partition("=")[2] for each in given.expect):
        parser.error("--expect needs a reason: --expect odd='any width is accepted'")
    kind = given.kind or ("decoder" if given.step else None)
    names = ("base", "expected", "longest", "laws", "tags", "library")
    options = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    reports = []
    for target in given.targets:
        try:
            step = {"step": find(given.step)} if given.step else {}
            report = checks.check(find(target), kind, **options, **step)
            report = report.expecting(reasons_of(given.expect, report.subject))
        except (Exception, SystemExit) as error:  # an import or a layer may raise anything
            print(f"{target} could not be checked: {describe(error)}", file=sys.stderr)
            continue
        if report.raised:
            how = f"{target} could not be checked: {report.rows[0].measured}"
            print(f"{how}\n{report.error}", file=sys.stderr)
        else:
            reports.append(report)
    if given.json:
        print(json.dumps([each.as_dict() for each in reports], indent=1, ensure_ascii=False))
    elif reports:
        print(*reports, sep="\n\n")
    if len(reports) < len(given.targets) or any(each.internal for each in reports):
        return 2
    return int(not all(each.passed for each in reports))


if __name__ == "__main__":
    sys.exit(main())
