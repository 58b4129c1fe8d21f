"""The four steps of `posenc.read_config`: normalize, validate, compute, warn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from posenc.config.fields import FIELD, WORDS, Fields, data, spelled
from posenc.config.found import BIAS, NO_ATTENTION, NOWHERE, ROTARY, TABLE, Layers, shown
from posenc.rotary import rotary_frequencies
from posenc.scaling import ORIGINAL, SCALINGS, SHARED, find_scaling

SIGNS, LETTERS, STEPS = (WORDS[name] for name in ("signs of a rotation", "letters", "steps"))
SPEAK, ALIKE = (re.compile("|".join(WORDS[name])) for name in ("speak of positions", "sound alike"))
FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
SHARE, EVERY = "partial_rotary_factor", "no_rope_layer_interval"
WIDTHS = {SLIDING: "swa_head_dim", FULL: "global_head_dim"}
MSCALES = {"mscale", "mscale_all_dim"}
WIDEST = 65_536  # dimensions of a head


@cache
def known_models() -> Mapping[str, Any]:
    """Return what each type's code decides, from ``models.json``, with fields in one spelling."""
    known = {name: dict(code) for name, code in data("models.json").items()}
    for code in (each for each in known.values() if "fields" in each):
        said = code["fields"]
        code["fields"] = said | {name: said[other] for name, other in spelled(said).items()}
    return known


@dataclass
class Kind:
    """One kind of layer."""

    rope: Fields  # the mapping that describes its rotation
    found: dict[str, Any]  # what is known of its `Layers`
    scaling: Any = None
    fields: dict[str, Any] = field(default_factory=dict)  # of the scaling
    axial: bool = False  # pairs turn along the axes of an image, as the code decides
    share: float | None = None  # of the width that turns; None for a rotated vector of its own


@dataclass
class Model:
    """A file and its type."""

    top: Fields
    text: Fields
    model_type: str | None
    code: Mapping[str, Any]  # what the type's code decides; empty if it isn't known
    others: list[tuple[Fields, str | None]]  # parts for images and sounds, with their types
    notes: list[str]
    rope: Fields
    nested: dict[str, Fields] = field(default_factory=dict)  # one for each kind of layer
    place: str | None = None  # where positions enter
    kinds: list[Kind] = field(default_factory=list)


def normalize(top: Fields, kind: str | None = None) -> Model:
    """Return a file's fields, in one spelling and for each kind of layer."""
    model = _identified(top, kind)
    text, code, said = model.text, model.code, model.text["position_embedding_type"]
    ropes = [text.inside(name) for name in ("rope_scaling", "rope_parameters") if text[name]]
    if len(ropes) > 1 and ropes[0].said != ropes[1].said:
        words = "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        model.notes.append(words)
    model.rope = next(iter(ropes), model.rope)
    for name, each in model.rope.said.items():
        if isinstance(each, Mapping):
            model.nested[str(name)] = Fields(each, f"{model.rope.path}{name}.")
    relative = text["relative_attention"] or text["relative_attention_num_buckets"]
    spoken = said != "absolute" and (text.has(*SIGNS) or str(said).startswith("ro"))
    if text.inside("attn_config")["alibi"] or text["alibi"]:
        model.place = BIAS
    elif code.get("rotates") or spoken:
        model.place = ROTARY
    elif relative:
        model.place = f"{BIAS}; {TABLE}" if text["position_biased_input"] else BIAS
    elif said == "absolute" or "tables" in code:
        model.place = TABLE
    _find_kinds(model)
    return model


