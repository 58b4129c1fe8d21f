"""Why an encoding isn't right: which faults give the numbers that were measured.

A cause is a reproduction: a fault is run on the calls that were made. For example, if code counts
the batch, "batch for sequence" gives the same numbers in a batch and in whole sequences, and is
named; "lost half" gives others, and isn't.

A known fault of the museum is run as it is. Of a family, only the kind is known: all its faults are
tried, or which one it is, is measured in the trials that fail. For example, if pairs of the whole
sequence turn by 1, 0.1 and 0.01 radians a position, a `Fault` is made that encodes at these
frequencies, and named if it gives what was measured.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from posenc.checks.terms import other_terms
from posenc.checks.trials import NEAR, Trial, by_width, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall
from posenc.museum import NOTHING_TURNS, SOME_CALLS, Fault, Make, at, known

# Rounding moves an angle by a share of it, u (3 |ln ω| + 5), which is this for ω = 10^-4.
APART = 33 * UNIT


def explain(trials: list[Trial], kind: str, meant: Iterable[Convention]) -> str:
    """Return what gives all these trials, or their rows that fail, or "".

    `meant` are conventions that may be followed.
    """
    return (
        # Of one pair alone, other faults may give the same.
        causes([NOTHING_TURNS], trials)
        # Mistakes that people made. Nothing is fitted, so that they hardly fit by chance.
        or causes(known(kind), trials)
        # It is no mistake if it is meant; a family may give the same by many numbers.
        or causes(map(following, meant), trials)
        or measured_causes(trials)
        or causes(other_terms(trials), trials)
        # Some rows are right: what gives the others? A known mistake would be made in all of them.
        or measured_causes(trials, in_part=True)
    )


def measured_causes(trials: list[Trial], in_part: bool = False) -> str:
    """Return what the first family gives that gives all rows, or those that fail."""
    failing = [trial for trial in trials if trial.worst > 1]
    if not failing:
        return ""
    families: list[Iterable[Fault]] = [
        # One number tells all entries.
        other_factor(failing),
        # A sentence tells all rows; 2*position also doubles frequencies.
        OTHER_POSITIONS,
        # A number for each pair of dimensions
        other_frequencies(failing),
        # Those that in all calls would be another convention
        known(*SOME_CALLS),
    ]
    for family in families:
        texts = causes(family, failing if in_part else trials, in_part)
        if texts:
            return f"the rows that fail have {texts}" if in_part else texts
    return ""


def causes(faults: Iterable[Fault], trials: list[Trial], in_part: bool = False) -> str:
    """Return the texts of those faults that give all rows of these trials, or those that fail."""
    near = tolerance(trials)
    # Some faults divide by zero, as the code that has them does.
    with np.errstate(all="ignore"):
        texts = [
            str(fault) for fault in faults if gives(fault.make, trials, near, in_part)
        ]
    return "; or ".join(dict.fromkeys(texts))


def gives(make: Make, trials: list[Trial], near: float, in_part: bool) -> bool:
    """Whether a fault gives what was measured in all trials, and not what is right."""
    explains = False
    for trial in trials:
        rows: Any = trial.failing if in_part else ...
        # Its angles may be greater than right, and so is their rounding: by what stretching them
        # both ways moves an entry, rounding may. One way may end at the same height of a sine.
        less, made, more = (
            make(trial.call._replace(stretch=stretch))
            for stretch in (1 - APART, 1.0, 1 + APART)
        )
        rounding = trial.bounds + np.abs(less - made) + np.abs(more - made)
        off = np.abs(made - trial.given) - rounding
        # What isn't a number isn't near.
        if not (off[rows] <= near).all():
            return False
        explains |= bool((np.abs(made - trial.meant) > trial.bounds)[rows].any())
    return explains


def following(convention: Convention) -> Fault:
    """Return what isn't a fault, if it is meant: another convention, at its own frequencies."""
    return Fault(
        "these are the numbers of another convention",
        str(convention),
        lambda call: convention.encoding(call.x, call.k).of(
            factor=call.factor, stretch=call.stretch
        ),
    )


# Families


def at_each_width(field: str, values: dict[int, Any]) -> Make:
    """Return what has these values in a field of the call, by width."""
    return lambda call: call.of(
        **{field: values.get(call.x.shape[-1], getattr(call, field))}
    )


