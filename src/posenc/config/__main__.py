"""Print what a model runs, by its config.json and its type."""

import argparse
import json
import signal
import sys
from io import TextIOWrapper
from pathlib import Path

from posenc.config import read_config


def main(arguments: list[str] | None = None) -> int:
    """Print what files say; return 2 if one can't be read."""
    parser = argparse.ArgumentParser("python -m posenc.config", description=__doc__)
    parser.add_argument(
        "file", nargs="+", help="a config.json, a folder of such, or - (input)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    options = parser.parse_args(arguments)
    names = []
    for path in options.file:  # the configurations in a folder, or the file itself
        names += sorted(map(str, Path(path).rglob("config.json"))) or [path]
    readings = {}
    for name in names:
        try:
            source = sys.stdin.buffer.read() if name == "-" else name
            readings[name] = read_config(source)
        except (OSError, RecursionError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    if options.json:
        text = json.dumps({name: r.as_dict() for name, r in readings.items()}, indent=1)
    else:
        text = "\n\n".join(f"{name}\n{reading}" for name, reading in readings.items())
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may lack letters
        sys.stdout.reconfigure(errors="replace")
    print(text)
    return 0 if readings.keys() == {*names} else 2


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # end without a traceback if a pipe is closed early
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
