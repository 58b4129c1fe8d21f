"""What to say about a reading: which fields aren't read, and all of it in a sentence.

`rotation.describe` comes first: what it doesn't use, `unread_fields` tells. `sentence` comes last.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from textwrap import indent
from typing import Any

from posenc.config.fields import SPELLINGS, WORDS, Fields
from posenc.config.kinds import ALL, SOME
from posenc.layers import Layers, shown

# Matched against a field with its path, such as "rope_scaling.factor".
SPEAKS = re.compile("|".join(WORDS["speak_of_positions"]))
ALIKE = re.compile("|".join(WORDS["sound_alike"]))
SUGGESTED = "what the type's code does isn't known here; the fields suggest "


@dataclass
class Positions:
    """What a file and its type say about positions: a verdict, lengths, and kinds of layers."""

    verdict: str  #: Which layers turn, how, and what looks wrong, in a sentence.
    model_type: str | None  #: The file's type.
    code: str | None  #: Which code decides the rest; None if it isn't known here.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: int | None  #: The length that the scaling, or the file, is for.
    limit: int | None  #: The length that the file allows.
    #: Fields that the file leaves to the defaults of its type.
    by_default: tuple[str, ...] | None
    layers: tuple[Layers, ...]  #: The kinds of layers.
    #: Fields that aren't read, then contradictions, then where programs differ.
    warnings: tuple[str, ...]
    #: Other parts, as for images, by their field.
    parts: dict[str, Positions] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        return dict(json.loads(json.dumps(asdict(self))))

    def __str__(self) -> str:
        """Format everything for people, with the verdict and the warnings first."""
        lines = [self.verdict, *(f"Warning: {warning}" for warning in self.warnings)]
        lines += [
            f"model type: {shown(self.model_type)}",
            f"code: {shown(self.code)}",
            f"length before scaling: {shown(self.length_before_scaling)}",
            f"intended length: {shown(self.intended_length)}",
            f"limit: {shown(self.limit)}",
        ]
        # Of a type that isn't known, each line is a suggestion, and says so.
        begin = "" if self.code else "the fields suggest "
        lines += [f"\n{indent(str(layers), begin)}" for layers in self.layers]
        lines += [f"\n{shown(name)}\n{part}" for name, part in self.parts.items()]
        return "\n".join(lines)


def unread_fields(*mappings: Fields) -> list[str]:
    """Return the fields that, by their names, speak of positions, and weren't used."""
    unread = {}  # a set that keeps its order
    for fields in mappings:
        used = fields.used & fields.spelled.keys()
        read = {spelling for name in used for spelling in SPELLINGS[name]}
        # What the code of a known type does with these changes no answer here.
        # Of another type, the verdict says anyway that its own code isn't known.
        details = WORDS["details"] if fields.entry.code else ["auto_map"]
        for name, value in fields.content.items():
            place = f"{fields.path}{name}"
            usual = [*WORDS["plain_words"], fields.defaults.get(name)]
            speaks = SPEAKS.search(place) and not ALIKE.search(str(name))
            is_known = name in read or name in details or value in usual
            if speaks and value and not is_known:
                unread[shown(place)] = True
    return [*unread]


def sentence(reading: Positions, unread: list[str], problems: list[str]) -> str:
    """Say which layers turn, how they are stretched, and what looks wrong.

    `unread` and `problems` must be complete, for all kinds: an empty list is "nothing wrong".
    """
    total = sum(one.count or 0 for one in reading.layers)
    kinds = ", and ".join(in_words(one, total) for one in reading.layers)
    if not any(one.where for one in reading.layers):
        kinds = "nothing about positions"
    clauses = [("" if reading.code else SUGGESTED) + kinds, scaling_in_words(reading)]
    if unread:
        clauses.insert(
            0, f"not read, though it may change this: {', '.join(unread[:5])}"
        )
    said = "; ".join(filter(None, clauses))
    if reading.by_default:
        said += f" (by default: {', '.join(reading.by_default)})"
    fine = "nothing wrong" if reading.code and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def in_words(layers: Layers, total: int) -> str:
    """Say what one kind of layer does."""
    place = name = shown(layers.name)
    if layers.count:
        place = f"{layers.count} of {total} layers"
        place += f" ({name})" if layers.name != ALL else ""  # others of that kind rest
    if layers.count == total:
        place = f"all {total} layers"
    said = f"{WORDS['in_a_sentence'].get(str(layers.where), layers.where)} in {place}"
    if layers.base:
        said += f", base {layers.base:,.15g}"
    # A share of the head, or a width that isn't known.
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        said += f", {layers.rotated or 'some'}{of} dimensions"
    return said


def scaling_in_words(reading: Positions) -> str:
    """Say which scalings stretch which length, and how far; nothing if none does."""
    # These stretch no lengths.
    scalings = {one.scaling for one in reading.layers} - {
        None,
        "default",
        "proportional",
    }
    if not scalings:
        return ""
    start, end = reading.length_before_scaling, reading.intended_length
    said = f"{start:,} stretched" if start else "stretched"
    if start and end:
        said += f" to {end:,}"
    return f"{said} by {', '.join(sorted(map(shown, scalings)))}"


def narrowed(layers: Layers) -> Layers:
    """Return what is left of all layers if fields that aren't read may tell them apart."""
    if layers.name != ALL:
        return layers
    return replace(layers, name=SOME, count=None, indices=None, window=None)
