"""Families of faults of encodings: other positions, frequencies, entries, a multiplier.

A known fault of the museum is run as it is. Of a family, only the kind is known, such as "something
else is taken for the position". Which one it is, a fit tells:

1. What code must have taken is read from the rows that fail, such as the position of each.
2. That is written as a sum of few things which code may take by mistake (`posenc.checks.sums`).
3. The sum becomes a `Fault`, whose `make` gives what such code would give.

For example, if rows at positions 4, 5 and 6 turn as those at 5, 6 and 7 should, "position + 1" is
taken. `causes` runs that on all calls, and names it if it gives what was measured. So a fit may try
much, and be rough: if wrong, it isn't named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from posenc.checks.sums import CLOSE, Parts, Weights, added, fewest_parts, written
from posenc.checks.trials import NEAR, Trial
from posenc.conventions import UNIT, EncodingCall, Floats, Reference
from posenc.museum import Fault, known

ENOUGH = 2000  # entries for a fit, which is then tried on all
COUNT = (
    "count once, from the right number, along the right axis, each sequence alone, alike in all "
    "calls and caches; if it is meant, declare Convention(first=..., step=...)"
)


def joined(trials: list[Trial], arrays: list[Any]) -> Floats:
    """Join the failing rows of all trials, of an array for each: (entries,), real numbers."""
    rows = [array[trial.failing] for trial, array in zip(trials, arrays, strict=True)]
    column = np.concatenate([*map(np.ravel, rows)])
    # A complex number becomes two, and a whole one real.
    return (1.0 * column[:: 1 + len(column) // ENOUGH]).view(np.float64)


def sums_of(
    trials: list[Trial],
    measured: list[Any],
    parts_of: Callable[[Any], Parts],
    close: float,
) -> list[Weights]:
    """Write what was measured in each trial as sums of parts of its call, in failing rows."""
    listed = [parts_of(trial.call) for trial in trials]
    parts = {
        name: joined(trials, [part[name] for part in listed]) for name in listed[0]
    }
    return fewest_parts(joined(trials, measured), parts, close)


def as_complex(right: Reference, array: Floats) -> Any:
    """Return both entries of each pair as a number: (..., width) → (..., pairs)."""
    first, second = right.pairs
    return array[..., first] + 1j * array[..., second]


def added_to(call: EncodingCall) -> Floats:
    """Return what rows are added to, (..., width), which is 0 for a rotation."""
    carried = 0.0 if call.right.convention.rotary else call.right.carried
    return np.asarray(carried * call.x)


def results(trial: Trial) -> Any:
    """Return what was measured, less what rows are added to: a number for each pair."""
    call: EncodingCall = trial.call
    in_order = trial.given[..., call.right.order.argsort()]
    return as_complex(call.right, in_order - added_to(call))


# Positions


def turns(trial: Trial) -> Any:
    """Return numbers whose angle is how each pair turned, (..., seq_len, pairs)."""
    right, x, _ = trial.call
    if right.convention.rotary:
        return results(trial) * as_complex(right, x).conj()
    # A table adds sin + i cos = i exp(-i angle), whose conjugate times i is exp(i angle).
    return 1j * results(trial).conj()


def decoded(trial: Trial, times: float) -> Floats:
    """Return the position of each row, (..., seq_len), if it is about so many times the right."""
    place, turned = times * trial.call.positions, turns(trial)
    frequencies = trial.call.right.frequencies
    # An angle is known but for whole turns. The slowest pair makes none, so that it tells the
    # position roughly: well enough to know the whole turns of the next one, which tells it better,
    # and so on to the fastest. Say that pairs turn by 0.1 and 1 radians a position, and that row 20
    # is taken for 23: the slow one is ahead by 0.3, and 0.01 of rounding, which tells 23.1; the
    # fast one is 0.1 behind that, which tells 23.
    for pair in np.argsort(np.abs(frequencies)):
        omega = frequencies[pair]
        rest = np.angle(turned[..., pair] * np.exp(-1j * omega * place))
        # One that hardly turns tells rounding alone.
        if np.abs(omega) > UNIT:
            place = place + rest / omega
    return np.asarray(place)


def places(call: EncodingCall) -> Parts:
    """Return what may be taken for positions, each of the shape of k."""
    position = call.positions
    batch, head, row = call.numbers()
    length = row.max() + 1
    # Without a batch, k has the shape (seq_len,).
    sequences = position if position.ndim > 1 else position[None]
    parts = {
        "1": 1,
        "position": position,
        "row": row,
        "batch": batch,
        "head": head,
        "length": length,
        "length*batch": length * batch,
        "first position": position[..., :1],
        "first sequence's position": sequences[0],
        "position/last": position / max(position.max(initial=0), 1),
        "sum over the batch": sequences.sum(axis=0),
    }
    return {name: part + 0 * call.k for name, part in parts.items()}


def other_positions(trials: list[Trial]) -> Iterator[Fault]:
    """Find what is taken for the position."""

    def taking(weights: Weights) -> Fault:
        def make(call: EncodingCall) -> Floats:
            taken = np.asarray(added(weights, places(call)))
            return call.encode(taken[..., None] * call.right.frequencies)

        said = f"{written(weights)} is taken for the position; {COUNT}"
        return Fault("other positions", said, make)

    # Whole turns are told from a guess: that positions are near the right ones, or near 0.
    for times in (1, 0):
        taken = [decoded(trial, times) for trial in trials]
        yield from map(taking, sums_of(trials, taken, places, CLOSE))


# Frequencies


def radians_a_position(trial: Trial) -> Floats:
    """Return how far each pair turns from a position to the next, (pairs,), in rows in order."""
    # The first of all sequences: (seq_len, pairs), and (seq_len,)
    turned = turns(trial).reshape(-1, *trial.call.angles.shape[-2:])[0]
    positions = trial.call.positions.reshape(-1, len(turned))[0]
    step = positions[1] - positions[0]
    # One row times the conjugate of that before it has the angle between them.
    between = (turned[1:] * turned[:-1].conj()).sum(axis=0)
    angles = np.sign(step) * np.angle(between)
    # More than half a turn seems to go back.
    angles = np.where(angles < -np.pi / 2, angles + 2 * np.pi, angles)
    return np.asarray(angles / abs(step))


def other_frequencies(trials: list[Trial]) -> Iterator[Fault]:
    """Measure the frequencies of each width, in sequences that begin at 0, and aren't short."""
    measured = {}  # (pairs,), by the number of pairs
    for trial in trials:
        rows = trial.call.k[(0,) * (trial.call.k.ndim - 1)]
        if len(rows) > 16 and np.array_equal(rows, np.arange(len(rows))):
            radians = radians_a_position(trial)
            measured[len(radians)] = radians, trial.call.right.frequencies

    def make(call: EncodingCall) -> Floats:
        right = call.right.frequencies
        radians, _ = measured.get(len(right), (right, right))
        return call.of(frequencies=radians)

    for radians, right in measured.values():
        pairs = np.flatnonzero(np.abs(radians - right) > CLOSE * np.abs(right))
        if len(pairs):
            text = f"pairs {pairs[:4]} turn by {radians[pairs[:4]]} radians a position, for "
            text += f"{right[pairs[:4]]}; mind base, exponent, and the rule that scales them; "
            text += "if they are meant, pass base= or frequencies="
            yield Fault("other frequencies", text, make)
            return


