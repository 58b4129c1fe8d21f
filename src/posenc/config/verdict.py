"""What to say about a reading: which fields aren't read, and all of it in a sentence.

`rotation.describe` comes first: it notes which fields were asked for, and `unread_fields` yields
the others. `sentence` comes last.
"""

import re
from collections.abc import Iterator

from posenc.config.fields import WORDS, Entry, Fields, printable
from posenc.config.rotation import Described, Lengths
from posenc.layers import NO_ATTENTION, NOWHERE, ROTARY, Layers, shown

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
    details = WORDS["details"] if entry else ()
    for name, value in fields.content.items():
        usual = name in fields.defaults and value == fields.defaults[name]
        plain = not value or value in WORDS["plain_words"]
        if usual or plain or name in fields.asked or name in details:
            continue
        place = f"{fields.path}{name}"
        if SPEAKS.search(place) and not ALIKE.search(place):
            yield printable(place)


def sentence(
    kinds: list[Described],
    lengths: Lengths,
    known: bool,
    unread: list[str],
    problems: list[str],
) -> str:
    """Say which layers turn, how they are stretched, and what looks wrong.

    `unread` and `problems` must be complete, for all kinds: an empty list is "nothing wrong".
    """
    clauses = []
    if unread:
        names = ", ".join(unread[:5])
        clauses.append(f"not read, though it may change this: {names}")
    clauses.append(("" if known else SUGGESTED) + layers_in_words(kinds))
    clauses += scaling_in_words(kinds, lengths)
    said = "; ".join(clauses)
    fine = "nothing wrong" if known and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def layers_in_words(kinds: list[Described]) -> str:
    """Say what all layers do."""
    layers = [described.layers for described in kinds]
    if not any(one.where for one in layers):
        return "nothing about positions"
    total = sum(one.count or 0 for one in layers)
    return ", and ".join(in_words(one, total, len(layers) > 1) for one in layers)


def in_words(layers: Layers, total: int, several: bool) -> str:
    """Say what one kind of layer does."""
    said = NAMES.get(layers.where, str(layers.where))
    if several:
        number = f"{layers.count} of {total} " if layers.count else ""
        said += f" in {number}layers ({shown(layers.name)})"
    else:
        said += f" in all {layers.count} layers" if layers.count else " in all layers"
    if layers.base:
        said += f", base {layers.base:,.10g}"
    # A share of the head, or a width that isn't known.
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        said += f", {layers.rotated}{of} dimensions"
    return said


def scaling_in_words(kinds: list[Described], lengths: Lengths) -> Iterator[str]:
    """Say which scalings stretch which length, and how far."""
    scalings = {described.layers.scaling for described in kinds}
    # These two leave the lengths as they are.
    names = sorted(filter(None, scalings - {"default", "proportional"}))
    if names:
        start, intended = lengths
        before = f"{start:,} " if start else ""
        after = f" to {intended:,}" if start and intended else ""
        yield f"{before}stretched{after} by {', '.join(names)}"
