"""Stands in for torch: a cell may import it beside other things, and use those."""

from typing import Any

from kernel import Absent


def __getattr__(name: str) -> Any:
    return getattr(Absent(__name__), name)
