"""Files and their fields: typed access that names a field, and remembers what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

LARGEST = 8_000_000  # bytes of a file; released ones have some thousand


def told(value: Any) -> str:
    """Return a value for an error, short however large it is."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**20:
        return "a number of more than 20 digits"
    return ascii(value[:60] if isinstance(value, str) else value)


class Fields:
    """A mapping of a file, with the class's defaults behind it.

    Every access marks what it found, so that the rest can be listed.
    """

    def __init__(
        self, values: Any, path: str = "", defaults: Mapping[str, Any] | None = None
    ) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"{path[:-1] or 'config'} must be a mapping, got {told(values)}")
        self.values, self.path, self.defaults = values, path, defaults or {}
        self.read: set[str] = set()

    def name(self, *names: str) -> str:
        """Return the path of the first of some fields that the file has."""
        said = (name for name in names if self.values.get(name) is not None)
        return self.path + next(said, names[0])

    def get(self, *names: str) -> Any:
        """Return the first of some fields that isn't None; then the class's default."""
        self.read.update(names)
        for name in names:
            if self.values.get(name) is not None:
                return self.values[name]
        if any(name in self.values for name in names):  # null, which a default doesn't replace
            return None
        return next((self.defaults[name] for name in names if name in self.defaults), None)

    def has(self, *names: str) -> bool:
        """Whether the file itself has a value for one of some fields."""
        return any(self.values.get(name) is not None for name in names)

    def number(self, *names: str, least: float = -math.inf, most: float = 1e18) -> float | None:
        """Return a real number."""
        value, name = self.get(*names), self.name(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{name} must be a number, got {told(value)}")
        if not least <= value <= most:
            rule = f"at least {least:g}" if value < least else f"at most {most:g}"
            raise ValueError(f"{name} must be {rule}, got {told(value)}")
        return float(value)

    def positive(self, *names: str) -> float | None:
        """Return a number above 0."""
        found = self.number(*names)
        if found is not None and found <= 0:
            raise ValueError(f"{self.name(*names)} must be positive, got {found!r}")
        return found

    def count(self, *names: str, most: int = 10**12) -> int | None:
        """Return a whole number, at least 1."""
        found = self.number(*names, least=1, most=most)
        if found is not None and not found.is_integer():
            raise TypeError(f"{self.name(*names)} must be a whole number, got {found!r}")
        return None if found is None else int(found)

    def items(self, name: str, kind: type, most: int = 100_000) -> list[Any]:
        """Return a list whose items have one type, or an empty one."""
        value = self.get(name)
        if value is None:
            return []
        whole = isinstance(value, list | tuple) and len(value) <= most
        if not whole or not all(isinstance(each, kind) for each in value):
            what = {str: "strings", int: "whole numbers"}.get(kind, "numbers")
            raise TypeError(
                f"{self.path}{name} must be a list of at most {most} {what}, got {told(value)}"
            )
        return list(value)

    def flag(self, name: str) -> bool | None:
        """Return a switch; 0 and 1 count."""
        value = self.get(name)
        if value not in (None, True, False):
            raise TypeError(f"{self.path}{name} must be true or false, got {told(value)}")
        return None if value is None else bool(value)

    def inside(self, name: str) -> Fields | None:
        """Return a mapping inside this one."""
        value = self.get(name)
        return None if value is None else Fields(value, f"{self.path}{name}.")


def load(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """Parse a file; return its fields, and warnings of names that appear twice."""
    if len(data) > LARGEST:
        raise ValueError(f"the file has over {LARGEST // 10**6} MB, so it isn't a configuration")
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in items:
            if name in found and len(twice) < 5:
                twice.append(f"{ascii(name)[1:60]} appears twice: the last one counts")
            found[name] = value
        return found

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} isn't a number in JSON")

    text = ""
    try:
        text = data.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"the file isn't text in UTF-8: {error.reason}, byte {error.start}"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(_broken(text, error)) from None
    except RecursionError:
        raise ValueError("the file is nested too deeply to be read") from None
    except ValueError as error:
        words = str(error) if "JSON" in str(error) else "a number has too many digits"
        raise ValueError(f"the file isn't valid JSON: {words}") from None
    if not isinstance(found, dict):
        raise TypeError(f"config must be a mapping, in JSON an object, got {told(found)}")
    return found, twice


def _broken(text: str, error: json.JSONDecodeError) -> str:
    """Say what is wrong in JSON, and where: at the end of what comes before, not after it."""
    before = text[: error.pos].rstrip()
    place = max(len(before) - 1, 0)
    words = f"{error.msg[0].lower()}{error.msg[1:]}"
    if not text[error.pos :].strip():
        words = "the end is missing"
    elif "',' delimiter" in error.msg:
        words = "a comma is missing behind this"
    elif (before.endswith(",") and "property name" in error.msg) or "trailing comma" in error.msg:
        words = "a comma too many, or a name without double quotes after it"
    else:
        place = error.pos
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return f"the file isn't valid JSON: line {line}, column {column}: {words}"
