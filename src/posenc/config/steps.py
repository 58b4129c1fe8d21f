"""The four steps of `posenc.read_config`: normalize, validate, compute, warn."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from posenc.config.fields import FIELD, WORDS, Fields, data
from posenc.config.found import BIAS, NO_ATTENTION, NOWHERE, ROTARY, TABLE, Layers, shown
from posenc.scaling import ORIGINAL, SCALINGS, SHARED, Setting, find_scaling

speaks, alike = (  # whether a field's name speaks of positions, or only sounds alike
    lru_cache(4096)(re.compile("|".join(WORDS[name])).search)
    for name in ("speak of positions", "sound alike")
)
SIGNS, WARNINGS = WORDS["signs of a rotation"], WORDS["warnings"]
FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
SHARE, LIMIT = "partial_rotary_factor", "max_position_embeddings"
WIDEST, MOST = 65_536, 32  # dimensions of a head, kinds of layers


@dataclass
class Kind:
    """One kind of layer."""

    rope: Fields  # the mapping that describes its rotation
    code: dict[str, Any]  # what the type's code decides for it
    found: dict[str, Any]  # what is known of its `Layers`
    scaling: Any = None
    fields: dict[str, Any] = field(default_factory=dict)  # of the scaling


@dataclass
class Model:
    """A file and its type."""

    text: Fields
    rope: Fields
    nested: set[Any]  # kinds of layers with a rotation of their own
    code: Mapping[str, Any]  # what the type's code decides; empty if it isn't known
    model_type: str | None
    place: str | None  # where positions enter
    others: list[tuple[Fields, str | None]]  # parts for images and sounds, with their types
    notes: list[str]
    kinds: list[Kind] = field(default_factory=list)


def normalize(top: Fields, kind: str | None = None) -> Model:
    """Return a file's fields, in one spelling and for each kind of layer."""
    text, kind, others = _parts(top, kind)
    known, notes = data("models.json"), list[str]()
    code = known.get(kind, {})
    if "parts" in code:  # the fields of the text stand beside those of other parts
        code = known.get(code["parts"].get(WORDS["parts"][0]), code)
    if "file" not in code:
        named = (text["architectures"] or top["architectures"] or [""])[0].partition("For")[0]
        alike = [name for name in known if named and name.replace("_", "") == named.lower()]
        code = next((known[name] for name in alike if "file" in known[name]), {})
        if code:
            notes.append(f"type {kind!a} isn't known: read as {alike[0]}, as architectures says")
    text.fall_back(code.get("fields", {}))
    ropes = [text.inside(name) for name in ("rope_scaling", "rope_parameters") if text[name]]
    if len(ropes) > 1 and ropes[0].said != ropes[1].said:
        notes.append("rope_scaling and rope_parameters differ: transformers uses rope_scaling")
    if text is not top and top["rope_scaling"]:
        notes.append(f"rope_scaling beside {text.path[:-1]} is ignored: move it inside")
    rope, said = (ropes or [text.inside("rope_parameters")])[0], text["position_embedding_type"]
    place = TABLE if said == "absolute" or "tables" in code else None
    if text["alibi"]:
        place = BIAS
    elif "rotates" in code or str(said)[:2] == "ro" or (said != "absolute" and text.has(*SIGNS)):
        place = ROTARY
    elif text["relative_attention"] or text["relative_attention_num_buckets"]:
        place = f"{BIAS}; {TABLE}" if text["position_biased_input"] else BIAS
    nested = {name for name, each in rope.said.items() if isinstance(each, Mapping)}
    model = Model(text, rope, nested, code, top["model_type"] or kind, place, others, notes)
    model.kinds = list(_kinds(model))
    return model


