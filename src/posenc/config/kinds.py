"""Which kinds of layers a model has, and where positions enter in each.

`kinds_of_layers` answers both. A kind of layer is a name, "full_attention" or whatever the file
calls it, and whether its layers rest. Where positions enter is one of the words of `posenc.layers`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from posenc.config.fields import WORDS, Fields
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE, shown
from posenc.scaling import ORIGINAL

FULL, ALL = "full_attention", "all layers"
SHARE = "partial_rotary_factor"
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
    """Return the kinds of layers, each with the mapping of rotations that it follows.

    What the type's code ignores is taken out of `fields` first, so that nothing here or later
    reads it. Kinds come last: mappings tell them apart if the layers aren't listed.
    """
    drop_ignored(fields, fields.entry.ignores)
    rope = mapping_of_rotation(fields)
    encoding = where_positions_enter(fields)
    groups = groups_of_layers(fields)
    mappings = (rope.content or rope.defaults).items()
    nested = [name for name, value in mappings if isinstance(value, Mapping)]
    if nested and {name for name, _ in groups} == {ALL}:
        # It isn't known which layers are of which kind.
        groups = {(name, False): [] for name in nested}
    kinds = []
    for (name, rests), indices in sorted(groups.items()):
        own_rope = rope.inside(name) if nested else mapping_of_kind(name, rope)
        drop_ignored(own_rope)
        rests |= name in fields.entry.still or own_rope.value(SHARE) == 0
        where = NOWHERE if rests and encoding == ROTARY else encoding
        if name in WORDS["without_attention"]:
            where = NO_ATTENTION
        kinds.append(Kind(fields, own_rope, name, where, indices))
    return kinds


def drop_ignored(fields: Fields, names: Sequence[str] = ()) -> None:
    """Remove fields that the type's code doesn't read, and name those that say something.

    One of them is the share of a head that turns, unless the class has a default for it.
    """
    code = fields.entry.code
    if code and SHARE not in fields.entry.defaults:
        names = [*names, *WORDS["spellings"][SHARE]]
    for name in names:
        value = fields.content.pop(name, None)
        if value is True or value not in (None, {}, 1):  # True == 1
            fields.problems.append(
                f"{code} ignores {shown(fields.path + name)}; other programs may not"
            )


# ---------------------------------------------------------------- mappings of rotations


def mapping_of_rotation(fields: Fields) -> Fields:
    """Return the mapping that describes a rotation, in the old name or the new one."""
    old, new = map(fields.content.get, ("rope_scaling", "rope_parameters"))
    if not old:  # as if it weren't there: a default of the class counts
        fields.content.pop("rope_scaling", None)
    elif new and new != old:
        fields.problems.append(
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
    rope = fields.inside("rope_parameters")
    for name in ("rope_theta", ORIGINAL):
        is_twice = rope.says(name) and fields.says(name)
        if is_twice and rope.value(name) != fields.value(name):
            fields.problems.append(
                f"{fields.place(name)} is {fields.value(name)!a:.40} outside "
                f"{rope.name}, {rope.value(name)!a:.40} inside"
            )
    return rope


def mapping_of_kind(name: str, rope: Fields) -> Fields:
    """Return what layers of one kind follow of a mapping of rotations for all kinds."""
    entry = rope.entry
    if name not in entry.local:
        return rope
    # Local layers have a base of their own, and in some models no scaling.
    if rope.says("factor") and not entry.local_scaled:
        rope.remarks.append(f"{rope.name} applies to global attention, not to {name}")
    scaling = rope.content.items() if entry.local_scaled else ()
    bases = WORDS["spellings"]["rope_theta"]
    return Fields({k: v for k, v in scaling if k not in bases}, rope.path, rope)


# ---------------------------------------------------------------- kinds of layers


def groups_of_layers(fields: Fields) -> dict[Group, list[int]]:
    """Return the layers of each kind: they differ in name, or in whether they turn.

    What the kinds of a type that isn't known do, only its code says: so its list of kinds isn't
    read, which is told as for any other field.
    """
    number = fields.count("num_hidden_layers", most=10_000) or 0
    listed = names_listed(fields, number) if fields.entry.code else []
    number = number or len(listed)
    resting = resting_layers(fields, number)
    names = listed[:number]  # files may list more, which predict several tokens ahead
    if not names:
        whole, others = layers_by_rule(fields, number, resting)
        names = [FULL if i in whole else others for i in range(number)]
    if fields.entry.last and names:
        names[-1] = FULL
    groups: dict[Group, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault((name, i in resting), []).append(i)
    return groups or {(ALL, False): []}


def names_listed(fields: Fields, number: int) -> list[str]:
    """Return the kind of each layer that the file lists, in words, letters or numbers."""
    words = WORDS["kinds_of_layers"]
    # A string has letters that are known; a list may have other words.
    listed: Sequence[object] | None = fields.checked(
        "layer_types",
        f"a list of kinds of layers, {number} or more",
        lambda x: (
            isinstance(x, list | str)
            and len(x) >= number
            and (isinstance(x, list) or {*x} <= words.keys())
        ),
    )
    return [words.get(str(kind), str(kind)) for kind in listed or ()]


def layers_by_rule(
    fields: Fields, number: int, resting: set[int]
) -> tuple[set[int], str]:
    """Return the layers that see all, and of which kind the others are, by the type's code.

    The first rule that applies counts; if none does, all layers are of one kind, as in Llama.
    """
    entry = fields.entry
    if fields.flag("use_sliding_window"):
        if (
            "max_window_layers" in entry.defaults
        ):  # Qwen2: the later layers have a window
            unlimited = fields.count("max_window_layers", least=0) or 0
            return {*range(unlimited)}, "sliding_attention"
        if entry.skips:  # SmolLM3: those that don't turn have one
            return {*range(number)} - resting, "sliding_attention"
    # Llama 4 without chunks: all see all.
    no_chunks = entry.skips and fields.says("attention_chunk_size") is False
    if no_chunks or not entry.others:
        return set(), ALL
    if resting:  # Llama 4: those that don't turn see all
        return resting, entry.others
    if listed := fields.integers("full_attn_layers"):  # LFM2: those listed see all
        if 0 < number <= max(listed):
            fields.problems.append(
                f"{fields.place('full_attn_layers')} has {max(listed)}, "
                f"but the last of {number} layers is {number - 1}"
            )
        return {*listed}, entry.others
    interval = fields.count("full_attention_interval")
    if not interval:
        return set(), ALL
    # Gemma 3: one of so many sees all, the last one in most types
    first = fields.count("full_attention_offset", least=0)
    start = interval - 1 if first is None else first
    return {*range(start, number, interval)}, entry.others


def resting_layers(fields: Fields, number: int) -> set[int]:
    """Return the layers that don't turn, by lists of layers alone."""
    if not fields.entry.skips:
        return set()
    every = fields.count("no_rope_layer_interval") or number + 1
    # In spite of the field's name, 1 turns.
    flags = fields.integers("no_rope_layers", least=number)
    flags = flags or [(i + 1) % every for i in range(number)]
    return {i for i in range(number) if not flags[i]}


