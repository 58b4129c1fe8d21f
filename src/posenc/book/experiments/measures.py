"""Measurements of trained models."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.model import Trained
from posenc.book.experiments.settings import TRAIN_LEN
from posenc.book.experiments.tasks import NO_TARGET, A, B, drawn, share


def examine(
    models: Trained,
    seq_len: int = TRAIN_LEN,
    positions: Tensor | None = None,
    number: int = 256,
    exam: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Test models on new sequences, different for each seed and each exam.

    Return tokens, targets and answers, each (seeds, number, seq_len). In sequences longer than the
    trained length, only the places beyond it count. Positions, (seq_len,), are 0, … by default.
    """
    settings, first = models.settings, 2_000_000 + 1000 * exam
    tokens, targets = drawn(settings.task, models.seeds, (number,), seq_len, first)
    if seq_len > settings.seq_len:
        targets[..., : settings.seq_len] = NO_TARGET
    return tokens, targets, _answers(models, tokens, positions)


def accuracy(
    models: Trained, seq_len: int, number: int = 256, exam: int = 0
) -> Tensor:
    """Return the share of right answers in an exam, one per model."""
    _, targets, answers = examine(models, seq_len, number=number, exam=exam)
    return share(targets, answers)


def _answers(
    models: Trained, tokens: Tensor, positions: Tensor | None = None
) -> Tensor:
    """Return the models' answers, in the shape of `tokens`."""
    seq_len = tokens.shape[-1]
    at = torch.arange(seq_len) if positions is None else positions
    pieces = torch.split(tokens, max(1, 256 // seq_len), dim=1)  # to limit memory
    with torch.no_grad():
        return torch.cat([models(piece, at).argmax(-1) for piece in pieces], dim=1)


@torch.no_grad()
def probe(models: Trained, number: int = 128) -> list[tuple[Tensor, Tensor]]:
    """Predict position and word from the first layer's input and each layer's output.

    The probe is linear: least squares onto one-hot positions, or words, fitted on half of the
    sequences. For each depth, it returns the shares of right ones in the other half, (seeds,).
    """
    seq_len = models.settings.seq_len
    tokens, _, _ = examine(models, number=2 * number, seq_len=seq_len, exam=1)
    positions = torch.arange(seq_len)
    found = []
    for state in models(tokens, positions, states=True):
        known = F.layer_norm(state.double(), state.shape[-1:])
        known = torch.cat((known, torch.ones_like(known[..., :1])), -1)
        fitted, tested = (
            known[:, :number].flatten(1, 2),
            known[:, number:].flatten(1, 2),
        )
        gram = fitted.mT @ fitted + 1e-3 * torch.eye(known.shape[-1])
        both = []
        for truth in (positions.expand_as(tokens), tokens):
            wanted = F.one_hot(truth[:, :number].flatten(1)).double()
            answers = (tested @ torch.linalg.solve(gram, fitted.mT @ wanted)).argmax(-1)
            both.append((answers == truth[:, number:].flatten(1)).double().mean(1))
        found.append((both[0], both[1]))
    return found


LENGTHS = {16: 256, 32: 128, 64: 64, 128: 48}  # and numbers of test sequences


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
    settings, encoding = models.settings, models.model.encoding
    trained, task = settings.seq_len, settings.task
    # Tables end at the trained length, and so do the answers in tasks about the place.
    ends = encoding.ends or task in ("place", "marked")
    usual = beyond and not settings.spread and task in ("order", "back")
    stretching = usual and encoding.between and not ends
    short = trained == TRAIN_LEN and not settings.sequences
    found = {}

    def ask(name: str, *how: Any) -> None:
        found[name] = share(*examine(models, *how)[1:])

    for seq_len, number in LENGTHS.items():
        if seq_len < trained or (seq_len > trained and (ends or not beyond)):
            continue
        ask(f"{seq_len}", seq_len, None, number)
        if stretching and seq_len > trained:
            ask(
                f"x{seq_len}",
                seq_len,
                torch.arange(seq_len) * trained / seq_len,
                number,
            )
    if stretching:
        ask("moved", trained, torch.arange(trained) + 16, 128)
        ask("stretched", trained, torch.arange(trained) * 2, 128)
    if settings.sequences:
        tokens, targets = drawn(
            task, models.seeds, (settings.sequences,), trained, 1_000_000
        )
        found["known"] = share(targets, _answers(models, tokens))
    if short and not settings.spread and task != "count":
        for depth, (position, word) in enumerate(probe(models)):
            found |= {f"position{depth}": position, f"word{depth}": word}
    if short and settings.steps and usual:
        found["to90"] = steps_to(models)
    if short and task == "order" and beyond and not ends:
        tokens, targets, answers = examine(models, 64, number=192, exam=2)
        distance = (
            (tokens == A).int().argmax(-1) - (tokens == B).int().argmax(-1)
        ).abs()
        gaps = _by_part(targets, answers, distance // 16, 4)
        found |= {f"gap{16 * part}": gap for part, gap in enumerate(gaps)}
        found |= {where: padded(models, where) for where in ("early", "late")}
    return found


def steps_to(models: Trained, accuracy: float = 0.9, window: int = 10) -> Tensor:
    """Return the number of steps to the first window of batches with an accuracy, or all steps."""
    window = min(window, len(models.curve))
    means = models.curve.unfold(0, window, 1).mean(-1)  # (steps - window + 1, seeds)
    there = torch.cat((means >= accuracy, torch.ones_like(means[:1], dtype=torch.bool)))
    return (there.int().argmax(0) + window).clamp(max=len(models.curve))


def padded(models: Trained, where: str, seq_len: int = 64, number: int = 128) -> Tensor:
    """Return accuracy in the order task on sequences of trained length, padded with filler.

    The filler comes first with ``where="late"``, and before the question with ``where="early"``.
    """
    tokens, targets, _ = examine(
        models, number=number, seq_len=models.settings.seq_len, exam=4
    )
    generator = torch.Generator().manual_seed(4_000_000)
    more = seq_len - tokens.shape[-1]
    filler = torch.randint(8, (*tokens.shape[:2], more), generator=generator)
    parts = (
        (filler, tokens)
        if where == "late"
        else (tokens[..., :-1], filler, tokens[..., -1:])
    )
    longer = torch.cat(parts, -1)
    asked = F.pad(targets[..., -1:], (seq_len - 1, 0), value=NO_TARGET)
    return share(asked, _answers(models, longer))


def by_depth(
    models: Trained, seq_len: int, parts: int = 4, number: int = 192
) -> Tensor:
    """Return accuracy in the needle task by the needle's part of the text, (parts, seeds)."""
    tokens, targets, answers = examine(models, seq_len, number=number, exam=5)
    part = (tokens == A).int().argmax(-1) * parts // (seq_len - 1)
    return _by_part(targets, answers, part, parts)


def _by_part(targets: Tensor, answers: Tensor, part: Tensor, parts: int) -> Tensor:
    """Return accuracy at the last place by a sequence's part, (parts, seeds)."""
    right = (answers == targets)[..., -1]
    return torch.stack(
        [(right & (part == p)).sum(1) / (part == p).sum(1) for p in range(parts)]
    )
