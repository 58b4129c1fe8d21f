"""Step 2: check the fields of a rotation, and name what is wrong as the file spells it."""

from __future__ import annotations

from typing import Any

from posenc.config.fields import LEAST, Fields, told
from posenc.config.normalize import HEADS, HIDDEN, LATENT, SHARES, WIDTHS, Kind, Model
from posenc.scaling import ORIGINAL, SCALINGS, find_scaling

MOST = 65_536  # dimensions of a head
LENGTH = (ORIGINAL, "initial_context_length")  # outside the mapping; the second is gpt-oss's
LEASTS = {"factor": 1, "mscale": 0, "mscale_all_dim": 0}
PREFIXES = {"sliding_attention": "swa_", "full_attention": "global_"}


def validate(model: Model, kind: Kind) -> None:
    """Check one kind of layer; raise an error that names the field."""
    rope = kind.rope
    name = rope.get("rope_type", "type")
    scaling = find_scaling("default" if name in (None, "axial") else name)
    if scaling is None:
        named = rope.name("rope_type", "type")
        raise ValueError(f"{named} must be one of {', '.join(SCALINGS)}, got {told(name)}")
    kind.scaling = scaling
    _check_widths(model, kind)
    _check_share(model, kind)
    _check_scaling(model, kind)
    sections = rope.items("mrope_section", int, most=8) or rope.items("xdrope_section", int, most=8)
    if any(not 0 <= each <= MOST for each in sections):
        words = f"mrope_section must hold counts of pairs, got {told(sections)}"
        raise ValueError(f"{rope.path}{words}")
    if sum(said := model.code.get("sections", ())) == (kind.rotated or 0) // 2:
        sections = sections or said
    kind.sections = tuple(sections) or None


def _check_widths(model: Model, kind: Kind) -> None:
    """Find the width of a head, and whether its rotary part is separate."""
    text, own = model.text, model.text.inside("per_layer_config")
    first = kind.indices[0] if kind.indices else 0
    for place in (f"{first}", f"{first:02d}"):
        if inner := own.inside(place).values:
            text = Fields({**text.values, **inner}, text.path)
            text.defaults = model.text.defaults
    model.text.get(*WIDTHS, *LATENT, *HIDDEN)
    prefixed = f"{PREFIXES.get(kind.name, '')}head_dim"
    width = text.count(prefixed, most=MOST) or text.count(*WIDTHS, most=MOST)
    hidden, heads = text.count(*HIDDEN), text.count(*HEADS)
    if width is None and hidden and heads:
        width = hidden // heads
        if not 1 <= width <= MOST:
            words = f"gives heads of width {width}: it must be 1 to {MOST}"
            raise ValueError(f"{text.name(*HIDDEN)} {words}")
    if part := text.count(LATENT[0], most=MOST):
        rest = text.get(LATENT[1]) and text.count(LATENT[1], most=MOST)
        width = part + rest if rest else width
        kind.separate, kind.rotated = True, part
    kind.head_dim = width


def _check_share(model: Model, kind: Kind) -> None:
    """Find how many dimensions turn, and their share of the width."""
    text, rope, width = model.text, kind.rope, kind.head_dim
    turned = text.count("rotary_dim", most=MOST)
    where = rope if rope.has(*SHARES) else text
    share = where.number(*SHARES)
    text.get(*SHARES)
    if share is not None and not 0 < share <= 1:
        raise ValueError(f"{where.name(*SHARES)} must be above 0 and at most 1, got {share!r}")
    shares = model.code.get("shares", {})
    if share is None and not text.has("rotary_dim"):
        share = shares.get(kind.name, shares.get(""))
    if share is None and turned and width:
        share = turned / width
        if share > 1:
            raise ValueError(
                f"{text.path}rotary_dim must be at most the head's {width}, got {turned}"
            )
    if not kind.separate:
        kind.share = 1.0 if share is None else share
        kind.rotated = width
        if width and kind.scaling.name != "proportional":
            kind.rotated = int(width * kind.share)
            if not kind.rotated:
                words = f"leaves no dimension of {width}, got {share!r}"
                raise ValueError(f"{where.name(*SHARES)} {words}")


def _check_scaling(model: Model, kind: Kind) -> None:
    """Find a scaling's fields, as `posenc.rotary_frequencies` takes them."""
    rope, scaling, limit = kind.rope, kind.scaling, model.limit or 0
    found: dict[str, Any] = {"rope_type": scaling.name}
    value: Any
    for name in sorted(scaling.fields):
        if name == "truncate":
            value = rope.flag(name)
        elif name == ORIGINAL:
            value = rope.count(name, least=2)
        elif name in ("short_factor", "long_factor"):
            value = rope.items(name, float | int, most=MOST)
        else:
            value = rope.number(name, least=LEASTS.get(name, LEAST), most=1e9)
        found |= {} if value in (None, []) else {name: value}
    outside = model.text.count(*LENGTH, least=2)
    if ORIGINAL in scaling.fields:
        found |= {ORIGINAL: outside} if outside and model.text.has(ORIGINAL) else {}
        if inside := outside or (limit if limit > 1 else None):
            found.setdefault(ORIGINAL, inside)
    if "alpha" in found:  # Hunyuan's files have factor 1 beside it
        found.setdefault("factor", 1.0)
    needed = scaling.required
    needed |= {"factor", ORIGINAL} if ORIGINAL in scaling.fields and limit < 2 else set()
    if missing := sorted(needed - found.keys()):
        raise ValueError(f"{rope.path}{missing[0]} is missing: type {scaling.name!r} needs it")
    kind.fields = found
