"""How queries and keys turn in one kind of layer.

`describe` returns what it finds. It changes nothing but notes that a file's `Fields` keep:
`problems`, to which most functions here append, `remarks`, `asked`, by which unread fields are
known, and `left_out`, by which it knows what rests on defaults.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from posenc.config.fields import WORDS, Fields
from posenc.config.kinds import ALL, ENCODINGS, SHARE, Kind
from posenc.layers import ROTARY, Layers
from posenc.scaling import (
    ORIGINAL,
    SCALINGS,
    Scaling,
    find_scaling,
    rotary_frequencies,
)

LIMIT = "max_position_embeddings"
Facts = dict[str, Any]  # arguments of `Layers`
Settings = dict[str, Any]  # fields of a scaling, as `rotary_frequencies` takes them
Lengths = tuple[int | None, int | None]  # before scaling, and what the scaling is for
UNSTRETCHED: Lengths = (None, None)
WIDEST = 65_536  # dimensions of a head, of which frequencies are computed
NUMBERS = "factor", "mscale_all_dim"  # of scalings


class Described(NamedTuple):
    """What is known of a kind of layer."""

    kind: Kind
    layers: Layers
    lengths: Lengths


def describe(kind: Kind) -> Described:
    """Return what is known of a kind of layer."""
    # Another kind may have read other fields. In place: the kind's mappings share this set.
    kind.fields.left_out &= kind.left_out
    facts = facts_without_rotation(kind)
    lengths = UNSTRETCHED
    if kind.where == ROTARY:
        kind.fields.remarks += filter(None, [kind.entry.note])
        facts |= widths(kind) | details(kind)
        facts |= axes(kind, facts["rotated"]) | {"base": base(kind)}
        # What a scaling makes of the frequencies needs the base and the widths above.
        lengths, scaled = stretched(kind, facts)
        facts |= scaled
    by_default = [
        fact
        for fact, fields in WORDS["fields_of_facts"].items()
        if facts.get(fact) is not None and kind.fields.left_out.intersection(fields)
    ]
    layers = Layers(**facts, by_default=tuple(by_default) or None)
    return Described(kind, layers, lengths)


def facts_without_rotation(kind: Kind) -> Facts:
    """Return the name of a kind, its layers, and what limits or precedes attention."""
    entry, where = kind.entry, kind.where or ""
    facts: Facts = {"name": kind.name, "where": kind.where, "window": window(kind)}
    if kind.indices:
        facts |= {"indices": kind.indices, "count": len(kind.indices)}
    if "chunk" in kind.name:
        facts["chunk"] = kind.fields.count("attention_chunk_size")
    # A table that the code always adds, or that this file asks for.
    if "table" in where or where == ENCODINGS.get(entry.where):
        facts["table"] = entry.table
    return facts


def window(kind: Kind) -> int | None:
    """Return how many keys a query sees, if its layer has a window."""
    fields, entry = kind.fields, kind.entry
    used = fields.flag("use_sliding_window")
    if used is not False and entry.code and not entry.window:
        return None  # the code doesn't read it; it is named, as nobody asked for it
    size = fields.count("sliding_window", least=0) or None
    if used and entry.code and kind.name == ALL:
        fields.problems.append("which layers have a window isn't known here")
        return None
    has_one = "sliding" in kind.name or (kind.name == ALL and used is not False)
    return size if has_one else None


def base(kind: Kind) -> float | None:
    """Return the base: in the mapping of the rotation, outside it, or the class's."""
    name, source = "rope_theta", kind.rope
    if source.spelling(name) is None and name not in source.defaults:
        source = kind.fields
        name = "rope_local_base_freq" if kind.name in kind.entry.local else name
    if source.is_null(name):
        source.problems.append(f"{source.place(name)} is null: no base is known")
    return source.number(name, 1e-9)


def widths(kind: Kind) -> Facts:
    """Return the width of a head, how many of its dimensions turn, and from which one on."""
    fields, rope = kind.fields, kind.rope
    first = 0 if kind.entry.code else None  # of other code, nobody knows which turn
    turning = fields.count("qk_rope_head_dim")
    if turning:  # latent attention: the last dimensions turn
        resting = fields.count("qk_nope_head_dim", least=0)
        width = width_of_head(kind) if resting is None else turning + resting
        first = resting if kind.entry.code else None
    else:
        width = width_of_head(kind)
        if not (rope.value(SHARE) or fields.has(SHARE)):
            turning = fields.count("rotary_dim", most=width or math.inf)
        if width and not turning:
            share = rope.number(SHARE, most=1) or fields.number(SHARE, most=1) or 1.0
            turning = int(width * share)
    first = 0 if width and turning == width else first
    return {"head_dim": width, "rotated": turning, "first": first}


def width_of_head(kind: Kind) -> int | None:
    """Return the width of a query or key."""
    fields = kind.fields
    for name in (WORDS["width_of_kind"].get(kind.name, ""), "head_dim"):
        if fields.value(name) is not None:
            return fields.count(name)
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    return hidden // heads if hidden and heads else None


