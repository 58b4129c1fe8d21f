"""A small decoder in pure numpy, to check and to break, also where there is no torch.

It has the architecture and the arithmetic of `posenc.book.experiments`, with a causal mask: a test
gives both the same weights, and compares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc.attention import alibi_slopes
from posenc.encoding import angular_frequencies, sinusoidal_encoding

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Maybe = NDArray[Any] | None
Weights = dict[str, Floats]
Cache = list[tuple[Any, Any]]  # keys and values of each layer, then positions and mask

VOCABULARY, WIDTH, HEADS, ANSWERS, LAYERS = 12, 32, 4, 16, 2
ENCODINGS = ("none", "sinusoidal", "rotary", "ALiBi")  #: Ways to encode order.


def initial_weights(seed: int) -> Weights:
    """Return untrained weights, with torch's distributions and parameter names."""
    rng = np.random.default_rng(seed)
    weights: Weights = {
        "words.weight": rng.normal(size=(VOCABULARY, WIDTH)).astype(np.float32)
    }
    names = [
        "head.0",
        *(f"layers.{n}.{part}" for n in range(LAYERS) for part in ("norm", "mlp.0")),
    ]
    for name in names:
        weights[f"{name}.weight"] = np.ones(WIDTH, np.float32)
        weights[f"{name}.bias"] = np.zeros(WIDTH, np.float32)
    sizes = {
        "attention.to_qkv": (3, 1),
        "attention.out": (1, 1),
        "mlp.1": (2, 1),
        "mlp.3": (1, 2),
    }
    linear = [
        (f"layers.{n}.{part}", *size)
        for n in range(LAYERS)
        for part, size in sizes.items()
    ]
    for name, outputs, inputs in [*linear, ("head.1", ANSWERS / WIDTH, 1)]:
        shape = int(outputs * WIDTH), inputs * WIDTH
        for part, drawn in (("weight", shape), ("bias", shape[:1])):
            uniform = rng.uniform(-1, 1, drawn) / shape[1] ** 0.5
            weights[f"{name}.{part}"] = uniform.astype(np.float32)
    return weights


class Decoder:
    """A decoder, run on a whole text, or in steps with a cache.

    Tokens, positions and masks have the shape (batch, seq_len). By default, positions continue from
    the cache. Keys are cached after rotation, so a query needs the position that follows them.
    """

    def __init__(self, weights: Weights, encoding: str = "rotary") -> None:
        if encoding not in ENCODINGS:
            raise ValueError(
                f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}"
            )
        self.weights: Weights = weights
        self.encoding: str = encoding

    def full(
        self,
        tokens: Ints,
        positions: Maybe = None,
        mask: Maybe = None,
        segments: Maybe = None,
    ) -> Floats:
        """Return scores after each token, shape (batch, seq_len, `ANSWERS`).

        The mask is False for padding, which no token attends to; nor to other packed `segments`.
        """
        return self.step(tokens, None, positions, mask, segments)[0]

    def step(
        self,
        tokens: Ints,
        cache: Any = None,
        positions: Maybe = None,
        mask: Maybe = None,
        segments: Maybe = None,
    ) -> tuple[Floats, Cache]:
        """Continue from a cache: return scores after each new token, and the extended cache."""
        new = tokens.shape[1]
        if positions is None:
            begin = cache[-1][0][:, -1:] + 1 if cache else 0
            positions = np.broadcast_to(begin + np.arange(new), tokens.shape)
        where, seen = (
            positions,
            np.ones(tokens.shape, np.bool_) if mask is None else mask,
        )
        if cache:
            before, seen_before = cache[-1]
            where, seen = np.hstack((before, where)), np.hstack((seen_before, seen))
        count = where.shape[1]
        shown = np.tri(new, count, count - new, dtype=np.bool_) & seen[:, None]
        if segments is not None:
            shown = shown & (segments[:, :, None] == segments[:, None])
        x: Floats = self.weights["words.weight"][tokens]
        if self.encoding == "sinusoidal":
            x = x + sinusoidal_encoding(positions.ravel(), WIDTH).reshape(x.shape)
        omega = angular_frequencies(WIDTH // HEADS) * (self.encoding == "rotary")
        turns = np.exp(1j * positions[:, None, :, None] * omega).astype(np.complex64)
        distance = np.abs(positions[:, None, :, None] - where[:, None, None]).astype(
            np.float32
        )
        slopes = alibi_slopes(HEADS)[:, None, None] * np.float32(
            self.encoding == "ALiBi"
        )
        bias = np.where(shown[:, None], -slopes * distance, np.float32(-1e9))
        grown: Cache = []
        for n in range(LAYERS):
            name = f"layers.{n}."
            attended, pair = self._attend(name, x, turns, bias, cache and cache[n])
            x, grown = x + attended, [*grown, pair]
            hidden = self._linear(f"{name}mlp.1", self._norm(f"{name}mlp.0", x))
            x = x + self._linear(f"{name}mlp.3", np.maximum(hidden, 0))
        return self._linear("head.1", self._norm("head.0", x)), [*grown, (where, seen)]

    def _attend(
        self, name: str, x: Floats, turns: Any, bias: Any, before: Any
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        qkv = self._linear(f"{name}attention.to_qkv", self._norm(f"{name}norm", x))
        q, k, v = qkv.reshape(*x.shape[:2], 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        both = (
            np.ascontiguousarray(each).view(np.complex64) * turns for each in (q, k)
        )
        q, k = (each.view(np.float32) for each in both)
        if before:
            k, v = (
                np.concatenate(both, 2) for both in zip(before, (k, v), strict=True)
            )
        scores = q @ k.mT / np.float32(q.shape[-1] ** 0.5) + bias
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = shares / shares.sum(axis=-1, keepdims=True)
        gathered = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return self._linear(f"{name}attention.out", gathered), (k, v)

    def _linear(self, name: str, x: Floats) -> Floats:
        out: Floats = (
            x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        )
        return out

    def _norm(self, name: str, x: Floats) -> Floats:
        unit = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(
            x.var(axis=-1, keepdims=True) + 1e-5
        )
        out: Floats = (
            unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        )
        return out