# ---------------------------------------------------------------- where positions enter


def where_positions_enter(fields: Fields) -> Where:
    """Return where positions enter: what the file says, or else what the type's code does."""
    code, chooses = fields.entry.code, fields.entry.chooses
    usual = usual_place(fields)
    word = word_of_file(fields, usual)
    where = ENCODINGS.get(word)
    # "absolute" is what classes derived from BERT's have, whatever they do.
    inherited = usual == ROTARY and where == TABLE and word not in chooses
    if not word or inherited:
        return usual
    if not where or word not in (chooses or [word]):
        # The file means something, so that the type's default would be a guess.
        fields.problems.append(
            f"the file asks for {word[:40]!a}, which isn't known here"
        )
        return None
    if code and not chooses and where not in (usual, NOWHERE):
        fields.problems.append(
            f"the file asks for an encoding that {code} doesn't have"
        )
    # DeBERTa may have a table besides.
    if where == BY_OFFSET and fields.flag("position_biased_input"):
        return f"{BY_OFFSET}; {TABLE}"
    return where


def usual_place(fields: Fields) -> Where:
    """Return where positions enter by the type's code; fields suggest it if that isn't known."""
    word = fields.entry.where
    if not fields.entry.code:
        signs = WORDS["signs"]
        word = next((word for name, word in signs if fields.says(name)), word)
    return ENCODINGS.get(word)


def word_of_file(fields: Fields, usual: Where) -> str:
    """Return the file's word for an encoding, an empty one if it has none.

    A flag counts more than a word, which may be inherited.
    """
    # MPT without ALiBi has a table, which another flag takes away.
    if usual == BIAS and fields.flag("alibi") is False:
        return "nope" if fields.flag("learned_pos_emb") is False else "table"
    for name, value, word in WORDS["fields_that_decide"]:
        if fields.value(name) == value:
            return str(word)
    name = "position_embedding_type"
    if fields.entry.chooses and fields.says(name) is False:
        return "none"
    return fields.text(name).lower()
