"""Files and their fields, whose spellings and types are data, in ``fields.json``."""

from __future__ import annotations

import builtins
import json
import reprlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

told = reprlib.repr  # short however large a value is
LARGEST = 8_000_000  # bytes of a file; released ones have some thousand


@cache
def data(name: str) -> dict[Any, Any]:
    """Return a data file of this package."""
    found: dict[Any, Any] = json.loads((files(__package__) / name).read_text("utf-8"))
    return found


WORDS = data("fields.json")
KINDS, LETTERS = WORDS["kinds"], WORDS["letters"]
for _kind in KINDS.values():
    _kind["types"] = {getattr(builtins, name) for name in _kind["types"]}
RULES = {name: KINDS.get(rule.get("is"), {}) | rule for name, rule in WORDS["rules"].items()}
FIELD: dict[Any, str] = {  # of each spelling, those that take precedence first
    name: field for field, rule in RULES.items() for name in rule.get("spelled", [field])
}
RANK: dict[Any, int] = {name: rank for rank, name in enumerate(FIELD)}
ABSENT: dict[str, Any] = dict.fromkeys(RULES)
OUTER = {name.partition(".")[0] for name in FIELD if "." in name}  # mappings that are read as one


class Fields(dict[str, Any]):
    """Fields of a mapping in a file, in one spelling, and checked when they are asked for.

    A field that neither the file nor its type's defaults have is None. What was asked for, or
    needn't be, is a key.
    """

    def __init__(self, said: Any, path: str = "") -> None:
        if not isinstance(said, Mapping):
            raise TypeError(f"{path[:-1] or 'config'} must be a mapping, got {told(said)}")
        self.said: Mapping[Any, Any] = said
        for outer in OUTER & said.keys():
            inner = Fields(said[outer] or {}, f"{path}{outer}.").said
            self.said = {**self.said, **{f"{outer}.{name}": inner[name] for name in inner}}
            del self.said[outer]
        known = [name for name in self.said if name in RANK]
        known.sort(key=lambda name: (self.said[name] is not None, -RANK[name]))
        super().__init__(ABSENT)  # a file has few of the known fields
        self.path = path
        self.spelled = {FIELD[name]: name for name in known}  # of two spellings, one with a value
        for field in self.spelled:
            del self[field]

    def fall_back(self, defaults: Mapping[str, Any]) -> None:
        """Put the defaults of a type behind what the file says."""
        for name, value in defaults.items():
            if self.said.get(self.spelled.get(name, name), value) == value:
                self[name] = value

    def name(self, field: str) -> str:
        """Return the path of a field, as the file spells it."""
        return f"{self.path}{self.spelled.get(field, field)}"

    def has(self, *fields: str) -> bool:
        """Whether the file itself has a value for one of some fields."""
        return any(self.said.get(self.spelled.get(each, each)) is not None for each in fields)

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        return Fields(self[name] or {}, f"{self.path}{name}.")

    def wrong(self, field: str, rule: str, value: Any, kind: Any = ValueError) -> Any:
        """Return an error about a field."""
        return kind(f"{self.name(field)} must {rule}, got {told(value)}")

    def __missing__(self, field: str) -> Any:
        """Return what the file says, checked as ``fields.json`` says."""
        value, rule = self.said.get(self.spelled.get(field, field)), RULES.get(field)
        if value is not None and rule and "is" in rule:
            value = self._checked(field, value, rule)
        self[field] = value
        return value

    def _checked(self, field: str, value: Any, rule: Mapping[str, Any]) -> Any:
        kind, items = rule["is"], value if "length" in rule else (value,)
        if "letters" in rule and isinstance(value, str):
            if set(value) - LETTERS.keys():
                raise self.wrong(field, f"be of the letters {''.join(LETTERS)}", value)
            return [LETTERS[each] for each in value]
        right = isinstance(items, (list, tuple)) and len(items) <= rule.get("length", 1)
        right = right and rule["types"].issuperset(map(type, items))
        if not right or (kind == "count" and value % 1):
            raise self.wrong(field, rule["must"], value, TypeError)
        for each in items if "most" in rule else ():
            least, most = rule["least"], rule["most"]
            if not least <= each <= most:
                low = "be positive" if 0 < least < 1 else f"be at least {least:g}"
                raise self.wrong(field, low if each < least else f"be at most {most:g}", value)
        return float(value) if kind == "number" else int(value) if kind == "count" else value


def load(content: bytes) -> tuple[Any, list[str]]:
    """Parse a file; return its content, and warnings of names that appear twice."""
    if len(content) > LARGEST:
        raise ValueError(f"the file has over {LARGEST // 10**6} MB, so it isn't a configuration")
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            name = Counter(name for name, _ in items).most_common(1)[0][0]
            twice.append(f"{told(name)} appears twice: the last one counts")
        return found

    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=pairs), twice
    except UnicodeDecodeError as error:
        words = f"isn't text in UTF-8: {error.reason}, byte {error.start}"
    except json.JSONDecodeError as error:  # told at the end of what comes before, not after it
        text, what = error.doc[: error.pos].rstrip(), error.msg[0].lower() + error.msg[1:]
        if not error.doc[error.pos :].strip():
            what = "the end is missing"
        elif "',' delimiter" in what:
            what = "a comma is missing behind this"
        elif text.endswith(",") or "trailing comma" in what:
            what = "a comma too many, or a name without double quotes after it"
        line, column = text.count("\n") + 1, max(len(text) - text.rfind("\n") - 1, 1)
        words = f"isn't valid JSON: line {line}, column {column}: {what.removesuffix(' at')}"
    except RecursionError:
        words = "is nested too deeply to be read"
    except ValueError:
        words = "isn't valid JSON: a number has too many digits"
    raise ValueError(f"the file {words}")