def _identified(top: Fields, kind: str | None) -> Model:
    """Find the fields of the text, what the code of their type decides, and other parts."""
    known, text, notes = known_models(), top, []
    others: list[tuple[Fields, str | None]] = []
    kind = _type(top, kind)
    for _ in range(4):
        parts, depth = known.get(kind or "", {}).get("parts", {}), text.path.count(".")
        name = next((each for each in WORDS["parts"] if text.said.get(each)), "")
        for other, value in text.said.items() if depth < 4 else ():
            named = str(other).endswith("_config") or other == "encoder"
            if other != name and named and isinstance(value, Mapping) and len(others) < 8:
                part = Fields(value, f"{text.path}{other}.")
                if part.has("num_hidden_layers", *WORDS["parts"]):
                    text.moot.add(str(other))
                    others.append((part, parts.get(other)))
        if not name:
            break
        text = Fields(text.said[name], f"{text.path}{name}.")
        kind = _type(text, parts.get(name))
    code = known.get(kind or "", {})
    if "parts" in code:  # the fields of the text stand beside those of other parts
        code = known.get(code["parts"].get(WORDS["parts"][0], ""), code)
    if "file" not in code and (named := text["architectures"] or top["architectures"]):
        same = named[0].partition("For")[0].lower()
        for each in (n for n in known if n.replace("_", "") == same and "file" in known[n]):
            code = known[each]
            notes.append(f"type {kind!a} isn't known: read as {each}, as architectures says")
    code = code if "file" in code else {}
    if (inner := text.inside("attn_config")).has("rope_theta") and not text.has("rope_theta"):
        text.said, text.spelled["rope_theta"] = {**text.said, **inner.said}, "rope_theta"
    text.fall_back(code.get("fields", {}))
    rope = Fields({}, f"{text.path}rope_parameters.")
    return Model(top, text, top["model_type"] or kind, code, others, notes, rope)


def _type(part: Fields, kind: str | None) -> str | None:
    """Return a part's own type, unless it is that of the whole: then what the whole says."""
    own: str | None = part["model_type"]
    return kind if kind and "parts" in known_models().get(own or "", {"parts": 0}) else own


def _find_kinds(model: Model) -> None:
    """Group layers that are alike."""
    text, nested, sequence = model.text, model.nested, _sequence(model)
    number = text["num_hidden_layers"] or len(sequence)
    if sequence and len(sequence) != number:
        model.notes.append(f"{len(sequence)} kinds of layers are told for {number} layers")
    groups: dict[tuple[str, bool], Any] = {}
    if sequence or (number and not nested):
        names, turned = sequence or [ALL] * number, _turned(model, number)
        for i, each in enumerate(zip(names, turned, strict=False)):
            groups.setdefault(each, []).append(i)
    else:
        both = (FULL, SLIDING) if text.has("rope_local_base_freq") else (ALL,)
        groups = {(name, True): None for name in nested or both}
    kinds = [_kind(model, *each, indices) for each, indices in groups.items()]
    kinds.sort(key=lambda each: (each.found["name"].startswith("layers"), each.found["name"]))
    for name in sorted(nested.keys() - {FULL, SLIDING, *(name for name, _ in groups)}):
        kinds.append(_kind(model, name, True, None))
    model.kinds = kinds


def _sequence(model: Model) -> list[str]:
    """Return the kind of each layer, if the file or the type's code says."""
    text, pattern = model.text, model.code.get("pattern", {})
    number, turns = text["num_hidden_layers"] or 0, text["no_rope_layers"]
    for rule in WORDS["layers"]:
        value = text[rule["field"]]
        if value and "inside" in rule:
            value = text.inside(rule["field"])[rule["inside"]]
        if value and "numbers" in rule:
            return [rule["numbers"][bool(each)] for each in value]
        if value and "from" in rule:
            full = {each - rule["from"] for each in value}
            return [FULL if i in full else rule["others"] for i in range(number)]
        if value:
            return list(value)
    letters, steps = text["hybrid_override_pattern"], text["sliding_window_pattern"]
    if letters is None and isinstance(steps, str):  # Exaone's, whose last layer is a full one
        letters = f"{(steps * number)[: number - 1]}G" if 0 < len(steps) < 100 else steps
    if letters is not None:
        return [LETTERS[each] for each in letters]
    if turns and pattern.get("field") == EVERY:
        return [pattern["others"] if each else pattern["one"] for each in turns[:number]]
    late = text["max_window_layers"]
    if late and text["use_sliding_window"]:
        return [SLIDING if i >= late else FULL for i in range(number)]
    named = next((each for each in (*STEPS, pattern.get("field")) if each and text.has(each)), "")
    rule, step = pattern or STEPS.get(named), (named and text[named]) or pattern.get("step")
    if not rule or not step or not number:
        return []
    at = rule["at"] if rule["at"] in (0, -1) else text[rule["at"]] or 0
    found = [rule["one" if (i - at) % step == 0 else "others"] for i in range(number)]
    return [*found[:-1], rule.get("last", found[-1])]


