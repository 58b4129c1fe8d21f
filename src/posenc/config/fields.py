"""Two tables to edit by hand, and the fields of a file, which `Fields` checks by them.

A type of model is an entry of types.toml; a field is a line of [fields] in fields.toml.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from posenc.layers import shown

SHARE = "partial_rotary_factor"
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
    twice: bool
    ignores: Sequence[str]
    flags: Sequence[tuple[str, bool, str]]
    chooses: Sequence[str]
    reads: Sequence[str]
    rule: str
    others: str
    last: bool
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
# What fields must be, spellings, words, and patterns of names.
WORDS = table("fields.toml")
RULES = {name: WORDS["values"][rule] for name, rule in WORDS["fields"].items()}
SPELLINGS = {name: WORDS["spellings"].get(name, [name]) for name in RULES}


def is_fit(value: Any, rule: Mapping[str, Any], layers: int) -> bool:
    """Whether a value has the type, the limits, and the items that a rule of [values] asks for."""
    # Not `isinstance`: true and false are integers to it.
    name = "dict" if isinstance(value, Mapping) else type(value).__name__
    if name not in rule["types"]:
        return False
    if "most" in rule:
        return bool(rule["least"] <= value <= rule["most"])
    if "each" in rule and len(value) < layers:
        return False
    if type(value) is str:
        return "items" not in rule or {*value} <= WORDS["kinds_of_layers"].keys()
    item_rule = WORDS["values"].get(rule.get("items"))
    return not item_rule or all(is_fit(item, item_rule, 0) for item in value)


class Fields:
    """The fields of a mapping as the code of a type reads them, each checked once, at first.

    `fields[name]` is what the file says. Otherwise it is

    - the default of the model's class, or None, if the file doesn't have the field;
    - None if the file has null; but where the class has a default, that is invalid (but for
      `null_is_none` in fields.toml);
    - None if what the file has is invalid: then whatever needs the field is unknown.

    Who asks for a field uses it: it is told if it is invalid, or a default. Fields that nobody uses
    are told as not read. How often one asks, and in which order, changes nothing. `values[name]` is
    the same, and uses nothing.
    """

    def __init__(
        self,
        content: Mapping[str, Any],
        path: str = "",
        entry: Entry = UNKNOWN,
        outer: Fields | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Check all fields.

        `outer` are the fields around these, which take what is noted of both. `defaults` are the
        class's for a mapping inside; without them, these fields are a whole model's.
        """
        self.path, self.name, self.entry = path, path[:-1], entry
        # What is wrong with several fields, and what else one should know.
        self.problems: list[str] = outer.problems if outer else []
        self.remarks: list[str] = outer.remarks if outer else []
        self.used: set[str] = set()
        self.invalid: dict[str, str] = {}  # what is wrong with a field
        self.content = without_empty(content)
        self.defaults = entry.defaults if defaults is None else defaults
        self.drop_ignored(entry.ignores if defaults is None else ())
        self.spelled = spellings(self.content, entry)
        # Lists may need an item for each layer, whose number is checked first.
        layers = self.checked("num_hidden_layers", 0) or 0
        self.values = {name: self.checked(name, layers) for name in RULES}

    def drop_ignored(self, names: Sequence[str]) -> None:
        """Remove fields that the type's code doesn't read, and name those that say something."""
        code = self.entry.code
        if code:
            most = {*WORDS["ignored_by_most"]} - {*self.entry.reads}
            names = sorted(most | {*names})
        for name in names:
            value = self.content.pop(name, None)
            if value is True or value not in (None, {}, 1):  # True == 1
                self.problems.append(
                    f"{code} ignores {shown(self.path + name)}; other programs may not"
                )

    def checked(self, name: str, layers: int) -> Any:
        """Return the value of a field, or None if it is invalid, which is noted."""
        value = self.defaults.get(name)  # which may be too short for the file's layers
        if name in self.spelled:
            value = self.content[self.spelled[name]]
        rule = RULES[name]
        may_be_null = name not in self.defaults or name in WORDS["null_is_none"]
        if may_be_null if value is None else is_fit(value, rule, layers):
            return value
        words = rule["words"].format(layers)
        self.invalid[name] = f"{self.place(name)} must be {words}, got {literal(value)}"
        return None

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return shown(f"{self.path}{self.spelled.get(name, name)}")

    def __getitem__(self, name: str) -> Any:
        """Return a value, which uses the field."""
        self.used.add(name)
        return self.values[name]

    # The next four use a field if the file has it, and no default.

    def equals(self, name: str, value: Any) -> bool:
        """Whether a field has a value, in the file or by default."""
        self.says(name)  # which uses it
        return bool(self.values[name] == value)

    def says(self, name: str) -> bool:
        """Whether the file has anything but null in a field."""
        if name not in self.spelled:
            return False
        self.used.add(name)
        return self.content[self.spelled[name]] is not None

    def is_null(self, name: str) -> bool:
        """Whether the file has null in a field."""
        return name in self.spelled and not self.says(name)

    def is_invalid(self, *names: str) -> bool:
        """Whether one of these fields is invalid."""
        self.used |= {*self.spelled, *self.invalid} & {*names}
        return not self.invalid.keys().isdisjoint(names)

    def inside(self, name: str) -> Fields:
        """Return a mapping inside this one, an empty one if there is none."""
        self.used.add(name)
        spelling = self.spelled.get(name, name)
        content = as_mapping(self.content.get(spelling))
        # What is inside a default are defaults.
        usual = {} if spelling in self.content else self.defaults.get(spelling)
        path = f"{self.place(name)}."
        return Fields(content, path, self.entry, self, as_mapping(usual))

    def read_as(self, entry: Entry) -> Fields:
        """Return the same fields as the code of a type reads them, used and noted as before."""
        fields = Fields(self.content, self.path, entry, self)
        fields.used |= self.used
        return fields

    def wrong(self) -> list[str]:
        """Return what is wrong with fields that are used, and then with several of them."""
        names = self.used & self.invalid.keys()
        return [self.invalid[name] for name in RULES if name in names] + self.problems

    def by_default(self) -> list[str]:
        """Return the fields that are used and that only the class says."""
        return [
            name
            for name, value in self.values.items()
            if name in self.used
            and name not in self.spelled
            # 0 and 1, false and true change nothing that a reader would look for.
            and value not in (None, 0, 1)
        ]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a mapping, or else an empty one."""
    return value if isinstance(value, Mapping) else {}


def without_empty(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says, without the fields that are as if they weren't there."""
    # MPT and DBRX have a mapping whose fields are read as if they stood outside.
    content = {**as_mapping(content.get("attn_config")), **content}
    missing = WORDS["empty_is_missing"]
    return {name: x for name, x in content.items() if x or name not in missing}


def spellings(content: Mapping[str, Any], entry: Entry) -> dict[str, str]:
    """Return how a file spells the fields that it has, of those that a type's code reads."""
    unread = {*WORDS["which_layers"], *WORDS["read_by_some"]} - {*entry.reads}
    if not entry.code:  # what kinds of layers do, only the code says
        unread = {"layer_types", *WORDS["which_layers"]}
    elif content.get("use_sliding_window") is False:  # as the file says, it isn't used
        unread.discard("sliding_window")
    spelled = {}
    for name in SPELLINGS.keys() - unread:
        present = [spelling for spelling in SPELLINGS[name] if spelling in content]
        if present:
            # Files of two programs may have one field in two spellings, one of them null.
            spelled[name] = min(present, key=lambda x: content[x] is None)
    return spelled


def literal(value: Any) -> str:
    """Return how a file writes a value, or how it begins."""
    if value is None:
        return "null"
    try:
        return shown(repr(value)[:60])
    except ValueError:  # Python writes no integer of over 4,300 digits
        return "a number of thousands of digits"


# ---------------------------------------------------------------- files


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
