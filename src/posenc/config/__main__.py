"""Print what a model runs, by its config.json and its type."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from posenc.config import Positions, read_config
from posenc.config.fields import LARGEST
from posenc.config.found import shown


def main(arguments: list[str] | None = None) -> int:
    """Print what files say; return 2 if one can't be read."""
    parser = argparse.ArgumentParser("python -m posenc.config", description=__doc__)
    parser.add_argument("file", nargs="+", help="a config.json, a folder of such, or - (input)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--diff", action="store_true", help="print what differs in what two run")
    options = parser.parse_args(arguments)
    read, failed = {}, False
    folders = [Path(each) for each in options.file if each != "-" and Path(each).is_dir()]
    inside = [str(file) for each in folders for file in sorted(each.rglob("*config.json"))]
    for name in [each for each in options.file if Path(each) not in folders] + inside:
        try:
            read[name] = read_config(sys.stdin.buffer.read(LARGEST + 1) if name == "-" else name)
        except (OSError, TypeError, ValueError) as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
    if options.diff and len(read) != 2:
        print(f"--diff needs two files that can be read, got {len(read)}", file=sys.stderr)
        return 2
    if options.diff:
        print("\n".join(differences(*read.values())) or "What runs is the same.")
    elif options.json:
        found = {name: each.as_dict() for name, each in read.items()}
        one = len(options.file) == len(read) == 1 and not failed
        print(json.dumps(next(iter(found.values())) if one else found, indent=1))
    else:
        names = [f"{name}\n" if len(read) > 1 else "" for name in read]
        print("\n\n".join(f"{n}{each}" for n, each in zip(names, read.values(), strict=True)))
    return 2 if failed or not read else 0


def differences(one: Positions, other: Positions) -> Iterator[str]:
    """Yield what differs in what runs, layers that differ alike together."""
    for name in ("model_type", "length_before_scaling", "intended_length", "limit"):
        pair = getattr(one, name), getattr(other, name)
        if pair[0] != pair[1]:
            yield f"{name.replace('_', ' ')}: {shown(pair[0])} -> {shown(pair[1])}"
    groups: dict[str, list[int]] = {}
    sides = [_by_layer(each) for each in (one, other)]
    for i in sorted(sides[0].keys() | sides[1].keys()):
        left, right = (side.get(i, {"where": "no such layer"}) for side in sides)
        pairs = {name: (left.get(name), right.get(name)) for name in {**left, **right}}
        told = [f"  {n}: {a or 'none'} -> {b or 'none'}" for n, (a, b) in pairs.items() if a != b]
        groups.setdefault("\n".join(told), []).append(i)
    groups.pop("", None)
    for lines, places in groups.items():
        named = f"layers {', '.join(map(str, places))}:" if places != [-1] else "every layer:"
        yield f"{named}\n{lines}"


def _by_layer(found: Positions) -> dict[int, dict[str, str]]:
    return {
        i: {"where": shown(layers.where), **dict(layers.described())}
        for layers in found.layers
        for i in layers.indices or (-1,)
    }


if __name__ == "__main__":
    raise SystemExit(main())
