r"""What a model's ``config.json`` says about positions: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years. `read_config` finds them, computes the frequencies, and warns where the file contradicts
itself or where programs are known to read it differently. Anything that only the model's code
determines is None, which prints as "the file doesn't say".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_base, check_int, check_real
from posenc.rotary import rotary_frequencies

UNSAID = "the file doesn't say"
ROTARY, BIAS, TABLE = "queries and keys, rotary", "scores, a bias", "input, a table"
NOWHERE = "nowhere"
PARTS = ("text_config", "language_config", "llm_config", "thinker_config", "decoder")
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx")
BASES = ("rope_theta", "rotary_emb_base", "rotary_embedding_base", "global_rope_theta")
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")
WIDTHS = ("head_dim", "attention_head_dim", "kv_channels", "d_kv")
ORIGINAL = "original_max_position_embeddings"
SCALED = {  # the fields that each type of scaling reads
    "default": (),
    "axial": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "llama3": ("factor", ORIGINAL, "low_freq_factor", "high_freq_factor"),
    "longrope": ("factor", ORIGINAL, "short_factor", "long_factor", "attention_factor"),
    "proportional": ("factor",),
    "yarn": (
        *("factor", ORIGINAL, "beta_fast", "beta_slow", "attention_factor"),
        *("mscale", "mscale_all_dim", "truncate"),
    ),
}
OTHER = {"rope_theta", "rope_type", "type", "partial_rotary_factor", "max_position_embeddings"}
OTHER |= {"mrope_section", "mrope_interleaved", "llama_4_scaling_beta"}
OLD = {"su": "longrope", "mrope": "default"}


@dataclass(frozen=True)
class Layers:
    """What a file says about one kind of layer. None means that it doesn't say.

    Attributes
    ----------
    name : str
        The kind, in the file's own words if it has any.
    where : str or None
        Where positions enter.
    count : int or None
        Number of layers of this kind.
    window : int or None
        Number of keys that a query sees, if limited.
    head_dim, rotated : int or None
        Width of a query or key, and how many of its dimensions turn.
    layout : str or None
        Which dimensions those are.
    pairing : str or None
        Which dimensions make a pair.
    base : float or None
        The constant that spreads the frequencies.
    scaling : str or None
        The type of scaling, "default" for none.
    frequencies : tuple of float or None
        Radians per position, for a text of the trained length.
    frequencies_beyond : tuple of float or None
        The same for a text of the intended length, if different.
    attention_factor : float or None
        Multiplier of cosine and sine; scores are multiplied by its square.
    score_factor : float or None
        Additional multiplier of scores, if the model's code follows the file.
    sections : tuple of int or None
        Number of pairs that each axis (time, height, width) turns, in a model that reads images.
    indices : tuple of int or None
        The layers of this kind, counted from 0.
    chunk : int or None
        Number of keys after which attention begins anew, if it does.
    first : int or None
        The first dimension of a head that turns.
    attention_factor_beyond : float or None
        The attention factor beyond the trained length, if different.
    axes : tuple of int or None
        For each pair, the coordinate that turns it, if positions have several.
    norm : str or None
        "before" or "after" the rotation, if queries and keys are normalized.
    """

    name: str = "all layers"
    where: str | None = None
    count: int | None = None
    window: int | None = None
    head_dim: int | None = None
    rotated: int | None = None
    layout: str | None = None
    pairing: str | None = None
    base: float | None = None
    scaling: str | None = None
    frequencies: tuple[float, ...] | None = None
    frequencies_beyond: tuple[float, ...] | None = None
    attention_factor: float | None = None
    score_factor: float | None = None
    sections: tuple[int, ...] | None = None
    indices: tuple[int, ...] | None = None
    chunk: int | None = None
    first: int | None = None
    attention_factor_beyond: float | None = None
    axes: tuple[int, ...] | None = None
    norm: str | None = None


@dataclass(frozen=True)
class Positions:
    """What a file says about positions: lengths, kinds of layers, and warnings."""

    model_type: str | None
    trained_length: int | None
    intended_length: int | None
    layers: tuple[Layers, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def __str__(self) -> str:
        """Format everything for people."""
        lines = [
            f"model type: {self.model_type or UNSAID}",
            f"trained length: {self.trained_length or UNSAID}",
            f"intended length: {self.intended_length or UNSAID}",
        ]
        for layers in self.layers:
            count = "" if layers.count is None else f" ({layers.count})"
            lines += ["", f"{layers.name}{count}: {layers.where or UNSAID}"]
            if layers.where == ROTARY:
                lines += [f"  {name}: {text}" for name, text in _said(layers)]
        return "\n".join([*lines, *(f"\nWarning: {each}" for each in self.warnings)])


def _said(layers: Layers) -> list[tuple[str, str]]:
    """Describe layers that rotate, in pairs of name and text."""

    def number(value: float | None) -> str:
        return UNSAID if value is None else f"{value:,.6g}".replace(",", " ")

    found = [
        ("base", number(layers.base)),
        ("rotated", layers.layout or UNSAID),
        ("pairs", layers.pairing or UNSAID),
        ("scaling", layers.scaling or UNSAID),
    ]
    if layers.frequencies:
        slow = min(each for each in layers.frequencies if each)
        found += [
            (
                "wavelengths",
                f"{number(math.tau / layers.frequencies[0])} to {number(math.tau / slow)}",
            )
        ]
    found += [("cosine and sine are multiplied by", number(layers.attention_factor))]
    if layers.score_factor:
        found += [("scores are also multiplied by", number(layers.score_factor))]
    if layers.sections:
        found += [("pairs per axis", ", ".join(map(str, layers.sections)))]
    if layers.window:
        found += [("window", number(layers.window))]
    return found


class _Reader:
    """Access to a file's fields, with errors that name them."""

    def __init__(self, top: Mapping[str, Any]) -> None:
        self.warnings: list[str] = []
        self.top = top
        self.path = ""
        self.text: Mapping[str, Any] = top
        for name in PARTS:
            part = top.get(name)
            if isinstance(part, Mapping) and not self._rope(self.text):
                self.text, self.path = part, f"{name}."
                inner = part.get("text_config")
                if isinstance(inner, Mapping):
                    self.text, self.path = inner, f"{name}.text_config."
                break

    @staticmethod
    def _rope(fields: Mapping[str, Any]) -> bool:
        return bool(fields.get("rope_parameters")) or fields.get("rope_theta") is not None

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def first(self, names: tuple[str, ...]) -> Any:
        """Return the first of these fields that has a value, or None."""
        return next((self.text[name] for name in names if self.text.get(name) is not None), None)

    def count(self, *names: str) -> int | None:
        """Return the first of these fields that has a value, as an int of at least 1."""
        for name in names:
            value = self.text.get(name)
            if value is not None:
                whole = isinstance(value, float) and value.is_integer()
                return check_int(self.path + name, int(value) if whole else value, minimum=1)
        return None

    def words(self, name: str) -> list[Any]:
        """Return a list field, or an empty list if it is missing."""
        value = self.text.get(name)
        if value is not None and not isinstance(value, list):
            raise TypeError(f"{self.path}{name} must be a list, got {value!r}")
        return value or []

    def mapping(self) -> tuple[str, Mapping[str, Any]]:
        """Return the mapping that describes the rotation, and its name."""
        names = [name for name in ("rope_scaling", "rope_parameters") if self.text.get(name)]
        for name in names:
            if not isinstance(self.text[name], Mapping):
                raise TypeError(f"{self.path}{name} must be a mapping, got {self.text[name]!r}")
        if len(names) > 1 and self.text[names[0]] != self.text[names[1]]:
            self.warn("rope_scaling and rope_parameters differ: transformers uses rope_scaling")
        name = names[0] if names else "rope_parameters"
        return name, self.text.get(name) or {}


