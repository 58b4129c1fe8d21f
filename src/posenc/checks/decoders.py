"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posenc._validate import check_int
from posenc.checks.subjects import POSITIONS, Library, Subject, argument, floats
from posenc.checks.trials import SEED, Broken, Raised, Skip, Trial, law, user
from posenc.conventions import Floats

NAMES = {
    "positions": POSITIONS,
    "mask": ("mask", "attention_mask", "padding_mask"),
    "segments": ("segments", "segment_ids", "document_ids", "doc_ids"),
}
CHUNKS = (5, 1, 3, 4)  # lengths of the chunks; a last one takes the rest
TEXTS = 5  # a fault may begin at four
BOUND = (
    "√u·s, half the digits: sums in another order cost a few u of the scores' spread s"
)
RELATIVE = "if positions are absolute, or a norm with weights follows the rotation, relative=False"


class Text(NamedTuple):
    """Texts, one a row, and what a decoder should make of them."""

    words: str  # what a report calls them
    tokens: Any  # (texts, seq_len)
    scores: Floats  # those that it should give: (texts, seq_len, vocabulary)
    arguments: dict[str, Any]  # positions, mask and segments: (texts, seq_len)


class Decoder(Subject):
    """Functions `full` and `step` of the same decoder."""

    kind = "decoder"

    def __init__(
        self,
        full: Any,
        step: Any = None,
        vocabulary: int = 8,
        length: int = 24,
        relative: bool = True,
        library: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(full, **options)
        if step is not None and not callable(step):
            raise TypeError(f"step must be callable, got {step!r}")
        self.step, self.relative = step, relative
        self.length = check_int("length", length, minimum=12)
        most = check_int("vocabulary", vocabulary, minimum=3) - 1
        # Token 0 is padding.
        drawn = np.random.default_rng(SEED).integers(1, most + 1, (TEXTS, length))
        drawn[:, 1] = 1 + drawn[:, 0] % most  # the first two always differ
        self.tokens: Any = drawn
        self.positions: Any = np.broadcast_to(np.arange(length), drawn.shape)
        self.library = Library.of(
            library, lambda tried: full(tried.array(drawn, "int64"))
        )

    def read(
        self, tokens: Any, lengths: Any = None, needed: str = "", **given: Any
    ) -> Floats:
        """Read texts whole, or in chunks of these lengths and a last one, with a cache.

        The code gets those arguments that it has; the law is skipped if it lacks the needed one.
        """
        call = self.subject if lengths is None else self.step
        if call is None:
            raise Skip("no step: pass step=")
        if needed and not argument(call, NAMES[needed]):
            raise Skip(f"no argument for {needed}")
        cache, scores = None, []
        # Chunks of (batch, seq_len); a text that is read whole is one chunk.
        for part in np.split(np.arange(tokens.shape[1]), np.cumsum(lengths or [])):
            if not len(part):
                continue
            chunk = self.library.array(tokens[:, part], "int64")
            named = self.named(call, given, part)
            if lengths is None:
                made = user(call, chunk, **named)
            else:
                made, cache = pair_of(user(call, chunk, cache, **named))
            numbers = floats(made, finite="mask" not in given)
            scores.append(of_tokens(numbers, tokens[:, part].shape))
        out = np.concatenate(scores, axis=1)
        return np.where(given["mask"][..., None], out, 0) if "mask" in given else out

    def named(self, call: Any, given: dict[str, Any], part: Any) -> dict[str, Any]:
        """Return those arguments that a function has, by its names, cut like the tokens."""
        named = {}
        for name, array in given.items():
            known = argument(call, NAMES[name])
            if known:
                named[known] = self.library.array(array[:, part], array.dtype.name)
        return named

    @cached_property
    def whole(self) -> Floats:
        """Scores of the texts, each read alone, in one call."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @cached_property
    def texts(self) -> dict[str, Text]:
        """Texts whose scores are known from the whole ones, by a short key."""
        whole, padded, scores = self.whole, 0 * self.tokens, 0 * self.whole
        # Row by row, a text is moved to the right, and its end is lost.
        for row, cut in enumerate((0, 3, self.length // 2, 1, 4)):
            padded[row, cut:] = self.tokens[row, : self.length - cut]
            scores[row, cut:] = whole[row, : self.length - cut]
        mask = padded > 0
        cut = self.length // 2 - 1
        both = [
            np.hstack([each[:, :cut], each[::-1, : self.length - cut]])
            for each in (self.tokens, whole)
        ]
        # 0 for the first text, 1 for the second
        late = (self.positions >= cut).astype(np.int64)
        last = self.tokens.copy()
        last[:, -1] = 1 + last[:, -1] % (last.max() - 1)
        counted = {"positions": np.maximum(mask.cumsum(axis=1) - 1, 0), "mask": mask}
        before = {"positions": self.positions}
        restarted = {"positions": self.positions - cut * late, "segments": late}
        later = {"positions": self.positions + 100}
        return {
            "plain": Text("as it is", self.tokens, whole, before),
            "causal": Text("with another last token", last, whole, {}),
            "padded": Text("left-padded", padded, scores, counted),
            "packed": Text("packed", both[0], both[1], restarted),
            "moved": Text(
                f"100 positions later; {RELATIVE}", self.tokens, whole, later
            ),
        }

    def compare(
        self, key: str, lengths: Any = None, needed: str = "", part: Any = ...
    ) -> Trial:
        """Read a text, and compare a part of its scores."""
        text = self.texts[key]
        scores = self.read(text.tokens, lengths, needed, **text.arguments)
        return self.trial(text.words, scores[:, part], text.scores[:, part])

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare scores, to half of the digits, relative to their spread."""
        bounds = self.unit**0.5 * np.ptp(self.whole, axis=2).max() + 0 * meant
        return Trial(words, given, meant, bounds, ("text", "token", "score"))

    def explain(self, trials: Sequence[Trial]) -> str:
        """Read the same texts whole, at positions, masks or segments that known faults have."""
        by_words = {text.words: text for text in self.texts.values()}
        plain = Text("", self.tokens, self.whole, {})
        said = {}
        for fault, changes in self.faults():
            for trial in trials:
                text = by_words.get(trial.words, plain)
                if trial.worst() > 1 and self.gives(changes, text, trial):
                    said[fault] = True
        return "; or ".join(said)

    def gives(self, changes: dict[str, Any], text: Text, trial: Trial) -> bool:
        """Whether a text read whole, with changed arguments, gives what was measured."""
        # None takes an argument away, so that the text must have it.
        removed = {name for name, array in changes.items() if array is None}
        if trial.given.shape != text.scores.shape or not removed <= {*text.arguments}:
            return False
        given = {
            name: array
            for name, array in (text.arguments | changes).items()
            if name not in removed
        }
        needed = next(iter(changes)) if given else ""
        try:
            wrong = self.read(text.tokens, None, needed, **given)
        except (Broken, Raised, Skip):
            return False
        errors = np.abs(wrong - trial.given)[text.scores != 0]
        return bool(errors.max() <= trial.bounds.max())

    def faults(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield known faults, and the arguments by which a whole text gives the same."""
        k, sizes = self.positions, (*CHUNKS, self.length - sum(CHUNKS))
        # For each token: where its chunk begins, and how long that is.
        begin, size = np.repeat(np.cumsum((0, *CHUNKS)), sizes), np.repeat(sizes, sizes)
        places = {
            "each step begins at position 0: the cache's length is ignored": 0 * k,
            "each chunk begins at position 0: the cache's length is ignored": k - begin,
            "chunks of several tokens begin at position 0": k - begin * (size > 1),
            "after the first token, positions are one too large": k + (k > 0),
            "after the first token, positions are one too small": k - (k > 0),
            "padding or an earlier text is counted in the positions": k,
        }
        for n in (8, 12, 16):
            places[f"positions begin again at {n}"] = k % n
            places[f"positions are clamped at {n - 1}"] = np.minimum(k, n - 1)
        for text, where in places.items():
            yield text, {"positions": where}
        yield "padding is attended to", {"mask": None}
        yield "padding is attended to, and counted", {"mask": None, "positions": k}
        yield "packed texts attend to each other", {"segments": None}
        yield "packed texts are read as one", {"segments": None, "positions": k}


def pair_of(made: Any) -> Any:
    """Return what a step returned, if that is two things."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise Broken("a step returns two things: its scores, and the new cache")
    return made


def of_tokens(scores: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the scores, if there are some after each token."""
    if scores.ndim != 3 or scores.shape[:2] != shape:
        raise Broken(f"shape {scores.shape} for tokens of shape {shape}")
    return scores


@law("shape", "decoder", "there are scores after each token, and all are finite")
def shape(decoder: Decoder) -> Iterator[Trial]:
    """Read all texts."""
    made = decoder.read(decoder.tokens)
    yield Trial(f"{decoder.library.name}, {made.shape[2]} scores", made, made, 0 * made)


@law("batch", "decoder", "each text in a batch gets the same scores as alone", BOUND)
def batch(decoder: Decoder) -> Iterator[Trial]:
    """Read all texts at once."""
    yield decoder.trial("in a batch", decoder.read(decoder.tokens), decoder.whole)


@law("order", "decoder", "swapping two tokens changes the scores after them", BOUND)
def order(decoder: Decoder) -> Iterator[Trial]:
    """Swap the first two tokens."""
    # The first two tokens differ in each text.
    swapped = decoder.tokens[:, [1, 0, *range(2, decoder.length)]]
    trial = decoder.trial("swapped", decoder.read(swapped)[:, 2:], decoder.whole[:, 2:])
    if trial.worst() <= 1:
        raise Broken(
            "no score changes when two tokens are swapped", "positions never reach them"
        )
    yield decoder.trial("", decoder.whole, decoder.whole)


@law("causal", "decoder", "a later token changes no earlier score", BOUND)
def causal(decoder: Decoder) -> Iterator[Trial]:
    """Change the last token."""
    yield decoder.compare("causal", part=slice(-1))


@law(
    "steps",
    "decoder",
    "one token at a time gives the same scores as the whole text",
    BOUND,
)
def steps(decoder: Decoder) -> Iterator[Trial]:
    """Read each text alone, then all at once."""
    loop = [1] * decoder.length
    rows = [
        decoder.read(row[None], loop, positions=decoder.positions[:1])
        for row in decoder.tokens
    ]
    yield decoder.trial("in a loop", np.concatenate(rows), decoder.whole)
    yield decoder.compare("plain", loop)


@law(
    "chunks",
    "decoder",
    "a text read in chunks with a cache gives the same as whole",
    BOUND,
)
def chunks(decoder: Decoder) -> Iterator[Trial]:
    """Read in chunks."""
    yield decoder.compare("plain", CHUNKS)


@law(
    "padded",
    "decoder",
    "in a left-padded batch, each text gives the same as alone",
    BOUND,
)
def padded(decoder: Decoder) -> Iterator[Trial]:
    """Read left-padded texts."""
    yield decoder.compare("padded", needed="mask")


@law(
    "ragged",
    "decoder",
    "left-padded texts continue from a cache as they do alone",
    BOUND,
)
def ragged(decoder: Decoder) -> Iterator[Trial]:
    """Read the last tokens of left-padded texts one by one."""
    late = decoder.length - 4
    yield decoder.compare("padded", [late, 1, 1, 1], "mask", slice(late, None))


@law(
    "packed",
    "decoder",
    "texts packed into one row give the same scores as alone",
    BOUND,
)
def packed(decoder: Decoder) -> Iterator[Trial]:
    """Read two texts in a row."""
    yield decoder.compare("packed", needed="segments")


@law("moved", "decoder", "a text shifted by 100 positions gives the same scores", BOUND)
def moved(decoder: Decoder) -> Iterator[Trial]:
    """Read at later positions."""
    if not decoder.relative:
        raise Skip("positions are absolute")
    yield decoder.compare("moved", needed="positions")
    if decoder.step and argument(decoder.step, POSITIONS):
        yield decoder.compare("moved", CHUNKS)


@law("repeat", "decoder", "a second call gives the same scores", BOUND)
def repeat(decoder: Decoder) -> Iterator[Trial]:
    """Read again, and with a new cache."""
    whole, again = decoder.whole, [decoder.read(row[None]) for row in decoder.tokens]
    yield decoder.trial("again", np.concatenate(again), whole)
    if decoder.step:
        one, _, two = (
            decoder.read(decoder.tokens[[row]], [decoder.length]) for row in (0, 1, 0)
        )
        yield decoder.trial("a new cache", two, one)
