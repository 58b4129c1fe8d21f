"""Families of faults of encodings: another multiplier, other positions, frequencies, or entries.

A known fault of the museum is run as it is. Of a family, only the kind is known. Which one it is,
is measured in the trials that fail, or all are tried. For example, if pairs of the whole sequence
turn by 1, 0.1 and 0.01 radians a position, a `Fault` is made that encodes at these frequencies.
`causes` runs that on all calls, and names it if it gives what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from posenc.checks.trials import NEAR, Trial
from posenc.conventions import EncodingCall, Floats, Reference
from posenc.museum import Fault, Make, known


def as_complex(right: Reference, array: Floats) -> Any:
    """Return both entries of each pair as a number: (..., width) → (..., pairs)."""
    first, second = right.pairs
    return array[..., first] + 1j * array[..., second]


def added_to(call: EncodingCall) -> Floats:
    """Return what rows are added to, (..., width), which is 0 for a rotation."""
    carried = 0.0 if call.right.convention.rotary else call.right.carried
    return np.asarray(carried * call.x)


def turning(call: EncodingCall) -> Any:
    """Return what turns, (..., pairs): pairs of x; of a table, (0, 1), which turns backwards."""
    if call.right.convention.rotary:
        return as_complex(call.right, call.x)
    # sin + i cos = i exp(-i angle)
    return 1j + 0 * call.angles


def results(trial: Trial) -> Any:
    """Return what was measured, less what rows are added to: a number for each pair."""
    call: EncodingCall = trial.call
    in_order = trial.given[..., call.right.order.argsort()]
    return as_complex(call.right, in_order - added_to(call))


# Positions

COUNT = (
    "count once, from the right number, along the right axis, each sequence alone, alike in all "
    "calls and caches; if it is meant, declare Convention(first=..., step=...)"
)


def places(call: EncodingCall) -> dict[str, Any]:
    """Return what code may take for positions by mistake."""
    position, row, batch, head, length = call.numbers()
    first = position[..., :1]
    # Without a batch, k has the shape (seq_len,).
    sequences = position if position.ndim > 1 else position[None]
    return {
        "0": 0,
        "position + 1": position + 1,
        "position - 1": position - 1,
        "2*position": 2 * position,
        "4*position": 4 * position,
        "position/2": position / 2,
        "position/4": position / 4,
        "position/last": position / max(length - 1, 1),
        "length": length,
        "head": head,
        "position + head": position + head,
        "position + batch": position + batch,
        "position + length*batch": position + length * batch,
        "first position": first,
        "row + first position": row + first,
        "first sequence's position": sequences[0],
        "sum over the batch": sequences.sum(axis=0),
    }


def other_positions(trials: list[Trial]) -> Iterator[Fault]:
    """Try what code may take for the position."""

    def taking(name: str) -> Make:
        return lambda call: call.at(places(call)[name] + 0 * call.k)

    for name in places(trials[0].call):
        text = f"{name} is taken for the position; {COUNT}"
        yield Fault("other positions", text, taking(name))


# Frequencies


def turns(trial: Trial) -> Any:
    """Return numbers whose angle is how each pair turned, (..., seq_len, pairs)."""
    turned = results(trial) * turning(trial.call).conj()
    return turned if trial.call.right.convention.rotary else turned.conj()


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
        pairs = np.flatnonzero(np.abs(radians - right) > 1e-6 * np.abs(right))
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


PAIRS: dict[str, Callable[[Any], Any]] = {  # of a + ib, which are (a, b)
    "(a, b)": lambda pair: pair,
    "(-b, a)": lambda pair: 1j * pair,
    "(a, -b)": lambda pair: pair.conj(),
    "(b, a)": lambda pair: 1j * pair.conj(),
}


def other_entries(trials: list[Trial]) -> Iterator[Fault]:
    """Try other signs, and other dimensions, where (a, b)*cos + (-b, a)*sin is right."""

    def made_of(cosine: str, sine: str, signs: list[int]) -> Make:
        def make(call: EncodingCall) -> Floats:
            pair, angles = as_complex(call.right, call.x), call.angles
            turned = signs[0] * PAIRS[cosine](pair) * np.cos(angles)
            turned += signs[1] * PAIRS[sine](pair) * np.sin(angles)
            turned *= call.right.factor
            return call.right.placed(call.x, turned.real, turned.imag)

        return make

    if not trials[0].call.right.convention.rotary:
        return
    for cosine, sine, *signs in product(PAIRS, PAIRS, (1, -1), (1, -1)):
        before, between = ("-" if sign < 0 else "+" for sign in signs)
        said = f"{before}{cosine}*cos {between} {sine}*sin".removeprefix("+")
        text = f"a pair (a, b) gives {said}; mind signs, which is the sine, and that the result is "
        text += "the query's, or the key's, and assigned"
        yield Fault("other entries", text, made_of(cosine, sine, signs))


def in_some_calls(trials: list[Trial]) -> list[Fault]:
    """Return the known faults that some calls may have, beside others that are right."""
    return known("some calls")


FAMILIES = (
    other_factor,
    other_positions,
    other_frequencies,
    other_entries,
    in_some_calls,
)
