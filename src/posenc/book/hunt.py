"""The bug hunt: whether your test catches the museum's bugs and accepts correct tables."""

from collections.abc import Callable
from functools import partial
from inspect import signature
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
    return np.asarray(MUSEUM[name].make(call))


BUGS: dict[str, Encode] = {  # the wrong tables of chapter 14
    name: partial(wrong_table, name)
    for name in (
        "dimension for pair",
        "own exponent",
        "all ones",
        "minus sign",
        "slipped parenthesis",
        "rows in float16",
        "rows for columns",
        "swapped power",
    )
}
RIGHT: dict[str, Encode] = {  # correct tables, written in different ways
    "the package's, in 32 bits": partial(sinusoidal_encoding, dtype=np.float32),
    "the same in 64 bits": partial(sinusoidal_encoding, dtype=np.float64),
    "by the convention, in 64 bits": Convention().table,
}


def objection(test: Callable[[Encode], Any], encode: Encode) -> str:
    """Return a test's objection to an encoding, or "" if it accepts it."""
    try:
        verdict = np.asarray(test(encode))
    except BaseException as error:
        # A failure of pytest isn't an Exception, and neither are a skip and an interrupt.
        if not isinstance(error, Exception) and type(error).__name__ != "Failed":
            raise
        return str(error).partition("\n")[0] or type(error).__name__
    is_false = verdict.dtype == bool and not verdict.all()
    return "it returned False" if is_false else ""


def hunt(test: Callable[[Encode], Any]) -> str:
    """Say which bugs a test caught and missed, and its false alarms, one per line.

    The test gets a function `encode(seq_len, d_model)`, and raises an error, or returns
    False or an array with a False, if the table is wrong. It raises TypeError if the test
    can't be called with `encode`.
    """
    signature(test).bind(sinusoidal_encoding)
    caught, missed, alarms = [], [], []
    for name, bug in BUGS.items():
        exhibit = MUSEUM[name]
        if reason := objection(test, bug):
            caught.append(f"caught: {name} ({reason})")
        else:
            missed.append(f"missed: {exhibit.says} (exhibit {exhibit.number})")
    for name, encode in RIGHT.items():
        if reason := objection(test, encode):
            alarms.append(f"false alarm: {name} ({reason})")
    head = f"It caught {len(caught)} of {len(BUGS)} bugs"
    head += f", and rejected {len(alarms)} of {len(RIGHT)} correct tables."
    praise = "Nothing is left to find: a good test."
    return "\n".join([head, *caught, *(missed + alarms or [praise])])
