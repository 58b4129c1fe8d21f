"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if all laws hold, 1 if one is broken, 2 if there is nothing to check.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from posenc import checks


def find(target: str) -> Any:
    """Import what ``package.module:name`` names; the name may have dots."""
    module, colon, name = target.partition(":")
    if not colon or not name:
        raise ValueError(f"the target must look like package.module:name, got {target!r}")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print reports, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m posenc.checks", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="package.module:name")
    parser.add_argument("--kind", choices=checks.CHECKS, help="what it is; guessed by default")
    parser.add_argument("--base", type=float, help="the base that is meant")
    parser.add_argument("--longest", type=int, help="rows that are compared with exact ones")
    parser.add_argument("--laws", nargs="+", metavar="LAW", help="laws to try; all by default")
    parser.add_argument("--json", action="store_true", help="print JSON, a list of reports")
    given = parser.parse_args(arguments)
    named = {"base": given.base, "longest": given.longest, "laws": given.laws}
    options = {name: value for name, value in named.items() if value is not None}
    sys.path.insert(0, os.getcwd())  # as `python -m` does for its own module
    try:
        reports = [checks.check(find(each), given.kind, **options) for each in given.targets]
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps([each.as_dict() for each in reports], indent=1, ensure_ascii=False))
    else:
        print(*reports, sep="\n\n")
    return int(not all(each.passed for each in reports))


if __name__ == "__main__":
    sys.exit(main())
