"""The fields of a configuration: one name for many spellings, checked when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from posenc.config.types import WORDS

LARGEST_FILE = 8_000_000  # bytes; released ones have some thousand
WIDEST = 65_536  # dimensions of a head


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
        self.asked: set[str] = set()
        # Some mappings are read as if their fields stood outside.
        for group in WORDS["groups"]:
            inner = content.get(group)
            if isinstance(inner, Mapping):
                self.asked.add(group)
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
        present = [each for each in spellings if each in self.content]
        valued = [each for each in present if self.content[each] is not None]
        return next(iter(valued + present), None)

    def value(self, name: str) -> Any:
        """Return what the file says, be it null, or else the default of its class."""
        spelling = self.spelling(name)
        return self.defaults.get(name) if spelling is None else self.content[spelling]

    def has(self, name: str) -> bool:
        """Whether the file itself has a value for a field."""
        spelling = self.spelling(name)
        return spelling is not None and self.content[spelling] is not None

    def is_null(self, name: str) -> bool:
        """Whether the file says null."""
        return self.spelling(name) is not None and not self.has(name)

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return printable(f"{self.path}{self.spelling(name) or name}")

    def _checked(self, name: str, right: Callable[[Any], bool], rule: str) -> Any:
        value = self.value(name)
        if value is None or right(value):
            return value
        got = printable(repr(value)[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")
        return None

    def number(
        self, name: str, least: float = 1e-9, most: float = 1e18
    ) -> float | None:
        """Return a number within limits."""

        def right(value: Any) -> bool:
            return is_number(value) and least <= value <= most

        rule = f"a number from {least:g} to {most:g}"
        value = self._checked(name, right, rule)
        return None if value is None else float(value)

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return a whole number within limits."""

        def right(value: Any) -> bool:
            return is_number(value) and least <= value <= most and value % 1 == 0

        value = self._checked(name, right, f"a whole number from {least} to {most:g}")
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self._checked(name, lambda value: value in (0, 1), "true or false")
        return None if value is None else bool(value)

    def text(self, name: str) -> str | None:
        """Return a string."""
        value: str | None = self._checked(name, is_text, "a string")
        return value

    def items(self, name: str, right: Callable[[Any], bool]) -> list[Any] | None:
        """Return a list of items that are all right."""

        def all_right(value: Any) -> bool:
            return isinstance(value, list | tuple) and all(map(right, value))

        items: list[Any] | None = self._checked(
            name, all_right, f"a list, {RULES[right]}"
        )
        return items

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        inner = self._checked(
            name, lambda value: isinstance(value, Mapping), "a mapping"
        )
        fields = Fields(inner or {}, f"{self.place(name)}.")
        fields.problems = self.problems
        return fields


def is_number(value: Any) -> bool:
    """Whether a value is a number that fits into a float."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and abs(value) < 1e300


def is_flag(value: Any) -> bool:
    """Whether a value is a number, or true or false."""
    return isinstance(value, bool) or is_number(value)


def is_text(value: Any) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


RULES: dict[Callable[[Any], bool], str] = {
    is_number: "of numbers",
    is_flag: "of flags",
    is_text: "of strings",
}


def printable(text: str) -> str:
    """Return the beginning of a text, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:120])


def load(content: bytes) -> tuple[Any, list[str]]:
    """Parse a file; return its content, and warnings of names that appear twice."""
    if len(content) > LARGEST_FILE:
        raise ValueError("the file has over 8 MB, so it isn't a configuration")
    warnings: list[str] = []

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for name, value in pairs:
            if name in named:
                warnings.append(
                    f"{printable(name)!a} appears twice: the last one counts"
                )
            named[name] = value
        return named

    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=mapping), warnings
    except json.JSONDecodeError as error:
        # Told at the end of what comes before, not at the start of what follows.
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
