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
from typing import Any

import numpy as np

from posenc.checks.terms import other_terms
from posenc.checks.trials import Trial, by_width, tolerance
from posenc.conventions import UNIT, Convention, EncodingCall, Floats
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
        # A sentence tells all rows; 2*position also doubles frequencies.
        OTHER_POSITIONS,
        # A number or two for all pairs of dimensions, or one for each
        other_turns(failing, of_rules),
        other_turns(failing, of_pairs),
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
    text = str(convention)
    if convention.rotary and convention.share == 1:
        text += "; the whole head turns"
    return Fault(
        "these are the numbers of another convention",
        text,
        lambda call: convention.encoding(call.x, call.k).of(
            factor=call.factor, stretch=call.stretch
        ),
    )


# Families


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


def turning(trial: Trial) -> tuple[EncodingCall, Floats, float]:
    """Return the call, how far each pair turns from a position to the next, and the factor."""
    call: EncodingCall = trial.call
    first, second = np.argsort(call.order)[np.array(call.pairs)]
    given, still = (
        rows[..., first] + 1j * rows[..., second]
        for rows in (trial.given, call.encode(0 * call.angles))
    )
    # exp(iθ) times the square of a length, or exp(-iθ) if the sine comes first
    turned = given * still.conj()
    # One row times the conjugate of that before it has the angle between them.
    between = turned[..., 1:, :] * turned[..., :-1, :].conj()
    angles = np.angle(between.reshape(-1, len(first)).sum(axis=0))
    step = np.diff(call.positions.flat[:2])  # or minus one, if it counts down
    step *= 1 if call.convention.rotary else -1
    factor = call.factor * np.abs(given).sum() / np.abs(still).sum()
    return call, angles / step, factor


Frequencies = Iterator[tuple[str, Floats]]  # in words, and in radians a position


def of_rules(call: EncodingCall, seen: Floats) -> Frequencies:
    """Yield frequencies that rules make, with numbers that are fitted to those seen.

    Of the plain ω = base^-p, a rule that scales makes share · ω, which is right. Seen are, in this
    order: share · ω; t · share · ω; ω of another base; share² · ω; ω / share; and, where shares go
    from 1 down to their least, (1 + least - share) · ω.
    """
    right, powers, base = call.frequencies, call.powers, call.convention.base
    times = 0.0
    # From slow pairs, which make no whole turn from row to row, to fast ones, which tell it best
    for omega, radians in zip(right[::-1], seen[::-1], strict=True):
        times += np.angle(np.exp(1j * (radians - times * omega))) / omega
    yield (
        "frequencies are right, and the multiplier isn't; if it is meant, pass this",
        right,
    )
    yield (
        f"all are {times:.8g} times right, 1/{1 / times:.5g}, as if positions were, or by linear "
        "scaling",
        times * right,
    )
    # ln ω = -p ln(base), which is less exact where ω is small
    weights = powers * right**2
    other = np.exp(-(weights @ np.log(seen)) / (weights @ powers))
    yield (
        f"they are those of base {other:.5g}, not scaled; that is {base:.5g} with "
        f"{np.log(other) / np.log(base):.5g} times the exponent, or NTK-aware scaling by "
        f"{(other / base) ** powers[-1]:.5g}",
        other**-powers,
    )
    share = right / base**-powers
    yield "the rule scales them twice", right * share
    yield "the rule multiplies for divides", right / share**2
    yield (
        "they are blended the other way round",
        right * (1 + share.min() - share) / share,
    )


def of_pairs(call: EncodingCall, seen: Floats) -> Frequencies:
    """Yield the frequencies seen, and which differ most."""
    right, base = call.frequencies, call.convention.base
    # Whole turns from row to row aren't seen: of pairs that make some, what is seen is scattered.
    if np.abs(seen).max() > 2:
        return
    pairs = np.sort(np.abs(seen - right).argsort()[-4:])
    yield (
        f"pairs {pairs} turn {(seen / right)[pairs].round(7)} times as fast as right, as base "
        f"{base:.7g}'s, if it is that, divided by {(base**-call.powers / seen)[pairs].round(4)}",
        seen,
    )


RULED = (
    "mind base, exponent, and the rule that scales them; if they are meant, pass base= or "
    "frequencies=, or if a rule switches by length, as LongRoPE and dynamic NTK do, longest="
)


def other_turns(trials: list[Trial], of: Any) -> Iterator[Fault]:
    """Measure frequencies and factor at each width; yield what a function makes of the former."""
    measured = [turning(trial) for trial in by_width(trials).values()]
    for guesses in zip(*(of(call, seen) for call, seen, _ in measured), strict=False):
        fields: dict[int, Any] = {}
        for (call, _, factor), (words, frequencies) in zip(
            measured, guesses, strict=True
        ):
            width = len(call.order)
            fields[width] = {"frequencies": frequencies, "factor": factor}
            text = f"{words} (attention_factor={factor:.8g}, widths=[{width}]); {RULED}"

        def make(call: EncodingCall, by: dict[int, Any] = fields) -> Floats:
            return call.of(**by.get(len(call.order), {}))

        yield Fault("other frequencies or multiplier", text, make)
