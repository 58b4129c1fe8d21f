"""Which kinds of layers a model has, and where positions enter in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from posenc.config.fields import WORDS, Entry, Fields, printable
from posenc.layers import BIAS, BY_OFFSET, NO_ATTENTION, NOWHERE, ROTARY, TABLE
from posenc.scaling import ORIGINAL

FULL, ALL, UNSAID = "full_attention", "all layers", "not said"
SHARE = "partial_rotary_factor"
UNKNOWN = ""  # an encoding that the file names, and that nobody here knows
MOST_LAYERS, MOST_KINDS = 10_000, 32
Where = str | None  # where positions enter; None if nobody says
ENCODINGS: dict[str, str] = WORDS["encodings"]


class Group(NamedTuple):
    """What layers of one kind have in common."""

    name: str
    rests: bool = False  # they don't turn, though the model's layers do


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
    drop_ignored(fields, entry)
    encoding = where_positions_enter(fields, entry)
    rope = mapping_of_rotation(fields, entry)
    drop_share(rope, entry)
    fields.left_out.clear()  # from here on: defaults of the layers' number and kinds
    groups = groups_of_layers(fields, entry)
    left_out = frozenset(fields.left_out)
    nested = names_of_mappings(rope)
    if nested and all(group.name == ALL for group in groups):
        # It isn't known which layers are of which kind.
        groups = {Group(name): [] for name in nested}
    kinds = []
    for group, indices in sorted(groups.items())[:MOST_KINDS]:
        known = bool(entry) or group.name in nested
        where = where_in_kind(group, encoding, known)
        own_rope = mapping_of_kind(group.name, fields, rope, entry)
        drop_share(own_rope, entry)
        layers = tuple(indices)
        kind = Kind(fields, own_rope, entry, group.name, where, layers, left_out)
        kinds.append(kind)
    return kinds


def drop_ignored(fields: Fields, entry: Entry) -> None:
    """Remove and name the fields that the type's code doesn't read, though other code does."""
    drop(fields, entry.get("ignores", []), entry)
    drop_share(fields, entry)


def drop_share(fields: Fields, entry: Entry) -> None:
    """Remove and name the share of a head that turns, unless the type's code reads it."""
    if entry and "share" not in entry:
        drop(fields, WORDS["spellings"][SHARE], entry)


def drop(fields: Fields, names: list[str], entry: Entry) -> None:
    """Remove fields from a mapping, and name those that say something."""
    for name in names:
        value = fields.content.pop(name, None)
        if value not in (None, 1):
            words = f"{entry['code']} ignores {printable(fields.path + name)}"
            fields.problems.append(f"{words}; other programs may not")


# ---------------------------------------------------------------- mappings of rotations


def mapping_of_rotation(fields: Fields, entry: Entry) -> Fields:
    """Return the mapping that describes a rotation, in the old name or the new one."""
    old, new = fields.inside("rope_scaling"), fields.inside("rope_parameters")
    rope = old if old.content else new
    if new.content and new.content != rope.content:
        words = (
            "rope_scaling and rope_parameters differ: transformers uses rope_scaling"
        )
        fields.problems.append(words)
    for name in ("rope_theta", ORIGINAL):
        inside, outside = rope.content.get(name), fields.content.get(name)
        if inside and outside and inside != outside:
            words = f"{outside!a:.40} outside {rope.path[:-1]}, {inside!a:.40} inside"
            fields.problems.append(f"{fields.path}{name} is {words}")
    usual = Fields(entry.get("default_rope", {}), "rope_parameters.", of_class=True)
    return rope if rope.content else usual


def names_of_mappings(rope: Fields) -> list[str]:
    """Return the kinds of layers for which a mapping of rotations has one of their own."""
    return [name for name, value in rope.content.items() if isinstance(value, Mapping)]


def mapping_of_kind(name: str, fields: Fields, rope: Fields, entry: Entry) -> Fields:
    """Return the mapping of rotations that layers of one kind follow."""
    if names_of_mappings(rope):
        return rope.inside(name)
    if name not in entry.get("local", ()):
        return rope
    scaled = "local_scaled" in entry
    if rope.has("factor") and not scaled:
        words = f"{rope.path[:-1]} applies to global attention, not to {name}"
        fields.remarks.append(words)
    own = Fields(rope.content if scaled else {}, rope.path)
    own.problems = rope.problems
    own.content[SHARE] = rope.value(SHARE)
    local_base = {"rope_theta": fields.number("rope_local_base_freq", 1e-9)}
    if fields.spelling("rope_local_base_freq"):
        own.content |= local_base
    else:
        own.content.pop("rope_theta", None)
        own.defaults = local_base
    return own


# ---------------------------------------------------------------- kinds of layers


