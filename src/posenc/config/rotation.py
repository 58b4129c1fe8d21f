"""How queries and keys turn in one kind of layer: `describe` computes it from the fields.

To read a field is to tell of it (see `Fields`): a function reads what its answer needs, not more.
`rope` is the mapping that describes the rotation.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from posenc.config.fields import SHARE, WORDS, Fields
from posenc.config.kinds import ALL, ENCODINGS
from posenc.layers import ROTARY, Layers
from posenc.scaling import ORIGINAL, Scaling, find_scaling, rotary_frequencies

LIMIT = "max_position_embeddings"
# Fields of a scaling, as `rotary_frequencies` takes them, and the limit.
Settings = dict[str, Any]


def describe(fields: Fields, rope: Fields, layers: Layers) -> Layers:
    """Return what is known of a kind of layer."""
    entry, name = fields.entry, layers.name
    # A table that the type's code adds, unless this file asks for something else.
    has_table = layers.where == ENCODINGS.get(entry.where)
    layers = replace(
        layers,
        window=window(fields, name),
        chunk=fields["attention_chunk_size"] if "chunk" in name else None,
        table=(entry.table or None) if has_table else None,
    )
    if layers.where != ROTARY:
        return layers
    pairings = {True: "neighbors", False: "halves"}
    outside = "rope_local_base_freq" if name in entry.local else "rope_theta"
    layers = replace(
        with_widths(fields, rope, with_axes(fields, rope, layers)),
        pairing=entry.pairing or pairings.get(fields["rope_interleave"]),
        norm=None if fields["use_qk_norm"] is False else entry.norm or None,
        # Null in the mapping isn't what stands outside: code then fails.
        base=rope["rope_theta"] if "rope_theta" in rope.spelled else fields[outside],
    )
    # By which frequencies images turn along their axes, only their code knows.
    if entry.axes == "image" or any(map(fields.says, WORDS["sizes_of_images"])):
        return replace(layers, scaling="default")
    # What a scaling makes of the frequencies needs the base and the widths above.
    return stretched(fields, rope, layers)


def window(fields: Fields, name: str) -> int | None:
    """Return how many keys a query sees, if its kind of layer has a window."""
    size = fields["sliding_window"]
    is_used = fields["use_sliding_window"] is not False
    has_one = "sliding" in name or (name == ALL and is_used)
    return (size or None) if has_one else None


# ---------------------------------------------------------------- widths and axes


def with_widths(fields: Fields, rope: Fields, layers: Layers) -> Layers:
    """Note the width of a head, how many of its dimensions turn, and from which one on.

    In DeepSeek's heads some dimensions stand still, and those that turn come last:

        qk_rope_head_dim  qk_nope_head_dim   head_dim       rotated            first
        64                128                192            64                 128
        64                missing            width_of_head  64                 unknown
        missing or 0      any                width_of_head  turning_by_share   0

    Then `first` is 0 if all turn; of code that isn't known, it is unknown if some do.
    """
    turning = fields["qk_rope_head_dim"]
    first = fields["qk_nope_head_dim"] if turning else 0
    if turning and first is not None:
        width = first + turning
    else:
        width = width_of_head(fields, layers.name)
        turning = turning or turning_by_share(fields, rope, width)
    in_sections = 2 * sum(layers.sections or ())
    is_whole = in_sections in (0, turning)
    if width and turning and (turning % 2 or turning > width or not is_whole):
        fields.problems.append(
            f"{turning} of {width} dimensions can't turn in pairs, by head_dim, rotary_dim, "
            f"qk_rope_head_dim, mrope_section, or {SHARE}"
        )
    if width and turning == width:
        first = 0
    elif not fields.entry.code:
        first = None  # of other code, nobody knows which turn
    return replace(layers, head_dim=width, rotated=turning, first=first)


def width_of_head(fields: Fields, name: str) -> int | None:
    """Return the width of a query or key: the kind's, or that of all, or one of so many."""
    field_of_kind = WORDS["width_of_kind"].get(name, "head_dim")
    width: int | None = fields[field_of_kind] or fields["head_dim"]
    if width:
        return width
    hidden, heads = fields["hidden_size"], fields["num_attention_heads"]
    if not hidden or not heads:
        return None
    if hidden % heads:
        fields.problems.append(
            f"{fields.place('hidden_size')}, {hidden}, isn't a multiple of "
            f"{fields.place('num_attention_heads')}, {heads}"
        )
    inputs = 2 if fields.entry.twice else 1
    width = inputs * hidden // heads
    return width


