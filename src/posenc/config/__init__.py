"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn; the code of the model's type decides the rest.
``types.toml`` has what that code does, for types that people run. What a file says about its
encoding counts more, and of another type a reading says what its fields suggest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

from posenc.config.fields import LARGEST_FILE, TYPES, WORDS, Entry, Fields, load
from posenc.config.kinds import normalize
from posenc.config.rotation import LIMIT, describe, lengths_said
from posenc.config.verdict import sentence, unread_fields
from posenc.layers import Layers, shown
from posenc.scaling import ORIGINAL

__all__ = ["Layers", "Positions", "read_config"]

LENGTHS = ("length_before_scaling", "intended_length", "limit")


@dataclass(frozen=True)
class Positions:
    """What a file and its type say about positions: a verdict, lengths, and kinds of layers."""

    verdict: str  #: Which layers turn, how, and what looks wrong, in a sentence.
    model_type: str | None  #: The file's type.
    code: str | None  #: Which code decides the rest; None if it isn't known here.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: int | None  #: The length that the scaling, or the file, is for.
    limit: int | None  #: The length that the file allows.
    #: Which of these lengths the file leaves to the defaults of its type.
    by_default: tuple[str, ...] | None
    layers: tuple[Layers, ...]  #: The kinds of layers.
    #: Fields that aren't read, then contradictions, then where programs differ.
    warnings: tuple[str, ...]
    #: Other parts, as for images, by their field.
    parts: dict[str, Positions] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        return dict(json.loads(json.dumps(asdict(self))))

    def __str__(self) -> str:
        """Format everything for people, with the verdict and the warnings first."""
        lines = [self.verdict, *(f"Warning: {warning}" for warning in self.warnings)]
        for name in ("model_type", "code", *LENGTHS):
            lines.append(f"{name.replace('_', ' ')}: {shown(getattr(self, name))}")
        if self.by_default:
            lines.append(f"by default: {shown(self.by_default)}")
        # Of a type that isn't known, each line is a suggestion, and says so.
        begin = "" if self.code else "the fields suggest "
        lines += [f"\n{indent(str(layers), begin)}" for layers in self.layers]
        lines += [f"\n{shown(name)}\n{part}" for name, part in self.parts.items()]
        return "\n".join(lines)


def read_config(config: Mapping[str, Any] | str | bytes | Path) -> Positions:
    """Read what a model's configuration, and the code of its type, say about positions.

    Fields are read as in transformers 5; warnings tell where other programs are known to differ.
    A field that can't be read is named, and the rest is read.

    Parameters
    ----------
    config : mapping, str, Path or bytes
        The content of a ``config.json`` as a mapping or as bytes, or the path of one.

    Returns
    -------
    Positions
        A verdict, lengths, kinds of layers, and warnings, to print, or as JSON types by
        ``as_dict``. What neither the file nor its type says is None.

    Raises
    ------
    TypeError
        If `config` isn't a mapping.
    ValueError
        If the file isn't JSON, or is nested too deeply. The message names its place.

    Examples
    --------
    >>> config = {"model_type": "llama", "head_dim": 128, "num_hidden_layers": 16}
    >>> read_config(config).verdict
    'RoPE in all 16 layers, base 10,000 by default: nothing wrong'
    """
    if isinstance(config, str | Path):
        with Path(config).open("rb") as file:
            config = file.read(LARGEST_FILE + 1)
    content = load(config) if isinstance(config, bytes) else config
    if not isinstance(content, Mapping):
        raise TypeError(f"config must be a mapping, got {content!a:.60}")
    try:
        return read_models(Fields(content))
    except RecursionError as error:
        raise ValueError("config is nested too deeply") from error


def read_models(whole: Fields) -> Positions:
    """Read the model of the text, and the others as its parts."""
    kind = whole.text("model_type") or type_of_params(whole)
    (text, text_kind), *others = models(whole, kind)
    reading = read_model(text, text_kind)
    parts = {part.path[:-1]: read_model(part, name) for part, name in others}
    return replace(reading, model_type=kind or text_kind, parts=parts)


