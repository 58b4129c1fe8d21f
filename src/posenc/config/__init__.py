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
from typing import Any

from posenc.config.fields import LARGEST_FILE, TYPES, WORDS, Fields, load
from posenc.config.kinds import normalize
from posenc.config.rotation import LIMIT, describe
from posenc.config.verdict import (
    contradictions,
    lengths_of_model,
    remarks,
    sentence,
    unread_fields,
)
from posenc.layers import Layers, shown
from posenc.scaling import ORIGINAL

__all__ = ["Layers", "Positions", "read_config"]

DEEPEST, MOST_PARTS, MOST_WARNINGS = 5, 9, 50  # models in models, their number


@dataclass(frozen=True)
class Positions:
    """What a file and its type say about positions: a verdict, lengths, and kinds of layers."""

    verdict: str  #: Which layers turn, how, and what looks wrong, in a sentence.
    model_type: str | None  #: The file's type.
    code: str | None  #: Which code decides the rest; None if it isn't known here.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: int | None  #: The length that the scaling, or the file, is for.
    limit: int | None  #: The length that the file allows.
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
        names = (
            "model_type",
            "code",
            "length_before_scaling",
            "intended_length",
            "limit",
        )
        for name in names:
            lines.append(f"{name.replace('_', ' ')}: {shown(getattr(self, name))}")
        # Of a type that isn't known, each line is a suggestion, and says so.
        begin = "" if self.code else "the fields suggest "
        for layers in self.layers:
            lines.append(f"\n{begin}{layers}".replace("\n  ", f"\n  {begin}"))
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
        If the file isn't JSON. The message names its place.

    Examples
    --------
    >>> config = {"model_type": "llama", "head_dim": 128, "num_hidden_layers": 16}
    >>> read_config(config).verdict
    'RoPE in all 16 layers, base 10,000: nothing wrong'
    """
    if isinstance(config, str | Path):
        with Path(config).open("rb") as file:
            config = file.read(LARGEST_FILE + 1)
    content = load(config) if isinstance(config, bytes) else config
    if not isinstance(content, Mapping):
        raise TypeError(f"config must be a mapping, got {str(content)[:60]}")
    whole = Fields(as_config(content))
    kind = whole.text("model_type") or None
    (_, text), *others = (
        (part.path[:-1], read_model(part, part_kind))
        for part, part_kind in list(models(whole, kind))[:MOST_PARTS]
    )
    return replace(text, model_type=kind or text.model_type, parts=dict(others))


def as_config(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a configuration for a ``params.json`` of Meta or Mistral."""
    if "model_type" in content or not {"dim", "n_heads"} <= content.keys():
        return content
    other = {**content, "model_type": "params.json"}
    if other.pop("use_scaled_rope", False):
        other["rope_scaling"] = {
            "rope_type": "llama3",
            "factor": other.pop("rope_scaling_factor", None) or 8,
            "low_freq_factor": 1,
            "high_freq_factor": other.pop("rope_high_freq_factor", None) or 4,
            "original_max_position_embeddings": 8192,
        }
    return other


def models(
    whole: Fields, kind: str | None, depth: int = 0
) -> Iterator[tuple[Fields, str | None]]:
    """Yield fields and type of each model in a file, those of the text first."""
    usual_types = TYPES.get(kind or "", {}).get("parts", {})
    parts = parts_inside(whole) if depth < DEEPEST else {}
    types = types_of_parts(parts, usual_types)
    text = next((name for name in WORDS["parts_with_text"] if name in parts), None)
    if text is None:  # the fields of the text may stand beside those of other parts
        yield whole, usual_types.get("text_config", kind)
    else:
        if whole.has("rope_scaling"):
            words = f"rope_scaling beside {text} is ignored: move it inside"
            parts[text].problems.append(words)
        yield from models(parts[text], types[text], depth + 1)
    for name, part in parts.items():
        known = types[name] in TYPES or "text_config" in part.content
        if name != text and (known or part.has("num_hidden_layers")):
            whole.asked.add(name)
            yield from models(part, types[name], depth + 1)


def parts_inside(whole: Fields) -> dict[str, Fields]:
    """Return the mappings that, by their names, describe a model inside this one."""
    return {
        name: whole.inside(name)
        for name, value in whole.content.items()
        if isinstance(value, Mapping)
        if name in WORDS["parts_with_text"]
        or str(name).endswith(("_config", "encoder"))
    }


def types_of_parts(
    parts: dict[str, Fields], usual: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the type of each part: the one it names, or else the usual one in its whole."""
    types: dict[str, str | None] = {}
    for name, part in parts.items():
        said = part.text("model_type")
        # Some files write the type of the whole into a part.
        is_of_whole = name in usual and "parts" in TYPES.get(said, {})
        types[name] = said if said and not is_of_whole else usual.get(name)
    return types


def read_model(fields: Fields, name: str | None) -> Positions:
    """Read the fields of one model."""
    entry = TYPES.get(name or "", {})
    entry = entry if "where" in entry else {}
    fields.defaults = entry.get("defaults", {})
    kinds = [describe(kind) for kind in normalize(fields, entry)]
    limit = fields.count(LIMIT)
    unread = list(unread_fields(fields, entry))
    contradicting, remarked = list[str](), list[str]()
    for described in kinds:
        contradicting += contradictions(fields, described)
        remarked += remarks(fields, described)
        unread += unread_fields(described.kind.rope, entry)
    # Looking for contradictions may note further problems, so the list is copied behind it.
    wrong = list(dict.fromkeys([*fields.problems, *contradicting]))
    unread = list(dict.fromkeys(unread))
    warnings = [
        f"{place} isn't read here, and may speak of positions" for place in unread
    ]
    warnings += [*wrong, *dict.fromkeys(remarked)]
    start, intended = lengths_of_model(kinds)
    if start is None:
        start, intended = fields.count(ORIGINAL), limit
    return Positions(
        verdict=sentence(kinds, bool(entry), unread, wrong),
        model_type=name,
        code=f"{entry['class']}, {entry['read']}" if entry else None,
        length_before_scaling=start,
        intended_length=intended,
        limit=limit,
        layers=tuple(described.layers for described in kinds),
        warnings=tuple(warnings[:MOST_WARNINGS]),
    )
