"""Which kinds of layers a model has, and where positions enter in each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from posenc.config.fields import WORDS, Entry, Fields
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE

FULL, SLIDING, ALL = "full_attention", "sliding_attention", "all layers"
UNKNOWN = ""  # an encoding that the file names, and that nobody here knows
MOST_LAYERS, MOST_KINDS = 10_000, 32
Where = str | None  # where positions enter; None if nobody says
ENCODINGS: dict[str, str] = WORDS["encodings"]


class Group(NamedTuple):
    """What layers of one kind have in common."""

    name: str
    still: bool = False  # they don't turn, though the model's layers do
    own_fields: str = "{}"  # that these layers alone have, as JSON


@dataclass(frozen=True)
class Kind:
    """One kind of layer, with its own fields, before anything is computed from them."""

    fields: Fields
    rope: Fields  # the mapping that describes its rotation
    nested: bool  # whether that mapping is for this kind alone
    entry: Entry
    name: str
    where: Where
    indices: tuple[int, ...]


def normalize(fields: Fields, entry: Entry) -> list[Kind]:
    """Return the kinds of layers, each with the fields that it reads."""
    drop_ignored(fields, entry)
    encoding = where_positions_enter(fields, entry)
    rope = mapping_of_rotation(fields, entry)
    nested = [
        name for name, value in rope.content.items() if isinstance(value, Mapping)
    ]
    groups = groups_of_layers(fields, entry)
    kinds_are_told = any(group.name != ALL for group in groups)
    if not groups or (nested and not kinds_are_told):
        # It isn't known which layers are of which kind.
        names = nested or [ALL]
        groups = {Group(name): [] for name in names}
    if len(groups) > MOST_KINDS:
        fields.problems.append(
            f"of {len(groups)} kinds of layers {MOST_KINDS} are read"
        )
    kinds = []
    for group in sorted(groups)[:MOST_KINDS]:
        known = group.name in nested or bool(entry)
        kind = Kind(
            fields=fields.with_own(json.loads(group.own_fields)),
            rope=rope.inside(group.name) if nested else rope,
            nested=bool(nested),
            entry=entry,
            name=group.name,
            where=where_in_kind(group, encoding, known),
            indices=tuple(groups[group]),
        )
        kinds.append(kind)
    return kinds


def groups_of_layers(fields: Fields, entry: Entry) -> dict[Group, list[int]]:
    """Return the layers of each kind: they differ in name, rotation, or own fields."""
    turns = layers_that_turn(fields, entry)
    names = layer_names(fields, entry, turns)
    still = still_kinds(fields, entry)
    own_fields = fields_by_layer(fields, len(names))
    groups: dict[Group, list[int]] = {}
    for i, name in enumerate(names):
        rests = name in still or not turns[i]
        group = Group(name, rests, json.dumps(own_fields[i]))
        groups.setdefault(group, []).append(i)
    return groups


def drop_ignored(fields: Fields, entry: Entry) -> None:
    """Name the fields that the type's code doesn't read, though other code does."""
    for name in entry.get("ignores", ()):
        value = fields.content.pop(name, None)
        if value not in (None, 1):
            fields.problems.append(
                f"{entry['class']} ignores {name}; other programs may not"
            )


def layer_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer: what the file lists, or else what the type's code does."""
    number = len(turns)
    # An empty list counts as none, as in transformers.
    names = fields.items("layer_types", str)
    if not names:
        names = usual_names(fields, entry, turns)
    # Files may list layers behind the last one, which predict several tokens ahead.
    ahead = fields.count("num_nextn_predict_layers", least=0) or 0
    if len(names) not in (0, number, number + ahead):
        fields.problems.append(f"{len(names)} kinds are listed for {number} layers")
    rest = "not said" if names else ALL
    return (names + [rest] * number)[:number]


def usual_names(fields: Fields, entry: Entry, turns: list[bool]) -> list[str]:
    """Return the kind of each layer by the code of its type, or nothing.

    Types have at most one of these keys: `attention_in`, `attention_every`, one with `window_`,
    `chunked`, `repeat`.
    """
    number = len(turns)
    # Hybrids have attention in some layers.
    attending = layers_with_attention(fields, entry, number)
    if attending:
        others = entry["others"]
        return [FULL if i in attending else others for i in range(number)]
    # MiMo and Qwen say which layers have a window.
    windows = layers_with_window(fields, entry, number)
    if windows:
        return [SLIDING if window else FULL for window in windows]
    # Llama 4 attends by chunks where it turns, unless their size is null.
    if "chunked" in entry and not fields.is_null("attention_chunk_size"):
        return ["chunked_attention" if turning else FULL for turning in turns]
    # In others, like Gemma, kinds repeat; where they don't, nothing is known.
    field_of_size = entry.get("every", "")
    group = repeated(entry, fields.count(field_of_size, most=MOST_LAYERS))
    if not group:
        return []
    names = [group[i % len(group)] for i in range(number)]
    if names and "last" in entry:
        names[-1] = entry["last"]
    return names


def layers_with_attention(fields: Fields, entry: Entry, number: int) -> set[int]:
    """Return the layers of a hybrid that attend, or none if no field says it."""
    # In Jamba, one of so many does.
    if "attention_every" in entry:
        period = fields.count(entry["attention_every"])
        offset = fields.count(entry["attention_at"], least=0)
        if period is None:
            return set()
        return {i for i in range(number) if i % period == offset}
    # Bamba, LFM2 and Kimi list them; Kimi counts from 1.
    field_of_list = entry.get("attention_in", "")
    start = entry.get("attention_from", 0)
    return {i - start for i in fields.items(field_of_list, int)}