def _parts(part: Fields, kind: str | None) -> tuple[Fields, str | None, list[Any]]:
    """Return the fields of the text, their type, and other parts with theirs."""
    known, others = data("models.json"), list[Any]()
    while True:
        own, depth = part["model_type"], part.path.count(".")
        if not kind or "parts" not in known.get(own, {"parts": 0}):  # not the type of the whole
            kind = own
        types, inner = known.get(kind, {}).get("parts", {}), part.said
        text = next((each for each in WORDS["parts"] if inner.get(each)), None)
        named = [name for name in inner if str(name).endswith(("_config", "encoder"))]
        named = [name for name in named if name != text and isinstance(inner[name], Mapping)]
        for name in named[:8] if depth < 2 else ():
            fields = Fields(inner[name], f"{part.path}{name}.")
            if fields.has("num_hidden_layers", *WORDS["parts"]):
                part[name] = fields
                others.append((fields, types.get(name)))
        if text is None or depth > 3:
            return part, kind, others
        part, kind = part.inside(text), types.get(text)


def _kinds(model: Model) -> Iterator[Kind]:
    """Yield kinds of layers, first those whose places are known."""
    text, code, nested = model.text, model.code, model.nested
    number = text["num_hidden_layers"] or 0
    names = _by_layer(text, (*WORDS["layers"], *code.get("layers", ()), *WORDS["steps"]), number)
    if names and number not in (0, len(names)):
        model.notes.append(f"{len(names)} kinds of layers are told for {number} layers")
    turns = code.get("rotates", True)  # or a field that says so
    turns = bool(text[turns] if isinstance(turns, str) else turns)
    if not turns or any(text[each] == value for each, value in WORDS["signs of none"].items()):
        turns = False
        text.update(dict.fromkeys(SIGNS))
    number = number or len(names)
    names = names[:number] or [ALL] * (0 if nested else number)
    still = _by_layer(text, WORDS["without rotation"], number) if turns else []
    groups: dict[tuple[str, bool], list[int]] = {}
    for i, kind in enumerate(zip(names, still + [not turns] * number, strict=False)):
        groups.setdefault(kind, []).append(i)
    if len(groups) + len(nested) > MOST:
        raise text.wrong("layer_types", f"name at most {MOST} kinds", sorted({*names, *nested}))
    for (name, apart), places in sorted(groups.items()):
        yield _kind(model, name, not apart, tuple(places))
    rest = nested - {FULL, SLIDING, *names} if names else nested
    if not names and not rest:
        rest = {FULL, SLIDING} if text.has("rope_local_base_freq") else {ALL}
    for name in sorted(rest):
        yield _kind(model, name, turns, None)


