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

    Reading leaves traces, so what is read counts: `asked`, by which `verdict.unread_fields` knows
    the others, and `by_default`, which the verdict tells.
    """

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.content = dict(content)
        self.path = path
        self.defaults: Mapping[str, Any] = {}
        self.problems: list[str] = []
        self.remarks: list[str] = []  # what one should know, though nothing is wrong
        self.asked: set[str] = set()
        self.by_default: list[str] = []  # fields that only the class says
        # MPT and DBRX have a mapping whose fields are read as if they stood outside.
        inner = content.get("attn_config")
        if isinstance(inner, Mapping):
            self.content = {**inner, **content}

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
        return self.defaults.get(name) if spelling is None else self.content[spelling]

    def says(self, name: str) -> bool | None:
        """Whether the file itself has a value for a field: false for null, None for nothing."""
        spelling = self.spelling(name)
        return None if spelling is None else self.content[spelling] is not None

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return shown(f"{self.path}{self.spelling(name) or name}")

    def checked(self, name: str, rule: str, fits: Callable[[Any], bool]) -> Any:
        """Return a value that fits a rule; note any other, and return None for it."""
        value = self.value(name)
        # 0 and 1, false and true change nothing that a reader would look for.
        if value not in (None, 0, 1) and self.spelling(name) is None:
            self.by_default.append(name)
        if value is None or fits(value):
            return value
        got = shown(repr(value)[:60])
        self.problems.append(f"{self.place(name)} must be {rule}, got {got}")
        return None

    def number(self, name: str, least: float = 0, most: float = 1e18) -> float | None:
        """Return a number within limits."""
        rule = f"a number from {least:g} to {most:g}"
        # Not `isinstance`, here and below: true and false are integers to it.
        value = self.checked(
            name, rule, lambda x: type(x) in (int, float) and least <= x <= most
        )
        return None if value is None else float(value)

    def count(self, name: str, least: int = 1, most: float = 1e12) -> int | None:
        """Return an integer within limits."""
        rule = f"an integer from {least} to {most:g}"
        count: int | None = self.checked(
            name, rule, lambda x: type(x) is int and least <= x <= most
        )
        return count

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        rule = "true or false"
        flag: bool | None = self.checked(name, rule, lambda x: isinstance(x, bool))
        return flag

    def integers(self, name: str, least: int = 0) -> list[int]:
        """Return a list of at least so many integers, an empty one if there is none."""

        def fits(x: Any) -> bool:
            whole = isinstance(x, list) and {*map(type, x)} <= {int}
            return whole and (not x or len(x) >= least)

        return self.checked(name, f"a list of integers, {least} or more", fits) or []

    def text(self, name: str) -> str:
        """Return a string, an empty one if there is none."""
        return self.checked(name, "a string", lambda x: isinstance(x, str)) or ""

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        content = self.checked(name, "a mapping", lambda x: isinstance(x, Mapping))
        inner = self.beside(content or {}, f"{self.place(name)}.")
        if self.spelling(name) is None:  # what is inside a default are defaults
            inner.content, inner.defaults = {}, inner.content
        return inner

    def beside(self, content: Mapping[str, Any], path: str) -> Fields:
        """Return another mapping of the same model."""
        other = Fields(content, path)
        other.problems = self.problems
        return other


def load(content: bytes) -> Any:
    """Parse a file."""
    if len(content) > LARGEST_FILE:
        raise ValueError("the file has over 8 MB, so it isn't a configuration")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the file isn't JSON: {error}") from error
