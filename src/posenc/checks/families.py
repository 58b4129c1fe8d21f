"""Families of faults, fitted to what was measured: other positions, frequencies, entries, biases.

What was measured is taken for a sum of a few things that code may take by mistake. Such a fit is a
cause only if it gives all the numbers, as any known fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.conventions import Floats, Reference
from posenc.museum import ANY, FAULTS, ITSELF, SOME, Fault, along

if TYPE_CHECKING:
    from posenc.checks.trials import Trial

Parts = dict[str, Any]  # arrays of one shape, by what they are
CLOSE = 1e-3  # for positions, which are decoded from rounded angles


def affine(target: Floats, parts: Parts, close: float) -> Iterator[dict[str, float]]:
    """Yield the weights of the fewest parts, at most two, that make a target, each (entries,)."""
    known: Parts = {}
    for name, part in parts.items():
        # What can't be told from another part, or from a constant, is left out.
        others = [sign * other for sign in (1, -1) for other in known.values()]
        others = [np.full(part.shape, part[0]), *others] if name != "1" else []
        if all(np.abs(part - other).max() > close for other in others):
            known[name] = part
    fewest = 2
    for names in chain.from_iterable(combinations(known, count) for count in range(3)):
        columns = np.stack([0 * target, *(known[name] for name in names)], axis=1)
        weights = np.linalg.lstsq(columns, target, rcond=None)[0].round(6)
        close_to = np.abs(columns @ weights - target).max() < close
        # Two numbers always fit two rows.
        if close_to and (len(names) < 2 or len(np.unique(columns, axis=0)) > 3):
            if len(names) > fewest:
                return
            fewest = len(names)
            yield dict(zip(names, weights[1:].tolist(), strict=True))


def written(weights: Mapping[str, float]) -> str:
    """Write a sum."""
    text = ""
    # The constant comes last.
    for name in sorted(weights, key="1".__eq__):
        sign, size = (" - ", " + ")[weights[name] > 0], f"{abs(weights[name]):.6g}"
        factor = size if name == "1" else f"{size}*{name}".removeprefix("1*")
        text += sign + factor if weights[name] else ""
    return re.sub("^ (-?)[+]? ?", r"\1", text) or "0"


def fitted(
    trials: list[Trial],
    parts_of: Callable[..., Parts],
    measured: list[Any],
    made: Callable[..., Any],
    close: float = CLOSE,
) -> Iterator[tuple[dict[str, float], Callable[..., Any]]]:
    """Yield weights of the parts of a call that add up to what was measured, and their fault.

    `made(total, *call)` is the result that such a sum gives.
    """

    def column(arrays: list[Any]) -> Floats:
        # Of encodings, rows that are right tell nothing. Complex numbers count as two.
        chosen = zip(trials, arrays, strict=True)
        flat = np.concatenate([array[trial.failing].ravel() for trial, array in chosen])
        # Some are enough: what fits is tried on all.
        return flat[:: 1 + len(flat) // 2000].copy().view(np.float64)

    parts = [parts_of(*trial.call) for trial in trials]
    columns = {name: column([part[name] for part in parts]) for name in parts[0]}
    for weights in affine(column(measured), columns, close):

        def make(*call: Any, weights: Mapping[str, float] = weights) -> Any:
            known = parts_of(*call)
            total = 0 * known[next(iter(known))]
            for name, times in weights.items():
                total = total + known[name] * times
            return made(total, *call)

        yield weights, make


# Positions of an encoding


def ordered(right: Reference, out: Floats) -> Any:
    """Return a pair's entries as a complex number, (..., seq_len, pairs)."""
    entries = np.empty_like(out)
    entries[..., right.order] = out
    one, two = right.pairs
    return entries[..., one] + 1j * entries[..., two]


def turns(trial: Trial) -> Any:
    """Return numbers whose angle is how each pair turned."""
    right, x, _ = trial.call
    one, two = right.pairs
    if right.convention.rotary:
        return ordered(right, trial.given) * (x[..., one] - 1j * x[..., two])
    return 1j * ordered(right, trial.given - right.carried * x).conj()


