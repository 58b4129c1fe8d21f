"""Tiny transformers that differ in their positions alone, and tasks to train them on.

The models of one experiment are stacked: their weights have a first axis for the seed, and all are
trained at once. Each keeps its own start, its own data and its own test, so a seed gives the same
model whether it trains alone or with others, up to rounding.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from posenc.encoding import angular_frequencies, sinusoidal_encoding
from posenc.nn import alibi_slopes, rotate_pairs

LETTERS = "abcdefghAB?^"
"""The symbols of all tasks; a to h are filler."""

A, B, QUESTION, START = 8, 9, 10, 11
WIDTH, HEADS, TRAIN_LEN = 32, 4, 16
SILENT = -1
"""Target of a place where nothing is asked."""


def order(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ask at the end whether the A comes before the B."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    places = torch.rand(*shape, seq_len - 1, generator=generator).argsort(-1)
    tokens.scatter_(-1, places[..., :1], A)
    tokens.scatter_(-1, places[..., 1:2], B)
    return _asked_at_the_end(tokens, places[..., 0] < places[..., 1])


def count(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ask at the end whether there are more A's than B's among three capitals."""
    tokens, _ = order(shape, seq_len, generator)
    free = torch.where(tokens < A, torch.rand(tokens.shape, generator=generator), -1.0)
    answers = torch.rand(tuple(shape), generator=generator) < 0.5
    third = torch.where(answers, A, B)[..., None]
    tokens.scatter_(-1, free.argmax(-1, keepdim=True), third)
    return _asked_at_the_end(tokens, answers)


