"""What a configuration says about positions, as `posenc.read_config` returns it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from posenc.attention import Rotates

UNSAID = "the file doesn't say"
ROTARY, BIAS, TABLE = "queries and keys, rotary", "scores, a bias", "input, a table"
NOWHERE, NO_ATTENTION = "nowhere", "nowhere, and without attention"
ASKED = {"head_dim", "layout", "pairing", "base", "scaling", "frequencies"}  # of a rotation


@dataclass(frozen=True)
class Layers(Rotates):
    """What runs in one kind of layer. None means that neither the file nor its type says."""

    name: str = "all layers"  #: The kind, in the file's own words if it has any.
    where: str | None = None  #: Where positions enter.
    count: int | None = None  #: Number of layers of this kind.
    indices: tuple[int, ...] | None = None  #: These layers, counted from 0.
    window: int | None = None  #: Number of keys that a query sees, if limited.
    chunk: int | None = None  #: Number of keys after which attention begins anew.
    table: str | None = None  #: Tables that the input gets, learned or fixed, and their rows.
    head_dim: int | None = None  #: Width of a query or key.
    rotated: int | None = None  #: How many of its dimensions turn.
    first: int | None = None  #: The first dimension that turns.
    layout: str | None = None  #: Which dimensions turn, in words.
    pairing: str | None = None  #: Pairs, "halves" (i, i + rotated/2) or "neighbors" (2i, 2i + 1).
    base: float | None = None  #: The constant that spreads the frequencies.
    scaling: str | None = None  #: The type of scaling, "default" for none.
    #: Radians per position, in a text of at most the length before scaling.
    frequencies: tuple[float, ...] | None = None
    frequencies_beyond: tuple[float, ...] | None = None  #: The same in longer texts, if different.
    attention_factor: float | None = None  #: Multiplier of cosine and sine.
    attention_factor_beyond: float | None = None  #: The same beyond, if different.
    score_factor: float | None = None  #: Additional multiplier of scores, for the scaling.
    score_scale: float | None = None  #: Multiplier of every score; usually head_dim^(-1/2).
    norm: str | None = None  #: "before" or "after" the rotation, if there is a norm.
    sections: tuple[int, ...] | None = None  #: Number of pairs for time, height and width.
    axes: tuple[int, ...] | None = None  #: For each pair, the axis that turns it.

    def __str__(self) -> str:
        """Format everything for people, enough to write the kernel."""
        told = dict(vars(self))
        name, where, count = (told.pop(each) for each in ("name", "where", "count"))
        asked = ASKED if where == ROTARY else set()
        some = {n: each for n, each in told.items() if each is not None or n in asked}
        head = f"{shown(name)}{'' if count is None else f' ({count})'}: {where or UNSAID}"
        return "\n".join([head, *(f"  {n}: {shown(each)}" for n, each in some.items())])


@dataclass(frozen=True)
class Positions:
    """What a file and its type say about positions: lengths, kinds of layers, and warnings."""

    model_type: str | None  #: The file's type.
    code: str | None  #: Where it was read what the type's code decides; None if it isn't known.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: int | None  #: The length that the scaling, or the file, is meant for.
    limit: int | None  #: The length that the file allows.
    layers: tuple[Layers, ...]  #: The kinds of layers.
    warnings: tuple[str, ...]  #: Contradictions, known differences, and fields not read.
    parts: dict[str, Positions]  #: Other parts that rotate, as for images, by their field.

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def __str__(self) -> str:
        """Format everything for people."""
        told = vars(self) | {"code": self.code or "not known, so this is what the file says"}
        layers, warnings, parts = (told.pop(name) for name in ("layers", "warnings", "parts"))
        lines = [f"{name.replace('_', ' ')}: {shown(each)}" for name, each in told.items()]
        lines += [f"\n{each}" for each in layers] + [f"\nWarning: {each}" for each in warnings]
        return "\n".join([*lines, *(f"\n{shown(name)}\n{part}" for name, part in parts.items())])


def shown(value: Any) -> str:
    """Format a value for people, without control characters."""
    if value is None:
        return UNSAID
    if isinstance(value, str):
        return "".join(each if each.isprintable() else "?" for each in value[:120])
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    return f"{value:{',.6g' if isinstance(value, float) else ','}}".replace(",", " ")
