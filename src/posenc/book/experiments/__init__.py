"""Tiny transformers that differ only in how they receive positions, and tasks to train them on.

One experiment is a `Settings`; `train` trains it from several seeds at once, `examine` and
`measure` test the result, and `read` reads the recorded results. The models are stacked: their
weights have a leading axis for the seed. Each model has its own initial weights, data and test, so
a seed gives the same model whether it trains alone or with others, up to rounding.
"""

from posenc import nn  # noqa: F401 - says so if torch is missing
from posenc.book.experiments.encodings import ENCODINGS as ENCODINGS
from posenc.book.experiments.encodings import FIXED as FIXED
from posenc.book.experiments.encodings import Encoding as Encoding
from posenc.book.experiments.encodings import Scaled as Scaled
from posenc.book.experiments.encodings import t5_buckets as t5_buckets
from posenc.book.experiments.measures import by_depth as by_depth
from posenc.book.experiments.measures import examine as examine
from posenc.book.experiments.measures import measure as measure
from posenc.book.experiments.measures import padded as padded
from posenc.book.experiments.measures import probe as probe
from posenc.book.experiments.measures import share as share
from posenc.book.experiments.measures import steps_to as steps_to
from posenc.book.experiments.model import Trained as Trained
from posenc.book.experiments.model import init_model as init_model
from posenc.book.experiments.model import stack as stack
from posenc.book.experiments.settings import TRAIN_LEN as TRAIN_LEN
from posenc.book.experiments.settings import WIDTH as WIDTH
from posenc.book.experiments.settings import Settings as Settings
from posenc.book.experiments.settings import read as read
from posenc.book.experiments.settings import records as records
from posenc.book.experiments.settings import settings_of as settings_of
from posenc.book.experiments.tasks import LETTERS as LETTERS
from posenc.book.experiments.tasks import NO_TARGET as NO_TARGET
from posenc.book.experiments.tasks import TASKS as TASKS
from posenc.book.experiments.tasks import A as A
from posenc.book.experiments.tasks import B as B
from posenc.book.experiments.tasks import order as order
from posenc.book.experiments.training import data as data
from posenc.book.experiments.training import fine_tune as fine_tune
from posenc.book.experiments.training import train as train
