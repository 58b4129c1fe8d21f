"""Draws wrong answers near the right one, which the check of an exercise must reject.

`conftest.py` runs this in a chapter's kernel, after its cells.
"""

import numpy as np

# Checks that rightly accept an answer 5 % off, or a whole number one off; or that get neither.
ACCEPTED = {
    "01 check_blind": "any rows that are all the same",
    "03 check_head": "a head as sharp as that, or sharper",
    "05 check_peak": "a key of that direction and any length",
    "08 check_base": "bases whose wavelength rounds to the same",
    "10 check_base": "any base that is small enough",
    "11 check_contender": "a name, and nothing is near a name: its models would train again",
    "11 check_noise": "what a sample of that size can tell",
    "18 check_unit": "wavelengths between two limits",
    "21 check_errors": "errors that were measured on drawn keys",
}


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
    exec("\n".join(lines[: last + 1]), {**scope, check: lambda *answer: given.append(answer)})
    for answer in given:
        for n, right in enumerate(answer):
            for size in (0.05, -0.05):
                drawn = []
                off = near(right, size, drawn)
                try:
                    scope[check](*answer[:n], off, *answer[n + 1 :])
                except (AssertionError, ValueError):  # or the chapter's own code refuses it
                    continue
                if drawn:
                    found.append(f"accepts {drawn[0]!s:.60} for the solution's {right!s:.60}")
    raise AssertionError(found or "all rejected")
