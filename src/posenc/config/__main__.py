"""Print what a model's config.json says about positions."""

import argparse
import json
import sys

from posenc.config import read_config


def main(arguments: list[str] | None = None) -> int:
    """Print what a file says; return 2 if it can't be read."""
    parser = argparse.ArgumentParser("python -m posenc.config", description=__doc__)
    parser.add_argument("file", help="a config.json")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    options = parser.parse_args(arguments)
    try:
        found = read_config(options.file)
    except (OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found.as_dict(), indent=1) if options.json else found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
