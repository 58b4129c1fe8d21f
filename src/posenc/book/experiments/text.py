"""Language models of characters, which read the prose of this book."""

from __future__ import annotations

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from posenc.book.experiments.model import Trained
from posenc.book.experiments.tasks import TASKS, Shape, Texts

CHARACTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;?'()-"
HELD_OUT = 8_193  # characters at the end, which no model is trained on
BEGINNING = "each position gets a row of sines and cosines"  # for models to continue


def encode(text: str) -> Tensor:
    """Return the characters' numbers, (len(text),)."""
    return torch.tensor([CHARACTERS.index(character) for character in text])


class Prose:
    """A text, all but its end for training, and measures of models that read it.

    Models train on it as the task `prose`, after `register`.
    """

    def __init__(self, path: str | Path) -> None:
        whole = Path(path).read_text(encoding="utf-8")
        _, text = whole.split("\n", 1)  # the first line says what the file is
        numbers = encode(text)
        self.known: Tensor = numbers[:-HELD_OUT]
        self.unread: Tensor = numbers[-HELD_OUT:]

    def register(self) -> None:
        """Make this text the task `prose` of this process, in place of another."""
        TASKS["prose"] = self.task

    def task(self, shape: Shape, seq_len: int, generator: Generator) -> Texts:
        """Ask at every place of known passages for the next character."""
        # One character more than is read: each one's target is the next.
        passages = self.known.unfold(0, seq_len + 1, 1)
        number = len(passages)
        picks = torch.randint(number, tuple(shape), generator=generator)
        chosen = passages[picks]
        texts = chosen[..., :-1]
        targets = chosen[..., 1:]
        return texts, targets

    def ask(self, models: Trained, seq_len: int) -> dict[str, Tensor | list[str]]:
        """Return bits per character at a length, and what models write up to it."""
        more = min(seq_len - len(BEGINNING), 200)
        measured: dict[str, Tensor | list[str]] = {}
        measured["written"] = continued(models, BEGINNING, more)
        measured[f"{seq_len}"] = self.bits(models, seq_len)
        return measured

    @torch.no_grad()
    def bits(self, models: Trained, seq_len: int) -> Tensor:
        """Return bits per character of the unread text, (seeds,).

        Passages overlap by half, and their second halves count: each character is predicted
        once, after at least half of `seq_len`. Beyond the trained length, all are at new places.
        """
        half = seq_len // 2
        positions = torch.arange(seq_len)
        passages = self.unread.unfold(0, seq_len + 1, half)
        lost = []
        at_once = max(1, 4096 // seq_len)  # to limit memory
        for piece in torch.split(passages, at_once):
            asked = piece.expand(len(models.seeds), *piece.shape)
            targets = asked[..., 1:]
            scores = models(asked[..., :-1], positions)
            by_answer = scores.permute(0, 3, 1, 2)  # (seeds, answers, batch, seq_len)
            nats = F.cross_entropy(by_answer, targets, reduction="none")
            second_half = nats[..., half:]
            lost.append(second_half.mean(-1))
        nats_per_character = torch.cat(lost, -1).mean(-1)
        return nats_per_character / math.log(2)


@torch.no_grad()
def continued(models: Trained, beginning: str, length: int) -> list[str]:
    """Return what each model writes after `beginning`, (seeds,)."""
    tokens = encode(beginning).expand(len(models.seeds), 1, -1)
    generator = Generator().manual_seed(0)
    for _ in range(length):
        positions = torch.arange(tokens.shape[-1])
        scores = models(tokens, positions)[:, 0, -1]  # (seeds, answers)
        # Sharpened, since these models spell likely characters better than rare ones.
        chances = (scores / 0.6).softmax(-1)
        following = torch.multinomial(chances, 1, generator=generator)
        tokens = torch.cat((tokens, following[:, None]), -1)
    return ["".join(CHARACTERS[number] for number in row[0]) for row in tokens]
