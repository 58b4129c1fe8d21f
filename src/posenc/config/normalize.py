"""Step 1: find the fields, whatever their place and spelling, and what the type's code decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from posenc.config.fields import LEAST, Fields
from posenc.config.found import BIAS, NO_ATTENTION, NOWHERE, ROTARY, TABLE

PARTS = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
LENGTHS = (
    *("max_position_embeddings", "max_position_embedding", "n_positions", "max_seq_len", "n_ctx"),
    *("seq_length", "max_sequence_length", "model_max_length", "context_length"),
    *("max_target_positions", "max_source_positions"),
)
BASES = ("rope_theta", "rotary_emb_base", "rotary_embedding_base", "global_rope_theta")
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")
WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "d_kv")
LATENT = ("qk_rope_head_dim", "qk_nope_head_dim")
HIDDEN = ("embed_dim", "hidden_size", "n_embd", "d_model")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
SHARES = (
    *("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percentage", "rope_percent"),
    "rotary_emb_fraction",
)
ROTATED = ("rotary_dim", "attn_rotary_emb")
COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth")
WINDOWS = ("sliding_window", "local_attention", "sliding_window_size", "attention_window_size")
ROPES = ("rope_scaling", "rope_parameters")  # transformers prefers the first
SIGNS = (*BASES, *LOCAL_BASES, *SHARES, *ROPES, *ROTATED)
NAMES = {*BASES, *LOCAL_BASES, *SHARES, *WIDTHS, *LATENT, *WINDOWS, *COUNTS, *LENGTHS}
NAMES |= {*HIDDEN, *HEADS}
FULL, SLIDING = "full_attention", "sliding_attention"
STEPS: dict[
    str, Any
] = {  # every so many layers, one differs: its kind, the others', and the first such layer
    "sliding_window_pattern": {"one": FULL, "others": SLIDING, "at": -1},
    "_sliding_window_pattern": {"one": FULL, "others": SLIDING, "at": -1},
    "full_attention_interval": {"one": FULL, "others": "linear_attention", "at": -1},
    "global_attn_every_n_layers": {"one": FULL, "others": SLIDING, "at": 0},
}
FLAGS = {  # a number for each layer: the kinds that 0 and others mean
    "hybrid_layer_pattern": (FULL, SLIDING),
    "attn_type_list": ("linear_attention", FULL),
}
LETTERS = {"L": SLIDING, "G": FULL, "*": FULL, "M": "mamba", "-": "mlp", "E": "moe", "S": SLIDING}
RECURRENT = ("mamba", "mlp", "moe", "conv", "linear", "recurrent")


@cache
def known_models() -> Mapping[str, Any]:
    """Return what the code of each type decides, from ``models.json``."""
    data: Mapping[str, Any] = json.loads((files(__package__) / "models.json").read_text("utf-8"))
    return data


@dataclass
class Kind:
    """One kind of layer: what step 1 finds, and below it what step 2 checks."""

    name: str
    indices: tuple[int, ...] | None
    where: str | None
    rope: Fields  # the mapping that describes its rotation
    base: float | None = None
    window: int | None = None
    chunk: int | None = None

    scaling: Any = None
    axial: bool = False  # pairs turn along the axes of an image, as the code decides
    fields: dict[str, Any] = field(default_factory=dict)
    head_dim: int | None = None
    rotated: int | None = None
    separate: bool = False  # the rotated part is a vector of its own, as in latent attention
    share: float = 1.0
    sections: tuple[int, ...] | None = None


@dataclass
class Model:
    """A file and its type."""

    top: Fields
    text: Fields
    model_type: str | None
    code: Mapping[str, Any]  # what the type's code decides; empty if it isn't known
    rope: Fields
    notes: list[str]
    others: list[tuple[Fields, str | None]]  # parts for images and sounds, with their types
    place: str | None = None  # where positions enter
    layers: int | None = None
    limit: int | None = None
    nested: dict[str, Fields] = field(default_factory=dict)
    kinds: list[Kind] = field(default_factory=list)


def normalize(top: Fields, kind: str | None = None) -> Model:
    """Return a file's fields, in one spelling and for each kind of layer."""
    model = _identified(top, kind)
    text, code = model.text, model.code
    model.limit, model.layers = text.count(*LENGTHS), text.count(*COUNTS, most=10_000)
    ropes = [text.inside(name) for name in ROPES if text.get(name)]
    if len(ropes) > 1 and ropes[0].values != ropes[1].values:
        words = "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        model.notes.append(words)
    model.rope = next(iter(ropes), model.rope)
    named = [name for name, value in model.rope.values.items() if isinstance(value, Mapping)]
    model.nested = {str(name): model.rope.inside(name) for name in named}
    inner, said = text.inside("attn_config"), text.get("position_embedding_type")
    relative = text.get("relative_attention") or text.get("relative_attention_num_buckets")
    if text.get("alibi") or inner.get("alibi"):
        model.place = BIAS
    elif code.get("rotates") or (
        said != "absolute" and (text.has(*SIGNS, LATENT[0]) or str(said).startswith("ro"))
    ):
        model.place = ROTARY
    elif relative:
        model.place = f"{BIAS}; {TABLE}" if text.get("position_biased_input") else BIAS
    elif said == "absolute":
        model.place = TABLE
    _find_kinds(model, _sequence(model))
    return model


