"""Families of faults of encodings: another multiplier, other positions, frequencies, or entries.

A known fault of the museum is run as it is. Of a family, only the kind is known. Which one it is,
is measured in the trials that fail, or all are tried. For example, if pairs of the whole sequence
turn by 1, 0.1 and 0.01 radians a position, a `Fault` is made that encodes at these frequencies.
`causes` runs that on all calls, and names it if it gives what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from posenc.checks.trials import Trial
from posenc.conventions import EncodingCall, Floats
from posenc.museum import Fault, Make, known, numbers_of

# What was measured


def turned(trial: Trial, rows: Floats) -> Any:
    """Return numbers whose angle is how far each pair turned in these rows, (..., pairs).

    A rotation makes (a + ib) exp(iθ) of a pair (a, b): times a - ib, that is (a² + b²) exp(iθ).
    A table's pair is (sin θ, cos θ), taken as cos θ + i sin θ = exp(iθ). So a multiplier of the
    result multiplies both.
    """
    call: EncodingCall = trial.call
    first, second = call.pairs
    in_order = rows[..., call.order.argsort()]
    if call.convention.rotary:
        before = call.x[..., first] - 1j * call.x[..., second]
        return before * (in_order[..., first] + 1j * in_order[..., second])
    added = in_order - call.carried * call.x
    return added[..., second] + 1j * added[..., first]


def at_each_width(field: str, values: dict[int, Any]) -> Make:
    """Return what has another value in a field of the call, at some widths."""

    def make(call: EncodingCall) -> Floats:
        width = call.x.shape[-1]
        return call.of(**{field: values[width]} if width in values else {})

    return make


# Another multiplier


def other_factor(trials: list[Trial]) -> Iterator[Fault]:
    """Find what rows, or the dimensions that turn, are multiplied by, in each width."""
    factors = {}
    for trial in trials:
        given, meant = (
            np.linalg.norm(turned(trial, rows)) for rows in (trial.given, trial.meant)
        )
        factors[trial.given.shape[-1]] = given / meant * trial.call.factor
    width, factor = next(iter(factors.items()))
    text = f"if it is meant, pass attention_factor={factor:.8g}, widths=[{width}]"
    yield Fault("another multiplier", text, at_each_width("factor", factors))


# Positions

MOST_LATE = 5000  # rows, as usual tables have
COUNT = (
    "count once, from the right number, along the right axis, each sequence alone, alike in all "
    "calls and caches; if it is meant, declare Convention(first=..., step=...)"
)


def places(call: EncodingCall) -> dict[str, Any]:
    """Return what code may take for positions by mistake."""
    position, row, batch, head, length = numbers_of(call)
    first = position[..., :1]
    # Without a batch, k has the shape (seq_len,).
    sequences = position if position.ndim > 1 else position[None]
    return {
        "0": 0,
        "2*position": 2 * position,
        "4*position": 4 * position,
        "position/last": position / max(length - 1, 1),
        "length": length,
        "head": head,
        "position + length*batch": position + length * batch,
        "row + first position": row + first,
        "first sequence's position": sequences[0],
        "sum over the batch": sequences.sum(axis=0),
    }


def other_positions(trials: list[Trial]) -> Iterator[Fault]:
    """Try what code may take for the position."""

    def taking(name: str) -> Make:
        return lambda call: call.of(k=places(call)[name] + 0 * call.k)

    for name in places(trials[0].call):
        text = f"{name} is taken for the position; {COUNT}"
        yield Fault("other positions", text, taking(name))


def lateness(trial: Trial) -> int:
    """Return by how many positions all rows are late, whichever number fits best."""
    call: EncodingCall = trial.call
    too_far = turned(trial, trial.given) * np.exp(-1j * call.angles)
    numbers = too_far.reshape(-1, len(call.frequencies)).sum(axis=0)
    # If rows are c late, each pair turns by ωc too far. Of a wide one, some pairs tell.
    some = slice(None, None, 1 + len(numbers) // 64)
    shifts = np.arange(-MOST_LATE, MOST_LATE + 1)
    fits = np.exp(-1j * np.outer(shifts, call.frequencies[some])) @ numbers[some]
    return int(shifts[fits.real.argmax()])


def other_begin(trials: list[Trial]) -> Iterator[Fault]:
    """Measure where calls begin whose rows are all late alike, by the number of rows.

    A number for each call would tell less: of single rows at 2*position, one for each position.
    """
    late = {}
    said = []
    for trial in trials:
        count, right = trial.given.shape[-2], trial.call.positions.flat[0]
        late[count] = lateness(trial)
        said.append(f"{count} rows begin at {right + late[count]:.6g}, for {right:.6g}")

    def make(call: EncodingCall) -> Floats:
        more = late.get(call.x.shape[-2], 0)
        return call.encode(call.angles + more * call.frequencies)

    yield Fault("other positions", f"{'; '.join(said[:2])}; {COUNT}", make)


# Frequencies


def radians_a_position(trial: Trial) -> Floats:
    """Return how far each pair turns from a position to the next, (pairs,), in rows in order."""
    numbers = turned(trial, trial.given)
    # One row times the conjugate of that before it has the angle between them.
    between = numbers[..., 1:, :] * numbers[..., :-1, :].conj()
    angles = np.angle(between.reshape(-1, numbers.shape[-1]).sum(axis=0))
    before, after = trial.call.positions.flat[:2]
    step = after - before
    # From -π/2 to 3π/2: more than half a turn seems to go back.
    forward = (np.sign(step) * angles + np.pi / 2) % (2 * np.pi) - np.pi / 2
    return np.asarray(forward / abs(step))


def rule_of(frequencies: Floats, right: Floats) -> str:
    """Say by which rule frequencies of pairs come from each other, or from the right ones."""
    rules = {
        "each is the right one times": frequencies / right,
        "each is the one before it times": frequencies[1:] / frequencies[:-1],
        "each is the one before it and": np.diff(frequencies),
    }
    for words, numbers in rules.items():
        if len(numbers) > 1 and np.ptp(numbers) < 1e-3 * abs(numbers[0]):
            return f"; {words} {numbers[0]:.8g}"
    return ""


def other_frequencies(trials: list[Trial]) -> Iterator[Fault]:
    """Measure the frequencies of each width, in sequences of rows in order that aren't short."""
    long = [
        trial
        for trial in trials
        if trial.call.k.shape[-1] > 16 and (np.diff(trial.call.k) == 1).all()
    ]
    measured = {trial.given.shape[-1]: radians_a_position(trial) for trial in long}
    if not long:
        return
    right, radians = long[0].call.frequencies, measured[long[0].given.shape[-1]]
    pairs = np.flatnonzero(np.abs(radians - right) > 1e-6 * np.abs(right))[:4]
    text = (
        f"pairs {pairs} turn by {radians[pairs]} radians a position, for {right[pairs]}"
        f"{rule_of(radians, right)}; mind base, exponent, and the rule that scales them; "
        "if they are meant, pass base= or frequencies="
    )
    yield Fault("other frequencies", text, at_each_width("frequencies", measured))


