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
    Concatenated,
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
from posenc.book.experiments.files import Row, read, records, settings_of
from posenc.book.experiments.measures import (
    by_depth,
    examine,
    measure,
    padded,
    probe,
    share,
    steps_to,
)
from posenc.book.experiments.model import Trained, Transformer, stack, start
from posenc.book.experiments.settings import HEADS, TRAIN_LEN, WIDTH, Settings
from posenc.book.experiments.tasks import (
    LETTERS,
    QUESTION,
    SILENT,
    START,
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
    "HEADS",
    "LETTERS",
    "QUESTION",
    "SILENT",
    "START",
    "T5",
    "TASKS",
    "TRAIN_LEN",
    "WIDTH",
    "A",
    "ALiBi",
    "Adam",
    "Arc",
    "B",
    "Concatenated",
    "Directed",
    "Encoding",
    "Fixed",
    "Learned",
    "Rotary",
    "Row",
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
    "start",
    "steps_to",
    "t5_buckets",
    "train",
]
