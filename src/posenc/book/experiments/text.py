"""Language models of characters, trained on the prose of this book."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.model import Trained
from posenc.book.experiments.settings import Settings
from posenc.book.experiments.tasks import TASKS

CHARACTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;?'()-"
HELD_OUT = 8_193  # characters at the end, which no model is trained on

START = "each position gets a row of sines and cosines"  # for models to continue


class Prose:
    """A text, all but its end for training, and the measures of models that read it."""

    def __init__(self, path: str | Path) -> None:
        text = Path(path).read_text(encoding="utf-8")
        _, text = text.split("\n", 1)  # the first line says what the file is
        read = encode(text)
        self.known: Tensor = read[:-HELD_OUT]
        self.unread: Tensor = read[-HELD_OUT:]
        TASKS["prose"] = self.task

    def task(
        self, shape: Sequence[int], seq_len: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Ask at every place for the next character; draw passages from the known text."""
        passages = self.known.unfold(0, seq_len + 1, 1)
        drawn = torch.randint(len(passages), tuple(shape), generator=generator)
        return passages[drawn][..., :-1], passages[drawn][..., 1:]

    def measure(
        self, models: Trained, lengths: Sequence[int]
    ) -> dict[str, Tensor | list[str]]:
        """Return bits per character by length, as far as the encoding goes, and a sample."""
        ends, trained = models.model.encoding.ends, models.settings.seq_len
        more = trained - len(START) if ends else 200
        measured: dict[str, Tensor | list[str]] = {
            "written": continued(models, START, more)
        }
        for seq_len in lengths:
            if seq_len <= trained or not ends:
                measured[f"{seq_len}"] = self.bits(models, seq_len)
        return measured

    @torch.no_grad()
    def bits(self, models: Trained, seq_len: int) -> Tensor:
        """Return bits per character of the unread text, (seeds,).

        Passages overlap by half, and their second halves count: each character is predicted
        once, after at least half of `seq_len`. Beyond the trained length, all are at new places.
        """
        passages = self.unread.unfold(0, seq_len + 1, seq_len // 2)
        lost = []
        for piece in passages.split(max(1, 4096 // seq_len)):  # to limit memory
            asked = piece.expand(len(models.seeds), *piece.shape)
            scores = models(asked[..., :-1], torch.arange(seq_len))
            nats = F.cross_entropy(
                scores.permute(0, 3, 1, 2), asked[..., 1:], reduction="none"
            )
            lost.append(nats[..., seq_len // 2 :].mean(-1))
        return torch.cat(lost, -1).mean(-1) / torch.log(torch.tensor(2.0))


def language_model(encoding: str, task: str = "prose", **others: float) -> Settings:
    """Return the settings of the book's language models, with one encoding."""
    size = {"layers": 3, "width": 64, "symbols": len(CHARACTERS), "window": 16}
    training = {"seq_len": 64, "batch": 16, "steps": 600, "rate": 0.006}
    fields = {**size, **training, "answers": len(CHARACTERS), **others}
    return Settings(task, encoding, causal=True, **fields)


def encode(text: str) -> Tensor:
    """Return the characters' numbers, (len(text),)."""
    return torch.tensor([CHARACTERS.index(character) for character in text])


@torch.no_grad()
def continued(
    models: Trained, start: str, length: int, temperature: float = 0.6
) -> list[str]:
    """Return what each model writes after `start`, drawn with the same random numbers."""
    tokens = encode(start).expand(len(models.seeds), 1, -1)
    generator = torch.Generator().manual_seed(0)
    for _ in range(length):
        scores = models(tokens, torch.arange(tokens.shape[-1]))[:, 0, -1]
        drawn = torch.multinomial(
            (scores / temperature).softmax(-1), 1, generator=generator
        )
        tokens = torch.cat((tokens, drawn[:, None]), -1)
    return ["".join(CHARACTERS[token] for token in row[0]) for row in tokens]
