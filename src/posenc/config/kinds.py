"""Which kinds of layers a model has, and where positions enter in each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.config.fields import Fields, is_flag, is_number, is_text
from posenc.config.types import WORDS, Entry
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE

FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
MOST_LAYERS = 10_000
MOST_KINDS = 32
ENCODINGS: dict[str, str] = WORDS["encodings"]
WIDTHS_THAT_TURN = ("qk_rope_head_dim", "partial_rotary_factor", "rotary_dim")
# Lists with a value for each layer (Step 3.5), and the field of one layer that each holds.
LISTS = {"rope_theta": "rope_theta", "partial_rotary_factors": "partial_rotary_factor"}
# Kinds that attend like any other, by the beginnings of their names.
PLAIN_KINDS = (ALL, "full", "sliding", "global", "local")
WITHOUT_ATTENTION = ("linear_attention", "mamba", "mlp", "moe", "conv")


@dataclass
class Kind:
    """One kind of layer, with its own fields."""

    fields: Fields
    rope: Fields  # the mapping that describes its rotation
    nested: bool  # whether that mapping is for this kind alone
    entry: Entry
    name: str
    where: str | None
    indices: tuple[int, ...]
    lengths: tuple[int | None, int | None] = (None, None)  # before scaling, intended
    facts: dict[str, Any] = field(default_factory=dict)  # arguments of its `Layers`


def normalize(fields: Fields, entry: Entry) -> list[Kind]:
    """Return the kinds of layers, each with the fields that it reads."""
    encoding = where_positions_enter(fields, entry)
    number = fields.count("num_hidden_layers", most=MOST_LAYERS) or 0
    turns = layers_that_turn(fields, entry, number)
    names = layer_names(fields, entry, turns)
    rope = mapping_of_rotation(fields, entry)
    nested = [key for key, value in rope.content.items() if isinstance(value, Mapping)]
    # Layers of one name differ if they turn or not, or have fields of their own.
    groups: dict[tuple[str, bool, str], list[int]] = {}
    for i, own_fields in enumerate(fields_by_layer(fields, number)):
        still = not turns[i] or names[i] in still_kinds(fields, entry)
        groups.setdefault((names[i], still, json.dumps(own_fields)), []).append(i)
    if not groups or (nested and set(names) == {ALL}):  # it isn't known which layers
        groups = {(name, False, "{}"): [] for name in nested or [ALL]}
    if len(groups) > MOST_KINDS:
        fields.problems.append(
            f"of {len(groups)} kinds of layers {MOST_KINDS} are read"
        )
    kinds = []
    for name, still, own in sorted(groups)[:MOST_KINDS]:
        where = where_in_kind(name, entry, encoding, still, name in nested)
        mapping = rope.inside(name) if nested else rope
        indices = tuple(groups[name, still, own])
        outer = fields.with_own(json.loads(own))
        kinds.append(Kind(outer, mapping, bool(nested), entry, name, where, indices))
    return kinds


def layer_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer: what the file lists, or else what the type's code does."""
    number, names = len(turns), fields.items("layer_types", is_text)
    if not names:
        names = usual_names(fields, entry, turns) or [ALL] * number
    # Files may list layers behind the last one, which predict several tokens ahead.
    ahead = fields.count("num_nextn_predict_layers", least=0) or 0
    if len(names) not in (number, number + ahead):
        fields.problems.append(f"{len(names)} kinds are listed for {number} layers")
    return (names + ["not said"] * number)[:number]


def usual_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer by the code of its type, or nothing."""
    number = len(turns)
    attending = fields.items(entry.get("attention_in", ""), is_number)
    if attending is not None:
        places = [i in attending for i in range(number)]
        return [FULL if here else entry["others"] for here in places]
    flags = fields.items(entry.get("window_in", ""), is_flag)
    if flags:
        return [SLIDING if flag else FULL for flag in flags]
    chunked = entry.get("chunked") and not fields.is_null("attention_chunk_size")
    if chunked:
        return ["chunked_attention" if turning else FULL for turning in turns]
    if fields.flag("use_sliding_window") and "window_from" in entry:
        first = fields.count(entry["window_from"], least=0) or 0
        return [FULL if i < first else SLIDING for i in range(number)]
    return repeated(fields, entry, number)


def repeated(fields: Fields, entry: Entry, number: int) -> list[str]:
    """Repeat the type's usual layers; in some, a field says after how many one differs."""
    group: list[str] = entry.get("repeat", [])
    size = fields.count(entry["every"]) if "every" in entry else None
    if size:  # the layer that differs is the last one of a group, or the first
        odd_one_last = group.count(group[-1]) == 1
        usual = group[0] if odd_one_last else group[-1]
        others = [usual] * (size - 1)
        group = [*others, group[-1]] if odd_one_last else [group[0], *others]
    names = (group * number)[:number]
    if names and "last" in entry:
        names[-1] = entry["last"]
    return names


