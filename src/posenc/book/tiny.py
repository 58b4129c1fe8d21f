"""A small transformer in pure numpy, for places without torch, such as a page of the book.

It has the architecture and the arithmetic of `posenc.book.experiments`, with two layers: a test
gives both the same weights, and compares. Gradients are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posenc._validate import check_int
from posenc.attention import alibi_slopes
from posenc.encoding import angular_frequencies, sinusoidal_encoding

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Maybe = NDArray[Any] | None
Weights = dict[str, Floats]
Cache = list[tuple[Any, Any]]  # keys and values of each layer, then positions and mask

A, B, QUESTION, VOCABULARY = 8, 9, 10, 12
WIDTH, HEADS, ANSWERS, LAYERS = 32, 4, 16, 2
SLOPES = alibi_slopes(HEADS)[:, None, None]
ENCODINGS = ("none", "sinusoidal", "rotary", "ALiBi")  #: Ways to encode order.


def order(rng: np.random.Generator, count: int, seq_len: int) -> tuple[Ints, Ints]:
    """Ask at the end whether A comes before B: tokens, (count, seq_len), and answers, (count,)."""
    check_int("seq_len", seq_len, minimum=3)
    tokens = rng.integers(8, size=(count, seq_len))
    places = rng.random((count, seq_len - 1)).argsort(axis=1)
    rows = np.arange(count)
    tokens[rows, places[:, 0]], tokens[rows, places[:, 1]] = A, B
    tokens[:, -1] = QUESTION
    return tokens, (places[:, 0] < places[:, 1]).astype(np.int64)


def initial_weights(seed: int) -> Weights:
    """Return untrained weights, with torch's distributions and parameter names."""
    rng = np.random.default_rng(seed)
    weights: Weights = {"words.weight": rng.normal(size=(VOCABULARY, WIDTH)).astype(np.float32)}

    names = ["head.0", *(f"layers.{n}.{part}" for n in range(LAYERS) for part in ("norm", "mlp.0"))]
    for name in names:
        weights[f"{name}.weight"] = np.ones(WIDTH, np.float32)
        weights[f"{name}.bias"] = np.zeros(WIDTH, np.float32)
    sizes = {"attention.to_qkv": (3, 1), "attention.out": (1, 1), "mlp.1": (2, 1), "mlp.3": (1, 2)}
    linear = [(f"layers.{n}.{part}", *size) for n in range(LAYERS) for part, size in sizes.items()]
    for name, outputs, inputs in [*linear, ("head.1", ANSWERS / WIDTH, 1)]:
        shape = int(outputs * WIDTH), inputs * WIDTH
        for part, drawn in (("weight", shape), ("bias", shape[:1])):
            uniform = rng.uniform(-1, 1, drawn) / shape[1] ** 0.5
            weights[f"{name}.{part}"] = uniform.astype(np.float32)
    return weights


