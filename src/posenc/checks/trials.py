"""Trials and laws: what is compared, how a law is judged, and how its cause is found.

A law is a function of a subject, which returns trials: arrays that code gave, those that it should
give, and how far apart they may be. It raises `Skip` if it doesn't apply, and `Broken` if it is
broken in a way that isn't a number. `Raised` means that the code under test raised. Any other
exception is a failure of these checks, "internal".
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posenc._validate import check_choice
from posenc.checks.reports import NO_CAUSE, Row
from posenc.conventions import Floats, Reference
from posenc.museum import Fault, along

if TYPE_CHECKING:
    from posenc.checks.decoders import Decoder, Text
    from posenc.checks.subjects import Subject

SEED = int(os.environ.get("POSENC_SEED", "0"))  # of all that is drawn
NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
KINDS = ("table", "module", "rotary", "bias", "decoder", "positions")
ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
OTHER_KIND = "another kind isn't asked this"
ON_REQUEST = ("meta", "device", "compile")  # rarely asked, or they load a compiler
RAISES = "your code raises this error, whose traceback is the report's `error`; it is called as "
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"


class Skip(Exception):  # noqa: N818
    """A law doesn't apply to this subject; the message says why, or what to pass."""


class Broken(Exception):  # noqa: N818
    """A law is broken in a way that isn't a number: how, and what made it so, if that was seen."""

    def __init__(self, how: str, cause: str = "") -> None:
        super().__init__(how)
        self.cause = cause


class Raised(Exception):  # noqa: N818
    """The code under test raised an exception, which is the cause of this one."""


def user(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call code that isn't ours: an exception of its own is `Raised`."""
    try:
        return call(*given, **named)
    except Exception as error:
        raise Raised from error


class EncodingCall(NamedTuple):
    """A call of a table, a module or a rotation. A trial's axes end in "position", "dimension"."""

    right: Reference
    x: Floats  # (..., seq_len, width)
    k: Floats  # positions, (..., seq_len)


class BiasCall(NamedTuple):
    """A call that gives a bias, (heads, entries)."""

    slopes: Floats  # the right ones, (heads, 1)
    k: Floats  # how far each key is from its query, (entries,)
    past: Floats  # the measured bias of the last query by distance, (heads, seq_len)


class DecoderCall(NamedTuple):
    """A text that is read in chunks."""

    decoder: Decoder
    text: Text
    lengths: Sequence[int]  # of all chunks but the last


class IdsCall(NamedTuple):
    """A call that builds position ids."""

    right: Floats
    given: Floats  # the mask, the segments or the sizes of images


@dataclass(frozen=True)
class Trial:
    """One comparison. A bound of 0 asks for equal numbers.

    If it has a call, of one of the four kinds above, known faults can be run on the same.
    """

    words: str
    given: Floats
    meant: Floats
    bounds: Floats | float = 0.0
    axes: tuple[str, ...] = ()
    call: Any = None
    rounded: bool = False  # to a half type, of which faults in other types say nothing
    # How much positions may be off, times these, by rounding of angles
    apart: float = 0.0

    def __post_init__(self) -> None:
        """Raise `Broken` unless the two can be compared."""
        if self.given.shape != self.meant.shape:
            raise Broken(f"shape {self.given.shape} for {self.meant.shape}")

    @property
    def ratio(self) -> Floats:
        """Each entry's error in units of its bound; NaN counts as infinite."""
        ratio = np.abs(self.given - self.meant) / np.maximum(self.bounds, 1e-300)
        return np.where(np.isnan(ratio), np.inf, ratio)

    @property
    def worst(self) -> float:
        """The largest error in units of its bound."""
        return float(self.ratio.max())

    @cached_property
    def failing(self) -> Any:
        """Which rows of an encoding have an entry beyond its bound; of others, all entries."""
        if "position" not in self.axes:
            return ...
        return (self.ratio > 1).any(axis=-1)

    def unlike(self, make: Callable[..., Any]) -> Floats:
        """How far a fault is from what was given, beyond what rounding explains."""
        made = make(*self.call)
        # A fault may have greater angles than are right, which are rounded more.
        off = np.abs(made - self.given) - self.bounds
        if self.apart:
            right, x, k = self.call
            for times in (1 - self.apart, 1 + self.apart):
                off -= np.abs(made - make(right, x, k * times))
        return np.where(np.isnan(off), np.inf, off)

    def filled(self, row: Row) -> Row:
        """Put into a row an error, its bound, and where: the first beyond it, or the nearest."""
        ratio, wrong = self.ratio, self.worst > 1
        place = (ratio > 1 if wrong else ratio).argmax()
        entry = np.unravel_index(int(place), ratio.shape)
        arrays = np.broadcast_arrays(self.given, self.meant, self.bounds)
        given, meant, bound = (float(array[entry]) for array in arrays)
        names = [f"{name} {n}" for name, n in zip(self.axes, entry, strict=False)]
        if "position" in self.axes:
            names[-2] = f"position {self.call.k[entry[:-1]]:g}"
        note = ", ".join([self.words, *names])
        note += f": {given:.7g} for {meant:.7g}" if wrong else ""
        error = abs(given - meant)
        measured = error if math.isfinite(error) else None
        return replace(row, measured=measured, bound=bound, note=note)


Trials = Iterable[Trial]
LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""


@dataclass
class Law:
    """A law; the function that it decorates becomes its test, and the law is listed."""

    name: str
    kinds: tuple[str, ...]  # of subjects
    asks: str
    source: str = "exact"  # of its bound
    cure: str = ""  # what is said if it is broken, and no known fault gives the same
    # A function of the subject that returns trials, or raises `Broken`
    test: Any = None

    def __call__(self, test: Callable[[Any], Trials | None]) -> None:
        """Keep the test."""
        self.test = test
        LAWS.append(self)


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    check_choice("kind", kind, KINDS)
    wanted = list(names or set(laws_of(kind)) - set(ON_REQUEST))
    for name in wanted:
        check_choice(f"law of a {kind}", name, laws_of(kind))
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Subject, laws: Iterable[Law]) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in laws:
        row = Row(law.name, law.asks, law.source)
        if root:
            row = replace(row, status="follows", note=f"follows from {root}")
        else:
            row = judge(subject, law, row)
        if row.status == "failed" and law.name in ROOTS:
            root = law.name
        yield row


