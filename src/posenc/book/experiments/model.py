"""The transformer around the encodings, and stacks that run many seeds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from posenc.book.experiments.encodings import ENCODINGS, Encoding
from posenc.book.experiments.settings import HEADS, TRAIN_LEN, WIDTH, Settings
from posenc.book.experiments.tasks import LETTERS


class Attention(nn.Module):
    """Multi-head attention that calls the encoding's `turn` and `bias`."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal: bool = causal
        self.to_qkv: nn.Linear = nn.Linear(WIDTH, 3 * WIDTH)
        self.out: nn.Linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        qkv = self.to_qkv(x).unflatten(-1, (3, HEADS, -1))  # (batch, seq_len, 3, HEADS, head_width)
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

    def __init__(self, causal: bool, residual: bool) -> None:
        super().__init__()
        self.residual: bool = residual
        self.norm: nn.LayerNorm = nn.LayerNorm(WIDTH)
        self.attention: Attention = Attention(causal)
        self.mlp: nn.Sequential = nn.Sequential(
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 2 * WIDTH),
            nn.ReLU(),
            nn.Linear(2 * WIDTH, WIDTH),
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
        self.words: nn.Embedding = nn.Embedding(len(LETTERS), WIDTH)
        nn.init.normal_(self.words.weight, std=settings.init_std)
        layers = [Layer(settings.causal, settings.residual) for _ in range(settings.layers)]
        self.layers: nn.ModuleList = nn.ModuleList(layers)
        self.head: nn.Sequential = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TRAIN_LEN))
        self.encoding: Encoding = ENCODINGS[settings.encoding](settings)

    def hidden_states(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        """Return the input of the first layer and the output of each, (batch, seq_len, WIDTH)."""
        x = self.encoding.rows(self.words(tokens) * self.settings.scale, positions)
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], positions, self.encoding))
        return states

    def forward(self, tokens: Tensor, positions: Tensor, states: bool = False) -> Any:
        """Return a score for each answer, (batch, seq_len, TRAIN_LEN), or the hidden states."""
        hidden = self.hidden_states(tokens, positions)
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

    def __call__(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return scores, (seeds, batch, seq_len, TRAIN_LEN).

        `tokens` are (seeds, batch, seq_len); `positions` are (seq_len,), or (seeds, seq_len).
        """
        scores: Tensor = self._run(tokens, positions, False)
        return scores

    def with_encoding(self, encoding: Encoding) -> Trained:
        """Return models with a copy of these weights and another encoding, without weights."""
        copies = ((name, w.detach().clone(), w.requires_grad) for name, w in self.weights.items())
        weights = {name: copy.requires_grad_(trained) for name, copy, trained in copies}
        model = Transformer(self.settings)
        model.encoding = encoding
        return replace(self, model=model, weights=weights)

    @torch.no_grad()
    def hidden_states(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        """Return the result of `Transformer.hidden_states`, with a leading axis for the seed."""
        states: list[Tensor] = self._run(tokens, positions, True)
        return states

    def _run(self, tokens: Tensor, positions: Tensor, states: bool) -> Any:
        def one(weights: dict[str, Tensor], *given: Tensor) -> Any:
            return functional_call(self.model, weights, (*given, states))

        each = 0 if positions.ndim > 1 else None
        return vmap(one, (0, 0, each))(self.weights, tokens, positions)


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
    return Trained(each[0], seeds, models[0], {**weights, **fixed}, torch.zeros(0, len(seeds)))
