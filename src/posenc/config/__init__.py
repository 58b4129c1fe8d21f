"""What runs, by a model's ``config.json`` and its type: ``python -m posenc.config FILE``.

The file says how a model's queries and keys turn; the code of the model's type decides the rest.
``types.toml`` has what that code does, for types that people run. What a file says about its
encoding counts more, and of another type a reading says what its fields suggest.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc.config.fields import TYPES, UNKNOWN, WORDS, Fields, load
from posenc.config.kinds import kinds_of_layers
from posenc.config.rotation import LIMIT, describe
from posenc.config.verdict import Positions, narrowed, sentence, unread_fields
from posenc.layers import Layers
from posenc.scaling import ORIGINAL

__all__ = ["Layers", "Positions", "read_config"]


def read_config(config: Mapping[str, Any] | str | bytes | Path) -> Positions:
    """Read what a model's configuration, and the code of its type, say about positions.

    Fields are read as in transformers 5; warnings tell where other programs are known to differ.
    A field that is invalid counts as not read, and is named before all else.

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
    >>> read_config(config | {"max_position_embeddings": 4096}).verdict
    'RoPE in all 16 layers, base 10,000 (by default: rope_theta): nothing wrong'
    """
    content = config if isinstance(config, Mapping) else load(config)
    if not isinstance(content, Mapping):
        raise TypeError(f"config must be a mapping, got {content!a:.60}")
    return read_models(Fields(content))


def read_models(whole: Fields) -> Positions:
    """Read the model of the text, and the others as its parts."""
    model_type = whole["model_type"] or type_of_params(whole)
    (text, text_type), *others = models(whole, model_type)
    reading = read_model(text, text_type)
    reading.model_type = model_type or text_type or None
    for part, part_type in others:
        part_reading = read_model(part, part_type)
        is_model = part_type in TYPES or part.says("num_hidden_layers")
        if is_model or part_reading.warnings:
            reading.parts[part.path[:-1]] = part_reading
    return reading


def type_of_params(whole: Fields) -> str:
    """Return the type, as in types.toml, of a ``params.json``: Meta's or Mistral's."""
    # Other programs have taken over its names, but not all of them.
    names = whole.content.keys()
    is_params = {"dim", "n_heads", "norm_eps"} <= names and "use_hf_rope" not in names
    return "params.json" if is_params else ""


def models(whole: Fields, model_type: str) -> Iterator[tuple[Fields, str]]:
    """Yield fields and type of each model in a file, those of the text first."""
    parts = {
        name: Fields(value, f"{whole.path}{name}.")
        for name, value in whole.content.items()
        if isinstance(value, Mapping)
        and re.search(WORDS["named_like_parts"], str(name))
    }
    texts = [name for name in WORDS["parts_with_text"] if name in parts]
    if whole.says("num_hidden_layers"):  # beside which a part may be no model
        required = "num_hidden_layers", "model_type"
        texts = [name for name in texts if any(map(parts[name].says, required))]
    if not texts:  # the fields of the text may stand beside those of other parts
        yield whole, known_type(model_type, "", "text")
    else:
        text = parts[texts[0]]
        scaling = whole.content.get("rope_scaling")
        if scaling not in (None, text.content.get("rope_scaling")):
            text.problems.append(
                f"rope_scaling beside {texts[0]} is ignored: move it inside"
            )
    for name in dict.fromkeys([*texts, *parts]):
        part_type = known_type(parts[name]["model_type"] or "", model_type, name)
        yield from models(parts[name], part_type)


def known_type(said: str, whole_type: str, part: str) -> str:
    """Return the type that is said, unless only one named like a part of its whole is known."""
    # Some files write the type of the whole into a part, and some write none.
    name = f"{said or whole_type}_{part.removesuffix('_config')}"
    names = said, name, f"{name}_model"
    return next((name for name in names if name in TYPES), said)


def read_model(file: Fields, model_type: str) -> Positions:
    """Read the fields of one model as the code of its type does: compute, and warn."""
    entry = TYPES.get(model_type, UNKNOWN)
    if file["use_mla"] is False:
        entry = UNKNOWN  # plain attention, which no code of the table has
    fields = Fields(file.content, file.path, entry)
    fields.problems += file.problems
    layers = tuple(
        describe(fields, rope, kind) for kind, rope in kinds_of_layers(fields)
    )
    limit = fields[LIMIT]
    lengths = [*fields.lengths, (fields[ORIGINAL], limit)]
    start, end = lengths[0]  # those of the first kind that is stretched, if any is
    unread = unread_fields(fields)
    # The fields that aren't read may tell layers apart.
    unclear = (
        fields.used
        & fields.invalid.keys()
        & {*WORDS["which_layers"], "num_hidden_layers", "use_sliding_window"}
    )
    if unclear or (unread and not entry.code):
        layers = tuple(map(narrowed, layers))
    problems = [*dict.fromkeys(fields.problems)]
    reading = Positions(
        verdict="",  # it is told of all the rest
        model_type=model_type or None,
        code=f"{entry.code}, {entry.read}" if entry.code else None,
        length_before_scaling=start,
        intended_length=end,
        limit=limit,
        by_default=tuple(fields.by_default()) or None,
        layers=layers,
        warnings=(
            *(
                f"{place} isn't read here, and may speak of positions"
                for place in unread
            ),
            *problems,
            *entry.notes,
        ),
    )
    reading.verdict = sentence(reading, unread, problems)
    return reading
