"""The bug hunt: whether your test catches the museum's bugs and accepts correct tables."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from posenc.conventions import Convention, Floats
from posenc.encoding import sinusoidal_encoding
from posenc.museum import MUSEUM

Encode = Callable[[int, int], Any]


def wrong_table(
    name: str, seq_len: int, d_model: int, base: float = 10_000.0
) -> Floats:
    """Return a wrong table of the museum."""
    call = Convention(base=base).encoding(np.zeros((seq_len, d_model)), range(seq_len))
    return MUSEUM[name].make(call)


BUGS = (  # the wrong tables of chapter 14
    "dimension for pair",
    "own exponent",
    "all ones",
    "minus sign",
    "slipped parenthesis",
    "rows in float16",
    "rows for columns",
    "swapped power",
)
RIGHT: dict[str, Encode] = {  # correct tables, written in different ways
    "the package's, in 32 bits": sinusoidal_encoding,
    "by the convention, in 64 bits": Convention().table,
}


def objection(test: Callable[[Encode], Any], encode: Encode) -> str:
    """Return a test's objection to an encoding, or "" if it accepts it."""
    try:
        verdict = np.asarray(test(encode))
    except Exception as error:
        return str(error).partition("\n")[0] or type(error).__name__
    is_false = verdict.dtype == bool and not verdict.all()
    return "it returned False" if is_false else ""


def hunt(test: Callable[[Encode], Any]) -> str:
    """Say which bugs a test caught and missed, and its false alarms, one per line.

    The test gets a function `encode(seq_len, d_model)`, and raises an error, or returns
    False or an array with a False, if the table is wrong.
    """
    lines = []
    for name in BUGS:
        reason = objection(test, partial(wrong_table, name))
        if reason:
            lines.append(f"caught: {name} ({reason})")
        else:
            lines.append(f"missed: {MUSEUM[name]}")
    for name, encode in RIGHT.items():
        if reason := objection(test, encode):
            lines.append(f"false alarm: {name} ({reason})")
    return "\n".join(lines)