def back(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ask at every place from the fourth on which letter stands three back."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    targets = torch.full_like(tokens, SILENT)
    targets[..., 3:] = tokens[..., :-3]
    return tokens, targets


def local(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ask from the fifth place on whether there are more A's than B's in the last five letters."""
    tokens = torch.randint(A, B + 1, (*shape, seq_len), generator=generator)
    targets = torch.full_like(tokens, SILENT)
    targets[..., 4:] = (tokens.unfold(-1, 5, 1) == A).sum(-1) > 2
    return tokens, targets


def place(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ask everywhere which place this is, counted from 0."""
    tokens = torch.randint(8, (*shape, seq_len), generator=generator)
    return tokens, torch.arange(seq_len).expand_as(tokens).clone()


def marked(shape: Sequence[int], seq_len: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """As `place`, with a mark at the first place."""
    tokens, targets = place(shape, seq_len, generator)
    tokens[..., 0] = START
    return tokens, targets


def _asked_at_the_end(tokens: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
    tokens[..., -1] = QUESTION
    targets = torch.full_like(tokens, SILENT)
    targets[..., -1] = answers
    return tokens, targets


Task = Callable[[Sequence[int], int, torch.Generator], tuple[Tensor, Tensor]]

TASKS: dict[str, Task] = {
    "order": order,
    "back": back,
    "local": local,
    "count": count,
    "place": place,
    "marked": marked,
}


class Encoding(nn.Module):
    """No encoding; a contender overrides what it does otherwise."""

    ends = False
    """Whether there is nothing beyond the trained length, so that no more can be measured."""
    between = True
    """Whether positions between whole ones mean anything, so that they can be interpolated."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Give the embeddings `x`, (..., seq_len, width), their positions."""
        return x

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Give queries or keys, (..., heads, seq_len, width), their positions."""
        return x

    def bias(self, positions: Tensor) -> Tensor:
        """Return what is added to the scores, broadcast to (heads, seq_len, seq_len)."""
        return torch.zeros(())


class Sinusoidal(Encoding):
    """Add sines and cosines."""

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add a row to each embedding."""
        return x + _waves(positions, x.shape[-1], self.settings.base)


class Concatenated(Encoding):
    """Half the width for the word, half for sines and cosines."""

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Put a row in the place of the embeddings' second half."""
        half = x.shape[-1] // 2
        rows = _waves(positions, half, self.settings.base).expand(*x.shape[:-1], half)
        return torch.cat((x[..., :half], rows), -1)


def _waves(positions: Tensor, width: int, base: float) -> Tensor:
    """Sinusoidal rows of positions that `vmap` may have stacked, which numpy couldn't read."""
    omega = torch.from_numpy(angular_frequencies(width, base=base))
    angles = positions.double()[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).float()


class Learned(Encoding):
    """Add rows of a table that is trained; it ends at the trained length."""

    ends = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.table = nn.Parameter(torch.randn(settings.seq_len, WIDTH) * settings.start)

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add a row to each embedding."""
        return x + self.table[positions]


class Fixed(Encoding):
    """Add rows of a table that isn't trained, each as long as a sinusoidal row."""

    ends = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        rows = self.draw(settings.seq_len)
        self.table: Tensor
        self.register_buffer("table", F.normalize(rows) * (WIDTH / 2) ** 0.5)

    def draw(self, seq_len: int) -> Tensor:
        """Return rows, (seq_len, WIDTH): here, independent random ones."""
        return torch.randn(seq_len, WIDTH)

    def rows(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add a row to each embedding."""
        return x + self.table[positions]


class Shuffled(Fixed):
    """The sinusoidal rows in random order."""

    def draw(self, seq_len: int) -> Tensor:
        """Return the rows."""
        return torch.from_numpy(sinusoidal_encoding(seq_len, WIDTH))[torch.randperm(seq_len)]


class Smooth(Fixed):
    """Random rows, neighbors alike, on a closed loop: no direction leads from first to last."""

    def draw(self, seq_len: int) -> Tensor:
        """Return three harmonics of a loop, along random directions."""
        angles = 2 * torch.pi * torch.arange(seq_len) / seq_len
        waves = torch.stack([f(h * angles) for h in (1, 2, 3) for f in (torch.sin, torch.cos)])
        directions: Tensor = torch.linalg.qr(torch.randn(WIDTH, 6))[0]
        return (directions @ waves).mT


class Directed(Fixed):
    """Random rows, neighbors not alike, but with one direction that rises from first to last."""

    def draw(self, seq_len: int) -> Tensor:
        """Return random rows of length one, plus a ramp in a random direction."""
        way = torch.randn(WIDTH)
        way /= way.norm()
        noise = F.normalize(torch.randn(seq_len, WIDTH))
        noise = noise - (noise @ way)[:, None] * way
        ramp = torch.linspace(-1, 1, seq_len)[:, None]
        return ramp * way + (1 - ramp**2 / 2).sqrt() * F.normalize(noise)


class Arc(Fixed):
    """A quarter of a circle in random directions: neighbors are alike, and all lead one way."""

    def draw(self, seq_len: int) -> Tensor:
        """Return the points of the arc."""
        angles = torch.linspace(0, torch.pi / 2, seq_len)
        plane: Tensor = torch.linalg.qr(torch.randn(WIDTH, 2))[0]
        return (plane @ torch.stack((angles.cos(), angles.sin()))).mT


class Rotary(Encoding):
    """Turn queries and keys."""

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Turn each pair by its position."""
        return rotate_pairs(x, positions, base=self.settings.base)


class ALiBi(Encoding):
    """Lower each score by the distance, times a slope of the head."""

    def bias(self, positions: Tensor) -> Tensor:
        """Return minus slope times distance."""
        distance = (positions - positions[:, None]).abs()
        return -alibi_slopes(HEADS)[:, None, None] * distance


class T5(Encoding):
    """Add a learned number of each head and each bucket of offsets, the same in all layers.

    Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
    transformer", 2020, section 2.1.
    """

    between = False

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.values = nn.Parameter(torch.randn(32, HEADS) * settings.start)

    def bias(self, positions: Tensor) -> Tensor:
        """Look up the number of each offset's bucket."""
        offsets = positions - positions[:, None]
        return self.values[t5_buckets(offsets)].permute(2, 0, 1)


def t5_buckets(offsets: Tensor) -> Tensor:
    """Bucket of each offset, key minus query, as in T5's encoder: 32 of them.

    Sixteen for each direction: offsets below 8 have one each, larger ones share eight whose bounds
    grow by equal factors, toward 128. The last begins at 91.
    """
    distance = offsets.abs()
    far = 8 + (distance / 8).log() / torch.log(torch.tensor(128 / 8)) * 8
    bucket = torch.where(distance < 8, distance, far.clamp(max=15)).long()
    return bucket + 16 * (offsets > 0)


ENCODINGS: dict[str, type[Encoding]] = {
    "none": Encoding,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rotary": Rotary,
    "ALiBi": ALiBi,
    "T5": T5,
    "concatenated": Concatenated,
    "frozen": Fixed,
    "shuffled": Shuffled,
    "smooth": Smooth,
    "directed": Directed,
    "arc": Arc,
}
"""The contenders; an own one is added with ``ENCODINGS["its name"] = ItsClass``."""


@dataclass(frozen=True)
class Settings:
    """All that tells one experiment from another, apart from the seed."""

    task: str = "order"
    encoding: str = "none"
    causal: bool = False
    base: float = 10_000.0
    layers: int = 2
    residual: bool = True
    scale: float = 1.0
    """The embeddings are multiplied by this before positions are added."""
    start: float = 1.0
    """Standard deviation of embeddings, and of learned tables, at the start."""
    rate: float = 3e-3
    """Learning rate of the first step; it falls to zero in equal steps."""
    seq_len: int = TRAIN_LEN
    batch: int = 16
    steps: int = 240
    sequences: int = 0
    """How many sequences there are to train on; 0 for new ones at every step."""
    spread: int = 0
    """Positions of each step are drawn from so many, in rising order; 0 for the first ones."""


class Attention(nn.Module):
    """Attention with several heads, which asks the encoding where it has a say."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        """Return what each place gathers, (batch, seq_len, width)."""
        q, k, v = self.to_qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        q, k = encoding.turn(q, positions), encoding.turn(k, positions)
        scores = q @ k.mT / q.shape[-1] ** 0.5 + encoding.bias(positions)
        if self.causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        out: Tensor = self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return out


class Layer(nn.Module):
    """Normalize, attend, add; normalize, transform each place by itself, add."""

    def __init__(self, causal: bool, residual: bool) -> None:
        super().__init__()
        self.residual = residual
        self.norm, self.attention = nn.LayerNorm(WIDTH), Attention(causal)
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 2 * WIDTH),
            nn.ReLU(),
            nn.Linear(2 * WIDTH, WIDTH),
        )

    def forward(self, x: Tensor, positions: Tensor, encoding: Encoding) -> Tensor:
        """Return the layer's output, in the shape of `x`."""
        keep = 1.0 if self.residual else 0.0
        x = keep * x + self.attention(self.norm(x), positions, encoding)
        out: Tensor = keep * x + self.mlp(x)
        return out


class Transformer(nn.Module):
    """Embeddings, layers, and an answer at every place."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.words = nn.Embedding(len(LETTERS), WIDTH)
        nn.init.normal_(self.words.weight, std=settings.start)
        layers = [Layer(settings.causal, settings.residual) for _ in range(settings.layers)]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TRAIN_LEN))
        self.encoding = ENCODINGS[settings.encoding](settings)

    def inside(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        """Return what stands before the first layer and after each, (batch, seq_len, width)."""
        x = self.encoding.rows(self.words(tokens) * self.settings.scale, positions)
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], positions, self.encoding))
        return states

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return a score for each answer, (batch, seq_len, answers)."""
        out: Tensor = self.head(self.inside(tokens, positions)[-1])
        return out


@dataclass
class Trained:
    """A stack of models, one for each seed."""

    settings: Settings
    seeds: Sequence[int]
    model: Transformer
    weights: dict[str, Tensor]
    curve: Tensor
    """Accuracy on each batch before the models learn from it, (steps, seeds)."""

    def __call__(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return scores, (seeds, batch, seq_len, answers).

        `tokens` are (seeds, batch, seq_len); `positions` are (seq_len,), or (seeds, seq_len).
        """
        scores: Tensor = self._run(self.model, tokens, positions)
        return scores

    @torch.no_grad()
    def inside(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        """Return what stands before the first layer and after each, with the seed first."""
        states: list[Tensor] = self._run(_Inside(self.model), tokens, positions, "model.")
        return states

    def _run(self, model: nn.Module, tokens: Tensor, positions: Tensor, name: str = "") -> Any:
        def one(weights: dict[str, Tensor], tokens: Tensor, positions: Tensor) -> Any:
            return functional_call(model, weights, (tokens, positions))

        weights = {name + key: value for key, value in self.weights.items()}
        each = 0 if positions.ndim > 1 else None
        return vmap(one, (0, 0, each))(weights, tokens, positions)


class _Inside(nn.Module):
    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, positions: Tensor) -> list[Tensor]:
        return self.model.inside(tokens, positions)


def start(settings: Settings, seed: int) -> Transformer:
    """Return the untrained model of a seed: contenders share all weights but the encoding's."""
    torch.manual_seed(seed)
    return Transformer(settings)


def stack(settings: Settings | Sequence[Settings], seeds: Sequence[int]) -> Trained:
    """Return untrained models, one for each seed.

    `settings` are those of all, or one for each model; those may differ in start and rate alone.
    """
    each = [settings] * len(seeds) if isinstance(settings, Settings) else settings
    models = [start(one, seed) for one, seed in zip(each, seeds, strict=True)]
    weights, fixed = stack_module_state(models)
    return Trained(each[0], seeds, models[0], {**weights, **fixed}, torch.zeros(0, len(seeds)))


def data(settings: Settings, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a seed's model is trained on: tokens, targets, positions, each (steps, …)."""
    generator = torch.Generator().manual_seed(1_000_000 + seed)
    shape = (settings.steps, settings.batch)
    task = TASKS[settings.task]
    if settings.sequences:
        tokens, targets = task((settings.sequences,), settings.seq_len, generator)
        picks = torch.randint(settings.sequences, shape, generator=generator)
        tokens, targets = tokens[picks], targets[picks]
    else:
        tokens, targets = task(shape, settings.seq_len, generator)
    places = torch.rand(settings.steps, max(settings.spread, settings.seq_len), generator=generator)
    if not settings.spread:
        return tokens, targets, torch.arange(settings.seq_len).expand(settings.steps, -1)
    return tokens, targets, places.argsort(-1)[:, : settings.seq_len].sort(-1).values


def _stacked(parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """Stack the first of all seeds, the second of all, and so on."""
    return [torch.stack([part[index] for part in parts]) for index in range(len(parts[0]))]


def train(settings: Settings | Sequence[Settings], seeds: Sequence[int]) -> Trained:
    """Train one model for each seed, all at once.

    Parameters
    ----------
    settings : Settings or sequence of Settings
        Those of all models, or one for each, which may differ in start and rate alone.
    seeds : sequence of int
        One for each model. A seed decides its start and its data.

    Returns
    -------
    Trained

    Examples
    --------
    >>> models = train(Settings("back", "rotary", steps=2), seeds=[0, 1, 2])
    >>> models.curve.shape
    torch.Size([2, 3])
    """
    models = stack(settings, seeds)
    each = [settings] * len(seeds) if isinstance(settings, Settings) else settings
    usual = each[0]
    optimizer = Adam(models.weights, [one.rate for one in each])
    parts = [data(usual, seed) for seed in seeds]
    tokens, targets, positions = _stacked(parts)
    curve = []
    for step in range(usual.steps):
        asked = targets[:, step]
        places = positions[:, step] if usual.spread else positions[0, step]
        scores = models(tokens[:, step], places)
        # A mean over all models; times their number, each gets the gradient of its own loss.
        loss = F.cross_entropy(scores.flatten(0, 2), asked.flatten(), ignore_index=SILENT)
        (loss * len(seeds)).backward()  # type: ignore[no-untyped-call]
        optimizer.step(1 - step / usual.steps)
        curve.append(share(asked, scores.argmax(-1)))
    models.curve = torch.stack(curve) if curve else models.curve
    return models


class Adam:
    """The optimizer of that name, with a learning rate for each model of a stack."""

    def __init__(self, weights: dict[str, Tensor], rates: Sequence[float]) -> None:
        self.weights = [weight for weight in weights.values() if weight.requires_grad]
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.zeros_like(weight) for weight in self.weights]
        self.rates, self.steps = torch.tensor(rates), 0

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Move all weights along their gradients, at `factor` times their rates; forget those."""
        self.steps += 1
        for weight, mean, square in zip(self.weights, self.means, self.squares, strict=True):
            if weight.grad is None:  # a weight that this encoding or depth doesn't use
                continue
            mean.lerp_(weight.grad, 0.1)
            square.mul_(0.999).addcmul_(weight.grad, weight.grad, value=0.001)
            size = (square / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
            rates = self.rates.view(-1, *[1] * (weight.ndim - 1)) * factor
            weight -= rates / (1 - 0.9**self.steps) * mean / size
            weight.grad = None


CHUNK = 256
"""Letters of each model that are looked at together, which bounds the memory."""


def examine(
    models: Trained,
    seq_len: int = TRAIN_LEN,
    positions: Tensor | None = None,
    number: int = 256,
    exam: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Test models on new sequences, others for each seed.

    Of sequences longer than those of the training, only the places beyond are asked.

    Parameters
    ----------
    models : Trained
        Models of one task.
    seq_len : int
        Length of the sequences.
    positions : Tensor, shape (seq_len,), optional
        Positions of the letters; 0, …, seq_len - 1 by default.
    number : int
        How many sequences each model gets.
    exam : int
        Which sequences: another number draws others.

    Returns
    -------
    tokens, targets, answers : Tensor, shape (seeds, number, seq_len)
        Where nothing is asked, the target is `SILENT`.
    """
    tasks = TASKS[models.settings.task]
    parts = []
    for seed in models.seeds:
        generator = torch.Generator().manual_seed(2_000_000 + 1000 * exam + seed)
        parts.append(tasks((number,), seq_len, generator))
    tokens, targets = _stacked(parts)
    if seq_len > models.settings.seq_len:
        targets[..., : models.settings.seq_len] = SILENT
    at = torch.arange(seq_len) if positions is None else positions
    pieces = torch.split(tokens, max(1, CHUNK // seq_len), dim=1)
    with torch.no_grad():
        answers = [models(piece, at).argmax(-1) for piece in pieces]
    return tokens, targets, torch.cat(answers, dim=1)


def share(targets: Tensor, answers: Tensor) -> Tensor:
    """Return the share of right answers among those asked for, one for each model."""
    asked = targets != SILENT
    return ((answers == targets) & asked).sum((1, 2)) / asked.sum((1, 2))


def probe(models: Trained, number: int = 128) -> list[tuple[Tensor, Tensor]]:
    """Read position and word off what stands before the first layer and after each.

    The reader is linear: least squares onto one column for each position, or word; the largest
    column is its answer. It is fitted on half of the sequences and tested on the others.

    Returns
    -------
    list of (Tensor, Tensor)
        For each depth the share of right positions and of right words, one for each model.
    """
    seq_len = models.settings.seq_len
    tokens, _, _ = examine(models, number=2 * number, seq_len=seq_len, exam=1)
    positions = torch.arange(seq_len)
    found = []
    for state in models.inside(tokens, positions):
        known = F.layer_norm(state.double(), state.shape[-1:])
        known = torch.cat((known, torch.ones_like(known[..., :1])), -1)
        fitted, tested = known[:, :number].flatten(1, 2), known[:, number:].flatten(1, 2)
        gram = fitted.mT @ fitted + 1e-3 * torch.eye(known.shape[-1])
        both = []
        for truth in (positions.expand_as(tokens), tokens):
            wanted = F.one_hot(truth[:, :number].flatten(1)).double()
            answers = (tested @ torch.linalg.solve(gram, fitted.mT @ wanted)).argmax(-1)
            both.append((answers == truth[:, number:].flatten(1)).double().mean(1))
        found.append((both[0], both[1]))
    return found


LENGTHS = {16: 256, 32: 128, 64: 64, 128: 48}
"""Lengths at which models are tested, and how many sequences of each."""


def measure(models: Trained, beyond: bool = True) -> dict[str, Tensor]:
    """Return all that the book records of trained models, each with one number for each.

    ``16`` … ``128`` are accuracies by length, where the table goes so far; ``x32`` … the same with
    positions interpolated to the trained range; ``moved`` and ``stretched`` at the trained length
    with positions 16 further on, and twice as far apart; ``known`` on the training's sequences;
    ``position0`` … and ``word0`` … what a linear probe reads before the first layer and after each;
    ``gap0`` … in the order task, accuracy at 64 by the distance of A and B, from 1, 16, 32 and 48
    on. Where `beyond` is false, nothing is measured at other positions than the trained ones.
    """
    settings = models.settings
    trained, spread, task = settings.seq_len, settings.spread, settings.task
    encoding = models.model.encoding
    # Tables end, and so do the answers of the tasks that ask for the place.
    ends = encoding.ends or task in ("place", "marked")
    stretching = encoding.between and beyond and not ends and not spread
    stretching = stretching and task in ("order", "back")
    short = trained == TRAIN_LEN and not settings.sequences
    found = {}
    for seq_len, number in LENGTHS.items():
        if seq_len < trained or (seq_len > trained and (ends or not beyond)):
            continue
        _, targets, answers = examine(models, seq_len, number=number)
        found[f"{seq_len}"] = share(targets, answers)
        if stretching and seq_len > trained:
            at = torch.arange(seq_len) * trained / seq_len
            _, targets, answers = examine(models, seq_len, at, number)
            found[f"x{seq_len}"] = share(targets, answers)
    if stretching:
        here = torch.arange(trained)
        for name, at in (("moved", here + 16), ("stretched", here * 2)):
            _, targets, answers = examine(models, trained, at, 128)
            found[name] = share(targets, answers)
    if settings.sequences:
        found["known"] = _known(models)
    if short and not spread and task != "count":
        for depth, (position, word) in enumerate(probe(models)):
            found[f"position{depth}"], found[f"word{depth}"] = position, word
    if short and task == "order" and beyond and not ends:
        found.update(_by_distance(models))
    return found


def _known(models: Trained) -> Tensor:
    """Accuracy on the sequences that the models were trained on."""
    settings = models.settings
    parts = []
    for seed in models.seeds:
        generator = torch.Generator().manual_seed(1_000_000 + seed)
        shape = (settings.sequences,)
        parts.append(TASKS[settings.task](shape, settings.seq_len, generator))
    tokens, targets = _stacked(parts)
    with torch.no_grad():
        answers = models(tokens, torch.arange(settings.seq_len)).argmax(-1)
    return share(targets, answers)


def _by_distance(models: Trained) -> dict[str, Tensor]:
    """Accuracy at 64 by the distance of A and B."""
    tokens, targets, answers = examine(models, 64, number=192, exam=2)
    right = (answers == targets)[..., -1]
    distance = ((tokens == A).int().argmax(-1) - (tokens == B).int().argmax(-1)).abs()
    found = {}
    for low in (0, 16, 32, 48):
        inside = (distance >= low) & (distance < low + 16)
        found[f"gap{low}"] = (right & inside).sum(1) / inside.sum(1)
    return found


Row = dict[str, Any]
"""One model, with its study, role, seed and settings, and what was measured."""


def records(
    study: str,
    role: str,
    settings: Sequence[Settings],
    seeds: Sequence[int],
    found: dict[str, Tensor],
) -> Iterator[Row]:
    """Yield one row for each model, with 4 digits."""
    for index, (each, seed) in enumerate(zip(settings, seeds, strict=True)):
        values = {key: round(float(column[index]), 4) for key, column in found.items()}
        yield {"study": study, "role": role, "seed": seed, **asdict(each), **values}


def read(path: str | Path) -> list[Row]:
    """Read the table of all models; what wasn't measured for a model is missing in its row."""
    with Path(path).open() as file:
        return [
            {key: _value(text) for key, text in row.items() if text} for row in csv.DictReader(file)
        ]


def settings_of(row: Row) -> Settings:
    """Return the settings of a row of the table."""
    return Settings(**{field.name: row[field.name] for field in fields(Settings)})


def _value(text: str) -> Any:
    """Return a number or a truth value where the text is one."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
