"""A small decoder in pure numpy, to check and to break where there is no torch.

Its weights are random: what counts is that reading a text whole, and in steps with a cache,
gives the same scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posenc.attention import rotate_pairs
from posenc.encoding import sinusoidal_encoding

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

VOCABULARY, WIDTH, LAYERS, ANSWERS = 12, 32, 2, 16
LAYER = "qkv", "out", "up", "down"  # weights of each layer


class Cache(NamedTuple):
    """What is kept of the tokens that a decoder has read."""

    keys: Floats  #: (layers, batch, seq, width), turned.
    values: Floats  #: (layers, batch, seq, width).
    positions: Ints  #: (batch, seq).
    mask: Mask  #: (batch, seq), False for padding.


def initial_weights(seed: int) -> dict[str, Floats]:
    """Return random weights by name, of shape (inputs, outputs) or (layers, inputs, outputs)."""
    shapes = {
        "words": (VOCABULARY, WIDTH),
        "qkv": (LAYERS, WIDTH, 3 * WIDTH),
        "out": (LAYERS, WIDTH, WIDTH),
        "up": (LAYERS, WIDTH, 2 * WIDTH),
        "down": (LAYERS, 2 * WIDTH, WIDTH),
        "answers": (WIDTH, ANSWERS),
    }
    rng = np.random.default_rng(seed)
    weights = {}
    for name, shape in shapes.items():
        drawn = rng.normal(scale=shape[-2] ** -0.5, size=shape)
        weights[name] = drawn.astype(np.float32)
    return weights


@dataclass(frozen=True)
class Decoder:
    """A decoder with one head, run on a whole text or in steps with a cache.

    Tokens, positions, masks and segments have shape (batch, seq). By default positions
    continue from the cache. Keys are cached after their rotation, so a query needs the
    position that follows them.
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
        """Return scores after each token, shape (batch, seq, `ANSWERS`).

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
        """Continue from a cache: return scores after each new token, and the longer cache.

        A cache doesn't hold segments: ValueError with both.
        """
        if cache and segments is not None:
            raise ValueError("segments must be None with a cache, which holds none")
        batch, new = tokens.shape
        old = cache or _empty(batch)
        if positions is None:
            last = old.positions.max(axis=1, initial=-1, keepdims=True)
            positions = last + 1 + np.arange(new)
        if mask is None:
            mask = np.ones(tokens.shape, np.bool_)
        # A row's keys are those of the cache, then the new ones.
        all_masks = np.hstack((old.mask, mask))
        allowed = _causal(new, all_masks)
        if segments is not None:
            allowed &= segments[:, :, None] == segments[:, None]

        x = self.weights["words"][tokens]
        if not self.rotary:
            x = x + sinusoidal_encoding(positions.ravel(), WIDTH).reshape(x.shape)
        layers = zip(
            *(self.weights[name] for name in LAYER), old.keys, old.values, strict=True
        )
        keys, values = [], []
        for qkv, out, up, down, old_k, old_v in layers:
            q, k, v = np.split(_norm(x) @ qkv, 3, axis=2)  # each (batch, new, width)
            if self.rotary:
                q, k = rotate_pairs(q, positions), rotate_pairs(k, positions)
            keys.append(np.hstack([old_k, k]))
            values.append(np.hstack([old_v, v]))
            x = x + _attend(q, keys[-1], values[-1], allowed) @ out
            x = x + np.maximum(_norm(x) @ up, 0) @ down
        all_positions = np.hstack((old.positions, positions))
        longer = Cache(np.stack(keys), np.stack(values), all_positions, all_masks)
        return _norm(x) @ self.weights["answers"], longer


def _empty(batch: int) -> Cache:
    """Return the cache before the first token."""
    nothing = np.zeros((LAYERS, batch, 0, WIDTH), np.float32)
    positions = np.zeros((batch, 0), np.int64)
    return Cache(nothing, nothing, positions, positions > 0)


def _causal(new: int, mask: Mask) -> Mask:
    """Return which keys each new token may see: (batch, new, all), False for padding."""
    count = mask.shape[1]
    return np.tri(new, count, count - new, dtype=np.bool_) & mask[:, None]


def _attend(q: Floats, k: Floats, v: Floats, allowed: Mask) -> Any:
    """Return the values that queries gather: (batch, new, width)."""
    scores = q @ k.swapaxes(1, 2) / np.float32(WIDTH**0.5)
    # Not -inf: a row of padding sees nothing, and would be 0 / 0.
    scores = np.where(allowed, scores, np.float32(-1e9))
    # Less its maximum, no exponential overflows.
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def _norm(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
