"""Families of faults of encodings: other positions, frequencies, entries.

A known fault of the museum is run as it is. Of a family, only the kind is known, such as "something
else is taken for the position". Which one it is, a fit tells:

1. What code must have taken is read from what was measured, such as the position of each row.
2. That is written as a sum of few things which code may take by mistake (`posenc.checks.sums`).
3. The sum becomes a `Fault`, whose `make` gives what such code would give.

Each function here that yields faults takes trials that fail, whose calls are each an
`EncodingCall`. `causes` runs these faults on all calls, as it runs the known ones, and names those
that give what was measured. So a fit may try much, and be rough: if wrong, it isn't named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from posenc.checks.recognition import multiplier
from posenc.checks.sums import CLOSE, Parts, Weights, added, fewest_parts, written
from posenc.checks.trials import NEAR, Trial
from posenc.conventions import UNIT, EncodingCall, Floats, Reference
from posenc.museum import ITSELF, Fault, Make, known

ENOUGH = 2000  # entries for a fit, which is then tried on all


def one_column(trials: list[Trial], arrays: list[Any]) -> Floats:
    """Return real numbers of the failing rows of all trials, from an array for each: (entries,)."""
    pieces = [
        array[trial.failing].ravel()
        for trial, array in zip(trials, arrays, strict=True)
    ]
    column = np.concatenate(pieces)
    # A complex number becomes two, and a whole one real.
    return (1.0 * column[:: 1 + len(column) // ENOUGH]).view(np.float64)


def fitted(
    trials: list[Trial],
    parts_of: Callable[[Any], Parts],
    measured: list[Any],
    result: Callable[[Any, Any], Any] = lambda total, call: total,
    close: float = CLOSE,
) -> Iterator[tuple[Weights, Make]]:
    """Yield the sums of parts that were measured, each with the `make` of its fault.

    Parameters
    ----------
    parts_of : callable
        Takes a call, and returns its parts.
    measured : list of ndarray
        For each trial, what the parts should add up to, in the same shape.
    result : callable
        Takes a sum of parts and the call, and returns what code gives that takes it.
    """

    def taking(weights: Weights) -> Make:
        def make(call: Any) -> Any:
            return result(added(weights, parts_of(call)), call)

        return make

    listed = [parts_of(trial.call) for trial in trials]
    columns = {
        name: one_column(trials, [parts[name] for parts in listed])
        for name in listed[0]
    }
    for weights in fewest_parts(one_column(trials, measured), columns, close):
        yield weights, taking(weights)


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
    right, x, *_ = trial.call
    if right.convention.rotary:
        return results(trial) * as_complex(right, x).conj()
    # A table adds sin + i cos = i exp(-i angle), whose conjugate times i is exp(i angle).
    return 1j * results(trial).conj()


def decoded(trial: Trial, times: float) -> Floats:
    """Return the position of each row, (..., seq_len), if it is about so many times the right."""
    right, _, k, _ = trial.call
    place = times * right.convention.counted(k)
    turned = turns(trial)
    # An angle is known but for whole turns. The slowest pair makes none, so that it tells the
    # position roughly: well enough to know the whole turns of the next one, which tells it better,
    # and so on to the fastest. Say that pairs turn by 0.1 and 1 radians a position, and that row 20
    # is taken for 23: the slow one is ahead by 0.3, and 0.01 of rounding, which tells 23.1; the
    # fast one is 0.1 behind that, which tells 23.
    for pair in np.argsort(np.abs(right.frequencies)):
        omega = right.frequencies[pair]
        rest = np.angle(turned[..., pair] * np.exp(-1j * omega * place))
        # One that hardly turns tells rounding alone.
        if np.abs(omega) > UNIT:
            place = place + rest / omega
    return np.asarray(place)


CURES = {  # what may be taken for positions, and how that is mended; remainders as "position"
    "1": "use the positions, also as the key of a cache; of several axes, mind the order",
    "position": "count once, from the right number, alike in all calls; or make a table longer; if "
    "it is meant, declare Convention(first=..., step=...)",
    "row": f"each call begins at 0: use what is given, or {ITSELF}",
    "batch": "the batch is counted: mind the axes",
    "sequence": "sequences are counted: count each alone",
    "head": "heads are counted: move the sequence behind them",
    "length": "one row is taken for all: write `pe[:, :n]` for `pe[:, n]`",
    "length*batch": "a batch is numbered through: count each sequence alone",
    "length*sequence": "sequences are numbered through: count each alone",
    "first position": "others are counted from it: use each, or turn row by row, "
    "`torch.cat([rotate(x[..., i : i + 1, :], offset=int(p)) "
    "for i, p in enumerate(positions)], -2)`",
    "first sequence's position": "its positions are all rows': don't index them",
    "position/last": "positions are divided by the last: count rows",
    "sum over the batch": "the batch is added up: keep its axis",
}


def places(call: EncodingCall, ahead: int, period: int) -> Parts:
    """Return what may be taken for positions, each of the shape of k.

    Among them are positions, so far ahead, that begin again after a period, if there is one.
    """
    k = call.k
    position = call.right.convention.counted(k)
    batch, head, row = call.numbers()
    length = row.max() + 1
    # Without a batch, k has the shape (seq_len,).
    sequences = position if k.ndim > 1 else position[None]
    sequence = np.arange(k.size).reshape(k.shape) // k.shape[-1]
    parts = {
        "1": 1,
        "position": position,
        "row": row,
        "batch": batch,
        "sequence": sequence,
        "head": head,
        "length": length,
        "length*batch": length * batch,
        "length*sequence": length * sequence,
        "first position": position[..., :1],
        "first sequence's position": sequences[0],
        "position/last": position / max(position.max(initial=0), 1),
        "sum over the batch": sequences.sum(axis=0),
    }
    if period:
        name = f"(position + {ahead})" if ahead else "position"
        moved = position + ahead
        parts |= {
            f"{name} % {period}": moved % period,
            f"{name} % length": moved % length,
        }
    return {name: part + 0 * k for name, part in parts.items()}


def restart(meant: Floats, taken: Floats) -> tuple[int, int]:
    """Return how far positions of rows are ahead, and after how many they begin again, or 0."""
    # If rows 0 to 9 are taken for (position + 1) % 4:
    #   taken   1 2 3 0 1 2 3 0 1 2  ahead by 1, at row 0
    #   behind  0 0 0 4 4 4 4 8 8 8  a period of 4
    ahead = round(float((taken - meant)[np.abs(meant).argmin()]))
    # Each time that they begin again, they fall behind by one period more.
    behind = meant + ahead - taken
    return ahead, round(float(min(behind[behind > 0.5], default=0)))


def encoded_at(place: Any, call: EncodingCall) -> Floats:
    """Return what code gives that takes these numbers, (..., seq_len), for the positions."""
    return call.encode(np.asarray(place)[..., None] * call.right.frequencies)


def other_positions(trials: list[Trial]) -> Iterator[Fault]:
    """Find what is taken for the position."""
    meant = [trial.call.right.convention.counted(trial.call.k) for trial in trials]
    # Whole turns are told from a guess: that positions are near the right ones, or near 0.
    for times in (1, 0):
        taken = [decoded(trial, times) for trial in trials]
        ahead, period = restart(
            *(np.concatenate([*map(np.ravel, rows)]) for rows in (meant, taken))
        )
        parts_of = partial(places, ahead=ahead, period=period)
        for weights, make in fitted(trials, parts_of, taken, encoded_at):
            names = [name for name in weights if name != "1"] or ["1"]
            cures = [CURES["position" if "%" in name else name] for name in names]
            said = written(weights)
            if said == "position":  # to six digits
                said = f"{weights['position']:.7g}*position"
            text = f"{said} is taken for the position; {'; '.join(cures)}"
            yield Fault("other positions", text, make)


# Frequencies. Those that are measured are a dict: (pairs,), by the number of pairs.

Measured = dict[int, Floats]


def radians_a_position(trial: Trial) -> Floats:
    """Return how far each pair turns from a position to the next, (pairs,), in rows in order."""
    right, _, k, _ = trial.call
    angles = np.angle(turns(trial))
    # The first of all sequences: (seq_len, pairs), and (seq_len,)
    angles = np.unwrap(angles.reshape(-1, *angles.shape[-2:])[0], axis=0)
    positions = right.convention.counted(k).reshape(-1, k.shape[-1])[0]
    step = positions[1] - positions[0]
    slopes, _ = np.sign(step) * np.polyfit(np.arange(len(angles)), angles, deg=1)
    # More than half a turn seems to go back.
    slopes = np.where(slopes < -np.pi / 2, slopes + 2 * np.pi, slopes)
    return np.asarray(slopes / abs(step))


def powers(measured: Measured, base: float) -> str:
    """Write frequencies of all widths as powers of a base, or return ""."""
    # Of each pair, its number, how many there are, and its exponent
    i = np.concatenate([np.arange(pairs) for pairs in measured])
    pairs = np.repeat([*measured], [*measured])
    omega = np.concatenate([*measured.values()])
    exponents = -np.log(np.maximum(omega, 1e-30)) / np.log(base)
    parts = {
        "i/(d/2)": i / pairs,
        "i/(d/2 - 1)": i / np.maximum(pairs - 1, 1),
        "1/(d/2)": 1 / pairs,
    }
    fits = fewest_parts(exponents, parts, CLOSE)
    if not fits:
        return ""
    weights = fits[0]
    if len(weights) == 1:
        ((name, times),) = weights.items()
        # Another base is better known than a power of the one that is meant.
        if round(2 * times, 3) % 1:
            return f"they are {base**times:.5g}^-({name}); "
    return f"they are {base:.6g}^-({written(weights)}); "


def other_frequencies(trials: list[Trial]) -> Iterator[Fault]:
    """Find frequencies that aren't all the same multiple of the right ones: that is positions'."""
    measured: Measured = {}
    ratios: Measured = {}
    for trial in trials:
        right, _, k, _ = trial.call
        rows, omega = k.reshape(-1, k.shape[-1])[0], right.frequencies
        # Sequences that begin at 0, and aren't short
        if len(rows) > 16 and np.array_equal(rows, np.arange(len(rows))):
            measured[len(omega)] = radians = radians_a_position(trial)
            # What should be 0 has no ratio.
            ratio = np.divide(radians, omega, out=omega**0, where=omega != 0)
            ratios[len(omega)] = ratio
    if not ratios or np.ptp(np.concatenate([*ratios.values()])) < CLOSE:
        return

    def make(call: EncodingCall) -> Floats:
        right = call.right.frequencies
        return call.of(frequencies=measured.get(len(right), right))

    for count, ratio in ratios.items():
        # If two are apart, one is off by half as much, or more.
        pairs = np.flatnonzero(np.abs(ratio - 1) >= CLOSE / 2)
        if len(pairs):
            text = powers(measured, trials[-1].call.right.convention.base)
            text += f"of {count} pairs, {pairs[0]} to {pairs[-1]} turn "
            text += (
                f"{ratio[pairs].min():.4g} to {ratio[pairs].max():.4g} times as fast; "
            )
            text += "mind base and exponent, and the rule that scales them"
            yield Fault("other frequencies", text, make)
            return


# Another multiplier


def other_factor(trials: list[Trial]) -> Iterator[Fault]:
    """Find what rows, or the dimensions that turn, are multiplied by, in each width."""
    factors = {}
    for trial in trials:
        meant = results(replace(trial, given=trial.meant))
        factors[trial.given.shape[-1]] = multiplier(results(trial), meant)

    def make(call: EncodingCall) -> Floats:
        return call.of(factor=call.right.factor * factors[call.x.shape[-1]])

    for width, times in factors.items():
        if times > 0 and abs(times - 1) >= NEAR:
            factor = times * trials[0].call.right.factor
            text = f"if that is meant, pass attention_factor={factor:.9g}, widths=[{width}]"
            yield Fault(f"everything is multiplied by {times:.7g}", text, make)
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

    def result(pair: Any, call: EncodingCall) -> Any:
        pair = pair + as_complex(call.right, added_to(call))
        return call.right.placed(call.x, pair.real, pair.imag)

    measured = [results(trial) for trial in trials]
    for weights, make in fitted(trials, entries, measured, result, NEAR):
        text = "a pair gives 0; fill all rows, heads and dimensions"
        if weights:
            text = f"a pair (a, b) gives {written(weights)}; mind signs, which is the sine, "
            text += "and that the result is the query's, or the key's, and assigned"
        yield Fault("other entries", text, make)


def of_encoding(trials: list[Trial]) -> Iterator[Fault]:
    """Fit the calls that fail, one thing at a time."""
    failing = [trial for trial in trials if trial.failing.any()]
    for fit in (other_positions, other_frequencies, other_entries):
        yield from fit(failing)
    # If all calls had these, they would be of another convention.
    yield from known("some calls")
