"""Subjects and their arrays: what all kinds of checks have in common."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.trials import Broken, Raised, Skip, Trial, user
from posenc.conventions import UNIT, Convention, Floats

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""
TAGS = {
    "learned": ("offset", "mirror", "penalty"),
    "ring cache": ("far", "unique", "steps", "chunks", "ragged"),
    "made on meta": (),  # `state` fills buffers with NaN, too
}
"""What a subject can be declared as, and the laws that aren't asked of it then."""


def argument(call: Any, names: Sequence[str]) -> str:
    """Return the first of these names that an argument has, or ""."""
    with contextlib.suppress(TypeError, ValueError):  # of a builtin
        known = inspect.signature(call).parameters
        return next((name for name in names if name in known), "")
    return ""


def type_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def values(array: Any) -> NDArray[Any]:
    """Convert an array to numpy; bfloat16, which numpy doesn't have, becomes float32."""
    if hasattr(array, "detach"):
        half = type_of(array) == "bfloat16"
        array = (array.float() if half else array).detach().cpu()
    return np.asarray(array)


def floats(array: Any, finite: bool = True) -> Floats:
    """Return the values in float64; NaN and infinity break the law, so they can't pass it."""
    numbers = values(array)
    if numbers.dtype.kind != "f":
        raise Broken(f"{numbers.dtype}, which isn't a floating-point type")
    if finite and not np.isfinite(numbers).all():
        raise Broken("entries that are not finite")
    return numbers.astype(np.float64)


class Subject:
    """What is checked, of one kind, and what it is declared to be."""

    kind = ""
    about = ""  # more than the convention
    beside = ""  # what it was compared with, if no convention fits
    convention: Convention | None = None
    unit = UNIT
    library: Any = np  # whose arrays the code takes: numpy or torch

    def __init__(self, subject: Any, tags: Iterable[str] = ()) -> None:
        if not callable(subject):
            raise TypeError(f"a subject must be callable, got {subject!r}")
        self.subject: Any = subject
        self.errors: dict[int, float] = {}  # by position
        self.tags = {tags} if isinstance(tags, str) else {*tags}
        for tag in self.tags - {*TAGS}:
            raise ValueError(f"tags must be among {', '.join(TAGS)}, got {tag!r}")

    def find_library(self, call: Callable[[], Any]) -> None:
        """Set the library: torch if a call takes and returns its tensors; or numpy."""
        # Tensors go first: code that caches tables would otherwise cache numpy's.
        torch = sys.modules.get("torch", np)
        for library in (torch, np):
            self.library = library
            with contextlib.suppress(Raised):
                self.library = library if hasattr(user(call), "detach") else np
                return
        self.library = torch  # a law will report the error

    def array(self, x: Any, dtype: str = "float32") -> Any:
        """Make an array of the library, in the named dtype and the same order in memory."""
        if dtype != "bfloat16":
            return self.library.asarray(np.array(x, dtype))
        return self.library.asarray(np.array(x, "float32")).bfloat16()

    def excuse(self, law: str) -> None:
        """Raise `Skip` if what was declared isn't asked this law."""
        for tag in self.tags:
            if law in TAGS[tag]:
                raise Skip(f"declared: {tag}")

    def explain(self, trials: list[Trial]) -> str:
        """Return the known faults that give what was measured, or ""."""
        return ""
