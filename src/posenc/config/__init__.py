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

from posenc.config.fields import LARGEST_FILE, Fields, is_text, load
from posenc.config.kinds import normalize
from posenc.config.rotation import LIMIT, describe
from posenc.config.types import TYPES, type_of_architecture
from posenc.config.verdict import contradictions, remarks, sentence, unread_fields
from posenc.layers import Layers, shown
from posenc.scaling import ORIGINAL

__all__ = ["Layers", "Positions", "read_config"]

# Parts of a model that reads or writes text; the others are for images and sounds.
TEXT_PARTS = (
    "text_config",
    "language_config",
    "llm_config",
    "thinker_config",
    "decoder",
)
DEEPEST = 5  # models in models
MOST_PARTS = 9
MOST_WARNINGS = 50
SUGGESTED = "what the type's code does isn't known here; the fields suggest "


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
        for name in (
            "model_type",
            "code",
            "length_before_scaling",
            "intended_length",
            "limit",
        ):
            lines.append(f"{name.replace('_', ' ')}: {shown(getattr(self, name))}")
        for layers in self.layers:
            said = str(layers)
            if self.code is None:  # each line is a suggestion, and says so
                said = said.replace("\n  ", "\n  the fields suggest ")
                said = f"the fields suggest {said}"
            lines.append(f"\n{said}")
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
    notes: list[str] = []
    if isinstance(config, bytes):
        config, notes = load(config)
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a mapping, got {str(config)[:60]}")
    whole = Fields(as_config(config))
    (_, first, kind), *others = list(models(whole, whole.text("model_type")))[
        :MOST_PARTS
    ]
    text = read_model(first, kind, notes + whole.problems)
    parts = {name: read_model(part, part_kind, []) for name, part, part_kind in others}
    return replace(text, model_type=whole.text("model_type") or kind, parts=parts)


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
) -> Iterator[tuple[str, Fields, str | None]]:
    """Yield name, fields and type of each model in a file, those of the text first."""
    types = TYPES.get(kind or "", {}).get("parts", {})
    inside = {
        name: whole.inside(name)
        for name, value in whole.content.items()
        if isinstance(value, Mapping) and depth < DEEPEST
        if name in TEXT_PARTS or str(name).endswith(("_config", "encoder"))
    }
    own = {name: part_type(part, types.get(name)) for name, part in inside.items()}
    text = next((name for name in TEXT_PARTS if name in inside), None)
    if text is None:  # the fields of the text may stand beside those of other parts
        yield whole.path[:-1], whole, types.get(TEXT_PARTS[0], kind)
    else:
        inside[text].content.setdefault("architectures", whole.value("architectures"))
        if whole.has("rope_scaling"):
            whole.problems.append(
                f"rope_scaling beside {text} is ignored: move it inside"
            )
        yield from models(inside[text], own[text], depth + 1)
    for name, part in inside.items():
        if name != text and (
            part.has("num_hidden_layers") or TEXT_PARTS[0] in part.content
        ):
            whole.asked.add(name)
            yield from models(part, own[name], depth + 1)


def part_type(part: Fields, usual: str | None) -> str | None:
    """Return the type of a part, whose file may have the type of the whole model instead."""
    said = part.text("model_type")
    return usual if said is None or (usual and "parts" in TYPES.get(said, {})) else said


def read_model(fields: Fields, name: str | None, notes: list[str]) -> Positions:
    """Read the fields of one model."""
    entry, begin = TYPES.get(name or "", {}), ""
    if "where" not in entry:
        architecture = (fields.items("architectures", is_text) or [""])[0]
        like = type_of_architecture(architecture)
        entry = TYPES.get(like or "", {})
        begin = f"read as {like}, as architectures says: " if like else SUGGESTED
    fields.defaults = entry.get("defaults", {})
    kinds = normalize(fields, entry)
    for kind in kinds:
        kind.facts = describe(kind)
    layers = tuple(Layers(**kind.facts) for kind in kinds)
    limit = fields.count(LIMIT)
    scaled = (kind.lengths for kind in kinds if kind.lengths[0])
    start, intended = next(scaled, (None, limit))
    lengths = (start or fields.count(ORIGINAL), intended, limit)
    unread = list(unread_fields(fields, entry))
    wrong, remarked = [*notes, *fields.problems], list[str]()
    for kind in kinds:
        wrong += contradictions(fields, kind)
        remarked += remarks(fields, kind)
        unread += unread_fields(kind.rope, entry)
    wrong, unread = list(dict.fromkeys(wrong)), list(dict.fromkeys(unread))
    verdict = sentence(layers, lengths, unread, wrong, begin)
    told = [f"{each} isn't read here, and may speak of positions" for each in unread]
    warnings = (*told, *wrong, *dict.fromkeys(remarked))
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS
        warnings = (*warnings[:MOST_WARNINGS], f"and {more} more warnings")
    code = None if begin else entry["source"]
    return Positions(verdict, name, code, *lengths, layers, warnings)
