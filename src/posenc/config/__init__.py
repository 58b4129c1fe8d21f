r"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn, in fields whose places and spellings changed over
the years; the code of the model's type decides the rest. `read_config` takes four steps:
*normalize* finds the fields, *validate* checks them, *compute* has the frequencies of each kind of
layer, and *warn* names contradictions and what wasn't read. What a type's code decides is data, in
``models.json``, recorded from running code by ``tools/types.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.config.compute import compute
from posenc.config.fields import LARGEST, Fields, load, told
from posenc.config.found import BIAS, ROTARY, TABLE, Layers, Positions
from posenc.config.normalize import COUNTS, Model, known_models, normalize
from posenc.config.validate import Rotation, validate
from posenc.config.warn import unless_told, warn
from posenc.scaling import ORIGINAL

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
        If the file isn't JSON, or a field is missing or invalid: an unknown type of scaling, a
        missing factor, a list of the wrong length. The message names the field and its place.

    Notes
    -----
    Without scaling, pair :math:`i` of a head of width :math:`d` turns per position by

    .. math:: \omega_i = \text{base}^{-2i/d}.

    Fields are read as in transformers 5; warnings point out where other programs, or older
    versions, are known to differ. What a type's code decides was watched in small models of each
    class that rotates.

    Examples
    --------
    >>> found = read_config({"rope_theta": 500_000.0, "head_dim": 128, "num_hidden_layers": 16})
    >>> found.layers[0].rotated, found.layers[0].count
    (128, 16)
    >>> found.layers[0].frequencies[0]
    1.0
    """
    twice: list[str] = []
    if isinstance(config, str | Path):
        with Path(config).open("rb") as file:
            config = file.read(LARGEST + 1)
    if isinstance(config, bytes):
        config, twice = load(config)
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a mapping or the path of one, got {told(config)}")
    model = normalize(config)
    rotations = {k.name: validate(model, k) for k in model.kinds if k.where == ROTARY}
    layers = [
        compute(model, k, rotations[k.name] if k.where == ROTARY else None) for k in model.kinds
    ]
    notes = [*twice, *warn(model, model.kinds, rotations), *unless_told(layers, model)]
    if not model.rotates:
        layers = [_other(model, notes)]
    lengths = _lengths(model, rotations)
    code = f"{known_models()['about']['source']}, {model.code['file']}" if model.code else None
    return Positions(
        model.model_type, code, *lengths, model.limit, tuple(layers), tuple(dict.fromkeys(notes))
    )


def _lengths(model: Model, rotations: Mapping[str, Rotation]) -> tuple[int | None, int | None]:
    """Return the length before scaling, and the intended one."""
    limit, text = model.limit, model.text
    before = text.number(ORIGINAL, least=2)
    for rotation in rotations.values():
        name, fields = rotation.scaling.name, rotation.fields
        if name == "dynamic" and "alpha" not in fields and limit:
            return limit, int(limit * fields["factor"])
        if name == "linear":
            return None, limit
        if name in ("yarn", "longrope") and "factor" in fields:
            return fields[ORIGINAL], max(int(fields[ORIGINAL] * fields["factor"]), 2)
        before = fields.get(ORIGINAL, before)
    return None if before is None else int(before), limit


def _other(model: Model, notes: list[str]) -> Layers:
    """Return the layers of a model without signs of rotation."""
    text, places = model.text, []
    attention = text.inside("attn_config") or Fields({})
    if text.get("alibi") or attention.get("alibi"):
        places.append(BIAS)
        if text.get("learned_pos_emb"):
            notes.append(
                "alibi and learned_pos_emb are both set: the code decides which one is used"
            )
    elif text.get("relative_attention") or text.get("relative_attention_num_buckets"):
        places.append(BIAS)
        if text.get("position_biased_input"):
            places.append(TABLE)
    elif text.get("position_embedding_type") == "absolute":
        places.append(TABLE)
    return Layers(where="; ".join(places) or None, count=text.count(*COUNTS, most=10_000))
