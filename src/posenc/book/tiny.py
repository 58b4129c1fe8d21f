"""A small decoder in pure numpy, to check and to break where there is no torch.

Its weights are random: what counts is that reading a text whole, and in steps with a cache,
gives the same scores.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posenc.attention import rotate_pairs
from posenc.encoding import sinusoidal_encoding

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

VOCABULARY, WIDTH = 12, 32
PADDING = -1  # the segment of tokens that no other attends to


class Cache(NamedTuple):
    """What is kept of the tokens that a decoder has read."""

    keys: Floats  #: (batch, seq, width), turned.
    values: Floats  #: (batch, seq, width).
    positions: Ints  #: (batch, seq).
    segments: Ints  #: (batch, seq).


def initial_weights(seed: int) -> dict[str, Floats]:
    """Return random weights by name, of shape (inputs, outputs)."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Floats:
        return rng.normal(scale=shape[0] ** -0.5, size=shape).astype(np.float32)

    return {
        "words": drawn(VOCABULARY, WIDTH),
        "qkv": drawn(WIDTH, 3 * WIDTH),
        "answers": drawn(WIDTH, VOCABULARY),
    }


@dataclass(frozen=True)
class Decoder:
    """A decoder with one layer and one head, run on a whole text or in steps with a cache.

    Tokens, positions, masks and segments have shape (batch, seq). By default positions
    continue from the cache, and all tokens are of segment 0. Keys are cached after their
    rotation, so a query needs the position that follows them.
    """

    weights: dict[str, Floats]
    rotary: bool = True  #: Or else sinusoidal encodings are added to the words.

    def full(
        self,
        tokens: Ints,
        positions: Ints | None = None,
        mask: Mask | None = None,
        segments: Ints | None = None,
    ) -> Floats:
        """Return scores after each token, shape (batch, seq, `VOCABULARY`).

        The mask is False for padding, to which no token attends; tokens don't attend to
        other `segments` of a packed row, either.
        """
        return self.step(tokens, None, positions, mask, segments)[0]

    def step(
        self,
        tokens: Ints,
        cache: Cache | None = None,
        positions: Ints | None = None,
        mask: Mask | None = None,
        segments: Ints | None = None,
    ) -> tuple[Floats, Cache]:
        """Continue from a cache: return scores after each new token, and the longer cache."""
        batch, new = tokens.shape
        old: Any = cache or _empty(batch)
        if positions is None:
            last = old.positions.max(axis=1, initial=-1, keepdims=True)
            positions = last + 1 + np.arange(new)
        if segments is None:
            segments = np.zeros_like(tokens)
        if mask is not None:
            segments = np.where(mask, segments, PADDING)

        x = self.weights["words"][tokens]
        if not self.rotary:
            x = x + sinusoidal_encoding(positions.ravel(), WIDTH).reshape(x.shape)
        # Each (batch, new, width)
        q, k, v = np.split(_norm(x) @ self.weights["qkv"], 3, axis=2)
        if self.rotary:
            q, k = rotate_pairs(q, positions), rotate_pairs(k, positions)
        # A row's keys are those of the cache, then the new ones.
        added = k, v, positions, segments
        longer = Cache(*(np.hstack(parts) for parts in zip(old, added, strict=True)))
        # The first of two new tokens after three sees four, and the last all five.
        count = longer.segments.shape[1]
        allowed = np.tri(new, count, count - new, dtype=np.bool_)
        allowed = allowed & (segments[:, :, None] == longer.segments[:, None])
        read = _attend(q, longer.keys, longer.values, allowed)
        return _norm(x + read) @ self.weights["answers"], longer


def _empty(batch: int) -> Cache:
    """Return the cache before the first token."""
    nothing = np.zeros((batch, 0, WIDTH), np.float32)
    none = np.zeros((batch, 0), np.int64)
    return Cache(nothing, nothing, none, none)


def _attend(q: Floats, k: Floats, v: Floats, allowed: Mask) -> Any:
    """Return the values that queries gather, each from itself at least: (batch, new, width)."""
    scores = q @ k.swapaxes(1, 2) / WIDTH**0.5
    scores = np.where(allowed, scores, -np.inf)
    # Less its maximum, no exponential overflows.
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


def _norm(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    centered = x - x.mean(axis=2, keepdims=True)
    return centered / np.sqrt(x.var(axis=2, keepdims=True) + 1e-5)