def decoded(trial: Trial, near: float) -> Floats:
    """Return the position that each row has, if that is about `near` times its own."""
    right, _, k = trial.call
    place = near * right.convention.counted(k)
    turned = turns(trial)
    # The slowest pair tells in which turn the next one is.
    for pair in np.argsort(np.abs(right.frequencies)):
        omega = right.frequencies[pair]
        left = turned[..., pair] * np.exp(-1j * omega * place)
        place = place + np.angle(left) / (omega or np.inf)
    return np.asarray(place)


PLACES = {
    "1": "use the positions, also as the key of a cache; of several axes, mind the order",
    "position": "count once, from the right number, alike in all calls; or make a table longer; if "
    "it is meant, declare Convention(first=..., step=...)",
    "row": f"each call begins at 0: use what is given, or {ITSELF}",
    "batch": "the batch is counted: mind the axes",
    "sequence": "sequences are counted: count each alone",
    "head": "heads are counted: move the sequence behind them",
    "length": "one row is taken for all: write `pe[:, :n]` for `pe[:, n]`",
    "length*sequence": "a batch is numbered through: count each sequence alone",
    "first position": "others are counted from it: use each, or turn row by row, "
    "`torch.cat([rotate(x[..., i : i + 1, :], offset=int(p)) "
    "for i, p in enumerate(positions)], -2)`",
    "first sequence's position": "its positions are all rows': don't index them",
    "position/last": "positions are divided by the last: count rows",
    "sum over the batch": "the batch is added up: keep its axis",
}


def places(right: Reference, k: Floats) -> Parts:
    """Return what may be taken for positions, each of the shape of k."""
    counted = right.convention.counted(k)
    sequence = np.arange(k.size).reshape(k.shape) // k.shape[-1]
    first = counted[:1] if k.ndim > 1 else counted
    each = (
        1,
        counted,
        along(-1, k),
        along(0, k) * (k.ndim > 1),
        sequence,
        along(-2, k),
        k.shape[-1],
        k.shape[-1] * sequence,
        counted[..., :1],
        first,
        counted / max(counted.max(initial=0), 1),
        counted.sum(axis=0) if k.ndim > 1 else counted,
    )
    return {name: part + 0 * k for name, part in zip(PLACES, each, strict=True)}


def again(shift: int, length: int, right: Reference, x: Floats, k: Floats) -> Parts:
    """Return the same, and positions that start again."""
    parts = places(right, k)
    name = f"(position + {shift})" if shift else "position"
    moved = parts["position"] + shift
    for size, words in ((length, length), (k.shape[-1], "length")):
        parts |= {f"{name} % {words}": moved % size} if length else {}
    return parts


def other_positions(trials: list[Trial]) -> Iterator[Fault]:
    """Find what is taken for the position, or where it starts again."""

    def made(place: Floats, right: Reference, x: Floats, k: Floats) -> Floats:
        return right.encode(x, place[..., None] * right.frequencies)

    right, _, k = trials[-1].call
    own = right.convention.counted(k).ravel()
    for near in (1, 0):
        rows = [decoded(trial, near) for trial in trials]
        shift = round(float((rows[-1].ravel() - own)[0]))
        over = own + shift - rows[-1].ravel()
        length = round(float(max(over[over > 0.5][:1], default=0)))
        parts = partial(again, shift, length)
        for weights, make in fitted(trials, parts, rows, made):
            used = [name for name, times in weights.items() if times and name != "1"]
            cures = [PLACES.get(name, PLACES["position"]) for name in used or ["1"]]
            text = f"{written(weights)} is taken for the position; {'; '.join(cures)}"
            yield Fault("other positions", "", text, ANY, make)


# Frequencies


def from_row_to_row(trial: Trial) -> Floats:
    """Return radians from each row to the next, (pairs,)."""
    turned = turns(trial)
    turned = turned.reshape(-1, *turned.shape[-2:])[0]
    omega = np.zeros(turned.shape[1])
    # Rows that are farther apart tell it with more digits, once the turn is known.
    for lag in 2 ** np.arange(int(np.log2(len(turned)))):
        change = turned[lag:] * turned[:-lag].conj() * np.exp(-1j * lag * omega)
        omega += np.angle(change.sum(axis=0)) / lag
    # More than half a turn seems to go back.
    return np.where(omega < -np.pi / 2, omega + 2 * np.pi, omega)


