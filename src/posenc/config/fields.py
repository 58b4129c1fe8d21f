"""Two tables to edit by hand, and fields: one name for many spellings, checked when asked for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from posenc.layers import shown

LARGEST_FILE = 8_000_000  # bytes; released ones have some thousand


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


class Entry(NamedTuple):
    """What the code of a type does, in the words of types.toml.

    Of a type that isn't known, `code` is empty, as all else is.
    """

    code: str = ""
    read: str = ""
    where: str = ""
    defaults: Mapping[str, Any] = {}
    pairing: str | None = None
    norm: str | None = None
    norm_if: str = ""
    ignores: Sequence[str] = ()
    chooses: Sequence[str] = ()
    window: bool = False
    others: str = ""
    last: bool = False
    skips: bool = False
    still: Sequence[str] = ()
    local: Sequence[str] = ()
    local_scaled: bool = False
    sections: Sequence[int] = ()
    axes: str = ""
    mscale: bool = False
    table: str | None = None
    note: str = ""


TYPES = {name: Entry(**entry) for name, entry in table("types.toml").items()}
WORDS = table("fields.toml")  # spellings, words, and patterns of names


class Fields:
    """A mapping of a file, whose fields are checked, and remembered, when they are asked for.

    A field that is invalid is told in `problems` and counts as unknown, which None says; the
    defaults of the model's class don't replace it, and don't replace null either.

    What rests on defaults is known by `left_out`, to which each read of a default adds. A model and
    its mappings share one such set: `kinds.normalize` clears it, reads the number and kinds of
    layers, and copies it into each `Kind`; `rotation.describe` cuts it back to that copy, in place,
    before it reads the fields of a kind. A read on the wrong side of these lines is marked wrongly.
    """

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.content = dict(content)
        self.path = path
        self.defaults: Mapping[str, Any] = {}
        self.left_out: set[str] = set()  # asked for, and known by default alone
        self.problems: list[str] = []
        self.remarks: list[str] = []  # what one should know, though nothing is wrong
        self.asked = {"attn_config"}
        # MPT and DBRX have a mapping whose fields are read as if they stood outside.
        inner = content.get("attn_config")
        if isinstance(inner, Mapping):
            self.content |= {f"attn_config.{name}": inner[name] for name in inner}

    def spelling(self, name: str) -> str | None:
        """Return how the file spells a field, with a value rather than with null."""
        spellings = WORDS["spellings"].get(name, [name])
        self.asked.update(spellings)
        # Files of two programs may have one field in two spellings, one of them null.
        present = [name for name in spellings if name in self.content]
        return min(present, key=lambda name: self.content[name] is None, default=None)

    def value(self, name: str) -> Any:
        """Return what the file says, be it null, or else the default of its class."""
        spelling = self.spelling(name)
        if spelling is not None:  # null in a file isn't a field that it leaves out
            return self.content[spelling]
        if name in self.defaults:
            self.left_out.add(name)
        return self.defaults.get(name)

    def has(self, name: str) -> bool:
        """Whether the file itself has a value for a field."""
        return self.content.get(self.spelling(name) or "") is not None

    def is_null(self, name: str) -> bool:
        """Whether the file says null."""
        return self.spelling(name) is not None and not self.has(name)

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return shown(f"{self.path}{self.spelling(name) or name}")

    def checked(self, name: str, rule: str, fits: Callable[[Any], bool]) -> Any:
        """Return a value that fits a rule; note any other, and return None for it."""
        value = self.value(name)
        if value is None or fits(value):
            return value
        got = shown(repr(value)[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")
        return None

    def number(self, name: str, least: float = 0, most: float = 1e18) -> float | None:
        """Return a number within limits."""
        rule = f"a number from {least:g} to {most:g}"
        value = self.checked(name, rule, lambda x: is_within(x, least, most))
        return None if value is None else float(value)

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return a whole number within limits."""
        rule = f"a whole number from {least} to {most:g}"
        value = self.checked(
            name, rule, lambda x: is_within(x, least, most) and x % 1 == 0
        )
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        rule = "true or false"
        flag: bool | None = self.checked(name, rule, lambda x: isinstance(x, bool))
        return flag

    def integers(self, name: str) -> list[int]:
        """Return a list of integers, an empty one if there is none."""

        # Not `isinstance`: true and false are integers to it.
        def fits(value: Any) -> bool:
            return isinstance(value, list) and {*map(type, value)} <= {int}

        return self.checked(name, "a list of integers", fits) or []

    def text(self, name: str) -> str:
        """Return a string, an empty one if there is none."""
        return self.checked(name, "a string", lambda x: isinstance(x, str)) or ""

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        content = self.checked(name, "a mapping", lambda x: isinstance(x, Mapping))
        path = f"{self.place(name)}."
        if self.spelling(name) is not None:
            return self.sharing(content or {}, path)
        inner = self.sharing({}, path)
        inner.defaults = content or {}  # what is inside a default are defaults
        return inner

    def sharing(self, content: Mapping[str, Any], path: str) -> Fields:
        """Return another mapping of the same model; which fields were asked is its own."""
        other = Fields(content, path)
        other.problems, other.left_out = self.problems, self.left_out
        return other


def is_within(value: Any, least: float, most: float) -> bool:
    """Whether a value is a number within limits; true is an int in Python, and none in a file."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and least <= value <= most


def load(content: bytes) -> Any:
    """Parse a file."""
    if len(content) > LARGEST_FILE:
        raise ValueError("the file has over 8 MB, so it isn't a configuration")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the file isn't JSON: {error}") from error
