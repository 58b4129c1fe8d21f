"""Tables of models, as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from posenc.book.experiments.settings import Settings

Row = dict[str, Any]
"""One model: its study, role, seed and settings, and what was measured."""


def records(
    study: str,
    role: str,
    settings: Sequence[Settings],
    seeds: Sequence[int],
    found: dict[str, Tensor],
) -> Iterator[Row]:
    """Yield one row per model, with values rounded to 4 digits."""
    for index, (each, seed) in enumerate(zip(settings, seeds, strict=True)):
        values = {key: round(float(column[index]), 4) for key, column in found.items()}
        yield {"study": study, "role": role, "seed": seed, **asdict(each), **values}


def read(path: str | Path) -> list[Row]:
    """Read a table of models; rows lack the keys that weren't measured."""
    with Path(path).open() as file:
        return [
            {key: _value(text) for key, text in row.items() if text} for row in csv.DictReader(file)
        ]


def settings_of(row: Row) -> Settings:
    """Return the settings of a row of the table."""
    return Settings(**{field.name: row[field.name] for field in fields(Settings)})


def _value(text: str) -> Any:
    """Parse text as a bool, an int or a float, if possible."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
