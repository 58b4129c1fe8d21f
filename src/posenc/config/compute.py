"""Step 3: compute what runs in each kind of layer."""

from __future__ import annotations

import math
import re
from typing import Any

from posenc.config.fields import LEAST
from posenc.config.found import ROTARY, Layers
from posenc.config.normalize import BASES, Kind, Model
from posenc.rotary import rotary_frequencies
from posenc.scaling import ORIGINAL

SHARED = ("name", "indices", "where", "base", "window", "chunk", "head_dim", "rotated", "sections")


def compute(model: Model, kind: Kind) -> Layers:
    """Return what runs in one kind of layer."""
    code, width, rotated, scaling = model.code, kind.head_dim, kind.rotated, kind.scaling
    found = {name: value for name, value in vars(kind).items() if name in SHARED}
    found["count"] = kind.indices and len(kind.indices)
    if kind.where != ROTARY:
        return Layers(**found)
    found["scaling"] = scaling.name
    found["norm"] = code.get("norm")
    if "normed" in code:  # a switch of the file
        name, default = code["normed"]
        on = model.text.flag(name) if model.text.has(name) else default
        found["norm"] = code.get("norm", "before") if on else None
    interleaved, decided = model.text.flag("rope_interleave"), code.get("pairing")
    said = {True: "neighbors", False: "halves", None: decided}[interleaved]
    found["pairing"] = said if decided in (None, "field") else decided
    if width is None or rotated is None:
        return Layers(**found)
    words = f"the whole head, {width}"
    found["first"] = code.get("first", width - rotated) if kind.separate else 0
    if scaling.name == "proportional":
        found["rotated"] = 2 * int(kind.share * width // 2)
        words = f"{found['rotated']} of {width}, at frequencies of the whole head"
    elif rotated < width:
        words = f"{rotated} of {width}, from {found['first']} on"
    found["layout"] = words
    rule: Any = code.get("scale")
    if isinstance(rule, str):
        value = width if rule == "head_dim" else model.text.number(rule, least=LEAST)
        rule = value if rule == "attention_multiplier" else value and value**-0.5
    found["score_scale"] = rule
    if kind.sections and sum(kind.sections) == rotated // 2:
        found["axes"] = _axes(kind, code)
    if kind.base is None or rotated % 2 or kind.axial:
        return Layers(**found)
    limit, fields = model.limit, {**kind.fields, "rope_theta": kind.base}
    if scaling.name == "proportional":
        fields["partial_rotary_factor"] = kind.share

    def computed(seq_len: int | None) -> tuple[tuple[float, ...], float]:
        lengths = {"max_position_embeddings": limit, "seq_len": seq_len}
        try:
            omega, factor = rotary_frequencies(rotated, scaling=fields, **lengths)
        except (TypeError, ValueError, OverflowError) as error:
            text, rope = model.text, kind.rope
            base = rope.name("rope_theta") if rope.has("rope_theta") else text.name(*BASES)
            words = re.sub(r"scaling\['(\w+)'\]", rf"{rope.path}\1", str(error))
            words = re.sub(
                "^base|^scaling", lambda at: base if at[0] == "base" else rope.path[:-1], words
            )
            raise ValueError(re.sub(r", got \[.*", "", words)) from None
        return tuple(omega.tolist()), factor

    found["frequencies"], found["attention_factor"] = computed(None)
    longer = fields[ORIGINAL] + 1 if scaling.name == "longrope" else None
    if scaling.name == "dynamic" and limit and "alpha" not in fields:
        longer = int(limit * fields["factor"])
    if longer:
        beyond, factor = computed(longer)
        found["frequencies_beyond"] = beyond if beyond != found["frequencies"] else None
        if factor != found["attention_factor"]:
            found["attention_factor_beyond"] = factor
    depth, stretch = fields.get("mscale_all_dim"), fields.get("factor", 1.0)
    if scaling.name == "yarn" and depth and stretch > 1 and code.get("mscale", True):
        found["score_factor"] = (0.1 * depth * math.log(stretch) + 1) ** 2
    return Layers(**found)


def _axes(kind: Kind, code: Any) -> tuple[int, ...]:
    """Return the axis that turns each pair: in blocks, or taking turns as in Qwen3-VL."""
    sections = kind.sections or ()
    found = [axis for axis, count in enumerate(sections) for _ in range(count)]
    if kind.rope.flag("mrope_interleaved") or code.get("axes") == "interleaved":
        found = [0] * sum(sections)
        for axis, count in list(enumerate(sections))[1:]:
            for i in range(len(found))[axis : len(sections) * count : len(sections)]:
                found[i] = axis
    return tuple(found)
