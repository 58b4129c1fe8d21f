"""Check from a shell: ``python -m posenc.checks package.module:name``.

The exit code is 0 if only expected failures occur, 1 if another law fails, and 2 if something could
not be checked: the name doesn't exist, an argument is wrong, the code raises as the first law
calls it, or posenc itself failed. What else a check may be told is told in Python.
"""

import argparse
import io
import json
import sys
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any

from posenc import checks
from posenc.checks.builders import BUILT

NAME = "package.module:name"
EXPECT = (
    "a TOML file of expected failures: a table for each subject, a reason for each law"
)


def parse(arguments: Sequence[str] | None) -> dict[str, Any]:
    """Parse the arguments of the command; options that aren't given are left out."""
    parser = argparse.ArgumentParser(
        prog="python -m posenc.checks",
        description="Compare a positional encoding with the book's.",
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    add("target", metavar=NAME)
    add("--kind", choices=checks.SUBJECTS, help="what it is; guessed by default")
    add("--step", metavar=NAME, help="a decoder's step")
    add("--base", type=float, help="the intended base")
    add("--expected", choices=BUILT, help="what position ids should be")
    add("--laws", nargs="+", metavar="LAW", help="laws to test, behind the target")
    add("--expect", default={}, metavar="FILE", help=EXPECT)
    add("--json", action="store_true", default=False, help="print JSON")
    return vars(parser.parse_args(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and return the exit code."""
    options = parse(arguments)
    # All that posenc says is ASCII; what the code says may not fit the terminal.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    target, expect, as_json = (
        options.pop(name) for name in ("target", "expect", "json")
    )
    try:
        if "step" in options:
            options["step"] = resolve_name(options["step"])
        report = checks.check(resolve_name(target), **options).expecting(expect)
    except (Exception, SystemExit) as error:  # an import may raise anything
        text = f"{target} could not be checked: {type(error).__name__}: {error}"
        print(text, file=sys.stderr)
        return 2
    print(json.dumps(report.as_dict(), indent=1) if as_json else report)
    # If already the first law's call raises, nothing could be checked.
    if report.rows[0].trace or report.of_status("internal"):
        return 2
    return int(not report.passed)


if __name__ == "__main__":
    sys.exit(main())
