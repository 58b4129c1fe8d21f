"""Step 1: find the fields, whatever their place and spelling, and what the type's code decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from posenc.config.fields import Fields, told
from posenc.config.found import NO_ATTENTION, NOWHERE, ROTARY

PARTS = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx")
BASES = ("rope_theta", "rotary_emb_base", "rotary_embedding_base", "global_rope_theta")
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")
WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "d_kv")
SHARES = ("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percentage", "rope_percent")
COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth")
WINDOWS = ("sliding_window", "local_attention", "sliding_window_size")
STEPS = {  # every so many layers, one differs: its kind, the others', and the first such layer
    "sliding_window_pattern": ("full_attention", "sliding_attention", -1),
    "_sliding_window_pattern": ("full_attention", "sliding_attention", -1),
    "full_attention_interval": ("full_attention", "linear_attention", -1),
    "global_attn_every_n_layers": ("full_attention", "sliding_attention", 0),
}
LETTERS = {"L": "sliding_attention", "G": "full_attention", "*": "full_attention", "M": "mamba"}
LETTERS |= {"-": "mlp", "E": "moe", "S": "sliding_attention"}
SIGNS = (*BASES, *LOCAL_BASES, *SHARES, "rope_parameters", "rope_scaling", "rotary_dim")


@cache
def known_models() -> Mapping[str, Any]:
    """Return what the code of each type decides, from ``models.json``."""
    data: Mapping[str, Any] = json.loads((files(__package__) / "models.json").read_text("utf-8"))
    return data


@dataclass
class Kind:
    """One kind of layer, before anything is computed."""

    name: str
    indices: tuple[int, ...] | None
    where: str | None
    rope: Fields  # the mapping that describes its rotation
    title: str  # that mapping's name in the file
    base: float | None = None
    window: int | None = None
    chunk: int | None = None


@dataclass
class Model:
    """A file and its type."""

    top: Fields
    text: Fields
    model_type: str | None
    code: Mapping[str, Any] | None  # what the type's code decides, if it is known
    rotates: bool = False
    layers: int | None = None
    limit: int | None = None
    label: str = "rope_parameters"
    rope: Fields = field(default_factory=lambda: Fields({}))
    nested: dict[str, Fields] = field(default_factory=dict)
    kinds: list[Kind] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def normalize(config: Mapping[str, Any]) -> Model:
    """Return a file's fields, in one spelling and for each kind of layer."""
    model = _identified(config)
    text, code = model.text, model.code or {}
    model.limit, model.layers = text.count(*LENGTHS), text.count(*COUNTS, most=10_000)
    _find_rope(model)
    alibi = text.get("alibi")
    signs = text.has(*SIGNS, "qk_rope_head_dim") or code.get("rotates", False)
    absolute = text.get("position_embedding_type") == "absolute" and not code.get("rotates")
    model.rotates = signs and not alibi and not absolute
    if model.rotates:
        _find_kinds(model, _sequence(model))
    return model


def _identified(config: Mapping[str, Any]) -> Model:
    top = text = Fields(config)
    kind = _type(top)
    name: str | None = PARTS[0]
    while name := next((each for each in PARTS if text.values.get(each)), None):
        inner = Fields(text.values[name], f"{text.path}{name}.")
        parts = known_models().get(kind or "", {}).get("parts", {})
        text, kind = inner, _type(inner) or parts.get(name)
    known = known_models()
    code = known.get(kind or "")
    if code and "parts" in code:  # the fields of the text stand beside those of other parts
        code = known.get(code["parts"].get(PARTS[0], ""), code)
    code = code if code and "file" in code else None
    more = text.values.get("attn_config")
    if isinstance(more, Mapping):  # DBRX has the base there
        text.values = {**{each: more[each] for each in BASES if each in more}, **text.values}
    if code:
        text.defaults = code.get("fields", {})
    return Model(top, text, _type(top) or kind, code)


def _type(fields: Fields) -> str | None:
    found = fields.get("model_type")
    if found is not None and not isinstance(found, str):
        raise TypeError(f"{fields.path}model_type must be a string, got {told(found)}")
    return found


