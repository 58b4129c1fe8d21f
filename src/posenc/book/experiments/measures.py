"""Measurements of trained models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.model import Trained
from posenc.book.experiments.settings import TRAIN_LEN
from posenc.book.experiments.tasks import NO_TARGET, TASKS, A, B


def stacked(parts: Iterable[tuple[Tensor, ...]]) -> list[Tensor]:
    """Stack the first tensors of all seeds, the second ones, and so on."""
    return [torch.stack(each) for each in zip(*parts, strict=True)]


def drawn(models: Trained, shape: Sequence[int], seq_len: int, first: int) -> list[Tensor]:
    """Draw tokens and targets, (seeds, *shape, seq_len), with generators from `first` on."""
    task = TASKS[models.settings.task]
    generators = (torch.Generator().manual_seed(first + seed) for seed in models.seeds)
    return stacked(task(shape, seq_len, generator) for generator in generators)


CHUNK = 256
"""Letters that each model reads at a time, to limit memory."""


def examine(
    models: Trained,
    seq_len: int = TRAIN_LEN,
    positions: Tensor | None = None,
    number: int = 256,
    exam: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Test models on new sequences, different for each seed and each exam.

    In sequences longer than the trained length, only the places beyond it count. Positions, of
    shape (seq_len,), are 0, …, seq_len - 1 by default.

    Returns
    -------
    tokens, targets, answers : Tensor, shape (seeds, number, seq_len)
        Where nothing is asked, the target is `NO_TARGET`.
    """
    tokens, targets = drawn(models, (number,), seq_len, 2_000_000 + 1000 * exam)
    if seq_len > models.settings.seq_len:
        targets[..., : models.settings.seq_len] = NO_TARGET
    return tokens, targets, _answers(models, tokens, positions)


