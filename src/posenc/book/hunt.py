"""The bug hunt: whether your test catches the museum's bugs and accepts correct tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.checks.museum import MUSEUM
from posenc.encoding import sinusoidal_encoding

Floats = NDArray[np.float64]
Encode = Callable[[int, int], Any]


def _from(positions: Floats, exponents: NDArray[Any], cosine: NDArray[np.bool_]) -> Floats:
    angles = positions[:, None] * 10_000.0**-exponents
    return np.where(cosine, np.cos(angles), np.sin(angles))


def _parts(seq_len: int, d_model: int) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    columns = np.arange(d_model)
    return np.arange(seq_len, dtype=float), columns, columns % 2 == 1


def dimension_for_pair(seq_len: int, d_model: int) -> Floats:
    """Use the dimension in the exponent instead of the pair."""
    positions, j, cosine = _parts(seq_len, d_model)
    return _from(positions, 2 * j / d_model, cosine)


def own_exponent(seq_len: int, d_model: int) -> Floats:
    """Give each dimension a separate exponent."""
    positions, j, cosine = _parts(seq_len, d_model)
    return _from(positions, j / d_model, cosine)


def all_ones(seq_len: int, d_model: int) -> Floats:
    """Use exponent 0, so that all pairs have the same frequency."""
    positions, j, cosine = _parts(seq_len, d_model)
    return _from(positions, 0.0 * j, cosine)


def minus_sign(seq_len: int, d_model: int) -> Floats:
    """Forget the minus sign: the frequencies grow."""
    positions, j, cosine = _parts(seq_len, d_model)
    return _from(positions, -2 * (j // 2) / d_model, cosine)


def slipped_parenthesis(seq_len: int, d_model: int) -> Floats:
    """Use `/ d_model // 2`: floor division turns a small negative number into -1."""
    positions, j, cosine = _parts(seq_len, d_model)
    factor = -math.log(10_000) / d_model // 2
    return _from(positions, -2 * (j // 2) * factor / math.log(10_000), cosine)


def rounded_positions(seq_len: int, d_model: int) -> Floats:
    """Store positions in float16, which can't represent every integer beyond 2048."""
    positions, j, cosine = _parts(seq_len, d_model)
    rounded = positions.astype(np.float16).astype(float)
    return _from(rounded, 2 * (j // 2) / d_model, cosine)


def rows_for_columns(seq_len: int, d_model: int) -> Floats:
    """Fill every other row with sines, not every other column."""
    positions, j, _ = _parts(seq_len, d_model)
    return _from(positions, 2 * (j // 2) / d_model, (positions % 2 == 1)[:, None])


BUGS: dict[str, Encode] = {
    "dimension for pair": dimension_for_pair,
    "own exponent": own_exponent,
    "all ones": all_ones,
    "minus sign": minus_sign,
    "slipped parenthesis": slipped_parenthesis,
    "rounded positions": rounded_positions,
    "rows for columns": rows_for_columns,
}
"""The museum's exhibits that are tables, by their names there."""


def double(seq_len: int, d_model: int) -> Floats:
    """Return the paper's table in 64 bits."""
    return sinusoidal_encoding(seq_len, d_model, dtype=np.float64)


def two_loops(seq_len: int, d_model: int) -> Floats:
    """Return the paper's table, entry by entry."""
    if d_model % 2:
        raise ValueError("d_model must be even")
    table, waves = np.empty((seq_len, d_model)), (math.sin, math.cos)
    for k, j in np.ndindex(table.shape):
        table[k, j] = waves[j % 2](k / 10_000 ** (2 * (j // 2) / d_model))
    return table


RIGHT: dict[str, Encode] = {
    "the package's, in 32 bits": lambda seq_len, d_model: sinusoidal_encoding(seq_len, d_model),
    "the same in 64 bits": double,
    "two loops": two_loops,
}
"""Correct tables, written in different ways."""


def accuses(test: Callable[[Encode], Any], encode: Encode) -> str:
    """Return a test's objection to an encoding, or "" if it accepts it."""
    try:
        verdict = test(encode)
    except Exception as error:
        return str(error).partition("\n")[0] or type(error).__name__
    return "it returned False" if verdict is False else ""


def hunt(test: Callable[[Encode], Any]) -> str:
    """Run a test against bugs and correct tables.

    Parameters
    ----------
    test : callable
        It gets a function `encode(seq_len, d_model)`, and raises an error, or returns False, if
        the table is wrong.

    Returns
    -------
    str
        What it caught, what it missed, and its false alarms, one per line.

    Raises
    ------
    TypeError
        If the test can't be called.

    Examples
    --------
    >>> print(hunt(lambda encode: len(encode(4, 8)) == 4).splitlines()[0])
    It caught 0 of 7 bugs, and rejected 0 of 3 correct tables.
    """
    if not callable(test):
        raise TypeError(f"test must be a function of encode(seq_len, d_model), got {test!r}")
    found = {name: accuses(test, bug) for name, bug in BUGS.items()}
    wrongly = {name: accuses(test, encode) for name, encode in RIGHT.items()}
    caught, accused = (sum(map(bool, each.values())) for each in (found, wrongly))
    lines = [
        f"It caught {caught} of {len(found)} bugs, "
        f"and rejected {accused} of {len(wrongly)} correct tables."
    ]
    lines += [f"caught: {name} ({why})" for name, why in found.items() if why]
    lines += [
        f"missed: {MUSEUM[name].says} (exhibit {MUSEUM[name].number})"
        for name, why in found.items()
        if not why
    ]
    lines += [f"false alarm: {name} ({why})" for name, why in wrongly.items() if why]
    if caught == len(found) and not accused:
        lines.append("Nothing is left to find: a good test.")
    return "\n".join(lines)
