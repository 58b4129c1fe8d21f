"""Why an encoding isn't right: which faults, beside which convention, give what was measured.

`explain` asks for faults, known and fitted; `causes` runs them on the calls, and names those that
give the measured numbers, and in which rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posenc.checks.families import of_encoding, other_factor
from posenc.checks.recognition import BASES
from posenc.checks.reports import NO_CAUSE
from posenc.checks.trials import Broken, Raised, Trial, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall, Floats
from posenc.museum import Fault, Make, known

if TYPE_CHECKING:
    from posenc.checks.encodings import Encoding

MANY = 5000  # rows, of which some tell a cause
SOME = 6  # conventions, the likeliest: at least each layout, upward
MEANT = (
    "; if they are meant, pass base=, frequencies= or convention=, or learned=True for a table of "
    "another kind; if a norm follows the rotation, check what comes before it"
)
# Rounding of an angle, as of its position: u (3 |ln omega| + 5), of the least frequency
APART = 33 * UNIT


class Step(NamedTuple):
    """Faults to look for, beside each of some conventions, until some give what was measured."""

    find: Callable[[list[Trial]], Iterable[Fault]]  # takes trials beside a convention
    conventions: Iterable[Convention]
    partly: bool = False  # whether faults are named, too, that give what fails alone
    advice: str = ""


def explain(encoding: Encoding, trials: list[Trial]) -> tuple[str, Convention]:
    """Return the text of the first step that has one, or "", and the convention it is beside.

    1. Known faults, beside a convention that is likely, or of another base.
    2. No fault: another convention, or another multiplier.
    3. Faults that are fitted, beside a convention that is likely.
    4. If whole sequences are wrong: that no fault gives them, and what may be declared.
    """
    # Properties have no call that a fault could be run on.
    calls = [trial for trial in trials if trial.call]
    if not calls:
        return "", encoding.nearest
    whole = encoding.whole()
    # Of results that are rounded to a half type, faults in other types say nothing.
    if calls[0].unit <= UNIT:
        calls += whole
        # Most faults are told by a batch, which is small, if the code takes any.
        with suppress(Broken, Raised):
            batch = encoding.compare(encoding.draw((2, 3), 5), range(5))
            calls = [batch, *calls]
    is_known = encoding.convention is not None
    likely = [encoding.convention] if is_known else encoding.likely[:SOME]
    bases = [] if is_known else [replace(likely[0], base=base) for base in BASES]
    # A base says little: the rest may be meant.
    hint = "" if encoding.declared_convention or encoding.pairs else MEANT
    faults = known(encoding.kind)
    steps = (
        Step(lambda _: faults, dict.fromkeys(likely + bases)),
        Step(partial(meant_otherwise, encoding), [encoding.nearest]),
        Step(of_encoding, likely, partly=True, advice="" if is_known else hint),
    )
    near = tolerance(calls)
    for step in steps:
        for convention in step.conventions:
            compared = [beside(encoding, convention, trial) for trial in calls]
            # Half types may be right where the whole isn't.
            if any(trial.failing.any() for trial in compared):
                text = causes(step.find(compared), compared, near, step.partly)
                if text:
                    return text + step.advice, convention
    whole_is_wrong = any(trial.worst > 1 for trial in whole)
    return (NO_CAUSE + hint if whole_is_wrong else ""), encoding.nearest


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


def meant_otherwise(encoding: Encoding, trials: list[Trial]) -> Iterator[Fault]:
    """Yield what isn't a fault, if it is meant: another convention, or another factor."""
    # What is followed at its own frequencies, whatever is declared
    undeclared = copy.copy(encoding)
    undeclared.pairs = 0
    candidates = undeclared.candidates(BASES) if encoding.is_declared else ()
    followed = next(filter(undeclared.follows, candidates), None)

    def make(call: EncodingCall) -> Floats:
        return undeclared.reference(call.x.shape[-1], followed)(call.x, call.k)

    if followed:
        name = "these are the numbers of another convention"
        yield Fault(name, str(followed), make)
    yield from other_factor(trials)


