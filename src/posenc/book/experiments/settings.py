"""Settings of an experiment, and the tables of models, as CSV files."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor

WIDTH, HEADS, TRAIN_LEN = (
    32,
    4,
    16,
)  # of the model; the usual length of its training sequences


@dataclass(frozen=True)
class Settings:
    """Everything that distinguishes experiments, apart from the seed."""

    task: str = "order"  #: A key of `TASKS`
    encoding: str = "none"  #: A key of `ENCODINGS`
    causal: bool = False  #: Whether later letters are masked
    base: float = 10_000.0  #: Base of the frequencies, for encodings that have them
    layers: int = 2
    residual: bool = True  #: Whether the layers have residual connections
    scale: float = 1.0  #: Factor on the embeddings, before positions are added
    init_std: float = (
        1.0  #: Standard deviation of embeddings and learned tables before training
    )
    rate: float = 3e-3  #: Initial learning rate; it decays linearly to zero
    seq_len: int = TRAIN_LEN  #: Length of the training sequences
    batch: int = 16  #: Sequences per step
    steps: int = 240
    sequences: int = 0  #: Number of training sequences; 0 for fresh ones at every step
    spread: int = (
        0  #: Draw each step's sorted positions from this many; 0 for 0, …, seq_len - 1
    )
    window: int = 8  #: Letters that a local layer sees, in encodings that have such
    width: int = WIDTH
    symbols: int = 12  #: Size of the alphabet
    answers: int = TRAIN_LEN  #: Number of possible answers


Row = dict[
    str, Any
]  # one model: its study, role, seed and settings, and what was measured


def records(
    study: str,
    role: str,
    settings: Sequence[Settings],
    seeds: Sequence[int],
    found: Mapping[str, Tensor | Sequence[str]],
) -> Iterator[Row]:
    """Yield one row per model, with numbers rounded to 4 digits."""
    for index, (each, seed) in enumerate(zip(settings, seeds, strict=True)):
        values = {key: _short(column[index]) for key, column in found.items()}
        yield {"study": study, "role": role, "seed": seed, **asdict(each), **values}


def _short(value: Tensor | str) -> float | str:
    return value if isinstance(value, str) else round(float(value), 4)


def read(path: str | Path) -> list[Row]:
    """Read a table of models; rows lack the keys that weren't measured."""
    with Path(path).open() as file:
        rows = csv.DictReader(file)
        return [
            asdict(Settings())
            | {key: _value(text) for key, text in row.items() if text}
            for row in rows
        ]


def settings_of(row: Row) -> Settings:
    """Return the settings of a row of the table."""
    return Settings(**{field.name: row[field.name] for field in fields(Settings)})


@cache
def _value(text: str) -> Any:
    """Parse text as a bool, an int or a float, if possible."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
