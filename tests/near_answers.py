"""Draws wrong answers near the right one, which the check of an exercise must reject.

`conftest.py` runs this in a chapter's kernel, after its cells.
"""

import numpy as np


def near(value, size, drawn):
    """Return a value a little off; add it to `drawn` if there is one."""
    if isinstance(value, type):
        return value
    if callable(value):
        return lambda *args, **options: near(value(*args, **options), size, drawn)
    array = np.array(value)
    if array.dtype.kind not in "iuf" or not array.size:
        return value
    if array.dtype.kind == "f":
        array = array * (1 + size)
    else:
        array.flat[-1] += np.sign(size)
    drawn.append(array)
    if hasattr(value, "new_tensor"):
        return value.new_tensor(array)
    return array if isinstance(value, np.ndarray) else type(value)(array.tolist())


def try_all(check, solution, scope):
    """Raise what a check accepts near the solution's answer, or that it rejects all."""
    given, found = [], []
    lines = solution.splitlines()
    last = max(n for n, line in enumerate(lines) if f"{check}(" in line)
    exec(
        "\n".join(lines[: last + 1]),
        {**scope, check: lambda *answer: given.append(answer)},
    )
    for answer in given:
        for n, right in enumerate(answer):
            for size in (0.05, -0.05):
                drawn = []
                off = near(right, size, drawn)
                try:
                    scope[check](*answer[:n], off, *answer[n + 1 :])
                except (
                    AssertionError,
                    ValueError,
                ):  # or the chapter's own code refuses it
                    continue
                if drawn:
                    found.append(
                        f"accepts {drawn[0]!s:.60} for the solution's {right!s:.60}"
                    )
    raise AssertionError(found or "all rejected")
