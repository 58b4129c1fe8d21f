"""The transformer around the encodings, and stacks of it, which train many seeds at once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from posenc.book.experiments.encodings import ENCODINGS, Encoding
from posenc.book.experiments.settings import HEADS, Settings
from posenc.book.experiments.tasks import (
    NO_TARGET,
    TASKS,
    drawn,
    share,
    stacked,
)


class Attention(nn.Module):
    """Multi-head attention that calls the encoding's `turn` and `bias`."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.causal: bool = causal
        self.to_qkv: nn.Linear = nn.Linear(width, 3 * width)
        self.out: nn.Linear = nn.Linear(width, width)

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        qkv = self.to_qkv(x).unflatten(
            -1, (3, HEADS, -1)
        )  # (batch, seq_len, 3, HEADS, head_width)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (batch, HEADS, seq_len, head_width)
        q, k = encoding.turn(q, positions), encoding.turn(k, positions)
        scores = q @ k.mT / q.shape[-1] ** 0.5 + encoding.bias(positions)
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        heads = scores.softmax(-1) @ v  # (batch, HEADS, seq_len, head_width)
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))
        return out


class Layer(nn.Module):
    """Attention and an MLP, each with a layer norm before it and a residual connection."""

    def __init__(self, width: int, causal: bool, residual: bool) -> None:
        super().__init__()
        self.residual: bool = residual
        self.norm: nn.LayerNorm = nn.LayerNorm(width)
        self.attention: Attention = Attention(width, causal)
        inner, outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.mlp: nn.Sequential = nn.Sequential(
            nn.LayerNorm(width), inner, nn.ReLU(), outer
        )

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        keep = float(self.residual)
        x = keep * x + self.attention(self.norm(x), positions, encoding)
        out: Tensor = keep * x + self.mlp(x)
        return out


class Transformer(nn.Module):
    """Embeddings, layers, and a score for each answer at every place."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings: Settings = settings
        width = settings.width
        self.words: nn.Embedding = nn.Embedding(settings.symbols, width)
        nn.init.normal_(self.words.weight, std=settings.init_std)
        layers = [
            Layer(width, settings.causal, settings.residual) for _ in range(settings.layers)
        ]
        self.layers: nn.ModuleList = nn.ModuleList(layers)
        self.head: nn.Sequential = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, settings.answers)
        )
        self.encoding: Encoding = ENCODINGS[settings.encoding](settings)

    def forward(self, tokens: Tensor, positions: Tensor, states: bool = False) -> Any:
        """Return scores, (batch, seq_len, TRAIN_LEN), or all layers' inputs and the last output."""
        hidden = [
            self.encoding.rows(self.words(tokens) * self.settings.scale, positions)
        ]
        for number, layer in enumerate(self.layers):
            encoding = self.encoding.in_layer(number)
            hidden.append(layer(hidden[-1], positions, encoding))
        return hidden if states else self.head(hidden[-1])


@dataclass
class Trained:
    """A stack of models, one per seed."""

    settings: Settings
    seeds: Sequence[int]
    model: Transformer
    weights: dict[str, Tensor]
    curve: Tensor
    """Accuracy on each batch, before the models learn from it, (steps, seeds)."""

    def __call__(self, tokens: Tensor, positions: Tensor, states: bool = False) -> Any:
        """Return scores, (seeds, batch, seq_len, TRAIN_LEN), or the hidden states.

        `tokens` are (seeds, batch, seq_len); `positions` are (seq_len,), or (seeds, seq_len).
        """

        def one(weights: dict[str, Tensor], *given: Tensor) -> Any:
            return functional_call(self.model, weights, (*given, states))

        each = 0 if positions.ndim > 1 else None
        return vmap(one, (0, 0, each))(self.weights, tokens, positions)

    def with_encoding(self, encoding: Encoding) -> Trained:
        """Return models with a copy of these weights and another encoding, without weights."""
        model = Transformer(self.settings)
        model.encoding = encoding
        return replace(self, model=model, weights=deepcopy(self.weights))


def init_model(settings: Settings, seed: int) -> Transformer:
    """Return a seed's untrained model; contenders share all weights except the encoding's."""
    torch.manual_seed(seed)
    return Transformer(settings)


