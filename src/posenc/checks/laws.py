r"""The laws, and how each is tested, judged and explained.

A law is a function of a probe, decorated with what it asks, where its bound comes from, and its
likely causes. It returns the measured error, the bound and a note; it raises `Skip` if it doesn't
apply, and `Broken` if it is broken in a way that isn't a number. Three kinds of trouble are told
apart: a law is broken ("failed"); the code under test raised (`Raised`: the law failed, and the
report has the traceback, once); and these checks failed themselves ("internal").

No bound is tuned. Each follows from the number type, whose unit u is half the distance from 1 to
the next number (:math:`2^{-24}` in float32); the position, since the error of a float32 angle
:math:`\theta = k\omega` is proportional to it; and the width, over which errors add up. The error
of one entry in float32 arithmetic is at most :math:`\tau`, derived in `conventions.rounding`. A law
that compares two entries allows for both errors, one that adds entries for their sum. Even float64
tables need only float32 accuracy: models use float32, and many compute their angles in it.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from posenc.checks.museum import MUSEUM
from posenc.checks.probe import TAGS, Broken, Measured, Probe, Raised, Skip
from posenc.checks.report import Report, Row

Cause = str | None
"""The name of an exhibit in `MUSEUM`, a sentence, or None."""


@dataclass(frozen=True)
class Law:
    """A law: what it asks, where its bound comes from, and the most likely cause of a failure.

    `signs` are functions of a probe that look for a more exact cause. `after` are its roots: if one
    of them is broken, a failure of this law follows from that, and has no cause of its own.
    """

    name: str
    kinds: tuple[str, ...]
    asks: str
    source: str
    likely: str
    signs: tuple[Callable[[Any], Cause], ...]
    after: tuple[str, ...]
    test: Callable[[Any], Measured]


LAWS: list[Law] = []
"""All laws, in the order in which a report lists them."""

KINDS = ("table", "module", "rotary", "bias", "decoder")
ROOTS = ("shape", "repeat")  # nothing can be measured in a result that is wrong, or changes


def law(
    name: str, kinds: str, *, after: str = "", signs: Sequence[Callable[[Any], Cause]] = ()
) -> Callable[[Callable[[Any], Measured]], Callable[[Any], Measured]]:
    """Register the function that tests a law on some kinds of probes; names are in one string.

    The function's docstring says what the law asks, in its first line, and then "Bound:" and
    "Likely:", where its bound comes from and the most likely cause of a failure.
    """

    def register(test: Callable[[Any], Measured]) -> Callable[[Any], Measured]:
        asks, *more = inspect.cleandoc(test.__doc__ or "?").split("\n", 1)
        found = re.search(r"Bound: (.*?)\.\nLikely: (.*?)\.(\n\n|\Z)", "".join(more), re.DOTALL)
        bound, likely = (" ".join(each.split()) for each in (found.groups() if found else "??")[:2])
        roots = () if name == "shape" else tuple(f"{' '.join(ROOTS)} {after}".split())
        asks = asks[0].lower() + asks[1:].removesuffix(".")
        LAWS.append(Law(name, tuple(kinds.split()), asks, bound, likely, tuple(signs), roots, test))
        return test

    return register


def all_laws(kind: str) -> list[Law]:
    """Return the laws of a kind, or raise a ValueError."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return [law for law in LAWS if kind in law.kinds]


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
    return [law.name for law in all_laws(kind)]


def choose(kind: str, only: Iterable[str] | None) -> list[Law]:
    """Return the laws to test; raise unless `only` names laws of this kind."""
    laws = all_laws(kind)
    if only is None:
        return laws
    if isinstance(only, str) or not isinstance(only, Iterable):
        raise TypeError(f"laws must be a list of names, got {only!r}")
    names, wanted = [law.name for law in laws], [*only]
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        got = ", ".join(map(repr, unknown)) or "none"
        raise ValueError(f"laws must be among those of a {kind}: {', '.join(names)}; got {got}")
    return [law for law in laws if law.name in wanted]


def run(probe: Probe, name: str, only: Iterable[str] | None = None) -> Report:
    """Test all laws, or only some, on a probe."""
    laws, raised, rows = choose(probe.kind, only), {}, []
    for each in laws:
        row, error = judge(probe, each)
        rows.append(row)
        if error:
            raised[each.name] = error
    rows = silence(laws, rows)
    kept = [raised[row.law] for row in rows if row.law in raised and row.status != "follows"]
    report = Report(name, probe.kind, None, tuple(rows), error=(kept or [""])[0])
    if kept:
        plain = judge(probe, all_laws(probe.kind)[0])[0]
        report = replace(report, raised=plain.likely.startswith(RAISES))
    try:
        report = replace(report, convention=probe.convention, other=probe.other_kind)
    except (Broken, Raised):  # the laws met it, too
        pass
    except Exception:
        report = replace(report, error=report.error or traceback.format_exc())
    return replace(report, errors=probe.errors)


def judge(probe: Probe, law: Law) -> tuple[Row, str]:
    """Test one law; the second result is a traceback, if something raised."""
    row = Row(law.name, law.asks, "failed", source=law.source, likely=law.likely)
    if tag := probe.excused(law.name):
        note = f"{tag}: {TAGS[tag][law.name]}"
        return replace(row, status="skipped", likely="", note=note), ""
    try:
        try:
            measured, bound, note = law.test(probe)
        except Broken as how:
            cause = how.cause or look(probe, law)
            return explained(replace(row, measured=str(how)), cause), ""
        row = replace(row, measured=measured, bound=bound, note=note)
        if measured <= bound:  # NaN is not
            return replace(row, status="passed", likely=""), ""
        return explained(row, look(probe, law)), ""
    except Skip as reason:
        return replace(row, status="skipped", likely="", note=str(reason)), ""
    except Raised as error:
        return replace(row, measured=str(error), likely=f"{RAISES} ({error})"), error.traceback
    except Exception as error:
        trace = traceback.format_exc()
        what = f"{type(error).__name__}: {error}".partition("\n")[0]
        return replace(row, status="internal", measured=what, likely=INTERNAL), trace


RAISES = "your code raises an error, whose traceback is the report's `error`"
INTERNAL = (
    "posenc.checks failed, not your code: please report it to posenc, with this traceback and the "
    "code that was checked"
)


def look(probe: Probe, law: Law) -> Cause:
    """Return the first cause that a sign of the law finds; code that raises gives no sign."""
    for sign in law.signs:
        try:
            cause = sign(probe)
        except (Broken, Raised, Skip):
            continue
        if cause:
            return cause
    return None


def explained(row: Row, cause: Cause) -> Row:
    """Return the row with a cause: the law's own, an exhibit, or a sentence."""
    exhibit = MUSEUM.get(cause) if cause else None
    return replace(row, exhibit=exhibit, likely=exhibit.says if exhibit else cause or row.likely)


def silence(laws: Sequence[Law], rows: Sequence[Row]) -> list[Row]:
    """Mark failures that follow from the failure of a root, or have the same cause as another."""
    failed = [row.law for row in rows if row.status == "failed"]
    own = {law.name: law.likely for law in laws}
    found: list[Row] = []
    causes: dict[str, str] = {}
    for law, row in zip(laws, rows, strict=True):
        if row.status == "failed":
            same = "" if row.likely == own[law.name] else causes.get(row.likely, "")
            roots = (name for name in law.after if name in failed and name != law.name)
            root = next(roots, same)
            if root:
                row = replace(row, status="follows", note=f"follows from {root}", likely="")
                row = replace(row, exhibit=None)
            else:
                causes[row.likely] = law.name
        found.append(row)
    return found
