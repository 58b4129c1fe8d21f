"""The four steps of `posenc.read_config`: normalize, validate, compute, warn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.config.fields import FIELD, MODELS, WORDS, Fields, told
from posenc.layers import BIAS, NO_ATTENTION, NOWHERE, ROTARY, TABLE, UNSAID
from posenc.scaling import ORIGINAL, SCALINGS, Setting, find_scaling

speaks = re.compile("|".join(WORDS["speak of positions"])).search  # a field's name
alike = re.compile("|".join(WORDS["sound alike"])).search
CODE = {
    name: each for name, each in MODELS.items() if "file" in each
}  # not of parts alone
SIGNS = WORDS["signs of a rotation"]
FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
SHARE, LIMIT = "partial_rotary_factor", "max_position_embeddings"
MSCALES = {"mscale", "mscale_all_dim"}
WIDEST, MOST, DEEPEST = (
    65_536,
    32,
    5,
)  # dimensions of a head, kinds of layers, models in models


@dataclass
class Kind:
    """One kind of layer."""

    text: Fields  # those of all layers
    rope: Fields  # the mapping that describes its rotation
    code: dict[str, Any]  # what the type's code decides for it
    found: dict[str, Any]  # what is known of its `Layers`
    scaling: Any = None
    fields: dict[str, Any] = field(default_factory=dict)  # of the scaling


def models(
    part: Fields, kind: str | None = None
) -> Iterator[tuple[Fields, str | None]]:
    """Yield the fields and the type of each model in a file, those of the text first."""
    own = part["model_type"]
    if not kind or "parts" not in MODELS.get(
        own, {"parts": 0}
    ):  # not the type of the whole
        kind = own
    types = MODELS.get(kind, {}).get("parts", {})
    inside = part.said if part.path.count(".") < DEEPEST else {}
    text = next((each for each in WORDS["parts"] if inside.get(each)), None)
    if text is None:  # its fields may stand beside those of other parts
        yield part, types.get(WORDS["parts"][0], kind)
    else:
        inner = part.inside(text)
        inner.said.setdefault("architectures", part.said.get("architectures"))
        if part["rope_scaling"]:
            part.notes.append(
                f"{part.path}rope_scaling beside {text} is ignored: move it inside"
            )
        yield from models(inner, types.get(text))
    for name, said in inside.items():
        other = name != text and str(name).endswith(("_config", "encoder"))
        if other and isinstance(said, Mapping):
            fields = Fields(said, f"{part.path}{str(name)[:60]}.")
            if fields.has("num_hidden_layers", *WORDS["parts"]):
                part[name] = said  # so it isn't missed
                yield from models(fields, types.get(name))


def normalize(text: Fields, kind: str | None) -> tuple[Mapping[str, Any], list[Kind]]:
    """Return what a type's code decides, and fields in one spelling for each kind of layer."""
    code, named = (
        CODE.get(kind, {}),
        (text["architectures"] or [""])[0].partition("For")[0].lower(),
    )
    if like := next(
        (one for one in CODE if not code and one.replace("_", "") == named), ""
    ):
        code, words = CODE[like], f"isn't known: read as {like}, as architectures says"
        text.notes.append(f"type {str(kind)[:60]!a} {words}")
    text.defaults = code.get("fields", {})
    rope, other = text.inside("rope_scaling"), text.inside("rope_parameters")
    if rope.said and other.said and rope.said != other.said:
        text.notes.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    rope = rope if rope.said else other
    said = text["position_embedding_type"]
    where = TABLE if said == "absolute" or "tables" in code else None
    if text["alibi"]:
        where = BIAS
    elif (
        "rotates" in code
        or str(said)[:2] == "ro"
        or (said != "absolute" and text.has(*SIGNS))
    ):
        where = ROTARY
    elif text["relative_attention"] or text["relative_attention_num_buckets"]:
        where = f"{BIAS}; {TABLE}" if text["position_biased_input"] else BIAS
    number = text["num_hidden_layers"] or 0
    names = _by_layer(
        text, (*WORDS["layers"], *code.get("layers", ()), *WORDS["steps"]), number
    )
    if names and number not in (0, len(names)):
        text.notes.append(f"{len(names)} kinds of layers are told for {number} layers")
    turns = code.get("rotates", True)
    turns = text[turns] if isinstance(turns, str) else turns  # a field that says so
    if not turns or any(
        text[each] == value for each, value in WORDS["signs of none"].items()
    ):
        turns = text.update(dict.fromkeys(SIGNS))
    nested = {name for name, each in rope.said.items() if isinstance(each, Mapping)}
    number = number or len(names)
    names = names[:number] or [ALL] * (0 if nested else number)
    still = _by_layer(text, WORDS["without rotation"], number) if turns else []
    apart: dict[tuple[str, bool], list[int]] = {}  # kinds of layers, and their places
    for i, each in enumerate(zip(names, still + [not turns] * number, strict=False)):
        apart.setdefault(each, []).append(i)
    rest = nested - {FULL, SLIDING, *names} if names else nested
    if not names and not rest:
        rest = {FULL, SLIDING} if text.has("rope_local_base_freq") else {ALL}
    apart |= {(name, not turns): [] for name in rest}
    if len(apart) > MOST:
        raise text.wrong(
            "layer_types", f"name at most {MOST} kinds", [name for name, _ in apart]
        )
    kinds = []
    for (name, stands), places in sorted(apart.items()):
        found = {"indices": tuple(places), "count": len(places)} if places else {}
        found |= {"name": name, "where": where}
        own = {**code, **code.get("kinds", {}).get(name, {})}
        kinds.append(Kind(text, rope.inside(name) if nested else rope, own, found))
        _complete(kinds[-1], turns=not stands, flat=not nested)
    return code, kinds