def powers(frequencies: list[Floats], base: float) -> str:
    """Write frequencies of some widths as powers of a base, or ""."""
    columns: Any = []
    for omega in frequencies:
        i, pairs = np.arange(len(omega)), 0 * omega + len(omega)
        exponent = -np.log(np.maximum(omega, 1e-30)) / np.log(base)
        columns.append([exponent, i / pairs, i / np.maximum(pairs - 1, 1), 1 / pairs])
    target, *parts = np.concatenate(columns, axis=1)
    named = dict(zip(("i/(d/2)", "i/(d/2 - 1)", "1/(d/2)"), parts, strict=True))
    for weights in affine(target, named | {"1": 0 * target + 1}, CLOSE):
        (name, times), *rest = weights.items()
        # Another base is better known than a power of the one that is meant.
        if not any(times for _, times in rest) and round(2 * times, 3) % 1:
            return f"they are {base**times:.5g}^-({name}); "
        return f"they are {base:.6g}^-({written(weights)}); "
    return ""


def spread(trials: list[Trial]) -> dict[int, Floats]:
    """Return the frequencies of whole sequences, by the number of pairs."""
    found = {}
    for trial in trials:
        right, _, k = trial.call
        rows = k.reshape(-1, k.shape[-1])[0]
        if np.array_equal(rows, np.arange(len(rows))) and len(rows) > 16:
            found[len(right.frequencies)] = from_row_to_row(trial)
    return found


def moved(found: dict[int, Floats], right: Reference) -> Reference:
    """Return the same encoding at other frequencies."""
    omega = found.get(len(right.frequencies), right.frequencies)
    return replace(right, frequencies=omega)


def slowed(omega: Floats, right: Floats) -> str:
    """Say how a rule slows the slowest pair, beside powers that the first two begin."""
    plain = (
        right[0] * (right[1] / right[0]) ** (len(right) - 1) if len(right) > 2 else 0
    )
    if len(omega) != len(right) or plain < right[-1] * (1 + CLOSE):
        return ""
    times, meant = plain / omega[-1], plain / right[-1]
    return f"the slowest is slowed {times:.4g} times, for {meant:.4g}; "


def other_frequencies(trials: list[Trial]) -> Iterator[Fault]:
    """Measure those of each pair, if there are whole sequences."""
    found, right = spread(trials), trials[-1].call[0]
    meant = {len(trial.call[0].frequencies): trial.call[0] for trial in trials}
    ratios = [
        omega / np.where(meant[pairs].frequencies, meant[pairs].frequencies, np.nan)
        for pairs, omega in found.items()
    ]
    # A multiple of all is one of the position.
    if ratios and not np.ptp(np.concatenate(ratios)) < CLOSE:
        wrong = np.flatnonzero(~(np.abs(ratios[0] - 1) < CLOSE))
        slow, fast = np.nanmin(ratios[0][wrong]), np.nanmax(ratios[0][wrong])
        text = powers([*found.values()], right.convention.base)
        text += f"pairs {wrong[0]} to {wrong[-1]} turn {slow:.4g} to {fast:.4g} times as fast; "
        text += slowed(next(iter(found.values())), right.frequencies)
        text += "mind base and exponent, and the rule that scales them"
        make = lambda right, x, k: moved(found, right)(x, k)  # noqa: E731
        yield Fault("other frequencies", "", text, ANY, make)


# Entries of a pair


def entries(right: Reference, x: Floats, k: Floats) -> Parts:
    """Return what the entries of a pair may be made of, as complex numbers."""
    angles, (one, two) = right.angles(k), right.pairs
    pair = right.carried * (x[..., one] + 1j * x[..., two]) + 0 * angles
    pairs: Parts = {"(a, b)": pair, "(1, 0)": 1 + 0 * pair, "(0, 1)": 1j + 0 * pair}
    if right.convention.rotary:
        a, b = pair.real, pair.imag
        pairs = {
            "(a, b)": pair,
            "(-b, a)": 1j * pair,
            "(a, -b)": a - 1j * b,
            "(b, a)": b + 1j * a,
        }
    waves = {"": 1, "*cos": np.cos(angles), "*sin": np.sin(angles)}
    return {
        name + wave: pairs[name] * waves[wave] for name, wave in product(pairs, waves)
    }


