"""Draws wrong answers near the right one, which the check of an exercise must reject.

The root's `conftest.py` runs the text of this module in a chapter's kernel, after its cells, and
then `try_all`, which must raise an AssertionError that says "all rejected".

A solution's last call of the check is a statement on a line of its own.
"""

import numpy as np


def near(value, size, drawn):
    """Return a value a little off; add it to `drawn` if there is one.

    Types, text, truth values, and what is empty stay as they are.
    """
    if isinstance(value, type):
        return value
    if callable(value):  # a function that the solution defines: its results are off
        return lambda *args, **options: near(value(*args, **options), size, drawn)
    array = np.array(value)
    if array.dtype.kind not in "iuf" or not array.size:
        return value
    if array.dtype.kind == "f":
        # Zeros alone have no part that could be off.
        array = array * (1 + size) if array.any() else array + size
    else:
        array.flat[-1] += np.sign(size)
    drawn.append(array)
    if hasattr(value, "new_tensor"):
        return value.new_tensor(array)
    return array if isinstance(value, np.ndarray) else type(value)(array.tolist())


def answers_of(check, solution, scope):
    """Return what the solution passes to the check, call by call."""
    answers = []
    before, call, _ = solution.rpartition(f"{check}(")
    rest = solution[len(before + call) :].partition("\n")[0]
    exec(before + call + rest, {**scope, check: lambda *given: answers.append(given)})
    return answers


def try_all(check, solution, scope):
    """Raise what a check accepts near the solution's answer, or that it rejects all."""
    accepted = []
    answers = answers_of(check, solution, scope)
    if not answers:
        raise ValueError(f"the solution doesn't call {check}")
    for answer in answers:
        for n, right in enumerate(answer):
            for size in (0.05, -0.05):
                drawn = []
                wrong = near(right, size, drawn)
                try:
                    scope[check](*answer[:n], wrong, *answer[n + 1 :])
                except (AssertionError, ValueError):
                    continue  # the check rejects it, or the chapter's own code does
                if drawn:
                    accepted.append(f"{drawn[0]!s:.60} for {right!s:.60}")
    raise AssertionError(f"accepts {accepted}" if accepted else "all rejected")
