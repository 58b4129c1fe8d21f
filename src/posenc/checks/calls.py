"""Laws on calls: a call on part of the input gives that part of the result.

Each is a list of calls: the sizes in front of (seq_len, width), and positions. The result that each
must give is known from one call for the whole sequence, `Turning.meant`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from posenc.checks.conventions import AROUND, split
from posenc.checks.laws import Cause, law
from posenc.checks.pairs import TURNING, known_table, tau_of
from posenc.checks.probe import (
    Broken,
    Measured,
    Raised,
    Skip,
    WrongShape,
    draw_shapes,
    floats,
    largest,
    same_shape,
    values,
    worst,
)
from posenc.checks.rotations import Rotation
from posenc.checks.tables import Table

FAR = (300, 513, *(2**n + more for n in (10, 11, 12, 13, 15, 17) for more in (-1, 0, 1)), 999_999)
"""Distant positions, around the usual lengths of tables."""

DRAWN = [(batch, heads, seq_len + 1) for batch, heads, seq_len in draw_shapes(10, (9, 12, 32))]
"""Batch, heads and seq_len of calls, drawn: faults may begin at eight heads or an odd length.

Single rows are the law `token`'s.
"""

Call = tuple[tuple[int, ...], Sequence[int]]
SOME = ([1, 2, 3, 4], [40, 41, 42, 43], [9, 3, 12, 5], [200, 0, 0, 7])
BOUND = "2τ of the last row; 4u(|y| + |p|) more for x + p; 4(τ + u)·max|y| for a turned x"

# The cause of a failure


def single_row(probe: Any) -> Cause:
    """Look for a single row that is turned as at another position, or in another layout."""
    if probe.kind != "rotary":
        return known_table(probe) if not probe.free else None
    d_model, k = probe.widths[0], min(5, probe.rows - 2)
    x, matrices = probe.draw((), 1), probe.measured(d_model)
    out = probe.call(x, [k])[0]
    off = np.abs(matrices @ x[0] - out).max(axis=1)
    nearest = int(off.argmin())
    if nearest == k and off[k] < 1e-4:
        return None
    if off[nearest] < 1e-4 and nearest in (k - 1, k + 1):
        return f"a single row is turned as at position k {nearest - k:+d}: a step is off by one"
    if off.min() < 1e-4 or np.array_equal(out, probe.call(x, [k + 1])[0]):
        return "offset that sticks"
    order = np.argsort(np.arange(d_model) % 2, kind="stable")
    for turn in (order, np.argsort(order)):
        if np.abs(matrices[k][np.ix_(turn, turn)] @ x[0] - out).max() < 1e-4:
            return "mixed layouts"
    return None


def by_length(probe: Any) -> Cause:
    """Look for turns that depend on the largest position of a call, as under dynamic NTK."""
    if probe.kind != "rotary":
        return None
    beside = [probe.matrices([1, k])[0] for k in (2, probe.limit - 1)]
    among = [probe.matrices(range(3))[1], probe.measured(probe.widths[0])[1]]
    if max(np.abs(one - two).max() for one, two in (beside, among)) < 1e-4:
        return None
    return (
        "angles depend on the length of the call, or on its largest position: a base that is "
        "computed in each call (dynamic NTK); keys in a cache keep the old one"
    )


def wrap_of(probe: Any) -> Cause:
    """Look for the length at which positions begin again, or stay: 2048 is turned as 0 or 2047."""
    if probe.kind != "rotary":
        return None
    for length in (2**n for n in range(6, 18)):
        if length + 2 >= probe.limit:
            break
        one, two, last, late, later = probe.matrices([1, 2, length - 1, length + 1, length + 2])
        if np.abs(one - two).max() < 1e-6:  # nothing turns
            return None
        if max(np.abs(one - late).max(), np.abs(two - later).max()) < 1e-6:
            return f"positions wrap at {length}: position {length + 1} is turned as 1 (a cache?)"
        if max(np.abs(last - late).max(), np.abs(last - later).max()) < 1e-6:
            return f"positions are clamped at {length - 1}, the end of a table"
    return None


def by_size(probe: Any) -> Cause:
    """Say at which number of sequences or heads, or at which length, a fault begins."""
    if probe.kind == "module" and (cause := known_table(probe)):
        return cause
    wrong = [shape for shape in DRAWN if not is_alone(probe, shape)]
    right = [shape for shape in DRAWN if shape not in wrong]
    for axis, name in enumerate(("sequences", "heads", "positions")):
        most = max((shape[axis] for shape in right), default=99)
        if wrong and most < min(shape[axis] for shape in wrong):
            return f"it goes wrong with more than {most} {name}"
    if wrong and all(n % 2 for *_, n in wrong) and any(n % 2 == 0 for *_, n in right):
        return "it goes wrong at odd lengths"
    return None


def is_alone(probe: Any, shape: tuple[int, int, int]) -> bool:
    """Whether a rotation of that shape gives each head what it gets alone."""
    error, bound, _ = alone(probe, shape[:2], shape[2])
    return error <= bound


# Laws that are data


def calls(name: str, asks: str, cause: str, made: Callable[[Any], Iterable[Call]], **named: Any) \
        -> None:  # fmt: skip
    """Define a law on calls."""

    def test(probe: Any) -> Measured:
        found = []
        if isinstance(probe, Table) and name in ("start", "steps"):
            probe.only_sinusoids()
            if probe.convention is not None and probe.convention.step == AROUND:
                raise Skip("the rows share one turn, so that all depend on the length")
        for lead, given in made(probe):
            positions = [k % probe.rows for k in given]
            x = probe.draw(lead, len(positions))
            error, bound, note = probe.compare(probe.call(x, positions), x, positions)
            shape = "" if x is None else f"shape {x.shape}"
            found.append((error, bound, ", ".join(filter(None, (note, shape)))))
        return largest(found)

    test.__doc__ = f"{asks}.\n\nBound: {BOUND}.\nLikely: {cause}.\n"
    law(name, named.pop("kinds", TURNING), **named)(test)


calls(
    "start",
    "rows don't depend on where the sequence begins or ends, or on the order of positions",
    "the start or the length leaks into the angles",
    lambda probe: [((2,), k) for k in (SOME if probe.free else [range(probe.rows // 2)])],
    signs=(single_row, by_length),
    after="batch norm adds",
)
calls(
    "steps",
    "one row at a time gives the same result as the whole sequence",
    "positions are counted from 0 in each call",
    lambda probe: [((1,), [k] if probe.free else range(k + 2)) for k in range(9)],
    signs=(single_row,),
    after="batch start identity",
)


def alone(probe: Any, lead: tuple[int, ...], seq_len: int) -> Measured:
    """Compare a call for all sequences and heads with a call for each.

    The rows were computed twice, so that each entry is compared with what it may be off by.
    """
    positions = range(min(seq_len, probe.rows))
    x = probe.draw(lead, len(positions))
    together = probe.call(x, positions)
    flat = x.reshape(-1, *x.shape[-2:])
    flat = flat[:, None] if probe.kind == "module" else flat
    single = [probe.call(each, positions) for each in flat]
    apart = np.array(single).reshape(-1, *single[0].shape[-2:])
    off = np.abs(together.reshape(apart.shape) - apart)
    error, bound, place = worst(off, np.broadcast_to(probe.allowed(x, apart, positions), off.shape))
    return error, bound, f"sequence {place[0]}, shape {x.shape}"


@law("batch", "module rotary", signs=(by_size,))
def batch(probe: Any) -> Measured:
    """Each sequence in a batch, and each head, gets the same result as alone.

    Bound: 2τ of the last row; 4u(|y| + |p|) more for x + p; 4(τ + u)·max|y| for a turned x.
    Likely: batch and sequence are mixed up.
    """
    return largest([alone(probe, shape[:2], shape[2]) for shape in DRAWN])


calls(
    "token",
    "in a batch of single tokens, each gets the same result as alone",
    "a single-row path mistakes the batch or head axis for the sequence",
    lambda probe: [(lead, [7 if probe.free else 0]) for lead in ((3,), (3, 2), (1, 4), (4, 8))],
    kinds="module rotary",
    signs=(single_row,),
    after="batch start steps",
)


@law("rows", "module rotary", after="batch start")
def rows(probe: Any) -> Measured:
    """With positions of shape (batch, seq_len), each sequence gets the same result as alone.

    Bound: 2τ of the last row; 4u(|y| + |p|) more for x + p; 4(τ + u)·max|y| for a turned x.
    Likely: one sequence's positions are used for all, or batch and heads are mixed up.
    """
    where = np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]]) % probe.rows
    found = []
    for lead in ((3,), (3, 2)) if probe.free else ():
        x = probe.draw(lead, 5)
        try:
            out = probe.call(x, where)
        except (Raised, WrongShape):  # refused
            continue
        for row, positions in enumerate(where):
            error, bound, _ = probe.compare(out[row], x[row], positions)
            found.append((error, bound, f"sequence {row}, shape {x.shape}"))
    if not found:
        raise Skip("takes no positions of shape (batch, seq_len)")
    return largest(found)


@law("far", "module rotary", after="batch start norm steps frequencies", signs=(wrap_of,))
def far(probe: Any) -> Measured:
    """Far beyond the first rows, a row alone gets the same result as among others.

    Bound: 4(τ + u)·max|y| for a turned x; τ at each position for a row that is added.
    Likely: positions wrap, or are clamped, at the length that a table was made for.
    """
    if isinstance(probe, Table):
        return far_rows(probe)
    where = [k for k in FAR if k < probe.limit]
    if not where:
        raise Skip(f"no position beyond {probe.limit}")
    x, matrices = probe.draw((), len(where)), probe.matrices(where)
    sizes = (matrices**2).sum(axis=1) / (probe.measured(probe.widths[0])[1] ** 2).sum(axis=0)
    if (wrong := np.abs(sizes - 1).max(axis=1) > 1e-3).any():
        how = f"position {where[int(wrong.argmax())]} has another norm than position 1"
        raise Broken(how, "positions reach past the end of a table, which is read out of bounds")
    meant = np.einsum("kij,kj->ki", matrices, x)

    def near(found: Any, count: int) -> Measured:
        bounds = probe.allowed(x, meant, where[:count])
        off = np.abs(found - meant[:count])
        error, bound, place = worst(off, np.broadcast_to(bounds, off.shape))
        return error, bound, f"position {where[place[0]]}"

    single = np.concatenate([probe.call(x[[n]], [k]) for n, k in enumerate(where)])
    seq_len = min(probe.limit, 4200)
    inside = [k for k in where if k < seq_len]
    long = np.zeros((seq_len, probe.widths[0]))
    long[inside] = x[: len(inside)]
    out = probe.call(long, range(seq_len))[inside]
    measured = largest([near(single, len(where)), near(out, len(inside))])
    if measured[0] <= measured[1] and (cause := wrap_of(probe)):
        raise Broken(cause.partition(" (")[0], cause)
    return measured


def far_rows(probe: Any) -> Measured:
    """Request distant rows of a layer one by one: they must be correct or refused."""
    known, d_model = probe.reference, probe.widths[0]
    if not probe.free or known is None or known.step == AROUND or probe.down:
        raise Skip("no argument for positions, or no convention to compare with")
    taken, made = [], []
    for k in (*FAR, 5001):
        try:
            made.append(probe.call(np.zeros((1, 1, d_model)), [k])[0, 0])
        except Raised:  # beyond its limit
            continue
        taken.append(k)
    if not taken:
        raise Skip("far positions are refused")
    exact = np.exp(1j * known.angles(taken, 1, d_model))
    off = split(np.array(made) / probe.scale, known.layout) - exact
    allowed = tau_of(probe, known, np.array(taken, float), 1)
    error, bound, place = worst(np.maximum(np.abs(off.real), np.abs(off.imag)), allowed)
    return error, bound, f"position {taken[place[0]]}, pair {place[1]}"


calls(
    "empty",
    "zero positions give no rows, one gives one",
    "a length of 0 or 1 isn't handled",
    lambda probe: [
        *[((), ()), ((2,), ()), ((0,), range(3))][: 1 if probe.kind == "table" else 3],
        ((1,), [5] if probe.free else [0]),
    ],
    signs=(single_row,),
    after="start identity steps",
)

# Laws on two calls


@law("masked", "module rotary", after="batch")
def masked(probe: Any) -> Measured:
    """A row's content, even NaN, affects no other row.

    Bound: exact.
    Likely: rows are mixed: a mean over the sequence, or a mask that multiplies by zero.
    """
    x = probe.draw((2,), 9)
    out = probe.call(x, range(9))
    x[0, 3], x[1, 7] = math.nan, math.inf
    with np.errstate(invalid="ignore"):
        other = probe.call(x, range(9))
    kept = np.ones((2, 9), dtype=bool)
    kept[0, 3] = kept[1, 7] = False
    if not np.array_equal(out[kept], other[kept]):
        raise Broken("rows with unchanged input changed")
    return 0.0, 0.0, ""


@law("odd", TURNING, signs=(lambda probe: None if probe.kind == "rotary" else "odd",))
def odd(probe: Any) -> Measured:
    """An odd width is refused, or padded with zeros where that is the convention.

    Bound: exact.
    Likely: an odd width leaves a sine without a cosine.
    """
    if getattr(probe, "fixed", False):
        raise Skip("the layer has one width")
    width = probe.widths[0] - 1
    try:
        if isinstance(probe, Rotation):
            x = np.random.default_rng(0).normal(size=(3, width))
            out = probe.call(x, range(3))
        else:
            out = floats(probe.table_of(8, width))
    except Raised as error:  # any error is a refusal, if an even width works
        if isinstance(probe, Table):
            probe.table_of(8, width + 1)
        return 0.0, 0.0, f"refused: {str(error).partition(':')[0]}"
    if isinstance(probe, Rotation):
        sizes = [np.linalg.norm(each, axis=-1) for each in (out, x)]
        if np.abs(sizes[0] - sizes[1]).max() < 1e-4:
            return 0.0, 0.0, "the last dimension passes"
    elif probe.other_kind:
        return 0.0, 0.0, "another kind"
    else:
        found = probe.convention
        padded = found is not None and found.rule == "d/2 - 1" and out.shape[-1] == width
        if padded and not out[..., -1].any():
            return 0.0, 0.0, "a column of zeros at the end, as in tensor2tensor"
    raise Broken(f"shape {out.shape} for width {width}, and no error")


@law("strided", "module rotary", after="batch start")
def strided(probe: Any) -> Measured:
    """Non-contiguous input gives the same result.

    Bound: 2τ of the last row; 4u(|y| + |p|) more for x + p; 4(τ + u)·max|y| for a turned x.
    Likely: a view is reshaped as if it were contiguous.
    """
    if probe.library.name not in ("numpy", "torch"):
        raise Skip(f"{probe.library.name} doesn't expose strides")
    width, found = probe.widths[0], []
    x = np.concatenate([probe.draw((12,), 12)] * 2, axis=-1)
    given = probe.give(x)
    views = {
        "every second row": given[:4, ::2, :width],
        "transposed": given.swapaxes(0, 1)[:5, :, :width],
    }
    if probe.library.name == "torch":
        views["expanded"] = given[:1, :, :width].expand(3, -1, -1)
    for name, view in views.items():
        positions = range(min(view.shape[1], probe.rows))
        view = view[:, : len(positions)]
        same, places = values(view).copy(), probe.places(positions)
        out, plain = (floats(probe.raw(each, places)) for each in (view, probe.give(same)))
        same_shape(out, plain)
        off = np.abs(out - plain)
        bounds = np.broadcast_to(probe.allowed(same, plain, positions), off.shape)
        found.append((*worst(off, bounds)[:2], name))
    return largest(found)


@law("repeat", TURNING)
def repeat(probe: Any) -> Measured:
    """A second call gives the same result; input and first result are unchanged.

    Bound: exact.
    Likely: a cached result is overwritten, the input is modified in place, or something is random.
    """
    count = min(9, probe.rows)
    x, where = probe.draw((2,), count), range(count)
    given, places = probe.give(x), probe.places(where)
    first = probe.raw(given, places)
    kept = values(first).copy()
    second = values(probe.raw(given, places)).copy()
    if isinstance(probe, Table) and probe.kind == "table":
        probe.table_of(7, probe.widths[-1])
        probe.table_of(8, probe.widths[0])
    else:
        shifted = [(k + 3) % probe.rows for k in where] if isinstance(probe, Rotation) else where
        probe.call(np.ones((1, count, probe.widths[0])), where)
        probe.call(x + 1, shifted)
        if not np.array_equal(floats(given), x) or not np.array_equal(
            values(places), values(probe.places(where))
        ):
            raise Broken("the input was changed")
    if not np.array_equal(values(first), kept, equal_nan=True):
        raise Broken("a later call overwrote the first result")
    return float(np.abs(floats(second) - floats(kept)).max(initial=0.0)), 0.0, ""
