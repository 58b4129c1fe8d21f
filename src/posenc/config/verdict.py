"""What to say about a reading: what looks wrong, and all of it in a sentence."""

from collections.abc import Iterator, Mapping
from typing import Any

from posenc.config.fields import WORDS, Entry, Fields, printable, speaks_of_positions
from posenc.config.kinds import Kind
from posenc.config.rotation import LIMIT
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


def contradictions(fields: Fields, kind: Kind) -> Iterator[str]:
    """Yield where the fields of a rotation contradict each other."""
    rope, path = kind.rope, kind.rope.path[:-1]
    new, old = rope.content.get("rope_type"), rope.content.get("type")
    if new and old and new != old:
        yield f"{path} has rope_type {new!a:.50} for new programs, type {old!a:.50} for old"
    start, scaling = kind.lengths[0], kind.facts.get("scaling")
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


def remarks(fields: Fields, kind: Kind) -> Iterator[str]:
    """Yield where programs are known to read a file differently."""
    rope, path, entry = kind.rope, kind.rope.path[:-1], kind.entry
    scaling = kind.facts.get("scaling")
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
    if kind.facts.get("score_factor") and "mscale" not in entry:
        yield "mscale_all_dim asks for larger scores: not every model's code does that"
    beside = kind.name in entry.get("local", ()) and not kind.nested
    if beside and scaling == "default" and fields.value("rope_scaling"):
        yield f"rope_scaling applies to global attention, not to {kind.name}"


def sentence(
    kinds: list[Kind], known: bool, unread: list[str], problems: list[str]
) -> str:
    """Say in a sentence which layers turn, how they are stretched, and what looks wrong."""
    layers = [Layers(**kind.facts) for kind in kinds]
    total = sum(each.count or 0 for each in layers)
    said = ", and ".join(in_words(each, total, len(layers) > 1) for each in layers)
    if not any(each.where for each in layers):
        said = "nothing about positions"
    scalings = {each.scaling for each in layers} - {None, "default", "proportional"}
    if scalings:
        start, intended = next(
            (kind.lengths for kind in kinds if kind.lengths[0]), (None, None)
        )
        said += f"; {start:,} stretched" if start else "; stretched"
        said += f" to {intended:,}" if start and intended else ""
        said += f" by {', '.join(sorted(map(str, scalings)))}"
    said = said if known else f"{SUGGESTED}{said}"
    if unread:
        said = f"not read, though it may change this: {', '.join(unread[:5])}; {said}"
    fine = "nothing wrong" if known and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


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
