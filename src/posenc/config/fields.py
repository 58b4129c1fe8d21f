"""Two tables to edit by hand, and fields: one name for many spellings, checked when asked for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, TypedDict

LARGEST_FILE = 8_000_000  # bytes; released ones have some thousand
WIDEST = 65_536  # dimensions of a head
# Mappings of MPT, DBRX and Kimi, whose fields are read as if they stood outside.
GROUPS = ("attn_config", "linear_attn_config")


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


class Entry(TypedDict, total=False):
    """What the code of a type does, empty if it isn't known; types.toml says what keys mean."""

    code: str
    read: str
    where: str
    defaults: dict[str, Any]
    default_rope: dict[str, Any]
    pairing: str
    norm: str
    norm_if: str
    base: float
    share: float
    ignores: list[str]
    chooses: list[str]
    window: bool
    others: str
    counted_from: int
    last: str
    skips: bool
    chunked: bool
    still: list[str]
    still_if: str
    local: list[str]
    local_base: float
    local_scaled: bool
    sections: list[int]
    axes: str
    mscale: bool
    table: str
    note: str
    parts: dict[str, str]


TYPES: dict[str, Entry] = table("types.toml")
WORDS = table("fields.toml")


class Fields:
    """A mapping of a file, whose fields are checked, and remembered, when they are asked for.

    A field that is invalid is told in `problems` and counts as unknown, which None says; the
    defaults of the model's class don't replace it, and don't replace null either.
    """

    def __init__(
        self, content: Mapping[str, Any], path: str = "", of_class: bool = False
    ) -> None:
        self.content = dict(content)
        self.of_class = of_class  # a default as a whole: the file has no such mapping
        self.path = path
        self.defaults: Mapping[str, Any] = {}
        self.left_out: set[str] = set()  # asked for, and known by default alone
        self.problems: list[str] = []
        self.remarks: list[str] = []  # what one should know, though nothing is wrong
        self.asked = set(GROUPS)
        for group in GROUPS:
            inner = content.get(group)
            if isinstance(inner, Mapping):
                self.content |= {f"{group}.{name}": inner[name] for name in inner}

    def spelling(self, name: str) -> str | None:
        """Return how the file spells a field, with a value rather than with null."""
        spellings = WORDS["spellings"].get(name, [name])
        self.asked.update(spellings)
        # Files of two programs may have one field in two spellings, one of them null.
        present = [name for name in spellings if name in self.content]
        present.sort(key=lambda name: self.content[name] is None)
        return next(iter(present), None)

    def value(self, name: str) -> Any:
        """Return what the file says, be it null, or else the default of its class."""
        spelling = self.spelling(name)
        value = self.defaults.get(name) if spelling is None else self.content[spelling]
        if value is not None and (spelling is None or self.of_class):
            self.left_out.add(name)
        return value

    def has(self, name: str) -> bool:
        """Whether the file itself has a value for a field."""
        return self.content.get(self.spelling(name) or "") is not None

    def is_null(self, name: str) -> bool:
        """Whether the file says null."""
        return self.spelling(name) is not None and not self.has(name)

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return printable(f"{self.path}{self.spelling(name) or name}")

    def checked(
        self,
        name: str,
        rule: str,
        fits: Callable[[Any], bool],
        convert: Callable[[Any], Any] = lambda value: value,
    ) -> Any:
        """Return a value that fits a rule; note any other, and return None for it."""
        value = self.value(name)
        if value is None:
            return None
        if fits(value):
            return convert(value)
        got = printable(repr(value)[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")
        return None

    def number(self, name: str, least: float = 0, most: float = 1e18) -> float | None:
        """Return a number within limits."""

        def fits(value: Any) -> bool:
            return is_number(value) and least <= value <= most

        rule = f"a number from {least:g} to {most:g}"
        number: float | None = self.checked(name, rule, fits, float)
        return number

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return a whole number within limits."""

        def fits(value: Any) -> bool:
            return is_number(value) and least <= value <= most and value % 1 == 0

        rule = f"a whole number from {least} to {most:g}"
        number: int | None = self.checked(name, rule, fits, int)
        return number

    def flag(self, name: str) -> bool | None:
        """Return true or false."""

        def fits(value: Any) -> bool:
            return value in (False, True)

        flag: bool | None = self.checked(name, "true or false", fits, bool)
        return flag

    def integers(self, name: str) -> list[int]:
        """Return a list of integers, an empty one if there is none."""

        def fits(value: Any) -> bool:
            return isinstance(value, list) and {type(item) for item in value} <= {int}

        return self.checked(name, "a list of integers", fits) or []

    def text(self, name: str) -> str:
        """Return a string, an empty one if there is none."""
        return self.checked(name, "a string", lambda x: isinstance(x, str)) or ""

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        content = self.checked(name, "a mapping", lambda x: isinstance(x, Mapping))
        inner = Fields(content or {}, f"{self.place(name)}.", self.of_class)
        inner.problems = self.problems
        return inner


def is_number(value: Any) -> bool:
    """Whether a value is a number; true is an int in Python, and no number in a file."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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
        lines = error.doc[: error.pos].rstrip().split("\n")
        place = f"line {len(lines)}, column {len(lines[-1])}"
        raise ValueError(f"the file isn't JSON: {place}: {error.msg}") from error
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the file isn't JSON: {error}") from error
