"""Step 3: compute what runs in each kind of layer."""

from __future__ import annotations

import math
from typing import Any

from posenc.config.found import Layers
from posenc.config.normalize import Kind, Model
from posenc.config.validate import Rotation
from posenc.rotary import rotary_frequencies
from posenc.scaling import ORIGINAL


def compute(model: Model, kind: Kind, rotation: Rotation | None) -> Layers:
    """Return what runs in one kind of layer."""
    code = model.code or {}
    count = None if kind.indices is None else len(kind.indices)
    found: dict[str, Any] = {"count": count, "indices": kind.indices, "window": kind.window}
    found |= {"name": kind.name, "where": kind.where, "chunk": kind.chunk}
    if rotation is None:
        return Layers(**found)
    width, rotated = rotation.head_dim, rotation.rotated
    interleaved = model.text.flag("rope_interleave")
    pairing = None if interleaved is None else "neighbors" if interleaved else "halves"
    found |= {"head_dim": width, "rotated": rotated, "base": kind.base}
    decided = code.get("pairing")
    found["pairing"] = pairing if pairing and decided in (None, "field") else decided
    found |= {"scaling": rotation.scaling.name, "norm": code.get("norm")}
    found |= {"score_scale": _score_scale(model, width), "sections": rotation.sections}
    if width is None or rotated is None:
        return Layers(**found)
    found |= _layout(rotation, width, rotated, code)
    if rotation.sections and sum(rotation.sections) == rotated // 2:
        found["axes"] = _axes(rotation, code)
    if kind.base is None or rotated % 2 or along_axes(model, kind):
        return Layers(**found)
    limit, fields = model.limit, {**rotation.fields, "rope_theta": kind.base}
    if rotation.scaling.name == "proportional":
        fields["partial_rotary_factor"] = rotation.share

    def computed(seq_len: int | None) -> tuple[tuple[float, ...], float]:
        try:
            omega, factor = rotary_frequencies(
                rotated, scaling=fields, max_position_embeddings=limit, seq_len=seq_len
            )
        except (TypeError, ValueError, OverflowError) as error:
            words = str(error).replace("scaling['", kind.rope.path).replace("']", "")
            words = words.replace("base must", f"{kind.rope.path}rope_theta must")
            raise ValueError(words.replace("scaling ", f"{kind.rope.path[:-1]} ")) from None
        return tuple(omega.tolist()), factor

    found["frequencies"], found["attention_factor"] = computed(None)
    longer = None
    if rotation.scaling.name == "longrope":
        longer = fields[ORIGINAL] + 1
    elif rotation.scaling.name == "dynamic" and limit and "alpha" not in fields:
        longer = int(limit * fields["factor"])
    if longer:
        beyond, factor = computed(longer)
        found["frequencies_beyond"] = beyond if beyond != found["frequencies"] else None
        if factor != found["attention_factor"]:
            found["attention_factor_beyond"] = factor
    depth, stretch = fields.get("mscale_all_dim"), fields.get("factor", 1.0)
    if rotation.scaling.name == "yarn" and depth and stretch > 1 and code.get("mscale", True):
        found["score_factor"] = (0.1 * depth * math.log(stretch) + 1) ** 2
    return Layers(**found)


def along_axes(model: Model, kind: Kind) -> bool:
    """Whether pairs turn along the axes of an image, in ways of which the code decides."""
    return kind.rope.get("rope_type") == "axial" or (model.code or {}).get("axes") == "image"


def _layout(rotation: Rotation, width: int, rotated: int, code: Any) -> dict[str, Any]:
    """Return which dimensions turn, in numbers and in words."""
    if rotation.scaling.name == "proportional":
        pairs = int(rotation.share * width // 2)
        words = f"{pairs} of {width // 2} pairs, at frequencies of the whole head"
        return {"rotated": 2 * pairs, "first": 0, "layout": words}
    if rotation.separate and rotated < width:
        first = code.get("first", width - rotated)
        return {"first": first, "layout": f"{rotated} of {width} dimensions, a separate part"}
    last = code.get("turned") == "last"
    words = f"the {'last' if last else 'first'} {rotated} of {width}"
    return {
        "first": width - rotated if last else 0,
        "layout": words if rotated < width else f"the whole head, {width}",
    }


def _axes(rotation: Rotation, code: Any) -> tuple[int, ...]:
    """Return the axis that turns each pair: in blocks, or taking turns as in Qwen3-VL."""
    sections = rotation.sections or ()
    if not (rotation.interleaved or code.get("axes") == "interleaved"):
        return tuple(axis for axis, count in enumerate(sections) for _ in range(count))
    found = [0] * sum(sections)
    for axis, count in list(enumerate(sections))[1:]:
        for i in range(len(found))[axis : len(sections) * count : len(sections)]:
            found[i] = axis
    return tuple(found)


def _score_scale(model: Model, width: int | None) -> float | None:
    """Return what the code multiplies each score by."""
    rule = (model.code or {}).get("scale")
    if rule is None or isinstance(rule, float):
        return rule
    if rule == "head_dim":
        return None if width is None else float(width**-0.5)
    value = model.text.positive(rule)
    return float(value**-0.5) if value and rule == "query_pre_attn_scalar" else value
