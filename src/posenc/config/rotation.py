"""How queries and keys turn in one kind of layer.

`describe` returns what it finds, and changes nothing but two notes that a file's `Fields` keep:
`problems`, to which every function here may append, and `asked`, by which unread fields are told.
"""

import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from posenc.config.fields import WIDEST, WORDS, Entry, Fields
from posenc.config.kinds import ALL, SLIDING, Kind
from posenc.layers import NOWHERE, ROTARY, Layers
from posenc.scaling import ORIGINAL, Scaling, Setting, find_scaling

SHARE, LIMIT = "partial_rotary_factor", "max_position_embeddings"
Facts = dict[str, Any]  # arguments of `Layers`
Lengths = tuple[int | None, int | None]  # before scaling, and what the scaling is for


class Stretch(NamedTuple):
    """A scaling, as a file sets it."""

    scaling: Scaling
    settings: Facts
    lengths: Lengths


class Described(NamedTuple):
    """What is known of a kind of layer."""

    kind: Kind  # its `rope` is the mapping that these layers follow
    layers: Layers
    lengths: Lengths = (None, None)


def describe(kind: Kind) -> Described:
    """Return what is known of a kind of layer."""
    facts = facts_without_rotation(kind)
    if kind.where != ROTARY:
        return Described(kind, Layers(**facts))
    local = is_local(kind)
    if local and "local_scaled" not in kind.entry:
        kind = without_scaling(kind)
    # Each step needs facts of those before it, and problems are told in this order.
    facts["base"] = local_base(kind) if local else base(kind)
    facts |= widths(kind)
    facts["scaling"], scaling = scaling_of(kind)
    lengths: Lengths = (None, None)
    if scaling:
        settings = scaling_fields(kind, scaling)
        lengths = scaling.lengths(settings, kind.fields.count(LIMIT))
        facts |= frequencies(kind, facts, Stretch(scaling, settings, lengths))
    facts |= details(kind, facts)
    facts |= axes(kind, (facts["rotated"] or 0) // 2)
    return Described(kind, Layers(**facts), lengths)


def facts_without_rotation(kind: Kind) -> Facts:
    """Return the name of a kind, its layers, and what limits or precedes attention."""
    entry, where = kind.entry, kind.where or ""
    facts: Facts = {
        "name": kind.name,
        "where": kind.where,
        "window": window(kind),
    }
    if (kind.name, where) == (ALL, NOWHERE):
        facts["name"] = "layers without rotation"
    if kind.indices:
        facts |= {"indices": kind.indices, "count": len(kind.indices)}
    if "table" in entry and ("table" in where or entry["where"] == "rotary"):
        facts["table"] = table(kind.fields, entry)
    if "chunk" in kind.name:
        facts["chunk"] = kind.fields.count("attention_chunk_size")
    return facts


def without_scaling(kind: Kind) -> Kind:
    """Return a kind that takes the share from its mapping alone, as local layers do."""
    rope = Fields({SHARE: kind.rope.value(SHARE)}, kind.rope.path)
    rope.problems = kind.rope.problems  # one list for a whole file
    return replace(kind, rope=rope)


def table(fields: Fields, entry: Entry) -> str:
    """Return what the input gets from tables, by their names in the code, and their rows."""

    def rows(field: re.Match[str]) -> str:
        return str(fields.count(field[1]) or field[1])

    return re.sub(r"\{(\w+)\}", rows, entry["table"])


def window(kind: Kind) -> int | None:
    """Return how many keys a query sees, if its layer has a window."""
    fields, entry = kind.fields, kind.entry
    used = fields.flag("use_sliding_window")
    if used and entry and "window_from" not in entry:
        fields.problems.append("which layers have a window isn't known here")
        return None
    if used is not False and entry and "window" not in entry:
        return None  # the code doesn't read it; it is named, as nobody asked for it
    size = fields.count("sliding_window", least=0) or None
    has_one = "sliding" in kind.name or (kind.name == ALL and used is not False)
    return size if has_one else None


def is_local(kind: Kind) -> bool:
    """Whether a kind of layer has a base of its own, beside a mapping for all layers."""
    local = kind.entry.get("local", [])
    if not kind.entry and kind.fields.has("rope_local_base_freq"):
        local = [SLIDING]  # as in Gemma 3, whose field that is
    return not kind.nested and kind.name in local


def local_base(kind: Kind) -> float | None:
    """Return the base of layers with a base of their own."""
    fields = kind.fields
    usual = kind.entry.get("local_base")
    # A base that is null, or can't be read, isn't the usual one.
    unclear = fields.spelling("rope_local_base_freq")
    return fields.number("rope_local_base_freq", 1e-9) or (None if unclear else usual)


def base(kind: Kind) -> float | None:
    """Return the base: in the mapping of the rotation, outside it, or the class's."""
    fields, rope = kind.fields, kind.rope
    inside = rope.number("rope_theta", 1e-9)
    outside = fields.number("rope_theta", 1e-9)
    place = fields.place("rope_theta")
    if inside and outside and inside != outside and fields.has("rope_theta"):
        mapping = rope.path[:-1]
        words = (
            f"{outside:g} outside {mapping}, {inside:g} inside, which takes precedence"
        )
        fields.problems.append(f"{place} is {words}")
    if fields.is_null("rope_theta") and not inside:
        fields.problems.append(f"{place} is null: no base is known")
    unclear = fields.spelling("rope_theta") or rope.spelling("rope_theta")
    return inside or outside or (None if unclear else kind.entry.get("base"))


def widths(kind: Kind) -> Facts:
    """Return the width of a head, how many of its dimensions turn, and the first one."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    width_of_kind = WORDS["width_of_kind"].get(kind.name, "head_dim")
    width = fields.count(width_of_kind, most=WIDEST)
    width = width or fields.count("head_dim", most=WIDEST)
    turning = fields.count("qk_rope_head_dim", most=WIDEST)
    resting = fields.count("qk_nope_head_dim", least=0, most=WIDEST)
    if turning:  # latent attention: the last dimensions turn
        width = width if resting is None else turning + resting
        first = resting if entry else None
        return {"head_dim": width, "rotated": turning, "first": first}
    hidden, heads = fields.count("hidden_size"), fields.count("num_attention_heads")
    if width is None and hidden and heads and not fields.has("head_dim"):
        width = hidden // heads
        if not 0 < width <= WIDEST:
            fields.problems.append(f"hidden_size and heads give width {width}")
            width = None
    share = rope.number(SHARE, most=1)
    share = share or fields.number(SHARE, most=1)
    rotated = None if share else fields.count("rotary_dim", most=width or WIDEST)
    if width is None:
        return {"head_dim": None, "rotated": rotated}
    rotated = rotated or int(width * (share or entry.get("share", 1.0)))
    first = 0 if entry or rotated == width else None
    return {"head_dim": width, "rotated": rotated, "first": first}


def scaling_of(kind: Kind) -> tuple[str, Scaling | None]:
    """Return the name of the scaling, and its rule if it is known here."""
    name = kind.rope.text("rope_type") or "default"
    if is_of_images(kind) or name == "axial":  # along axes, as only the code says
        return "default", None
    scaling = find_scaling(WORDS["scalings"].get(name, name))
    if scaling is None:
        place = kind.rope.place("rope_type")
        kind.fields.problems.append(f"{place} {name[:40]!a} isn't known here")
        return name[:40], None
    return scaling.name, scaling


def frequencies(kind: Kind, facts: Facts, stretch: Stretch) -> Facts:
    """Return the frequencies and factors that a scaling gives, if enough is known."""
    problems, base, width = kind.fields.problems, facts["base"], facts["rotated"]
    settings = stretch.settings
    if not base or not facts["head_dim"]:
        return {}
    if stretch.scaling.name == "proportional":  # it spreads over the whole head
        settings = settings | {SHARE: width / facts["head_dim"]}
        width = facts["head_dim"]
    if width % 2 or not width:
        problems.append(f"{width} dimensions turn: pairs need an even number")
        return {}
    setting = Setting(base, width, settings, kind.fields.count(LIMIT), None)
    try:
        return computed(setting, stretch)
    except (ArithmeticError, TypeError, ValueError) as error:
        problems.append(f"{kind.rope.path[:-1]}: {error}"[:200])
        return {}


def computed(setting: Setting, stretch: Stretch) -> Facts:
    """Return frequencies and factors, up to the length before scaling and beyond it."""
    scaling, (start, intended) = stretch.scaling, stretch.lengths
    # The length of a text for which two scalings compute other frequencies.
    longer = {
        "longrope": (start or 0) + 1,
        "dynamic": start and intended,
    }
    found: Facts = {}
    for suffix, length in ("", None), ("_beyond", longer.get(scaling.name)):
        omega, factor = scaling.rule(replace(setting, seq_len=length))
        found[f"frequencies{suffix}"] = tuple(omega.tolist())
        found[f"attention_factor{suffix}"] = factor
    for name in "frequencies", "attention_factor":
        if found[name] == found[f"{name}_beyond"]:
            found[f"{name}_beyond"] = None
    return found


def is_of_images(kind: Kind) -> bool:
    """Whether a model turns along the axes of images, which only its code knows."""
    if kind.entry.get("where") == "rotary":
        return bool(kind.entry.get("axes") == "image")
    return any(map(kind.fields.has, WORDS["sizes_of_images"]))


def scaling_fields(kind: Kind, scaling: Scaling) -> Facts:
    """Return the fields of a scaling that the file gives, checked."""
    rope = kind.rope
    found: Facts = {}
    for name in sorted(scaling.fields):
        if name in ("short_factor", "long_factor"):
            found[name] = rope.items(name, int, float)
        elif name == "truncate":
            found[name] = rope.flag(name)
        elif name == ORIGINAL:
            found[name] = length_before_scaling(kind.fields, rope)
        else:
            found[name] = rope.number(name)
    if found.get("alpha"):  # Hunyuan's files have fields of yarn beside it
        found["factor"] = found["factor"] or 1.0
        rope.asked.update(rope.content)
    missing = [name for name, value in found.items() if value in (None, [])]
    for name in missing:
        del found[name]
    return found


def length_before_scaling(fields: Fields, rope: Fields) -> int | None:
    """Return the length that a scaling starts from: transformers prefers the field outside."""
    inside = rope.count(ORIGINAL)
    if inside and not fields.has(ORIGINAL):
        return inside
    names = (ORIGINAL, "initial_context_length", LIMIT)
    return next(filter(None, map(fields.count, names)), None)


def details(kind: Kind, facts: Facts) -> Facts:
    """Return pairs, norms, the layout in words, and multipliers of scores."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    width, rotated, first = facts["head_dim"], facts["rotated"], facts.get("first")
    found: Facts = {"pairing": entry.get("pairing")}
    interleaved = fields.flag("rope_interleave")
    if interleaved is not None:
        found["pairing"] = "neighbors" if interleaved else "halves"
    if "norm_if" not in entry or fields.flag(entry["norm_if"]):
        found["norm"] = entry.get("norm")
    if width is None:
        return found
    found["layout"] = f"{rotated} of {width}"
    if facts["scaling"] == "proportional":
        found["layout"] += ", at frequencies of the whole head"
        found["rotated"] = 2 * (rotated // 2)
    elif rotated == width:
        found["layout"] = f"the whole head, {width}"
    elif first is not None:
        found["layout"] += f", from {first} on"
    # A number, a field whose value is the multiplier, or one whose root divides.
    scale = entry.get("scale")
    if scale == "attention_multiplier":
        scale = fields.number(scale)
    elif isinstance(scale, str):
        divisor = width if scale == "head_dim" else fields.number(scale)
        scale = divisor**-0.5 if divisor else None
    found["score_scale"] = scale
    factor, depth = rope.number("factor") or 1.0, rope.number("mscale_all_dim")
    scales = facts["scaling"] == "yarn" and entry.get("mscale", not entry)
    if scales and depth and factor > 1:
        found["score_factor"] = (0.1 * depth * math.log(factor) + 1) ** 2
    return found


def axes(kind: Kind, pairs: int) -> Facts:
    """Return how many pairs each axis turns (time, height, width), and which."""
    entry, usual = kind.entry, kind.entry.get("sections", [])
    said: list[int] = kind.rope.items("mrope_section", int)
    sections = said or (usual if sum(usual) == pairs else [])
    if not sections:
        return {}
    found: Facts = {"sections": tuple(sections)}
    n = len(sections)
    if sum(sections) != pairs or min(sections) < 0:
        words = f"mrope_section sums to {sum(sections)}, but {pairs} pairs turn"
        kind.fields.problems.append(words)
    elif not entry:
        pass  # the order of the axes is the code's
    elif kind.rope.flag("mrope_interleaved") or entry.get("axes") == "interleaved":
        # The axes take turns until one has its share, as in Qwen3-VL.
        in_turn = []
        for i in range(pairs):
            still_has = i < n * sections[i % n]
            in_turn.append(i % n if still_has else 0)
        found["axes"] = tuple(in_turn)
    else:
        places = np.repeat(np.arange(n), sections)
        found["axes"] = tuple(places.tolist())
    return found