def causes(
    faults: Iterable[Fault], trials: list[Trial], near: float, partly: bool = True
) -> str:
    """Return those faults that give all of these trials, but for bounds and this.

    If none does, and `partly`, those that give what fails, and where that is.
    """
    alike: dict[str, list[str]] = {}  # texts, by where
    for fault in faults:
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            where = rows_explained(fault.make, trials, near)
        if where is not None and (partly or not where):
            text = str(replace(fault, name=fault.name + where))
            alike.setdefault(where, []).append(text)
    texts = alike.get("") or chain.from_iterable(alike.values())
    return "; or ".join(dict.fromkeys(texts))


def rows_explained(make: Make, trials: list[Trial], near: float) -> str | None:
    """Say in which rows a fault gives what was measured, "" for all; None if it doesn't.

    Rows that it would spoil, but which are right, are told from those that fail by a number or two,
    such as that of heads, or the position. A trial fails in some row. What `make` returns
    broadcasts to what was given. A fault that gives what is right explains nothing.
    """
    calls, is_wrong = [], False
    for trial in trials:
        made = make(trial.call)
        is_wrong |= not np.all(np.abs(made - trial.meant) <= trial.bounds)
        off = unlike(trial, make, made) > near
        if off[trial.failing].any():
            return None
        outcome = {"wrong": trial.failing, "spared": off.any(axis=-1)}
        calls.append(numbers_of_rows(trial.call) | outcome)
    if not is_wrong:
        return None
    # One after another: (rows,)
    return limits(
        {
            name: np.concatenate([call[name].ravel() for call in calls])
            for name in calls[0]
        }
    )


def unlike(trial: Trial, make: Make, made: Floats) -> Floats:
    """How far what a fault made is from what was given, beyond what rounding explains."""
    call = trial.call
    off = np.abs(made - trial.given) - trial.bounds
    # A fault may have greater angles than are right, which are rounded more.
    for times in (1 - APART, 1 + APART):
        off -= np.abs(made - make(call._replace(k=call.k * times)))
    return np.where(np.isnan(off), np.inf, off)


def numbers_of_rows(call: EncodingCall) -> dict[str, Floats]:
    """Return what may tell rows apart, each of the shape of k."""
    sequence, head, row = call.numbers()
    last = row.max()
    numbers = {
        "length": last + 1,
        "batch size": sequence.max() + 1,
        "number of heads": head.max() + 1,
        "position": call.k,
        "row": row,
        "head": head,
        "sequence": sequence,
        "row before the last": last - row,
    }
    return {name: number + 0 * call.k for name, number in numbers.items()}


def limits(rows: dict[str, Any]) -> str | None:
    """Say from which numbers on rows are wrong, or up to which; None if two don't tell.

    `rows` has these numbers, and which rows are "wrong", and "spared" by a fault; some are wrong.
    The fewest limits are taken that keep out all spared ones. The text is "" if there are none, and
    else follows a fault's name: ", from position 7 on, or up to length 1".
    """
    wrong, spared = rows.pop("wrong"), rows.pop("spared")
    if not spared.any():
        return ""
    kept_out = {}  # which of the spared rows, by limit
    for name, number in rows.items():
        first, last = number[wrong].min(), number[wrong].max()
        kept_out[f"from {name} {first:g} on"] = number[spared] < first
        kept_out[f"up to {name} {last:g}"] = number[spared] > last
    for count in (1, 2):
        texts = [
            ", ".join(chosen)
            for chosen in combinations(kept_out, count)
            if np.any([kept_out[limit] for limit in chosen], axis=0).all()
        ]
        # Some tell alike.
        if texts:
            texts[3:] = ["..."] * (len(texts) > 3)
            return ", " + ", or ".join(texts)
    return None
