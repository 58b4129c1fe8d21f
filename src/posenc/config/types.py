"""The types of models that are known, and the words of files: two tables to edit by hand."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

# What the code of a type does; an empty one stands for a type that isn't known.
Entry = dict[str, Any]


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


TYPES = table("types.toml")
WORDS = table("fields.toml")


def speaks_of_positions(name: str) -> bool:
    """Whether a field, by its name, may say something about positions."""
    speaks = re.search("|".join(WORDS["speak_of_positions"]), name)
    return bool(speaks) and not re.search("|".join(WORDS["sound_alike"]), name)


def type_of_architecture(name: str) -> str | None:
    """Return the known type that an architecture names, as LlamaForCausalLM does."""
    begin = name.partition("For")[0].lower()
    return next((kind for kind in TYPES if kind.replace("_", "") == begin), None)
