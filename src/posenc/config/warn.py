"""Step 4: warn where a file contradicts itself, is read differently, or wasn't read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from posenc.config.compute import along_axes
from posenc.config.fields import Fields
from posenc.config.found import ROTARY, Layers
from posenc.config.normalize import BASES, Kind, Model
from posenc.config.validate import Rotation
from posenc.scaling import ORIGINAL, SCALINGS, SHARED

POSITIONS = re.compile(
    r"rope|rotary|rotat|position|alibi|yarn|ntk|theta|window|chunk|sink|local|global|interleave"
    r"|interval|pattern|layer_types|temperature_tun|attn_scale|floor_scale|mscale|base_freq"
    r"|relative|pos_emb|pos_att|sequence_len|context_len|head_dim"
)
ELSEWHERE = re.compile(  # fields that sound alike and say nothing of positions
    r"^mlp|moe|expert|norm|drop|loss|router|vision|image|audio|video|speech|mamba|linear_|conv"
    r"|token|index_|_id$|v_head_dim|scale_depth|prefix|mtp|nextn|global_batch|_pooling|ssm"
    r"|pretraining|num_global|hash|feed_forward|qk_head_dim|order_of_interleaved|vision_config|audio_config"
)


def warn(model: Model, kinds: list[Kind], rotations: dict[str, Rotation]) -> Iterator[str]:
    """Yield warnings, each once."""
    yield from model.notes
    text = model.text
    if text is not model.top and model.top.get("rope_scaling"):
        yield f"rope_scaling beside {text.path[:-1]} is ignored: move it inside"
    for name in ("factor", "beta_fast", "low_freq_factor", "long_factor"):
        if text.has(name) and model.rotates:
            yield f"{text.path}{name} is outside {model.label}, so it is ignored"
            text.get(name)
    for kind in kinds:
        if kind.where == ROTARY and kind.name in rotations:
            yield from _about(model, kind, rotations[kind.name])
    if text.has("compress_rope_theta"):
        yield "compress_rope_theta is a second base: the code decides which layers use it"
        text.get("compress_rope_theta")
    if text.get("attn_temperature_tuning"):
        text.get("floor_scale", "attn_scale")
        yield "attn_temperature_tuning scales queries by position in layers without rotation"
    yield from _unread(model, kinds)


def _about(model: Model, kind: Kind, rotation: Rotation) -> Iterator[str]:
    rope, fields, scaling = kind.rope, rotation.fields, rotation.scaling
    named = rope.values.get("rope_type"), rope.values.get("type")
    if None not in named and named[0] != named[1]:
        yield (
            f"{kind.title} has rope_type {named[0]!r} and type {named[1]!r}: "
            "new programs read the first, old ones the second"
        )
    elif named[0] is None and named[1] is not None:
        yield f"{kind.title}.type is the old spelling of rope_type: some programs read only one"
    for name in {each for each in named if each in scaling.spellings}:
        yield f"{kind.title} has the deprecated type {name!r}, now {scaling.name!r}"
    for name in rope.values:
        known = name in scaling.fields | SHARED or isinstance(rope.values[name], Mapping)
        known |= "alpha" in fields and name in SCALINGS["yarn"].fields  # Hunyuan's files
        if rope.values[name] is not None and not known and "dim" not in name:
            yield f"{kind.title}.{str(name)[:60]!a} is ignored by type {scaling.name!r}"
        rope.read.add(name)
    if kind.base is None and not along_axes(model, kind):
        yield f"no base for {kind.name}: each program falls back to its own default"
    trained, factor, limit = fields.get(ORIGINAL), fields.get("factor"), model.limit
    if ORIGINAL in scaling.fields and not rope.has(ORIGINAL):
        if model.text.has(ORIGINAL):
            if scaling.name != "longrope":
                yield f"{ORIGINAL} is outside {kind.title}, where some programs ignore it"
        else:
            yield (
                f"{kind.title} has no {ORIGINAL}: transformers falls back to "
                f"max_position_embeddings, {limit}, which is right only if that is the length "
                "before scaling"
            )
    if trained and limit and trained > limit:
        yield f"{ORIGINAL}, {trained}, exceeds max_position_embeddings, {limit}"
    elif (
        trained
        and limit
        and factor
        and scaling.name in ("yarn", "longrope")
        and (trained not in (limit, limit / factor))
    ):
        yield (
            f"the factor is {factor:g}, but {limit} / {trained} is {limit / trained:g}: "
            "the factor takes precedence"
        )
    if scaling.name == "llama3" and fields["low_freq_factor"] == fields["high_freq_factor"]:
        yield "low_freq_factor equals high_freq_factor: no interpolation, frequencies jump"
    if "attention_factor" in fields and ("mscale" in fields or "mscale_all_dim" in fields):
        yield "attention_factor overrides mscale and mscale_all_dim in cosine and sine"
    if "alpha" in fields and model.code is None:
        yield f"{kind.title}.alpha raises the base in Hunyuan's code and in vLLM; others ignore it"
    rotated, width = rotation.rotated, rotation.head_dim
    turned = model.text.get("rotary_dim")
    if rotated and rotated % 2:
        yield f"{rotated} dimensions are rotated, an odd number: the code decides which"
    if turned and rotated and turned != rotated and width:
        yield f"rotary_dim says {turned} dimensions, partial_rotary_factor {rotated}"
    if rotation.sections and rotated and sum(rotation.sections) != rotated // 2:
        yield f"mrope_section sums to {sum(rotation.sections)}, but {rotated // 2} pairs turn"
    if along_axes(model, kind):
        yield f"{kind.name}: rotated along the axes of an image; the code decides how"


def _unread(model: Model, kinds: list[Kind]) -> Iterator[str]:
    """Name the fields that speak of positions and weren't read."""
    seen: list[Fields] = [model.text, *([model.rope] if not model.nested else [])]
    inner = model.text.values.get("attn_config")
    if isinstance(inner, Mapping):
        seen.append(Fields(inner, f"{model.text.path}attn_config."))
        seen[-1].read.update(("alibi", "alibi_bias_max", "rope", *BASES))
    for fields in seen:
        for name, value in fields.values.items():
            silent = value is None or value is False or value in ([], "absolute", "rope")
            silent |= isinstance(value, str) and model.code is not None
            if (
                silent
                or fields.defaults.get(name) == value
                or not isinstance(name, str)
                or name in fields.read
            ):
                continue
            if POSITIONS.search(name) and not ELSEWHERE.search(name):
                place = fields.path if len(name) < 60 else ""
                yield f"{place}{name[:60]!a} isn't read here, and may speak of positions"


def unless_told(layers: list[Layers], model: Model) -> Iterator[str]:
    """Warn of scores that not every model's code multiplies."""
    for each in layers:
        if each.where == ROTARY and each.score_factor and not (model.code or {}).get("mscale"):
            yield (
                f"mscale_all_dim asks for scores times {each.score_factor:.4g}: "
                "not every model's code does that"
            )