def type_of_params(whole: Fields) -> str | None:
    """Return the type, as in types.toml, of a ``params.json``: Meta's or Mistral's."""
    if not {"dim", "n_heads"} <= whole.content.keys():
        return None
    scaled = whole.flag("use_scaled_rope")
    return "params.json, use_scaled_rope" if scaled else "params.json"


def models(whole: Fields, kind: str | None) -> Iterator[tuple[Fields, str | None]]:
    """Yield fields and type of each model in a file, those of the text first."""
    parts = parts_inside(whole)
    text = next((name for name in WORDS["parts_with_text"] if name in parts), None)
    if text is None:  # the fields of the text may stand beside those of other parts
        yield whole, kind if kind in TYPES else named_like(kind, "text") or kind
    elif whole.has("rope_scaling"):
        words = f"rope_scaling beside {text} is ignored: move it inside"
        parts[text].problems.append(words)
    for name in sorted(parts, key=lambda name: name != text):
        part = parts[name]
        part_kind = type_of_part(part, kind, name)
        known = part_kind in TYPES or "text_config" in part.content
        if name == text or known or part.has("num_hidden_layers"):
            yield from models(part, part_kind or None)


def type_of_part(part: Fields, kind: str | None, name: str) -> str:
    """Return the type that a part says, or else one named like its whole, of type `kind`."""
    said = part.text("model_type")
    if said in TYPES:
        return said
    # Some files write the type of the whole into a part, and some write none.
    return named_like(said or kind, name.removesuffix("_config")) or said


def parts_inside(whole: Fields) -> dict[str, Fields]:
    """Return the mappings that, by their names, describe a model inside this one."""
    parts = {}
    for name, value in whole.content.items():
        named = str(name).endswith(("_config", "encoder", "decoder"))
        if named and isinstance(value, Mapping):
            parts[name] = Fields(value, f"{whole.path}{name}.")
    return parts


def named_like(kind: str | None, part: str) -> str | None:
    """Return the type of a part that is named like its whole, if the table has one."""
    names = (f"{kind}_{part}", f"{kind}_{part}_model")
    return next((name for name in names if name in TYPES), None)


def read_model(fields: Fields, name: str | None) -> Positions:
    """Read the fields of one model."""
    entry = TYPES.get(name or "", Entry())
    # 1. The defaults of the class, which all that reads fields counts on.
    fields.defaults = entry.defaults
    # 2. What each kind of layer does; problems and remarks gather in `fields`.
    kinds = [describe(kind) for kind in normalize(fields, entry)]
    layers = tuple(described.layers for described in kinds)
    # 3. Lengths: of the first kind that is stretched from a known one.
    limit = fields.count(LIMIT)
    stretched = next((one for one in kinds if one.lengths[0]), None)
    lengths = stretched.lengths if stretched else (fields.count(ORIGINAL), limit)
    alone = Fields(fields.content)  # as if its type weren't known
    limit_said = alone.count(LIMIT)
    said = lengths_said(stretched) if stretched else (alone.count(ORIGINAL), limit_said)
    named = zip(LENGTHS, (*lengths, limit), (*said, limit_said), strict=True)
    by_default = tuple(
        name for name, length, by_file in named if length and not by_file
    )
    # 4. The fields that nobody asked for: so nothing may be read after this.
    unread = [*unread_fields(fields, entry)]
    for described in kinds:
        unread += unread_fields(described.kind.rope, entry)
    unread, problems = [*dict.fromkeys(unread)], [*dict.fromkeys(fields.problems)]
    words = "isn't read here, and may speak of positions"
    warnings = [f"{place} {words}" for place in unread] + problems
    warnings += dict.fromkeys(fields.remarks)
    code = f"{entry.code}, {entry.read}" if entry.code else None
    reading = Positions(
        verdict="",  # it is told of all the rest
        model_type=name,
        code=code,
        length_before_scaling=lengths[0],
        intended_length=lengths[1],
        limit=limit,
        by_default=by_default or None,
        layers=layers,
        warnings=tuple(warnings),
    )
    return replace(reading, verdict=sentence(reading, unread, problems))