def layers_with_window(fields: Fields, entry: Entry, number: int) -> list[Any]:
    """Tell for each layer whether it has a window, or nothing if no field says it."""
    # Qwen has the first layer with a window, and a flag without which there is none.
    if "window_from" in entry and fields.flag("use_sliding_window"):
        first = fields.count(entry["window_from"], least=0) or 0
        return [i >= first for i in range(number)]
    # MiMo has a 0 or 1 for each layer.
    field_of_flags = entry.get("window_in", "")
    return fields.items(field_of_flags, int)


def repeated(entry: Entry, size: int | None) -> list[str]:
    """Return the type's layers as they repeat; in some, a field says after how many."""
    group = entry.get("repeat", [])
    if size is None or not group:
        return group
    # The layer that differs is the last one of a group, or the first.
    first, last = group[0], group[-1]
    if group.count(last) == 1:
        return [first] * (size - 1) + [last]
    return [first] + [last] * (size - 1)


def layers_that_turn(fields: Fields, entry: Entry) -> list[bool]:
    """Tell for each layer whether it turns, by lists of layers alone."""
    number = fields.count("num_hidden_layers", most=MOST_LAYERS)
    if number is None:
        number = len(fields.items("layer_types", str)[:MOST_LAYERS])
    if "skips" not in entry:
        return [True] * number
    # In spite of the field's name, 1 turns.
    flags = fields.items("no_rope_layers", int)
    if flags and len(flags) >= number:
        return [bool(flag) for flag in flags[:number]]
    crossing = set(fields.items("cross_attention_layers", int))
    every = fields.count("no_rope_layer_interval") or number + 1
    turns = []
    for i in range(number):
        skipped = (i + 1) % every == 0
        turns.append(not skipped and i not in crossing)
    return turns


def still_kinds(fields: Fields, entry: Entry) -> list[str]:
    """Return the kinds of layers that don't turn, perhaps only if a field is set."""
    needed = entry.get("still_if")
    if needed is not None and not fields.value(needed):
        return []
    return entry.get("still", [])


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
        if not place.isdecimal() or not isinstance(values, Mapping):
            continue
        i = int(place)
        if i < number:
            own[i] |= values
    return own


def where_positions_enter(fields: Fields, entry: Entry) -> Where:
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


def encoding_said(fields: Fields, entry: Entry, usual: Where) -> Where:
    """Return the encoding that the file names, whatever its type does by default.

    A flag counts more than a word, as ``position_embedding_type`` may be inherited.
    """
    # The flag of Falcon and MPT.
    if fields.flag("alibi"):
        return BIAS
    # MPT without ALiBi has a table, which another flag takes away.
    if usual == BIAS and fields.has("alibi"):
        bare = fields.flag("learned_pos_emb") is False
        return NOWHERE if bare else TABLE
    # DeBERTa has offsets in scores, and may have a table besides.
    if fields.flag("relative_attention"):
        table = fields.flag("position_biased_input")
        return f"{BY_OFFSET}; {TABLE}" if table else BY_OFFSET
    # A flag, null, or a width of 0: nothing turns, and some types add a table instead.
    if is_switched_off(fields, entry, usual):
        return TABLE if "table_if_nothing_turns" in entry else NOWHERE
    return encoding_by_word(fields, entry, usual)


def encoding_by_word(fields: Fields, entry: Entry, usual: Where) -> Where:
    """Return what ``position_embedding_type`` stands for, or None if it says nothing."""
    word = fields.text("position_embedding_type")
    encoding = ENCODINGS.get(word.lower())
    words_of_code = entry.get("chooses") or [word]
    # The file means something, so that the type's default would be a guess.
    if word and (encoding is None or word not in words_of_code):
        place = fields.place("position_embedding_type")
        fields.problems.append(f"{place} {word[:40]!a} isn't known here")
        return UNKNOWN
    # "absolute" is what classes derived from BERT's have, whatever they do.
    expected = usual if entry else encoding_suggested(fields)
    if expected == ROTARY and encoding == TABLE and "chooses" not in entry:
        return None
    return encoding


def is_switched_off(fields: Fields, entry: Entry, usual: Where) -> bool:
    """Whether the file says that nothing turns, or that there is no encoding."""
    if "turns_if" in entry and not fields.flag(entry["turns_if"]):
        return True
    if "chooses" in entry and fields.is_null("position_embedding_type"):
        return True
    if fields.flag("mla_use_nope") or fields.flag("use_rope") is False:
        return True
    # Of latent attention, of a share of the head, and of GPT-J's first dimensions.
    widths = map(fields.value, WORDS["widths_that_turn"])
    return usual in (ROTARY, None) and 0 in widths


def encoding_suggested(fields: Fields) -> Where:
    """Return what the fields of a type that isn't known suggest."""
    if fields.has("relative_attention_num_buckets"):
        return BIAS
    signs = map(fields.has, WORDS["signs_of_rotation"])
    return ROTARY if any(signs) else None


def where_in_kind(group: Group, encoding: Where, known: bool) -> Where:
    """Return where positions enter in one kind of layer, which may differ from the others."""
    if known and group.name in WORDS["without_attention"]:
        return NO_ATTENTION
    if group.still and encoding == ROTARY:
        return NOWHERE
    # What another kind of layer does in a type that isn't known, only its code says.
    plain = group.name.startswith(tuple(WORDS["plain_kinds"]))
    return encoding if known or plain else None
