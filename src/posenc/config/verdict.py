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
    default_lengths: tuple[str, ...] | None,
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
    clauses += scaling_in_words(kinds, lengths, default_lengths or ())
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
        by_default = mark(layers, "count", "indices") if number else ""
        said += f" in {number}layers{by_default} ({shown(layers.name)})"
    elif mark(layers, "count"):
        number = f"{layers.count} by default"
        said += f" in all layers (the file doesn't say how many; {number})"
    else:
        said += f" in all {layers.count} layers" if layers.count else " in all layers"
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


def scaling_in_words(
    kinds: list[Described], lengths: Lengths, by_default: tuple[str, ...]
) -> Iterator[str]:
    """Say which scalings stretch which length, and how far."""
    layers = [described.layers for described in kinds]
    # These two leave the lengths as they are.
    scalings = {one.scaling for one in layers} - {"default", "proportional"}
    names = sorted(filter(None, scalings))
    if not names:
        return
    start, intended = lengths
    whole = any(mark(one, "scaling") for one in layers)
    start_mark, end_mark = (
        " (by default)" if name in by_default and not whole else ""
        for name in ("length_before_scaling", "intended_length")
    )
    before = f"{start:,}{start_mark} " if start else ""
    after = f" to {intended:,}{end_mark}" if start and intended else ""
    all_of_it = ", all by default" if whole else ""
    yield f"{before}stretched{after} by {', '.join(names)}{all_of_it}"