def _by_layer(
    text: Fields, rules: Iterable[Mapping[str, Any]], number: int
) -> list[Any]:
    """Return what the first of some rules that applies says of each layer.

    A rule names a field, whose value names each layer, or says which are `one` and which are
    `others`: by a flag for each, their places, the number of first ones, or a step.
    """
    for rule in rules:
        said = (text[rule["field"]] if "field" in rule else None) or rule.get("step")
        step, last, at = isinstance(said, int), rule.get("last"), rule.get("at")
        if (
            not said
            or (step and "one" not in rule)
            or ("if" in rule and not text[rule["if"]])
        ):
            continue
        if step:
            first: int = (text[at] if isinstance(at, str) else at) or 0
            said = [
                i < said if at is None else (i - first) % said == 0
                for i in range(number)
            ]
        elif "from" in rule:
            places = {each - rule["from"] for each in said}
            said = [i in places for i in range(number)]
        elif last:
            said = [said[i % len(said)] for i in range(number)]
        if "one" in rule:
            said = [rule["one"] if each else rule["others"] for each in said]
        return [*said[:-1], last] if last and said else [*said]
    return []


def _complete(kind: Kind, *, turns: bool, flat: bool) -> None:
    """Find where positions enter in a kind of layer, what it sees, and its base."""
    text, rope, code, found = kind.text, kind.rope, kind.code, kind.found
    name, where = found["name"], found["where"]
    still = code.get("still")  # or a field that says so
    if "recurrent" in code or name in WORDS["without attention"]:
        where = NO_ATTENTION
    elif not turns or still is True or (still and text[still] is not None):
        where = NOWHERE if where == ROTARY else where
    elif any(word in name for word in WORDS["perhaps without"]):
        where = None
    found["where"] = where
    if (name, where) == (ALL, NOWHERE):
        found["name"] = "layers without rotation"
    if where in (TABLE, ROTARY) and "tables" in code:
        found["table"] = _tables(text, code["tables"])
    window = code.get("window", True) and text["sliding_window"]
    if window and (
        "sliding" in name or (name == ALL and text["use_sliding_window"] is not False)
    ):
        found["window"] = window
    found["chunk"] = text["attention_chunk_size"] if "chunk" in name else None
    if where != ROTARY:
        return
    inside, outside, local = (
        rope["rope_theta"],
        text["rope_theta"],
        text["rope_local_base_freq"],
    )
    base = None if flat and "own_base" in code else inside or outside
    local = local if flat and "sliding" in name else None
    if local or (flat and "unscaled" in code):
        if rope["rope_type"] not in (None, "default"):
            text.notes.append(
                f"{rope.path[:-1]} applies to global attention, not to {name}"
            )
        kind.rope = Fields({SHARE: rope[SHARE]}, rope.path)
    elif inside and base not in (None, outside) and text.has("rope_theta"):
        words = f"{outside:g} outside {rope.path[:-1]}, {inside:g} inside, which takes precedence"
        text.notes.append(f"{text.name('rope_theta')} is {words}")
    found["base"] = local or base or code.get("base")


def _tables(text: Fields, tables: Mapping[str, Any]) -> str:
    """Return what the input gets from tables, by their names in the code, and their rows."""
    said = []
    for name, table in tables.items():
        field, more = table.get("rows", UNSAID), table.get("more")
        rows = field if text[field] is None else told(text[field])
        said.append(
            f"{name}: {table['kind']}, rows: {rows}{f' + {more}' if more else ''}"
        )
    return "; ".join(said)