def _turned(model: Model, number: int) -> list[bool]:
    """Return for each layer whether its queries and keys turn, as far as fields speak of that."""
    text, code = model.text, model.code
    off = "switch" in code and not text[code["switch"]]
    if code.get("none") or off or text["position_embedding_type"] == "nope" or text["mla_use_nope"]:
        text.moot.update(SIGNS)
        return [False] * number
    found = [bool(each) for each in text["no_rope_layers"] or ()]
    every, asked = text[EVERY], text.has(EVERY) or "without" in code
    if not found and every and asked and code.get("pattern", {}).get("field") != EVERY:
        found = [bool((i + 1) % every) for i in range(number)]
    images = text["cross_attention_layers"] or ()  # Mllama's, whose keys are of images
    if not found and not images:
        return [True] * number
    return [i not in images and (i >= len(found) or found[i]) for i in range(number)]


def _where(model: Model, name: str, turned: bool) -> str | None:
    """Return where positions enter layers of one name."""
    still = model.code.get("still", {}).get(name)
    if name in model.code.get("recurrent", ()) or name in WORDS["without attention"]:
        return NO_ATTENTION
    if not turned or still is True or (still and model.text[still] is not None):
        return NOWHERE if model.place == ROTARY else model.place
    return None if any(word in name for word in WORDS["perhaps without"]) else model.place


def _kind(model: Model, name: str, turned: bool, indices: list[int] | None) -> Kind:
    """Return a kind of layer with its own fields."""
    text, code, flat = model.text, model.code, not model.nested
    rope = model.rope if flat else model.nested.get(name, Fields({}, model.rope.path))
    where = _where(model, name, turned)
    named = "layers without rotation" if (name, where) == (ALL, NOWHERE) else name
    found: dict[str, Any] = {"name": named, "where": where}
    if indices is not None:
        found |= {"indices": tuple(indices), "count": len(indices)}
    if where in (TABLE, ROTARY) and "tables" in code:
        found["table"] = _tables(text, code["tables"])
    kind, limited = Kind(rope, found), name == ALL and text["use_sliding_window"] is not False
    if code.get("window", True) and (text["sliding_window"] and ("sliding" in name or limited)):
        found["window"] = text["sliding_window"]
    if "chunk" in name:
        found["chunk"] = text["attention_chunk_size"]
    if where != ROTARY:
        return kind
    outside, inside, local = text["rope_theta"], rope["rope_theta"], text["rope_local_base_freq"]
    near, base = flat and "sliding" in name and local is not None, None
    if near or (flat and name in code.get("unscaled", ())):
        if rope["rope_type"] not in (None, "default"):
            words = f"{rope.path[:-1]} applies to global attention, not to {name}"
            model.notes.append(words)
        share = {"partial_rotary_factor": rope["partial_rotary_factor"]}
        kind.rope = Fields(share, rope.path)
    elif inside != outside and inside and text.has("rope_theta"):
        words = f"is {outside:g} outside {rope.path[:-1]}, {inside:g} inside, which"
        model.notes.append(f"{text.name('rope_theta')} {words} takes precedence")
    if near:
        base = local
    elif not (flat and name in code.get("own_base", ())):
        base = outside if inside is None else inside
    bases = code.get("bases", {})
    found["base"] = bases.get(name, bases.get("")) if base is None else base
    return kind


