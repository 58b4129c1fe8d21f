"""The transformer around the encodings, and stacks of it, which train many seeds at once.

A seed's weights are drawn in the order in which modules are made, and its data in that of `data`.
Recorded results are those of these draws: don't reorder them. `tests/measures.json` has results of
short trainings.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from posenc.book.experiments.encodings import ENCODINGS, Encoding
from posenc.book.experiments.settings import HEADS, Settings
from posenc.book.experiments.tasks import NO_TARGET, TASKS, drawn, share

# Seeds of data start here, apart from those of weights and exams.
FIRST_TRAINING, FIRST_TUNING = 1_000_000, 3_000_000


class Layer(nn.Module):
    """Attention and an MLP, each with a layer norm before it and a residual connection."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        # Draws: don't reorder.
        self.norm = nn.LayerNorm(width)
        self.to_qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 2 * width),
            nn.ReLU(),
            nn.Linear(2 * width, width),
        )

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        x = x + self.attention(self.norm(x), positions, encoding)
        out: Tensor = x + self.mlp(x)
        return out

    def attention(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        """Return what each place gathers in all heads, (batch, seq_len, width)."""
        # (batch, seq_len, 3, HEADS, head_width)
        qkv = self.to_qkv(x).unflatten(-1, (3, HEADS, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (batch, HEADS, seq_len, head_width)
        q = encoding.turn(q, positions)
        k = encoding.turn(k, positions)
        scores = q @ k.mT / q.shape[-1] ** 0.5 + encoding.bias(positions)
        if self.causal:
            # Above the diagonal, where keys come later than the query
            scores = scores + torch.full(scores.shape[-2:], -torch.inf).triu(1)
        # Softmax gives later places the weight 0, exactly.
        heads = scores.softmax(-1) @ v  # (batch, HEADS, seq_len, head_width)
        out: Tensor = self.out(heads.transpose(1, 2).flatten(2))
        return out


class Transformer(nn.Module):
    """Embeddings, layers, and a score for each answer at every place."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        # Draws: don't reorder.
        self.words = nn.Embedding(settings.symbols, width)
        nn.init.normal_(self.words.weight, std=settings.init_std)
        self.layers = nn.ModuleList(
            Layer(width, settings.causal) for _ in range(settings.layers)
        )
        self.head = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, settings.answers)
        )
        # The encoding last, so that a seed's contenders share all other weights.
        self.encoding = ENCODINGS[settings.encoding](settings)

    def forward(self, tokens: Tensor, positions: Tensor, states: bool = False) -> Any:
        """Return scores, (batch, seq_len, answers), or all layers' inputs and the last output."""
        words = self.words(tokens) * self.settings.scale
        hidden = [self.encoding.rows(words, positions)]
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
        """Return scores, (seeds, batch, seq_len, answers), or the hidden states.

        `tokens` are (seeds, batch, seq_len); `positions` are (seq_len,), or (seeds, seq_len).
        """

        def run_one(weights: dict[str, Tensor], *given: Tensor) -> Any:
            return functional_call(self.model, weights, (*given, states))

        axis_of_positions = 0 if positions.ndim > 1 else None
        run_all = vmap(run_one, (0, 0, axis_of_positions))
        return run_all(self.weights, tokens, positions)

    def with_encoding(self, encoding: Encoding) -> Self:
        """Return a copy of these models with another encoding; neither has weights."""
        if [*encoding.parameters()]:
            raise ValueError("the other encoding must have no weights")
        models = deepcopy(self)
        models.model.encoding = encoding
        return models


def init_model(settings: Settings, seed: int) -> Transformer:
    """Return a seed's untrained model; contenders share all weights except the encoding's."""
    torch.manual_seed(seed)
    return Transformer(settings)


def stack(settings: Settings, seeds: Sequence[int]) -> Trained:
    """Return untrained models, one per seed."""
    models = [init_model(settings, seed) for seed in seeds]
    weights, _ = stack_module_state(models)  # there are no buffers
    return Trained(settings, seeds, models[0], weights, torch.zeros(0, len(seeds)))


def data(settings: Settings, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens and targets, (steps, batch, seq_len), and positions, (steps, seq_len)."""
    torch.manual_seed(FIRST_TRAINING + seed)
    task, seq_len = TASKS[settings.task], settings.seq_len
    shape = (settings.steps, settings.batch)
    # Draws: don't reorder. Before all else, as `measures.measure` draws these again.
    if settings.sequences:
        tokens, targets = task((settings.sequences, seq_len))
        picks = torch.randint(settings.sequences, shape)
        tokens, targets = tokens[picks], targets[picks]
    else:
        tokens, targets = task((*shape, seq_len))
    positions = torch.arange(seq_len).expand(settings.steps, -1)
    if settings.spread:
        # The first places of a shuffled table are a random choice of its places.
        chance = torch.rand(settings.steps, settings.spread)
        positions = chance.argsort(-1)[:, :seq_len].sort(-1).values
    return tokens, targets, positions


def train(settings: Settings, seeds: Sequence[int]) -> Trained:
    """Train one model per seed, for weights and data, all at once."""
    drawn_data = [data(settings, seed) for seed in seeds]
    tokens, targets, positions = map(torch.stack, zip(*drawn_data, strict=True))
    models = stack(settings, seeds)
    return _fit(models, settings.rate, tokens, targets, positions)


def fine_tune(
    models: Trained,
    encoding: Encoding,
    seq_len: int,
    *,
    steps: int = 60,
    batch: int = 8,
    rate: float = 3e-3,
) -> Trained:
    """Train copies further, at another length, with another encoding; neither has weights.

    The rate decays linearly to zero. The result keeps the settings of `models`.
    """
    task, seeds = models.settings.task, models.seeds
    tokens, targets = drawn(task, seeds, (steps, batch, seq_len), FIRST_TUNING)
    positions = torch.arange(seq_len).expand(len(seeds), steps, -1)
    return _fit(models.with_encoding(encoding), rate, tokens, targets, positions)


def _fit(
    models: Trained,
    rate: float,
    tokens: Tensor,
    targets: Tensor,
    positions: Tensor,
) -> Trained:
    """Train models in place on (seeds, steps, ...); the rate decays linearly to zero."""
    number, steps = tokens.shape[:2]
    # Adam treats each number alone: with its own gradient, a model trains as it would alone. A
    # frozen table has no gradient, and stays.
    adam = torch.optim.Adam(models.weights.values(), lr=rate)
    decay = torch.optim.lr_scheduler.LinearLR(adam, 1, 0, steps)
    curve = []
    for step in range(steps):
        asked = targets[:, step]
        # Positions that all seeds share stay outside `vmap`, which T5's numpy code needs.
        places = positions[:, step] if models.settings.spread else positions[0, step]
        scores = models(tokens[:, step], places)  # (seeds, batch, seq_len, answers)
        loss = F.cross_entropy(
            scores.flatten(0, 2), asked.flatten(), ignore_index=NO_TARGET
        )
        adam.zero_grad()
        # The loss is a mean over all models' places; times the number of models, each gets its
        # own gradient where all are asked at equally many. In `recall` they aren't: a gradient is
        # larger by the ratio of its model's places to the mean number of them.
        torch.autograd.backward(loss * number)
        adam.step()
        decay.step()
        curve.append(share(asked, scores.argmax(-1)))
    models.curve = torch.stack(curve)
    return models
