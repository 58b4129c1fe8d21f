"""How queries and keys turn in one kind of layer.

`describe` returns what it finds, and changes nothing but notes that a file's `Fields` keep:
`problems`, to which most functions here append, `remarks`, `asked`, by which unread fields are
known, and `left_out`, by which `with_defaults` knows what rests on defaults.
"""

import math
from functools import partial
from typing import Any, NamedTuple

from posenc.config.fields import WIDEST, WORDS
from posenc.config.kinds import ALL, ENCODINGS, SHARE, Kind
from posenc.layers import ROTARY, Layers
from posenc.scaling import ORIGINAL, Scaling, find_scaling, rotary_frequencies

LIMIT = "max_position_embeddings"
Facts = dict[str, Any]  # arguments of `Layers`
Settings = dict[str, Any]  # fields of a scaling, as `rotary_frequencies` takes them
Lengths = tuple[int | None, int | None]  # before scaling, and what the scaling is for


class Described(NamedTuple):
    """What is known of a kind of layer."""

    kind: Kind
    layers: Layers
    lengths: Lengths = (None, None)


def describe(kind: Kind) -> Described:
    """Return what is known of a kind of layer."""
    kind.fields.left_out.clear()  # another kind may read other fields
    facts = facts_without_rotation(kind)
    if kind.where != ROTARY:
        return with_defaults(kind, facts, (None, None))
    if "note" in kind.entry:
        kind.fields.remarks.append(kind.entry["note"])
    facts |= widths(kind) | details(kind)
    facts |= axes(kind, facts["rotated"]) | {"base": base(kind)}
    # What a scaling makes of the frequencies needs the base and the widths above.
    lengths: Lengths = (None, None)
    name = kind.rope.text("rope_type") or "default"
    scaling = find_scaling(name)
    facts["scaling"] = scaling.name if scaling else name[:40]
    if is_of_images(kind):
        facts["scaling"] = "default"
    elif scaling:
        lengths, frequencies = stretched(kind, facts, scaling)
        facts |= frequencies
    else:
        place = kind.rope.place("rope_type")
        kind.fields.problems.append(f"{place} {name[:40]!a} isn't known here")
    return with_defaults(kind, facts, lengths)


def with_defaults(kind: Kind, facts: Facts, lengths: Lengths) -> Described:
    """Name the facts that rest on fields that the file leaves out."""
    left_out = kind.left_out | kind.fields.left_out | kind.rope.left_out
    by_default = [
        fact
        for fact, fields in WORDS["fields_of_facts"].items()
        if facts.get(fact) is not None and not left_out.isdisjoint(fields)
    ]
    layers = Layers(**facts, by_default=tuple(by_default) or None)
    return Described(kind, layers, lengths)


def facts_without_rotation(kind: Kind) -> Facts:
    """Return the name of a kind, its layers, and what limits or precedes attention."""
    fields, entry, where = kind.fields, kind.entry, kind.where or ""
    facts: Facts = {"name": kind.name, "where": kind.where, "window": window(kind)}
    if kind.indices:
        facts |= {"indices": kind.indices, "count": len(kind.indices)}
    if "chunk" in kind.name:
        facts["chunk"] = fields.count("attention_chunk_size")
    # A table that the code always adds, or that this file asks for.
    if "table" in entry and ("table" in where or where == ENCODINGS[entry["where"]]):
        facts["table"] = entry["table"]
    return facts


def window(kind: Kind) -> int | None:
    """Return how many keys a query sees, if its layer has a window."""
    fields, entry = kind.fields, kind.entry
    used = fields.flag("use_sliding_window")
    if used is not False and entry and "window" not in entry:
        return None  # the code doesn't read it; it is named, as nobody asked for it
    size = fields.count("sliding_window", least=0) or None
    if used and entry and kind.name == ALL:
        fields.problems.append("which layers have a window isn't known here")
        return None
    has_one = "sliding" in kind.name or (kind.name == ALL and used is not False)
    return size if has_one else None


def base(kind: Kind) -> float | None:
    """Return the base: in the mapping of the rotation, outside it, or the class's."""
    inside = kind.rope.spelling("rope_theta") or kind.rope.defaults
    source = kind.rope if inside else kind.fields
    if source.is_null("rope_theta"):
        place = source.place("rope_theta")
        source.problems.append(f"{place} is null: no base is known")
    return source.number("rope_theta", 1e-9)


def widths(kind: Kind) -> Facts:
    """Return the width of a head, how many of its dimensions turn, and from which one on."""
    fields, entry = kind.fields, kind.entry
    first = 0 if entry else None
    turning = fields.count("qk_rope_head_dim", most=WIDEST)
    if turning:  # latent attention: the last dimensions turn
        resting = fields.count("qk_nope_head_dim", least=0, most=WIDEST)
        width = width_of_head(kind) if resting is None else turning + resting
        first = resting if entry else None
    else:
        width = width_of_head(kind)
        share = kind.rope.number(SHARE, most=1) or fields.number(SHARE, most=1)
        if not share:
            turning = fields.count("rotary_dim", most=width or WIDEST)
        if width and not turning:
            if not share and "share" in entry:
                fields.left_out.add(SHARE)
            turning = int(width * (share or entry.get("share", 1.0)))
    first = 0 if width and turning == width else first
    return {"head_dim": width, "rotated": turning, "first": first}


def width_of_head(kind: Kind) -> int | None:
    """Return the width of a query or key."""
    fields = kind.fields
    for name in (WORDS["width_of_kind"].get(kind.name, ""), "head_dim"):
        if fields.value(name) is not None:
            return fields.count(name, most=WIDEST)
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    width = hidden // heads if hidden and heads else None
    return width if width and width <= WIDEST else None