def groups_of_layers(fields: Fields, entry: Entry) -> dict[Group, list[int]]:
    """Return the layers of each kind: they differ in name, or in whether they turn."""
    names = names_listed(fields)
    number = fields.count("num_hidden_layers", most=MOST_LAYERS) or len(names)
    resting = resting_layers(fields, entry, number)
    if not names:
        names = usual_names(fields, entry, number, resting)
    unlisted = UNSAID if names else ALL
    # Files may list layers behind the last one, which predict several tokens ahead.
    names = (names + [unlisted] * number)[:number]
    if names and "last" in entry:
        names[-1] = entry["last"]

    still = entry.get("still", [])
    if "still_if" in entry and not fields.value(entry["still_if"]):
        still = []
    groups: dict[Group, list[int]] = {}
    for i, name in enumerate(names):
        group = Group(name, i in resting or name in still)
        groups.setdefault(group, []).append(i)
    return groups or {Group(ALL): []}


def names_listed(fields: Fields) -> list[str]:
    """Return the kind of each layer that the file lists, in words, letters or numbers."""
    rule = "a list of kinds of layers"
    listed = fields.checked("layer_types", rule, lambda x: isinstance(x, list | str))
    words = WORDS["kinds_of_layers"]
    return [words.get(str(kind), str(kind)) for kind in (listed or [])[:MOST_LAYERS]]


def usual_names(
    fields: Fields, entry: Entry, number: int, resting: set[int]
) -> list[str]:
    """Return the kind of each layer by the code of its type, or nothing."""
    # Llama 4 attends by chunks where it turns, unless their size is null.
    if "chunked" in entry and not fields.is_null("attention_chunk_size"):
        return [FULL if i in resting else "chunked_attention" for i in range(number)]
    if "others" not in entry:
        return []
    # Bamba, LFM2, Zamba2, and Kimi list the layers with full attention; Kimi counts from 1.
    start = entry.get("counted_from", 0)
    full = {i - start for i in fields.integers("full_attn_layers")}
    # In others one of so many attends fully, the last one in most.
    interval = fields.count("full_attention_interval", most=MOST_LAYERS)
    first = fields.count("full_attention_offset", least=0)
    if interval and not full:
        full = set(range(interval - 1 if first is None else first, number, interval))
    return [FULL if i in full else entry["others"] for i in range(number) if full]


def resting_layers(fields: Fields, entry: Entry, number: int) -> set[int]:
    """Return the layers that don't turn, by lists of layers alone."""
    if "skips" not in entry:
        return set()
    # In spite of the field's name, 1 turns.
    flags = fields.integers("no_rope_layers")
    if flags and len(flags) >= number:
        return {i for i in range(number) if not flags[i]}
    every = fields.count("no_rope_layer_interval") or number + 1
    skipped = range(every - 1, number, every)
    return {*skipped, *fields.integers("cross_attention_layers")}


# ---------------------------------------------------------------- where positions enter


def where_positions_enter(fields: Fields, entry: Entry) -> Where:
    """Return where positions enter: what the file says, or else what the type's code does."""
    usual = ENCODINGS.get(entry.get("where", ""))
    expected = usual if entry else encoding_suggested(fields)
    said = encoding_said(fields, entry, expected)
    if said is None:
        return expected
    if entry and said not in (usual, NOWHERE, UNKNOWN) and "chooses" not in entry:
        words = f"the file asks for an encoding that {entry['code']} doesn't have"
        fields.problems.append(words)
    # DeBERTa may have a table besides.
    if said == BY_OFFSET and fields.flag("position_biased_input"):
        return f"{BY_OFFSET}; {TABLE}"
    return said or None


def encoding_said(fields: Fields, entry: Entry, expected: Where) -> Where:
    """Return the encoding that the file names, whatever its type does by default."""
    # MPT without ALiBi has a table, which another flag takes away.
    if expected == BIAS and fields.flag("alibi") is False:
        return NOWHERE if fields.flag("learned_pos_emb") is False else TABLE
    # A flag counts more than a word, which may be inherited.
    for name, value, word in WORDS["fields_that_decide"]:
        if fields.value(name) == value:
            return ENCODINGS[word]
    if "chooses" in entry and fields.is_null("position_embedding_type"):
        return NOWHERE
    word = fields.text("position_embedding_type")
    encoding = ENCODINGS.get(word.lower())
    words_of_code = entry.get("chooses") or [word]
    if word and (encoding is None or word not in words_of_code):
        # The file means something, so that the type's default would be a guess.
        place = fields.place("position_embedding_type")
        fields.problems.append(f"{place} {word[:40]!a} isn't known here")
        return UNKNOWN
    # "absolute" is what classes derived from BERT's have, whatever they do.
    inherited = expected == ROTARY and encoding == TABLE and "chooses" not in entry
    return None if inherited else encoding


def encoding_suggested(fields: Fields) -> Where:
    """Return what the fields of a type that isn't known suggest."""
    if fields.has("relative_attention_num_buckets"):
        return BIAS
    signs = map(fields.has, WORDS["signs_of_rotation"])
    return ROTARY if any(signs) else None


def where_in_kind(group: Group, encoding: Where, known: bool) -> Where:
    """Return where positions enter in one kind of layer, which may differ from the others."""
    if group.name == UNSAID:
        return None
    if known and group.name in WORDS["without_attention"]:
        return NO_ATTENTION
    if group.rests and encoding == ROTARY:
        return NOWHERE
    # What another kind of layer does in a type that isn't known, only its code says.
    plain = group.name.startswith(tuple(WORDS["plain_kinds"]))
    return encoding if known or plain else None
