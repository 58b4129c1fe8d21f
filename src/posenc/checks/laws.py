"""Laws: what a subject is asked, and how that is judged.

A check makes a subject, of `kinds`, `biases`, `builders` or `decoders`. Each law of its kind asks
it for trials (`trials`), by a function of `battery` or beside the subject. If one fails, the
subject explains it. What came out is a row of the report (`reports`).
"""

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from posenc._validate import check_choice
from posenc.checks import battery, biases, builders, decoders
from posenc.checks.reports import NO_CAUSE, Row
from posenc.checks.trials import Broken, Raised, Skip, Trial, WrongShape

RAISES = "your code raises this error, whose traceback is the report's `error`; it is called as "
INTERNAL = "posenc.checks failed, not your code: please report this traceback, and what was checked"


@dataclass(frozen=True)
class Law:
    """A law, with the name of the function that tests it."""

    test: Callable[[Any], Any]  # of a subject: see `trials`
    kinds: tuple[str, ...]  # of subjects
    asks: str
    source: str = "exact"  # of its bound
    cure: str = ""  # what is said if no known fault gives the same

    @property
    def name(self) -> str:
        """The name in a report."""
        return self.test.__name__


ADDED, CALLED = ("table", "module"), ("module", "rotary")
ALL = ("table", *CALLED)
BIAS, DECODER = ("bias",), ("decoder",)
ROOTS = ("shape", "repeat", "values")  # while one is broken, other laws say little
# Most modules are made with their memory, and stay where they are.
ON_REQUEST = ("meta", "device", "compile")
TAU = "tau = 2u + u |theta| (3 |ln omega| + 5), and what products and sums add"
IN_UNIT = f"{TAU}, with the type's u for the entry, float32's for the angle"
SPREAD = (
    "half the digits of the scores' spread: sums in another order cost a few u of it"
)
UNFILLED = "a tensor isn't as it was: save it, or fill it in `reset_parameters`"
LAWS = (
    # Tables, layers and rotations. The roots are first, since others follow from them. `repeat` is
    # in front of all that ask for long sequences: a base that grows with the longest sequence
    # (`growing` in tests/specimens.py) doesn't change if that was seen before.
    Law(
        battery.shape, ALL, "the shape is the requested one, and all entries are finite"
    ),
    Law(
        battery.repeat,
        ALL,
        "a later call gives the same; input and first result are unchanged",
        cure="it depends on earlier calls: a cache needs all that it depends on as its key, "
        "such as the length, positions, dtype and device; or reset its state",
    ),
    Law(
        battery.values, ALL, "the whole sequence has the entries of the convention", TAU
    ),
    Law(battery.unique, ADDED, "no two rows are equal", "six decimals"),
    Law(
        battery.start,
        ALL,
        "rows don't depend on where the sequence begins or ends, or on others at equal positions",
        TAU,
    ),
    Law(
        battery.steps,
        ALL,
        "one row at a time gives the same as the whole sequence",
        TAU,
    ),
    Law(
        battery.batch,
        CALLED,
        "in a batch, each sequence and head gets the same as alone",
        TAU,
    ),
    Law(
        battery.rows,
        CALLED,
        "with positions (batch, seq_len), each row gets its own",
        TAU,
    ),
    Law(
        battery.fractions,
        CALLED,
        "positions between two rows turn by a part of the angle",
        TAU,
    ),
    Law(battery.far, ALL, "far beyond the first rows, a row is what it should be", TAU),
    Law(
        battery.axes,
        ("rotary",),
        "each pair turns by its own coordinate",
        TAU,
        "equal coordinates are right: axes are swapped, or one is taken for all "
        "(exhibit G: notebooks/16_batches_and_caches.html#exhibit-g)",
    ),
    Law(battery.masked, CALLED, "a row's content, even NaN, affects no other row"),
    Law(
        battery.odd,
        ALL,
        "an odd width is refused, or its last dimension passes",
        cure="an odd width leaves a sine without a cosine: refuse it (exhibit 6); or if it is "
        "meant, say so: `report.expecting({'odd': 'why'})`, or in pytest, expect={'odd': 'why'}",
    ),
    Law(
        battery.half,
        ALL,
        "in half precision, positions and angles keep their digits",
        IN_UNIT,
    ),
    Law(battery.reduced, CALLED, "under autocast, angles keep their digits", IN_UNIT),
    Law(
        battery.gradient,
        CALLED,
        "gradients flow to x",
        "16u of what is added up",
        "the graph is cut: by `detach`, `no_grad`, or `.data`",
    ),
    Law(battery.trained, CALLED, "no table is trained"),
    Law(
        battery.state,
        CALLED,
        "reset, and loaded into a copy, it gives the same",
        "4u",
        UNFILLED,
    ),
    Law(
        battery.meta,
        CALLED,
        "loaded into a copy made on meta, it gives the same",
        "4u",
        UNFILLED,
    ),
    Law(
        battery.device,
        CALLED,
        "the result has the device of the input",
        cure="a tensor stays behind: register it as a buffer, or make it on `x.device`",
    ),
    Law(
        battery.compile,
        CALLED,
        "torch.compile takes it as one graph, and gives the same",
        "4u",
    ),
    # Biases
    Law(
        biases.shape,
        BIAS,
        "the shape is (heads, seq_len, seq_len), and entries are finite",
        cure=f"{biases.MASKED}: one row for all queries will do, and what is hidden may be "
        "infinite",
    ),
    Law(
        biases.values,
        BIAS,
        "the bias is the expected one, by default ALiBi's",
        "4u|b|: a slope, a product, twice",
        f"{NO_CAUSE}; {biases.MASKED}, under which a constant of a row makes no difference; if it "
        "is meant, pass expected=, a function that returns the right one, or None",
    ),
    Law(
        biases.offset,
        BIAS,
        "the bias depends only on how far key is from query",
        "4u|b|",
    ),
    Law(
        biases.start,
        BIAS,
        "the bias doesn't depend on where the sequence ends",
        "4u|b|",
        f"{NO_CAUSE}; if its numbers change with the length, as an index into a window's table "
        "does, pass laws=['shape', 'values', 'offset']",
    ),
    # Builders of position ids
    Law(
        builders.values,
        ("positions",),
        "the ids are those of the book, or of `right`",
        "4u: a step, a product",
        cure=f"{NO_CAUSE}; if other ids are meant, pass right=, a function that builds them",
    ),
    # Decoders
    Law(
        decoders.shape,
        DECODER,
        "there are finite scores after each token, and tokens change them",
    ),
    Law(
        decoders.repeat,
        DECODER,
        "a second call gives the same scores",
        SPREAD,
        "it depends on earlier calls, or on chance: call `eval()`, or reset its state",
    ),
    Law(
        decoders.batch,
        DECODER,
        "each text in a batch gets the same scores as alone",
        SPREAD,
    ),
    Law(
        decoders.causal,
        DECODER,
        "words that follow, and how many, don't change a token's scores",
        SPREAD,
        "later words are seen, or positions are scaled by the length of the text",
    ),
    Law(
        decoders.steps,
        DECODER,
        "one token at a time gives the same scores as whole",
        SPREAD,
    ),
    Law(
        decoders.chunks,
        DECODER,
        "a text read in chunks gives the same scores as whole",
        SPREAD,
    ),
    Law(
        decoders.padded,
        DECODER,
        "left-padded texts get the same scores as alone",
        SPREAD,
    ),
    Law(
        decoders.ragged,
        DECODER,
        "left-padded texts continue from a cache as alone",
        SPREAD,
    ),
    Law(
        decoders.packed,
        DECODER,
        "texts packed into one row get the same scores as alone",
        SPREAD,
    ),
)
"""All laws, in the order in which a report lists them."""