def _identified(top: Fields, kind: str | None) -> Model:
    """Find the fields of the text, what the code of their type decides, and other parts."""
    known, text, notes = known_models(), top, []
    others: list[tuple[Fields, str | None]] = []
    kind = _type(top, kind)
    for _ in range(4):
        parts, path = known.get(kind or "", {}).get("parts", {}), text.path
        name = next((each for each in PARTS if text.values.get(each)), "")
        for other, value in text.values.items():
            named = str(other).endswith("_config") or other == "encoder"
            if other != name and named and isinstance(value, Mapping):
                part = Fields(value, f"{path}{other}.")
                if part.has(*COUNTS, *PARTS) and path.count(".") < 4 and len(others) < 8:
                    text.read.add(str(other))
                    others.append((part, parts.get(other)))
        if not name:
            break
        text = Fields(text.values[name], f"{path}{name}.")
        kind = _type(text, parts.get(name))
    code = known.get(kind or "", {})
    if "parts" in code:  # the fields of the text stand beside those of other parts
        code = known.get(code["parts"].get(PARTS[0], ""), code)
    named = text.items("architectures", str) or top.items("architectures", str)
    if "file" not in code and named:
        same = named[0].partition("For")[0].lower()
        found = [each for each in known if each.replace("_", "") == same and "file" in known[each]]
        if found:
            code = known[found[0]]
            notes.append(f"type {kind!a} isn't known: read as {found[0]}, as architectures says")
    code = code if "file" in code else {}
    if inner := text.inside("attn_config").values:  # DBRX has the base there
        text.values = {**{each: inner[each] for each in BASES if each in inner}, **text.values}
    text.defaults = code.get("fields", {})
    rope = Fields({}, f"{text.path}rope_parameters.")
    return Model(top, text, top.get("model_type") or kind, code, rope, notes, others)


def _type(part: Fields, kind: str | None) -> str | None:
    """Return a part's own type, unless it is that of the whole: then what the whole says."""
    if not isinstance(own := part.get("model_type"), str | None):
        raise part.wrong(["model_type"], "be a string", own, TypeError)
    return kind if kind and "parts" in known_models().get(own or "", {"parts": 0}) else own


def _sequence(model: Model) -> list[str] | None:
    """Return the kind of each layer, if the file or the type's code says."""
    text, pattern, number = model.text, model.code.get("pattern", {}), model.layers or 0
    turns = text.items("no_rope_layers", int)
    text.get(*STEPS, "no_rope_layer_interval", "max_window_layers", "use_sliding_window")
    if types := text.items("layer_types", str) or text.items("layers_block_type", str):
        return types
    for name, kinds in FLAGS.items():
        if flags := text.items(name, int):
            return [kinds[bool(each)] for each in flags]
    names = ("hybrid_override_pattern", "sliding_window_pattern")
    letters, steps = (text.get(name) for name in names)
    if letters is None and isinstance(steps, str):  # Exaone's, whose last layer is a full one
        letters = f"{(steps * number)[: number - 1]}G" if 0 < len(steps) < 100 else steps
    if letters is not None:
        if not isinstance(letters, str) or len(letters) > 10_000 or set(letters) - set(LETTERS):
            raise text.wrong(names, f"be of the letters {''.join(LETTERS)}", text.get(*names))
        return [LETTERS[each] for each in letters]
    period, offset = text.count("attn_layer_period"), text.count("attn_layer_offset", least=0)
    linear, late = text.inside("linear_attn_config"), text.count("max_window_layers")
    full = {i - 1 for i in linear.items("full_attn_layers", int)}
    others = "linear_attention" if full else "conv" if text.has("full_attn_idxs") else "mamba"
    full |= {*text.items("attn_layer_indices", int), *text.items("full_attn_idxs", int)}
    if period:
        full = set(range(offset or 0, number, period))
    if full or not number:
        return [FULL if i in full else others for i in range(number)] or None
    if turns and pattern.get("field") == "no_rope_layer_interval":
        return [pattern["others"] if each else pattern["one"] for each in turns[:number]]
    if late and text.flag("use_sliding_window"):
        return [SLIDING if i >= late else FULL for i in range(number)]
    named = next((each for each in (*STEPS, pattern.get("field")) if each and text.has(each)), "")
    rule, step = pattern or STEPS.get(named), text.count(named) or pattern.get("step")
    if not rule or not step:
        return None
    found = [rule["one" if (i - rule["at"]) % step == 0 else "others"] for i in range(number)]
    return [*found[:-1], rule.get("last", found[-1])]


