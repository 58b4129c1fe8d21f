"""Step 2: check the fields of a rotation, and name what is wrong as the file spells it."""

from __future__ import annotations

from typing import Any

from posenc.config.fields import LEAST, Fields
from posenc.config.normalize import HEADS, HIDDEN, LATENT, ROTATED, SHARES, WIDTHS, Kind, Model
from posenc.scaling import ORIGINAL, SCALINGS, find_scaling

MOST = 65_536  # dimensions of a head
LENGTH = (ORIGINAL, "initial_context_length")  # outside the mapping; the second is gpt-oss's
LEASTS = {"factor": 1, "mscale": 0, "mscale_all_dim": 0}
PREFIXES = {"sliding_attention": "swa_", "full_attention": "global_"}


def validate(model: Model, kind: Kind) -> None:
    """Check one kind of layer; raise an error that names the field."""
    rope = kind.rope
    names = ("rope_type", "type")
    name = rope.get(*names)
    kind.scaling = find_scaling("default" if name in (None, "axial") else name)
    if kind.scaling is None:
        raise rope.wrong(names, f"be one of {', '.join(SCALINGS)}", name)
    kind.axial = name == "axial" or model.code.get("axes") == "image"
    _check_widths(model, kind)
    _check_share(model, kind)
    _check_scaling(model, kind)
    names = ("mrope_section", "xdrope_section")
    sections = [each for name in names for each in rope.items(name, int, most=8)]
    if any(not 0 <= each <= MOST for each in sections):
        raise rope.wrong(names, "hold counts of pairs", sections)
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
            raise text.wrong(HIDDEN, f"give heads of width 1 to {MOST}", hidden)
    if part := text.count(LATENT[0], most=MOST):
        rest = text.get(LATENT[1]) and text.count(LATENT[1], most=MOST)
        width = part + rest if rest else width
        kind.separate, kind.rotated = True, part
    kind.head_dim = width


def _check_share(model: Model, kind: Kind) -> None:
    """Find how many dimensions turn, and their share of the width."""
    text, rope, width = model.text, kind.rope, kind.head_dim
    where, shares = rope if rope.has(*SHARES) else text, model.code.get("shares", {})
    share, turned = where.number(*SHARES, least=LEAST, most=1), text.count(*ROTATED, most=MOST)
    text.get(*SHARES)
    if share is None and not text.has(*ROTATED):
        share = shares.get(kind.name, shares.get(""))
    if share is None and turned and width:
        if turned > width:
            raise text.wrong(ROTATED, f"be at most the head's {width}", turned)
        share = turned / width
    if not kind.separate:
        kind.share = 1.0 if share is None else share
        kind.rotated = width
        if width and kind.scaling.name != "proportional":
            kind.rotated = int(width * kind.share)
            if not kind.rotated:
                raise where.wrong(SHARES, f"leave a dimension of {width}", share)


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