def other_entries(trials: list[Trial]) -> Iterator[Fault]:
    """Find what the two entries of failing rows are made of, for all pairs alike."""

    def made(pair: Any, right: Reference, x: Floats, k: Floats) -> Floats:
        pair = pair + 0j * right.angles(k)
        return right.placed(x, pair.real, pair.imag)

    pairs = [ordered(trial.call[0], trial.given) for trial in trials]
    for weights, make in fitted(trials, entries, pairs, made, 1e-5):
        text = (
            f"a pair (a, b) gives {written(weights)}; mind signs, which is the sine, "
        )
        text += "and that the result is the query's, or the key's, and assigned"
        text = (
            text if weights else "a pair gives 0; fill all rows, heads and dimensions"
        )
        yield Fault("other entries", "", text, ANY, make)


def other_order(trials: list[Trial]) -> Iterator[Fault]:
    """Find which right entry each one is, or its opposite."""
    found = {}

    def still(right: Reference, x: Floats) -> Any:
        return 0 if right.convention.rotary else right.carried * x

    for trial in trials:
        right, x, _ = trial.call
        parts = (trial.given - still(right, x), trial.meant - still(right, x))
        some = slice(None, None, 1 + trial.failing.sum() // 16)
        given, meant = (part[trial.failing][some] for part in parts)
        both = np.concatenate([meant, -meant], axis=1)
        # (rows, width, 2 * width) → (width, 2 * width)
        off = np.abs(given[:, :, None] - both[:, None]).max(axis=0)
        found[x.shape[-1]] = off.argmin(axis=1)

    def make(right: Reference, x: Floats, k: Floats) -> Any:
        rest = right(x, k) - still(right, x)
        both = np.concatenate([rest, -rest], axis=-1)
        return still(right, x) + both[..., found.get(x.shape[-1], 0)]

    width, order = next(iter(found.items()))
    names = [f"{'-' if n >= width else ''}{n % width}" for n in order[:12]]
    text = f"those of dimensions {', '.join(names)} come first; mind pairs and signs"
    yield Fault("other order", "", text, ANY, make)


def of_encoding(trials: list[Trial]) -> Iterator[Fault]:
    """Fit the calls of an encoding that fail."""
    wrong = [trial for trial in trials if trial.failing.any()]
    for fit in (other_positions, other_frequencies, other_entries, other_order):
        yield from fit(wrong) if wrong else ()
    yield from (fault for fault in FAULTS if fault.kinds == SOME)


def of_both(trials: list[Trial]) -> Iterator[Fault]:
    """Fit frequencies first, and then positions, or entries."""
    wrong = [trial for trial in trials if trial.failing.any()]
    found = spread(wrong)
    if not found:
        return
    there = [
        replace(trial, call=(moved(found, trial.call[0]), *trial.call[1:]))
        for trial in wrong
    ]
    words = powers([*found.values()], trials[0].call[0].convention.base)
    for fit in (other_positions, other_entries):
        for fault in fit(there):

            def make(
                right: Reference, x: Floats, k: Floats, make: Any = fault.make
            ) -> Any:
                return make(moved(found, right), x, k)

            sentence = f"{words}{fault.sentence}"
            name = f"other frequencies, and {fault.name}"
            yield replace(fault, name=name, sentence=sentence, make=make)


# Biases and position ids


def biases(slopes: Floats, k: Floats, past: Floats) -> Parts:
    """Return what a bias may be made of, (heads, entries)."""
    return {
        "slope*distance": slopes * abs(k),
        "slope*offset": slopes * k,
        "slope": slopes + 0 * k,
    }


def of_bias(trials: list[Trial]) -> Iterator[Fault]:
    """Find what a bias is made of, and the slope of each head."""
    (trial,) = trials
    if trial.worst <= 1:
        return
    given, (slopes, k, _) = trial.given, trial.call
    for weights, make in fitted(trials, biases, [given], lambda bias, *_: bias, 1e-5):
        text = f"it is {written(weights)}, for -slope*distance; mind sign and scale"
        yield Fault("other bias", "", text, ("bias",), make)
        return
    own = -given[:, np.argmax(k == -1)]
    h = 1.0 + np.arange(len(own))
    lines = affine(np.log2(np.maximum(own, 1e-30)), {"1": h**0, "h": h}, CLOSE)
    like = np.abs(own - slopes).argmin(axis=0)
    rank = (
        f"those of heads {like + 1}" if np.allclose(own, slopes[like, 0]) else f"{own}"
    )
    text = next((f"2^({written(line)})" for line in lines), rank)
    text += ", of heads h from 1 on; take 2^(-8h/n), every other one of 2n beyond a power of two"
    made = lambda slopes, k, past: -own[:, None] * abs(k)  # noqa: E731
    yield Fault(
        "other slopes", "", f"they are {text}, and each rank's own", ("bias",), made
    )


def ids(right: Floats, seen: Floats) -> Parts:
    """Return what ids may be made of; those of padding are 0."""
    parts: Parts = {
        "id": right,
        "number": along(-1, right),
        "first text's": right[:1],
        "1": 1,
    }
    if len(right) == len(AXES):
        parts |= dict(zip(AXES, right * np.eye(3)[..., None], strict=True))
    return {name: (part + 0.0 * right) * seen for name, part in parts.items()}


AXES = ("frame", "row", "column")  # of images


def of_ids(trials: list[Trial]) -> Iterator[Fault]:
    """Find what ids are made of."""
    kinds = ("left padding", "packing", "images")
    measured = [trial.given for trial in trials]
    for weights, make in fitted(trials, ids, measured, lambda ids, *_: ids):
        text = f"they are {written(weights)}; count each text alone, without its padding, and each "
        text += "axis, from the right number; if it is meant, pass a function as right="
        yield Fault("other ids", "", text, kinds, make)


# Decoders


def read_at(
    weights: Mapping[str, float], some: str, decoder: Any, text: Any, lengths: Any
) -> Any:
    """Return wrong positions of tokens, a sum, in some calls after the first, if there is one."""
    k = np.arange(text.tokens.shape[1])
    sizes = np.array([*lengths, k.size - sum(lengths)])
    begin, size = (np.repeat(n, sizes) for n in (sizes.cumsum() - sizes, sizes))
    own = text.arguments.get("positions", k) + 0 * text.tokens
    parts = dict(zip(PARTS, (own, k, begin, 1, sizes[0]), strict=True))
    total: Any = sum(parts[name] * times for name, times in weights.items())
    later = (begin > 0) | (len(sizes) == 1)
    later &= {"": size > 0, "several ": size > 1, "single ": size == 1}[some]
    return np.where(later, total, own)


PARTS = ("own position", "number", "call's first", "1", "first call's length")


def of_decoder(trials: list[Trial]) -> Iterator[Fault]:
    """Try sums of what may be taken for the positions in calls after the first, or in all."""
    own = [read_at({"own position": 1}, "", *trial.call) for trial in trials]
    known = {np.concatenate(own).tobytes()}
    for some, count in product(("", "several ", "single "), range(3)):
        signed = product(combinations(PARTS, count), product((1, -1), repeat=count))
        for names, signs in signed:
            weights = dict(zip(names, signs, strict=True))
            ids = [read_at(weights, some, *trial.call) for trial in trials]
            alike = np.concatenate(ids).tobytes()
            if alike in known or min(map(np.min, ids)) < 0:
                continue
            known.add(alike)

            def make(
                decoder: Any,
                text: Any,
                lengths: Any,
                w: Any = weights,
                some: str = some,
            ) -> Any:
                positions = read_at(w, some, decoder, text, lengths)
                return decoder.read_again(text, positions=positions)

            text = f"after the first call, {some}tokens are at {written(weights)}; add the "
            text += "length of the cache, once, and count each text's own"
            yield Fault("other positions", "B", text, ("decoder",), make)