# Entries of a pair


def other_entries(trials: list[Trial]) -> Iterator[Fault]:
    """Try other signs, and other dimensions, where a*cos - b*sin, b*cos + a*sin is right."""

    def made_of(*names: str) -> Make:
        def make(call: EncodingCall) -> Floats:
            a, b = (call.factor * call.x[..., pair] for pair in call.pairs)
            signed = {"a": a, "-a": -a, "b": b, "-b": -b}
            one, two, three, four = (signed[name] for name in names)
            cosine, sine = np.cos(call.angles), np.sin(call.angles)
            return call.placed(one * cosine + two * sine, three * cosine + four * sine)

        return make

    if not trials[0].call.convention.rotary:
        return
    for one, two, three, four in product(("a", "-a", "b", "-b"), repeat=4):
        text = f"a pair (a, b) gives {one}*cos + {two}*sin, {three}*cos + {four}*sin; mind signs, "
        text += "which is the sine, and that the result is the query's, or the key's, and assigned"
        yield Fault("other entries", text, made_of(one, two, three, four))


def in_some_calls(trials: list[Trial]) -> list[Fault]:
    """Return the known faults that some calls may have, beside others that are right."""
    return known("some calls")


# The first that has a fault which gives all calls is told.
FAMILIES: tuple[Callable[[list[Trial]], Iterable[Fault]], ...] = (
    # One number tells all entries.
    other_factor,
    # A sentence tells all rows, or one number those of a call; 2*position also doubles frequencies.
    other_positions,
    other_begin,
    # A number for each pair of dimensions
    other_frequencies,
    # 256 guesses, of rotations alone
    other_entries,
    # Those that in all calls would be another convention
    in_some_calls,
)
