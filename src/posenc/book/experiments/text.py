"""Language models of characters, which read the prose of this book."""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from posenc.book.experiments.model import Trained
from posenc.book.experiments.tasks import Shape, Texts

CHARACTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;?'()-"
HELD_OUT = 8_193  # characters at the end, which no model is trained on
BEGINNING = "each position gets a row of sines and cosines"  # for models to continue

Measured = dict[str, Tensor | list[str]]  # one value for each model


def encode(text: str) -> Tensor:
    """Return the characters' numbers, (len(text),)."""
    return torch.tensor([CHARACTERS.index(character) for character in text])


class Prose:
    """A text, all but its end for training, and measures of models that read it.

    Models train on it after ``TASKS["prose"] = prose.task``.
    """

    def __init__(self, path: str | Path) -> None:
        whole = Path(path).read_text(encoding="utf-8")
        _, text = whole.split("\n", 1)  # the first line says what the file is
        numbers = encode(text)
        self.known = numbers[:-HELD_OUT]
        self.unread = numbers[-HELD_OUT:]

    def task(self, shape: Shape) -> Texts:
        """Ask at every place of known passages for the next character."""
        *batch, seq_len = shape
        # One character more than is read: each one's target is the next.
        passages = self.known.unfold(0, seq_len + 1, 1)
        picks = torch.randint(len(passages), batch)
        chosen = passages[picks]
        return chosen[..., :-1], chosen[..., 1:]

    def ask(self, models: Trained, seq_len: int) -> Measured:
        """Return bits per character at a length, and what models write up to it."""
        more = min(seq_len - len(BEGINNING), 200)
        return {
            "written": continued(models, more),
            f"{seq_len}": self.bits(models, seq_len),
        }

    @torch.no_grad()
    def bits(self, models: Trained, seq_len: int) -> Tensor:
        """Return bits per character of the unread text, (seeds,).

        Passages overlap by half, and their second halves count: each character is predicted
        once, after at least half of `seq_len`. Beyond the trained length, all are at new places.
        """
        half = seq_len // 2
        passages = self.unread.unfold(0, seq_len + 1, half)
        at_once = 4096 // seq_len or 1  # to limit memory
        nats = []
        for piece in torch.split(passages, at_once):
            texts = piece.expand(len(models.seeds), -1, -1)
            scores = models(texts[..., :-1], torch.arange(seq_len))
            # (seeds, answers, passages, seq_len)
            by_answer = scores.permute(0, 3, 1, 2)
            following = texts[..., 1:]
            nats.append(F.cross_entropy(by_answer, following, reduction="none"))
        second_halves = torch.cat(nats, 1)[..., half:]
        return second_halves.mean((1, 2)) / math.log(2)


@torch.no_grad()
def continued(models: Trained, length: int) -> list[str]:
    """Return what each model writes after `BEGINNING`, (seeds,)."""
    tokens = encode(BEGINNING).expand(len(models.seeds), 1, -1)
    torch.manual_seed(0)
    for _ in range(length):
        positions = torch.arange(tokens.shape[-1])
        scores = models(tokens, positions)[:, 0, -1]  # (seeds, answers)
        # Sharpened, since these models spell likely characters better than rare ones.
        chances = (scores / 0.6).softmax(-1)
        following = torch.multinomial(chances, 1)
        tokens = torch.cat((tokens, following[:, None]), -1)
    return [
        "".join(CHARACTERS[number] for number in text) for text in tokens[:, 0].tolist()
    ]
