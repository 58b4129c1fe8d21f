"""Measurements of trained models."""

from typing import Any

import torch
from torch import Tensor

from posenc.book.experiments.model import FIRST_TRAINING, Trained
from posenc.book.experiments.settings import TRAIN_LEN
from posenc.book.experiments.tasks import NO_TARGET, drawn, share

LENGTHS = {16: 256, 32: 128, 64: 64, 128: 48}  # and numbers of test sequences
FIRST_EXAM = 2_000_000  # seeds of the exams start here


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
    settings = models.settings
    first = FIRST_EXAM + 1000 * exam
    tokens, targets = drawn(settings.task, models.seeds, (number, seq_len), first)
    if seq_len > settings.seq_len:
        targets[..., : settings.seq_len] = NO_TARGET
    return tokens, targets, _answers(models, tokens, positions)


def accuracy(models: Trained, seq_len: int, **options: Any) -> Tensor:
    """Return the share of right answers in `examine`, one per model."""
    _, targets, answers = examine(models, seq_len, **options)
    return share(targets, answers)


def _answers(
    models: Trained, tokens: Tensor, positions: Tensor | None = None
) -> Tensor:
    """Return the models' answers, in the shape of `tokens`."""
    seq_len = tokens.shape[-1]
    if positions is None:
        positions = torch.arange(seq_len)
    pieces = torch.split(tokens, 256 // seq_len or 1, dim=1)  # to limit memory
    with torch.no_grad():
        return torch.cat(
            [models(piece, positions).argmax(-1) for piece in pieces], dim=1
        )


def measure(models: Trained, beyond: bool = True) -> dict[str, Tensor]:
    """Return everything that the book records about trained models, one number per model.

    ``16`` … ``128``: accuracy at the trained length, if it is one of `LENGTHS`, and with `beyond`
    at those above it, as far as encoding and task go.
    ``known``: accuracy on the training sequences, if their number is fixed.

    With `beyond`, for ``order`` and ``back`` alone:

    ``to90``: the steps until nine in ten answers are right.
    ``moved``, ``stretched``: accuracy at the trained length with positions shifted by 16, or twice
    as far apart, and ``x32`` … at longer ones with positions interpolated to the trained range, if
    the encoding goes beyond the trained length and between its places.
    """
    settings, encoding = models.settings, models.model.encoding
    # Tables end at the trained length, and so do the answers in tasks about the place. Sums have
    # none of the other lengths.
    goes_on = not encoding.ends and settings.task not in ("place", "marked", "sums")
    longest = max(LENGTHS) if beyond and goes_on else settings.seq_len
    measured = {
        f"{seq_len}": accuracy(models, seq_len, number=number)
        for seq_len, number in LENGTHS.items()
        if settings.seq_len <= seq_len <= longest
    }
    # Again those that `model.data` draws first, from the same seed.
    if settings.sequences:
        shape = (settings.sequences, settings.seq_len)
        tokens, targets = drawn(settings.task, models.seeds, shape, FIRST_TRAINING)
        measured["known"] = share(targets, _answers(models, tokens))
    if beyond and settings.task in ("order", "back"):
        measured["to90"] = _steps_to_90(models)
        if goes_on and encoding.between:
            measured |= _elsewhere(models)
    return measured


def _elsewhere(models: Trained) -> dict[str, Tensor]:
    """Return accuracies at moved, stretched, and interpolated positions."""
    trained = models.settings.seq_len
    usual = torch.arange(trained)
    measured = {
        "moved": accuracy(models, trained, positions=usual + 16, number=128),
        "stretched": accuracy(models, trained, positions=usual * 2, number=128),
    }
    for seq_len, number in LENGTHS.items():
        if seq_len > trained:
            squeezed = torch.arange(seq_len) * trained / seq_len
            measured[f"x{seq_len}"] = accuracy(
                models, seq_len, positions=squeezed, number=number
            )
    return measured


def _steps_to_90(models: Trained) -> Tensor:
    """Return the number of steps to the first ten batches that are 0.9 right, or all steps."""
    means = models.curve.unfold(0, 10, 1).mean(-1)  # (steps - 9, seeds)
    reached = means >= 0.9
    reached[-1] = True  # in case none reaches it
    return reached.int().argmax(0) + 10


def ask(models: Trained, seq_len: int) -> dict[str, Tensor]:
    """Return accuracy at a length, by its name."""
    return {f"{seq_len}": accuracy(models, seq_len, number=128)}
