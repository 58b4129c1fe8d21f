"""How queries and keys turn in one kind of layer: `describe` computes it from the fields.

To read a field is to tell of it (see `Fields`): a function reads what its answer needs, not more.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from posenc.config.fields import SHARE, WORDS
from posenc.config.kinds import ALL, ENCODINGS, Kind
from posenc.layers import ROTARY, TABLE, Layers
from posenc.scaling import ORIGINAL, Scaling, find_scaling, rotary_frequencies

LIMIT = "max_position_embeddings"
WIDEST = 65_536  # dimensions of a head, of which frequencies are computed
PAIRINGS: dict[bool | None, str] = {True: "neighbors", False: "halves"}
# Fields of a scaling, as `rotary_frequencies` takes them, and the limit.
Settings = dict[str, Any]
# The length before a scaling, and the one that it is for.
Lengths = tuple[int | None, int | None]
UNSAID = None, None


def describe(kind: Kind) -> tuple[Layers, Lengths]:
    """Return what is known of a kind of layer, and the lengths of its scaling."""
    fields, entry, where = kind.fields, kind.fields.entry, kind.where or ""
    # A table that the type's code always adds, or that this file asks for.
    has_table = where == ENCODINGS.get(entry.where) or TABLE in where
    layers = Layers(
        kind.name,
        kind.where,
        count=len(kind.indices) or None,
        indices=tuple(kind.indices) or None,
        window=window(kind),
        chunk=fields["attention_chunk_size"] if "chunk" in kind.name else None,
        table=(entry.table or None) if has_table else None,
    )
    if where != ROTARY:
        return layers, UNSAID
    if entry.note:
        fields.remarks.append(entry.note)
    is_plain = fields["use_qk_norm"] is False or fields.is_invalid("use_qk_norm")
    layers = replace(
        with_axes(kind, with_widths(kind, layers)),
        pairing=entry.pairing or PAIRINGS.get(fields["rope_interleave"]),
        norm=None if is_plain else entry.norm or None,
        base=base(kind),
    )
    # What a scaling makes of the frequencies needs the base and the widths above.
    return stretched(kind, layers)


def window(kind: Kind) -> int | None:
    """Return how many keys a query sees, if its layer has a window."""
    fields = kind.fields
    size = fields["sliding_window"]
    is_used = fields["use_sliding_window"] is not False
    has_one = "sliding" in kind.name or (kind.name == ALL and is_used)
    return (size or None) if has_one else None


# ---------------------------------------------------------------- widths


def with_widths(kind: Kind, layers: Layers) -> Layers:
    """Note the width of a head, how many of its dimensions turn, and from which one on.

    In DeepSeek's heads some dimensions stand still, and those that turn come last:

        qk_rope_head_dim  qk_nope_head_dim   head_dim       rotated            first
        64                128                192            64                 128
        64                missing            width_of_head  64                 unknown
        missing or 0      any                width_of_head  turning_by_share   0
        one or both are invalid              unknown        qk_rope_head_dim   unknown

    Then `first` is 0 if all turn; of code that isn't known, it is unknown if some do.
    """
    fields = kind.fields
    turning = fields["qk_rope_head_dim"]
    if fields.is_invalid("qk_rope_head_dim", "qk_nope_head_dim"):
        return replace(layers, rotated=turning)
    first = fields["qk_nope_head_dim"] if turning else 0
    if turning and first is not None:
        width = first + turning
    else:
        width = width_of_head(kind)
        turning = turning or turning_by_share(kind, width)
    if width and turning and (turning % 2 or turning > width):
        fields.problems.append(
            f"{turning} of {width} dimensions can't turn in pairs, by head_dim, rotary_dim, "
            f"qk_rope_head_dim, or {SHARE}"
        )
    if width and turning == width:
        first = 0
    elif not fields.entry.code:
        first = None  # of other code, nobody knows which turn
    return replace(layers, head_dim=width, rotated=turning, first=first)


def width_of_head(kind: Kind) -> int | None:
    """Return the width of a query or key: the kind's, or that of all, or one of so many."""
    fields = kind.fields
    for name in (WORDS["width_of_kind"].get(kind.name, "head_dim"), "head_dim"):
        width: int | None = fields[name]
        if not fields.entry.twice and (width or fields.is_invalid(name)):
            return width
    hidden: int | None = fields["hidden_size"]
    heads: int | None = fields["num_attention_heads"]
    if not hidden or not heads:
        return None
    if hidden % heads:
        fields.problems.append(
            f"{fields.place('hidden_size')}, {hidden}, isn't a multiple of "
            f"{fields.place('num_attention_heads')}, {heads}"
        )
    return (1 + fields.entry.twice) * hidden // heads


def turning_by_share(kind: Kind, width: int | None) -> int | None:
    """Return how many dimensions turn, by the first of these: all turn without any.

    1. The share in the mapping.
    2. The share in the file.
    3. The number, rotary_dim.
    4. The share of the class.
    """
    fields, rope = kind.fields, kind.rope
    source = rope if rope[SHARE] or rope.is_invalid(SHARE) else fields
    if source is fields and not fields.says(SHARE):  # no share but the class's
        number: int | None = fields["rotary_dim"]
        if number or fields.is_invalid("rotary_dim"):
            return number
    share = source[SHARE]
    if not width or source.is_invalid(SHARE):
        return None
    if not share:
        return width
    turning = int(width * share)
    is_proportional = rope["rope_type"] == "proportional"
    return turning - turning % 2 if is_proportional else turning


