"""What each dimension of a result is made of: terms of the right formula, with other indices.

A turned dimension is x_a cos(p ω_b) ± x_c sin(p ω_d). In right code, a is the dimension itself, c
its partner, and b = d their pair. Code that slices, repeats or pads x, sine and cosine in another
way has other indices, signs, or a sine of 0 or 1. To a table's dimension one term is added.

Terms are measured in a long sequence, whose x is drawn: others give other numbers, but for pairs
so slow that rounding hides which one turns.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc.checks.trials import Trial, by_width
from posenc.conventions import EncodingCall, Floats
from posenc.museum import Fault

Terms = dict[str, Floats]  # (seq_len, ...), by name


def terms_of(call: EncodingCall) -> Terms:
    """Return each dimension of x times each factor, with both signs; in a table, x is 1."""
    factors = {"1": 1 + 0 * call.k.T}
    for n, angle in enumerate(call.stretch * call.angles.T):
        for wave in (np.cos, np.sin):
            factors[f"{wave.__name__}{n}"] = call.factor * wave(angle)
    inputs = {"": 1.0}
    if call.convention.rotary:
        inputs = {f"*x{n}": x for n, x in enumerate(call.x.T)}
    terms = {"0": 0 * call.k.T}
    for of, x in inputs.items():
        for name, factor in factors.items():
            terms[f"+{name}{of}"] = factor * x
            terms[f"-{name}{of}"] = -factor * x
    return terms


def two_terms(terms: Terms, rows: Floats) -> Any:
    """Return the names of the two terms that sum up to each dimension, (dimensions, 2)."""
    names = [*terms]
    candidates = np.array([*terms.values()]).reshape(len(names), -1)
    dimensions = rows.T.reshape(rows.shape[-1], -1)
    squares = (candidates**2).sum(axis=1)
    one = other = np.zeros(len(dimensions), int)
    # The greater term is found first, and the lesser beside it; then each again beside the other.
    # What is left over never grows; where it stays great, the terms don't give the calls.
    for _ in range(4):
        rest = dimensions - candidates[one]
        # |rest - term|² is |rest|² - 2 rest · term + |term|².
        one, other = (squares - 2 * rest @ candidates.T).argmin(axis=1), one
    return np.array(names)[np.sort([one, other], axis=0).T]


def other_terms(trials: list[Trial]) -> Iterator[Fault]:
    """Measure the terms of each dimension at each width."""
    measured = {}
    texts: list[str] = []
    for width, trial in by_width(trials).items():
        # Terms of 128 dimensions take a second, and those of more take many.
        if width > 128:
            return
        terms = terms_of(trial.call)
        given, meant = (two_terms(terms, rows) for rows in (trial.given, trial.meant))
        measured[width] = given
        # One width says enough.
        texts = texts or [
            f"dimension {n} is {' '.join(given[n])} for {' '.join(meant[n])}"
            for n in range(width)
            if (trial.ratio[..., n] > 1).any()
        ]

    def make(call: EncodingCall) -> Any:
        terms = terms_of(call)
        # In a table x is what the terms are added to, and 0 where they were measured.
        sums = [terms[one] + terms[other] for one, other in measured[call.x.shape[-1]]]
        return np.array(sums).T + call.x * (not call.convention.rotary)

    if measured:
        yield Fault(
            "other terms",
            f"{'; '.join(texts[:4])}; {len(texts)} in all (cos0 is of pair 0): lay out, cut, and "
            "pad x, cosine, and sine alike, such as angles by `cat` for halves, by "
            "`repeat_interleave` for neighbors; if it is meant, pass convention=",
            make,
        )
