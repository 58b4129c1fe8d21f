"""Step 4: warn where a file contradicts itself, is read differently, or wasn't read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from posenc.config.fields import Fields
from posenc.config.found import ROTARY, Layers
from posenc.config.normalize import ROTATED, Kind, Model
from posenc.scaling import ORIGINAL, SCALINGS, SHARED

POSITIONS = re.compile(
    r"rope|rotary_|rotat|position|alibi|yarn|ntk|logn|theta|window|chunk|local|global|interleave"
    r"|interval|pattern|layer_types|temperature_tun|attn_scale|floor_scale|mscale|base_freq"
    r"|relative|pos_emb|pos_att|sequence_len|context_len|head_dim"
)
ELSEWHERE = re.compile(  # fields that sound alike and say nothing of positions
    r"^mlp|moe|expert|norm|drop|loss|router|vision|image|audio|video|speech|mamba|linear_|conv"
    r"|token|index_|_id$|v_head_dim|scale_depth|prefix|mtp|nextn|global_batch|_pooling|ssm"
    r"|pretraining|num_global|hash|feed_forward|qk_head_dim|order_of_interleaved|quant|label|use_rotary"
)


def warn(model: Model, layers: Iterable[Layers]) -> Iterator[str]:
    """Yield warnings."""
    yield from model.notes
    text = model.text
    if text is not model.top and model.top.get("rope_scaling"):
        yield f"rope_scaling beside {text.path[:-1]} is ignored: move it inside"
    for name in ("factor", "beta_fast", "low_freq_factor", "long_factor"):
        if text.has(name) and model.place == ROTARY:
            yield f"{text.path}{name} is outside {model.rope.path[:-1]}, so it is ignored"
            text.get(name)
    for kind in model.kinds:
        if kind.where == ROTARY:
            yield from _about(model, kind)
    if text.get("compress_rope_theta"):
        yield "compress_rope_theta is a second base: the code decides which layers use it"
    if text.get("attn_temperature_tuning"):
        text.get("floor_scale", "attn_scale")
        yield "attn_temperature_tuning scales queries by position in layers without rotation"
    for each in layers:
        if each.score_factor and not model.code.get("mscale"):
            words = f"mscale_all_dim asks for scores times {each.score_factor:.4g}"
            yield f"{words}: not every model's code does that"
    yield from _unread(text, text.path.count("."), bool(model.code))
    if not model.nested:
        yield from _unread(model.rope, 0, bool(model.code))


def _about(model: Model, kind: Kind) -> Iterator[str]:
    """Yield what can't all be meant, and what programs are known to read differently."""
    text, rope, fields, scaling = model.text, kind.rope, kind.fields, kind.scaling
    name, title, limit = scaling.name, rope.path[:-1], model.limit
    new, old = rope.values.get("rope_type"), rope.values.get("type")
    if None not in (new, old) and new != old:
        yield f"{title} has rope_type {new!r}, for new programs, and type {old!r}, for old ones"
    elif new is None and old is not None:
        yield f"{title}.type is the old spelling of rope_type: some programs read only one"
    if {new, old} & set(scaling.spellings):
        yield f"{title} has the deprecated type {new or old!r}, now {name!r}"
    known = scaling.fields | SHARED | (SCALINGS["yarn"].fields if "alpha" in fields else set())
    for each, value in rope.values.items():
        rope.read.add(each)
        said = value is not None and not isinstance(value, Mapping)
        if said and each not in known and "dim" not in each:
            yield f"{title}.{str(each)[:60]!a} is ignored by type {name!r}"
    if kind.axial:
        yield f"{kind.name}: rotated along the axes of an image; the code decides how"
    elif kind.base is None:
        yield f"no base for {kind.name}: each program falls back to its own default"
    if ORIGINAL in scaling.fields and not rope.has(ORIGINAL):
        if text.has(ORIGINAL) and name != "longrope":
            yield f"{ORIGINAL} is outside {title}, where some programs ignore it"
        elif not text.has(ORIGINAL):
            words = f"transformers falls back to max_position_embeddings, {limit}"
            yield f"{title} has no {ORIGINAL}: {words}, right if that is the length before scaling"
    if (trained := fields.get(ORIGINAL)) and limit and name in ("yarn", "longrope", "llama3"):
        factor = fields.get("factor", limit / trained)
        if trained > limit:
            yield f"{ORIGINAL}, {trained}, exceeds max_position_embeddings, {limit}"
        elif name != "llama3" and trained != limit and factor != limit / trained:
            ratio = f"{limit} / {trained} is {limit / trained:g}"
            yield f"the factor is {factor:g}, but {ratio}: the factor takes precedence"
    if name == "llama3" and fields["low_freq_factor"] == fields["high_freq_factor"]:
        yield "low_freq_factor equals high_freq_factor: no interpolation, frequencies jump"
    if "attention_factor" in fields and {"mscale", "mscale_all_dim"} & fields.keys():
        yield "attention_factor overrides mscale and mscale_all_dim in cosine and sine"
    if "alpha" in fields and not model.code:
        yield f"{title}.alpha raises the base in Hunyuan's code and in vLLM; others ignore it"
    rotated, turned, sections = kind.rotated or 0, text.get(*ROTATED), kind.sections or ()
    if rotated % 2:
        yield f"{rotated} dimensions are rotated, an odd number: the code decides which"
    if turned and kind.head_dim and turned != rotated:
        yield f"rotary_dim says {turned} dimensions, partial_rotary_factor {rotated}"
    if sections and rotated and sum(sections) != rotated // 2:
        yield f"mrope_section sums to {sum(sections)}, but {rotated // 2} pairs turn"


def _unread(fields: Fields, depth: int, known: bool) -> Iterator[str]:
    """Name the fields that speak of positions and weren't read."""
    for name, value in fields.values.items():
        if not isinstance(name, str) or name in fields.read or ELSEWHERE.search(name):
            continue
        if isinstance(value, Mapping) and depth < 4 and not POSITIONS.search(name):
            yield from _unread(Fields(value, f"{fields.path}{name}."), depth + 1, known)
        silent = not value or value in ("absolute", "rope") or fields.defaults.get(name) == value
        silent = silent or (isinstance(value, str) and known)
        if POSITIONS.search(name) and not silent:
            place = fields.path if len(name) < 60 else ""
            yield f"{place}{name[:60]!a} isn't read here, and may speak of positions"
