"""Files and their fields: typed access that names a field, and remembers what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

LEAST = 1e-9  # of numbers that must be positive
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
    """A mapping of a file, with the class's defaults behind it; it marks what was asked for."""

    def __init__(self, values: Any, path: str = "") -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"{path[:-1] or 'config'} must be a mapping, got {told(values)}")
        self.values: Mapping[Any, Any] = values
        self.path: str = path
        self.defaults: Mapping[str, Any] = {}
        self.read: set[str] = set()

    def name(self, *names: str) -> str:
        """Return the path of the first of some fields that the file has."""
        said = (name for name in names if self.values.get(name) is not None)
        return self.path + next(said, names[0])

    def get(self, *names: str) -> Any:
        """Return the first of some fields that isn't None; then the class's default."""
        values, defaults = self.values, self.defaults
        if not values.keys().isdisjoint(names):  # a default doesn't replace null
            self.read.update(names)
            return next((values[name] for name in names if values.get(name) is not None), None)
        if not defaults or defaults.keys().isdisjoint(names):
            return None
        return next(defaults[name] for name in names if name in defaults)

    def has(self, *names: str) -> bool:
        """Whether the file itself has a value for one of some fields."""
        values = self.values
        return not values.keys().isdisjoint(names) and any(values.get(n) is not None for n in names)

    def wrong(self, names: Sequence[str], rule: str, value: Any, kind: Any = ValueError) -> Any:
        """Return an error about one of some fields."""
        return kind(f"{self.name(*names)} must {rule}, got {told(value)}")

    def number(self, *names: str, least: float = -math.inf, most: float = 1e18) -> float | None:
        """Return a real number."""
        if (value := self.get(*names)) is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(names, "be a number", value, TypeError)
        if not least <= value <= most:
            rule = f"be at least {least:g}" if value < least else f"be at most {most:g}"
            raise self.wrong(names, "be positive" if value < least == LEAST else rule, value)
        return float(value)

    def count(self, *names: str, least: int = 1, most: int = 10**12) -> int | None:
        """Return a whole number."""
        found = self.number(*names, least=least, most=most)
        if found is not None and not found.is_integer():
            raise self.wrong(names, "be a whole number", found, TypeError)
        return None if found is None else int(found)

    def items(self, name: str, kind: Any, most: int = 100_000) -> list[Any]:
        """Return a list whose items have one type, or an empty one."""
        if (value := self.get(name)) is None:
            return []
        whole = isinstance(value, list | tuple) and len(value) <= most
        if not whole or not all(isinstance(each, kind) for each in value):
            what = {str: "strings", int: "whole numbers"}.get(kind, "numbers")
            raise self.wrong([name], f"be a list of at most {most} {what}", value, TypeError)
        return list(value)

    def flag(self, name: str) -> bool | None:
        """Return a switch; 0 and 1 count."""
        if (value := self.get(name)) not in (None, True, False):
            raise self.wrong([name], "be true or false", value, TypeError)
        return None if value is None else bool(value)

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        value = self.get(name)
        return Fields({} if value is None else value, f"{self.path}{name}.")


def load(data: bytes) -> tuple[Any, list[str]]:
    """Parse a file; return its content, and warnings of names that appear twice."""
    if len(data) > LARGEST:
        raise ValueError(f"the file has over {LARGEST // 10**6} MB, so it isn't a configuration")
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items) and len(twice) < 5:
            names = [name for name, _ in items]
            again = next(name for name in names if names.count(name) > 1)
            twice.append(f"{ascii(again)[1:60]} appears twice: the last one counts")
        return found

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=pairs), twice
    except UnicodeDecodeError as error:
        words = f"isn't text in UTF-8: {error.reason}, byte {error.start}"
    except json.JSONDecodeError as error:
        words = f"isn't valid JSON: {_broken(error)}"
    except RecursionError:
        words = "is nested too deeply to be read"
    except ValueError:
        words = "isn't valid JSON: a number has too many digits"
    raise ValueError(f"the file {words}")


def _broken(error: json.JSONDecodeError) -> str:
    """Say what is wrong in JSON, and where: at the end of what comes before, not after it."""
    text, place = error.doc, error.pos
    words = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')}"
    before = text[:place].rstrip()
    slips = {
        "the end is missing": not text[place:].strip(),
        "a comma is missing behind this": "',' delimiter" in words,
        "a comma too many, or a name without double quotes after it": before.endswith(",")
        or "trailing comma" in words,
    }
    if slip := next((each for each, applies in slips.items() if applies), None):
        place, words = max(len(before) - 1, 0), slip
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    return f"line {line}, column {column}: {words}"
