r"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. `read_config` takes four steps:
*normalize* finds the fields, *validate* checks them, *compute* has the frequencies of each kind of
layer, and *warn* names contradictions and what wasn't read. Spellings and types of fields are data,
in ``fields.json``; so is what a type's code decides, in ``models.json``, recorded from running code
by ``tools/watch.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.config.fields import LARGEST, Fields, data, load, told
from posenc.config.found import Layers, Positions
from posenc.config.steps import compute, lengths, normalize, validate, warn

MOST = 50  # warnings of a file; released ones have some ten

__all__ = ["Layers", "Positions", "read_config"]


def read_config(config: Mapping[str, Any] | str | bytes | Path) -> Positions:
    r"""Read what a model's configuration, and the code of its type, say about positions.

    Parameters
    ----------
    config : mapping, str, Path or bytes
        The content of a ``config.json`` as a mapping or as bytes, or the path of one.

    Returns
    -------
    Positions
        Lengths, kinds of layers, and warnings. `print` shows them, ``as_dict`` returns them as
        JSON types. What neither the file nor its type says is None.

    Raises
    ------
    TypeError
        If `config` is neither, or a field has the wrong type.
    ValueError
        If the file isn't JSON, or a field is missing or invalid. The message names its place.

    Notes
    -----
    Without scaling, pair :math:`i` of a head of width :math:`d` turns by
    :math:`\text{base}^{-2i/d}` per position. Fields are read as in transformers 5; warnings point
    out where other programs, or older versions, are known to differ.

    Examples
    --------
    >>> found = read_config({"rope_theta": 500_000.0, "head_dim": 128, "num_hidden_layers": 16})
    >>> found.layers[0].rotated, found.layers[0].count
    (128, 16)
    """
    twice: list[str] = []
    if isinstance(config, str | Path):
        with Path(config).open("rb") as file:
            config = file.read(LARGEST + 1)
    if isinstance(config, bytes):
        config, twice = load(config)
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a mapping or the path of one, got {told(config)}")
    return _read(Fields(config), None, twice)


def _read(fields: Fields, kind: str | None, notes: list[str]) -> Positions:
    """Read one part of a file."""
    model = normalize(fields, kind)
    for each in model.kinds:
        validate(model, each)
    layers = tuple(compute(model, each) for each in model.kinds)
    found = lengths(model)
    warnings = tuple(dict.fromkeys([*notes, *warn(model, layers)]))
    if len(warnings) > MOST:
        warnings = (*warnings[:MOST], f"and {len(warnings) - MOST} more warnings")
    source = data("models.json")["about"]["source"]
    code = f"{source}, {model.code['file']}" if model.code else None
    parts = {each.path[:-1]: _read(each, name, []) for each, name in model.others}
    spoken = {
        name: part
        for name, part in parts.items()
        if part.warnings or part.parts or any(each.where for each in part.layers)
    }
    return Positions(model.model_type, code, *found, layers, warnings, spoken)
