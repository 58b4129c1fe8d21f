"""Why an encoding isn't right: which faults, beside which convention, give what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.causes import causes, tolerance
from posenc.checks.families import of_encoding
from posenc.checks.recognition import BASES, multiplier
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import NEAR, Broken, Raised, Trial
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
    """Return the text of the first of these steps that has one, or "".

    1. Known faults that give all calls, beside a convention that is likely, or of another base.
    2. If whole sequences are wrong: another convention, or a multiplier of everything.
    3. Faults that are fitted, and may be of some calls only, beside a convention that is likely.
    4. If whole sequences are wrong: that no fault gives them, and what may be declared.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.call]
    if not calls:
        return ""
    whole = encoding.whole()
    # Of results that are rounded to a half type, faults in other types say nothing.
    if calls[0].unit <= UNIT:
        calls += whole
        # Most faults are told by a batch, which is small, if the code takes any.
        with suppress(Broken, Raised):
            batch = encoding.compare(encoding.draw((2, 3), 5), range(5))
            calls = [batch, *calls]
    whole_is_wrong = any(trial.worst > 1 for trial in whole)
    is_known = encoding.convention is not None
    likely = [encoding.convention] if is_known else encoding.likely[:SOME]
    bases = [] if is_known else [replace(likely[0], base=base) for base in BASES]
    # A base says little: the rest may be meant.
    hint = "" if encoding.declared_convention or encoding.pairs else MEANT

    faults = known(encoding.kind)
    # 1. Faults with nothing to fit
    each_once = dict.fromkeys(likely + bases)
    text = causes_in(encoding, each_once, calls, lambda _: faults, partly=False)
    if text:
        return text
    # 2. No fault at all
    text = another_convention(encoding, whole) if whole_is_wrong else ""
    if text:
        return text
    # 3. Whatever can be fitted
    text = causes_in(encoding, likely, calls, of_encoding, partly=True)
    if text:
        return text if is_known else text + hint
    # 4. Nothing
    return NO_CAUSE + hint if whole_is_wrong else ""


def causes_in(
    encoding: Encoding,
    conventions: Iterable[Convention],
    calls: list[Trial],
    find: Callable[[list[Trial]], Iterable[Fault]],
    partly: bool,
) -> str:
    """Name the faults that give the calls, in the first convention beside which any do.

    That is the nearest one from then on. If `partly`, they may be of some calls, or rows, only.
    """
    near = tolerance(calls)
    for convention in conventions:
        compared = [beside(encoding, convention, trial) for trial in calls]
        # Half types may be right where the whole isn't.
        if not any(trial.failing.any() for trial in compared):
            continue
        text = causes(find(compared), compared, near, partly)
        if text:
            encoding.nearest = convention
            return text
    return ""


def beside(encoding: Encoding, convention: Convention, trial: Trial) -> Trial:
    """Compare the same call with a convention, in some rows of many.

    The first wrong row is among them, and the last, on which positions of others may depend. The
    call still has its length, and its rows their numbers.
    """
    _, x, k, _ = trial.call
    rows: Any = range(k.shape[-1])
    if len(rows) > MANY:
        first = int(trial.failing.argmax()) % len(rows)
        rows = np.unique([*rows[::50], first, rows[-1]])
    x, given = x[..., rows, :], trial.given[..., rows, :]
    right = encoding.reference(x.shape[-1], convention)
    compared = encoding.trial(x, k[..., rows], given, right, trial.unit)
    return replace(compared, call=compared.call._replace(sampled=rows))


def another_convention(encoding: Encoding, whole: list[Trial]) -> str:
    """Say if it follows a convention that wasn't declared, or is multiplied by a number."""
    if encoding.is_declared:
        other = encoding.recognized_regardless()
        if other not in (None, encoding.convention):
            return f"these are the numbers of another convention: {other}"
    given, meant = whole[0].given, whole[0].meant
    number = multiplier(given, meant)
    multiplied = np.abs(given - number * meant).max() < NEAR < abs(number - 1)
    if multiplied and number > 0:
        cure = f"pass attention_factor={number:.9g}, widths=[{given.shape[-1]}]"
        return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
    return ""