# Another multiplier


def other_factor(trials: list[Trial]) -> Iterator[Fault]:
    """Find what rows, or the dimensions that turn, are multiplied by, in each width."""
    factors = {}
    for trial in trials:
        given, meant = results(trial), results(replace(trial, given=trial.meant))
        # The number that brings what is meant nearest to what was given: least squares
        times = np.vdot(meant, given).real / np.vdot(meant, meant).real
        factors[trial.given.shape[-1]] = times * trial.call.right.factor

    def make(call: EncodingCall) -> Floats:
        right = call.right.factor
        return call.of(factor=factors.get(call.x.shape[-1], right))

    for width, factor in factors.items():
        if factor > 0 and abs(factor - trials[0].call.right.factor) >= NEAR:
            text = (
                f"if it is meant, pass attention_factor={factor:.9g}, widths=[{width}]"
            )
            yield Fault("another multiplier", text, make)
            return


# Entries of a pair


def entries(call: EncodingCall) -> Parts:
    """Return what both entries of a pair may be made of, as complex numbers (..., pairs)."""
    angles = call.angles
    pair = call.right.carried * as_complex(call.right, call.x) + 0 * angles
    if call.right.convention.rotary:
        pairs = {
            "(a, b)": pair,
            "(-b, a)": 1j * pair,
            "(a, -b)": pair.conj(),
            "(b, a)": 1j * pair.conj(),
        }
    else:
        pairs = {"(a, b)": pair, "(1, 0)": 1 + 0 * pair, "(0, 1)": 1j + 0 * pair}
    waves = {"": 1, "*cos": np.cos(angles), "*sin": np.sin(angles)}
    return {
        name + wave: pairs[name] * waves[wave] for name, wave in product(pairs, waves)
    }


def other_entries(trials: list[Trial]) -> Iterator[Fault]:
    """Find what the two entries of failing rows are made of, for all pairs alike."""

    def making(weights: Weights) -> Fault:
        def make(call: EncodingCall) -> Floats:
            pair = added(weights, entries(call)) + as_complex(
                call.right, added_to(call)
            )
            return call.right.placed(call.x, pair.real, pair.imag)

        text = "a pair gives 0; fill all rows, heads and dimensions"
        if weights:
            text = f"a pair (a, b) gives {written(weights)}; mind signs, which is the sine, "
            text += "and that the result is the query's, or the key's, and assigned"
        return Fault("other entries", text, make)

    measured = [results(trial) for trial in trials]
    yield from map(making, sums_of(trials, measured, entries, NEAR))


def mixed_layouts(trials: list[Trial]) -> list[Fault]:
    """Return the faults of some calls: if all had them, they would be of another convention."""
    return known("some calls")


FAMILIES = (
    other_factor,
    other_positions,
    other_frequencies,
    other_entries,
    mixed_layouts,
)
