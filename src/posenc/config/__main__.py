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
    read: dict[str, Positions] = {}
    names: list[str] = []
    for name in options.file:
        inside = sorted(map(str, Path(name).rglob("*config.json"))) if name != "-" else []
        names += inside if Path(name).is_dir() else [name]
    for name in names:
        try:
            read[name] = read_config(sys.stdin.buffer.read(LARGEST + 1) if name == "-" else name)
        except (OSError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    if options.diff and len(read) != 2:
        print(f"--diff needs two files that can be read, got {len(read)}", file=sys.stderr)
        return 2
    if options.diff:
        print("\n".join(differences(*read.values())) or "What runs is the same.")
    elif options.json:
        found = {name: each.as_dict() for name, each in read.items()}
        one = len(options.file) == len(names) == len(found) == 1
        print(json.dumps(found[names[0]] if one else found, indent=1))
    else:
        heads = [f"{name}\n" if len(read) > 1 else "" for name in read]
        print("\n\n".join(f"{head}{read[name]}" for head, name in zip(heads, read, strict=True)))
    return 0 if 0 < len(read) == len(names) else 2


def differences(one: Positions, other: Positions) -> Iterator[str]:
    """Yield what differs in what runs, layers that differ alike together."""
    for name in ("model_type", "length_before_scaling", "intended_length", "limit"):
        pair = getattr(one, name), getattr(other, name)
        if pair[0] != pair[1]:
            yield f"{name.replace('_', ' ')}: {shown(pair[0])} -> {shown(pair[1])}"
    groups: dict[str, list[int]] = {}
    sides = [
        {
            i: {"where": shown(layers.where), **dict(layers.described()), "indices": ""}
            for layers in found.layers
            for i in layers.indices or (-1,)
        }
        for found in (one, other)
    ]
    for i in sorted(sides[0].keys() | sides[1].keys()):
        left, right = (side.get(i, {"where": "no such layer"}) for side in sides)
        pairs = {name: (left.get(name), right.get(name)) for name in {**left, **right}}
        told = [f"  {n}: {a or 'none'} -> {b or 'none'}" for n, (a, b) in pairs.items() if a != b]
        groups.setdefault("\n".join(told), []).append(i)
    groups.pop("", None)
    for lines, places in groups.items():
        named = f"layers {', '.join(map(str, places))}:" if places != [-1] else "every layer:"
        yield f"{named}\n{lines}"


if __name__ == "__main__":
    raise SystemExit(main())
