"""Laws on calls: a call on part of the input gives that part of the result.

Most laws are a list of calls. What each must give is known from one call for the whole sequence,
`Turning.meant`, or from a call for each sequence.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from posenc.checks.arrays import floats, values
from posenc.checks.laws import Broken, Measured, Raised, Skip, WrongShape, largest, law, sign
from posenc.checks.pairs import NEAR, TORCH, TURNING, exact_rows
from posenc.conventions import AROUND, Floats

FAR = (300, 513, *(2**n + more for n in (10, 11, 12, 13, 15, 17) for more in (-1, 0, 1)), 999_999)
"""Distant positions, around the usual lengths of tables."""

LARGEST = (9, 12, 33)
SEED = int(os.environ.get("POSENC_SEED", "0"))
DRAWN = [*np.random.default_rng(SEED).integers((1, 1, 2), LARGEST, (10, 3), endpoint=True).tolist()]
DRAWN.append([*LARGEST])
"""Batch, heads and seq_len of calls, drawn: faults may begin at eight heads or an odd length.

The environment variable POSENC_SEED sets the seed: with another one in a nightly run, faults that
begin at a size which this draw lacks are found, too. Single rows are the law `token`'s.
"""

Calls = list[tuple[tuple[int, ...], Any]]
"""Sizes in front of (seq_len, width), and positions; rows of them are tested one by one."""
Made = Callable[[Any], Calls]
Meant = Callable[..., Floats]

SOME = ([1, 2, 3, 4], [40, 41, 42, 43], [9, 3, 12, 5], [200, 0, 0, 7])
BATCHES: Calls = [((batch, heads), range(seq_len)) for batch, heads, seq_len in DRAWN]
RAGGED = ([0, 1, 2, 3, 4], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0])


def calls(
    name: str, kinds: str, after: str, asks: str, cause: str, made: Made, meant: Meant | None = None
) -> None:
    """Define a law on calls; what each must give is known from the whole sequence, by default."""

    def test(probe: Any) -> Measured:
        around = probe.kind == "table" and probe.convention and probe.convention.step == AROUND
        if around and name != "empty":
            raise Skip("the rows share one turn, so that all depend on the length")
        if found := run_calls(probe, made(probe), meant or type(probe).meant):
            return largest(found)
        raise Skip("takes no positions of shape (batch, seq_len)")

    test.__doc__ = f"{asks}.\n\nBound: CALL. Likely: {cause}."
    law(name, kinds, after)(test)


def run_calls(probe: Any, made: Calls, meant: Meant) -> list[Measured]:
    """Compare the result of each call with what is meant, unless it refuses rows of positions."""
    found = []
    for lead, given in made:
        positions = np.asarray(given, dtype=np.int64) % probe.rows
        x = probe.draw(lead, positions.shape[-1])
        try:
            out = probe.call(x, positions)
        except (Raised, WrongShape):
            if positions.ndim == 1:
                raise
            continue
        rows = zip(out, x, positions, strict=True) if positions.ndim > 1 else [(out, x, positions)]
        for y, each, where in rows:
            error, bound, note = probe.near(y, meant(probe, each, where), each, where)
            found.append((error, bound, f"{note}, shape {x.shape}".removeprefix(", ")))
    return found


def alone(probe: Any, x: Any, positions: Sequence[int]) -> Floats:
    """Return the results of a call for each sequence and each head."""
    flat = x.reshape(-1, *x.shape[-2:])
    flat = flat[:, None] if probe.kind == "module" else flat
    return np.array([probe.call(each, positions) for each in flat]).reshape(x.shape)


# fmt: off
calls("start", TURNING, "batch norm adds",
      "rows don't depend on where the sequence begins or ends, or on the order of positions",
      "the start or the length leaks into the angles",
      lambda probe: [((2,), k) for k in (SOME if probe.free else [range(probe.rows // 2)])])
calls("steps", TURNING, "batch start identity",
      "one row at a time gives the same result as the whole sequence",
      "positions are counted from 0 in each call",
      lambda probe: [((1,), [k] if probe.free else range(k + 2)) for k in range(9)])
calls("batch", TORCH, "",
      "each sequence in a batch, and each head, gets the same result as alone",
      "batch and sequence are mixed up", lambda probe: BATCHES, alone)
calls("token", TORCH, "batch start steps",
      "in a batch of single tokens, each gets the same result as alone",
      "a single-row path mistakes the batch or head axis for the sequence",
      lambda probe: [(lead, [7 * probe.free]) for lead in ((3,), (3, 2), (1, 4), (4, 8))])
calls("rows", TORCH, "batch start",
      "with positions of shape (batch, seq_len), each sequence gets the same result as alone",
      "one sequence's positions are used for all, or batch and heads are mixed up",
      lambda probe: [(lead, RAGGED) for lead in ((3,), (3, 2)) if probe.free])
# fmt: on


@law("far", TORCH, after="batch start norm steps frequencies")
def far(probe: Any) -> Measured:
    """Far beyond the first rows, a row alone gets the same result as among others.

    Bound: 2(τ + u)(|x₁| + |x₂|) for a turned x; τ at each position for a row that is added.
    Likely: positions wrap, or are clamped, at the length that a table was made for.
    """
    if probe.kind == "module":
        return far_rows(probe)
    where = [k for k in FAR if k < probe.limit]
    if not where:
        raise Skip(f"no position beyond {probe.limit}")
    x, matrices = probe.draw((), len(where)), probe.matrices(where)
    sizes = (matrices**2).sum(axis=1) / (probe.measured(probe.widths[0])[1] ** 2).sum(axis=0)
    if (wrong := np.abs(sizes - 1).max(axis=1) > 1e-3).any():
        how = f"position {where[int(wrong.argmax())]} has another norm than position 1"
        raise Broken(how, "positions reach past the end of a table, which is read out of bounds")
    if cause := wrap_of(probe):
        raise Broken(cause.partition(" (")[0], cause)
    meant = np.einsum("kij,kj->ki", matrices, x)
    single = np.concatenate([probe.call(x[[n]], [k]) for n, k in enumerate(where)])
    inside = [k for k in where if k < 4200]
    long, count = np.zeros((min(probe.limit, 4200), x.shape[1])), len(inside)
    long[inside] = x[:count]
    out = probe.call(long, range(len(long)))[inside]
    among = probe.near(out, meant[:count], x[:count], inside)
    return largest([probe.near(single, meant, x, where), among])


def wrap_of(probe: Any) -> str | None:
    """Look for the length at which positions begin again, or stay: 2048 is turned as 0 or 2047."""
    same = partial(np.allclose, rtol=0, atol=1e-6)
    for length in (2**n for n in range(6, 18) if 2**n + 2 < probe.limit):
        one, two, last, late, later = probe.matrices([1, 2, length - 1, length + 1, length + 2])
        if same(one, two):  # nothing turns
            return None
        if same(one, late) and same(two, later):
            return f"positions wrap at {length}: position {length + 1} is turned as 1 (a cache?)"
        if same(last, late) and same(last, later):
            return f"positions are clamped at {length - 1}, the end of a table"
    return None


def far_rows(probe: Any) -> Measured:
    """Request distant rows of a layer one by one: they must be correct or refused."""
    known, made = probe.convention, {}
    if not probe.free or known is None or known.step == AROUND or probe.down:
        raise Skip("no argument for positions, or no convention to compare with")
    for k in (*FAR, 5001):
        with contextlib.suppress(Raised):  # beyond its limit
            made[k] = probe.call(np.zeros((1, 1, probe.widths[0])), [k])[0, 0]
    if not made:
        raise Skip("far positions are refused")
    return exact_rows(probe, probe.off([*made], np.array([*made.values()])), [*made])


# fmt: off
calls("empty", TURNING, "start identity steps",
      "zero positions give no rows, one gives one", "a length of 0 or 1 isn't handled",
      lambda probe: [((1,), [5 * probe.free]), ((), ()), ((2,), ()), ((0,), range(3))]
      [: 2 if probe.kind == "table" else 4])
# fmt: on


@law("masked", TORCH, after="batch")
def masked(probe: Any) -> Measured:
    """A row's content, even NaN, affects no other row.

    Likely: rows are mixed: a mean over the sequence, or a mask that multiplies by zero.
    """
    x = probe.draw((2,), 9)
    out = probe.call(x, range(9))
    x[0, 3], x[1, 7] = math.nan, math.inf
    with np.errstate(invalid="ignore"):
        other = probe.call(x, range(9))
    kept = np.isfinite(x).all(axis=-1)
    if not np.array_equal(out[kept], other[kept]):
        raise Broken("rows with unchanged input changed")
    return 0.0, 0.0, ""


@law("odd", TURNING)
def odd(probe: Any) -> Measured:
    """An odd width is refused, or padded with zeros where that is the convention.

    Likely: an odd width leaves a sine without a cosine.
    """
    width, rotary = probe.widths[0] - 1, probe.kind == "rotary"
    if getattr(probe, "fixed", False):
        raise Skip("the layer has one width")
    x = np.random.default_rng(0).normal(size=(3, width))
    try:
        out = probe.call(x, range(3)) if rotary else floats(probe.table_of(8, width))
    except Raised as error:  # any error is a refusal, if an even width works
        _ = rotary or probe.table_of(8, width + 1)
        return 0.0, 0.0, f"refused: {str(error).partition(':')[0]}"
    if rotary:
        right = np.abs(np.linalg.norm(out, axis=-1) - np.linalg.norm(x, axis=-1)).max() < 1e-4
        note = "the last dimension passes"
    else:
        padded = out.shape[-1] == width and not out[..., -1].any() and probe.convention
        right, note = padded and padded.rule == "d/2 - 1", "a column of zeros, as in tensor2tensor"
    if not right:
        how = f"shape {out.shape} for width {width}, and no error"
        raise Broken(how, None if rotary else "odd")
    return 0.0, 0.0, note


@law("strided", TORCH, after="batch start")
def strided(probe: Any) -> Measured:
    """Non-contiguous input gives the same result.

    Bound: CALL. Likely: a view is reshaped as if it were contiguous.
    """
    if probe.library.name not in ("numpy", "torch"):
        raise Skip(f"{probe.library.name} doesn't expose strides")
    where, found = range(min(6, probe.rows)), []
    wide = probe.give(np.concatenate([probe.draw((12,), 12)] * 2, axis=-1))
    wide = wide[..., : probe.widths[0]]
    views = {"every second row": wide[:4, ::2], "transposed": wide.swapaxes(0, 1)[:5]}
    if probe.library.name == "torch":
        views["expanded"] = wide[:1].expand(3, -1, -1)
    for name, view in views.items():
        rows, places = view[:, : len(where)], probe.places(where)
        x = values(rows).copy()
        out, plain = (floats(probe.raw(each, places)) for each in (rows, probe.give(x)))
        found.append((*probe.near(out, plain, x, where)[:2], name))
    return largest(found)


@law("repeat", TURNING)
def repeat(probe: Any) -> Measured:
    """A second call gives the same result; input and first result are unchanged.

    Likely: a cached result is overwritten, the input is modified in place, or something is random.
    """
    where = range(min(9, probe.rows))
    x = probe.draw((2,), len(where))
    given, places = probe.give(x), probe.places(where)
    if probe.kind == "table":  # itself, not a sum
        once = partial(probe.table_of, len(where), x.shape[2])
        others = [partial(probe.table_of, 7, probe.widths[-1])]
    else:
        once = partial(probe.raw, given, places)
        later = where[::-1] if probe.free else where
        others = [partial(probe.call, x[:1], where), partial(probe.call, x + 1, later)]
    first = once()
    kept = values(first).copy()
    second = values(once()).copy()
    for other in others:
        other()
    same = np.array_equal(values(places), values(probe.places(where)))
    if not same or not np.array_equal(floats(given), x):
        raise Broken("the input was changed")
    if not np.array_equal(values(first), kept, equal_nan=True):
        raise Broken("a later call overwrote the first result")
    if not np.array_equal(second, kept):
        raise Broken("a second call gives another result")
    return 0.0, 0.0, ""


@sign("rotary", "start steps token empty")
def single_row(probe: Any) -> str | None:
    """Look for a single row that is turned as at another position, or in another layout."""
    d_model, k = probe.widths[0], min(5, probe.rows - 2)
    x, matrices = probe.draw((), 1), probe.measured(d_model)
    out = probe.call(x, [k])[0]
    off = np.abs(matrices @ x[0] - out).max(axis=1)
    nearest = int(off.argmin())
    if off[k] < NEAR:
        return None
    if off[nearest] < NEAR and abs(nearest - k) == 1:
        return f"a single row is turned as at position k {nearest - k:+d}: a step is off by one"
    if off[nearest] < NEAR or np.array_equal(out, probe.call(x, [k + 1])[0]):
        return "offset that sticks"
    order = np.argsort(np.arange(d_model) % 2, kind="stable")
    turned = [matrices[k][np.ix_(turn, turn)] @ x[0] for turn in (order, np.argsort(order))]
    return "mixed layouts" if min(np.abs(each - out).max() for each in turned) < NEAR else None


@sign("rotary", "start")
def by_length(probe: Any) -> str | None:
    """Look for turns that depend on the largest position of a call, as under dynamic NTK."""
    one, two = (probe.matrices([1, k])[0] for k in (2, probe.limit - 1))
    three, four = probe.matrices(range(3))[1], probe.measured(probe.widths[0])[1]
    if max(np.abs(one - two).max(), np.abs(three - four).max()) < NEAR:
        return None
    how = "angles depend on the length of the call, or on its largest position: a base that is "
    return f"{how}computed in each call (dynamic NTK); keys in a cache keep the old one"


@sign("module rotary", "batch")
def by_size(probe: Any) -> str | None:
    """Say at which number of sequences or heads, or at which length, a fault begins."""
    found = zip(DRAWN, run_calls(probe, BATCHES, alone), strict=True)
    right = [shape for shape, (error, bound, _) in found if error <= bound]
    wrong = [shape for shape in DRAWN if shape not in right]
    for axis, name in enumerate(("sequences", "heads", "positions")):
        most = max((shape[axis] for shape in right), default=99)
        if wrong and most < min(shape[axis] for shape in wrong):
            return f"it goes wrong with more than {most} {name}"
    odd = wrong and all(n % 2 for *_, n in wrong) and any(n % 2 == 0 for *_, n in right)
    return "it goes wrong at odd lengths" if odd else None