def _by_layer(text: Fields, rules: Iterable[Mapping[str, Any]], number: int) -> list[Any]:
    """Return what the first of some rules that applies says of each layer.

    A rule names a field, whose value names each layer, or says which are `one` and which are
    `others`: by a flag for each, their places, the number of first ones, or a step.
    """
    for rule in rules:
        value = (text[rule["field"]] if "field" in rule else None) or rule.get("step")
        if not value or ("if" in rule and not text[rule["if"]]):
            continue
        steps, at, last = isinstance(value, int), rule.get("at"), rule.get("last")
        if steps and "one" not in rule:
            continue
        if "one" not in rule:
            found = (value * (number // len(value) + 1))[:number] if last else list(value)
        else:
            ones, count = value, number
            if steps:
                first = text[at] or 0 if isinstance(at, str) else at or 0
                ones = range(value) if at is None else range(first % value, number, value)
            elif "from" in rule:
                ones = {each - rule["from"] for each in value}
            else:
                ones, count = {i for i, each in enumerate(value) if each}, len(value)
            found = [rule["one"] if i in ones else rule["others"] for i in range(count)]
        return [*found[:-1], last] if last and found else found
    return []


def _kind(model: Model, name: str, turns: bool, places: tuple[int, ...] | None) -> Kind:
    """Return a kind of layer with its own fields."""
    text, where, rope, flat = model.text, model.place, model.rope, not model.nested
    code = {**model.code, **model.code.get("kinds", {}).get(name, {})}
    still = code.get("still")  # or a field that says so
    if "recurrent" in code or name in WORDS["without attention"]:
        where = NO_ATTENTION
    elif not turns or still is True or (still and text[still] is not None):
        where = NOWHERE if where == ROTARY else where
    elif any(word in name for word in WORDS["perhaps without"]):
        where = None
    named = "layers without rotation" if (name, where) == (ALL, NOWHERE) else name
    count = None if places is None else len(places)
    found: dict[str, Any] = {"name": named, "where": where, "indices": places, "count": count}
    if where in (TABLE, ROTARY) and "tables" in code:
        found["table"] = _tables(text, code["tables"])
    window = code.get("window", True) and text["sliding_window"]
    if window and ("sliding" in name or (name == ALL and text["use_sliding_window"] is not False)):
        found["window"] = window
    if "chunk" in name:
        found["chunk"] = text["attention_chunk_size"]
    if where != ROTARY:
        return Kind(rope, code, found)
    rope = rope if flat else rope.inside(name)
    inside, outside, local = rope["rope_theta"], text["rope_theta"], text["rope_local_base_freq"]
    title, local = rope.path[:-1], local if flat and "sliding" in name else None
    base = None if flat and "own_base" in code else outside if inside is None else inside
    if local is not None or (flat and "unscaled" in code):
        if rope["rope_type"] not in (None, "default"):
            model.notes.append(f"{title} applies to global attention, not to {name}")
        rope, base = Fields({SHARE: rope[SHARE]}, rope.path), base if local is None else local
    elif inside and inside != outside and text.has("rope_theta"):
        words = f"is {outside:g} outside {title}, {inside:g} inside, which takes precedence"
        model.notes.append(f"{text.name('rope_theta')} {words}")
    found["base"] = code.get("base") if base is None else base
    return Kind(rope, code, found)


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
    if name == "axial":  # along the axes of an image, as the code decides
        kind.code["axes"] = "image"
    fields = kind.fields = {"rope_type": scaling.name, SHARE: _widths(text, kind)}
    said = {name: rope[name] for name in sorted(scaling.fields - {SHARE})}
    fields |= {name: value for name, value in said.items() if value not in (None, [])}
    limit, needed = text[LIMIT] or 0, scaling.required
    if ORIGINAL in scaling.fields:
        outside = text[ORIGINAL] or text["initial_context_length"] or limit
        if outside > 1 and (text.has(ORIGINAL) or ORIGINAL not in fields):
            fields[ORIGINAL] = outside
        needed |= {"factor", ORIGINAL} if limit < 2 else set()
    if "alpha" in fields:  # Hunyuan's files have factor 1 beside it
        fields.setdefault("factor", 1.0)
    if missing := sorted(needed - fields.keys()):
        raise ValueError(f"{rope.path}{missing[0]} is missing: type {scaling.name!r} needs it")


def _widths(text: Fields, kind: Kind) -> float:
    """Find the width of a head, and how many of its dimensions turn; return their share."""
    rope, code, found, inner = kind.rope, kind.code, kind.found, text
    if text["per_layer_config"]:
        layers, first = text.inside("per_layer_config"), (found["indices"] or (0,))[0]
        inner = layers.inside(f"{first:02d}" if f"{first:02d}" in layers.said else f"{first}")
    names = ("qk_rope_head_dim", "qk_nope_head_dim", "num_attention_heads", "hidden_size")
    part, rest, heads, hidden = (inner[name] or text[name] for name in names)
    own = WORDS["widths"].get(found["name"], "head_dim")
    width = text[own] or inner["head_dim"] or text["head_dim"]
    if width is None and hidden and heads:
        width = hidden // heads
        if not 1 <= width <= WIDEST:
            raise text.wrong("hidden_size", f"give heads of width 1 to {WIDEST}", hidden)
    where = text if rope[SHARE] is None else rope
    share, turned = where[SHARE], text["rotary_dim"]
    if part:
        width = part + rest if rest else width
        first = code.get("first", width - part) if width else None
        found |= {"head_dim": width, "rotated": part, "first": first}
        return 1.0
    if share is None and not text.has("rotary_dim"):
        share = code.get("share")
    if share is None and turned and width:
        if turned > width:
            raise text.wrong("rotary_dim", f"be at most the head's {width}", turned)
        share = turned / width
    share, rotated = share or 1.0, width
    if width and kind.scaling.name != "proportional":
        rotated = int(width * share)
        if not rotated:
            raise where.wrong(SHARE, f"leave a dimension of {width}", share)
    found |= {"head_dim": width, "rotated": rotated, "first": 0 if width else None}
    return share


def compute(model: Model, kind: Kind) -> Layers:
    """Return what runs in one kind of layer."""
    code, text, found, rope = kind.code, model.text, kind.found, kind.rope
    if found["where"] != ROTARY:
        return Layers(**found)
    width, rotated, name = found["head_dim"], found["rotated"], kind.scaling.name
    usual, pairing = code.get("sections", ()), code.get("pairing")
    if pairing is None and text["rope_interleave"] is not None:
        pairing = "neighbors" if text["rope_interleave"] else "halves"
    found |= {"scaling": name, "pairing": pairing}
    if "normed" not in code or text[code["normed"]]:  # a switch of the file
        found["norm"] = code.get("norm")
    sections = rope["mrope_section"] or (usual if sum(usual) == (rotated or 0) // 2 else ())
    found["sections"] = tuple(sections) or None
    if width is None or rotated is None:
        return Layers(**found)
    found["layout"] = f"{rotated} of {width}, from {found['first']} on"
    if name == "proportional":
        found["rotated"] = 2 * int(kind.fields[SHARE] * width // 2)
        found["layout"] = f"{found['rotated']} of {width}, at frequencies of the whole head"
    elif rotated >= width:
        found["layout"] = f"the whole head, {width}"
    scale = code.get("scale")  # a number, or what it is computed from
    if isinstance(scale, str):
        value = width if scale == "head_dim" else text[scale]
        scale = value if scale == "attention_multiplier" else value and value**-0.5
    found["score_scale"] = scale
    if sections and sum(sections) == rotated // 2:
        found["axes"] = tuple(i for i, n in enumerate(sections) for _ in range(n))
        if rope["mrope_interleaved"] or code.get("axes") == "interleaved":  # as in Qwen3-VL
            n, pairs = len(sections), range(rotated // 2)
            found["axes"] = tuple(i % n if i < n * sections[i % n] else 0 for i in pairs)
    if found["base"] is not None and rotated % 2 == 0 and code.get("axes") != "image":
        found |= _frequencies(model, kind, rotated)
    return Layers(**found)


def _frequencies(model: Model, kind: Kind, rotated: int) -> dict[str, Any]:
    """Return frequencies and factors, within the length that a scaling starts from and beyond."""
    limit, fields, name = model.text[LIMIT], kind.fields, kind.scaling.name
    longer, found = fields[ORIGINAL] + 1 if name == "longrope" else None, dict[str, Any]()
    if name == "dynamic" and limit and "alpha" not in fields:
        longer = int(limit * fields["factor"])
    for beyond, length in (("", None), ("_beyond", longer))[: 2 if longer else 1]:
        setting = Setting(kind.found["base"], rotated, rotated, fields, limit, length)
        try:
            omega, factor = kind.scaling.rule(setting)
        except (TypeError, ValueError, OverflowError) as error:  # tell it in the file's names
            words = re.sub(r"scaling\['(\w+)'\]", rf"{kind.rope.path}\1", str(error))
            words = re.sub("^scaling", kind.rope.path[:-1], words)
            raise ValueError(words.partition(", got [")[0]) from None
        for each, value in ("frequencies", tuple(omega.tolist())), ("attention_factor", factor):
            found[each + beyond] = None if found.get(each) == value else value
    depth, stretch = fields.get("mscale_all_dim"), fields.get("factor", 1.0)
    if name == "yarn" and depth and stretch > 1 and kind.code.get("mscale", True):
        found["score_factor"] = (0.1 * depth * math.log(stretch) + 1) ** 2
    return found


def lengths(model: Model) -> tuple[int | None, int | None, int | None]:
    """Return the length before scaling, the intended one, and the limit."""
    limit, text = model.text[LIMIT], model.text
    before = text[ORIGINAL] or text["initial_context_length"]
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
    for name in WORDS["ignored outside"] if model.place == ROTARY else ():
        if text.has(name):
            yield f"{text.path}{name} is outside {rope.path[:-1]}, so it is ignored"
            text[name] = None
    for kind, each in zip(model.kinds, layers, strict=True):
        if kind.scaling:
            yield from _about(model, kind, each)
    yield from (WARNINGS[name] for name in WORDS["read by code"] if text[name])
    text.update(dict.fromkeys(WORDS["never missed"]))
    for fields in (text,) if model.nested else (text, rope):
        yield from _unread(fields.said, fields, fields.path, bool(model.code))


def _about(model: Model, kind: Kind, layers: Layers) -> Iterator[str]:
    """Yield what can't all be meant in one rotation, and what programs read differently."""
    text, rope, fields, scaling = model.text, kind.rope, kind.fields, kind.scaling
    title, kind_of, limit = rope.path[:-1], scaling.name, text[LIMIT]
    new, old, said = rope.said.get("rope_type"), rope.said.get("type"), rope["rope_type"]
    known = scaling.fields | SHARED | (SCALINGS["yarn"].fields if "alpha" in fields else set())
    for each, value in rope.said.items():
        read = FIELD.get(each, each) in rope or each in known or "dim" in str(each)
        if not read and not isinstance(value, Mapping | None):
            yield f"{title}.{str(each)[:60]!a} is ignored by type {kind_of!r}"
        rope.setdefault(FIELD.get(each, each))
    axial = kind.code.get("axes") == "image"
    lacking = ORIGINAL in scaling.fields and not rope.has(ORIGINAL)
    trained, rotated, turned = fields.get(ORIGINAL), layers.rotated or 0, text["rotary_dim"]
    pairs, ratio = rotated // 2, limit / trained if limit and trained else 0
    factor, sections = fields.get("factor", ratio), sum(layers.sections or ())
    applies = {
        "two types": None not in (new, old) and new != old,
        "old spelling": new is None and old is not None,
        "old type": said in scaling.spellings,
        "axial": axial,
        "no base": layers.base is None and not axial,
        "original outside": lacking and text.has(ORIGINAL) and kind_of != "longrope",
        "no original": lacking and not text.has(ORIGINAL),
        "original exceeds": 0 < ratio < 1,
        "factor and ratio": ratio > 1 and factor != ratio and kind_of != "llama3",
        "jump": kind_of == "llama3" and fields["low_freq_factor"] == fields["high_freq_factor"],
        "attention_factor": "attention_factor" in fields and any("mscale" in n for n in fields),
        "alpha": "alpha" in fields and not model.code,
        "odd": rotated % 2,
        "two widths": turned and layers.head_dim and turned != rotated,
        "sections": sections and rotated and sections != pairs,
        "scores": layers.score_factor and not kind.code.get("mscale"),
    }
    facts = locals()  # by these names, the words speak of them
    yield from (WARNINGS[each].format(**facts) for each, applied in applies.items() if applied)


def _unread(said: Mapping[Any, Any], read: Container[Any], path: str, known: bool) -> Iterator[str]:
    """Name the fields that speak of positions and weren't read."""
    for name, value in said.items():
        if not value or FIELD.get(name, name) in read or not isinstance(name, str) or alike(name):
            continue
        if not speaks(name):
            if isinstance(value, Mapping) and path.count(".") < 4:
                yield from _unread(value, (), f"{path}{name}.", known)
        elif value not in ("absolute", "rope") and not (known and isinstance(value, str)):
            place = path if len(name) < 60 else ""
            yield f"{place}{name[:60]!a} isn't read here, and may speak of positions"
