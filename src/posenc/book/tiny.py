"""A small decoder in pure numpy, to check and to break where there is no torch.

Its weights are random: what counts is that reading a text whole, and in steps with a cache,
gives the same scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.attention import rotate_pairs
from posenc.encoding import sinusoidal_encoding

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Weights = dict[str, Floats]
# For each layer its turned keys and its values, (batch, heads, seq, 8); at the end, the
# positions and the mask of all tokens, (batch, seq).
Cache = list[tuple[Any, Any]]

ENCODINGS = ("rotary", "sinusoidal", "none")
VOCABULARY, WIDTH, HEADS, LAYERS, ANSWERS = 12, 32, 4, 2, 16


def initial_weights(seed: int) -> Weights:
    """Return random weights by name, each of shape (inputs, outputs)."""
    shapes = {"words": (VOCABULARY, WIDTH), "answers": (WIDTH, ANSWERS)}
    for layer in range(LAYERS):
        shapes[f"{layer}.qkv"] = WIDTH, 3 * WIDTH
        shapes[f"{layer}.out"] = WIDTH, WIDTH
        shapes[f"{layer}.up"] = WIDTH, 2 * WIDTH
        shapes[f"{layer}.down"] = 2 * WIDTH, WIDTH
    rng = np.random.default_rng(seed)
    weights = {}
    for name, shape in shapes.items():
        drawn = rng.normal(scale=shape[0] ** -0.5, size=shape)
        weights[name] = drawn.astype(np.float32)
    return weights


class Decoder:
    """A decoder, run on a whole text or in steps with a cache.

    Tokens, positions, masks and segments have shape (batch, seq). By default positions
    continue from the cache. Keys are cached after their rotation, so a query needs the
    position that follows them.
    """

    def __init__(self, weights: Weights, encoding: str = "rotary") -> None:
        if encoding not in ENCODINGS:
            names = ", ".join(ENCODINGS)
            raise ValueError(f"encoding must be one of {names}, got {encoding!r}")
        self.weights: Weights = weights
        self.encoding: str = encoding

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
        kept: list[Any] = [None] * LAYERS
        old_positions = np.zeros((batch, 0), np.int64)
        old_mask = np.zeros((batch, 0), np.bool_)
        if cache:
            *kept, (old_positions, old_mask) = cache
        if positions is None:
            first = old_positions[:, -1:] + 1 if cache else 0
            positions = np.broadcast_to(first + np.arange(new), tokens.shape)
        if mask is None:
            mask = np.ones(tokens.shape, np.bool_)
        # A row's keys are those of the cache, then the new ones.
        all_positions = np.hstack((old_positions, positions))
        all_masks = np.hstack((old_mask, mask))
        allowed = _causal(new, all_masks)
        if segments is not None:
            allowed &= segments[:, :, None] == segments[:, None, :]

        x = self.weights["words"][tokens]
        if self.encoding == "sinusoidal":
            x = x + sinusoidal_encoding(positions.ravel(), WIDTH).reshape(x.shape)
        longer: Cache = []
        for layer in range(LAYERS):
            attended, keys_and_values = self._attend(
                layer, x, positions, allowed, kept[layer]
            )
            longer.append(keys_and_values)
            x = x + attended
            hidden = np.maximum(_norm(x) @ self.weights[f"{layer}.up"], 0)
            x = x + hidden @ self.weights[f"{layer}.down"]
        scores = _norm(x) @ self.weights["answers"]
        return scores, [*longer, (all_positions, all_masks)]

    def _attend(
        self,
        layer: int,
        x: Floats,
        positions: Ints,
        allowed: Mask,
        before: tuple[Floats, Floats] | None,
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return what a layer adds, shape of x, and its keys and values, old and new."""
        batch, new, _ = x.shape
        qkv = (_norm(x) @ self.weights[f"{layer}.qkv"]).reshape(
            batch, new, 3, HEADS, -1
        )
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)  # each (batch, heads, new, 8)
        if self.encoding == "rotary":
            q, k = rotate_pairs(q, positions), rotate_pairs(k, positions)
        if before is not None:
            k = np.concatenate([before[0], k], axis=2)
            v = np.concatenate([before[1], v], axis=2)
        scores = q @ k.swapaxes(2, 3) / np.float32(q.shape[-1] ** 0.5)
        # Not -inf: a row of padding sees nothing, and would be 0 / 0.
        scores = np.where(allowed[:, None], scores, np.float32(-1e9))
        # Less its maximum, no exponential overflows.
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        gathered = (weights @ v).swapaxes(1, 2).reshape(x.shape)
        return gathered @ self.weights[f"{layer}.out"], (k, v)


def _causal(new: int, mask: Mask) -> Mask:
    """Return which keys each new token may see: (batch, new, all), False for padding."""
    count = mask.shape[1]
    return np.tri(new, count, count - new, dtype=np.bool_) & mask[:, None, :]


def _norm(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