def _widths(reader: _Reader, name: str) -> tuple[int | None, int | None]:
    """Return the width of a head, and of its separate rotary part, if there is one."""
    part = reader.count("qk_rope_head_dim")
    beside = reader.count("qk_nope_head_dim") if reader.text.get("qk_nope_head_dim") else None
    if part and beside:
        return part + beside, part
    prefix = {"sliding_attention": "swa_", "full_attention": "global_"}.get(name)
    width = reader.count(f"{prefix}head_dim") if prefix else None
    kinds, own = reader.words("layer_types"), reader.text.get("per_layer_config")
    if isinstance(own, Mapping) and name in kinds:
        width = width or (own.get(f"{kinds.index(name):02d}") or {}).get("head_dim")
    width = width or reader.count(*WIDTHS)
    hidden = reader.count("hidden_size", "n_embd", "d_model")
    heads = reader.count("num_attention_heads", "n_head", "n_heads", "num_heads")
    if width is None and hidden and heads:
        width = hidden // heads
    return width, part


def _kind(reader: _Reader, name: str, rope: Mapping[str, Any]) -> str:
    """Return the type of scaling."""
    named = rope.get("rope_type", rope.get("type"))
    if rope.get("rope_type") and rope.get("type") not in (None, rope["rope_type"]):
        reader.warn(
            f"{name} has rope_type {rope['rope_type']!r} and type {rope['type']!r}: "
            "new programs read the first, old ones the second"
        )
    elif "rope_type" not in rope and "type" in rope:
        reader.warn(
            f"{name}.type is the deprecated spelling of rope_type: some programs read only one"
        )
    if named in OLD:
        reader.warn(f"{name} has the deprecated type {named!r}, now {OLD[named]!r}")
    kind = OLD.get(named, named) or "default"
    if kind not in SCALED:
        raise ValueError(f"{name}.rope_type must be one of {', '.join(SCALED)}, got {named!r}")
    return str(kind)