def _answers(models: Trained, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
    """Return the models' answers, in the shape of `tokens`."""
    seq_len = tokens.shape[-1]
    at = torch.arange(seq_len) if positions is None else positions
    pieces = torch.split(tokens, max(1, CHUNK // seq_len), dim=1)
    with torch.no_grad():
        return torch.cat([models(piece, at).argmax(-1) for piece in pieces], dim=1)


def share(targets: Tensor, answers: Tensor) -> Tensor:
    """Return the share of right answers among the places asked, one per model."""
    asked = targets != NO_TARGET
    return ((answers == targets) & asked).sum((1, 2)) / asked.sum((1, 2))


def probe(models: Trained, number: int = 128) -> list[tuple[Tensor, Tensor]]:
    """Predict position and word from the first layer's input and each layer's output.

    The probe is linear: least squares onto one-hot positions, or words; the largest output is its
    answer. It is fitted on half of the sequences and tested on the other half. For each depth, it
    returns the shares of right positions and right words, each (seeds,).
    """
    seq_len = models.settings.seq_len
    tokens, _, _ = examine(models, number=2 * number, seq_len=seq_len, exam=1)
    positions = torch.arange(seq_len)
    found = []
    for state in models.hidden_states(tokens, positions):
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
"""Length → number of test sequences."""


def measure(models: Trained, beyond: bool = True) -> dict[str, Tensor]:
    """Return everything that the book records about trained models, one number per model.

    ``16`` … ``128`` are accuracies by length, as far as the encoding goes, and ``x32`` … the same
    with positions interpolated to the trained range. ``to90`` is the result of `steps_to`.
    ``moved`` and ``stretched`` are accuracies at the trained length with positions shifted by 16,
    or twice as far apart, and ``known`` is that on the training sequences. ``position0`` … and
    ``word0`` … come from `probe`. In the order task, ``gap0`` … are accuracies at length 64 by the
    distance between A and B, from 1, 16, 32 and 48 on, and ``early`` and ``late`` come from
    `padded`. If `beyond` is false, only trained positions are tested.
    """
    settings = models.settings
    trained, spread, task = settings.seq_len, settings.spread, settings.task
    encoding = models.model.encoding
    # Tables end at the trained length, and so do the answers in tasks about the place.
    ends = encoding.ends or task in ("place", "marked")
    stretching = encoding.between and beyond and not ends and not spread
    stretching = stretching and task in ("order", "back")
    short = trained == TRAIN_LEN and not settings.sequences
    found = {}

    def ask(name: str, *how: Any) -> None:
        found[name] = share(*examine(models, *how)[1:])

    for seq_len, number in LENGTHS.items():
        if seq_len < trained or (seq_len > trained and (ends or not beyond)):
            continue
        ask(f"{seq_len}", seq_len, None, number)
        if stretching and seq_len > trained:
            ask(f"x{seq_len}", seq_len, torch.arange(seq_len) * trained / seq_len, number)
    if stretching:
        ask("moved", trained, torch.arange(trained) + 16, 128)
        ask("stretched", trained, torch.arange(trained) * 2, 128)
    if settings.sequences:
        tokens, targets = drawn(models, (settings.sequences,), trained, 1_000_000)
        found["known"] = share(targets, _answers(models, tokens))
    if short and not spread and task != "count":
        for depth, (position, word) in enumerate(probe(models)):
            found[f"position{depth}"], found[f"word{depth}"] = position, word
    if short and settings.steps and task in ("order", "back") and beyond and not spread:
        found["to90"] = steps_to(models)
    if short and task == "order" and beyond and not ends:
        found.update(_by_distance(models))
        found["early"], found["late"] = (padded(models, where) for where in ("early", "late"))
    return found


def steps_to(models: Trained, accuracy: float = 0.9, window: int = 10) -> Tensor:
    """Return the number of training steps to reach an accuracy, one number per model.

    It counts to the end of the first window of batches whose mean is at least `accuracy`, or all.
    """
    window = min(window, len(models.curve))
    means = models.curve.unfold(0, window, 1).mean(-1)  # (steps - window + 1, seeds)
    there = torch.cat((means >= accuracy, torch.ones_like(means[:1], dtype=torch.bool)))
    return (there.int().argmax(0) + window).clamp(max=len(models.curve))


def padded(models: Trained, where: str, seq_len: int = 64, number: int = 128) -> Tensor:
    """Return accuracy in the order task on sequences of trained length, padded with filler.

    With ``where="late"`` the filler comes first: A, B and the question are as far apart as in
    training. With ``where="early"`` it comes before the question: A and B are as close together as
    in training, but the question is far away.
    """
    tokens, targets, _ = examine(models, number=number, seq_len=models.settings.seq_len, exam=4)
    generator = torch.Generator().manual_seed(4_000_000)
    more = seq_len - tokens.shape[-1]
    filler = torch.randint(8, (*tokens.shape[:2], more), generator=generator)
    parts = (filler, tokens) if where == "late" else (tokens[..., :-1], filler, tokens[..., -1:])
    longer = torch.cat(parts, -1)
    asked = F.pad(targets[..., -1:], (seq_len - 1, 0), value=NO_TARGET)
    return share(asked, _answers(models, longer))


def by_depth(models: Trained, seq_len: int, parts: int = 4, number: int = 192) -> Tensor:
    """Return accuracy in the needle task by the needle's part of the text, (parts, seeds)."""
    tokens, targets, answers = examine(models, seq_len, number=number, exam=5)
    right = (answers == targets)[..., -1]
    part = (tokens == A).int().argmax(-1) * parts // (seq_len - 1)
    return torch.stack([(right & (part == p)).sum(1) / (part == p).sum(1) for p in range(parts)])


def _by_distance(models: Trained) -> dict[str, Tensor]:
    """Return accuracy at length 64 by the distance between A and B."""
    tokens, targets, answers = examine(models, 64, number=192, exam=2)
    right = (answers == targets)[..., -1]
    distance = ((tokens == A).int().argmax(-1) - (tokens == B).int().argmax(-1)).abs()
    found = {}
    for low in (0, 16, 32, 48):
        inside = (distance >= low) & (distance < low + 16)
        found[f"gap{low}"] = (right & inside).sum(1) / inside.sum(1)
    return found
