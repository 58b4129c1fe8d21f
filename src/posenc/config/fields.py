"""Two tables to edit by hand, and the fields of a file, which `Fields` checks by them.

A type of model is an entry of types.toml; a field is a line of [fields] in fields.toml.
"""

import json
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace as Entry
from typing import Any

from posenc.layers import shown

SHARE = "partial_rotary_factor"


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


# What the code of each type does, by keys that the first table of types.toml explains.
ROWS = table("types.toml")
UNKNOWN = Entry(**ROWS.pop("unknown"))
TYPES = {name: Entry(**vars(UNKNOWN) | row) for name, row in ROWS.items()}
# What fields must be, spellings, words, and patterns of names.
WORDS = table("fields.toml")
RULES = {name: WORDS["values"][rule] for name, rule in WORDS["fields"].items()}
SPELLINGS = {name: WORDS["spellings"].get(name, [name]) for name in RULES}
FIELD_OF = {spelling: name for name in RULES for spelling in SPELLINGS[name]}


class Fields:
    """The fields of a mapping as the code of a type reads them, each checked once, at first.

    `fields[name]` is what the file says, or else the default of the model's class, or else None. It
    is None if what the file has is invalid, such as null where the class has a default.

    Who asks for a field uses it. Then it is told if it is a default. If it is invalid, it is told
    as not read, like a field that nobody uses. How often one asks, and in which order, changes
    nothing. `values[name]` is the same, and uses nothing.
    """

    def __init__(
        self, content: Mapping[str, Any], path: str = "", entry: Entry = UNKNOWN
    ) -> None:
        """Check all fields."""
        self.path, self.entry = path, entry
        self.problems: list[str] = []  # what seems wrong
        # Of its kinds of layers that are stretched from a known length: that, and the one intended.
        self.lengths: list[tuple[int, int | None]] = []
        self.used: set[str] = set()
        self.invalid: dict[str, str] = {}  # fields, and what is wrong with them
        self.inner: dict[str, Fields] = {}  # of mappings inside, by name
        self.content = normalized(content)
        self.spelled = spellings(self.content, entry)
        # Lists may need an item for each layer, whose number is checked first.
        layers = self.checked("num_hidden_layers", 0) or 0
        self.values = {name: self.checked(name, layers) for name in RULES}

    def checked(self, name: str, layers: int) -> Any:
        """Return the value of a field, or None if it is invalid, which is noted."""
        defaults = self.entry.defaults
        value = defaults.get(name)  # which may be too short for the file's layers
        if name in self.spelled:
            value = self.content[self.spelled[name]]
        may_be_null = name not in defaults or name in WORDS["null_is_none"]
        rule = RULES[name]
        is_valid = may_be_null if value is None else is_fit(value, rule, layers)
        if is_valid:
            return value
        got = json.dumps(value, default=repr, skipkeys=True)[:60]
        words = rule["words"].format(layers)
        self.invalid[name] = f"{self.place(name)} (must be {words}, got {got})"
        return None

    def place(self, name: str) -> str:
        """Return the path of a field, as the file spells it."""
        return shown(f"{self.path}{self.spelled.get(name, name)}")

    def __getitem__(self, name: str) -> Any:
        """Return a value, which uses the field."""
        self.used.add(name)
        return self.values[name]

    def says(self, name: str) -> bool:
        """Whether the file has anything but null in a field. That uses it, but no default."""
        if name not in self.spelled:
            return False
        self.used.add(name)
        return self.content[self.spelled[name]] is not None

    def inside(self, name: str) -> "Fields":
        """Return a mapping inside this one, or inside a default, an empty one if there is none."""
        self.used.add(name)
        content = self.values.get(name, self.content.get(name))
        if not isinstance(content, Mapping):
            content = {}
        entry = Entry(**vars(self.entry) | {"defaults": {}, "ignores": []})
        fields = Fields(content, f"{self.place(name)}.", entry)
        return self.inner.setdefault(name, fields)

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


def normalized(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says, with one way to say it."""
    # MPT and DBRX have a mapping whose fields are read as if they stood outside.
    inner = content.get("attn_config")
    if isinstance(inner, Mapping):
        content = {**inner, **content}
    return {
        name: value
        for name, value in content.items()
        if value or name not in WORDS["empty_is_missing"]
    }


def spellings(content: Mapping[str, Any], entry: Entry) -> dict[str, str]:
    """Return how a file spells the fields that it has, of those that a type's code reads."""
    unread = {*WORDS["which_layers"]}
    if entry.code:
        unread.update(WORDS["read_by_some"])
    unread -= {*entry.reads}
    if content.get("use_sliding_window") is False:
        unread.discard("sliding_window")  # 131072 in Qwen3-VL says nothing then
    readable = content.keys() - entry.ignores - unread
    spelled = {}
    for name in RULES.keys() - unread:
        present = [spelling for spelling in SPELLINGS[name] if spelling in readable]
        if present:
            # Files of two programs may have one field in two spellings, one of them null.
            spelled[name] = min(present, key=lambda x: content[x] is None)
    return spelled


def is_fit(value: Any, rule: Mapping[str, Any], layers: int) -> bool:
    """Whether a value has the type, the limits, and the items that a rule of [values] asks for."""
    # Not `isinstance` alone: true and false are integers to it.
    name = "dict" if isinstance(value, Mapping) else type(value).__name__
    if name not in rule["types"]:
        return False
    if "most" in rule:
        return bool(rule["least"] <= value <= rule["most"])
    if "items" not in rule:
        return True
    if "each" in rule and len(value) < layers:
        return False
    if type(value) is str:  # of letters
        return all(letter in WORDS["kinds_of_layers"] for letter in value)
    item_rule = WORDS["values"][rule["items"]]
    if not all(is_fit(item, item_rule, 0) for item in value):
        return False
    return "numbers" not in rule or not 0 < layers <= max(value, default=0)


# ---------------------------------------------------------------- files


def load(content: bytes | str | Path) -> Any:
    """Parse a file, or what is in it."""
    if not isinstance(content, bytes):
        with Path(content).open("rb") as file:
            content = file.read(8_000_000)  # what is longer is no configuration
    try:
        return json.loads(content)
    except (RecursionError, ValueError) as error:
        raise ValueError(f"the file isn't JSON: {error}") from error
