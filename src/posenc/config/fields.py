"""Files and their fields, whose spellings and types are data, in ``fields.json``."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from posenc.scaling import SCALINGS

told = reprlib.repr  # short however large a value is
LARGEST = 8_000_000  # bytes of a file; released ones have some thousand
NONE: Mapping[str, Any] = {}
ITEMS: dict[str, Any] = {"strings": str, "whole numbers": int, "numbers": (int, float)}


@cache
def data(name: str) -> Mapping[str, Any]:
    """Return a data file of this package."""
    found: Mapping[str, Any] = json.loads((files(__package__) / name).read_text("utf-8"))
    return found


WORDS = data("fields.json")
SCALED = sorted({name for each in SCALINGS.values() for name in each.fields})
RULES: dict[str, dict[str, Any]] = {name: {"is": "number", "most": 1e9} for name in SCALED}
for _name, _rule in WORDS["rules"].items():
    RULES[_name] = WORDS["kinds"].get(_rule.get("is"), {}) | _rule
FIELD: dict[Any, Any] = {
    name: field for field, rule in RULES.items() for name in [field, *rule.get("or", ())]
}
ABSENT: dict[str, Any] = dict.fromkeys(RULES)
RANK = {name: rank for rank, name in enumerate(FIELD)}


def spelled(values: Mapping[Any, Any]) -> dict[str, str]:
    """Return how some values spell each known field; of two spellings, one that has a value."""
    known = [name for name in values if name in RANK]
    known.sort(key=lambda name: (values[name] is not None, -RANK[name]))
    return {FIELD[name]: name for name in known}


class Fields(dict[str, Any]):
    """Fields of a mapping in a file, in one spelling and checked, with those asked for so far.

    Behind them stand the defaults of the file's type. A field that neither has is None.
    """

    def __init__(self, said: Any, path: str = "") -> None:
        if not isinstance(said, Mapping):
            raise TypeError(f"{path[:-1] or 'config'} must be a mapping, got {told(said)}")
        super().__init__(ABSENT)  # a file has few of the known fields
        self.said, self.path, self.spelled = said, path, spelled(said)
        self.moot: set[str] = set()  # fields that needn't be read
        self.fall_back(NONE)

    def fall_back(self, defaults: Mapping[str, Any]) -> None:
        """Put the defaults of a type behind what the file says."""
        self.defaults = defaults
        for field in (*self.spelled, *defaults):
            self.pop(field, None)

    def name(self, field: str) -> str:
        """Return the path of a field, as the file spells it."""
        return self.path + self.spelled.get(field, field)

    def has(self, *fields: str) -> bool:
        """Whether the file itself has a value for one of some fields."""
        return any(self.said.get(self.spelled.get(each, each)) is not None for each in fields)

    def wrong(self, field: str, rule: str, value: Any, kind: Any = ValueError) -> Any:
        """Return an error about a field."""
        return kind(f"{self.name(field)} must {rule}, got {told(value)}")

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        return NOTHING if self[name] is None else Fields(self[name], f"{self.path}{name}.")

    def __missing__(self, field: str) -> Any:
        """Return what the file says, or the default."""
        name = self.spelled.get(field, field)
        said = name in self.said
        value = self._checked(field, self.said[name]) if said else self.defaults.get(field)
        self[field] = value
        return value

    def _checked(self, field: str, value: Any) -> Any:
        """Return a value, checked as ``fields.json`` says."""
        rule = RULES.get(field)
        if value is None or rule is None or "is" not in rule:
            return value
        kind, least, most = rule["is"], rule.get("least", 0), rule.get("most", 0)
        if kind in ITEMS:
            words = f"be a list of at most {most} {kind}"
            right = isinstance(value, list | tuple) and len(value) <= most
            right = right and all(isinstance(each, ITEMS[kind]) for each in value)
        elif kind == "flag":
            words, right = "be true or false", value in (True, False)  # 0 and 1 count
        elif kind == "text":
            words, right = "be a string", isinstance(value, str)
        elif kind == "letters" or (kind == "count or letters" and isinstance(value, str)):
            if not isinstance(value, str) or set(value) - WORDS["letters"].keys():
                raise self.wrong(field, f"be of the letters {''.join(WORDS['letters'])}", value)
            return value
        else:
            words = "be a number"
            right = isinstance(value, (int, float)) and not isinstance(value, bool)
            if right and not least <= value <= most:
                low = "be positive" if 0 < least < 1 else f"be at least {least:g}"
                raise self.wrong(field, low if value < least else f"be at most {most:g}", value)
            if right and kind != "number":
                words, right = "be a whole number", value == int(value)
        if not right:
            raise self.wrong(field, words, value, TypeError)
        return float(value) if kind == "number" else int(value) if "count" in kind else value


NOTHING = Fields(NONE)


def load(content: bytes) -> tuple[Any, list[str]]:
    """Parse a file; return its content, and warnings of names that appear twice."""
    if len(content) > LARGEST:
        raise ValueError(f"the file has over {LARGEST // 10**6} MB, so it isn't a configuration")
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = Counter(name for name, _ in items)
            twice.append(f"{told(names.most_common(1)[0][0])} appears twice: the last one counts")
        return found

    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=pairs), twice
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
    text, place = error.doc, error.pos + ("trailing comma" in error.msg)
    before, words = text[:place].rstrip(), error.msg[0].lower() + error.msg[1:].removesuffix(" at")
    slips = {
        "the end is missing": not text[place:].strip(),
        "a comma is missing behind this": "',' delimiter" in words,
        "a comma too many, or a name without double quotes after it": before.endswith(","),
    }
    if slip := next((slip for slip, applies in slips.items() if applies), None):
        place, words = max(len(before) - 1, 0), slip
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    return f"line {line}, column {column}: {words}"
