"""Decoders: steps, chunks, padding and packing, compared with each text read whole and alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

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
            named = {
                argument(call, NAMES[name]): each[:, part]
                for name, each in given.items()
            }
            named = {
                name: self.library.array(x, x.dtype.name)
                for name, x in named.items()
                if name
            }
            # Each argument is cut like the tokens.
            texts = self.library.array(tokens[:, part], "int64")
            made = user(call, texts, *([] if lengths is None else [cache]), **named)
            if lengths is not None:
                if not isinstance(made, (tuple, list)) or len(made) != 2:
                    raise Broken(
                        "a step returns two things: its scores, and the new cache"
                    )
                made, cache = made
            scores.append(floats(made, finite="mask" not in given))
            if scores[-1].ndim != 3 or scores[-1].shape[:2] != (len(tokens), len(part)):
                raise Broken(
                    f"shape {scores[-1].shape} for tokens of shape {tokens[:, part].shape}"
                )
        out = np.concatenate(scores, axis=1)
        return np.where(given["mask"][..., None], out, 0) if "mask" in given else out

    @cached_property
    def whole(self) -> Floats:
        """Scores of the texts, each read alone, in one call."""
        return np.concatenate([self.read(row[None]) for row in self.tokens])

    @cached_property
    def texts(self) -> dict[str, tuple[Any, Floats, dict[str, Any]]]:
        """Tokens, the scores that they should have, and arguments of the code."""
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
        return {
            "as it is": (self.tokens, whole, {"positions": self.positions}),
            "with another last token": (last, whole, {}),
            "left-padded": (padded, scores, counted),
            "packed": (
                both[0],
                both[1],
                {"positions": self.positions - cut * late, "segments": late},
            ),
            f"100 positions later; {RELATIVE}": (
                self.tokens,
                whole,
                {"positions": self.positions + 100},
            ),
        }

    def compare(
        self, name: str, lengths: Any = None, needed: str = "", part: Any = ...
    ) -> Trial:
        """Read a text, and compare a part of its scores."""
        tokens, meant, given = self.texts[name]
        return self.trial(
            name, self.read(tokens, lengths, needed, **given)[:, part], meant[:, part]
        )

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare scores, to half of the digits, relative to their spread."""
        bounds = self.unit**0.5 * np.ptp(self.whole, axis=2).max() + 0 * meant
        return Trial(words, given, meant, bounds, ("text", "token", "score"))

    def explain(self, trials: Sequence[Trial]) -> str:
        """Read the same texts whole, at positions, masks or segments that known faults have."""
        said = []
        for text, changes in self.faults():
            for trial in trials:
                tokens, meant, given = self.texts.get(
                    trial.words, (self.tokens, self.whole, {})
                )
                known = {name for name, each in changes.items() if each is None} <= {
                    *given
                }
                if trial.worst() <= 1 or trial.given.shape != meant.shape or not known:
                    continue
                given = {
                    name: each
                    for name, each in (given | changes).items()
                    if each is not None
                }
                try:
                    wrong = self.read(
                        tokens, None, next(iter(changes)) if given else "", **given
                    )
                except (Broken, Raised, Skip):
                    continue
                if np.abs(wrong - trial.given)[meant != 0].max() <= trial.bounds.max():
                    said.append(text)
        return "; or ".join(dict.fromkeys(said))

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
    yield decoder.compare("with another last token", part=slice(-1))


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
    yield decoder.compare("as it is", loop)


@law(
    "chunks",
    "decoder",
    "a text read in chunks with a cache gives the same as whole",
    BOUND,
)
def chunks(decoder: Decoder) -> Iterator[Trial]:
    """Read in chunks."""
    yield decoder.compare("as it is", CHUNKS)


@law(
    "padded",
    "decoder",
    "in a left-padded batch, each text gives the same as alone",
    BOUND,
)
def padded(decoder: Decoder) -> Iterator[Trial]:
    """Read left-padded texts."""
    yield decoder.compare("left-padded", needed="mask")


@law(
    "ragged",
    "decoder",
    "left-padded texts continue from a cache as they do alone",
    BOUND,
)
def ragged(decoder: Decoder) -> Iterator[Trial]:
    """Read the last tokens of left-padded texts one by one."""
    late = decoder.length - 4
    yield decoder.compare("left-padded", [late, 1, 1, 1], "mask", slice(late, None))


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
    later = [*decoder.texts][-1]
    yield decoder.compare(later, needed="positions")
    if decoder.step and argument(decoder.step, POSITIONS):
        yield decoder.compare(later, CHUNKS)


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
