"""What to say about a reading: which fields aren't read, and all of it in a sentence.

`rotation.describe` comes first: what it doesn't use, `unread_fields` tells. `sentence` comes last.
"""

import json
import re
from dataclasses import asdict, dataclass, field, replace
from textwrap import indent
from typing import Any

from posenc.config.fields import FIELD_OF, RULES, WORDS, Fields
from posenc.config.kinds import ALL
from posenc.layers import Layers, shown

SOME = "some or all layers"  # nobody knows which
SUGGESTED = "what the type's code does isn't known here; the fields suggest "


@dataclass
class Positions:
    """What a file and its type say about positions: a verdict, lengths, and kinds of layers."""

    verdict: str  #: Which layers turn, how, and what looks wrong, in a sentence.
    model_type: str | None  #: The file's type.
    code: str | None  #: Which code decides the rest; None if it isn't known here.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: int | None  #: The length that the scaling, or the file, is for.
    limit: int | None  #: The length that the file allows.
    #: Fields that the file leaves to the defaults of its type.
    by_default: tuple[str, ...] | None
    layers: tuple[Layers, ...]  #: The kinds of layers.
    #: Fields that aren't read, then contradictions, then where programs differ.
    warnings: tuple[str, ...]
    #: Other parts, as for images, by their field.
    parts: dict[str, "Positions"] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        return dict(json.loads(json.dumps(asdict(self))))

    def __str__(self) -> str:
        """Format everything for people, with the verdict and the warnings first."""
        # Of a type that isn't known, each line is a suggestion, and says so.
        begin = "" if self.code else "the fields suggest "
        lines = [
            self.verdict,
            *(f"Warning: {warning}" for warning in self.warnings),
            f"model type: {shown(self.model_type)}",
            f"code: {shown(self.code)}",
            f"length before scaling: {shown(self.length_before_scaling)}",
            f"intended length: {shown(self.intended_length)}",
            f"limit: {shown(self.limit)}",
            *(f"\n{indent(str(layers), begin)}" for layers in self.layers),
            *(f"\n{shown(name)}\n{part}" for name, part in self.parts.items()),
        ]
        return "\n".join(lines)


def unread_fields(fields: Fields) -> list[str]:
    """Return the fields that are invalid, or by their names speak of positions but aren't read.

    So, too, for the mappings inside.
    """
    unread = [why for name, why in fields.invalid.items() if name in fields.used]
    for name, value in fields.content.items():
        place = f"{fields.path}{name}"
        speaks = re.search(WORDS["speak_of_positions"], place)
        sounds_alike = re.search(WORDS["sound_alike"], str(name))  # {"moe_factor": 8}
        is_plain = str(value) in WORDS["plain_words"]  # {"rope_new": 0}
        if speaks and not (sounds_alike or is_plain or is_known(fields, name)):
            unread.append(shown(place))
    for inner in fields.inner.values():
        unread += unread_fields(inner)
    return unread


def is_known(fields: Fields, name: str) -> bool:
    """Whether a field is read, here or by the code of its type."""
    # What mappings inside have counts more, and may differ:
    # {"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}.
    inside = [inner.content for inner in fields.inner.values() if name in inner.content]
    if inside:
        return all(content[name] == fields.content[name] for content in inside)
    # Details change no answer here: {"model_type": "t5", "relative_attention_num_buckets": 32}.
    # Of another type, the verdict says anyway that its own code isn't known: {"auto_map": {}}.
    details = WORDS["details"] if fields.entry.code else ["auto_map"]
    # Beside mappings of kinds of layers, nothing is read:
    # {"mrope_interleaved": true, "full_attention": {"rope_theta": 1e6}}.
    is_detail = name in details and fields.used <= RULES.keys()
    return is_detail or is_used(fields, name)


def is_used(fields: Fields, name: str) -> bool:
    """Whether a field is used, or says the same as its spelling that is.

    {"n_ctx": 9, "n_positions": 9}. What is invalid is told apart; what is no field, such as
    {"full_attention": {}}, is asked for as the mapping of a kind of layers.
    """
    main_name, value = FIELD_OF.get(name, name), fields.content[name]
    is_same = fields.values.get(main_name, value) == value
    return main_name in fields.used and (is_same or main_name in fields.invalid)


def sentence(reading: Positions, unread: list[str], problems: list[str]) -> str:
    """Say which layers turn, how they are stretched, and what looks wrong."""
    total = sum(layers.count or 0 for layers in reading.layers)
    kinds = ", and ".join(in_words(layers, total) for layers in reading.layers)
    said = kinds + scaling_in_words(reading)
    if not reading.code:
        said = SUGGESTED + said
    if unread:
        said = f"not read, though it may change this: {', '.join(unread[:5])}; {said}"
    if reading.by_default:
        said += f" (by default: {', '.join(reading.by_default)})"
    fine = "nothing wrong" if reading.code and not unread else "no contradiction"
    return f"{said[0].upper()}{said[1:]}: {'; '.join(problems[:3]) or fine}"


def in_words(layers: Layers, total: int) -> str:
    """Say what one kind of layer does."""
    place = shown(layers.name)
    if layers.count == total:
        place = f"all {total} layers"
    elif layers.count:
        kind = "" if layers.name == ALL else f" ({place})"  # others of that kind rest
        place = f"{layers.count} of {total} layers{kind}"
    said = f"{WORDS['in_a_sentence'].get(str(layers.where), layers.where)} in {place}"
    if layers.base:
        said += f", base {layers.base:,.15g}"
    # A share of the head, or a width that isn't known.
    if layers.rotated != layers.head_dim:
        of = f" of {layers.head_dim}" if layers.head_dim else ""
        said += f", {layers.rotated or 'some'}{of} dimensions"
    return said


def scaling_in_words(reading: Positions) -> str:
    """Say which scalings stretch which length, and how far; nothing if none does."""
    stretch_no_length = {None, "default", "proportional"}
    scalings = {layers.scaling for layers in reading.layers} - stretch_no_length
    if not scalings:
        return ""
    start, end = reading.length_before_scaling, reading.intended_length
    said = f"{start:,} stretched to {end:,}" if start and end else "stretched"
    return f"; {said} by {', '.join(sorted(map(shown, scalings)))}"


def narrowed(layers: Layers) -> Layers:
    """Return what is left of layers if fields that aren't read may tell them apart."""
    layers = replace(layers, count=None, indices=None)
    return replace(layers, name=SOME, window=None) if layers.name == ALL else layers