def validate(kind: Kind) -> None:
    """Check what the fields of a rotation say together; an error names the field."""
    text, rope, name = kind.text, kind.rope, kind.rope["rope_type"]
    scaling = kind.scaling = find_scaling(
        "default" if name in (None, "axial") else name
    )
    if scaling is None:
        raise rope.wrong("rope_type", f"be one of {', '.join(SCALINGS)}", name)
    if name == "axial":  # along the axes of an image, as the code decides
        kind.code["axes"] = "image"
    fields = kind.fields = {SHARE: _widths(kind)}
    fields |= {
        each: rope[each]
        for each in sorted(scaling.fields)
        if rope[each] not in (None, [])
    }
    limit, needed = text[LIMIT] or 0, set(scaling.required)
    if ORIGINAL in scaling.fields:
        outside = text[ORIGINAL] or text["initial_context_length"] or limit
        if outside > 1 and (text.has(ORIGINAL) or ORIGINAL not in fields):
            fields[ORIGINAL] = outside
        needed |= {"factor", ORIGINAL} if limit < 2 else set()
    if "alpha" in fields:  # Hunyuan's files have factor 1 beside it, and fields of yarn
        fields.setdefault("factor", 1.0)
        rope.update(dict.fromkeys(SCALINGS["yarn"].fields))
    if missing := sorted(needed - fields.keys()):
        raise ValueError(
            f"{rope.path}{missing[0]} is missing: type {scaling.name!r} needs it"
        )


def _widths(kind: Kind) -> float:
    """Find the width of a head, and how many of its dimensions turn; return their share."""
    text, rope, code, found = kind.text, kind.rope, kind.code, kind.found
    names = (
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "num_attention_heads",
        "hidden_size",
    )
    part, rest, heads, hidden = (text[name] for name in names)
    width = text[WORDS["widths"].get(found["name"], "head_dim")] or text["head_dim"]
    if width is None and hidden and heads:
        width = hidden // heads
        if not 1 <= width <= WIDEST:
            raise text.wrong(
                "hidden_size", f"give heads of width 1 to {WIDEST}", hidden
            )
    if part:
        width = part + rest if rest else width
        found |= {
            "head_dim": width,
            "rotated": part,
            "first": width - part if width else None,
        }
        return 1.0
    share = rope[SHARE] or text[SHARE]
    turned = None if share else text["rotary_dim"]
    if turned and width and turned > width:
        raise text.wrong("rotary_dim", f"be at most the head's {width}", turned)
    share = float(share or code.get("share", 1.0))
    rotated = width and (turned or int(width * share))
    if rotated == 0:
        raise (rope if rope[SHARE] else text).wrong(
            SHARE, f"leave a dimension of {width}", share
        )
    found |= {"head_dim": width, "rotated": rotated, "first": 0 if width else None}
    return share