def details(kind: Kind) -> Facts:
    """Return pairs, norms, and what yarn multiplies scores by."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    facts: Facts = {"pairing": entry.pairing}
    interleaved = fields.flag("rope_interleave")
    if interleaved is not None:
        facts["pairing"] = "neighbors" if interleaved else "halves"
    if not entry.norm_if or fields.flag(entry.norm_if):
        facts["norm"] = entry.norm
    # DeepSeek's code multiplies scores by the square of YaRN's factor for `mscale_all_dim`.
    factor, depth = rope.number("factor") or 1.0, rope.number("mscale_all_dim")
    if depth and factor > 1 and (entry.mscale or not entry.code):
        facts["score_factor"] = (0.1 * depth * math.log(factor) + 1) ** 2
    return facts


def axes(kind: Kind, rotated: int | None) -> Facts:
    """Return how many pairs each axis turns (time, height, width), and in which order."""
    rope, entry = kind.rope, kind.entry
    sections = rope.integers("mrope_section") or entry.sections
    if not sections:
        return {}
    # Nothing is wrong with sections of a head whose width the file doesn't say.
    if rotated is not None and 2 * sum(sections) != rotated:
        kind.fields.problems.append(
            f"mrope_section sums to {sum(sections)}, but {rotated} dimensions turn"
        )
    interleaved = rope.flag("mrope_interleaved") or entry.axes == "interleaved"
    order = "interleaved" if interleaved else "in sections"
    return {"sections": tuple(sections), "axes": order if entry.code else None}


# ---------------------------------------------------------------- scalings


def stretched(kind: Kind, facts: Facts) -> tuple[Lengths, Facts]:
    """Return the lengths that a scaling is for, and what it makes of the frequencies."""
    # By which frequencies images turn along their axes, only their code knows.
    sizes = map(kind.fields.has, WORDS["sizes_of_images"])
    name = kind.rope.text("rope_type") or "default"
    if kind.entry.axes == "image" or any(sizes):
        return UNSTRETCHED, {"scaling": "default"}
    scaling = find_scaling(name)
    if scaling is None:
        place = kind.rope.place("rope_type")
        kind.fields.problems.append(f"{place} {name[:40]!a} isn't known here")
        return UNSTRETCHED, {"scaling": name[:40]}
    limit = kind.fields.count(LIMIT)
    settings = settings_of(kind, scaling, limit)
    if scaling.name in ("yarn", "longrope", "llama3"):
        note_contradictions(kind, settings, limit)
    facts = facts | {"scaling": scaling.name}
    # What was no number to `details` is told, and would be told again.
    if any(kind.rope.has(name) and kind.rope.number(name) is None for name in NUMBERS):
        return UNSTRETCHED, facts
    # `posenc.scaling` checks what the file gives; powers of odd numbers overflow.
    try:
        lengths = scaling.lengths(settings, limit)
        return lengths, facts | frequencies(facts, settings, limit, lengths)
    except (ArithmeticError, TypeError, ValueError) as error:
        kind.fields.problems.append(f"{kind.rope.path[:-1]}: {error}"[:200])
        return UNSTRETCHED, facts


def settings_of(kind: Kind, scaling: Scaling, limit: int | None) -> Settings:
    """Return the fields of a scaling that the file gives; its rule checks them."""
    given = {name: kind.rope.value(name) for name in scaling.fields}
    if ORIGINAL in given:  # transformers prefers the field outside
        outside, inside = kind.fields.count(ORIGINAL), kind.rope.count(ORIGINAL)
        given[ORIGINAL] = outside or inside or limit
    given["rope_type"] = scaling.name
    return {name: value for name, value in given.items() if value is not None}


def lengths_said(described: Described) -> Lengths:
    """Return the lengths of a stretched kind by its file alone, without its class."""
    fields, rope = described.kind.fields, described.kind.rope
    kind = replace(
        described.kind, fields=Fields(fields.content), rope=Fields(rope.content)
    )
    limit = kind.fields.count(LIMIT)
    scaling = SCALINGS[described.layers.scaling or "default"]
    return scaling.lengths(settings_of(kind, scaling, limit), limit)


def note_contradictions(kind: Kind, settings: Settings, limit: int | None) -> None:
    """Note where the fields of a scaling contradict each other."""
    rope, path, problems = kind.rope, kind.rope.path[:-1], kind.fields.problems
    new, old = rope.content.get("rope_type"), rope.content.get("type")
    if new and old and new != old:
        problems.append(
            f"{path} has rope_type {new!a:.50} for new programs, "
            f"type {old!a:.50} for old"
        )
    if limit and not (rope.value(ORIGINAL) or kind.fields.has(ORIGINAL)):
        problems.append(
            f"{path} has no {ORIGINAL}: transformers falls back to {LIMIT}, {limit}, "
            "right if that is the length before scaling"
        )
    start, factor = settings.get(ORIGINAL), rope.number("factor")
    # Some files give the trained length in both fields, which says nothing of a ratio.
    ratio = limit / start if limit and start else 1
    if factor and ratio not in (1, factor) and settings["rope_type"] != "llama3":
        problems.append(
            f"the factor is {factor:g}, but {limit} / {start} is {ratio:g}: "
            "the factor takes precedence"
        )


def frequencies(
    facts: Facts, settings: Settings, limit: int | None, lengths: Lengths
) -> Facts:
    """Return frequencies and factors, up to the length before scaling and beyond it."""
    width, rotated = facts["head_dim"], facts["rotated"]
    if not facts["base"] or not width or max(width, rotated) > WIDEST:
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
    later, later_factor = compute(seq_len=max(lengths[1] or 0, (lengths[0] or 0) + 1))
    return {
        "frequencies": tuple(omega.tolist()),
        "frequencies_beyond": tuple(later.tolist()) if (omega != later).any() else None,
        "attention_factor": factor,
        "attention_factor_beyond": later_factor if later_factor != factor else None,
    }