def details(kind: Kind) -> Facts:
    """Return pairs, norms, and what yarn multiplies scores by."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    facts: Facts = {"pairing": entry.get("pairing")}
    interleaved = fields.flag("rope_interleave")
    if interleaved is not None:
        facts["pairing"] = "neighbors" if interleaved else "halves"
    if "norm_if" not in entry or fields.flag(entry["norm_if"]):
        facts["norm"] = entry.get("norm")
    # DeepSeek's code multiplies scores by the square of YaRN's factor for `mscale_all_dim`.
    factor, depth = rope.number("factor") or 1.0, rope.number("mscale_all_dim")
    if depth and factor > 1 and entry.get("mscale", not entry):
        facts["score_factor"] = (0.1 * depth * math.log(factor) + 1) ** 2
    return facts


def is_of_images(kind: Kind) -> bool:
    """Whether a model turns along the axes of images, which only its code knows."""
    has_size = any(map(kind.fields.has, WORDS["sizes_of_images"]))
    return has_size or kind.entry.get("axes") == "image"


def stretched(kind: Kind, facts: Facts, scaling: Scaling) -> tuple[Lengths, Facts]:
    """Return the lengths that a scaling is for, and what it makes of the frequencies."""
    limit = kind.fields.count(LIMIT)
    settings = settings_of(kind, scaling, limit)
    if scaling.name in ("yarn", "longrope", "llama3"):
        note_contradictions(kind, settings, limit)
    try:
        lengths = scaling.lengths(settings, limit)
        return lengths, frequencies(facts, settings, limit, lengths)
    except (ArithmeticError, TypeError, ValueError) as error:
        kind.fields.problems.append(f"{kind.rope.path[:-1]}: {error}"[:200])
        return (None, None), {}


def settings_of(kind: Kind, scaling: Scaling, limit: int | None) -> Settings:
    """Return the fields of a scaling that the file gives; its rule checks them."""
    rope = kind.rope
    given = {name: rope.value(name) for name in scaling.fields}
    if ORIGINAL in given:  # transformers prefers the field outside
        lengths = (kind.fields.count(ORIGINAL), rope.count(ORIGINAL), limit)
        given[ORIGINAL] = next(filter(None, lengths), None)
    if given.get("alpha"):  # Hunyuan's files have fields of yarn beside it
        rope.asked.update(rope.content)
    given["rope_type"] = scaling.name
    return {name: value for name, value in given.items() if value is not None}


def note_contradictions(kind: Kind, settings: Settings, limit: int | None) -> None:
    """Note where the fields of a scaling contradict each other."""
    rope, path, problems = kind.rope, kind.rope.path[:-1], kind.fields.problems
    new, old = rope.content.get("rope_type"), rope.content.get("type")
    if new and old and new != old:
        words = f"{new!a:.50} for new programs, type {old!a:.50} for old"
        problems.append(f"{path} has rope_type {words}")
    if limit and not (rope.has(ORIGINAL) or kind.fields.has(ORIGINAL)):
        words = f"transformers falls back to {LIMIT}, {limit}"
        right = "right if that is the length before scaling"
        problems.append(f"{path} has no {ORIGINAL}: {words}, {right}")
    start, factor = settings.get(ORIGINAL), rope.number("factor")
    # Some files give the trained length in both fields, which says nothing of a ratio.
    ratio = limit / start if limit and start else 1
    if factor and ratio not in (1, factor) and settings["rope_type"] != "llama3":
        words = f"the factor is {factor:g}, but {limit} / {start} is {ratio:g}"
        problems.append(f"{words}: the factor takes precedence")


def frequencies(
    facts: Facts, settings: Settings, limit: int | None, lengths: Lengths
) -> Facts:
    """Return frequencies and factors, up to the length before scaling and beyond it."""
    width, rotated = facts["head_dim"], facts["rotated"]
    if not facts["base"] or not width:
        return {}
    if settings["rope_type"] == "proportional":  # it spreads over the whole head
        settings = settings | {SHARE: rotated / width}
        rotated = width
    compute = partial(
        rotary_frequencies,
        rotated,
        base=facts["base"],
        scaling=settings,
        max_position_embeddings=limit,
    )
    omega, factor = compute()
    # Dynamic and longrope have other frequencies in longer texts.
    longer = max(lengths[1] or 0, (lengths[0] or 0) + 1)
    later, factor_later = compute(seq_len=longer)
    differ = (omega != later).any()
    return {
        "frequencies": tuple(omega.tolist()),
        "frequencies_beyond": tuple(later.tolist()) if differ else None,
        "attention_factor": factor,
        "attention_factor_beyond": None if factor_later == factor else factor_later,
    }


def axes(kind: Kind, rotated: int | None) -> Facts:
    """Return how many pairs each axis turns (time, height, width), and in which order."""
    rope, entry = kind.rope, kind.entry
    sections = rope.integers("mrope_section") or entry.get("sections", [])
    if not sections:
        return {}
    # Nothing is wrong with sections of a head whose width the file doesn't say.
    if rotated is not None and 2 * sum(sections) != rotated:
        words = f"mrope_section sums to {sum(sections)}, but {rotated} dimensions turn"
        kind.fields.problems.append(words)
    interleaved = rope.flag("mrope_interleaved") or entry.get("axes") == "interleaved"
    order = "interleaved" if interleaved else "in sections"
    return {"sections": tuple(sections), "axes": order if entry else None}
