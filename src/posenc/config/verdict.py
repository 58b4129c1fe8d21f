"""What to say about a reading: which fields aren't read, and all of it in a sentence.

`rotation.describe` comes first: it notes which fields were asked for, and `unread_fields` yields
the others. `sentence` comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from posenc.config.fields import WORDS, Entry, Fields
from posenc.layers import NO_ATTENTION, NOWHERE, ROTARY, Layers, shown

if TYPE_CHECKING:
    from posenc.config import Positions

# Matched against a field with its path, such as "rope_scaling.factor".
SPEAKS = re.compile("|".join(WORDS["speak_of_positions"]))
ALIKE = re.compile("|".join(WORDS["sound_alike"]))
SUGGESTED = "what the type's code does isn't known here; the fields suggest "
NAMES = {
    ROTARY: "RoPE",
    NOWHERE: "no encoding",
    NO_ATTENTION: "no attention",
    None: "nothing that is known",
}


def unread_fields(fields: Fields, entry: Entry) -> Iterator[str]:
    """Yield the fields that, by their names, speak of positions, and weren't asked for."""
    # What the code of a known type does with these changes no answer here.
    details = WORDS["details"] if entry.code else ()
    for name, value in fields.content.items():
        usual = name in fields.defaults and value == fields.defaults[name]
        plain = not value or value in WORDS["plain_words"]
        if usual or plain or name in fields.asked or name in details:
            continue
        place = f"{fields.path}{name}"
        if SPEAKS.search(place) and not ALIKE.search(place):
            yield shown(place)


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
    fine = "nothing wrong" if reading.code and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def layers_in_words(layers: tuple[Layers, ...]) -> str:
    """Say what all layers do."""
    if not any(one.where for one in layers):
        return "nothing about positions"
    total = sum(one.count or 0 for one in layers)
    return ", and ".join(in_words(one, total, len(layers) > 1) for one in layers)


def in_words(layers: Layers, total: int, several: bool) -> str:
    """Say what one kind of layer does."""
    said = NAMES.get(layers.where, str(layers.where))
    # "32 ", which may be the default of the class, or nothing if no one says.
    number = f"{layers.count} " if layers.count else ""
    if several:
        of = f"{number}of {total} " if number else ""
        by_default = mark(layers, "count", "indices") if number else ""
        said += f" in {of}layers{by_default} ({shown(layers.name)})"
    elif mark(layers, "count"):
        said += f" in all layers (the file doesn't say how many; {number}by default)"
    else:
        said += f" in all {number}layers"
    if layers.base:
        said += f", base {layers.base:,.15g}{mark(layers, 'base')}"
    # A share of the head, or a width that isn't known.
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        by_default = mark(layers, "rotated", "head_dim")
        said += f", {layers.rotated}{of} dimensions{by_default}"
    return said


def mark(layers: Layers, *facts: str) -> str:
    """Return words that mark facts which aren't the file's, nothing if they are."""
    return "" if set(facts).isdisjoint(layers.by_default or ()) else " by default"


def scaling_in_words(reading: Positions) -> str:
    """Say which scalings stretch which length, and how far; nothing if none does."""
    # These two leave the lengths as they are.
    scalings = {one.scaling for one in reading.layers} - {"default", "proportional"}
    names = ", ".join(sorted(map(shown, filter(None, scalings))))
    if not names:
        return ""
    start, end = reading.length_before_scaling, reading.intended_length
    said = f"stretched by {names}"
    if start:
        said = f"{start:,} stretched{f' to {end:,}' if end else ''} by {names}"
    if any(mark(one, "scaling") for one in reading.layers):
        return f"{said}, all by default"
    # The limit, and so these lengths, may be the class's.
    lengths = {"length_before_scaling", "intended_length"}
    partly = start and lengths.intersection(reading.by_default or ())
    return f"{said}, partly by default" if partly else said
