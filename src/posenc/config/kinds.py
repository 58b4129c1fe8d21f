"""Which kinds of layers a model has, and where positions enter in each.

`kinds_of_layers` answers both. A kind of layer is a name, "full_attention" or whatever the file
calls it, and whether its layers rest. Where positions enter is one of the words of `posenc.layers`.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from posenc.config.fields import SHARE, WORDS, Fields
from posenc.layers import BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE, shown
from posenc.scaling import ORIGINAL

FULL, ALL = "full_attention", "all layers"
SOME = "some or all layers"  # nobody knows which
Where = str | None  # where positions enter; None if nobody says
ENCODINGS: dict[str, str] = WORDS["encodings"]


# A name, and whether its layers rest: don't turn, though others of that name do.
Group = tuple[str, bool]


class Kind(NamedTuple):
    """One kind of layer, before anything is computed from the fields that it reads."""

    fields: Fields
    rope: Fields  # the mapping that describes its rotation
    name: str
    where: Where
    indices: list[int]


def kinds_of_layers(fields: Fields) -> list[Kind]:
    """Return the kinds of layers, each with the mapping of rotations that it follows."""
    rope = mapping_of_rotation(fields)
    encoding = where_positions_enter(fields)
    groups = groups_of_layers(fields)
    mapping = rope.content or rope.defaults
    nested = [name for name, value in mapping.items() if isinstance(value, Mapping)]
    if {name for name, _ in groups} <= {ALL, SOME}:
        if fields.entry.code:  # which has no kinds
            nested = []
        elif nested:  # it isn't known which layers are of which kind
            groups = {(name, False): [] for name in nested}
    # Code whose local layers have a base of their own reads the new name kind by kind.
    is_by_kind = bool(
        nested or (fields.entry.local and "rope_parameters" in fields.spelled.values())
    )
    kinds = []
    for (name, rests), indices in sorted(groups.items()):
        own_rope = rope.inside(name) if is_by_kind else mapping_of_kind(name, rope)
        rests |= name in fields.entry.still or own_rope[SHARE] == 0
        where = NOWHERE if rests and encoding == ROTARY else encoding
        if name in WORDS["without_attention"]:
            where = NO_ATTENTION
        kinds.append(Kind(fields, own_rope, name, where, indices))
    if is_by_kind:
        note_strangers(rope, {kind.name for kind in kinds})
    return kinds


# ---------------------------------------------------------------- mappings of rotations


def mapping_of_rotation(fields: Fields) -> Fields:
    """Return the mapping that describes a rotation, in the old name or the new one."""
    old, new = map(fields.content.get, ("rope_scaling", "rope_parameters"))
    if old and new and new != old:
        fields.problems.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    rope = fields.inside("rope_parameters")
    for name in ("rope_theta", ORIGINAL):
        inside, outside = rope.values[name], fields.values[name]
        is_twice = rope.says(name) and fields.says(name)
        if is_twice and None not in (inside, outside) and inside != outside:
            fields.problems.append(
                f"{fields.place(name)} is {outside!a:.40} outside "
                f"{rope.name}, {inside!a:.40} inside"
            )
    return rope


def note_strangers(rope: Fields, kinds: set[str]) -> None:
    """Note what stands beside mappings for kinds of layers: a scaling, or a kind misspelled."""
    # A kind of the type that this file has no layers of is no error.
    known = {*kinds, FULL, rope.entry.others}
    for name, value in rope.content.items():
        is_kind = isinstance(value, Mapping) and name in known
        if not is_kind and value and value not in WORDS["plain_words"]:
            place = shown(f"{rope.path}{name}")
            rope.problems.append(
                f"{place} is no mapping of a kind of layers: it is ignored"
            )


def mapping_of_kind(name: str, rope: Fields) -> Fields:
    """Return what layers of one kind follow of a mapping of rotations for all kinds."""
    entry, content = rope.entry, {}
    if name not in entry.local:
        return rope
    # Local layers have a base of their own, and in some models no scaling.
    if entry.local_scaled:
        content = {**rope.content}
        content.pop("rope_theta", None)
    elif rope.says("factor"):
        rope.remarks.append(f"{rope.name} applies to global attention, not to {name}")
    return Fields(content, rope.path, entry, rope, {})


# ---------------------------------------------------------------- kinds of layers


def groups_of_layers(fields: Fields) -> dict[Group, list[int]]:
    """Return the layers of each kind: they differ in name, or in whether they turn.

    If a field that tells them apart is invalid, the kinds are those of the class, and nobody knows
    which layers they are.
    """
    if is_order_unknown(fields):
        usual = groups_of_layers(Fields({}, entry=fields.entry))
        return {(SOME if name == ALL else name, rests): [] for name, rests in usual}
    listed = fields["layer_types"] or []
    number = fields["num_hidden_layers"] or len(listed)
    resting = resting_layers(fields, number)
    # Files may list more, which predict several tokens ahead.
    words = WORDS["kinds_of_layers"]
    names = [words.get(str(kind), str(kind)) for kind in listed[:number]]
    names = names or names_by_rule(fields, number, resting)
    if fields.entry.last and names:
        names[-1] = FULL
    groups: dict[Group, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault((name, i in resting), []).append(i)
    return groups or {(ALL, False): []}


def is_order_unknown(fields: Fields) -> bool:
    """Whether a field is invalid that tells layers apart: the file's list, or one of a rule."""
    names = ["layer_types", "no_rope_layer_interval", "no_rope_layers"]
    # If the file lists kinds, a rule says no more than which layers don't turn.
    if fields.entry.rule and not fields.values["layer_types"]:
        names += [*WORDS["which_layers"], "num_hidden_layers", "use_sliding_window"]
    return fields.is_invalid(*names)


