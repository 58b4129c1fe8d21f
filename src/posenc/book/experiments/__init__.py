# mypy: implicit-reexport
# ruff: noqa: F401
"""Tiny transformers that differ only in how they receive positions, and tasks to train them on.

One experiment is a `Settings`; `train` trains it from several seeds at once, `examine` and
`measure` test the result, and `read` reads the recorded results. Weights have a leading axis for
the seed, which gives the same model, up to rounding, whether it trains alone or with others. The
exception is `recall`, which asks at more places from some seeds than from others: those that train
together share one mean of the loss, so a seed's gradient grows with its part of all places asked.
Language models read the prose of this book, `Prose`.
"""

from posenc import nn  # says so if torch is missing
from posenc.book.experiments.encodings import ENCODINGS, Encoding, Scaled
from posenc.book.experiments.measures import (
    accuracy,
    ask,
    examine,
    measure,
)
from posenc.book.experiments.model import (
    data,
    fine_tune,
    init_model,
    stack,
    train,
)
from posenc.book.experiments.settings import (
    TRAIN_LEN,
    Settings,
    read,
    records,
    settings_of,
    write,
)
from posenc.book.experiments.tasks import (
    LETTERS,
    TASKS,
    A,
    B,
    order,
    share,
)
from posenc.book.experiments.text import BEGINNING, Prose