def _rotated(
    reader: _Reader, rope: Mapping[str, Any], kind: str, width: int, part: int | None
) -> tuple[int, float, str]:
    """Return how many dimensions turn, their share of the width, and a description."""
    if part:
        return part, 1.0, f"{part} of {width} dimensions, a separate part"
    share = rope.get("partial_rotary_factor")
    if share is None:
        share = reader.first(("partial_rotary_factor", "rotary_pct"))
    turned = reader.count("rotary_dim")
    if share is None:
        share = turned / width if turned else 1.0
    share = check_real(f"{reader.path}partial_rotary_factor", share)
    if not 0 < share <= 1:
        raise ValueError(
            f"{reader.path}partial_rotary_factor must be above 0 and at most 1, got {share!r}"
        )
    if kind == "proportional":
        pairs = int(share * width // 2)
        return width, share, f"{pairs} of {width // 2} pairs, at frequencies of the whole head"
    rotated = int(width * share)
    if rotated % 2:
        reader.warn(f"{rotated} dimensions are rotated, an odd number: the code decides which")
    if turned and turned != rotated:
        reader.warn(f"rotary_dim says {turned} dimensions, partial_rotary_factor {rotated}")
    return (
        rotated,
        share,
        f"the first {rotated} of {width}" if rotated < width else "the whole head",
    )


def _check_scaling(
    reader: _Reader, name: str, kind: str, rope: Mapping[str, Any], limit: int | None
) -> dict[str, Any]:
    """Return a scaling's fields as `rotary_frequencies` takes them; warn about odd ones."""
    fields = {field: rope[field] for field in SCALED[kind] if rope.get(field) is not None}
    ignored = {field for field in rope if rope[field] is not None} - {*SCALED[kind]} - OTHER
    for field in sorted(ignored):
        reader.warn(f"{name}.{field} is ignored by type {kind!r}")
    outside = reader.text.get(ORIGINAL)
    for field in ("factor", "rope_type", "beta_fast", "low_freq_factor", "long_factor"):
        if reader.text.get(field) is not None:
            reader.warn(f"{field} is outside {name}, so it is ignored")
    if kind in ("yarn", "llama3", "longrope"):
        if outside is not None:
            fields[ORIGINAL] = outside
            if kind != "longrope":
                reader.warn(f"{ORIGINAL} is outside {name}, where some programs ignore it")
        elif ORIGINAL not in fields and limit:
            reader.warn(
                f"{name} has no {ORIGINAL}: transformers falls back to max_position_embeddings, "
                f"{limit}, which is right only if that is the trained length"
            )
            fields[ORIGINAL] = limit
    trained, factor = fields.get(ORIGINAL), fields.get("factor")
    if factor is not None:
        factor = check_real(f"{reader.path}{name}['factor']", factor)
    if trained is not None:
        trained = check_int(f"{reader.path}{name}['{ORIGINAL}']", trained, minimum=2)
    if trained and limit and trained > limit:
        reader.warn(f"{ORIGINAL}, {trained}, exceeds max_position_embeddings, {limit}")
    elif (
        trained and limit and factor and kind in ("yarn", "longrope") and trained * factor != limit
    ):
        reader.warn(
            f"the factor is {factor:g}, but {limit} / {trained} is {limit / trained:g}: "
            "the factor takes precedence"
        )
    needed = {"linear": ("factor",), "dynamic": ("factor",), "llama3": SCALED["llama3"]}
    needed |= {"longrope": (ORIGINAL, "short_factor", "long_factor")}
    for field in needed.get(kind, ()):
        if field not in fields:
            raise ValueError(f"{reader.path}{name} needs the field {field!r} for type {kind!r}")
    if kind == "llama3" and fields.get("low_freq_factor") == fields.get("high_freq_factor"):
        reader.warn("low_freq_factor equals high_freq_factor: no interpolation, frequencies jump")
    if "attention_factor" in fields and ("mscale" in fields or "mscale_all_dim" in fields):
        reader.warn("attention_factor overrides mscale and mscale_all_dim in cosine and sine")
    return {"rope_type": kind, **fields}


def _layers(
    reader: _Reader, label: str, name: str, rope: Mapping[str, Any], base: Any, limit: int | None
) -> dict[str, Any]:
    """Return the fields of `Layers` for layers that rotate."""
    kind = _kind(reader, label, rope)
    scaling = _check_scaling(reader, label, kind, rope, limit)
    inside = rope.get("rope_theta")
    if inside is not None and base is not None and inside != base:
        reader.warn(
            f"rope_theta is {base:g} outside {label}, {inside:g} inside, which takes precedence"
        )
    base = base if inside is None else inside
    found: dict[str, Any] = {"where": ROTARY, "scaling": kind, "attention_factor": None}
    width, part = _widths(reader, name)
    sections = rope.get("mrope_section")
    if base is None:
        reader.warn(f"no base for {name}: each program falls back to its own default")
    else:
        found["base"] = check_base(base)
    if width is None:
        return found
    turned, share, layout = _rotated(reader, rope, kind, width, part)
    found |= {"head_dim": width, "layout": layout, "rotated": turned}
    if kind == "proportional":
        found["rotated"] = 2 * int(share * width // 2)
        scaling["partial_rotary_factor"] = share
    if sections is not None:
        found["sections"] = tuple(sections)
        if sum(sections) != turned // 2:
            reader.warn(f"mrope_section sums to {sum(sections)}, but {turned // 2} pairs turn")
    if kind == "axial":
        reader.warn(f"{name}: rotated along the axes of an image; the code decides how")
    if base is None or turned % 2 or kind == "axial":
        return found

    def computed(seq_len: int | None) -> tuple[NDArray[np.float64], float]:
        fields = {**scaling, "rope_theta": found["base"]}
        try:
            return rotary_frequencies(
                turned, scaling=fields, max_position_embeddings=limit, seq_len=seq_len
            )
        except (TypeError, ValueError) as error:
            text = str(error).replace("scaling[", f"{reader.path}{label}[")
            raise type(error)(text) from None

    omega, found["attention_factor"] = computed(None)
    found["frequencies"] = tuple(omega.tolist())
    beyond = None
    if kind == "longrope":
        beyond = computed(int(scaling[ORIGINAL]) + 1)[0]
    elif kind == "dynamic" and limit:
        beyond = computed(int(limit * scaling["factor"]))[0]
    if beyond is not None:
        found["frequencies_beyond"] = tuple(beyond.tolist())
    depth, factor = scaling.get("mscale_all_dim"), scaling.get("factor", 1.0)
    if kind == "yarn" and depth and factor > 1:
        found["score_factor"] = (0.1 * depth * math.log(factor) + 1) ** 2
        reader.warn(
            f"mscale_all_dim asks for scores times {found['score_factor']:.4g}: "
            "not every model's code does that"
        )
    return found


def _names(reader: _Reader, nested: Mapping[str, Any] | None) -> dict[str, int | None]:
    """Return the kinds of layers, and the number of each."""
    types = reader.words("layer_types")
    if not types and reader.words("hybrid_layer_pattern"):
        pattern = reader.words("hybrid_layer_pattern")
        types = ["sliding_attention" if each else "full_attention" for each in pattern]
    number = reader.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    step = reader.count("sliding_window_pattern", "_sliding_window_pattern")
    step = step or reader.count("global_attn_every_n_layers")
    if not types and step and number:
        types = ["sliding_attention" if (i + 1) % step else "full_attention" for i in range(number)]
    if types:
        return {name: types.count(name) for name in sorted(set(types))}
    if nested:
        return dict.fromkeys(sorted(nested))
    if reader.first(LOCAL_BASES) is not None or step:
        return {"full_attention": None, "sliding_attention": None}
    return {"all layers": number}


def _rotary(reader: _Reader, limit: int | None) -> list[Layers]:
    """Return the kinds of layers of a model that rotates."""
    label, rope = reader.mapping()
    nested = {name: each for name, each in rope.items() if isinstance(each, Mapping)}
    base, local = reader.first(BASES), reader.first(LOCAL_BASES)
    pairing = reader.text.get("rope_interleave")
    pairing = None if pairing is None else "neighbors" if pairing else "halves"
    if reader.text.get("compress_rope_theta"):
        reader.warn("compress_rope_theta is a second base: the code decides which layers use it")
    if reader.path and reader.top.get("rope_scaling"):
        reader.warn(f"rope_scaling beside {reader.path[:-1]} is ignored: move it inside")
    found, names = [], _names(reader, nested)
    sliding = [name for name in names if "sliding" in name]
    for name, count in names.items():
        own = nested.get(name, {} if nested else rope)
        layers: dict[str, Any] = {"name": name, "count": count, "pairing": pairing}
        if "linear" in name or "conv" in name or "mamba" in name:
            found.append(Layers(**layers))
            continue
        if name in sliding:
            layers["window"] = reader.count("sliding_window", "local_attention")
            scaled = own.get("rope_type", own.get("type", "default")) != "default"
            if scaled and not nested and local is None:
                reader.warn(
                    f"{label} covers two kinds of layer: "
                    "the code decides if it applies to sliding windows"
                )
                found.append(Layers(**layers, where=ROTARY))
                continue
            if local is not None and not nested:
                if scaled:
                    reader.warn(f"{label} applies to global attention, not to sliding windows")
                own = {key: own[key] for key in ("partial_rotary_factor",) if key in own}
        elif not sliding and reader.text.get("use_sliding_window") is not False:
            layers["window"] = reader.count("sliding_window")
        theta = local if name in sliding and local is not None and not nested else base
        title = f"{label}.{name}" if name in nested else label
        found.append(Layers(**layers, **_layers(reader, title, name, own, theta, limit)))
    for name in sorted(set(nested) - set(names)):  # parts with names outside `layer_types`
        own = _layers(reader, f"{label}.{name}", name, nested[name], base, limit)
        found.append(Layers(name=name, pairing=pairing, **own))
    if nested:
        found = [each for each in found if each.name in nested or each.where is None]
    return found + _without(reader)


def _without(reader: _Reader) -> list[Layers]:
    """Return non-rotary layers among rotary ones, and warn of their temperature."""
    turns, every = reader.words("no_rope_layers"), reader.count("no_rope_layer_interval")
    number, count = reader.count("num_hidden_layers"), None
    if turns:
        count = turns.count(0)
    elif every and number:
        count = number // every
    if reader.text.get("attn_temperature_tuning"):
        reader.warn("attn_temperature_tuning scales queries by position in layers without rotation")
    return [Layers(name="layers without rotation", where=NOWHERE, count=count)] if count else []


def _other(reader: _Reader) -> list[Layers]:
    """Return the layers of a model without signs of rotation."""
    text = reader.text
    attention = text.get("attn_config")
    alibi = text.get("alibi") or (isinstance(attention, Mapping) and attention.get("alibi"))
    places = []
    if alibi:
        places.append(BIAS)
        if text.get("learned_pos_emb"):
            reader.warn(
                "alibi and learned_pos_emb are both set: the code decides which one is used"
            )
    elif text.get("relative_attention") or text.get("relative_attention_num_buckets"):
        places.append(BIAS)
        if text.get("position_biased_input"):
            places.append(TABLE)
    elif text.get("position_embedding_type") == "absolute":
        places.append(TABLE)
    number = reader.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    where = "; ".join(places) or None
    return [Layers(where=where, count=number)]


def _lengths(reader: _Reader, limit: int | None) -> tuple[int | None, int | None]:
    """Return the trained and the intended length."""
    _, rope = reader.mapping()
    inner = [rope, *(each for each in rope.values() if isinstance(each, Mapping))]
    stretches = {each.get("rope_type", each.get("type")): each.get("factor") for each in inner}
    trained = reader.text.get(ORIGINAL)
    for each in inner:
        trained = trained or each.get(ORIGINAL)
    if trained is not None:
        return check_int(ORIGINAL, trained, minimum=2), limit
    if limit and "dynamic" in stretches:
        return limit, int(limit * check_real("factor", stretches["dynamic"]))
    return (None if "linear" in stretches else limit), limit


def read_config(config: Mapping[str, Any] | str | Path) -> Positions:
    r"""Read what a model's configuration says about positions.

    Parameters
    ----------
    config : mapping, str or Path
        The content of a ``config.json``, or the path of one.

    Returns
    -------
    Positions
        Lengths, kinds of layers, and warnings. `print` shows them, ``as_dict`` returns them as
        JSON types. Anything that only the model's code determines is None: usually which
        dimensions make a pair, or the base if a class fills in its default.

    Raises
    ------
    TypeError
        If `config` is neither, or a field has the wrong type.
    ValueError
        If the file isn't JSON, or a field is missing or invalid: an unknown type of scaling, a
        missing factor, a list of the wrong length. The message names the field.

    Notes
    -----
    Without scaling, pair :math:`i` of a head of width :math:`d` turns per position by

    .. math:: \omega_i = \text{base}^{-2i/d}.

    Fields are read as in transformers 5; warnings point out where other programs, or older
    versions, are known to differ. A test compares the frequencies with transformers for every
    configuration class that rotates.

    Examples
    --------
    >>> found = read_config({"rope_theta": 500_000.0, "head_dim": 128, "num_hidden_layers": 16})
    >>> found.layers[0].rotated, found.layers[0].count
    (128, 16)
    >>> found.layers[0].frequencies[0]
    1.0
    """
    if isinstance(config, (str, Path)):
        try:
            config = json.loads(Path(config).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"config must be a JSON file: {error}") from None
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a mapping or the path of one, got {config!r:.80}")
    reader = _Reader(config)
    limit = reader.count(*LENGTHS)
    signs = (*BASES, *LOCAL_BASES, "rope_parameters", "rope_scaling", "rotary_pct", "rotary_dim")
    rotates = any(reader.text.get(name) is not None for name in (*signs, "qk_rope_head_dim"))
    layers = _rotary(reader, limit) if rotates and not reader.text.get("alibi") else _other(reader)
    trained, intended = _lengths(reader, limit)
    kind = config.get("model_type")
    return Positions(kind, trained, intended, tuple(layers), tuple(reader.warnings))
