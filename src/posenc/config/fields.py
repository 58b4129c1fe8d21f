"""Two tables to edit by hand, and fields: one name for many spellings, checked when asked for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from posenc.layers import shown

X = TypeVar("X")
LARGEST_FILE = 8_000_000  # bytes; released ones have some thousand


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


class Entry(NamedTuple):
    """What the code of a type does: the keys of types.toml, which says what they mean."""

    code: str
    read: str
    where: str
    defaults: Mapping[str, Any]
    pairing: str
    norm: str
    ignores: Sequence[str]
    chooses: Sequence[str]
    window: bool
    others: str
    last: bool
    skips: bool
    still: Sequence[str]
    local: Sequence[str]
    local_scaled: bool
    sections: Sequence[int]
    axes: str
    mscale: bool
    table: str
    note: str


ROWS = table("types.toml")
UNKNOWN = Entry(**ROWS.pop("unknown"))
TYPES = {name: UNKNOWN._replace(**row) for name, row in ROWS.items()}
WORDS = table("fields.toml")  # spellings, words, and patterns of names


class Fields:
    """A mapping of a file, whose fields are checked, and remembered, when they are asked for.

    A field that is invalid is told in `problems` and counts as unknown, which None says; the
    defaults of the model's class don't replace it, and don't replace null either.

    Reading leaves traces, so what is read counts: `asked`, by which `verdict.unread_fields` knows
    the others, and `by_default`, which the verdict tells.
    """

    def __init__(
        self, content: Mapping[str, Any], path: str = "", outer: Fields | None = None
    ) -> None:
        # MPT and DBRX have a mapping whose fields are read as if they stood outside.
        inner = content.get("attn_config")
        outside = inner if isinstance(inner, Mapping) else {}
        self.content = {**outside, **content}
        self.path, self.name = path, path[:-1]
        self.entry: Entry = outer.entry if outer else UNKNOWN
        self.defaults: Mapping[str, Any] = {}
        self.problems: list[str] = outer.problems if outer else []
        # What one should know, though nothing is wrong.
        self.remarks: list[str] = outer.remarks if outer else []
        self.asked: set[str] = set()
        self.by_default: dict[str, bool] = {}  # what only the class says, in order

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
        # null in a file isn't a field that it leaves out.
        if spelling is None:
            return self.defaults.get(name)
        return self.content[spelling]

    def says(self, name: str) -> bool | None:
        """Whether the file itself has a value for a field: false for null, None for nothing."""
        return self.value(name) is not None if self.spelling(name) else None

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return shown(f"{self.path}{self.spelling(name) or name}")

    def checked(self, name: str, rule: str, fits: Callable[[Any], bool]) -> X | None:
        """Return a value that fits a rule; note any other, and return None for it.

        Its type is the one that the caller returns, which the rule is about.
        """
        value: X | None = self.value(name)
        # 0 and 1, false and true change nothing that a reader would look for.
        if value not in (None, 0, 1) and not self.spelling(name):
            self.by_default[name] = True
        if value is None or fits(value):
            return value
        got = shown(repr(value)[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")
        return None

    def number(self, name: str, most: float = 1e18) -> float | None:
        """Return a positive number."""
        rule = f"a positive number, at most {most:g}"
        # Not `isinstance`, here and below: true and false are integers to it.
        return self.checked(
            name, rule, lambda x: type(x) in (int, float) and 0 < x <= most
        )

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return an integer within limits."""
        rule = f"an integer from {least} to {most:g}"
        return self.checked(name, rule, lambda x: type(x) is int and least <= x <= most)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        return self.checked(name, "true or false", lambda x: isinstance(x, bool))

    def integers(self, name: str, least: int = 0) -> list[int]:
        """Return a list of at least so many integers from 0 on, an empty one if there is none."""
        rule = f"a list of integers from 0 on, {least} or more"
        counts = self.checked(
            name,
            rule,
            lambda x: (
                isinstance(x, list)
                and all(type(i) is int and i >= 0 for i in x)
                and (not x or len(x) >= least)
            ),
        )
        return counts or []

    def text(self, name: str) -> str:
        """Return a string, an empty one if there is none."""
        return self.checked(name, "a string", lambda x: isinstance(x, str)) or ""

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        content: Mapping[str, Any] | None = self.checked(
            name, "a mapping", lambda x: isinstance(x, Mapping)
        )
        inner = Fields(content or {}, f"{self.place(name)}.", self)
        if not self.spelling(name):  # what is inside a default are defaults
            inner.content, inner.defaults = {}, inner.content
        return inner


def load(content: bytes | str | Path) -> Any:
    """Parse a file, or what is in it."""
    if not isinstance(content, bytes):
        with Path(content).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError("the file has over 8 MB, so it isn't a configuration")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the file isn't JSON: {error}") from error