def laws_of(kind: str) -> list[str]:
    """Return the names of all laws of a kind, those on request included."""
    return [law.name for law in LAWS if kind in law.kinds]


def choose(kind: str, names: Iterable[str] | None = None) -> list[Law]:
    """Return the laws with these names; by default, all but those on request."""
    known = laws_of(kind)
    usual = [name for name in known if name not in ON_REQUEST]
    # A generator could be read only once; if none were chosen, nothing would fail.
    wanted = [*(names or [])] or usual
    for name in wanted:
        check_choice(f"law of a {kind}", name, known)
    return [law for law in LAWS if kind in law.kinds and law.name in wanted]


def judge_all(subject: Any, laws: Iterable[Law]) -> Iterator[Row]:
    """Test laws one by one, until a root is broken: others would say nothing new."""
    root = ""
    for law in laws:
        if root:
            note = f"follows from {root}"
            yield Row(law.name, law.asks, law.source, "follows", note=note)
            continue
        row = judge(subject, law)
        if row.status == "failed" and law.name in ROOTS:
            root = law.name
        yield row


def judge(subject: Any, law: Law) -> Row:
    """Test one law; what goes wrong, and where, is in the row."""
    row: Callable[..., Row] = partial(Row, law.name, law.asks, law.source)
    try:
        trials = [*(law.test(subject) or ())]
        failing = [trial for trial in trials if trial.worst > 1]
        if failing:
            # The first call that parts is the simplest.
            cause = cause_of(subject, trials) or law.cure or NO_CAUSE
            return row("failed", *failing[0].place(), cause)
        closest = max(trials, key=lambda trial: trial.worst, default=None)
        return row("passed", *closest.place()) if closest else row()
    except Skip as reason:
        return row("skipped", note=str(reason))
    except Broken as broken:
        is_shape = isinstance(broken, WrongShape)
        usage = f"it is called as {subject.usage}" if is_shape else ""
        cause = broken.cause or law.cure or usage
        return row("failed", note=str(broken), cause=cause)
    except Raised as raised:
        status, cause, error = "failed", RAISES + subject.usage, raised.__cause__
    except Exception as failure:
        status, cause, error = "internal", INTERNAL, failure
    note = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
    trace = "".join(traceback.format_exception(error))
    return row(status, note=note, cause=cause, trace=trace)


def cause_of(subject: Any, trials: list[Trial]) -> str:
    """Return what the subject says of trials that fail."""
    # Explaining makes other calls; if they fail, what was measured still counts.
    with suppress(Broken, Raised, Skip):
        return str(subject.explain(trials))
    return ""
