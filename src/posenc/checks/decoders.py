"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import combinations, pairwise, product, repeat
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.laws import Law
from posenc.checks.subjects import POSITIONS, Subject, argument, floats
from posenc.checks.sums import Weights, added, written
from posenc.checks.trials import (
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    tolerance,
    user,
)
from posenc.conventions import UNIT, Floats

NAMES = {
    "positions": POSITIONS,
    "mask": ("mask", "attention_mask", "padding_mask"),
    "segments": ("segments", "segment_ids", "document_ids", "doc_ids"),
}
# Texts that make no sense without an argument
NEEDS = {"left-padded": "mask", "packed": "segments", "moved": "positions"}
CHUNKS = (5, 1, 3)  # lengths of the chunks; a last one takes the rest
TEXTS = 5  # a fault may begin at four; `left_padded` has five numbers
BOUND = (
    "half the digits of the scores' spread: sums in another order cost a few u of it"
)

MISSING = {
    "mask": "padding seen: it is attended to; pass the mask on",
    "segments": "packed texts seen: they attend to each other; mask them",
}
IGNORED = "positions ignored: they make no difference; pass them on"
CACHED = (
    "add how many tokens came before, once, and count each text's own "
    "(exhibit B: notebooks/16_batches_and_caches.html#exhibit-b)"
)


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)
    shown: Any  # which scores are compared: (texts, seq_len)
    lengths: Sequence[int] = ()  # of the chunks that it is read in, but the last


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"
    usage = "`full(tokens)`, or `step(tokens, cache)`"

    def __init__(
        self,
        full: Any,
        step: Any = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
    ) -> None:
        super().__init__(full)
        if step is not None and not callable(step):
            raise TypeError(f"step must be callable, got {step!r}")
        self.step, self.relative = step, relative
        size = (TEXTS, check_int("length", length, minimum=12))
        most = check_int("vocabulary", vocabulary, minimum=3) - 1
        self.tokens: Any = np.random.default_rng(SEED).integers(1, most + 1, size)
        # The first two always differ.
        self.tokens[:, 1] = 1 + self.tokens[:, 0] % most
        self.find_library(lambda: user(full, self.array(self.tokens, "int64")))

    def described(self) -> tuple[None, str]:
        """Say if faults that give wrong positions can't be tried."""
        takes = argument(self.subject, POSITIONS)
        hint = "most causes can't be tried: `full` has no argument for positions"
        return None, "" if takes else hint

    def read(self, tokens: Any, lengths: Sequence[int] = (), **given: Any) -> Floats:
        """Read texts whole, or in chunks of these lengths and a last one, with a cache.

        The code gets those arguments that it has, but none that are None. Of each, also of a mask,
        a step gets the columns of its chunk.
        """
        call: Any = self.step if lengths else self.subject
        given = {name: part for name, part in given.items() if part is not None}
        arguments = {argument(call, NAMES[name]): part for name, part in given.items()}
        arguments.pop("", None)
        cache = [None] if lengths else []  # what a step takes, too
        scores = []
        stops = np.cumsum([0, *lengths, tokens.shape[1] - sum(lengths)])
        # Chunks of (batch, seq_len); a text that is read whole is one chunk.
        for begin, stop in pairwise(stops):
            chunk, *parts = (
                self.array(part[:, begin:stop], part.dtype.name)
                for part in (tokens, *arguments.values())
            )
            named = dict(zip(arguments, parts, strict=True))
            made = user(call, chunk, *cache, **named)
            if lengths:
                if not isinstance(made, tuple) or len(made) != 2:
                    raise Broken("a step returns its scores, and the new cache")
                made, *cache = made
            numbers = floats(made, finite="mask" not in given)
            if numbers.ndim != 3 or numbers.shape[:2] != chunk.shape:
                raise Broken(f"shape {numbers.shape} for tokens of {chunk.shape}")
            scores.append(numbers)
        return np.concatenate(scores, axis=1)

    def compare(self, name: str, lengths: Sequence[int] = ()) -> Trial:
        """Read texts, and compare their scores; skip if the code lacks what is needed."""
        call = self.step if lengths else self.subject
        if call is None:
            raise Skip("no step: pass step=")
        if name in NEEDS and not argument(call, NAMES[NEEDS[name]]):
            raise Skip(f"no argument for {NEEDS[name]}")
        text = self.texts[name]
        made = self.read(text.tokens, lengths, **text.arguments)
        given, meant = (masked(text, scores) for scores in (made, text.scores))
        bound = UNIT**0.5 * float(np.ptp(text.scores, axis=2).max())
        axes = ("text", "token", "score")
        return Trial(name, given, meant, bound, axes, text._replace(lengths=lengths))

    def explain(self, trials: list[Trial]) -> str:
        """Return which arguments, if they are missing or wrong, give the same scores."""
        is_missing = partial(self.all_give, trials, given=repeat(None))
        causes = [text for name, text in MISSING.items() if is_missing(name)]
        # Zeros make no difference, either.
        zeros = [0 * trial.call.tokens for trial in trials]
        if is_missing("positions") and self.all_give(trials, "positions", zeros):
            causes.append(IGNORED)
        return "; or ".join(causes or self.other_positions(trials))

    def other_positions(self, trials: list[Trial]) -> list[str]:
        """Return which wrong positions give the same scores, as texts.

        If the right ones do, they aren't at fault. Of texts that are read whole, nothing is known:
        where scores depend on offsets alone, many positions would give the same.
        """
        right = [trial.call.arguments.get("positions") for trial in trials]
        has_chunks = any(trial.call.lengths for trial in trials)
        if not has_chunks or self.all_give(trials, "positions", right):
            return []
        candidates = [misplaced(trial.call) for trial in trials]
        tried = set()  # since other sums may give the same positions
        causes = []
        for text in candidates[0]:
            positions = [of_trial[text] for of_trial in candidates]
            numbers = np.concatenate(positions, axis=None).tobytes()
            if numbers not in tried and self.all_give(trials, "positions", positions):
                causes.append(f"other positions: {text}; {CACHED}")
            tried.add(numbers)
        return causes

    def all_give(self, trials: list[Trial], name: str, given: Iterable[Any]) -> bool:
        """Whether all texts, each with another argument, score the same as was measured."""
        near = tolerance(trials)
        pairs = zip(trials, given, strict=False)
        return all(self.gives(trial, name, other, near) for trial, other in pairs)

    def gives(self, trial: Trial, name: str, given: Any, near: float) -> bool:
        """Whether a text, read whole with another argument, or None for none, scores the same."""
        text = trial.call
        if name not in text.arguments or not argument(self.subject, NAMES[name]):
            return False
        scores: Any = np.nan
        with suppress(Broken, Raised):
            scores = self.read(text.tokens, **text.arguments | {name: given})
        off = np.abs(masked(text, scores) - trial.given)
        return bool((off <= near + trial.bounds).all())

    @cached_property
    def alone(self) -> Floats:
        """Scores of each text when it is read alone: (texts, seq_len, vocabulary)."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    def arranged(self, text: Any, word: Any, **arguments: Any) -> Text:
        """Put words, and their scores, into other places.

        `text` and `word` are the numbers of a text, and of its word, that is at each place:
        (texts, seq_len). A negative one is padding.
        """
        shown = word >= 0
        arguments["positions"] = np.maximum(word, 0)
        if not shown.all():
            arguments["mask"] = shown
        tokens = self.tokens[text, word] * shown
        return Text(tokens, self.alone[text, word], arguments, shown)

    @cached_property
    def texts(self) -> dict[str, Text]:
        """Texts whose scores are known, as each text is read alone, by what they are."""
        # The numbers of the text and of its word at each place, (texts, seq_len)
        row, k = np.indices(self.tokens.shape)
        last, middle = k.max(), k.shape[1] // 2
        # a b c d → a b c e, and b a c d
        other = np.where(k < last, self.tokens, 1 + self.tokens % self.tokens.max())
        swapped = self.tokens[:, [1, 0, *range(2, last + 1)]]
        # a b c d → 0 0 0 a: row by row, a text begins later, and its end is lost.
        begin = np.array([0, 3, middle, 1, 4])[:, None]
        # a b c d, e f g h → a b e f, and e f a b, each from 0: 1 in a row's second text
        second = (k >= middle - 1).astype(np.int64)
        both, word = np.where(second, row[::-1], row), k - (middle - 1) * second
        return {
            "texts": self.arranged(row, k),
            "first text": self.arranged(row[:1], k[:1]),
            "another last token": Text(other, self.alone, {}, k < last),
            "swapped": Text(swapped, self.alone, {}, k > 1),
            "left-padded": self.arranged(row, k - begin),
            "packed": self.arranged(both, word, segments=second),
            "moved": Text(self.tokens, self.alone, {"positions": k + 100}, k >= 0),
        }


def masked(text: Text, scores: Floats) -> Floats:
    """Return the scores that are shown; padding may score anything, even NaN."""
    return np.where(text.shown[..., None], scores, 0.0)


def misplaced(text: Text) -> dict[str, Any]:
    """Return wrong positions, (texts, seq_len), by what they are, the simplest first.

    They can't be decoded from scores. So these are all sums of at most two parts, with weights 1 or
    -1, in some of a text's calls.
    """
    right = text.arguments["positions"]
    number = np.arange(right.shape[1])
    sizes = np.array([*text.lengths, len(number) - sum(text.lengths)])
    begin, size = (np.repeat(part, sizes) for part in (sizes.cumsum() - sizes, sizes))
    parts = {
        "own position": right,
        "number": number,
        "call's first": begin,
        "1": 1,
        "first call's length": sizes[0],
    }
    in_calls = {
        "after the first call, ": begin > 0,
        "several ": size > 1,
        "single ": (begin > 0) & (size == 1),
    }
    positions_by_text = {}
    for where, count in product(in_calls, range(3)):
        chosen = combinations(parts, count)
        for names, signs in product(chosen, product((1, -1), repeat=count)):
            weights: Weights = dict(zip(names, signs, strict=True))
            positions = np.where(in_calls[where], added(weights, parts), right)
            positions_by_text[f"{where}tokens are at {written(weights)}"] = positions
    # A cache that drops rows may count those it keeps, or its places.
    for kept in range(1, len(number)):
        for where, first in (
            (f"{kept} at most", np.minimum(begin, kept)),
            (f"tokens before % {kept}", begin % kept),
        ):
            positions_by_text[f"each call begins at {where}"] = right - begin + first
    return positions_by_text


DECODER = ("decoder",)


@Law("shape", DECODER, "there are scores after each token, and all are finite")
def shape(decoder: Decoder) -> None:
    """Read all texts."""
    decoder.read(decoder.tokens)


def reading(
    name: str, asks: str, *texts: str, chunks_of: Any = None, cure: str = ""
) -> None:
    """Define a law that reads texts, whole, or in chunks: `chunks_of(seq_len)` has the lengths."""

    def test(decoder: Decoder) -> Trials:
        lengths = chunks_of(decoder.tokens.shape[1]) if chunks_of else ()
        for text in texts:
            yield decoder.compare(text, lengths)

    Law(name, DECODER, asks, BOUND, cure)(test)


# A root: what is drawn in each call, such as dropout, isn't a fault of batches.
reading(
    "repeat",
    "a second call gives the same scores",
    "first text",
    cure="it depends on earlier calls, or on chance: call `eval()`, or reset its state",
)
reading("batch", "each text in a batch gets the same scores as alone", "texts")


@Law("order", DECODER, "swapping two tokens changes the scores after them", BOUND)
def order(decoder: Decoder) -> None:
    """Swap the first two tokens, which differ."""
    trial = decoder.compare("swapped")
    if trial.worst <= 1:
        raise Broken("no score changes", "positions never reach them")


reading("causal", "a later token changes no earlier score", "another last token")
reading(
    "steps",
    "one token at a time gives the same scores as the whole text",
    "first text",
    "texts",
    chunks_of=lambda n: [1] * (n - 1),
)
reading(
    "chunks",
    "a text read in chunks with a cache gives the same as whole",
    "texts",
    chunks_of=lambda n: CHUNKS,
)
reading(
    "padded",
    "in a left-padded batch, each text gives the same as alone",
    "left-padded",
)
reading(
    "ragged",
    "left-padded texts continue from a cache as they do alone",
    "left-padded",
    chunks_of=lambda n: [n - 4, 1, 1, 1],
)
reading(
    "packed",
    "texts packed into one row give the same scores as alone",
    "packed",
)


@Law(
    "moved",
    DECODER,
    "a text shifted by 100 positions gives the same scores; if positions are absolute, "
    "or a norm with weights follows the rotation, pass relative=False",
    BOUND,
)
def moved(decoder: Decoder) -> Trials:
    """Read at later positions."""
    if not decoder.relative:
        raise Skip("positions are absolute")
    yield decoder.compare("moved")
    if argument(decoder.step, POSITIONS):
        yield decoder.compare("moved", CHUNKS)
