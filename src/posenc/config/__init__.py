"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. Spellings and types of fields are data,
in ``fields.json``; so is what a type's code decides, in ``models.json``, recorded from running code
by ``tools/watch.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from posenc.config.fields import ABOUT, LARGEST, Fields, load
from posenc.config.steps import compute, lengths, models, normalize, validate, warn
from posenc.layers import ROTARY, Layers, shown

MOST, MOST_MODELS = (
    50,
    9,
)  # warnings of a model, models of a file; released ones have fewer

__all__ = ["Layers", "Positions", "read_config"]


@dataclass(frozen=True)
class Positions:
    """What a file and its type say about positions: lengths, kinds of layers, and warnings."""

    model_type: str | None  #: The file's type.
    code: (
        str | None
    )  #: Where it was read what the type's code decides; None if it isn't known.
    length_before_scaling: int | None  #: The length that a scaling starts from.
    intended_length: (
        int | None
    )  #: The length that the scaling, or the file, is meant for.
    limit: int | None  #: The length that the file allows.
    layers: tuple[Layers, ...]  #: The kinds of layers.
    warnings: tuple[
        str, ...
    ]  #: Contradictions, known differences, and fields not read.
    #: Other parts, as for images, by their field.
    parts: dict[str, Positions] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON types, as ``--json`` prints it."""
        return dict(json.loads(json.dumps(asdict(self))))

    def __str__(self) -> str:
        """Format everything for people."""
        told = vars(self) | {
            "code": self.code or "not known, so this is what the file says"
        }
        layers, warnings, parts = (
            told.pop(name) for name in ("layers", "warnings", "parts")
        )
        lines = [
            f"{name.replace('_', ' ')}: {shown(each)}" for name, each in told.items()
        ]
        lines += [f"\n{each}" for each in layers] + [
            f"\nWarning: {each}" for each in warnings
        ]
        return "\n".join(
            [*lines, *(f"\n{shown(name)}\n{part}" for name, part in parts.items())]
        )


def read_config(config: Mapping[str, Any] | str | bytes | Path) -> Positions:
    """Read what a model's configuration, and the code of its type, say about positions.

    Fields are read as in transformers 5; warnings tell where other programs are known to differ.

    Parameters
    ----------
    config : mapping, str, Path or bytes
        The content of a ``config.json`` as a mapping or as bytes, or the path of one.

    Returns
    -------
    Positions
        Lengths, kinds of layers, and warnings, to print, or as JSON types by ``as_dict``. What
        neither the file nor its type says is None.

    Raises
    ------
    TypeError
        If `config`, or what must be a mapping in it, is none.
    ValueError
        If the file isn't JSON, or a field is missing or invalid, be it in its type. The message
        names its place.

    Examples
    --------
    >>> found = read_config({"rope_theta": 500_000.0, "head_dim": 128, "num_hidden_layers": 16})
    >>> found.layers[0].rotated, found.layers[0].count
    (128, 16)
    """
    if isinstance(config, str | Path):
        with Path(config).open("rb") as opened:
            config = opened.read(LARGEST + 1)
    config, twice = load(config) if isinstance(config, bytes) else (config, [])
    file = Fields(config, notes=twice)
    read = islice(models(file), MOST_MODELS)
    (_, text), *others = ((part.path[:-1], _read(part, kind)) for part, kind in read)
    return replace(
        text, model_type=file["model_type"] or text.model_type, parts=dict(others)
    )


def _read(part: Fields, kind: str | None) -> Positions:
    """Read the fields of one model."""
    code, kinds = normalize(part, kind)
    for each in (each for each in kinds if each.found["where"] == ROTARY):
        validate(each)
        compute(each)
    layers = tuple(Layers(**each.found) for each in kinds)
    before, intended, limit = lengths(part, kinds)
    warnings = list(dict.fromkeys(islice(warn(part, kinds, bool(code)), 20 * MOST)))
    if len(warnings) > MOST:
        warnings[MOST:] = [f"and at least {len(warnings) - MOST} more warnings"]
    about = f"{ABOUT['source']}, {code['file']}" if code else None
    return Positions(kind, about, before, intended, limit, layers, tuple(warnings))
