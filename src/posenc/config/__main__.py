"""Print what a model runs, by its config.json and its type."""

import argparse
import difflib
import json
import sys
from dataclasses import replace
from pathlib import Path

from posenc.config import Positions, read_config
from posenc.config.fields import LARGEST


def main(arguments: list[str] | None = None) -> int:
    """Print what files say; return 2 if one can't be read."""
    parser = argparse.ArgumentParser("python -m posenc.config", description=__doc__)
    parser.add_argument(
        "file", nargs="+", help="a config.json, a folder of such, or - (input)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument(
        "--diff", action="store_true", help="print what differs in what two run"
    )
    options = parser.parse_args(arguments)
    folders = (
        (name, sorted(map(str, Path(name).rglob("*config.json"))))
        for name in options.file
    )
    names = [file for name, files in folders for file in files or [name]]
    read: dict[str, Positions] = {}
    for name in names:
        try:
            read[name] = read_config(
                sys.stdin.buffer.read(LARGEST + 1) if name == "-" else name
            )
        except (OSError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    if options.diff and len(read) != 2:
        parser.error(f"--diff needs two files that can be read, got {len(read)}")
    if options.diff:
        one, other = (
            str(replace(each, warnings=())).splitlines() for each in read.values()
        )
        told = difflib.unified_diff(one, other, names[0], names[1], lineterm="", n=99)
        print("\n".join(told) or "What runs is the same.")
    elif options.json:
        found = {name: each.as_dict() for name, each in read.items()}
        print(
            json.dumps(
                found[names[0]] if len(found) == len(names) == 1 else found, indent=1
            )
        )
    else:
        each = (
            f"{name}\n{found}" if len(read) > 1 else str(found)
            for name, found in read.items()
        )
        print("\n\n".join(each))
    return 0 if 0 < len(read) == len(names) else 2


if __name__ == "__main__":
    raise SystemExit(main())
