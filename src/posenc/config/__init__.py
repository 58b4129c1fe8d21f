r"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. `read_config` takes four steps:
*normalize* finds the fields, *validate* checks them, *compute* has the frequencies of each kind of
layer, and *warn* names contradictions and what wasn't read. What a type's code decides is data, in
``models.json``, recorded from running code by ``tools/watch.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.config.compute import compute
from posenc.config.fields import LARGEST, Fields, load, told
from posenc.config.found import ROTARY, Layers, Positions
from posenc.config.normalize import Model, known_models, normalize
from posenc.config.validate import LENGTH, validate
from posenc.config.warn import warn
from posenc.scaling import ORIGINAL

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
        if each.where == ROTARY:
            validate(model, each)
    layers = tuple(compute(model, each) for each in model.kinds)
    warnings = tuple(dict.fromkeys([*notes, *warn(model, layers)]))
    if len(warnings) > MOST:
        warnings = (*warnings[:MOST], f"and {len(warnings) - MOST} more warnings")
    source = known_models()["about"]["source"]
    code = f"{source}, {model.code['file']}" if model.code else None
    found = {each.path[:-1]: _read(each, name, []) for each, name in model.others}
    parts = {
        name: part
        for name, part in found.items()
        if part.warnings or part.parts or ROTARY in (each.where for each in part.layers)
    }
    lengths = _lengths(model)
    return Positions(model.model_type, code, *lengths, layers, warnings, parts)


def _lengths(model: Model) -> tuple[int | None, int | None, int | None]:
    """Return the length before scaling, the intended one, and the limit."""
    limit, before = model.limit, model.text.count(*LENGTH, least=2)
    for name, fields in ((each.scaling.name, each.fields) for each in model.kinds if each.scaling):
        stretched = name in ("yarn", "longrope") and "factor" in fields
        if name == "dynamic" and "alpha" not in fields and limit:
            return limit, int(limit * fields["factor"]), limit
        if name == "linear" or stretched:
            before = fields.get(ORIGINAL)
            return before, max(int(before * fields["factor"]), 2) if before else limit, limit
        before = fields.get(ORIGINAL, before)
    return before, limit, limit