def _tables(text: Fields, tables: Mapping[str, Any]) -> str:
    """Return what the input gets from tables, by their names in the code if there are some."""
    said = []
    for name, table in tables.items():
        rows, size, patch = text[table.get("rows", "")], text["image_size"], text["patch_size"]
        if table.get("rows") == "patches" and type(size) is type(patch) is int and patch > 0:
            rows = (size // patch) ** 2
        words = f"{name}: {table['kind']}" if len(tables) > 1 else table["kind"]
        said.append(f"{words}, {shown(rows + table['more'])} rows" if type(rows) is int else words)
    return "; ".join(said)


def validate(model: Model, kind: Kind) -> None:
    """Check what the fields of a rotation say together; an error names the field."""
    if kind.found["where"] != ROTARY:
        return
    text, rope, name = model.text, kind.rope, kind.rope["rope_type"]
    scaling = kind.scaling = find_scaling("default" if name in (None, "axial") else name)
    if scaling is None:
        raise rope.wrong("rope_type", f"be one of {', '.join(SCALINGS)}", name)
    kind.axial = name == "axial" or model.code.get("axes") == "image"
    _check_widths(model, kind)
    sections, said = rope["mrope_section"] or (), model.code.get("sections", ())
    if any(not 0 <= each <= WIDEST for each in sections):
        raise rope.wrong("mrope_section", "hold counts of pairs", sections)
    if not sections and sum(said) == (kind.found["rotated"] or 0) // 2:
        sections = said
    kind.found["sections"] = tuple(sections) or None
    values = {name: rope[name] for name in sorted(scaling.fields)}
    fields = {name: value for name, value in values.items() if value not in (None, [])}
    outside = text[ORIGINAL] or text["initial_context_length"]
    limit, needed = text["max_position_embeddings"] or 0, scaling.required
    if ORIGINAL in scaling.fields:
        needed |= {"factor", ORIGINAL} if limit < 2 else set()
        if before := outside or (limit if limit > 1 else None):
            fields[ORIGINAL] = outside if text.has(ORIGINAL) else fields.get(ORIGINAL, before)
    if "alpha" in fields:  # Hunyuan's files have factor 1 beside it
        fields.setdefault("factor", 1.0)
    if missing := sorted(needed - fields.keys()):
        raise ValueError(f"{rope.path}{missing[0]} is missing: type {scaling.name!r} needs it")
    kind.fields = {"rope_type": scaling.name, **fields}


def _check_widths(model: Model, kind: Kind) -> None:
    """Find the width of a head, and how many of its dimensions turn."""
    text, rope, found = model.text, kind.rope, kind.found
    first, own = found.get("indices", (0,))[0], text.inside("per_layer_config")
    inner = own.inside(f"{first:02d}" if f"{first:02d}" in own.said else f"{first}")
    names = ("embed_dim", "num_attention_heads", "qk_rope_head_dim", "qk_nope_head_dim")
    hidden, heads, part, rest = (inner[name] or text[name] for name in names)
    width = text[WIDTHS.get(found["name"], "head_dim")] or inner["head_dim"] or text["head_dim"]
    if width is None and hidden and heads:
        width = hidden // heads
        if not 1 <= width <= WIDEST:
            raise text.wrong("embed_dim", f"give heads of width 1 to {WIDEST}", hidden)
    found["head_dim"], found["rotated"] = part + rest if part and rest else width, part
    where = text if rope[SHARE] is None else rope
    share, turned, shares = where[SHARE], text["rotary_dim"], model.code.get("shares", {})
    if part:
        return
    if share is None and not text.has("rotary_dim"):
        share = shares.get(found["name"], shares.get(""))
    if share is None and turned and width:
        share = turned / width
        if share > 1:
            raise text.wrong("rotary_dim", f"be at most the head's {width}", turned)
    kind.share, found["rotated"] = share or 1.0, width
    if width and kind.scaling.name != "proportional":
        found["rotated"] = int(width * kind.share)
        if not found["rotated"]:
            raise where.wrong(SHARE, f"leave a dimension of {width}", share)


def compute(model: Model, kind: Kind) -> Layers:
    """Return what runs in one kind of layer."""
    code, text, found = model.code, model.text, kind.found
    if found["where"] != ROTARY:
        return Layers(**found)
    width, rotated, scaling = found["head_dim"], found["rotated"], kind.scaling.name
    found |= {"scaling": scaling, "norm": code.get("norm"), "pairing": code.get("pairing")}
    if "normed" in code:  # a switch of the file
        name, default = code["normed"]
        on = text[name] if text.has(name) else default
        found["norm"] = code.get("norm", "before") if on else None
    if found["pairing"] in (None, "field"):
        said = {True: "neighbors", False: "halves", None: None}
        found["pairing"] = said[text["rope_interleave"]]
    if width is None or rotated is None:
        return Layers(**found)
    found["first"] = code.get("first", width - rotated) if kind.share is None else 0
    found["layout"] = f"the whole head, {width}"
    if scaling == "proportional":
        found["rotated"] = 2 * int((kind.share or 1) * width // 2)
        found["layout"] = f"{found['rotated']} of {width}, at frequencies of the whole head"
    elif rotated < width:
        found["layout"] = f"{rotated} of {width}, from {found['first']} on"
    scale = code.get("scale")  # a number, or what it is computed from
    if isinstance(scale, str):
        value = width if scale == "head_dim" else text[scale]
        scale = value if scale == "attention_multiplier" else value and value**-0.5
    found["score_scale"] = scale
    if found["sections"] and sum(found["sections"]) == rotated // 2:
        found["axes"] = tuple(i for i, n in enumerate(found["sections"]) for _ in range(n))
        if kind.rope["mrope_interleaved"] or code.get("axes") == "interleaved":  # as in Qwen3-VL
            counts, n = found["sections"], len(found["sections"])
            turns = range(sum(counts))
            found["axes"] = tuple(i % n if i < n * counts[i % n] else 0 for i in turns)
    if found["base"] is not None and rotated % 2 == 0 and not kind.axial:
        found |= _frequencies(model, kind, rotated)
    return Layers(**found)


def _frequencies(model: Model, kind: Kind, rotated: int) -> dict[str, Any]:
    """Return frequencies and factors, within the length that a scaling starts from and beyond."""
    limit, scaling, rope = model.text["max_position_embeddings"], kind.scaling.name, kind.rope
    fields = {**kind.fields, "rope_theta": kind.found["base"]}
    if scaling == "proportional":
        fields[SHARE] = kind.share

    def computed(seq_len: int | None) -> tuple[tuple[float, ...], float]:
        lengths = {"max_position_embeddings": limit, "seq_len": seq_len}
        try:
            omega, factor = rotary_frequencies(rotated, scaling=fields, **lengths)
        except (TypeError, ValueError, OverflowError) as error:  # tell it in the file's names
            words = re.sub(r"scaling\['(\w+)'\]", rf"{rope.path}\1", str(error))
            base = (rope if rope.has("rope_theta") else model.text).name("rope_theta")
            words = re.sub("^base", base, re.sub("^scaling", rope.path[:-1], words))
            raise ValueError(words.partition(", got [")[0]) from None
        return tuple(omega.tolist()), factor

    now, factor = computed(None)
    found: dict[str, Any] = {"frequencies": now, "attention_factor": factor}
    longer = fields[ORIGINAL] + 1 if scaling == "longrope" else None
    if scaling == "dynamic" and limit and "alpha" not in fields:
        longer = int(limit * fields["factor"])
    if longer:
        beyond, other = computed(longer)
        found["frequencies_beyond"] = beyond if beyond != now else None
        found["attention_factor_beyond"] = other if other != factor else None
    depth, stretch = fields.get("mscale_all_dim"), fields.get("factor", 1.0)
    if scaling == "yarn" and depth and stretch > 1 and model.code.get("mscale", True):
        found["score_factor"] = (0.1 * depth * math.log(stretch) + 1) ** 2
    return found


def lengths(model: Model) -> tuple[int | None, int | None, int | None]:
    """Return the length before scaling, the intended one, and the limit."""
    limit = model.text["max_position_embeddings"]
    before = model.text[ORIGINAL] or model.text["initial_context_length"]
    for fields in (each.fields for each in model.kinds):
        before, name = fields.get(ORIGINAL, before), fields.get("rope_type")
        stretched = name in ("linear", "dynamic", "yarn", "longrope") and "alpha" not in fields
        if stretched and "factor" in fields:
            start = limit if name == "dynamic" else fields.get(ORIGINAL)
            return start, int(start * fields["factor"]) if start else limit, limit
    return before, limit, limit


def warn(model: Model, layers: Iterable[Layers]) -> Iterator[str]:
    """Yield where a file contradicts itself, is read differently, or wasn't read."""
    yield from model.notes
    text, rope = model.text, model.rope
    if text is not model.top and model.top["rope_scaling"]:
        yield f"rope_scaling beside {text.path[:-1]} is ignored: move it inside"
    for name in ("factor", "beta_fast", "low_freq_factor", "long_factor"):
        if text.has(name) and model.place == ROTARY:
            yield f"{text.path}{name} is outside {rope.path[:-1]}, so it is ignored"
            text.moot.add(name)
    for kind, each in zip(model.kinds, layers, strict=True):
        if kind.scaling:
            yield from _about(model, kind, each)
    for name, fields in WORDS["read by code"].items():
        if text[name]:
            text.moot.update(fields)
            yield WORDS["warnings"][name]
    text.moot.update(WORDS["never missed"])
    yield from _unread(text, text.path.count("."), bool(model.code))
    if not model.nested:
        yield from _unread(rope, 0, bool(model.code))


def _about(model: Model, kind: Kind, layers: Layers) -> Iterator[str]:
    """Yield what can't all be meant in one rotation, and what programs read differently."""
    text, rope, fields, scaling = model.text, kind.rope, kind.fields, kind.scaling
    title, name, limit = rope.path[:-1], scaling.name, text["max_position_embeddings"]
    new, old = rope.said.get("rope_type"), rope.said.get("type")
    known = scaling.fields | SHARED | (SCALINGS["yarn"].fields if "alpha" in fields else set())
    rope.moot.update(rope.spelled, rope.said)
    for each, value in rope.said.items():
        ignored = each not in known and FIELD.get(each) not in rope and "dim" not in str(each)
        if ignored and not isinstance(value, Mapping | None):
            yield f"{title}.{str(each)[:60]!a} is ignored by type {name!r}"
    lacking = ORIGINAL in scaling.fields and not rope.has(ORIGINAL)
    trained, rotated, turned = fields.get(ORIGINAL), layers.rotated or 0, text["rotary_dim"]
    ratio = limit / trained if limit and trained else 0
    factor, low = fields.get("factor", ratio), fields.get("low_freq_factor")
    sections = sum(layers.sections or ())
    applies = {
        "two types": None not in (new, old) and new != old,
        "old spelling": new is None and old is not None,
        "old type": new in scaling.spellings or old in scaling.spellings,
        "axial": kind.axial,
        "no base": layers.base is None and not kind.axial,
        "original outside": lacking and text.has(ORIGINAL) and name != "longrope",
        "no original": lacking and not text.has(ORIGINAL),
        "original exceeds": 0 < ratio < 1,
        "factor and ratio": ratio > 1 and factor != ratio and name != "llama3",
        "jump": name == "llama3" and low == fields["high_freq_factor"],
        "attention_factor": "attention_factor" in fields and MSCALES & fields.keys(),
        "alpha": "alpha" in fields and not model.code,
        "odd": rotated % 2,
        "two widths": turned and layers.head_dim and turned != rotated,
        "sections": sections and rotated and sections != rotated // 2,
        "scores": layers.score_factor and not model.code.get("mscale"),
    }
    facts = {"title": title, "layers": layers, "type": name, "new": new, "old": old}
    facts |= {"limit": limit, "trained": trained, "ratio": ratio, "factor": factor}
    facts |= {"turned": turned, "sections": sections, "pairs": rotated // 2, "given": new or old}
    for warning in (each for each, applied in applies.items() if applied):
        yield WORDS["warnings"][warning].format(**facts)


def _unread(fields: Fields, depth: int, known: bool) -> Iterator[str]:
    """Name the fields that speak of positions and weren't read."""
    for name, value in fields.said.items():
        field: Any = FIELD.get(name, name)
        if field in fields or field in fields.moot or not value or not isinstance(name, str):
            continue
        usual = value in ("absolute", "rope") or fields.defaults.get(field) == value
        if _speaks(name) and not usual and not (known and isinstance(value, str)):
            place = fields.path if len(name) < 60 else ""
            yield f"{place}{name[:60]!a} isn't read here, and may speak of positions"
        elif _speaks(name) is False and isinstance(value, Mapping) and depth < 4:
            yield from _unread(Fields(value, f"{fields.path}{name}."), depth + 1, known)


@lru_cache(4096)
def _speaks(name: str) -> bool | None:
    """Whether a field's name speaks of positions; None if it only sounds alike."""
    return None if ALIKE.search(name) else bool(SPEAK.search(name))
