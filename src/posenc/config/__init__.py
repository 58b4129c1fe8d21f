"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. Spellings and types of fields are data,
in ``fields.json``; so is what a type's code decides, in ``models.json``, recorded from running code
by ``tools/watch.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc.config.fields import LARGEST, Fields, data, load, told
from posenc.config.found import Layers, Positions
from posenc.config.steps import compute, lengths, normalize, validate, warn

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
        If `config` is neither, or a field has the wrong type.
    ValueError
        If the file isn't JSON, or a field is missing or invalid. The message names its place.

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
    return _read(Fields(config), notes=twice)


def _read(fields: Fields, kind: str | None = None, notes: Sequence[str] = ()) -> Positions:
    """Read one part of a file."""
    model = normalize(fields, kind)
    for each in model.kinds:
        validate(model, each)
    layers, found = tuple(compute(model, each) for each in model.kinds), lengths(model)
    warnings = list(dict.fromkeys([*notes, *warn(model, layers)]))
    if len(warnings) > MOST:
        warnings[MOST:] = [f"and {len(warnings) - MOST} more warnings"]
    code = model.code and f"{data('models.json')['about']['source']}, {model.code['file']}"
    parts = {part.path[:-1]: _read(part, its) for part, its in model.others}
    for name, part in list(parts.items()):  # nothing is said of positions in some
        if not (part.warnings or part.parts or any(each.where for each in part.layers)):
            del parts[name]
    return Positions(model.model_type, code or None, *found, layers, tuple(warnings), parts)
