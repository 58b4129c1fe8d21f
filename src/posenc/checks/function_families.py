"""Families of faults of biases, position ids and decoders: what each is made of.

`of_bias`, `of_ids` and `of_decoder` take trials, whose calls are each a `BiasCall`, an `IdsCall` or
a `DecoderCall`. They yield faults that may give the same: sums of few parts, such as
"slope*distance". Those that don't are not named, as in `posenc.checks.families`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posenc.checks.sums import (
    CLOSE,
    CLOSER,
    Parts,
    Weights,
    fewest_parts,
    fitted,
    written,
)
from posenc.checks.trials import Trial
from posenc.conventions import Floats
from posenc.museum import Fault

if TYPE_CHECKING:
    from posenc.checks.decoders import Decoder, Text

# Biases


class BiasCall(NamedTuple):
    """A call that gives a bias, (heads, entries)."""

    slopes: Floats  # the right ones, (heads, 1)
    k: Floats  # how far each key is from its query, (entries,)
    past: Floats  # the measured bias of the last query by distance, (heads, seq_len)


def biases(call: BiasCall) -> Parts:
    """Return what a bias may be made of, (heads, entries)."""
    return {
        "slope*distance": call.slopes * abs(call.k),
        "slope*offset": call.slopes * call.k,
        "slope": call.slopes + 0 * call.k,
    }


def of_bias(trials: list[Trial]) -> Iterator[Fault]:
    """Find what a bias is made of, or else the slope of each head; of one trial, the whole bias."""
    (trial,) = trials
    if trial.worst <= 1:
        return
    for weights, make in fitted(trials, biases, [trial.given], close=CLOSER):
        text = f"it is {written(weights)}, for -slope*distance; "
        if "slope*offset" in weights:
            text += "take `abs`; or if a mask hides later keys, pass causal=True"
            yield Fault("signed distance", text, make, "H")
        else:
            text += "mind sign and scale"
            yield Fault("other bias", text, make)
        # Of sums that are equal, one says enough.
        return
    yield other_slopes(trial)


def other_slopes(trial: Trial) -> Fault:
    """Measure slopes, and write them as powers, as those of other heads, or as they are."""
    right, k, _ = trial.call
    # A key one before its query gets minus the slope: (heads,)
    slopes = -trial.given[:, np.argmax(k == -1)]
    h = 1.0 + np.arange(len(slopes))
    logarithms = np.log2(np.maximum(slopes, 1e-30))
    lines = fewest_parts(logarithms, {"1": 0 * h + 1, "h": h}, CLOSE)
    # right: (heads, 1), so that each column has a head's distances from all
    nearest = np.abs(slopes - right).argmin(axis=0)
    text = str(slopes)
    if lines:
        text = f"2^({written(lines[0])})"
    elif np.allclose(slopes, right[nearest, 0]):
        text = f"those of heads {nearest + 1}"
    text = f"they are {text}, of heads h from 1 on; take 2^(-8h/n), every other one of 2n beyond "
    text += "a power of two, and each rank's own"

    def make(call: BiasCall) -> Floats:
        return np.asarray(-slopes[:, None] * abs(call.k))

    return Fault("other slopes", text, make)


# Position ids

AXES = ("frame", "row", "column")  # of images


class IdsCall(NamedTuple):
    """A call that builds position ids, (texts, seq_len), or of images (axes, patches)."""

    right: Floats  # those of padding are 0
    seen: Floats  # 0 for padding, and 1 for others


def ids(call: IdsCall) -> Parts:
    """Return what ids may be made of, in their shape."""
    right = call.right
    parts: Parts = {
        "id": right,
        "number": np.arange(right.shape[1]),
        "first text's": right[:1],
        "1": 1,
    }
    return {name: (part + 0.0 * right) * call.seen for name, part in parts.items()}


def all_alike(trial: Trial) -> Iterator[Fault]:
    """Find what all ids are made of."""
    for weights, make in fitted([trial], ids, [trial.given]):
        text = f"they are {written(weights)}; count each text alone, without its padding, and each "
        text += "axis, from the right number; if it is meant, pass a function as right="
        yield Fault("other ids", text, make)


def of_images(trial: Trial) -> Iterator[Fault]:
    """Find what ids of patches are made of, each axis for itself."""
    right, _ = trial.call
    number = np.arange(right.shape[1])
    frames, _, columns = (len(np.unique(axis)) for axis in right)
    parts: Parts = dict(zip(AXES, right, strict=True)) | {
        "1": 1 + 0 * number,
        "number": number,
        "number // columns": number // columns,
        "number // (frames*columns)": number // (frames * columns),
    }
    made, texts = [], []
    for axis, given in zip(AXES, trial.given, strict=True):
        fits = fewest_parts(given, parts, CLOSE)
        if not fits:
            return
        texts.append(f"{axis} is {written(fits[0])}")
        made.append(
            sum((fits[0][name] * parts[name] for name in fits[0]), 0.0 * number)
        )
    text = f"{', '.join(texts)}; count each from the right number; if it is meant, pass a function "
    yield Fault("other ids", f"{text}as right=", lambda call: np.stack(made))


def of_ids(trials: list[Trial]) -> Iterator[Fault]:
    """Find what ids are made of: all of them alike, or else each axis of images."""
    (trial,) = trials
    faults = [*all_alike(trial)]
    yield from faults
    if len(trial.given) == len(AXES) and not faults:
        yield from of_images(trial)


# Decoders. Their positions can't be decoded from scores, so that sums are tried one by one.


class DecoderCall(NamedTuple):
    """A text that is read in chunks: the code is called with one after the other."""

    decoder: Decoder
    text: Text
    lengths: Sequence[int]  # of all chunks but the last

    def chunks(self) -> tuple[Any, Any]:
        """Return where each token's chunk begins, and its length: (seq_len,)."""
        seq_len = self.text.tokens.shape[1]
        sizes = np.array([*self.lengths, seq_len - sum(self.lengths)])
        return np.repeat(sizes.cumsum() - sizes, sizes), np.repeat(sizes, sizes)


