"""Which kinds of layers a model has, and where positions enter in each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.config.fields import WORDS, Entry, Fields
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE

FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
UNKNOWN = ""  # an encoding that the file names, and that nobody here knows
MOST_LAYERS, MOST_KINDS = 10_000, 32
ENCODINGS: dict[str, str] = WORDS["encodings"]


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
    drop_ignored(fields, entry)
    encoding = where_positions_enter(fields, entry)
    turns = layers_that_turn(fields, entry)
    names = layer_names(fields, entry, turns)
    rope = mapping_of_rotation(fields, entry)
    nested = [key for key, value in rope.content.items() if isinstance(value, Mapping)]
    # Layers of one name differ if they turn or not, or have fields of their own.
    groups: dict[tuple[str, bool, str], list[int]] = {}
    for i, own in enumerate(fields_by_layer(fields, len(names))):
        groups.setdefault((names[i], not turns[i], json.dumps(own)), []).append(i)
    if not groups or (nested and set(names) == {ALL}):  # it isn't known which layers
        groups = {(name, False, "{}"): [] for name in nested or [ALL]}
    if len(groups) > MOST_KINDS:
        fields.problems.append(
            f"of {len(groups)} kinds of layers {MOST_KINDS} are read"
        )
    kinds = []
    for (name, still, text), indices in sorted(groups.items())[:MOST_KINDS]:
        known = name in nested or bool(entry)
        where = where_in_kind(
            name, encoding, still or name in still_kinds(fields, entry), known
        )
        mapping = rope.inside(name) if nested else rope
        outer = fields.with_own(json.loads(text))
        kind = Kind(outer, mapping, bool(nested), entry, name, where, tuple(indices))
        kinds.append(kind)
    return kinds


def drop_ignored(fields: Fields, entry: Entry) -> None:
    """Name the fields that the type's code doesn't read, though other code does."""
    for name in entry.get("ignores", ()):
        if fields.content.pop(name, None) not in (None, 1):
            fields.problems.append(
                f"{entry['class']} ignores {name}; other programs may not"
            )


def layer_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer: what the file lists, or else what the type's code does."""
    number = len(turns)
    names = fields.items("layer_types", str) or usual_names(fields, entry, turns)
    # Files may list layers behind the last one, which predict several tokens ahead.
    ahead = fields.count("num_nextn_predict_layers", least=0) or 0
    if len(names) not in (0, number, number + ahead):
        fields.problems.append(f"{len(names)} kinds are listed for {number} layers")
    rest = "not said" if names else ALL
    return (names + [rest] * number)[:number]


def usual_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer by the code of its type, or nothing."""
    number = len(turns)
    attending = fields.items(entry.get("attention_in", ""), int)
    if attending:
        return [FULL if i in attending else entry["others"] for i in range(number)]
    windows = fields.items(entry.get("window_in", ""), int)
    if "window_from" in entry and fields.flag("use_sliding_window"):
        first = fields.count(entry["window_from"], least=0) or 0
        windows = [i >= first for i in range(number)]
    if windows:
        return [SLIDING if window else FULL for window in windows]
    if "chunked" in entry and not fields.is_null("attention_chunk_size"):
        return ["chunked_attention" if turning else FULL for turning in turns]
    names = repeated(entry, fields.count(entry.get("every", ""))) * number
    if "last" in entry:
        names[number - 1 : number] = [entry["last"]]
    return names[:number]


def repeated(entry: Entry, size: int | None) -> list[str]:
    """Return the type's layers as they repeat; in some, a field says after how many."""
    group: list[str] = entry.get("repeat", [])
    if size is None or not group:
        return group
    # The layer that differs is the last one of a group, or the first.
    if group.count(group[-1]) == 1:
        return [group[0]] * (size - 1) + group[-1:]
    return group[:1] + [group[-1]] * (size - 1)


