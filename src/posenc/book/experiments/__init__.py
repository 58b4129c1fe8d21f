# mypy: implicit-reexport
# ruff: noqa: F401
"""Tiny transformers that differ only in how they receive positions, and tasks to train them on.

One experiment is a `Settings`; `train` trains it from several seeds at once, `examine` and
`measure` test the result, and `read` reads the recorded results. Weights have a leading axis for
the seed, which gives the same model, up to rounding, whether it trains alone or with others.
"""

from posenc import nn  # says so if torch is missing
from posenc.book.experiments.encodings import ENCODINGS, FIXED, Encoding, Scaled
from posenc.book.experiments.measures import (
    LENGTHS,
    accuracy,
    by_depth,
    examine,
    measure,
    padded,
    probe,
    steps_to,
)
from posenc.book.experiments.model import (
    Trained,
    data,
    fine_tune,
    init_model,
    stack,
    train,
)
from posenc.book.experiments.settings import (
    TRAIN_LEN,
    WIDTH,
    Settings,
    read,
    records,
    settings_of,
)
from posenc.book.experiments.text import Prose, continued, language_model
from posenc.book.experiments.tasks import LETTERS, NO_TARGET, TASKS, A, B, order, share
