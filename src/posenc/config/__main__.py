"""Print what a model runs, by its config.json and its type."""

import argparse
import difflib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from posenc.config import Positions, read_config
from posenc.config.fields import LARGEST_FILE


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
    names = [name for path in options.file for name in files_of(path)]
    readings: dict[str, Positions] = {}
    for name in names:
        try:
            source = sys.stdin.buffer.read(LARGEST_FILE + 1) if name == "-" else name
            readings[name] = read_config(source)
        except (OSError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    if options.diff and len(readings) != 2:
        parser.error(f"--diff needs two files that can be read, got {len(readings)}")
    if options.diff:
        show(difference(*readings.values()))
    elif options.json:
        parsed = {name: reading.as_dict() for name, reading in readings.items()}
        alone = len(names) == len(parsed) == 1
        show(json.dumps(parsed[names[0]] if alone else parsed, indent=1))
    else:
        titles = len(readings) > 1
        told = [
            f"{name}\n{one}" if titles else str(one) for name, one in readings.items()
        ]
        show("\n\n".join(told))
    return 0 if 0 < len(readings) == len(names) else 2


def files_of(path: str) -> list[str]:
    """Return the configurations in a folder, or the file itself."""
    return sorted(map(str, Path(path).rglob("*config.json"))) or [path]


def difference(old: Positions, new: Positions) -> str:
    """Return the lines that differ in two readings."""
    old, new = (replace(reading, verdict="", warnings=()) for reading in (old, new))
    lines = difflib.ndiff(str(old).splitlines(), str(new).splitlines())
    told = [line for line in lines if not line.startswith("?")]
    return "\n".join(told) if old != new else "What runs is the same."


def show(text: str) -> None:
    """Print to any terminal, file or pipe, also one that is closed early."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), flush=True)
    except BrokenPipeError:
        # Python flushes once more at its end, which must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    raise SystemExit(main())