def _find_kinds(model: Model, sequence: list[str] | None) -> None:
    """Group layers that are alike."""
    nested, number = model.nested, model.layers or len(sequence or ())
    if sequence and len(sequence) != number:
        model.notes.append(f"{len(sequence)} kinds of layers are told for {number} layers")
    groups: dict[tuple[str, bool], list[int] | None] = {}
    if sequence or (number and not nested):
        names = sequence or ["all layers"] * number
        for i, each in enumerate(zip(names, _turned(model, number), strict=False)):
            groups.setdefault(each, []).append(i)  # type: ignore[union-attr]
    else:
        both = (FULL, SLIDING) if model.text.has(*LOCAL_BASES) else ("all layers",)
        groups = {(name, True): None for name in nested or both}
    for (name, turned), indices in groups.items():
        _add_kind(model, name, _where(model, name, turned), indices)
    model.kinds.sort(key=lambda each: (each.name.startswith("layers"), each.name))
    for name in sorted(nested.keys() - {FULL, SLIDING, *(each.name for each in model.kinds)}):
        _add_kind(model, name, ROTARY, None)


def _turned(model: Model, number: int) -> list[bool]:
    """Return for each layer whether its queries and keys turn, as far as fields speak of that."""
    text, code = model.text, model.code
    off = "switch" in code and not text.flag(code["switch"])
    nope = text.get("position_embedding_type") == "nope" or text.flag("mla_use_nope")
    if code.get("none") or off or nope:
        text.get(*SIGNS, *LATENT)
        return [False] * number
    found = [bool(each) for each in text.items("no_rope_layers", int)]
    every = text.count("no_rope_layer_interval")
    says = text.has("no_rope_layer_interval") or "without" in code
    other = code.get("pattern", {}).get("field") != "no_rope_layer_interval"
    if not found and every and says and other:
        found = [bool((i + 1) % every) for i in range(number)]
    found = [*found, *[True] * number][:number]
    images = text.items("cross_attention_layers", int)  # Mllama's, whose keys are of images
    return [each and i not in images for i, each in enumerate(found)]


def _where(model: Model, name: str, turned: bool) -> str | None:
    """Return where positions enter layers of one name."""
    still = model.code.get("still", {}).get(name)
    if name in model.code.get("recurrent", ()) or name in RECURRENT[:4]:
        return NO_ATTENTION
    if not turned or still is True or (still and model.text.get(still) is not None):
        return NOWHERE if model.place == ROTARY else model.place
    return None if any(word in name for word in RECURRENT[3:]) else model.place


def _add_kind(model: Model, name: str, where: str | None, indices: list[int] | None) -> None:
    """Add a kind of layer with its own fields."""
    text, code, nested = model.text, model.code, model.nested.get(name)
    text.get(*WIDTHS, "use_sliding_window")
    flat, sliding, whole = not model.nested, "sliding" in name, name == "all layers"
    rope = model.rope if flat else nested or Fields({}, model.rope.path)
    named = "layers without rotation" if whole and where == NOWHERE else name
    kind = Kind(named, None if indices is None else tuple(indices), where, rope)
    model.kinds.append(kind)
    if code.get("window", True):
        window = text.count(*WINDOWS, least=0) or None
        limited = sliding or (whole and text.get("use_sliding_window") is not False)
        kind.window = window if limited else None
    if "chunk" in name:
        kind.chunk = text.count("attention_chunk_size")
    if where != ROTARY:
        return
    local, bases = text.number(*LOCAL_BASES, least=LEAST), code.get("bases", {})
    outside, inside = text.number(*BASES, least=LEAST), rope.number("rope_theta", least=LEAST)
    near = flat and sliding and local is not None
    if near or (flat and name in code.get("unscaled", ())):
        if rope.get("rope_type", "type") not in (None, "default"):
            words = f"{rope.path[:-1]} applies to global attention, not to {name}"
            model.notes.append(words)
        kept = {each: rope.values[each] for each in SHARES if each in rope.values}
        kind.rope = Fields(kept, rope.path)
    elif None not in (inside, outside) and text.has(*BASES) and inside != outside:
        words = f"is {outside:g} outside {rope.path[:-1]}, {inside:g} inside, which"
        model.notes.append(f"{text.name(*BASES)} {words} takes precedence")
    if near:
        kind.base = local
    elif not (flat and name in code.get("own_base", ())):
        kind.base = outside if inside is None else inside
    if kind.base is None:
        kind.base = bases.get(name, bases.get(""))
