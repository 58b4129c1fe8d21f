"""Which kinds of layers a model has, and where positions enter in each.

`normalize` answers both. A kind of layer is a name, "full_attention" or whatever the file calls it,
and whether its layers rest. Where positions enter is one of the words of `posenc.layers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posenc.config.fields import WORDS, Entry, Fields
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE, shown
from posenc.scaling import ORIGINAL

FULL, ALL, UNLISTED = "full_attention", "all layers", "not said"
SHARE = "partial_rotary_factor"
UNKNOWN = ""  # an encoding that the file names, and that nobody here knows
MOST_LAYERS = 10_000
Where = str | None  # where positions enter; None if nobody says
ENCODINGS: dict[str, str] = WORDS["encodings"]


# A name, and whether its layers rest: don't turn, though others of that name do.
Group = tuple[str, bool]


@dataclass(frozen=True)
class Kind:
    """One kind of layer, before anything is computed from the fields that it reads."""

    fields: Fields
    rope: Fields  # the mapping that describes its rotation
    entry: Entry
    name: str
    where: Where
    indices: tuple[int, ...]
    left_out: frozenset[str]  # fields of the layers' number and kinds, known by default


def normalize(fields: Fields, entry: Entry) -> list[Kind]:
    """Return the kinds of layers, each with the mapping of rotations that it follows.

    What the type's code ignores is taken out of `fields` first, so that nothing here or later
    reads it. Kinds come last: mappings tell them apart if the layers aren't listed.
    """
    drop_ignored(fields, entry, entry.ignores)
    rope = mapping_of_rotation(fields)
    encoding = where_positions_enter(fields, entry)
    fields.left_out.clear()  # from here on: defaults of the layers' number and kinds
    groups = groups_of_layers(fields, entry)
    left_out = frozenset(fields.left_out)
    nested = names_of_mappings(rope)
    if nested and groups.keys() <= {(ALL, False), (ALL, True)}:
        # It isn't known which layers are of which kind.
        groups = {(name, False): [] for name in nested}
    kinds = []
    for (name, rests), indices in sorted(groups.items()):
        where = where_in_kind(name, encoding, bool(entry.code) or name in nested)
        own_rope = mapping_of_kind(name, fields, rope, entry)
        drop_ignored(own_rope, entry)
        rests = rests or name in entry.still or own_rope.value(SHARE) == 0
        if where == ROTARY and rests:
            where = NOWHERE
        kind = Kind(
            fields,
            own_rope,
            entry,
            name,
            where,
            tuple(indices),
            left_out,
        )
        kinds.append(kind)
    return kinds


def drop_ignored(fields: Fields, entry: Entry, names: Sequence[str] = ()) -> None:
    """Remove fields that the type's code doesn't read, and name those that say something.

    One of them is the share of a head that turns, unless the class has a default for it.
    """
    if entry.code and SHARE not in entry.defaults:
        names = [*names, *WORDS["spellings"][SHARE]]
    for name in names:
        value = fields.content.pop(name, None)
        if value is True or value not in (None, 1):  # True == 1
            fields.problems.append(
                f"{entry.code} ignores {shown(fields.path + name)}; "
                "other programs may not"
            )


# ---------------------------------------------------------------- mappings of rotations


def mapping_of_rotation(fields: Fields) -> Fields:
    """Return the mapping that describes a rotation, in the old name or the new one."""
    old, new = fields.inside("rope_scaling"), fields.inside("rope_parameters")
    rope = old if old.content else new
    if new.content and new.content != rope.content:
        fields.problems.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    for name in ("rope_theta", ORIGINAL):
        both = rope.has(name) and fields.has(name)
        if both and rope.value(name) != fields.value(name):
            fields.problems.append(
                f"{fields.place(name)} is {fields.value(name)!a:.40} outside "
                f"{rope.path[:-1]}, {rope.value(name)!a:.40} inside"
            )
    return rope


def names_of_mappings(rope: Fields) -> list[str]:
    """Return the kinds of layers for which a mapping of rotations has one of their own."""
    content = rope.content or rope.defaults
    return [name for name, value in content.items() if isinstance(value, Mapping)]


def mapping_of_kind(name: str, fields: Fields, rope: Fields, entry: Entry) -> Fields:
    """Return the mapping of rotations that layers of one kind follow."""
    if names_of_mappings(rope):
        return rope.inside(name)
    if name not in entry.local:
        return rope
    # Local layers have a base of their own, and in some models no scaling.
    if rope.has("factor") and not entry.local_scaled:
        fields.remarks.append(
            f"{rope.path[:-1]} applies to global attention, not to {name}"
        )
    local = rope.sharing(rope.content if entry.local_scaled else {}, rope.path)
    for spelling in WORDS["spellings"]["rope_theta"]:
        local.content.pop(spelling, None)
    return local


# ---------------------------------------------------------------- kinds of layers


def groups_of_layers(fields: Fields, entry: Entry) -> dict[Group, list[int]]:
    """Return the layers of each kind: they differ in name, or in whether they turn."""
    listed = names_listed(fields, entry)
    number = fields.count("num_hidden_layers", most=MOST_LAYERS) or len(listed)
    resting = resting_layers(fields, entry, number)
    whole = whole_layers(fields, entry, number, resting) if not listed else set()
    groups: dict[Group, list[int]] = {}
    for i in range(number):  # files may list more: those predict several tokens ahead
        name = ALL
        if listed:
            name = listed[i] if i < len(listed) else UNLISTED
        elif whole:
            name = FULL if i in whole else entry.others
        if entry.last and i == number - 1:
            name = FULL
        groups.setdefault((name, i in resting), []).append(i)
    return groups or {(ALL, False): []}


def names_listed(fields: Fields, entry: Entry) -> list[str]:
    """Return the kind of each layer that the file lists, in words, letters or numbers."""
    rule = "a list of kinds of layers"
    listed = fields.checked("layer_types", rule, lambda x: isinstance(x, list | str))
    words = WORDS["kinds_of_layers"]
    names = [words.get(str(kind), str(kind)) for kind in (listed or [])[:MOST_LAYERS]]
    # Zamba2 and LFM2 may list the layers with full attention, too.
    if names and entry.others and fields.has("full_attn_layers"):
        whole = [i for i, name in enumerate(names) if name != entry.others]
        if whole != fields.integers("full_attn_layers"):
            one, other = map(fields.place, ("layer_types", "full_attn_layers"))
            fields.problems.append(f"{one} and {other} differ: the former counts here")
    return names


def whole_layers(
    fields: Fields, entry: Entry, number: int, resting: set[int]
) -> set[int]:
    """Return the layers with full attention by the code of a type that has `others`."""
    # Llama 4 attends by chunks where it turns, unless their size is null.
    if not entry.others or (entry.skips and fields.is_null("attention_chunk_size")):
        return set()
    # LFM2 and Zamba2 list these layers.
    whole = resting or {*fields.integers("full_attn_layers")}
    interval = fields.count("full_attention_interval")
    first = fields.count("full_attention_offset", least=0)
    if interval and not whole:  # one of so many, the last one in most types
        whole = {*range(interval - 1 if first is None else first, number, interval)}
    return whole


def resting_layers(fields: Fields, entry: Entry, number: int) -> set[int]:
    """Return the layers that don't turn, by lists of layers alone."""
    if not entry.skips:
        return set()
    # In spite of the field's name, 1 turns.
    name = "no_rope_layers"
    flags = fields.integers(name)
    if 0 < len(flags) < number:
        fields.problems.append(
            f"{fields.place(name)} says nothing of {number - len(flags)} layers: "
            "it is left out here"
        )
    if len(flags) < number:
        every = fields.count("no_rope_layer_interval") or number + 1
        flags = [(i + 1) % every for i in range(number)]
    return {i for i in range(number) if not flags[i]}


