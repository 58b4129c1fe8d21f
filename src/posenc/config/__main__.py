"""Print what a model runs, by its config.json and its type."""

import argparse
import json
import signal
import sys
from io import TextIOWrapper
from pathlib import Path

from posenc.config import read_config
from posenc.config.fields import LARGEST_FILE


def main(arguments: list[str] | None = None) -> int:
    """Print what files say; return 2 if one can't be read."""
    parser = argparse.ArgumentParser("python -m posenc.config", description=__doc__)
    a_file = "a config.json, a folder of such, or - (input)"
    parser.add_argument("file", nargs="+", help=a_file)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    options = parser.parse_args(arguments)
    # A file that is named twice is read once.
    names = dict.fromkeys(name for path in options.file for name in files_of(path))
    readings = {}
    for name in names:
        try:
            source = sys.stdin.buffer.read(LARGEST_FILE + 1) if name == "-" else name
            readings[name] = read_config(source)
        except (OSError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    text = "\n\n".join(f"{name}\n{reading}" for name, reading in readings.items())
    if options.json:
        parsed = {name: reading.as_dict() for name, reading in readings.items()}
        text = json.dumps(parsed, indent=1)
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may lack letters
        sys.stdout.reconfigure(errors="replace")
    print(text)
    return 0 if len(readings) == len(names) else 2


def files_of(path: str) -> list[str]:
    """Return the configurations in a folder, or the file itself."""
    return sorted(map(str, Path(path).rglob("config.json"))) or [path]


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # end without a traceback if a pipe is closed early
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
