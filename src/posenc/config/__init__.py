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
from posenc.config.kinds import ALL, normalize
from posenc.config.rotation import LIMIT, describe
from posenc.config.verdict import sentence, unread_fields
from posenc.layers import Layers, shown
from posenc.scaling import ORIGINAL

__all__ = ["Layers", "Positions", "read_config"]

LENGTHS = "length_before_scaling", "intended_length", "limit"
SOME = "some or all layers"
ENDS_OF_PARTS = (
    "_config",
    "_cfg",
    "encoder",
    "decoder",
)  # of fields that describe a model


@dataclass(frozen=True)
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
    >>> read_config(config | {"max_position_embeddings": 4096}).verdict
    'RoPE in all 16 layers, base 10,000 (by default: rope_theta): nothing wrong'
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
    model_type = whole.text("model_type") or type_of_params(whole)
    (text, text_type), *others = models(whole, model_type)
    reading = read_model(text, text_type)
    parts = {
        part.path[:-1]: read_model(part, part_type)
        for part, part_type in others
        if part_type in TYPES or part.says("num_hidden_layers")
    }
    return replace(reading, model_type=model_type or text_type or None, parts=parts)


def type_of_params(whole: Fields) -> str:
    """Return the type, as in types.toml, of a ``params.json``: Meta's or Mistral's."""
    # Other programs have taken over its names, but not all of them.
    names = whole.content.keys()
    if not {"dim", "n_heads", "norm_eps"} <= names or "use_hf_rope" in names:
        return ""
    scaled = whole.flag("use_scaled_rope")
    return "params.json, use_scaled_rope" if scaled else "params.json"


def models(whole: Fields, model_type: str) -> Iterator[tuple[Fields, str]]:
    """Yield fields and type of each model in a file, those of the text first."""
    parts = {
        name: Fields(value, f"{whole.path}{name}.")
        for name, value in whole.content.items()
        if isinstance(value, Mapping) and str(name).endswith(ENDS_OF_PARTS)
    }
    text = next((name for name in WORDS["parts_with_text"] if name in parts), None)
    if text is None:  # the fields of the text may stand beside those of other parts
        yield whole, known_type(model_type, model_type, "text")
    elif whole.says("rope_scaling"):
        words = f"rope_scaling beside {text} is ignored: move it inside"
        parts[text].problems.append(words)
    for name in sorted(parts, key=lambda name: name != text):
        said = parts[name].text("model_type")
        # Some files write the type of the whole into a part, and some write none.
        whole_type, part = said or model_type, name.removesuffix("_config")
        yield from models(parts[name], known_type(said, whole_type, part))


def known_type(said: str, whole_type: str, part: str) -> str:
    """Return the type that is said, unless only one named like a part of its whole is known."""
    names = (said, f"{whole_type}_{part}", f"{whole_type}_{part}_model")
    return next((name for name in names if name in TYPES), said)


def read_model(fields: Fields, model_type: str) -> Positions:
    """Read the fields of one model: normalize, validate and compute, and warn.

    Whatever asks for a field validates it, and notes in `fields` what is wrong.
    """
    entry = TYPES.get(model_type, Entry())
    if fields.flag("use_mla") is False:
        entry = Entry()  # plain attention, which no code of the table has
    fields.defaults = entry.defaults
    kinds = normalize(fields, entry)
    described = [describe(kind) for kind in kinds]
    layers = [one.layers for one in described]
    # Lengths are those of the first kind that is stretched from a known one.
    limit = fields.count(LIMIT)
    start, end = fields.count(ORIGINAL), limit
    for one in reversed(described):
        if one.start:
            start, end = one.start, one.end
    # Fields that nobody asked for: so nothing may be read after this.
    unread = unread_fields([fields, *(kind.rope for kind in kinds)], entry)
    if unread and not entry.code:
        layers = [narrowed(one) for one in layers]
    problems = [*dict.fromkeys(fields.problems)]
    warnings = [
        f"{place} isn't read here, and may speak of positions" for place in unread
    ]
    warnings += [*problems, *dict.fromkeys(fields.remarks)]
    reading = Positions(
        verdict="",  # it is told of all the rest
        model_type=model_type or None,
        code=f"{entry.code}, {entry.read}" if entry.code else None,
        length_before_scaling=start,
        intended_length=end,
        limit=limit,
        by_default=tuple(dict.fromkeys(fields.by_default)) or None,
        layers=tuple(layers),
        warnings=tuple(warnings),
    )
    return replace(reading, verdict=sentence(reading, unread, problems))


def narrowed(layers: Layers) -> Layers:
    """Return what is left of all layers if fields that aren't read may tell them apart."""
    if layers.name != ALL:
        return layers
    return replace(layers, name=SOME, count=None, indices=None, window=None)