def turning_by_share(fields: Fields, rope: Fields, width: int | None) -> int | None:
    """Return how many dimensions turn, by the first of these: all turn without any.

    1. The share in the mapping.
    2. The share in the file, or else of the class: it isn't 0, or the layer wouldn't turn.
    3. The number, rotary_dim.
    """
    share = rope[SHARE] or fields[SHARE]
    if share:
        return int(width * share) if width else None
    return fields["rotary_dim"] or width


def with_axes(fields: Fields, rope: Fields, layers: Layers) -> Layers:
    """Note how many pairs each axis turns (time, height, width), and in which order."""
    entry = fields.entry
    sections = rope["mrope_section"] or entry.sections
    if not sections:
        return layers
    order = "interleaved" if rope["mrope_interleaved"] else entry.axes or "in sections"
    # Of other code, nobody knows the order.
    return replace(layers, sections=tuple(sections), axes=order if entry.code else None)


# ---------------------------------------------------------------- scalings


def stretched(fields: Fields, rope: Fields, layers: Layers) -> Layers:
    """Note what a scaling makes of the frequencies, and the lengths that it is for."""
    name = rope["rope_type"] or "default"
    # `posenc.scaling` checks what the file gives; powers of odd numbers overflow.
    try:
        scaling = find_scaling(name)
        settings = settings_of(fields, rope, scaling)
        start, end = scaling.lengths(settings, settings[LIMIT])
        longest = max(end or 0, (start or 0) + 1)
        # What is invalid, and not read, may be what decides them.
        if not (rope.invalid or fields.invalid.keys() & WORDS["of_frequencies"]):
            layers = with_frequencies(layers, settings, longest)
        if fields.entry.mscale or not fields.entry.code:
            layers = replace(layers, score_factor=scaling.score_factor(settings))
    except (ArithmeticError, TypeError, ValueError) as error:
        fields.problems.append(f"{rope.path[:-1]}: {error}"[:200])
        return replace(layers, scaling=name[:40])
    note_contradictions(fields, rope, settings)
    if start:
        fields.lengths.append((start, end))
    return replace(layers, scaling=scaling.name)


def settings_of(fields: Fields, rope: Fields, scaling: Scaling) -> Settings:
    """Return the fields that a scaling reads, for its rule, which checks them."""
    settings: Settings = {name: rope[name] for name in scaling.fields}
    limit = fields[LIMIT]
    if ORIGINAL in settings:  # transformers prefers the field outside
        settings[ORIGINAL] = fields[ORIGINAL] or settings[ORIGINAL] or limit
    if scaling.name == "proportional":
        settings[SHARE] = rope[SHARE] or fields[SHARE]
    old_type = rope.content.get("type")  # which old programs read: it must say the same
    return settings | {"rope_type": scaling.name, "type": old_type, LIMIT: limit}


def note_contradictions(fields: Fields, rope: Fields, settings: Settings) -> None:
    """Note where the fields of a scaling contradict each other."""
    limit, start, factor = map(settings.get, (LIMIT, ORIGINAL, "factor"))
    if not limit or not start:
        return
    if not (rope.says(ORIGINAL) or fields.says(ORIGINAL)):
        fields.problems.append(
            f"{rope.path[:-1]} has no {ORIGINAL}: transformers falls back to {LIMIT}, {limit}, "
            "right if that is the length before scaling"
        )
    # Llama 3's factor is no ratio of lengths. Some files give the trained length in both fields,
    # which says nothing of a ratio.
    is_ratio = settings["rope_type"] != "llama3" and limit != start
    if factor and is_ratio and abs(limit - start * factor) >= 1:
        fields.problems.append(
            f"the factor is {factor:g}, but {limit} / {start} is {limit / start:g}: "
            "the factor takes precedence"
        )


def with_frequencies(layers: Layers, settings: Settings, longest: int) -> Layers:
    """Note frequencies and factors, up to the length before scaling and beyond it."""
    width, rotated = layers.head_dim, layers.rotated
    if not (layers.base and width and rotated) or rotated % 2 or rotated > width:
        return layers
    if settings["rope_type"] == "proportional":  # it spreads over the whole head
        rotated = width
    frequencies_at = partial(
        rotary_frequencies,
        rotated,
        base=layers.base,
        scaling=settings,
        max_position_embeddings=settings[LIMIT],
    )
    omega, factor = frequencies_at()
    # Dynamic and longrope have other frequencies in longer texts.
    later, later_factor = frequencies_at(seq_len=longest)
    return replace(
        layers,
        frequencies=tuple(omega.tolist()),
        frequencies_beyond=tuple(later.tolist()) if (omega != later).any() else None,
        attention_factor=factor,
        attention_factor_beyond=later_factor if later_factor != factor else None,
    )