def other_factor(trials: list[Trial]) -> Iterator[Fault]:
    """Measure what rows, or the dimensions that turn, are multiplied by, in each width."""
    factors = {}
    for trial in trials:
        # A result is a line in its factor, rest + factor · slope, which is fitted.
        rest = trial.call.of(factor=0.0)
        slope = trial.call.of(factor=1.0) - rest
        fit = np.vdot(slope, trial.given - rest) / np.vdot(slope, slope)
        factors[slope.shape[-1]] = fit
    width, factor = next(iter(factors.items()))
    text = f"if it is meant, pass attention_factor={factor:.8g}, widths=[{width}]"
    yield Fault("another multiplier", text, at_each_width("factor", factors))


COUNT = (
    "count once, from the right number, along the right axis, each sequence alone, alike in all "
    "calls and caches; if it is meant, declare Convention(first=..., step=...)"
)
OTHER_POSITIONS = [
    Fault("other positions", f"{name} is taken for the position; {COUNT}", at(place))
    for name, place in {
        "0": lambda of: 0,
        "2*position": lambda of: 2 * of.position,
        "4*position": lambda of: 4 * of.position,
        "pi*position": lambda of: np.pi * of.position,
        "position/pi": lambda of: of.position / np.pi,
        "position + 1": lambda of: of.position + 1,
        "position - 1": lambda of: of.position - 1,
        "position/last": lambda of: of.position / max(of.length - 1, 1),
        "length": lambda of: of.length,
        "head": lambda of: of.head,
        "position + length*batch": lambda of: of.position + of.length * of.batch,
        "row + first position": lambda of: of.row + of.position[..., :1],
        "first sequence's position": lambda of: np.atleast_2d(of.position)[0],
        "previous row's position": lambda of: np.roll(of.position, 1, -1),
        # Beside rows that seem to be counted from 1, the last one's is 0.
        "next row's position": lambda of: np.roll(of.position, -1, -1) - of.first,
    }.items()
]
OTHER_POSITIONS += [
    Fault(
        "other positions",
        f"position/{n} is taken for the position, as by linear scaling; {COUNT}",
        partial(EncodingCall.of, stretch=1 / n),
    )
    for n in range(2, 65)
]


def radians_a_position(trial: Trial) -> Any:
    """Return how far each pair turns from a position to the next, (pairs,), in rows in order."""
    call: EncodingCall = trial.call
    # A result is a cosine times what doesn't turn, and a sine times what is turned by a quarter.
    still, turned = (call.encode(0 * call.angles + angle) for angle in (0, np.pi / 2))
    parts = (trial.given * (still + 1j * turned))[..., call.order.argsort()]
    # Pair by pair, that is exp(iθ) times the square of a length.
    numbers: Any = sum(parts[..., dimensions] for dimensions in call.pairs)
    # One row times the conjugate of that before it has the angle between them.
    between = numbers[..., 1:, :] * numbers[..., :-1, :].conj()
    angles = np.angle(between.reshape(-1, numbers.shape[-1]).sum(axis=0))
    step = np.diff(call.positions.flat[:2])  # or minus one, if it counts down
    return angles / step


def other_frequencies(trials: list[Trial]) -> Iterator[Fault]:
    """Measure the frequencies of each width."""
    long = by_width(trials)
    if not long:
        return
    measured = {width: radians_a_position(trial) for width, trial in long.items()}
    width = min(long)
    right, radians = long[width].call.frequencies, measured[width]
    # Whole turns from row to row aren't seen: of pairs that make some, what is seen is scattered.
    size = np.abs(radians)
    if size.max() > 1.1 * right.max() and (np.diff(size) > NEAR).any():
        return
    pairs = np.sort(np.abs(radians - right).argsort()[-4:])
    text = (
        f"pairs {pairs} turn by {radians[pairs]} radians a position, for {right[pairs]}; "
        f"{(radians / right)[pairs].round(7)} times right, as of bases "
        f"{(radians ** (-1 / long[width].call.powers))[pairs].round(2)}; mind base, exponent, and "
        "the rule that scales them; if they are meant, pass base= or frequencies=, or if a rule "
        "switches by length, as LongRoPE and dynamic NTK do, longest="
    )
    yield Fault("other frequencies", text, at_each_width("frequencies", measured))
