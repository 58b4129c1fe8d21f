"""What to say about a reading: what looks wrong, and all of it in a sentence.

`rotation.describe` comes first: it notes which fields were asked for, and `unread_fields` yields
the others. `sentence` comes last, with what the other functions here found.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from posenc.config.fields import WORDS, Entry, Fields, printable, speaks_of_positions
from posenc.config.rotation import LIMIT, Described, Lengths
from posenc.layers import NO_ATTENTION, NOWHERE, ROTARY, Layers, shown
from posenc.scaling import ORIGINAL

DEEPEST = 4  # mappings in mappings that are searched for fields
SUGGESTED = "what the type's code does isn't known here; the fields suggest "


def unread_fields(fields: Fields, entry: Entry) -> Iterator[str]:
    """Yield the fields that speak of positions, or stand among such, and weren't asked for."""
    # What the code of a known type does with these changes no answer here.
    details = WORDS["details"] if entry else ()
    for name, value in fields.content.items():
        usual = name in fields.defaults and value == fields.defaults[name]
        if not (usual or name in fields.asked or name in details):
            yield from _unread(f"{fields.path}{name}", value, DEEPEST)


def _unread(place: str, value: Any, depth: int) -> Iterator[str]:
    if not value or value in WORDS["plain_words"]:
        return
    if speaks_of_positions(place[-90:]):
        yield printable(place)
    elif isinstance(value, Mapping) and depth:
        for name, inner in value.items():
            yield from _unread(f"{place}.{name}", inner, depth - 1)


def contradictions(fields: Fields, described: Described) -> Iterator[str]:
    """Yield where the fields of a rotation contradict each other."""
    rope, path = described.kind.rope, described.kind.rope.path[:-1]
    new, old = rope.content.get("rope_type"), rope.content.get("type")
    if new and old and new != old:
        yield f"{path} has rope_type {new!a:.50} for new programs, type {old!a:.50} for old"
    start, scaling = described.lengths[0], described.layers.scaling
    inside, limit = rope.count(ORIGINAL), fields.count(LIMIT)
    if inside and fields.has(ORIGINAL) and inside != start:
        yield f"{path} has another {ORIGINAL} than stands outside, which transformers takes"
    if limit and scaling in ("yarn", "llama3") and not (inside or fields.has(ORIGINAL)):
        words = f"transformers falls back to {LIMIT}, {limit}"
        yield f"{path} has no {ORIGINAL}: {words}, right if that is the length before scaling"
    factor = rope.number("factor") if scaling in ("yarn", "longrope") else None
    # Some files give the trained length in both fields, which says nothing of a ratio.
    ratio = limit / start if limit and start else 1
    if factor and ratio not in (1, factor):
        yield f"the factor is {factor:g}, but {limit} / {start} is {ratio:g}: it takes precedence"


def remarks(fields: Fields, described: Described) -> Iterator[str]:
    """Yield where programs are known to read a file differently."""
    kind, layers = described.kind, described.layers
    rope, path, entry = kind.rope, kind.rope.path[:-1], kind.entry
    scaling = layers.scaling
    if kind.where == ROTARY and "note" in entry:
        yield entry["note"]
    if rope.has("type") and not rope.content.get("rope_type"):
        yield f"{path}.type is the old spelling of rope_type: some programs read only one"
    if (
        scaling in ("yarn", "llama3")
        and fields.has(ORIGINAL)
        and not rope.has(ORIGINAL)
    ):
        yield f"{ORIGINAL} is outside {path}, where some programs ignore it"
    if rope.has("attention_factor") and (
        rope.has("mscale") or rope.has("mscale_all_dim")
    ):
        yield "attention_factor overrides mscale and mscale_all_dim in cosine and sine"
    if layers.score_factor and "mscale" not in entry:
        yield "mscale_all_dim asks for larger scores: not every model's code does that"
    beside = kind.name in entry.get("local", ()) and not kind.nested
    if beside and scaling == "default" and fields.value("rope_scaling"):
        yield f"rope_scaling applies to global attention, not to {kind.name}"


def sentence(
    kinds: list[Described], known: bool, unread: list[str], problems: list[str]
) -> str:
    """Say which layers turn, how they are stretched, and what looks wrong.

    `unread` and `problems` must be complete, for all kinds: an empty list is "nothing wrong".
    """
    clauses = [
        unread_in_words(unread),
        ("" if known else SUGGESTED) + layers_in_words(kinds),
        scaling_in_words(kinds),
    ]
    said = "; ".join(filter(None, clauses))
    fine = "nothing wrong" if known and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def unread_in_words(unread: list[str]) -> str:
    """Name the first fields that aren't read."""
    if not unread:
        return ""
    return f"not read, though it may change this: {', '.join(unread[:5])}"


def layers_in_words(kinds: list[Described]) -> str:
    """Say what all layers do."""
    layers = [described.layers for described in kinds]
    if not any(one.where for one in layers):
        return "nothing about positions"
    total = sum(one.count or 0 for one in layers)
    return ", and ".join(in_words(one, total, len(layers) > 1) for one in layers)


def scaling_in_words(kinds: list[Described]) -> str:
    """Say which scalings stretch which length, and how far."""
    scalings = {described.layers.scaling for described in kinds}
    names = sorted(filter(None, scalings - {"default", "proportional"}))
    if not names:
        return ""
    start, intended = lengths_of_model(kinds)
    before = f"{start:,} " if start else ""
    after = f" to {intended:,}" if start and intended else ""
    return f"{before}stretched{after} by {', '.join(names)}"


def lengths_of_model(kinds: list[Described]) -> Lengths:
    """Return the lengths of the first kind that is stretched from a known length."""
    stretched = (described.lengths for described in kinds if described.lengths[0])
    return next(stretched, (None, None))


def in_words(layers: Layers, total: int, several: bool) -> str:
    """Say what one kind of layer does."""
    names = {
        ROTARY: "RoPE",
        NOWHERE: "no encoding",
        NO_ATTENTION: "no attention",
        None: "nothing that is known",
    }
    said = names.get(layers.where, str(layers.where))
    if several:
        number = f"{layers.count} of {total} " if layers.count else ""
        said += f" in {number}layers ({shown(layers.name)})"
    else:
        said += f" in all {layers.count} layers" if layers.count else " in all layers"
    if layers.base:
        said += f", base {layers.base:,.10g}"
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        said += f", {layers.rotated}{of} dimensions"
    return said
