"""Stub for torch, so that a cell can import it along with modules that it uses."""

from typing import Any

from kernel import Absent


def __getattr__(name: str) -> Any:
    return getattr(Absent(__name__), name)
