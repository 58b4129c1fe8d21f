"""What to say about a reading: which fields aren't read, and all of it in a sentence.

`rotation.describe` comes first: it notes which fields were asked for, and `unread_fields` yields
the others. `sentence` comes last.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from posenc.config.fields import WORDS, Entry, Fields
from posenc.layers import NO_ATTENTION, NOWHERE, ROTARY, Layers, shown

if TYPE_CHECKING:
    from posenc.config import Positions

# Matched against a field with its path, such as "rope_scaling.factor".
SPEAKS = re.compile("|".join(WORDS["speak_of_positions"]))
ALIKE = re.compile("|".join(WORDS["sound_alike"]))
SUGGESTED = "what the type's code does isn't known here; the fields suggest "
KEEP_LENGTHS = {None, "default", "proportional"}  # scalings
NAMES = {
    ROTARY: "RoPE",
    NOWHERE: "no encoding",
    NO_ATTENTION: "no attention",
    None: "nothing that is known",
}


def unread_fields(mappings: list[Fields], entry: Entry) -> list[str]:
    """Return the fields that, by their names, speak of positions, and weren't asked for."""
    # What the code of a known type does with these changes no answer here.
    details = WORDS["details"] if entry.code else []
    unread = []
    for fields in mappings:
        for name, value in fields.content.items():
            if name in fields.asked or name in details:
                continue
            place = f"{fields.path}{name}"
            plain = not value or value in WORDS["plain_words"]
            usual = value == fields.defaults.get(name)
            speaks = SPEAKS.search(place) and not ALIKE.search(name)
            if speaks and not plain and not usual:
                unread.append(shown(place))
    return [*dict.fromkeys(unread)]


def sentence(reading: Positions, unread: list[str], problems: list[str]) -> str:
    """Say which layers turn, how they are stretched, and what looks wrong.

    `unread` and `problems` must be complete, for all kinds: an empty list is "nothing wrong".
    """
    layers = ("" if reading.code else SUGGESTED) + layers_in_words(reading.layers)
    clauses = [layers, scaling_in_words(reading)]
    if unread:
        names = ", ".join(unread[:5])
        clauses.insert(0, f"not read, though it may change this: {names}")
    said = "; ".join(filter(None, clauses))
    if reading.by_default:
        said += f" (by default: {', '.join(reading.by_default)})"
    fine = "nothing wrong" if reading.code and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def layers_in_words(layers: tuple[Layers, ...]) -> str:
    """Say what all layers do."""
    if not any(one.where for one in layers):
        return "nothing about positions"
    total = sum(one.count or 0 for one in layers)
    return ", and ".join(in_words(one, total) for one in layers)


def in_words(layers: Layers, total: int) -> str:
    """Say what one kind of layer does."""
    place = name = shown(layers.name)
    if layers.count:
        place = f"{layers.count} of {total} layers ({name})"
    if layers.count == total:
        place = f"all {total} layers"
    said = f"{NAMES.get(layers.where, layers.where)} in {place}"
    if layers.base:
        said += f", base {layers.base:,.15g}"
    # A share of the head, or a width that isn't known.
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        said += f", {layers.rotated}{of} dimensions"
    return said


def scaling_in_words(reading: Positions) -> str:
    """Say which scalings stretch which length, and how far; nothing if none does."""
    scalings = {one.scaling for one in reading.layers} - KEEP_LENGTHS
    if not scalings:
        return ""
    start, end = reading.length_before_scaling, reading.intended_length
    said = f"{start:,} stretched" if start else "stretched"
    if start and end:
        said += f" to {end:,}"
    return f"{said} by {', '.join(sorted(map(shown, scalings)))}"
