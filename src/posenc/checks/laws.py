r"""The laws, and what each of them allows.

Every bound is derived from three things: the number type, whose unit u is half the distance from 1
to the next number (:math:`2^{-24}` in float32); the position, since an angle :math:`\theta =
k\omega` in float32 is off by a share of itself; and the width, over which errors add up. What
float32 arithmetic may do to one entry is :math:`\tau`, derived at `conventions.rounding`. A law
that compares two entries allows both of their errors, one that adds entries allows the sum. A
float64 table is held to float32, too: models compute in it, and many make their angles in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from posenc.checks.museum import MUSEUM, Exhibit
from posenc.checks.report import Report, Row
from posenc.checks.subjects import Broken, Skip, Subject


@dataclass(frozen=True)
class Law:
    """What must hold, where its bound comes from, and what a failure most likely is."""

    name: str
    asks: str
    source: str
    likely: str


LAWS = (
    Law(
        "shape",
        "the shape is what was asked for, and all entries are finite",
        "exact",
        "an axis is missing, added or exchanged",
    ),
    Law(
        "norm",
        "all rows have one norm: sin² + cos² = 1 in each pair; a rotation keeps lengths",
        "6u: an error of 2u in sin and cos changes sin² + cos² by up to 4√2·u",
        "sine and cosine of a pair have different angles, or a factor was applied to one of them",
    ),
    Law(
        "shift",
        "one matrix, a rotation of each pair, leads from every row to the next",
        "τ of both rows",
        "the angles don't grow by the same amount from row to row",
    ),
    Law(
        "offset",
        "the product of two rows (or the score of two words) depends on their offset alone",
        "2√2 · Σ τ over the pairs: two rows, sine and cosine",
        "the angles don't grow by the same amount from row to row",
    ),
    Law(
        "identity",
        "counted back to position 0, every sine is 0 and every cosine 1; nothing is turned",
        "4τ: a line is fitted to the angles",
        "the pairs don't begin at one position",
    ),
    Law(
        "frequencies",
        "the frequencies fall by one power from pair to pair, with one base at all widths",
        "4τ / rows: a line is fitted to the angles",
        "the exponent is none of those known; if that is meant, pass `frequencies`",
    ),
    Law(
        "convention",
        "the convention is the one that was asked for",
        "exact, but for the base: 1e-4, as far as a float32 table tells",
        "another layout, exponent or start: no bug by itself, but it doesn't fit its weights",
    ),
    Law(
        "unique",
        "no two rows are alike",
        "4u√d: two rows of d entries, rounded",
        "positions are rounded, or too few frequencies are different",
    ),
    Law(
        "start",
        "rows don't depend on where the sequence begins or ends, or on the order of positions",
        "2τ: both are computed",
        "the start, or the length, finds its way into the angles",
    ),
    Law(
        "steps",
        "one row at a time gives what the whole sequence gives",
        "2τ: both are computed",
        "positions are counted from 0 in each call",
    ),
    Law(
        "batch",
        "each sequence of a batch gets what it gets alone",
        "4u|x|: a sum or a rotation, twice",
        "batch and sequence are mixed up",
    ),
    Law(
        "masked",
        "what a row holds, be it NaN, changes no other row",
        "exact",
        "rows are mixed: a mean over the sequence, or a product with zero for a mask",
    ),
    Law(
        "float32",
        "entries equal those of the convention, to 50 digits, up to a million",
        "τ at each position: frequencies and angles in float32",
        "the numbers lose more than float32 explains: a frequency in half precision, or a "
        "recurrence without a fresh start",
    ),
    Law(
        "half",
        "in half precision, positions and angles keep their digits: the cast comes last",
        "τ with the unit of the half type: float32 angles, rounded once",
        "positions, frequencies or angles are cast before the sine",
    ),
    Law(
        "odd",
        "an odd width is refused, or padded with zeros where that is the convention",
        "exact",
        "an odd width leaves a sine without a cosine",
    ),
    Law(
        "empty",
        "no position gives no rows, one gives one",
        "2τ",
        "a length of 0 or 1 isn't thought of",
    ),
    Law(
        "strided",
        "input that isn't contiguous gives the same",
        "4u|x|: another order of operations",
        "a view is reshaped as if it were contiguous",
    ),
    Law(
        "repeat",
        "a second call gives the same, and input and first result stay as they are",
        "exact",
        "a result is kept and written over, input is changed in place, or something is random",
    ),
    Law(
        "adds",
        "what comes out is x, or x times the root of the width, plus rows that don't depend on x",
        "3u(|x| + 1): a product, a sum, a cast",
        "the sum is scaled, normalized, or thrown away",
    ),
    Law(
        "gradient",
        "gradients pass, and no table is trained",
        "4u|g|: the rotation back, or the factor of x",
        "the graph is cut, or a table is a parameter",
    ),
    Law(
        "state",
        "a saved state loads, and gives the same",
        "exact",
        "the table is kept outside of module and state dict, or is changed by a call",
    ),
    Law(
        "device",
        "it moves: the result is where the input is, and of its number type",
        "exact",
        "a tensor stays behind: register it as a buffer, or make it on `x.device`",
    ),
    Law(
        "compile",
        "torch.compile takes it in one piece, and gives the same",
        "2τ",
        "a value is read from a tensor (`.item()`), or the code leaves torch",
    ),
    Law(
        "mirror",
        "without a causal mask, the bias looks forward as it looks back",
        "exact",
        "the distance is signed",
    ),
    Law(
        "penalty",
        "no word gets a bonus, and a farther one no smaller penalty",
        "exact",
        "the sign is wrong, or the slope is 0",
    ),
)


def run(subject: Subject, name: str, only: Iterable[str] | None = None) -> Report:
    """Try all laws on a subject."""
    wanted = None if only is None else {*only}
    known = {law.name for law in LAWS}
    if wanted is not None and wanted - known:
        raise ValueError(f"laws must be among {', '.join(sorted(known))}, got {wanted - known}")
    rows = []
    for law in LAWS:
        method = getattr(subject, f"law_{law.name}", None)
        if method is not None and (wanted is None or law.name in wanted):
            rows.append(judge(subject, law, method))
    try:
        found = subject.convention
    except Exception:  # whatever it is, the laws have met it, too
        found = None
    return Report(name, subject.kind, found, tuple(rows), subject.errors)


def laws_of(kind: str) -> list[str]:
    """Names of the laws that a kind of subject is held to."""
    from posenc.checks.biases import Bias
    from posenc.checks.rotaries import Rotary
    from posenc.checks.tables import Table

    subjects: dict[str, type[Subject]] = {"table": Table, "rotary": Rotary, "bias": Bias}
    if kind == "module":
        from posenc.checks.layers import Layer

        subjects["module"] = Layer
    return [law.name for law in LAWS if hasattr(subjects[kind], f"law_{law.name}")]


def judge(subject: Subject, law: Law, method: Callable[[], tuple[float, float, str]]) -> Row:
    """Try one law."""
    fixed: dict[str, Any] = {"law": law.name, "asks": law.asks, "source": law.source}
    exhibit, likely = None, law.likely
    measured: float | str
    bound: float | str
    try:
        measured, bound, note = method()
    except Skip as reason:
        return Row(**fixed, status="skipped", note=str(reason))
    except Broken as how:
        measured, bound, note = str(how), "", ""
        exhibit = MUSEUM[how.exhibit] if how.exhibit else diagnose(subject, law.name)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        measured, bound, note = f"{type(error).__name__}: {lines[0][:160]}", "", ""
        likely = "the code raises an error"
    else:
        if measured <= bound:
            return Row(**fixed, status="passed", measured=measured, bound=bound, note=note)
        exhibit = diagnose(subject, law.name)
    return Row(
        **fixed,
        status="failed",
        measured=measured,
        bound=bound,
        note=note,
        likely=exhibit.says if exhibit else likely,
        exhibit=exhibit,
    )


def diagnose(subject: Subject, law: str) -> Exhibit | None:
    """Look the failure up in the museum."""
    try:
        name = subject.resembles(law)
    except Exception:  # a guess that can't be made is none
        return None
    return MUSEUM[name] if name else None
