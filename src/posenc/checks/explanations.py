"""Why an encoding isn't right: which faults, beside which convention, give what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.checks.causes import causes, tolerance
from posenc.checks.families import of_both, of_one
from posenc.checks.recognition import BASES, multiplier
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import NEAR, Trial
from posenc.conventions import LAYOUTS, Convention, EncodingCall
from posenc.museum import Fault, known

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

MANY = 5000  # rows, of which some tell a cause
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)
Finder = Callable[[list[Trial]], Iterator[Fault]]


def explain(encoding: Encoding, trials: list[Trial]) -> str:
    """Return what gives the same calls, a batch, and the whole sequence, as a report says it.

    Each step returns a str, "" if it finds nothing: then the next is tried. Known faults come
    first, which give all calls; then another convention, if whole sequences are wrong; then faults
    that are fitted, of one thing, and of two, and may be of some calls only.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.call]
    if not calls:
        return ""
    whole = encoding.whole()
    if not calls[0].rounded:
        # Most faults are told by the batch, which is small.
        batch = encoding.compare(encoding.draw((2, 3), 5), range(5))
        calls = [batch, *calls, *whole]
    agrees = all(trial.worst <= 1 for trial in whole)
    near = tolerance(calls)
    text = causes_in(
        encoding, likely(encoding), calls, near, of_kind(encoding.kind), False
    )
    if not text and not agrees:
        text = another_convention(encoding, whole)
    if text:
        return text
    meant = "" if encoding.declared or encoding.pairs else MEANT
    # One thing is tried in all conventions before two are in any.
    for fit in of_one, of_both:
        text = causes_in(encoding, plain(encoding), calls, near, fit)
        if text:
            return text if encoding.convention else text + meant
    return "" if agrees else NO_CAUSE + meant


def likely(encoding: Encoding) -> list[Convention]:
    """Return the convention alone, or else the likeliest, and the first with all bases."""
    if encoding.convention:
        return [encoding.convention]
    first = encoding.likely[0]
    return [*encoding.likely[:20], *(replace(first, base=base) for base in BASES)]


def plain(encoding: Encoding) -> list[Convention]:
    """Return the convention alone, or else those whose columns, or pairs, differ."""
    if encoding.convention:
        return [encoding.convention]
    if encoding.kind != "rotary":
        return [Convention(layout) for layout in LAYOUTS]
    base = encoding.likely[0].base
    upward = [one for one in encoding.likely if one.direction == "up"]
    return [one for one in upward if one.base == base]


def of_kind(kind: str) -> Finder:
    """Return what finds the known faults of a kind, whatever was measured."""
    return lambda trials: iter(known(kind))


def causes_in(
    encoding: Encoding,
    conventions: list[Convention],
    calls: list[Trial],
    near: float,
    find: Finder,
    partly: bool = True,
) -> str:
    """Name the faults that give the calls, in the first convention beside which any do."""
    for convention in conventions:
        compared = [beside(encoding, convention, trial) for trial in calls]
        text = causes(find(compared), compared, near, partly)
        if text:
            nearest = convention == encoding.nearest
            return text if nearest else f"{text}; in {convention}"
    return ""


def beside(encoding: Encoding, convention: Convention, trial: Trial) -> Trial:
    """Compare the same call with a convention: some rows of many, and the first wrong."""
    _, x, k = trial.call
    rows: Any = range(k.shape[-1])
    if len(rows) > MANY:
        first = int(trial.failing.argmax())
        rows = np.unique([*rows[::50], max(first - 1, 0), first])
    x, given, bounds = (
        array[..., rows, :] for array in (x, trial.given, trial.bounds + 0 * x)
    )
    call = EncodingCall(encoding.reference(x.shape[-1], convention), x, k[..., rows])
    meant = call.at(call.k)
    return replace(trial, given=given, meant=meant, bounds=bounds, call=call)


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
