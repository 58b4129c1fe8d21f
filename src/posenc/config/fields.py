"""Two tables to edit by hand, and fields: one name for many spellings, checked when asked for."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from copy import copy
from importlib.resources import files
from typing import Any, TypedDict

LARGEST_FILE = 8_000_000  # bytes; released ones have some thousand
WIDEST = 65_536  # dimensions of a head
# Mappings of MPT, DBRX and Kimi, whose fields are read as if they stood outside.
GROUPS = ("attn_config", "linear_attn_config")


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


# What the code of a type does; an empty entry stands for a type that isn't known. A key that is
# absent says no, or that the code has nothing of the kind. `types.toml` tells more of each.
Entry = TypedDict(
    "Entry",
    {
        "class": str,  # whose code was read
        "read": str,  # by version and date
        "where": str,  # a word of `encodings` in fields.toml
        "defaults": dict[str, Any],  # fields that a file leaves out
        "default_rope": dict[str, Any],  # likewise, the mapping of the rotation
        "pairing": str,  # "halves" or "neighbors"
        "base": float,
        "norm": str,  # "before" or "after" the rotation
        "norm_if": str,  # the field that says whether there is that norm
        "scale": float | str,  # multiplier of scores, or the field that gives it
        "share": float,  # part of a head that turns
        "ignores": list[str],  # fields that only other code reads
        "chooses": list[str],  # the words known for position_embedding_type
        "turns_if": str,  # the field without which nothing turns
        "table_if_nothing_turns": bool,  # a table is added then
        "window": bool,  # sliding_window is read
        "window_from": str,  # the field with the first layer that has a window
        "window_in": str,  # the field with a 0 or 1 for each layer
        "repeat": list[str],  # kinds of layers, as they repeat
        "every": str,  # the field with the length of a repeat
        "last": str,  # the kind of the last layer
        "attention_in": str,  # the field that lists layers with attention
        "attention_from": int,  # the number of the first layer in that list
        "attention_every": str,  # the field that says after how many one attends
        "attention_at": str,  # the field with the first one that does
        "others": str,  # the kind of all others
        "skips": bool,  # fields say which layers don't turn
        "chunked": bool,  # layers that turn attend by chunks
        "still": list[str],  # kinds of layers that don't turn
        "still_if": str,  # the field without which they do
        "local": list[str],  # kinds with a base of their own
        "local_base": float,
        "local_scaled": bool,  # a scaling reaches them, too
        "sections": list[int],  # pairs for time, height, width
        "axes": str,  # "interleaved", or "image" if only the code knows
        "mscale": bool,  # mscale_all_dim multiplies scores, too
        "table": str,  # names and {rows} of tables at the input
        "besides": bool,  # the text has a table, whatever else there is
        "note": str,  # a remark for the reader
        "parts": dict[str, str],  # types of parts that a file may not tell
    },
    total=False,
)
TYPES: dict[str, Entry] = table("types.toml")
WORDS = table("fields.toml")
SPEAKS = re.compile("|".join(WORDS["speak_of_positions"]))
ALIKE = re.compile("|".join(WORDS["sound_alike"]))


class Fields:
    """A mapping of a file, whose fields are checked, and remembered, when they are asked for.

    A field that is invalid is told in `problems` and counts as unknown, which None says; the
    defaults of the model's class don't replace it, and don't replace null either.
    """

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.content = dict(content)
        self.path = path
        self.defaults: Mapping[str, Any] = {}
        self.problems: list[str] = []
        self.asked = set(GROUPS)
        for group in GROUPS:
            inner = content.get(group)
            if isinstance(inner, Mapping):
                self.content |= {f"{group}.{name}": inner[name] for name in inner}

    def with_own(self, own: dict[str, Any]) -> Fields:
        """Return the same fields, some replaced; what is asked and noted stays together."""
        other = copy(self)
        other.content = self.content | own
        return other

    def spelling(self, name: str) -> str | None:
        """Return how the file spells a field, with a value rather than with null."""
        spellings = WORDS["spellings"].get(name, [name])
        self.asked.update(spellings)
        # Files of two programs may have one field in two spellings, one of them null.
        present = [each for each in spellings if each in self.content]
        valued = [each for each in present if self.content[each] is not None]
        return next(iter(valued + present), None)

    def value(self, name: str) -> Any:
        """Return what the file says, be it null, or else the default of its class."""
        spelling = self.spelling(name)
        return self.defaults.get(name) if spelling is None else self.content[spelling]

    def has(self, name: str) -> bool:
        """Whether the file itself has a value for a field."""
        return self.content.get(self.spelling(name) or "") is not None

    def is_null(self, name: str) -> bool:
        """Whether the file says null."""
        return self.spelling(name) is not None and not self.has(name)

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return printable(f"{self.path}{self.spelling(name) or name}")

    def refuse(self, name: str, rule: str) -> None:
        """Note that a field breaks a rule."""
        got = printable(repr(self.value(name))[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")

    def number(
        self, name: str, least: float = 0, most: float = 1e18, whole: bool = False
    ) -> float | None:
        """Return a number within limits."""
        value = self.value(name)
        # True is an int in Python, and no number in a file.
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and least <= value <= most and not (whole and value % 1):
            return float(value)
        if value is not None:
            kind = "a whole number" if whole else "a number"
            self.refuse(name, f"{kind} from {least:g} to {most:g}")
        return None

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return a whole number within limits."""
        value = self.number(name, least, most, whole=True)
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self.value(name)
        if value in (None, False, True):
            return None if value is None else bool(value)
        self.refuse(name, "true or false")
        return None

    def items(self, name: str, *kinds: type) -> list[Any]:
        """Return a list whose items are of some kinds, an empty one if there is none."""
        value = self.value(name) or []
        if isinstance(value, list) and all(isinstance(each, kinds) for each in value):
            return value
        named = " or ".join(kind.__name__ for kind in kinds)
        self.refuse(name, f"a list of {named}")
        return []

    def text(self, name: str) -> str:
        """Return a string, an empty one if there is none."""
        value = self.value(name) or ""
        if isinstance(value, str):
            return value
        self.refuse(name, "a string")
        return ""

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        value = self.value(name) or {}
        if not isinstance(value, Mapping):
            self.refuse(name, "a mapping")
            value = {}
        inner = Fields(value, f"{self.place(name)}.")
        inner.problems = self.problems
        return inner


def speaks_of_positions(name: str) -> bool:
    """Whether a field, by its name, may say something about positions."""
    return bool(SPEAKS.search(name)) and not ALIKE.search(name)


def printable(text: str) -> str:
    """Return the beginning of a text, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:120])


def load(content: bytes) -> Any:
    """Parse a file; an error is told at the end of what comes before it."""
    if len(content) > LARGEST_FILE:
        raise ValueError("the file has over 8 MB, so it isn't a configuration")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        before = error.doc[: error.pos].rstrip()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
        what = error.msg.replace(
            "Expecting ',' delimiter", "a comma is missing behind this"
        )
        if not error.doc[error.pos :].strip():
            what = "the end is missing"
        reason = f"line {line}, column {max(column, 1)}: {what}"
    except (RecursionError, ValueError) as error:
        reason = str(error)
    raise ValueError(f"the file isn't JSON: {reason}")
