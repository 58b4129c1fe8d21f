"""How queries and keys turn in one kind of layer: validate what is needed, then compute."""

from __future__ import annotations

import math
from typing import Any

from posenc.config.fields import WIDEST, Fields, is_number
from posenc.config.kinds import ALL, FULL, SLIDING, Kind
from posenc.layers import NOWHERE, ROTARY, UNSAID
from posenc.scaling import ORIGINAL, Scaling, Setting, find_scaling

SHARE, LIMIT = "partial_rotary_factor", "max_position_embeddings"
# Names of scalings in other programs.
OTHER_NAMES = {"deepseek_yarn": "yarn"}
# Fields of a width for one kind of layer alone.
WIDTHS = {SLIDING: "swa_head_dim", FULL: "global_head_dim"}
SIZES_OF_IMAGES = ("patch_size", "image_size", "spatial_merge_size", "num_mel_bins")

Facts = dict[str, Any]  # arguments of `Layers`


def describe(kind: Kind) -> Facts:
    """Return what is known of a kind of layer."""
    fields, entry, where = kind.fields, kind.entry, kind.where or ""
    facts: Facts = {"name": kind.name, "where": kind.where}
    if (kind.name, where) == (ALL, NOWHERE):
        facts["name"] = "layers without rotation"
    if kind.indices:
        facts |= {"indices": kind.indices, "count": len(kind.indices)}
    if "tables" in entry and (where == ROTARY or "table" in where):
        facts["table"] = tables(fields, entry["tables"])
    facts["window"] = window(kind)
    if "chunk" in kind.name:
        facts["chunk"] = fields.count("attention_chunk_size")
    if where == ROTARY:
        facts["base"] = base(kind)
        facts |= widths(kind)
        facts |= frequencies(kind, facts)
        facts |= details(kind, facts)
        facts |= axes(kind, (facts["rotated"] or 0) // 2)
    return facts


def tables(fields: Fields, described: dict[str, list[Any]]) -> str:
    """Return what the input gets from tables, by their names in the code, and their rows."""
    parts = []
    for name, (learned_or_fixed, rows_field, more) in described.items():
        rows = fields.count(rows_field) or rows_field or UNSAID
        added = f" + {more}" if more else ""
        parts.append(f"{name}: {learned_or_fixed}, rows: {rows}{added}")
    return "; ".join(parts)


def window(kind: Kind) -> int | None:
    """Return how many keys a query sees, if its layer has a window."""
    fields, entry = kind.fields, kind.entry
    used = fields.flag("use_sliding_window")
    if used and entry and "window_from" not in entry:
        fields.problems.append("which layers have a window isn't known here")
        return None
    size = fields.count("sliding_window", least=0) if entry.get("window", 1) else None
    everywhere = kind.name == ALL and used is not False
    return size or None if everywhere or "sliding" in kind.name else None


def base(kind: Kind) -> float | None:
    """Return the base, and leave a scaling away from layers that it doesn't reach."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    inside, outside = rope.number("rope_theta"), fields.number("rope_theta")
    local = fields.number("rope_local_base_freq")
    usual_local = [SLIDING] if local and not entry else []
    if not kind.nested and kind.name in entry.get("local", usual_local):
        if not entry.get("local_scaled"):
            kind.rope = Fields({SHARE: rope.value(SHARE)}, rope.path)
        unclear = fields.spelling("rope_local_base_freq")
        return local or (None if unclear else entry.get("local_base"))
    if inside and outside and inside != outside and fields.has("rope_theta"):
        fields.problems.append(
            f"{fields.place('rope_theta')} is {outside:g} outside {rope.path[:-1]}, "
            f"{inside:g} inside, which takes precedence"
        )
    if inside or outside:
        return inside or outside
    if fields.is_null("rope_theta"):
        fields.problems.append(
            f"{fields.place('rope_theta')} is null: no base is known"
        )
    unclear = fields.spelling("rope_theta") or rope.spelling("rope_theta")
    return None if unclear else entry.get("base")


def widths(kind: Kind) -> Facts:
    """Return the width of a head, how many of its dimensions turn, and the first one."""
    fields, rope, entry = kind.fields, kind.rope, kind.entry
    width = fields.count(WIDTHS.get(kind.name, "head_dim"), most=WIDEST)
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
    if width is not None and not 0 < width <= WIDEST:
        fields.problems.append(
            f"heads of width {width}, by hidden_size and their number"
        )
        width = None
    share = rope.number(SHARE, most=1) or fields.number(SHARE, most=1)
    if entry and "share" not in entry and share not in (None, 1):
        code = entry["source"].split(",")[0]
        fields.problems.append(f"{code} ignores {SHARE}; other programs may not")
        share = None
    rotated = None if share else fields.count("rotary_dim", most=width or WIDEST)
    if width is None:
        return {"head_dim": None, "rotated": rotated}
    rotated = rotated or int(width * (share or entry.get("share", 1.0)))
    first = 0 if entry or rotated == width else None
    return {"head_dim": width, "rotated": rotated, "first": first}


def frequencies(kind: Kind, facts: Facts) -> Facts:
    """Return the scaling, and the frequencies and factors that it gives."""
    fields, rope = kind.fields, kind.rope
    name = rope.text("rope_type") or "default"
    if is_of_images(kind) or name == "axial":  # along axes, as only the code says
        return {"scaling": "default"}
    scaling = find_scaling(OTHER_NAMES.get(name, name))
    if scaling is None:
        fields.problems.append(
            f"{rope.place('rope_type')} {name[:40]!a} isn't known here"
        )
        return {"scaling": name[:40]}
    settings = scaling_fields(kind, scaling)
    kind.lengths = scaling.lengths(settings, fields.count(LIMIT))
    found: Facts = {"scaling": scaling.name}
    width = facts["rotated"]
    if scaling.name == "proportional" and width:
        settings[SHARE] = width / facts["head_dim"]
        width = facts["head_dim"]
    if facts["base"] is None or not facts["head_dim"]:
        return found
    if width % 2 or not width:
        fields.problems.append(f"{width} dimensions turn: pairs need an even number")
        return found
    try:
        return found | computed(scaling, facts["base"], width, settings, kind)
    except (ArithmeticError, TypeError, ValueError) as error:
        fields.problems.append(f"{rope.path[:-1]}: {error}"[:200])
        return found


def computed(
    scaling: Scaling, base: float, width: int, settings: Facts, kind: Kind
) -> Facts:
    """Return frequencies and factors, up to the length before scaling and beyond it."""
    start, intended = kind.lengths
    beyond = {"longrope": (start or 0) + 1, "dynamic": start and intended}
    found: Facts = {}
    limit = kind.fields.count(LIMIT)
    for suffix, length in ("", None), ("_beyond", beyond.get(scaling.name)):
        setting = Setting(base, width, settings, limit, length)
        omega, factor = scaling.rule(setting)
        found["frequencies" + suffix] = tuple(omega.tolist())
        found["attention_factor" + suffix] = factor
    for name in "frequencies", "attention_factor":
        if found[name] == found[f"{name}_beyond"]:
            del found[f"{name}_beyond"]
    return found


def is_of_images(kind: Kind) -> bool:
    """Whether a model turns along the axes of images, which only its code knows."""
    if kind.entry:
        return bool(kind.entry.get("axes") == "image")
    return any(map(kind.fields.has, SIZES_OF_IMAGES))


def scaling_fields(kind: Kind, scaling: Scaling) -> Facts:
    """Return the fields of a scaling that the file gives, checked."""
    rope = kind.rope
    found: Facts = {}
    for name in sorted(scaling.fields):
        if name in ("short_factor", "long_factor"):
            found[name] = rope.items(name, is_number)
        elif name == "truncate":
            found[name] = rope.flag(name)
        elif name == ORIGINAL:
            found[name] = length_before_scaling(kind.fields, rope)
        else:
            found[name] = rope.number(name, least=0)
    if found.get("alpha"):  # Hunyuan's files have fields of yarn beside it
        found["factor"] = found["factor"] or 1.0
        rope.asked.update(rope.content)
    return {name: value for name, value in found.items() if value is not None}


def length_before_scaling(fields: Fields, rope: Fields) -> int | None:
    """Return the length that a scaling starts from: transformers prefers the field outside."""
    inside = rope.count(ORIGINAL, least=2)
    if inside and not fields.has(ORIGINAL):
        return inside
    names = (ORIGINAL, "initial_context_length", LIMIT)
    return next(filter(None, map(fields.count, names)), None)


def details(kind: Kind, facts: Facts) -> Facts:
    """Return pairs, norms and multipliers of scores."""
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
    found["score_scale"] = score_scale(fields, entry.get("scale"), width)
    factor = rope.number("factor", least=0) or 1.0
    depth = rope.number("mscale_all_dim", least=0)
    scales = facts["scaling"] == "yarn" and entry.get("mscale", not entry)
    if scales and depth and factor > 1:
        found["score_factor"] = (0.1 * depth * math.log(factor) + 1) ** 2
    return found


def score_scale(fields: Fields, rule: float | str | None, width: int) -> float | None:
    """Return the multiplier of scores: a number, a field, or 1 / √ of one."""
    if not isinstance(rule, str):
        return rule
    if rule == "attention_multiplier":
        return fields.number(rule)
    value = width if rule == "head_dim" else fields.number(rule)
    return value**-0.5 if value else None


def axes(kind: Kind, pairs: int) -> Facts:
    """Return how many pairs each axis turns (time, height, width), and which."""
    usual = kind.entry.get("sections", ())
    said = kind.rope.items("mrope_section", is_number)
    sections = [int(n) for n in said or (usual if sum(usual) == pairs else ())]
    if not sections:
        return {}
    found: Facts = {"sections": tuple(sections)}
    if sum(sections) != pairs or min(sections) < 0:
        kind.fields.problems.append(
            f"mrope_section sums to {sum(sections)}, but {pairs} pairs turn"
        )
    elif kind.rope.flag("mrope_interleaved") or kind.entry.get("axes") == "interleaved":
        n = len(sections)  # the axes take turns until one has its share, as in Qwen3-VL
        found["axes"] = tuple(
            i % n if i < n * sections[i % n] else 0 for i in range(pairs)
        )
    elif kind.entry:
        found["axes"] = tuple(
            axis for axis, section in enumerate(sections) for _ in range(section)
        )
    if not kind.entry:
        found.pop("axes", None)
    return found