def layers_that_turn(fields: Fields, entry: Entry, number: int) -> list[bool]:
    """Tell for each layer whether it turns, by lists of layers alone."""
    if not entry.get("skips"):
        return [True] * number
    crossing = fields.items("cross_attention_layers", is_number) or []
    # In spite of the name, 1 turns.
    flags = fields.items("no_rope_layers", is_flag)
    if flags and len(flags) >= number:
        return [bool(flag) for flag in flags[:number]]
    every = fields.count("no_rope_layer_interval") or number + 1
    return [(i + 1) % every > 0 and i not in crossing for i in range(number)]


def still_kinds(fields: Fields, entry: Entry) -> list[str]:
    """Return the kinds of layers that don't turn, perhaps only if a field is set."""
    needed = entry.get("still_if")
    still: list[str] = entry.get("still", [])
    return still if needed is None or fields.value(needed) else []


def mapping_of_rotation(fields: Fields, entry: Entry) -> Fields:
    """Return the mapping that describes a rotation, in the old name or the new one."""
    old, new = fields.inside("rope_scaling"), fields.inside("rope_parameters")
    if old.content and new.content and old.content != new.content:
        fields.problems.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    usual = Fields(entry.get("default_rope", {}), "rope_parameters.")
    return next((each for each in (old, new) if each.content), usual)


def fields_by_layer(fields: Fields, number: int) -> list[dict[str, Any]]:
    """Return for each layer the fields that it has of its own."""
    own: list[dict[str, Any]] = [{} for _ in range(number)]
    for name, inner in LISTS.items():
        values = fields.value(name)
        if isinstance(values, list) and len(values) >= number:
            for i in range(number):
                own[i][inner] = values[i]
    for place, values in fields.inside("per_layer_config").content.items():
        if place.isdecimal() and int(place) < number and isinstance(values, Mapping):
            own[int(place)] |= values
    return own


def where_positions_enter(fields: Fields, entry: Entry) -> str | None:
    """Return where positions enter: what the file says, or else what the type's code does."""
    usual = ENCODINGS.get(entry.get("where", ""))
    said = encoding_said(fields, entry, usual)
    if said is None:
        return usual if entry else encoding_suggested(fields)
    if entry and said not in (usual, NOWHERE) and "chooses" not in entry:
        code = entry["source"].split(",")[0]
        fields.problems.append(
            f"the file asks for an encoding that {code} doesn't have"
        )
    return said


def encoding_said(fields: Fields, entry: Entry, usual: str | None) -> str | None:
    """Return the encoding that the file names, whatever its type does by default."""
    if fields.flag("alibi"):
        return BIAS
    if usual == BIAS and fields.has("alibi"):  # MPT without ALiBi
        return TABLE if fields.flag("learned_pos_emb") is not False else NOWHERE
    if fields.flag("relative_attention"):  # DeBERTa
        table = fields.flag("position_biased_input")
        return f"{BY_OFFSET}; {TABLE}" if table else BY_OFFSET
    if is_switched_off(fields, entry, usual):
        return TABLE if entry.get("table_if_nothing_turns") else NOWHERE
    word = fields.text("position_embedding_type")
    if word is None:
        return None
    encoding = ENCODINGS.get(word.lower())
    if encoding is None:
        place = fields.place("position_embedding_type")
        fields.problems.append(f"{place} {word[:40]!a} isn't known here")
    # "absolute" is what classes derived from BERT's have, whatever they do.
    idle = (encoding, usual) == (TABLE, ROTARY) and "chooses" not in entry
    return None if idle else encoding


def is_switched_off(fields: Fields, entry: Entry, usual: str | None) -> bool:
    """Whether the file says that nothing turns, or that there is no encoding."""
    if "turns_if" in entry and not fields.flag(entry["turns_if"]):
        return True
    if "chooses" in entry and fields.is_null("position_embedding_type"):
        return True
    if fields.flag("mla_use_nope") or fields.flag("use_rope") is False:
        return True
    return usual in (ROTARY, None) and 0 in map(fields.value, WIDTHS_THAT_TURN)


def encoding_suggested(fields: Fields) -> str | None:
    """Return what the fields of a type that isn't known suggest."""
    if fields.has("relative_attention_num_buckets"):
        return BIAS
    return ROTARY if any(map(fields.has, WORDS["signs_of_rotation"])) else None


def where_in_kind(
    name: str, entry: Entry, encoding: str | None, still: bool, has_rotation: bool
) -> str | None:
    """Return where positions enter in one kind of layer, which may differ from the others."""
    if entry and name in WITHOUT_ATTENTION:
        return NO_ATTENTION
    if still and encoding == ROTARY:
        return NOWHERE
    # What another kind of layer does, only the code says.
    plain = has_rotation or name == "attention" or name.startswith(PLAIN_KINDS)
    return encoding if entry or plain else None
