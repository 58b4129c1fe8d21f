"""Why an encoding isn't right: which faults, beside which convention, give what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.causes import causes, tolerance
from posenc.checks.families import of_encoding
from posenc.checks.recognition import BASES, multiplier
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import NEAR, Trial
from posenc.conventions import UNIT, Convention
from posenc.museum import Fault, known

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

MANY = 5000  # rows, of which some tell a cause
SOME = 6  # conventions, the likeliest: at least each layout, upward
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)


def explain(encoding: Encoding, trials: list[Trial]) -> str:
    """Return what gives the same calls, a batch, and the whole sequence, as a report says it.

    Each step returns a str, "" if it finds nothing: then the next is tried. Known faults come
    first, which give all calls; then another convention, if whole sequences are wrong; then faults
    that are fitted, and may be of some calls only.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.call]
    if not calls:
        return ""
    whole = encoding.whole()
    agrees = all(trial.worst <= 1 for trial in whole)
    # Of results that are rounded to a half type, faults in other types say nothing.
    if calls[0].unit <= UNIT:
        # Most faults are told by the batch, which is small.
        batch = encoding.compare(encoding.draw((2, 3), 5), range(5))
        calls = [batch, *calls, *whole]
    # Other conventions are tried in the place of one that isn't known.
    found = encoding.convention
    likely = [found] if found else encoding.likely[:SOME]
    bases = [] if found else [replace(likely[0], base=base) for base in BASES]
    text = causes_in(encoding, likely + bases, calls, known_faults, partly=False)
    if not text and not agrees:
        text = another_convention(encoding, whole)
    if text:
        return text
    meant = "" if encoding.declared_convention or encoding.pairs else MEANT
    text = causes_in(encoding, likely, calls, of_encoding)
    if text:
        return text if found else text + meant
    return "" if agrees else NO_CAUSE + meant


def known_faults(trials: list[Trial]) -> list[Fault]:
    """Return all faults that may be of all calls, whatever was measured."""
    rotary = trials[0].call.right.convention.rotary
    return known("rotary" if rotary else "table")


def causes_in(
    encoding: Encoding,
    conventions: list[Convention],
    calls: list[Trial],
    find: Callable[[list[Trial]], Iterable[Fault]],
    partly: bool = True,
) -> str:
    """Name the faults that give the calls, in the first convention beside which any do."""
    near = tolerance(calls)
    for convention in conventions:
        compared = [beside(encoding, convention, trial) for trial in calls]
        text = causes(find(compared), compared, near, partly)
        if text:
            nearest = convention == encoding.nearest
            return text if nearest else f"{text}; in {convention}"
    return ""


def beside(encoding: Encoding, convention: Convention, trial: Trial) -> Trial:
    """Compare the same call with a convention: some rows of many, the first wrong, and the last."""
    _, x, k, _ = trial.call
    rows: Any = range(k.shape[-1])
    if len(rows) > MANY:
        first = int(trial.failing.argmax()) % len(rows)
        # Positions that are counted down, or divided, depend on the last.
        rows = np.unique([*rows[::50], max(first - 1, 0), first, rows[-1]])
    x, given = x[..., rows, :], trial.given[..., rows, :]
    right = encoding.reference(x.shape[-1], convention)
    compared = encoding.trial(x, k[..., rows], given, right, trial.unit)
    return replace(compared, call=compared.call._replace(sampled=rows))


def another_convention(encoding: Encoding, whole: list[Trial]) -> str:
    """Say if it follows a convention that wasn't declared, or is multiplied by a number."""
    other = encoding.undeclared() if encoding.is_declared else None
    if other not in (None, encoding.convention):
        return f"these are the numbers of another convention: {other}"
    given, meant = whole[0].given, whole[0].meant
    number = multiplier(given, meant)
    multiplied = np.abs(given - number * meant).max() < NEAR < abs(number - 1)
    if multiplied and number > 0:
        cure = f"pass attention_factor={number:.9g}, widths=[{given.shape[-1]}]"
        return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
    return ""