def compute(kind: Kind) -> None:
    """Find what runs in one kind of layer that rotates."""
    code, text, found, rope = kind.code, kind.text, kind.found, kind.rope
    width, rotated, name = found["head_dim"], found["rotated"], kind.scaling.name
    usual, pairing = code.get("sections", ()), code.get("pairing")
    if pairing is None and text["rope_interleave"] is not None:
        pairing = "neighbors" if text["rope_interleave"] else "halves"
    found |= {"scaling": name, "pairing": pairing}
    if "normed" not in code or text[code["normed"]]:  # a switch of the file
        found["norm"] = code.get("norm")
    sections = rope["mrope_section"] or (
        usual if sum(usual) == (rotated or 0) // 2 else ()
    )
    found["sections"] = tuple(sections) or None
    if width is None:
        return
    found["layout"] = f"{rotated} of {width}, from {found['first']} on"
    if name == "proportional":
        found["rotated"], rotated = 2 * (rotated // 2), width
        found["layout"] = (
            f"{found['rotated']} of {width}, at frequencies of the whole head"
        )
    elif rotated >= width:
        found["layout"] = f"the whole head, {width}"
    scale = code.get("scale")  # a number, or what it is computed from
    if isinstance(scale, str):
        value = width if scale == "head_dim" else text[scale]
        scale = value if scale == "attention_multiplier" else value and value**-0.5
    found["score_scale"] = scale
    if sections and sum(sections) == rotated // 2:
        found["axes"] = tuple(i for i, n in enumerate(sections) for _ in range(n))
        if (
            rope["mrope_interleaved"] or code.get("axes") == "interleaved"
        ):  # as in Qwen3-VL
            n, pairs = len(sections), range(rotated // 2)
            found["axes"] = tuple(
                i % n if i < n * sections[i % n] else 0 for i in pairs
            )
    if found["base"] is not None and rotated % 2 == 0 and code.get("axes") != "image":
        found |= _frequencies(kind, rotated)


def _frequencies(kind: Kind, rotated: int) -> dict[str, Any]:
    """Return frequencies and factors, within the length that a scaling starts from and beyond."""
    limit, fields, name, found = (
        kind.text[LIMIT],
        kind.fields,
        kind.scaling.name,
        dict[str, Any](),
    )
    start, intended = kind.scaling.lengths(fields, limit)
    longer = {"longrope": (start or 0) + 1, "dynamic": start and intended}.get(name)
    for beyond, length in ("", None), ("_beyond", longer):
        setting = Setting(kind.found["base"], rotated, fields, limit, length)
        try:
            omega, factor = kind.scaling.rule(setting)
        except (
            TypeError,
            ValueError,
            OverflowError,
        ) as error:  # tell it in the file's names
            head, _, rest = str(error).partition(", got [")[0].partition(" ")
            named = re.fullmatch(r"scaling\['(\w+)'\]", head)
            field = named[1] if named else {"base": "rope_theta"}.get(head, head)
            part = next(
                (part for part in (kind.rope, kind.text) if part.has(field)), None
            )
            place = part.name(field) if part else f"{kind.rope.path[:-1]}: {head}"
            raise ValueError(f"{place} {rest}") from None
        for each, value in (
            ("frequencies", tuple(omega.tolist())),
            ("attention_factor", factor),
        ):
            found[each + beyond] = None if found.get(each) == value else value
    depth, stretch = fields.get("mscale_all_dim"), fields.get("factor", 1.0)
    if name == "yarn" and depth and stretch > 1 and kind.code.get("mscale", True):
        found["score_factor"] = (0.1 * depth * math.log(stretch) + 1) ** 2
    return found


def lengths(
    text: Fields, kinds: list[Kind]
) -> tuple[int | None, int | None, int | None]:
    """Return the length before scaling, the intended one, and the limit."""
    limit, outside = text[LIMIT], text[ORIGINAL] or text["initial_context_length"]
    scaled = [
        each.scaling.lengths(each.fields, limit) for each in kinds if each.scaling
    ]
    start, intended = next((each for each in scaled if each[0]), (None, limit))
    return start or outside, intended, limit


def warn(text: Fields, kinds: list[Kind], known: bool) -> Iterator[str]:
    """Yield where a file contradicts itself, is read differently, or wasn't read."""
    yield from text.notes
    yield from (WORDS["warnings"][name] for name in WORDS["read by code"] if text[name])
    for kind in (each for each in kinds if each.scaling):
        rope, fields, found, limit = kind.rope, kind.fields, kind.found, text[LIMIT]
        title, name, trained = rope.path[:-1], kind.scaling.name, fields.get(ORIGINAL)
        new, old = (rope.said.get(each) for each in ("rope_type", "type"))
        lacking = ORIGINAL in kind.scaling.fields and not rope.has(ORIGINAL)
        ratio = limit / trained if limit and trained else 1
        factor = fields.get("factor", ratio)
        sections, pairs = sum(found.get("sections") or ()), (found["rotated"] or 0) // 2
        applies = {
            "two types": None not in (new, old) and new != old,
            "old spelling": new is None and old is not None,
            "two originals": trained
            and rope.said.get(ORIGINAL)
            and rope[ORIGINAL] != trained,
            "original outside": lacking and text.has(ORIGINAL) and name != "longrope",
            "no original": lacking and not text.has(ORIGINAL),
            "factor and ratio": ratio not in (1, factor) and name != "llama3",
            "attention_factor": "attention_factor" in fields
            and MSCALES & fields.keys(),
            "sections": sections and pairs not in (0, sections),
            "scores": found.get("score_factor") and not kind.code.get("mscale"),
        }
        facts = locals()  # by these names, the words speak of them
        for each in (each for each, applied in applies.items() if applied):
            yield WORDS["warnings"][each].format(**facts)
    for part in (text, *(each.rope for each in kinds)):
        usual = [
            n
            for n, v in part.defaults.items()
            if part.said.get(part.spelled.get(n, n)) == v
        ]
        part.update(dict.fromkeys([*WORDS["never missed"], *usual]))
        yield from _unread(part.said, part, part.path, known)


def _unread(
    said: Mapping[Any, Any], read: Mapping[Any, Any], path: str, known: bool
) -> Any:
    """Name the fields that speak of positions, or stand among such, and weren't read."""
    for name, value in said.items():
        if (
            not value
            or FIELD.get(name, name) in read
            or not isinstance(name, str)
            or alike(name)
        ):
            continue
        place = f"{path[-60:]}{name[:60]}"
        if not speaks(place):
            if isinstance(value, Mapping) and path.count(".") < 4:
                yield from _unread(value, {}, f"{place}.", known)
        elif value not in ("absolute", "rope") and not (
            known and isinstance(value, str)
        ):
            yield f"{place!a} isn't read here, and may speak of positions"