def layers_that_turn(fields: Fields, entry: Entry) -> list[bool]:
    """Tell for each layer whether it turns, by lists of layers alone."""
    number = fields.count("num_hidden_layers", most=MOST_LAYERS) or 0
    if "skips" not in entry:
        return [True] * number
    flags = fields.items("no_rope_layers", int)  # in spite of the name, 1 turns
    crossing = fields.items("cross_attention_layers", int)
    every = fields.count("no_rope_layer_interval") or number + 1
    usual = [(i + 1) % every > 0 and i not in crossing for i in range(number)]
    return [bool(flag) for flag in flags[:number]] if len(flags) >= number else usual


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
    if not (old.content or new.content):
        return Fields(entry.get("default_rope", {}), "rope_parameters.")
    return old if old.content else new


def fields_by_layer(fields: Fields, number: int) -> list[dict[str, Any]]:
    """Return for each layer the fields that it has of its own."""
    own: list[dict[str, Any]] = [{} for _ in range(number)]
    for name, field_of_layer in WORDS["by_layer"].items():
        values = fields.value(name)
        if isinstance(values, list) and len(values) >= number:
            for i in range(number):
                own[i][field_of_layer] = values[i]
    for place, values in fields.inside("per_layer_config").content.items():
        if place.isdecimal() and int(place) < number and isinstance(values, Mapping):
            own[int(place)] |= values
    return own


def where_positions_enter(fields: Fields, entry: Entry) -> str | None:
    """Return where positions enter: what the file says, or else what the type's code does."""
    usual = ENCODINGS.get(entry.get("where", ""))
    said = encoding_said(fields, entry, usual)
    if said is None:
        said = usual if entry else encoding_suggested(fields)
    elif entry and said not in (usual, NOWHERE, UNKNOWN) and "chooses" not in entry:
        words = f"the file asks for an encoding that {entry['class']} doesn't have"
        fields.problems.append(words)
    if "besides" in entry and said != ROTARY:
        return TABLE if said == NOWHERE else f"{said}; {TABLE}"
    return said or None


def encoding_said(fields: Fields, entry: Entry, usual: str | None) -> str | None:
    """Return the encoding that the file names, whatever its type does by default."""
    if fields.flag("alibi"):
        return BIAS
    if usual == BIAS and fields.has("alibi"):  # MPT without ALiBi
        return NOWHERE if fields.flag("learned_pos_emb") is False else TABLE
    if fields.flag("relative_attention"):  # DeBERTa
        table = fields.flag("position_biased_input")
        return f"{BY_OFFSET}; {TABLE}" if table else BY_OFFSET
    if is_switched_off(fields, entry, usual):
        return TABLE if "table_if_nothing_turns" in entry else NOWHERE
    word = fields.text("position_embedding_type")
    encoding = ENCODINGS.get(word.lower())
    if word and (encoding is None or word not in (entry.get("chooses") or [word])):
        place = fields.place("position_embedding_type")
        fields.problems.append(f"{place} {word[:40]!a} isn't known here")
        return UNKNOWN
    # "absolute" is what classes derived from BERT's have, whatever they do.
    rotary = ROTARY in (usual, None if entry else encoding_suggested(fields))
    return None if rotary and encoding == TABLE and "chooses" not in entry else encoding


def is_switched_off(fields: Fields, entry: Entry, usual: str | None) -> bool:
    """Whether the file says that nothing turns, or that there is no encoding."""
    if "turns_if" in entry and not fields.flag(entry["turns_if"]):
        return True
    if "chooses" in entry and fields.is_null("position_embedding_type"):
        return True
    if fields.flag("mla_use_nope") or fields.flag("use_rope") is False:
        return True
    widths = map(fields.value, WORDS["widths_that_turn"])
    return usual in (ROTARY, None) and 0 in widths


def encoding_suggested(fields: Fields) -> str | None:
    """Return what the fields of a type that isn't known suggest."""
    if fields.has("relative_attention_num_buckets"):
        return BIAS
    return ROTARY if any(map(fields.has, WORDS["signs_of_rotation"])) else None


def where_in_kind(
    name: str, encoding: str | None, still: bool, known: bool
) -> str | None:
    """Return where positions enter in one kind of layer, which may differ from the others."""
    if known and name in WORDS["without_attention"]:
        return NO_ATTENTION
    if still and encoding == ROTARY:
        return NOWHERE
    # What another kind of layer does in a type that isn't known, only its code says.
    return encoding if known or name.startswith(tuple(WORDS["plain_kinds"])) else None