def resting_layers(fields: Fields, number: int) -> set[int]:
    """Return the layers that don't turn: those of a list, or 3, 7, … if it is every fourth."""
    turns = fields["no_rope_layers"]  # in spite of its name, 1 turns
    if turns:
        return {i for i, turn in enumerate(turns[:number]) if not turn}
    every = fields["no_rope_layer_interval"] or number + 1
    return {*range(every - 1, number, every)}


def names_by_rule(fields: Fields, number: int, resting: set[int]) -> list[str]:
    """Return the kind of each layer by the rule that types.toml names."""
    # Layers that see all; None if all layers are of one kind.
    full: Collection[int] | None = None
    has_windows = fields["use_sliding_window"]
    match fields.entry.rule:
        case "qwen2" if has_windows:  # the later layers have one
            full = range(fields["max_window_layers"] or 0)
        case "smollm3" if has_windows:  # those that don't turn have one
            full = {*range(number)} - resting
        case "llama4" if not fields.is_null("attention_chunk_size"):
            full = resting  # the others see chunks
        case "gemma3":
            full = listed_or_regular(fields, number)
    if full is None:
        return [ALL] * number
    return [FULL if i in full else fields.entry.others for i in range(number)]


def listed_or_regular(fields: Fields, number: int) -> Collection[int] | None:
    """Return the layers that the file lists, or one of so many: 5, 11, … if it is one of six.

    That is the last of the six; in a few types the field full_attention_offset says another.
    """
    listed: list[int] = fields["full_attn_layers"]
    if listed:
        if 0 < number <= max(listed):
            fields.problems.append(
                f"{fields.place('full_attn_layers')} has {max(listed)}, "
                f"but the last of {number} layers is {number - 1}"
            )
        return listed
    interval = fields["full_attention_interval"]
    if not interval:
        return None
    first = fields["full_attention_offset"]
    return range(interval - 1 if first is None else first, number, interval)


# ---------------------------------------------------------------- where positions enter


def where_positions_enter(fields: Fields) -> Where:
    """Return where positions enter: what the first of these says.

    1. A flag of the file, or of its class: `flags` of the type, then `fields_that_decide` of all.
    2. Null in position_embedding_type, for code that chooses by it: nowhere.
    3. The word in position_embedding_type. But a word for a table, which classes derived from
       BERT's have whatever they do, says nothing of code that turns.
    4. The code of the type.
    5. Of a type that isn't known, a field that models have only with one encoding.

    A word of the file that isn't known, or isn't among those that the code chooses by, leaves it
    unknown: the type's default would be a guess. Of code that chooses by none, the word is taken,
    and what doesn't fit is told.
    """
    entry, usual = fields.entry, usual_place(fields)
    word = word_of_file(fields, usual)
    if not word:
        return usual
    where = ENCODINGS.get(word)
    if not where or word not in (entry.chooses or [word]):
        fields.problems.append(
            f"the file asks for {word[:40]!a}, which isn't known here"
        )
        return None
    if entry.code and not entry.chooses and where not in (usual, NOWHERE):
        fields.problems.append(
            f"the file asks for an encoding that {entry.code} doesn't have"
        )
    # DeBERTa may have a table besides.
    if where == BY_OFFSET and fields["position_biased_input"]:
        return f"{BY_OFFSET}; {TABLE}"
    return where


def word_of_file(fields: Fields, usual: Where) -> str:
    """Return the word for where positions enter by the first three rules, "" if none says it."""
    name, ways = "position_embedding_type", fields.entry.chooses
    for flag, value, word in [*fields.entry.flags, *WORDS["fields_that_decide"]]:
        if fields.equals(flag, value):
            return str(word)
    if ways and fields.is_null(name):
        return "none"
    asked: str = (fields[name] or "").lower()
    is_table = ENCODINGS.get(asked) == TABLE
    return "" if usual == ROTARY and is_table and asked not in ways else asked


def usual_place(fields: Fields) -> Where:
    """Return where positions enter by the type's code; fields suggest it if that isn't known."""
    word = fields.entry.where
    if not fields.entry.code:
        signs = WORDS["signs"]
        word = next((word for name, word in signs if fields.says(name)), word)
    return ENCODINGS.get(word)
