"""Subjects and their arrays: what all kinds of checks have in common."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.trials import Broken, Raised, Trial, user
from posenc.conventions import UNIT, Convention, Floats

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""
TAGS = {
    "learned": ("offset", "mirror", "penalty"),
    "ring cache": ("far", "unique", "steps", "chunks", "ragged"),
    "made on meta": (),  # so that the law `meta` is asked
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
    """Convert an array of any library to numpy; bfloat16 becomes float32."""
    half = type_of(array) == "bfloat16"
    if hasattr(array, "detach"):
        return np.asarray((array.float() if half else array).detach().cpu())
    # A library may support nothing but DLPack.
    if hasattr(array, "__dlpack__") and not half:
        return np.from_dlpack(array)
    return np.asarray(array).astype(np.float32) if half else np.asarray(array)


def floats(array: Any, finite: bool = True) -> Floats:
    """Return the values in float64; NaN and infinity break the law, so they can't pass it."""
    numbers = values(array)
    if numbers.dtype.kind != "f":
        raise Broken(f"{numbers.dtype}, which isn't a floating-point type")
    if finite and not np.isfinite(numbers).all():
        raise Broken("entries that are not finite")
    return numbers.astype(np.float64)


class Library:
    """The array library that the code under test takes: numpy, torch, or jax.numpy and the like."""

    def __init__(self, namespace: Any) -> None:
        if isinstance(namespace, str):
            namespace = importlib.import_module(namespace)
        if not hasattr(namespace, "asarray"):
            rule = "a module with asarray, or its name"
            raise TypeError(f"library must be {rule}, got {namespace!r}")
        self.namespace: Any = namespace
        self.name: str = namespace.__name__.partition(".")[0]

    @classmethod
    def of(cls, named: Any, call: Callable[[Library], Any]) -> Library:
        """Return the named library; or torch if a call takes and returns its tensors; or numpy.

        Tensors go first: code that caches tables would otherwise cache numpy's.
        """
        torch = sys.modules.get("torch")
        if named is not None or torch is None:
            return cls(np if named is None else named)
        for space in (torch, np):
            with contextlib.suppress(Raised):
                return cls(space if hasattr(user(call, cls(space)), "detach") else np)
        return cls(torch)  # a law will report the error

    def array(self, x: Any, dtype: str = "float32") -> Any:
        """Make an array with the values of x, in the named dtype."""
        if dtype != "bfloat16":
            return self.namespace.asarray(np.array(x, dtype, order="C"))
        made = self.array(x)  # numpy doesn't have bfloat16
        kind = self.namespace.bfloat16
        return made.to(kind) if self.name == "torch" else made.astype(kind)


class Subject:
    """What is checked, of one kind, and what it is declared to be."""

    kind = ""
    about = ""  # more than the convention
    convention: Convention | None = None
    unit = UNIT
    library: Library

    def __init__(self, subject: Any, tags: Iterable[str] = ()) -> None:
        if not callable(subject):
            raise TypeError(f"a subject must be callable, got {subject!r}")
        self.subject: Any = subject
        self.errors: dict[int, float] = {}  # by position
        self.tags = {tags} if isinstance(tags, str) else {*tags}
        for tag in self.tags - {*TAGS}:
            raise ValueError(f"tags must be among {', '.join(TAGS)}, got {tag!r}")

    def excuse(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        return next((f"declared: {tag}" for tag in self.tags if law in TAGS[tag]), "")

    def explain(self, trials: Sequence[Trial]) -> str:
        """Return the known faults that give what was measured, or ""."""
        return ""