# ---------------------------------------------------------------- axes and base


def with_axes(kind: Kind, layers: Layers) -> Layers:
    """Note how many pairs each axis turns (time, height, width), and in which order."""
    rope, entry = kind.rope, kind.fields.entry
    sections = rope["mrope_section"] or entry.sections
    if not sections:
        return layers
    total = sum(sections)
    # Nothing is wrong with sections of a head whose width the file doesn't say.
    if layers.rotated not in (None, 2 * total):
        rope.problems.append(
            f"mrope_section sums to {total}, but {layers.rotated} dimensions turn"
        )
    is_interleaved = rope["mrope_interleaved"] or entry.axes == "interleaved"
    order = "interleaved" if is_interleaved else "in sections"
    # Of other code, nobody knows the order.
    return replace(layers, sections=tuple(sections), axes=order if entry.code else None)


def base(kind: Kind) -> float | None:
    """Return the base: the mapping's, or else the file's, or else the class's."""
    name, source = "rope_theta", kind.rope
    if name not in {*source.spelled, *source.defaults}:
        source = kind.fields
        if kind.name in source.entry.local:
            name = "rope_local_base_freq"
    if source.is_null(name):
        source.problems.append(f"{source.place(name)} is null: no base is known")
    value: float | None = source[name]
    return value


# ---------------------------------------------------------------- scalings


def stretched(kind: Kind, layers: Layers) -> tuple[Layers, Lengths]:
    """Return what a scaling makes of the frequencies, and the lengths that it is for."""
    fields, rope, entry = kind.fields, kind.rope, kind.fields.entry
    # By which frequencies images turn along their axes, only their code knows.
    if entry.axes == "image" or any(map(fields.says, WORDS["sizes_of_images"])):
        return replace(layers, scaling="default"), UNSAID
    name = rope["rope_type"] or "default"
    if fields.is_invalid("rope_parameters") or rope.is_invalid("rope_type"):
        return layers, UNSAID
    layers = replace(layers, scaling=name[:40])
    # `posenc.scaling` checks what the file gives; powers of odd numbers overflow.
    try:
        scaling = find_scaling(name)
        settings = settings_of(kind, scaling)
        if fields.is_invalid(ORIGINAL) or rope.is_invalid(ORIGINAL):
            return layers, UNSAID
        start, end = scaling.lengths(settings, settings[LIMIT])
        layers = replace(layers, scaling=scaling.name)
        layers = with_frequencies(layers, settings, max(end or 0, (start or 0) + 1))
        if entry.mscale or not entry.code:
            layers = replace(layers, score_factor=scaling.score_factor(settings))
    except (ArithmeticError, TypeError, ValueError) as error:
        fields.problems.append(f"{rope.name}: {error}"[:200])
        return layers, UNSAID
    note_contradictions(kind, settings)
    return layers, (start, end)


def settings_of(kind: Kind, scaling: Scaling) -> Settings:
    """Return the fields that a scaling reads, for its rule, which checks them."""
    fields, rope = kind.fields, kind.rope
    settings: Settings = {name: rope[name] for name in scaling.fields}
    limit = fields[LIMIT]
    if ORIGINAL in settings:  # transformers prefers the field outside
        settings[ORIGINAL] = fields[ORIGINAL] or settings[ORIGINAL] or limit
    # Old programs read `type`, which must not say otherwise.
    settings["type"] = rope.content.get("type")
    return settings | {"rope_type": scaling.name, LIMIT: limit}


def note_contradictions(kind: Kind, settings: Settings) -> None:
    """Note where the fields of a scaling contradict each other."""
    rope = kind.rope
    limit, start, factor = map(settings.get, (LIMIT, ORIGINAL, "factor"))
    if not limit or not start:
        return
    if not (rope.values[ORIGINAL] or kind.fields.values[ORIGINAL]):
        rope.problems.append(
            f"{rope.name} has no {ORIGINAL}: transformers falls back to {LIMIT}, {limit}, "
            "right if that is the length before scaling"
        )
    if settings["rope_type"] == "llama3":
        # Its factor is no ratio of lengths, but transformers asks for a longer limit.
        if limit <= start:
            rope.problems.append(f"{ORIGINAL} is {start}, not below {LIMIT}, {limit}")
    # Some files give the trained length in both fields, which says nothing of a ratio.
    elif factor and limit != start and abs(limit - start * factor) >= 1:
        rope.problems.append(
            f"the factor is {factor:g}, but {limit} / {start} is {limit / start:g}: "
            "the factor takes precedence"
        )


def with_frequencies(layers: Layers, settings: Settings, longest: int) -> Layers:
    """Note frequencies and factors, up to the length before scaling and beyond it."""
    width, rotated = layers.head_dim, layers.rotated
    if not layers.base or not width or not rotated:
        return layers
    if rotated % 2 or not rotated <= width <= WIDEST:
        return layers
    if settings["rope_type"] == "proportional":  # it spreads over the whole head
        # Half a dimension more, as the rule rounds down: 30 / 176 · 176 is below 30.
        settings = settings | {SHARE: min((rotated + 0.5) / width, 1.0)}
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
