"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if only expected failures occur, 1 if another law fails, and 2 if something could
not be checked: the name doesn't exist, an argument is wrong, or the code raises on a plain call.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from posenc import checks
from posenc.checks.laws import said


def find(target: str) -> Any:
    """Import ``package.module:name``; the name may have dots."""
    module, colon, name = target.partition(":")
    if not colon or not name:
        raise ValueError(f"the target must look like package.module:name, got {target!r}")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m posenc.checks", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="package.module:name")
    parser.add_argument("--kind", choices=checks.CHECKS, help="what it is; guessed by default")
    parser.add_argument("--base", type=float, help="the intended base")
    parser.add_argument("--longest", type=int, help="number of rows to compare with exact values")
    parser.add_argument("--laws", nargs="+", metavar="LAW", help="laws to test; all by default")
    parser.add_argument("--library", help="its array library, such as jax.numpy")
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="LAW=REASON",
        help="an expected failure, and its reason",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, a list of reports")
    given = parser.parse_args(arguments)
    reasons = dict(each.partition("=")[::2] for each in given.expect)
    if not all(reasons.values()):
        parser.error("--expect needs a reason: --expect odd='any width is accepted'")
    named = {"base": given.base, "longest": given.longest, "laws": given.laws}
    named["library"] = given.library
    options = {name: value for name, value in named.items() if value is not None}
    reports = []
    for target in given.targets:
        try:
            report = checks.check(find(target), given.kind, **options).expecting(reasons)
        except (Exception, SystemExit) as error:  # an import or a layer may raise anything
            print(f"{target} could not be checked: {said(error)}", file=sys.stderr)
            continue
        if report.error:
            print(f"{target} could not be checked: {report.error}", file=sys.stderr)
        else:
            reports.append(report)
    if given.json:
        print(json.dumps([each.as_dict() for each in reports], indent=1, ensure_ascii=False))
    elif reports:
        print(*reports, sep="\n\n")
    if len(reports) < len(given.targets):
        return 2
    return int(not all(each.passed for each in reports))


if __name__ == "__main__":
    sys.exit(main())