# ---------------------------------------------------------------- where positions enter


def where_positions_enter(fields: Fields, entry: Entry) -> Where:
    """Return where positions enter: what the file says, or else what the type's code does."""
    usual = ENCODINGS.get(entry.where)
    expected = usual if entry.code else encoding_suggested(fields)
    said = encoding_said(fields, entry, expected)
    if said is None:
        return expected
    if entry.code and not entry.chooses and said not in (usual, NOWHERE, UNKNOWN):
        fields.problems.append(
            f"the file asks for an encoding that {entry.code} doesn't have"
        )
    # DeBERTa may have a table besides.
    if said == BY_OFFSET and fields.flag("position_biased_input"):
        return f"{BY_OFFSET}; {TABLE}"
    return None if said == UNKNOWN else said


def encoding_said(fields: Fields, entry: Entry, expected: Where) -> Where:
    """Return the encoding that the file names, whatever its type does by default.

    It is None if the file names none, and `UNKNOWN` if it names one that isn't known here.
    """
    # MPT without ALiBi has a table, which another flag takes away.
    if expected == BIAS and fields.flag("alibi") is False:
        return NOWHERE if fields.flag("learned_pos_emb") is False else TABLE
    # A flag counts more than a word, which may be inherited.
    for name, value, word in WORDS["fields_that_decide"]:
        if fields.value(name) == value:
            return ENCODINGS[word]
    name = "position_embedding_type"
    if entry.chooses and fields.is_null(name):
        return NOWHERE
    word = fields.text(name)
    encoding = ENCODINGS.get(word.lower())
    # "absolute" is what classes derived from BERT's have, whatever they do.
    inherited = expected == ROTARY and encoding == TABLE and word not in entry.chooses
    if not word or inherited:
        return None
    if encoding and word in (entry.chooses or [word]):
        return encoding
    # The file means something, so that the type's default would be a guess.
    fields.problems.append(f"{fields.place(name)} {word[:40]!a} isn't known here")
    return UNKNOWN


def encoding_suggested(fields: Fields) -> Where:
    """Return what the fields of a type that isn't known suggest."""
    if fields.has("relative_attention_num_buckets"):
        return BIAS
    signs = map(fields.has, WORDS["signs_of_rotation"])
    return ROTARY if any(signs) else None


def where_in_kind(name: str, encoding: Where, known: bool) -> Where:
    """Return where positions enter in one kind of layer, which may differ from the others."""
    if name == UNLISTED:
        return None
    if known and name in WORDS["without_attention"]:
        return NO_ATTENTION
    # What another kind of layer does in a type that isn't known, only its code says.
    plain = name.startswith(tuple(WORDS["plain_kinds"]))
    return encoding if known or plain else None