def stack(settings: Settings | Sequence[Settings], seeds: Sequence[int]) -> Trained:
    """Return untrained models, one per seed.

    `settings` are for all models, or one for each, which may differ only in init_std and rate.
    """
    each = [settings] * len(seeds) if isinstance(settings, Settings) else settings
    models = [init_model(one, seed) for one, seed in zip(each, seeds, strict=True)]
    weights, fixed = stack_module_state(models)
    return Trained(
        each[0], seeds, models[0], {**weights, **fixed}, torch.zeros(0, len(seeds))
    )


def data(settings: Settings, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens and targets, (steps, batch, seq_len), and positions, (steps, seq_len)."""
    generator = torch.Generator().manual_seed(1_000_000 + seed)
    shape, task = (settings.steps, settings.batch), TASKS[settings.task]
    if settings.sequences:
        tokens, targets = task((settings.sequences,), settings.seq_len, generator)
        picks = torch.randint(settings.sequences, shape, generator=generator)
        tokens, targets = tokens[picks], targets[picks]
    else:
        tokens, targets = task(shape, settings.seq_len, generator)
    if not settings.spread:
        return (
            tokens,
            targets,
            torch.arange(settings.seq_len).expand(settings.steps, -1),
        )
    places = torch.rand(settings.steps, settings.spread, generator=generator).argsort(
        -1
    )
    return tokens, targets, places[:, : settings.seq_len].sort(-1).values


def train(settings: Settings | Sequence[Settings], seeds: Sequence[int]) -> Trained:
    """Train one model per seed, for weights and data, all at once; `settings` as for `stack`."""
    each = [settings] * len(seeds) if isinstance(settings, Settings) else settings
    given = stacked(data(each[0], seed) for seed in seeds)
    return _fit(stack(each, seeds), [one.rate for one in each], *given)


def fine_tune(
    models: Trained,
    encoding: Encoding,
    seq_len: int,
    *,
    steps: int = 60,
    batch: int = 8,
    rate: float = 3e-3,
) -> Trained:
    """Train copies further, at another length, with another encoding, one without weights.

    The rate decays linearly to zero. The result keeps the settings of `models`.
    """
    task, count = models.settings.task, len(models.seeds)
    tokens, targets = drawn(task, models.seeds, (steps, batch), seq_len, 3_000_000)
    positions = torch.arange(seq_len).expand(count, steps, -1)
    return _fit(
        models.with_encoding(encoding), [rate] * count, tokens, targets, positions
    )


def _fit(
    models: Trained,
    rates: Sequence[float],
    tokens: Tensor,
    targets: Tensor,
    positions: Tensor,
) -> Trained:
    """Train models in place on (seeds, steps, ...), by Adam, each at its own initial rate."""
    trained = [weight for weight in models.weights.values() if weight.requires_grad]
    means, squares = (
        [torch.zeros_like(weight) for weight in trained] for _ in range(2)
    )
    seeds, steps = tokens.shape[:2]
    same = bool((positions == positions[:1]).all())
    curve = []
    for step in range(steps):
        asked = targets[:, step]
        scores = models(
            tokens[:, step], positions[0, step] if same else positions[:, step]
        )
        # This is a mean over all models: multiply, so each gets the gradient of its own loss.
        loss = F.cross_entropy(
            scores.flatten(0, 2), asked.flatten(), ignore_index=NO_TARGET
        )
        gradients = torch.autograd.grad(loss * seeds, trained)
        decayed = torch.tensor(rates) * (1 - step / steps)
        with torch.no_grad():
            parts = zip(trained, means, squares, gradients, strict=True)
            for weight, mean, square, gradient in parts:
                mean.lerp_(gradient, 0.1)
                square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                size = (square / (1 - 0.999 ** (step + 1))).sqrt_().add_(1e-8)
                own = decayed.view(-1, *[1] * (weight.ndim - 1))
                weight -= own / (1 - 0.9 ** (step + 1)) * mean / size
        curve.append(share(asked, scores.argmax(-1)))
    models.curve = torch.stack(curve) if curve else models.curve
    return models
