"""Step 2: check the fields of a rotation, and name what is wrong as the file spells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from posenc.config.fields import Fields, told
from posenc.config.normalize import SHARES, WIDTHS, Kind, Model
from posenc.scaling import ORIGINAL, SCALINGS, Scaling, find_scaling

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
MOST = 65_536  # dimensions of a head
NUMBERS = {"factor", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "alpha"}
NUMBERS |= {"attention_factor", "short_mscale", "long_mscale", "mixed_b"}


@dataclass
class Rotation:
    """What turns in one kind of layer, and how it is scaled; every value was checked."""

    head_dim: int | None
    rotated: int | None
    separate: bool  # the rotated part is a vector of its own, as in latent attention
    share: float
    scaling: Scaling
    fields: dict[str, Any] = field(default_factory=dict)
    sections: tuple[int, ...] | None = None
    interleaved: bool = False


def validate(model: Model, kind: Kind) -> Rotation:
    """Check one kind of layer; raise an error that names the field."""
    scaling = _scaling(kind)
    width, part = _widths(model, kind)
    rotated, share = _rotated(model, kind, scaling, width, part)
    found = Rotation(width, rotated, part is not None, share, scaling)
    found.fields = _fields(model, kind.rope, scaling, rotated)
    rope = kind.rope
    sections = rope.items("mrope_section", int, most=8) or rope.items("xdrope_section", int, most=8)
    if any(not 0 <= each <= MOST for each in sections):
        raise ValueError(
            f"{rope.path}mrope_section must hold counts of pairs, got {told(sections)}"
        )
    found.sections = tuple(sections) or None
    found.interleaved = bool(rope.flag("mrope_interleaved"))
    return found


def _scaling(kind: Kind) -> Scaling:
    named = kind.rope.get("rope_type"), kind.rope.get("type")
    name = named[0] if named[0] is not None else named[1]
    found = find_scaling("default" if name in (None, "axial") else name)
    if found is None:
        field_ = kind.rope.name("rope_type", "type")
        raise ValueError(f"{field_} must be one of {', '.join(SCALINGS)}, got {told(name)}")
    return found


def _widths(model: Model, kind: Kind) -> tuple[int | None, int | None]:
    """Return the width of a head, and of its separate rotary part, if there is one."""
    text, own = model.text, model.text.inside("per_layer_config")
    first = kind.indices[0] if kind.indices else 0
    for place in (f"{first}", f"{first:02d}"):
        if own and (inner := own.inside(place)):
            text = Fields({**text.values, **inner.values}, text.path, text.defaults)
    part, beside = text.count("qk_rope_head_dim", most=MOST), None
    if text.get("qk_nope_head_dim"):
        beside = text.count("qk_nope_head_dim", most=MOST)
    model.text.get(*WIDTHS, "qk_rope_head_dim", "qk_nope_head_dim", "hidden_size")
    if part and beside:
        return part + beside, part
    prefix = {"sliding_attention": "swa_", "full_attention": "global_"}.get(kind.name)
    width = text.count(f"{prefix}head_dim", most=MOST) if prefix else None
    width = width or text.count(*WIDTHS, most=MOST)
    hidden = text.count("embed_dim", "hidden_size", "n_embd", "d_model")
    heads = text.count(*HEADS)
    if width is None and hidden and heads:
        width = hidden // heads
        if not 1 <= width <= MOST:
            name = text.name("hidden_size", "n_embd", "d_model", "embed_dim")
            raise ValueError(f"{name} gives heads of width {width}: it must be 1 to {MOST}")
    return width, part


def _rotated(
    model: Model, kind: Kind, scaling: Scaling, width: int | None, part: int | None
) -> tuple[int | None, float]:
    """Return how many dimensions turn, and their share of the width."""
    text, rope = model.text, kind.rope
    turned = text.count("rotary_dim", most=MOST)
    where = rope if rope.has(*SHARES) else text
    share = where.number(*SHARES)
    if share is not None and not 0 < share <= 1:
        raise ValueError(f"{where.name(*SHARES)} must be above 0 and at most 1, got {share!r}")
    if share is None:
        shares = (model.code or {}).get("shares", {})
        share = shares.get(kind.name, shares.get(""))
    if part:
        return part, 1.0
    if width is None:
        return None, share or 1.0
    if share is None:
        share = turned / width if turned else 1.0
    if share > 1:
        raise ValueError(f"{text.path}rotary_dim must be at most the head's {width}, got {turned}")
    if scaling.name == "proportional":
        return width, share
    if not (rotated := int(width * share)):
        raise ValueError(f"{where.name(*SHARES)} leaves no dimension of {width}, got {share!r}")
    return rotated, share


def _fields(model: Model, rope: Fields, scaling: Scaling, rotated: int | None) -> dict[str, Any]:
    """Return a scaling's fields as `posenc.rotary_frequencies` takes them."""
    found: dict[str, Any] = {"rope_type": scaling.name}
    for name in sorted(scaling.fields):
        value: Any
        if name in NUMBERS:
            value = rope.number(name, least=1) if name == "factor" else rope.positive(name)
        elif name in ("mscale", "mscale_all_dim"):
            value = rope.number(name, least=0)
        elif name == ORIGINAL:
            value = rope.number(name, least=2) and rope.count(name)
        elif name == "truncate":
            value = rope.flag(name)
        else:
            value = rope.items(name, float | int, most=MOST) or None  # type: ignore[arg-type]
            if value and rotated and len(value) != rotated // 2:
                raise ValueError(
                    f"{rope.path}{name} must have a number for each of the {rotated // 2} pairs, "
                    f"got a list of {len(value)}"
                )
            if value and not all(0 < each < 1e18 for each in value):
                raise ValueError(f"{rope.path}{name} must hold positive numbers")
        if value is not None:
            found[name] = value
    outside = model.text.number(ORIGINAL, least=2)
    if ORIGINAL in scaling.fields:
        if outside is not None:
            found[ORIGINAL] = int(outside)
        elif model.limit and model.limit > 1:
            found.setdefault(ORIGINAL, model.limit)
    if "alpha" in found:  # Hunyuan's files have factor 1 beside it
        found.setdefault("factor", 1.0)
    required = scaling.required
    if ORIGINAL in scaling.fields and (model.limit or 0) < 2:
        required |= {"factor", ORIGINAL}
    if missing := sorted(required - found.keys()):
        raise ValueError(f"{rope.path}{missing[0]} is missing: type {scaling.name!r} needs it")
    return found
