"""Subjects and their arrays: what all kinds of checks have in common."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from posenc.checks.trials import Broken, Raised, user
from posenc.conventions import Convention, Floats

POSITIONS = ("positions", "position_ids", "pos", "position", "input_pos")
"""Usual names of an argument for positions."""


def argument(call: Any, names: Sequence[str]) -> str:
    """Return the first of these names that an argument has, or ""."""
    known: Any = ()
    with suppress(TypeError, ValueError):  # of a builtin
        known = inspect.signature(call).parameters
    return next((name for name in names if name in known), "")


def type_of(array: Any) -> str:
    """Return the name of the dtype, the same for numpy and torch."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def floats(array: Any, finite: bool = True) -> Floats:
    """Return numbers in float64; NaN and infinity break the law, so they can't pass it."""
    if hasattr(array, "detach"):
        array = user(lambda: array.detach().cpu())
        # numpy has no bfloat16; what is complex is refused below.
        array = array if array.is_complex() else array.double()
    numbers = user(np.asarray, array)
    if numbers.dtype.kind not in "biuf":
        raise Broken(f"{numbers.dtype}, which isn't a type of numbers")
    if finite and not np.isfinite(numbers).all():
        first = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise Broken(f"entries that are not finite, {first} of {numbers.shape} first")
    return np.array(numbers, np.float64)


class Subject:
    """What is checked, of one kind, and what it is declared to be."""

    kind = ""
    usage = ""  # how it is called
    explain: Any  # takes a law's trials, returns what gives the same numbers, or ""
    library: Any = np  # whose arrays the code takes: numpy or torch

    def __init__(self, subject: Any) -> None:
        self.subject: Any = subject

    def prepare(self) -> None:
        """Call the code for the first time; what it tells is kept for the laws."""

    def find_library(self, call: Callable[[], Any]) -> None:
        """Set the library: torch if a call takes and returns its tensors; or numpy."""
        # Tensors go first: code that caches tables would otherwise cache numpy's. If neither is
        # taken, a law will report the error that tensors make.
        torch = sys.modules.get("torch", np)
        for library in (torch, np):
            self.library = library
            with suppress(Raised):
                if hasattr(call(), "detach") == (library is not np):
                    return
        self.library = torch

    def array(self, x: Any, dtype: str = "float32") -> Any:
        """Make an array of the library, in the named dtype and the same order in memory."""
        # A copy, so that code which changes its input changes nothing here
        return self.library.asarray(np.array(x), dtype=getattr(self.library, dtype))

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        return None, ""
