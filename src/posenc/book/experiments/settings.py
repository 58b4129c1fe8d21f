"""Settings of an experiment, and the tables of models, as CSV files."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

HEADS = 4
WIDTH = 32  # of a model that reads letters
TRAIN_LEN = 16  # the usual length of its training sequences


# The defaults belong to the recorded tables: `write` leaves out what equals them, and `read` puts
# them back. With another default, rows that were stored would say that they were trained with it.
@dataclass(frozen=True)
class Settings:
    """Everything that distinguishes experiments, apart from the seed."""

    task: str = "order"  #: A key of `TASKS`
    encoding: str = "none"  #: A key of `ENCODINGS`
    causal: bool = False  #: Whether later letters are masked
    base: float = 10_000.0  #: Base of the frequencies, for encodings that have them
    layers: int = 2
    scale: float = 1.0  #: Factor on the embeddings, before positions are added
    #: Standard deviation of embeddings and learned tables before training
    init_std: float = 1.0
    rate: float = 3e-3  #: Initial learning rate; it decays linearly to zero
    seq_len: int = TRAIN_LEN  #: Length of the training sequences
    batch: int = 16  #: Sequences per step
    steps: int = 240
    sequences: int = 0  #: Number of training sequences; 0 for fresh ones at every step
    #: Draw each step's sorted positions from this many; 0 for 0, …, seq_len - 1
    spread: int = 0
    window: int = 8  #: Places that a local layer sees, in encodings that have such
    width: int = WIDTH
    symbols: int = 12  #: Size of the alphabet
    answers: int = 16  #: Number of possible answers


# One model: its study, role, seed and settings, and what was measured.
Row = dict[str, Any]
DEFAULT = asdict(Settings())
# What reads columns that aren't measured numbers; `written` is what a model wrote.
KINDS: dict[str, Callable[[str], Any]]
KINDS = {name: type(value) for name, value in DEFAULT.items()}
KINDS |= {"study": str, "role": str, "seed": int, "written": str}
KINDS["causal"] = lambda text: text == "True"  # `bool` would take "False" for true


def records(
    study: str,
    role: str,
    settings: Settings,
    seeds: Sequence[int],
    measured: Mapping[str, Tensor | Sequence[str]],
) -> Iterator[Row]:
    """Yield one row per model, with numbers rounded to 4 digits."""
    for index, seed in enumerate(seeds):
        row: Row = {"study": study, "role": role, "seed": seed} | asdict(settings)
        for key, column in measured.items():
            value = column[index]
            row[key] = value if isinstance(value, str) else round(float(value), 4)
        yield row


def write(path: str | Path, rows: Sequence[Row]) -> None:
    """Write a table of models, without the settings that have their default."""
    short = [
        {key: value for key, value in row.items() if DEFAULT.get(key) != value}
        for row in rows
    ]
    columns = dict.fromkeys(key for row in short for key in row)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(short)


def read(path: str | Path) -> list[Row]:
    """Read a table of models; rows lack the keys that weren't measured."""
    with Path(path).open(encoding="utf-8") as file:
        return [
            DEFAULT
            | {key: KINDS.get(key, float)(text) for key, text in row.items() if text}
            for row in csv.DictReader(file)
        ]


def settings_of(row: Row) -> Settings:
    """Return the settings of a row of the table."""
    return Settings(**{name: row[name] for name in DEFAULT})