def _find_rope(model: Model) -> None:
    """Find the mapping that describes the rotation; transformers prefers ``rope_scaling``."""
    text = model.text
    both = [name for name in ("rope_scaling", "rope_parameters") if text.get(name)]
    ropes = {name: text.inside(name) for name in both if text.has(name)}
    if len(ropes) > 1 and text.values[both[0]] != text.values[both[1]]:
        model.notes.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    model.label = next(iter(ropes), "rope_parameters")
    model.rope = ropes.get(model.label) or Fields({}, f"{text.path}rope_parameters.")
    for name in model.rope.values:
        if isinstance(name, str) and isinstance(model.rope.values[name], Mapping):
            inner = model.rope.inside(name)
            model.nested |= {name: inner} if inner else {}


def _sequence(model: Model) -> list[str] | None:
    """Return the kind of each layer, if the file or the type's code says."""
    text, code, number = model.text, model.code or {}, model.layers
    pattern = code.get("pattern") or {}
    turns = text.items("no_rope_layers", int)
    text.get(*STEPS, "no_rope_layer_interval", "max_window_layers", "use_sliding_window")
    if types := text.items("layer_types", str) or text.items("layers_block_type", str):
        return types
    if flags := text.items("hybrid_layer_pattern", int):
        return ["sliding_attention" if each else "full_attention" for each in flags]
    if flags := text.items("attn_type_list", int):
        return ["full_attention" if each else "linear_attention" for each in flags]
    letters = text.get("hybrid_override_pattern")
    if letters is None and isinstance(text.get("sliding_window_pattern"), str):
        letters = text.get("sliding_window_pattern")
        letters = letters * (-(-(number or 0) // max(len(letters), 1)))
        letters = letters[: number or 0]
        letters = f"{letters[:-1]}G" if letters else None  # Exaone's last layer is a full one
    if letters is not None:
        if not isinstance(letters, str) or len(letters) > 10_000 or set(letters) - set(LETTERS):
            name = text.name("hybrid_override_pattern", "sliding_window_pattern")
            raise ValueError(
                f"{name} must be of the letters {''.join(LETTERS)}, got {told(letters)}"
            )
        return [LETTERS[each] for each in letters]
    linear = text.inside("linear_attn_config") if text.get("linear_attn_config") else None
    if linear and number and (full := linear.items("full_attn_layers", int)):
        return ["full_attention" if i + 1 in full else "linear_attention" for i in range(number)]
    if number and (
        full := text.items("attn_layer_indices", int) or text.items("full_attn_idxs", int)
    ):
        return ["full_attention" if i in full else "mamba" for i in range(number)]
    period, offset = text.count("attn_layer_period"), text.number("attn_layer_offset") or 0
    if number and period:
        return ["full_attention" if i % period == offset else "mamba" for i in range(number)]
    if not number:
        return None
    if turns and pattern.get("field") == "no_rope_layer_interval":
        return [pattern["others"] if each else pattern["one"] for each in turns[:number]]
    if (late := text.count("max_window_layers")) and text.flag("use_sliding_window"):
        text.get(*WINDOWS)
        return ["sliding_attention" if i >= late else "full_attention" for i in range(number)]
    steps = [name for name in (*STEPS, pattern.get("field")) if name and text.has(name)]
    one, others, at = STEPS.get(next(iter(steps), ""), ("", "", 0))
    step = text.count(*steps) if steps else pattern.get("step")
    if pattern:
        one, others, at = pattern["one"], pattern["others"], pattern["at"]
    if not step or not one:
        return None
    found = [one if (i - at) % step == 0 else others for i in range(number)]
    return [*found[:-1], pattern["last"]] if "last" in pattern else found


def _find_kinds(model: Model, sequence: list[str] | None) -> None:
    """Group layers that are alike."""
    text, code, number = model.text, model.code or {}, model.layers
    if sequence and number and len(sequence) != number:
        model.notes.append(f"{len(sequence)} kinds of layers are told for {number} layers")
    if sequence and not number:
        number = model.layers = len(sequence)
    turned = _turned(model, number)
    groups: dict[tuple[str, str | None], list[int] | None] = {}
    if model.nested and not sequence:
        groups = {(name, ROTARY): None for name in model.nested}
    elif sequence or number:
        for i in range(min(number or 0, len(sequence)) if sequence else number or 0):
            name = sequence[i] if sequence else "all layers"
            where = _where(model, name, turned[i] if turned and i < len(turned) else True)
            plain = name == "all layers" and where == NOWHERE
            group = "layers without rotation" if plain else name, where
            groups[group] = [*(groups.get(group) or ()), i]
    elif text.has(*LOCAL_BASES):
        groups = {("full_attention", ROTARY): None, ("sliding_attention", ROTARY): None}
    else:
        groups = {("all layers", ROTARY): None}
    for name, where in sorted(groups, key=lambda group: (group[0].startswith("layers"), group[0])):
        indices = groups[name, where]
        model.kinds.append(_kind(model, name, where, indices, code))
    known = {"full_attention", "sliding_attention", *(each.name for each in model.kinds)}
    for name in sorted(set(model.nested) - known):
        model.kinds.append(_kind(model, name, ROTARY, None, code))


def _turned(model: Model, number: int | None) -> list[bool] | None:
    """Return for each layer whether its queries and keys turn, if fields speak of that."""
    text, code = model.text, model.code or {}
    nope = text.get("position_embedding_type") == "nope"
    if code.get("none") or text.flag("mla_use_nope") or nope:
        text.get(*SIGNS, *WIDTHS, "qk_rope_head_dim", "qk_nope_head_dim")
        return [False] * (number or 0)
    if turns := text.items("no_rope_layers", int):
        return [bool(each) for each in turns]
    every = text.count("no_rope_layer_interval")
    says = text.has("no_rope_layer_interval") or "without" in code
    field = (code.get("pattern") or {}).get("field")
    if every and number and says and field != "no_rope_layer_interval":
        return [bool((i + 1) % every) for i in range(number)]
    return None


def _where(model: Model, name: str, turned: bool) -> str | None:
    code = model.code or {}
    if name in code.get("recurrent", ()) or name in ("mamba", "mlp", "moe", "conv"):
        return NO_ATTENTION
    still = code.get("still", {})
    if name in still and (still[name] is True or model.text.get(still[name]) is not None):
        return NOWHERE
    if any(word in name for word in ("linear", "conv", "mamba", "recurrent")):
        return None if name not in code.get("turns", ()) else ROTARY
    return ROTARY if turned else NOWHERE


def _kind(
    model: Model, name: str, where: str | None, indices: list[int] | None, code: Mapping[str, Any]
) -> Kind:
    """Return a kind of layer with its own fields."""
    text, places = model.text, None if indices is None else tuple(indices)
    text.get(*WINDOWS, "use_sliding_window")
    sliding, nested = "sliding" in name, model.nested.get(name)
    rope = nested or (Fields({}, model.rope.path) if model.nested else model.rope)
    kind = Kind(name, places, where, rope, f"{model.label}.{name}" if nested else model.label)
    if sliding or (name == "all layers" and text.get("use_sliding_window") is not False):
        kind.window = text.count(*WINDOWS)
    if "chunk" in name:
        kind.chunk = text.count("attention_chunk_size")
    if where != ROTARY:
        return kind
    bases, local = code.get("bases", {}), text.positive(*LOCAL_BASES)
    outside, inside = text.positive(*BASES), rope.positive("rope_theta")
    own, flat = outside, not model.nested
    if flat and (name in code.get("unscaled", ()) or (sliding and local is not None)):
        if rope.get("rope_type", "type") not in (None, "default"):
            model.notes.append(f"{model.label} applies to global attention, not to {name}")
        kept = {each: rope.values[each] for each in SHARES if each in rope.values}
        kind.rope = Fields(kept, rope.path)
    if flat and sliding and local is not None:
        own = inside = local
    elif flat and name in code.get("own_base", ()):
        own = inside = None
    if None not in (inside, outside) and text.has(*BASES) and own != local and inside != outside:
        model.notes.append(
            f"{text.name(*BASES)} is {outside:g} outside {kind.title}, {inside:g} inside, "
            "which takes precedence"
        )
    kind.base = inside if inside is not None else own
    if kind.base is None:
        kind.base = bases.get(name, bases.get(""))
    return kind
