"""Files and their fields, whose spellings and types are data, in ``fields.json``."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

told = reprlib.repr  # short however large a value is
LARGEST = 8_000_000  # bytes of a file; released ones have some thousand


WORDS, MODELS = (
    json.loads((files(__package__) / name).read_text("utf-8"))
    for name in ("fields.json", "models.json")
)
ABOUT = MODELS.pop("about")  # where and when was read what the code of a type decides
RULES = {
    name: WORDS["kinds"].get(rule.get("is"), {}) | rule
    for name, rule in WORDS["rules"].items()
}
FIELD: dict[Any, str] = {  # of each spelling, those that take precedence first
    name: field
    for field, rule in RULES.items()
    for name in rule.get("spelled", [field])
}
OUTER = {
    name.partition(".")[0] for name in FIELD if "." in name
}  # mappings that are read as one


class Fields(dict[str, Any]):
    """Fields of a mapping in a file, in one spelling, and checked when they are asked for.

    A field that neither the file nor its type's defaults have is None. What was asked for, or
    needn't be, is a key.
    """

    def __init__(
        self, said: Any, path: str = "", notes: list[str] | None = None
    ) -> None:
        if not isinstance(said, Mapping):
            raise TypeError(
                f"{path[:-1] or 'config'} must be a mapping, got {told(said)}"
            )
        super().__init__()
        self.path, self.said = path, dict(said)
        self.spelled: dict[str, str] = {}  # of each field
        self.notes: list[str] = [] if notes is None else notes  # what to warn of
        self.defaults: Mapping[str, Any] = {}  # of the type
        for outer in OUTER & said.keys():
            inner = Fields(self.said.pop(outer) or {}, f"{path}{outer}.").said
            self.said |= {f"{outer}.{name}": inner[name] for name in inner}
        for name in [name for name in reversed(FIELD) if name in self.said]:
            if self.said[name] is not None or FIELD[name] not in self.spelled:
                self.spelled[FIELD[name]] = name  # the first spelling with a value

    def has(self, *fields: str) -> bool:
        """Whether the file itself has a value for one of some fields."""
        return any(
            self.said.get(self.spelled.get(each, each)) is not None for each in fields
        )

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        return Fields(self[name] or {}, f"{self.path}{str(name)[:60]}.", self.notes)

    def name(self, field: str) -> str:
        """Return the path of a field, as the file spells it."""
        return f"{self.path}{self.spelled.get(field, field)}"

    def wrong(self, field: str, rule: str, value: Any) -> ValueError:
        """Return an error about a field."""
        return ValueError(f"{self.name(field)} must {rule}, got {told(value)}")

    def __missing__(self, field: str) -> Any:
        """Return what the file says, checked as ``fields.json`` says."""
        value = self.said.get(self.spelled.get(field, field), self.defaults.get(field))
        self[field] = (
            value
            if value is None
            else self._checked(field, value, RULES.get(field, {}))
        )
        return self[field]

    def _checked(self, field: str, value: Any, rule: Mapping[str, Any]) -> Any:
        kind, items, most = (
            rule.get("is"),
            value if "length" in rule else [value],
            rule.get("most"),
        )
        if kind is None:
            return value
        letters = "letters" in rule and isinstance(value, str) and len(value) <= 100_000
        if letters and WORDS["letters"].keys() >= set(value):
            return [WORDS["letters"][each] for each in value]
        right = isinstance(items, list | tuple) and len(items) <= rule.get("length", 1)
        right = right and {*map(type, rule["like"])}.issuperset(map(type, items))
        right = right and (
            most is None or all(rule["least"] <= each <= most for each in items)
        )
        if not right or (kind == "count" and value % 1):
            limits = "" if most is None else f", from {rule['least']:g} to {most:g}"
            raise self.wrong(field, f"be {rule['must']}{limits}", value)
        return (
            float(value)
            if kind == "number"
            else int(value)
            if kind == "count"
            else value
        )


def load(content: bytes) -> tuple[Any, list[str]]:
    """Parse a file; return its content, and warnings of names that appear twice."""
    if len(content) > LARGEST:
        raise ValueError(
            f"the file has over {LARGEST // 10**6} MB, so it isn't a configuration"
        )
    twice: list[str] = []

    def once(items: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(name for name, _ in items)
        again = (told(name) for name, count in counts.items() if count > 1)
        twice.extend(f"{name} appears twice: the last one counts" for name in again)
        return dict(items)

    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=once), twice
    except (
        json.JSONDecodeError
    ) as error:  # told at the end of what comes before, not after it
        before = error.doc[: error.pos].rstrip()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
        what = (
            "a comma is missing behind this"
            if "',' delimiter" in error.msg
            else error.msg
        )
        what = what if error.doc[error.pos :].strip() else "the end is missing"
        words = f"line {line}, column {max(column, 1)}: {what}"
    except (RecursionError, ValueError) as error:
        words = str(error)
    raise ValueError(f"the file isn't JSON: {words}")
