"""Tiny transformers that differ only in how they receive positions, and tasks to train them on.

One experiment is a `Settings`; `train` trains it from several seeds at once, `examine` and
`measure` test the result, and `read` reads the recorded results. The models are stacked: their
weights have a leading axis for the seed. Each model has its own initial weights, data and test, so
a seed gives the same model whether it trains alone or with others, up to rounding.
"""

from posenc import nn  # noqa: F401 - says so if torch is missing
from posenc.book.experiments.encodings import (
    ENCODINGS,
    T5,
    ALiBi,
    Arc,
    Directed,
    Encoding,
    Fixed,
    Learned,
    Rotary,
    Scaled,
    Shuffled,
    Sinusoidal,
    Smooth,
    t5_buckets,
)
from posenc.book.experiments.files import read, records, settings_of
from posenc.book.experiments.measures import (
    by_depth,
    examine,
    measure,
    padded,
    probe,
    share,
    steps_to,
)
from posenc.book.experiments.model import Trained, Transformer, init_model, stack
from posenc.book.experiments.settings import TRAIN_LEN, WIDTH, Settings
from posenc.book.experiments.tasks import (
    LETTERS,
    NO_TARGET,
    TASKS,
    A,
    B,
    back,
    count,
    local,
    marked,
    needle,
    order,
    place,
)
from posenc.book.experiments.training import Adam, data, fine_tune, train

__all__ = [
    "ENCODINGS",
    "LETTERS",
    "NO_TARGET",
    "T5",
    "TASKS",
    "TRAIN_LEN",
    "WIDTH",
    "A",
    "ALiBi",
    "Adam",
    "Arc",
    "B",
    "Directed",
    "Encoding",
    "Fixed",
    "Learned",
    "Rotary",
    "Scaled",
    "Settings",
    "Shuffled",
    "Sinusoidal",
    "Smooth",
    "Trained",
    "Transformer",
    "back",
    "by_depth",
    "count",
    "data",
    "examine",
    "fine_tune",
    "init_model",
    "local",
    "marked",
    "measure",
    "needle",
    "order",
    "padded",
    "place",
    "probe",
    "read",
    "records",
    "settings_of",
    "share",
    "stack",
    "steps_to",
    "t5_buckets",
    "train",
]