def places(call: DecoderCall) -> Parts:
    """Return what may be taken for positions; it broadcasts to (texts, seq_len)."""
    begin, size = call.chunks()
    number = np.arange(len(size))
    return {
        "own position": call.text.arguments.get("positions", number),
        "number": number,
        "call's first": begin,
        "1": 1,
        "first call's length": size[0],
    }


# Which calls go wrong, as a text says it, by where they begin and by their length
IN_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "after the first call, ": lambda begin, size: begin > 0,
    "several ": lambda begin, size: size > 1,
    "single ": lambda begin, size: (begin > 0) & (size == 1),
}


def tokens_at(weights: Weights, in_calls: str, call: DecoderCall) -> Any:
    """Return positions, (texts, seq_len): a sum of parts in calls of `IN_CALLS`."""
    begin, size = call.chunks()
    parts = places(call)
    total: Any = sum(weight * parts[name] for name, weight in weights.items())
    right = parts["own position"] + 0 * call.text.tokens
    return np.where(IN_CALLS[in_calls](begin, size), total, right)


def misplaced(weights: Weights, in_calls: str) -> Fault:
    """Return the fault that reads a text whole, with such positions."""
    text = f"{in_calls}tokens are at {written(weights)}; add the length of the cache, "
    text += "once, and count each text's own"

    def make(call: DecoderCall) -> Any:
        positions = tokens_at(weights, in_calls, call)
        return call.decoder.read_again(call.text, positions=positions)

    return Fault("other positions", text, make, "B")


def of_decoder(trials: list[Trial]) -> Iterator[Fault]:
    """Try sums of at most two things, the fewest first, whose weights are 1 or -1.

    What was read whole isn't compared with itself at other positions: of scores that depend on
    offsets alone, many would give the same.
    """
    if not any(trial.call.lengths for trial in trials):
        return

    def positions_of(weights: Weights, in_calls: str) -> Any:
        positions = [tokens_at(weights, in_calls, trial.call) for trial in trials]
        return np.concatenate(positions)

    names_of_parts = places(trials[0].call)
    # What gives the same positions as a simpler sum isn't tried again.
    tried = {positions_of({"own position": 1}, "several ").tobytes()}
    for in_calls, count in product(IN_CALLS, range(3)):
        chosen = combinations(names_of_parts, count)
        signed = product(chosen, product((1, -1), repeat=count))
        for names, signs in signed:
            weights: Weights = dict(zip(names, signs, strict=True))
            numbers = positions_of(weights, in_calls)
            if numbers.tobytes() not in tried and numbers.min() >= 0:
                tried.add(numbers.tobytes())
                yield misplaced(weights, in_calls)
