r"""The laws and their bounds.

Every bound is derived from three things: the dtype, whose unit u is half the distance from 1 to the
next number (:math:`2^{-24}` in float32); the position, since the error of a float32 angle
:math:`\theta = k\omega` is proportional to it; and the width, over which errors add up. The error
of one entry in float32 arithmetic is at most :math:`\tau`, derived in `conventions.rounding`. A law
that compares two entries allows for both errors, one that adds entries for their sum. Even float64
tables need only float32 accuracy: models use float32, and many compute their angles in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from posenc.checks.museum import MUSEUM, Exhibit
from posenc.checks.report import Report, Row
from posenc.checks.subjects import Broken, Measured, Skip, Subject


@dataclass(frozen=True)
class Law:
    """A law, where its bound comes from, and the most likely cause of a failure."""

    name: str
    asks: str
    source: str
    likely: str


LAWS = (
    Law(
        "shape",
        "the shape is the requested one, and all entries are finite",
        "exact",
        "an axis is missing, extra or swapped",
    ),
    Law(
        "norm",
        "all rows have the same norm: sin² + cos² = 1 per pair; a rotation preserves it",
        "6u: an error of 2u in sin and cos changes sin² + cos² by up to 4√2·u",
        "sine and cosine of a pair have different angles, or a factor was applied to one of them",
    ),
    Law(
        "shift",
        "one matrix, a rotation of each pair, maps every row to the next",
        "2τ of both rows: √2 for sine and cosine, and the rest for the turn, which is fitted",
        "the angles don't grow by the same amount from row to row",
    ),
    Law(
        "offset",
        "the product of two rows (or the score of two words) depends only on their offset",
        "4√2 · Σ τ over the pairs: two products of two rows, sine and cosine of each",
        "the angles don't grow by the same amount from row to row",
    ),
    Law(
        "identity",
        "extrapolated to position 0, every sine is 0 and every cosine 1; nothing is turned",
        "4τ: a line is fitted to the angles",
        "the pairs don't start at the same position",
    ),
    Law(
        "frequencies",
        "frequencies fall by a constant factor from pair to pair; all widths share a base",
        "4τ / rows: a line is fitted to the angles",
        "the exponent isn't a known one; if that is intended, pass `frequencies`",
    ),
    Law(
        "convention",
        "the convention is the requested one",
        "exact, except numbers: base 1e-4, step 1e-5, start 1e-3, as precise as float32 allows",
        "another layout, exponent or start: not a bug by itself, but it doesn't match the weights",
    ),
    Law(
        "unique",
        "no two rows are equal",
        "4u√d: two rows of d entries, rounded",
        "positions are rounded, or too few frequencies are different",
    ),
    Law(
        "start",
        "rows don't depend on where the sequence begins or ends, or on the order of positions",
        "2τ of the last row: both are computed",
        "the start or the length leaks into the angles",
    ),
    Law(
        "steps",
        "one row at a time gives the same result as the whole sequence",
        "2τ of the last row: both are computed",
        "positions are counted from 0 in each call",
    ),
    Law(
        "batch",
        "each sequence in a batch gets the same result as alone",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "batch and sequence are mixed up",
    ),
    Law(
        "order",
        "swapping two tokens changes the scores after them",
        "more than any other law allows, √u·s",
        "positions never reach the attention",
    ),
    Law(
        "causal",
        "a later token changes no earlier score",
        "√u·s, half the digits: summing in another order costs a few u of the scores' spread s",
        "the causal mask is missing, or off by one",
    ),
    Law(
        "chunks",
        "a text read in chunks with a cache gives the same scores as whole",
        "√u·s: see causal",
        "in a chunk, the mask or the positions aren't shifted by the length of the cache",
    ),
    Law(
        "padded",
        "in a left-padded batch, each text gives the same scores as alone",
        "√u·s: see causal",
        "padding is attended to, or counted as a position where positions are absolute",
    ),
    Law(
        "ragged",
        "left-padded texts of several lengths continue from a cache as they do alone",
        "√u·s: see causal",
        "all rows share one offset, or the padding in the cache is attended to",
    ),
    Law(
        "packed",
        "texts packed into one row give the same scores as alone",
        "√u·s: see causal",
        "a text attends to the one before it, or its positions continue from that one",
    ),
    Law(
        "moved",
        "a text shifted by 100 positions gives the same scores",
        "√u·s: see causal",
        "queries, keys and values count from different positions, or values are turned and not "
        "turned back; absolute positions may break this law: pass relative=False",
    ),
    Law(
        "token",
        "in a batch of single tokens, each gets the same result as alone",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "a single-row path mistakes the batch or head axis for the sequence",
    ),
    Law(
        "rows",
        "with positions of shape (batch, seq_len), each sequence gets the same result as alone",
        "2τ of the last row: both are computed",
        "one sequence's positions are used for all, or batch and heads are mixed up",
    ),
    Law(
        "far",
        "far beyond the first rows, a row alone gets the same result as among others",
        "2τ at each position: both are computed",
        "positions wrap, or are clamped, at the length that a table was made for",
    ),
    Law(
        "axes",
        "turning by several coordinates equals turning by each in sequence",
        "(2n + 1)τ for n coordinates: a product of n matrices, and the one of all of them",
        "coordinates are swapped, or the sections of the pairs are in the wrong order",
    ),
    Law(
        "masked",
        "a row's content, even NaN, affects no other row",
        "exact",
        "rows are mixed: a mean over the sequence, or a mask that multiplies by zero",
    ),
    Law(
        "float32",
        "entries match the convention's 50-digit values up to position 1 million",
        "τ at each position: frequencies and angles in float32; plus the uncertainty of the fit, "
        "if base, step or start isn't a round number",
        "errors exceed what float32 explains: a frequency in half precision, or a recurrence "
        "that is never restarted",
    ),
    Law(
        "half",
        "in half precision, positions and angles keep their digits: the cast comes last",
        "τ with the unit of the half type: float32 angles, rounded once; and τ of the other table",
        "positions, frequencies or angles are cast before the sine",
    ),
    Law(
        "cast",
        "cast along with its model, it still turns by its original frequencies",
        "τ with the unit of bfloat16: float32 angles, rounded once",
        "the frequencies are a buffer, so `model.to(torch.bfloat16)` casts them, too: recompute "
        "them in float32, or exclude them from the cast",
    ),
    Law(
        "reduced",
        "under autocast, and where products are rounded to TF32, angles keep their digits",
        "τ with the unit of the rounded product, and τ: entries may be rounded, angles may not",
        "angles come from a matrix product: multiply positions and frequencies elementwise, in "
        "float32, with autocast disabled",
    ),
    Law(
        "odd",
        "an odd width is refused, or padded with zeros where that is the convention",
        "exact",
        "an odd width leaves a sine without a cosine",
    ),
    Law(
        "empty",
        "zero positions give no rows, one gives one",
        "2τ",
        "a length of 0 or 1 isn't handled",
    ),
    Law(
        "strided",
        "non-contiguous input gives the same result",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "a view is reshaped as if it were contiguous",
    ),
    Law(
        "repeat",
        "a second call gives the same result; input and first result are unchanged",
        "exact",
        "a cached result is overwritten, the input is modified in place, or something is random",
    ),
    Law(
        "adds",
        "the result is x, or x times √width, plus rows that don't depend on x",
        "3u(|x| + |p|): a product, a sum, a difference; p is what is added",
        "the sum is scaled, normalized, or thrown away",
    ),
    Law(
        "gradient",
        "gradients flow, and no table is trained",
        "2u|g|: the factor of x, and a product",
        "the graph is cut, or a table is a parameter",
    ),
    Law(
        "state",
        "a saved state loads, and gives the same result",
        "exact",
        "the table is stored outside the module and its state dict, or modified by a call",
    ),
    Law(
        "meta",
        "created on meta and filled as frameworks do, it gives the same result",
        "4u: computed twice",
        "a buffer that isn't in the state dict is never initialized: give the module "
        "`reset_parameters`",
    ),
    Law(
        "device",
        "it moves: the result has the device and the dtype of the input",
        "exact",
        "a tensor stays behind: register it as a buffer, or make it on `x.device`",
    ),
    Law(
        "compile",
        "torch.compile takes it as one graph, with the same result",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "a value is read from a tensor (`.item()`), or the code leaves torch",
    ),
    Law(
        "mirror",
        "without a causal mask, the bias is the same forward as backward",
        "exact",
        "the distance is signed; a learned bias may do this: leave this law out",
    ),
    Law(
        "penalty",
        "no word gets a bonus, and no farther word a smaller penalty",
        "exact",
        "the sign or the distance is wrong; a learned bias may do this: leave this law out",
    ),
)


KINDS = {
    "table": ("tables", "Table"),
    "module": ("layers", "Layer"),  # the only one that imports torch
    "rotary": ("rotaries", "Rotary"),
    "bias": ("biases", "Bias"),
    "decoder": ("decoders", "Decoder"),
}


def run(subject: Subject, name: str, only: Iterable[str] | None = None) -> Report:
    """Test all laws, or only some, on a subject."""
    wanted = chosen(subject.kind, only)
    subject.named = frozenset(wanted if len(wanted) == 1 else ())
    rows = [
        judge(subject, law, getattr(subject, f"law_{law.name}"))
        for law in LAWS
        if law.name in wanted
    ]
    try:
        found = subject.convention
    except Exception:  # the laws ran into it, too
        found = None
    error = crash(subject) if any(row.status == "failed" for row in rows) else ""
    return Report(name, subject.kind, found, tuple(rows), subject.errors, error)


def crash(subject: Subject) -> str:
    """Describe the exception that a plain call raises, or return ""."""
    try:
        subject.law_shape()
    except Broken:
        return ""
    except Exception as error:
        return said(error)
    return ""


def said(error: BaseException) -> str:
    """Describe an exception in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def laws_of(kind: str) -> list[str]:
    """Return the names of the laws that apply to a kind.

    Parameters
    ----------
    kind : {"table", "module", "rotary", "bias", "decoder"}

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    module, name = KINDS[kind]
    held = getattr(importlib.import_module(f"posenc.checks.{module}"), name)
    return [law.name for law in LAWS if hasattr(held, f"law_{law.name}")]


def chosen(kind: str, only: Iterable[str] | None) -> list[str]:
    """Return the names of the laws to test.

    Raises
    ------
    TypeError
        If `only` is a string instead of a list of names.
    ValueError
        If it is empty, or contains a name that isn't a law of this kind.
    """
    known = laws_of(kind)
    if only is None:
        return known
    if isinstance(only, str) or not isinstance(only, Iterable):
        raise TypeError(f"laws must be a list of names, got {only!r}")
    wanted = [*only]
    strange = [law for law in wanted if law not in known]
    if strange or not wanted:
        got = ", ".join(map(repr, strange)) or "none"
        raise ValueError(f"laws must be among those of a {kind}: {', '.join(known)}; got {got}")
    return [law for law in known if law in wanted]


def judge(subject: Subject, law: Law, method: Callable[[], Measured]) -> Row:
    """Test one law."""
    fixed: dict[str, Any] = {
        "law": law.name,
        "asks": law.asks,
        "source": subject.sources.get(law.name, law.source),
    }
    exhibit, likely = None, subject.causes.get(law.name, law.likely)
    measured: float | str
    bound: float | str
    try:
        measured, bound, note = method()
    except Skip as reason:
        return Row(**fixed, status="skipped", note=str(reason))
    except Broken as how:
        measured, bound, note = str(how), "", ""
        likely = how.likely or likely
        if how.exhibit:
            exhibit = MUSEUM[how.exhibit]
        elif not how.likely:
            exhibit = diagnose(subject, law.name)
    except Exception as error:
        measured, bound, note = said(error), "", ""
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
    """Look up the failure in the museum."""
    try:
        name = subject.resembles(law)
    except Exception:  # no guess
        return None
    return MUSEUM[name] if name else None