def judge(subject: Subject, law: Law, row: Row) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    try:
        return compared(subject, law, row)
    except Skip as reason:
        return replace(row, status="skipped", note=str(reason))
    except Broken as broken:
        cause = broken.cause or law.cure
        return replace(row, status="failed", note=str(broken), cause=cause)
    except Raised as raised:
        row = replace(row, status="failed", cause=RAISES + subject.usage)
        return traced(row, raised.__cause__)
    except Exception as error:
        return traced(replace(row, status="internal", cause=INTERNAL), error)


def traced(row: Row, error: BaseException | None) -> Row:
    """Put an exception into a row: its first line, and its traceback."""
    lines = traceback.format_exception(error)
    note = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
    return replace(row, note=note, trace="".join(lines))


def compared(subject: Subject, law: Law, row: Row) -> Row:
    """Complete the row of a law by its trials; what can't part gives none."""
    trials = [*(law.test(subject) or ())]
    failing = [trial for trial in trials if trial.worst > 1]
    if not failing:
        closest = max(trials, key=lambda trial: trial.worst, default=None)
        return closest.filled(row) if closest else row
    cause = ""
    # Explaining makes other calls; if they fail, what was measured still counts.
    with suppress(Broken, Raised):
        cause = subject.explain(trials)
    # The first call that parts is the simplest.
    row = failing[0].filled(row)
    return replace(row, status="failed", cause=cause or law.cure or NO_CAUSE)


def tolerance(trials: list[Trial]) -> float:
    """Return how far a fault may be off: a tenth of what it is to explain, at most 1e-4."""
    apart = max(np.abs(trial.given - trial.meant).max() for trial in trials)
    return min(NEAR, float(apart) / 10)


def causes(
    faults: Iterable[Fault], trials: list[Trial], near: float, partly: bool = True
) -> str:
    """Return those faults that give all of these trials, but for bounds and this.

    If none does, and `partly`, those that give what fails, and where that is.
    """
    alike: dict[str, list[str]] = {}  # by where
    for fault in faults:
        # Some faults divide by zero, as the code that has them does.
        with np.errstate(all="ignore"):
            rows = rows_explained(fault.make, trials, near, partly)
        if rows is not None:
            text = str(replace(fault, name=fault.name + rows))
            alike.setdefault(rows, []).append(text)
    texts = alike.get("") or chain.from_iterable(alike.values())
    return "; or ".join(dict.fromkeys(texts))


def rows_explained(
    make: Callable[..., Any], trials: list[Trial], near: float, partly: bool
) -> str | None:
    """Say in which rows a fault gives what was measured, "" for all; None if it doesn't.

    Rows that it would spoil, but which are right, are told from those that fail by a number or two,
    such as that of heads, or the position.
    """
    wrong, spared = [], []
    for trial in trials:
        off = trial.unlike(make) > near
        if off[trial.failing].any() or (off.any() and not partly):
            return None
        if trial.failing is not ...:
            numbers = numbers_of_rows(trial.call.k)
            wrong.append(numbers[trial.failing])
            spared.append(numbers[off.any(axis=-1)])
    return limits(np.concatenate(wrong), np.concatenate(spared)) if wrong else ""


NUMBERS = (
    "length",
    "batch size",
    "number of heads",
    "position",
    "row",
    "head",
    "sequence",
    "row before the last",
)


def numbers_of_rows(k: Floats) -> Floats:
    """Return these numbers for each row: (..., seq_len) → (..., seq_len, numbers)."""
    # Without heads, or a batch, there is one.
    batch, heads = (*k.shape[:-1], 1, 1)[:2]
    length, row = k.shape[-1], along(-1, k)
    sizes = length, batch, heads
    numbers = *sizes, k, row, along(-2, k), along(0, k), length - 1 - row
    return np.stack([number + 0 * k for number in numbers], axis=-1)


def limits(wrong: Floats, spared: Floats) -> str | None:
    """Say from which numbers on rows are wrong, or up to which; None if none tell.

    Both are (rows, numbers). The fewest are taken that no spared row is within.
    """
    ways = [*product(range(len(NUMBERS)), (1, -1))]
    for count in range(3):
        texts = []
        for chosen in combinations(ways, count):
            inside, text = np.ones(len(spared), bool), ""
            for column, sign in chosen:
                # An upper limit is a lower one of the opposites.
                limit = (sign * wrong[:, column]).min()
                inside &= sign * spared[:, column] >= limit
                name = f"{NUMBERS[column]} {sign * limit:g}"
                text += f", from {name} on" if sign > 0 else f", up to {name}"
            texts += [] if inside.any() else [text]
        # Some tell alike.
        if texts:
            texts[3:] = [" ..."] * (len(texts) > 3)
            return ", or".join(texts).replace("or,", "or")
    return None
