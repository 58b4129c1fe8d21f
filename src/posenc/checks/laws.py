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
        "2τ of both rows: √2 for sine and cosine, and the rest for the turn, which is fitted",
        "the angles don't grow by the same amount from row to row",
    ),
    Law(
        "offset",
        "the product of two rows (or the score of two words) depends on their offset alone",
        "4√2 · Σ τ over the pairs: two products of two rows, sine and cosine of each",
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
        "exact, but for numbers: base 1e-4, step 1e-5, start 1e-3, as far as float32 tells",
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
        "2τ of the last row: both are computed",
        "the start, or the length, finds its way into the angles",
    ),
    Law(
        "steps",
        "one row at a time gives what the whole sequence gives",
        "2τ of the last row: both are computed",
        "positions are counted from 0 in each call",
    ),
    Law(
        "batch",
        "each sequence of a batch gets what it gets alone",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "batch and sequence are mixed up",
    ),
    Law(
        "order",
        "exchanging two tokens changes the scores after them",
        "more than all other laws allow together",
        "positions never reach the attention",
    ),
    Law(
        "causal",
        "a later token changes no earlier score",
        "√u·s, half of the digits: sums in another order cost some u of the scores' spread s",
        "the causal mask is missing, or off by one",
    ),
    Law(
        "chunks",
        "a text read in chunks, with a cache, gives what it gives whole",
        "√u·s: see causal",
        "in a chunk, the mask isn't moved by the length of the cache, or positions aren't",
    ),
    Law(
        "padded",
        "a text gives the same among shorter and longer ones, padded on the left",
        "√u·s: see causal",
        "padding is looked at, or counted as a position where positions are absolute",
    ),
    Law(
        "ragged",
        "texts of several lengths, padded on the left, are read on with a cache as alone",
        "√u·s: see causal",
        "all rows go on from one offset, or the padding in the cache is looked at",
    ),
    Law(
        "packed",
        "texts that are packed into one row give what they give alone",
        "√u·s: see causal",
        "a text looks at the one before it, or its positions go on where that one ended",
    ),
    Law(
        "moved",
        "a text that stands 100 positions later gives the same scores",
        "√u·s: see causal",
        "queries, keys and values don't count from one place, or values are turned and not turned "
        "back; absolute positions may do so: pass relative=False",
    ),
    Law(
        "token",
        "a batch with one token each gets what each token gets alone",
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "a path for single rows takes the batch, or the heads, for the sequence",
    ),
    Law(
        "rows",
        "positions of each row, shape (batch, seq_len), give each sequence what it gets alone",
        "2τ of the last row: both are computed",
        "one sequence's positions are used for all, or batch and heads are mixed up",
    ),
    Law(
        "far",
        "far beyond the first rows, a row alone gets what it gets among others",
        "2τ at each position: both are computed",
        "positions wrap, or are clamped, at the length that a table was made for",
    ),
    Law(
        "axes",
        "several coordinates turn as each of them does alone",
        "(2n + 1)τ for n coordinates: a product of n matrices, and the one of all of them",
        "coordinates are exchanged, or the sections of the pairs are in another order",
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
        "τ at each position: frequencies and angles in float32; and what the fit leaves open, "
        "where base, step or start is no round number",
        "the numbers lose more than float32 explains: a frequency in half precision, or a "
        "recurrence without a fresh start",
    ),
    Law(
        "half",
        "in half precision, positions and angles keep their digits: the cast comes last",
        "τ with the unit of the half type: float32 angles, rounded once; and τ of the other table",
        "positions, frequencies or angles are cast before the sine",
    ),
    Law(
        "cast",
        "cast with its model, it turns by the frequencies that it was made with",
        "τ with the unit of bfloat16: float32 angles, rounded once",
        "the frequencies are a buffer, which `model.to(torch.bfloat16)` casts along: make them "
        "anew in float32, or keep them out of the cast",
    ),
    Law(
        "reduced",
        "under autocast, and where products are rounded to TF32, angles keep their digits",
        "τ with the unit of the rounded product, and τ: entries may be rounded, angles may not",
        "angles are made by a matrix product: multiply position and frequency entry by entry, in "
        "float32, with autocast switched off",
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
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
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
        "3u(|x| + |p|): a product, a sum, a difference; p is what is added",
        "the sum is scaled, normalized, or thrown away",
    ),
    Law(
        "gradient",
        "gradients pass, and no table is trained",
        "2u|g|: the factor of x, and a product",
        "the graph is cut, or a table is a parameter",
    ),
    Law(
        "state",
        "a saved state loads, and gives the same",
        "exact",
        "the table is kept outside of module and state dict, or is changed by a call",
    ),
    Law(
        "meta",
        "made on the meta device and filled as frameworks do, it gives the same",
        "4u: computed twice",
        "a buffer that isn't in the state dict is left as it was found: give the module "
        "`reset_parameters`",
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
        "4u(|y| + |p|): a product and a sum, twice; p is what is added",
        "a value is read from a tensor (`.item()`), or the code leaves torch",
    ),
    Law(
        "mirror",
        "without a causal mask, the bias looks forward as it looks back",
        "exact",
        "the distance is signed; a learned bias may be so: leave this law out",
    ),
    Law(
        "penalty",
        "no word gets a bonus, and a farther one no smaller penalty",
        "exact",
        "the sign is wrong, or the distance; a learned bias may be so: leave this law out",
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
