"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. Spellings and types of fields are data,
in ``fields.json``; so is what a type's code decides, in ``models.json``, recorded from running code
by ``tools/watch.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from posenc.config.fields import LARGEST, Fields, data, load
from posenc.config.found import ROTARY, Layers, Positions
from posenc.config.steps import compute, lengths, normalize, parts, validate, warn

MOST = 50  # warnings of a file; released ones have some ten

__all__ = ["Layers", "Positions", "read_config"]


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
        with Path(config).open("rb") as file:
            config = file.read(LARGEST + 1)
    config, twice = load(config) if isinstance(config, bytes) else (config, [])
    return _read(Fields(config, notes=twice))


def _read(fields: Fields, kind: str | None = None) -> Positions:
    """Read one part of a file."""
    text, kind, others = parts(fields, kind)
    code, kinds = normalize(text, kind)
    for each in (each for each in kinds if each.found["where"] == ROTARY):
        validate(each)
        compute(each)
    layers = tuple(Layers(**each.found) for each in kinds)
    spans = lengths(text, kinds)
    warnings = list(dict.fromkeys(islice(warn(text, kinds, bool(code)), 20 * MOST)))
    if len(warnings) > MOST:
        warnings[MOST:] = [f"and at least {len(warnings) - MOST} more warnings"]
    about = f"{data('models.json')['about']['source']}, {code['file']}" if code else None
    read = {name: _read(*part) for name, part in others.items()}
    read = {
        n: p for n, p in read.items() if p.warnings or p.parts or any(e.where for e in p.layers)
    }
    kind = fields["model_type"] or kind
    return Positions(kind, about, *spans, layers, tuple(warnings), read)