class Pass:
    """A forward pass without a mask, kept for backpropagation.

    From `tokens`, (batch, seq_len), come `scores` at the last place, (batch, `ANSWERS`), float32.
    """

    def __init__(self, weights: Weights, tokens: Ints, encoding: str) -> None:
        if encoding not in ENCODINGS:
            raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
        self.weights: Weights = weights
        self._tokens, self.encoding = tokens, encoding
        self.kept: dict[str, Floats] = {}
        places = np.arange(tokens.shape[1])[None]
        self.scores: Floats = self.head(self.layers(tokens, places, places)[0][:, -1])

    def layers(
        self, tokens: Ints, positions: Ints, where: Ints, shown: Maybe = None, cache: Any = None
    ) -> tuple[Floats, Cache]:
        """Return the last layer's output, (batch, seq_len, WIDTH), and the keys and values of all.

        The cache comes before the tokens, and `where` has the positions of both. `shown`,
        (batch, 1, seq_len, all), says what a token attends to.
        """
        x: Floats = self.weights["words.weight"][tokens]
        if self.encoding == "sinusoidal":
            rows = sinusoidal_encoding(positions.ravel(), WIDTH)
            x = x + rows.reshape(*positions.shape, WIDTH)
        angles = positions[:, None, :, None] * angular_frequencies(WIDTH // HEADS)
        self.turns: NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)
        self.bias: NDArray[Any] = np.zeros((), np.float32)
        if self.encoding == "ALiBi":
            distance = np.abs(positions[:, None, :, None] - where[:, None, None])
            self.bias = -SLOPES * distance.astype(np.float32)
        if shown is not None:
            self.bias = np.where(shown, self.bias, np.float32(-1e9))
        grown: Cache = []
        for n in range(LAYERS):
            name = f"layers.{n}."
            attended, pair = self._attend(name, self._norm(f"{name}norm", x), cache and cache[n])
            x, grown = x + attended, [*grown, pair]
            hidden = self._linear(f"{name}mlp.1", self._norm(f"{name}mlp.0", x))
            x = x + self._linear(f"{name}mlp.3", np.maximum(hidden, 0))
        return x, grown

    def head(self, x: Floats) -> Floats:
        """Return a score for each answer."""
        return self._linear("head.1", self._norm("head.0", x))

    def loss(self, answers: Ints) -> float:
        """Return the mean cross-entropy of `answers`, shape (batch,)."""
        right = softmax(self.scores)[np.arange(len(answers)), answers]
        return float(-np.log(right).mean())

    def gradients(self, answers: Ints) -> Weights:
        """Return the gradient of the loss with respect to each weight; `answers` as in `loss`."""
        found: Weights = {}
        back = softmax(self.scores)
        back[np.arange(len(answers)), answers] -= 1
        x = np.zeros((*self._tokens.shape, WIDTH), np.float32)
        back /= np.float32(len(answers))
        last = self._linear_back("head.1", back, found)
        x[:, -1] = self._norm_back("head.0", last, found)
        for n in reversed(range(LAYERS)):
            name = f"layers.{n}."
            hidden = self._linear_back(f"{name}mlp.3", x, found) * (self.kept[f"{name}mlp.3"] > 0)
            hidden = self._linear_back(f"{name}mlp.1", hidden, found)
            x = x + self._norm_back(f"{name}mlp.0", hidden, found)
            x = x + self._norm_back(f"{name}norm", self._attend_back(name, x, found), found)
        found["words.weight"] = np.zeros_like(self.weights["words.weight"])
        np.add.at(found["words.weight"], self._tokens, x)
        return found

    def _linear(self, name: str, x: Floats) -> Floats:
        self.kept[name] = x
        out: Floats = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return out

    def _linear_back(self, name: str, back: Floats, found: Weights) -> Floats:
        rows, inputs = (each.reshape(-1, each.shape[-1]) for each in (back, self.kept[name]))
        found[f"{name}.weight"], found[f"{name}.bias"] = rows.T @ inputs, rows.sum(axis=0)
        out: Floats = back @ self.weights[f"{name}.weight"]
        return out

    def _norm(self, name: str, x: Floats) -> Floats:
        self.kept[f"{name}.size"] = size = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        self.kept[name] = unit = (x - x.mean(axis=-1, keepdims=True)) / size
        out: Floats = unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return out

    def _norm_back(self, name: str, back: Floats, found: Weights) -> Floats:
        unit, size = self.kept[name], self.kept[f"{name}.size"]
        axes = tuple(range(back.ndim - 1))
        found[f"{name}.weight"], found[f"{name}.bias"] = (back * unit).sum(axes), back.sum(axes)
        back = back * self.weights[f"{name}.weight"]
        along = unit * (back * unit).mean(axis=-1, keepdims=True)
        out: Floats = (back - back.mean(axis=-1, keepdims=True) - along) / size
        return out

    def _turn(self, x: Floats, turns: NDArray[np.complex64]) -> Floats:
        """Turn queries or keys if the encoding is rotary."""
        if self.encoding != "rotary":
            return x
        return (np.ascontiguousarray(x).view(np.complex64) * turns).view(np.float32)

    def _attend(self, name: str, x: Floats, before: Any) -> tuple[Floats, tuple[Floats, Floats]]:
        qkv = self._linear(f"{name}attention.to_qkv", x)
        q, k, v = qkv.reshape(*x.shape[:2], 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        q, k = self._turn(q, self.turns), self._turn(k, self.turns)
        if before:
            k, v = (np.concatenate(both, 2) for both in zip(before, (k, v), strict=True))
        weights = softmax(q @ k.mT / np.float32(q.shape[-1] ** 0.5) + self.bias)
        self.kept |= {f"{name}q": q, f"{name}k": k, f"{name}v": v, f"{name}weights": weights}
        gathered = (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return self._linear(f"{name}attention.out", gathered), (k, v)

    def _attend_back(self, name: str, back: Floats, found: Weights) -> Floats:
        batch, seq_len, _ = back.shape
        q, k, v, weights = (self.kept[f"{name}{part}"] for part in ("q", "k", "v", "weights"))
        back = self._linear_back(f"{name}attention.out", back, found)
        gathered = back.reshape(batch, seq_len, HEADS, -1).transpose(0, 2, 1, 3)
        scores = gathered @ v.mT
        scores = weights * (scores - (scores * weights).sum(axis=-1, keepdims=True))
        scores = scores / np.float32(q.shape[-1] ** 0.5)
        there = self.turns.conj()
        q_back, k_back = self._turn(scores @ k, there), self._turn(scores.mT @ q, there)
        qkv = np.stack([q_back, k_back, weights.mT @ gathered])
        qkv = qkv.transpose(1, 3, 0, 2, 4).reshape(batch, seq_len, -1)
        return self._linear_back(f"{name}attention.to_qkv", qkv, found)


def softmax(x: Floats) -> Floats:
    """Return the softmax along the last axis."""
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    out: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return out


def train(encoding: str, seed: int = 0, *, seq_len: int = 16, steps: int = 240) -> Weights:
    """Train on the order task: 16 fresh sequences per step, by Adam, at a rate that decays to 0."""
    weights, rng = initial_weights(seed), np.random.default_rng(1_000_000 + seed)
    means, squares = ({name: np.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    for step in range(steps):
        tokens, answers = order(rng, 16, seq_len)
        rate = np.float32(3e-3 * (1 - step / steps) / (1 - 0.9 ** (step + 1)))
        for name, gradient in Pass(weights, tokens, encoding).gradients(answers).items():
            mean, square = means[name], squares[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            size = np.sqrt(square / np.float32(1 - 0.999 ** (step + 1))) + np.float32(1e-8)
            weights[name] -= rate * mean / size
    return weights


def accuracy(weights: Weights, encoding: str, seq_len: int, count: int = 200) -> float:
    """Return the share of right answers on `count` held-out sequences."""
    tokens, answers = order(np.random.default_rng(2_000_000 + seq_len), count, seq_len)
    found = Pass(weights, tokens, encoding).scores.argmax(axis=1)
    return float((found == answers).mean())


def compare(
    encodings: Sequence[str] = ENCODINGS,
    lengths: Sequence[int] = (8, 16, 32, 64),
    seeds: Sequence[int] = (0, 1, 2),
    *,
    seq_len: int = 16,
    steps: int = 240,
) -> Iterator[str]:
    """Yield a header and, for each encoding, medians and ranges over the seeds of right answers."""
    yield f"{'':10}" + "".join(f"  length {length:<9}" for length in lengths)
    for encoding in encodings:
        line = f"{encoding:10}"
        models = [train(encoding, seed, seq_len=seq_len, steps=steps) for seed in seeds]
        for length in lengths:
            found = sorted(accuracy(model, encoding, length) for model in models)
            line += f"  {float(np.median(found)):.2f} ({found[0]:.2f}–{found[-1]:.2f})"
        yield line


class Decoder:
    """The model with a causal mask, run as a decoder: on a whole text, or in steps with a cache.

    Tokens, positions and masks have the shape (batch, seq_len). By default, positions continue from
    the cache. Keys are cached after rotation, so a query needs the position that follows them.
    """

    def __init__(self, weights: Weights, encoding: str = "rotary") -> None:
        self.model: Pass = Pass(weights, np.zeros((1, 1), np.int64), encoding)

    def full(
        self, tokens: Ints, positions: Maybe = None, mask: Maybe = None, segments: Maybe = None
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
        where, seen = positions, np.ones(tokens.shape, np.bool_) if mask is None else mask
        if cache:
            before, seen_before = cache[-1]
            where, seen = np.hstack((before, where)), np.hstack((seen_before, seen))
        count = where.shape[1]
        shown = np.tri(new, count, count - new, dtype=np.bool_) & seen[:, None]
        if segments is not None:
            shown = shown & (segments[:, :, None] == segments[:, None])
        x, grown = self.model.layers(tokens, positions, where, shown[:, None], cache)
        return self.model.head(x), [*grown, (where, seen)]
