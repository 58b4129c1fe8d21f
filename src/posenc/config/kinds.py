"""Which kinds of layers a model has, where positions enter in each, and by which mapping it turns.

`kinds_of_layers` puts together what the functions below decide, one thing each. An example in their
docstrings is the part of a file that they are for.
"""

from collections.abc import Collection, Iterator, Mapping

from posenc.config.fields import SHARE, WORDS, Fields
from posenc.layers import NO_ATTENTION, NOWHERE, ROTARY, TABLE, Layers

FULL, ALL = "full_attention", "all layers"
ENCODINGS: dict[str, str] = WORDS["encodings"]


def kinds_of_layers(fields: Fields) -> Iterator[tuple[Layers, Fields]]:
    """Yield each kind of layer with the mapping that describes its rotation.

    Two kinds may have one name: some of its layers turn, and some rest.
    """
    rope = fields.inside("rope_parameters")
    encoding = where_positions_enter(fields)
    for (name, rests), indices in sorted(groups_of_layers(fields, rope).items()):
        own_rope = mapping_of_kind(name, fields, rope)
        share = own_rope[SHARE]
        if share is None:
            share = fields.values[SHARE]
        is_still = rests or name in fields.entry.still or share == 0
        where = NOWHERE if is_still and encoding == ROTARY else encoding
        if name in WORDS["without_attention"]:
            where = NO_ATTENTION
        layers = Layers(name, where, len(indices) or None, tuple(indices) or None)
        yield layers, own_rope


# ---------------------------------------------------------------- where positions enter


def where_positions_enter(fields: Fields) -> str | None:
    """Return where positions enter: as the file says, or else as the code of its type does.

    By the first of these that a file's word is; the type's default instead would be a guess:

        word of the file                               where positions enter
        none                                           the type's way, or what a field suggests (1)
        a table, which code that turns has no way for  the type's way (2)
        not known here, or no way of several           unknown, which is told
        not the only way of known code                 the word's way, which is told
        any other                                      the word's way

    1. Of a type that isn't known, by a field that models have only with one encoding.
    2. ModernBERT's files have BERT's "absolute", which its code doesn't read.
    """
    entry, word = fields.entry, word_of_file(fields)
    signs = (sign for name, sign in WORDS["signs"] if fields.says(name))
    usual = ENCODINGS.get(entry.where or next(signs, ""))
    asked = ENCODINGS.get(word)
    is_derived = asked == TABLE and usual == ROTARY and word not in entry.chooses
    if not word or is_derived:
        return usual
    if not asked or word not in (entry.chooses or [word]):
        fields.problems.append(
            f"the file asks for {word[:40]!a}, which isn't known here"
        )
        return None
    if entry.code and not entry.chooses and asked != usual:
        fields.problems.append(
            f"the file asks for something that {entry.code} doesn't do"
        )
    return asked


def word_of_file(fields: Fields) -> str:
    """Return the file's word for where positions enter, "" if it has none.

    MPT: {"alibi": true}; GraniteMoeHybrid: {"position_embedding_type": "nope"}.
    """
    for conditions, word in [*fields.entry.flags, *WORDS["fields_that_decide"]]:
        if all(fields[name] == value for name, value in conditions.items()):
            return str(word)
    name = "position_embedding_type"
    is_null = name in fields.spelled and not fields.says(name)
    if is_null and fields.entry.chooses:
        return "none"
    return str(fields[name] or "").lower()


# ---------------------------------------------------------------- which layers are of which kind


def groups_of_layers(fields: Fields, rope: Fields) -> dict[tuple[str, bool], list[int]]:
    """Return the layers of each kind: they differ in name, or in whether they rest.

    Of code that isn't known, the kinds are those of the mapping, if it has any. Which layers are of
    which, only the code says.
    """
    kinds = kinds_inside(rope)
    if kinds and not fields.entry.code:
        return {(name, False): [] for name in kinds}
    listed = fields["layer_types"] or []
    number = fields["num_hidden_layers"] or len(listed)
    resting = resting_layers(fields, number)
    # Files may list more, which predict several tokens ahead.
    words = WORDS["kinds_of_layers"]
    names = [words.get(str(kind), str(kind)) for kind in listed[:number]]
    names = names or names_by_rule(fields, number, resting)
    if fields.entry.last and names:
        names[-1] = FULL
    groups: dict[tuple[str, bool], list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault((name, i in resting), []).append(i)
    return groups or {(ALL, False): []}


def resting_layers(fields: Fields, number: int) -> set[int]:
    """Return the layers that don't turn though others of their kind may.

    SmolLM3: {"no_rope_layers": [1, 1, 1, 0]}, where 1 turns in spite of the name, or the same as
    {"no_rope_layer_interval": 4}.
    """
    turns = fields["no_rope_layers"]
    if turns:
        return {i for i, turn in enumerate(turns[:number]) if not turn}
    interval = fields["no_rope_layer_interval"] or number + 1
    return {*range(interval - 1, number, interval)}


def names_by_rule(fields: Fields, number: int, resting: set[int]) -> list[str]:
    """Return the kind of each layer by the rule that types.toml names."""
    full: Collection[int]  # layers that see all
    match fields.entry.rule:
        # {"use_sliding_window": true, "max_window_layers": 28}: those from 28 on have a window.
        case "qwen2" if fields["use_sliding_window"]:
            full = range(fields["max_window_layers"] or 0)
        # {"attention_chunk_size": 8192, "no_rope_layer_interval": 4}
        case "llama4" if fields["attention_chunk_size"]:
            full = resting
        # LFM2: {"full_attn_idxs": [2, 5]}
        case "gemma3" if fields["full_attn_layers"]:
            full = fields["full_attn_layers"]
        # {"sliding_window_pattern": 6}: 5, 11, ...; Jamba: {"attn_layer_period": 8,
        # "attn_layer_offset": 4}: 4, 12, ...
        case "gemma3" if fields["full_attention_interval"]:
            interval = fields["full_attention_interval"]
            first = fields["full_attention_offset"]
            full = range(interval - 1 if first is None else first, number, interval)
        case _:
            return [ALL] * number
    return [FULL if i in full else fields.entry.others for i in range(number)]


# ---------------------------------------------------------------- mappings of rotations


def kinds_inside(rope: Fields) -> list[str]:
    """Return the kinds of layers for which a mapping has one.

    Gemma 4: {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}.
    """
    content = rope.content.items()
    return [name for name, value in content if value and isinstance(value, Mapping)]


def is_by_kind(name: str, fields: Fields, rope: Fields) -> bool:
    """Whether layers of one kind read a mapping of their own.

    Code whose local layers have a base of their own does so whenever it gets the new name: Gemma 3
    doesn't read {"rope_parameters": {"rope_theta": 1e6}}. Code without kinds never does.
    """
    is_new = fields.spelled.get("rope_parameters") == "rope_parameters"
    asks = is_new and fields.entry.local
    return name != ALL and bool(asks or kinds_inside(rope))


def mapping_of_kind(name: str, fields: Fields, rope: Fields) -> Fields:
    """Return the mapping that layers of one kind follow: their own, or that for all kinds.

    Gemma 3: {"rope_local_base_freq": 1e4, "rope_scaling": {"factor": 8}}: local layers have a base
    of their own, and in some models no scaling.
    """
    if is_by_kind(name, fields, rope):
        return rope.inside(name)
    if name not in fields.entry.local:
        return rope
    content = {**rope.content} if fields.entry.local_scaled else {}
    content.pop("rope_theta", None)
    return Fields(content, rope.path, rope.entry)
