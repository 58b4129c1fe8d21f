"""The battery for tables, layers and rotations: calls, number types, moves, and properties."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from posenc.checks.encodings import UNITS, Encoding, Rotation
from posenc.checks.subjects import argument, floats
from posenc.checks.trials import (
    NEAR,
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    law,
    user,
)
from posenc.conventions import UNIT

# What laws ask a subject, of any kind (x: (..., seq_len, width), in float64):
#
#   draw(lead, seq_len)      x with these axes in front; zeros for a table
#   call(x, positions)       the result, of the shape of x; a law is broken if it has another
#   raw(array, places)       the same in the library's own arrays, with nothing checked
#   rows, at_most(n)         positions that most laws look at; n, or the longest that the code takes
#   free                     whether a call takes any positions, or counts 0, 1, 2, … by itself
#   compare(x, positions)    a trial of a call, beside the book's
#   about                    why it is another kind of table, or ""
#   module                   the torch module, or function, of the first width
ALL, CALLED = ("table", "module", "rotary"), ("module", "rotary")
TAU = "τ + 2u for an entry of size 1, τ = 2u + u|θ|(3|ln ω| + 5)"
IN_UNIT = f"{TAU}, with the type's u for the entry, float32's for the angle"

REFILLS = ("reset_parameters", "reset_buffers", "rope_init", "init_weights")
CUT = "the graph is cut: by `detach`, `no_grad`, or `.data`"
ODD = "an odd width leaves a sine without a cosine: refuse it (exhibit 6)"
SWAPPED = "axes are swapped (exhibit G: notebooks/16_batches_and_caches.html#exhibit-g)"
STAYS = "a tensor stays behind: register it as a buffer, or make it on `x.device`"
UNFILLED = (
    "a buffer that isn't in the state dict is never filled: give it `reset_parameters`"
)


def positions_near(limit: int) -> list[int]:
    """Return positions to test below a limit: first, last, and near the usual lengths of tables."""
    # Tables end, and half types lose whole numbers, at powers of two.
    near = {2**n + more for n in range(1, 21) for more in (-1, 0, 1)}
    return sorted(k for k in near | {300, 301, 5001, limit - 1} if 0 <= k < limit)


def some(subject: Encoding) -> tuple[Any, range]:
    """Draw two sequences, and return them and their positions."""
    count = min(9, subject.rows)
    return subject.draw((2,), count), range(count)


def rows_alike(subject: Encoding, count: int) -> Any:
    """Return the rows of one x at all positions, or those that are added to zeros."""
    x = np.repeat(subject.draw((), 1), count, axis=-2) * (subject.kind == "rotary")
    return subject.call(x, range(count)).reshape(-1, count, x.shape[-1])[0]


# The sequence as a whole


@law("shape", ALL, "the shape is the requested one, and all entries are finite")
def shape(subject: Encoding) -> Trials:
    """Call with and without a batch, and heads."""
    # (seq_len, width), (batch, seq_len, width), (batch, heads, seq_len, width)
    for lead in ((), (2,), (2, 3)):
        x = subject.draw(lead, 5)
        out = subject.call(x, range(5))
        yield Trial(f"shape {x.shape}", out, out)


@law(
    "repeat",
    ALL,
    "a second call gives the same; input and first result are unchanged",
)
def repeat(subject: Encoding) -> Trials:
    """Keep the first result, and call again, with other input, too."""
    x, positions = some(subject)
    given, places = subject.array(x), subject.places(positions)
    first = subject.raw(given, places)
    # A copy is kept: what the code returned may change under us.
    kept = floats(first).copy()
    yield Trial("a second call", floats(subject.raw(given, places)), kept)
    subject.call(1 + subject.draw((2,), len(x[0]), subject.widths[-1]), positions)
    yield Trial("the first result, after a later call", floats(first), kept)
    yield Trial("the input", floats(given), x)


@law("values", ALL, "the whole sequence has the entries of the convention", TAU)
def whole(subject: Encoding) -> Trials:
    """Compare the whole sequence at each width."""
    yield from subject.whole()


@law("norm", ALL, "rows have the norm that sin² + cos² = 1 gives", "12u of its square")
def norm(subject: Encoding) -> Trials:
    """Compare squares, which no angle changes."""
    for trial in subject.whole():
        given, meant = ((x**2).sum(axis=-1) for x in (trial.given, trial.meant))
        # An error of 2u in sine and cosine changes sin² + cos² by up to 4√2·u, and x by as much.
        yield Trial(trial.words, given, meant, 12 * subject.unit * meant, ("row",))


@law("unique", ALL, "no two rows are equal", "six decimals")
def unique(subject: Encoding) -> Trials:
    """Look for rows that are equal when rounded."""
    count = subject.at_most(subject.length)
    rows = np.round(rows_alike(subject, count), 6)
    _, first, groups = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    # For each row, the number of the first one that is equal: its own.
    equal = first[groups.ravel()]
    yield Trial("the first row that is equal", equal, np.arange(count), 0.0, ("row",))


# The same rows in other calls, which the reference tells

# Faults may begin at eight heads, four sequences or an odd length.
DRAWN = np.random.default_rng(SEED).integers((1, 1, 2), (10, 13, 34), (6, 3))
SIZES = [*DRAWN.tolist(), [9, 12, 33], [3, 8, 5], [1, 1, 4]]
TOKENS: Any = ((3,), (3, 2), (1, 4), (4, 8))
SOME = ([1, 2, 3, 4], range(40, 60), [9, 3, 12, 5], [200, 0, 0, 7])
RAGGED = np.array([[3, 4, 5, 6, 7], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]])
FRACTIONS = np.array([0.5, 1.25, 7.75])


def calls(
    name: str, kinds: tuple[str, ...], asks: str, made: Iterable[tuple[Any, Any]]
) -> None:
    """Define a law that compares calls: axes in front of (seq_len, width), and positions."""

    def test(subject: Encoding) -> Trials:
        for lead, positions in made:
            # Modulo, since a table may be short; counted from 0, if it takes no positions.
            k = np.array(positions, np.int64)[: subject.rows] % subject.rows
            x = subject.draw(lead, len(k))
            if len(lead) == 2:  # rows aren't next to each other in memory
                x = np.ascontiguousarray(x.swapaxes(-3, -2)).swapaxes(-3, -2)
            yield subject.compare(x, k if subject.free else range(len(k)), str(x.shape))

    law(name, kinds, asks, TAU)(test)


calls(
    "start",
    ALL,
    "rows don't depend on where the sequence begins or ends",
    [((), k) for k in SOME],
)
calls(
    "steps",
    ALL,
    "one row at a time gives the same as the whole sequence",
    [((1,), [k]) for k in range(9)],
)
calls(
    "batch",
    CALLED,
    "each sequence in a batch, and each head, gets the same as alone",
    [((n, heads), range(size)) for n, heads, size in SIZES],
)
calls(
    "token",
    CALLED,
    "in a batch of single tokens, each gets the same as alone",
    [(lead, [7]) for lead in TOKENS],
)
calls(
    "empty",
    CALLED,
    "no rows and no sequences give none",
    [((), []), ((2,), []), ((0,), range(3))],
)


@law("rows", CALLED, "with positions (batch, seq_len), each row gets its own", TAU)
def rows(subject: Encoding) -> Trials:
    """Give each sequence other positions, if the code takes that."""
    if not subject.free:
        raise Skip("takes no positions")
    for lead in ((3,), (3, 2)):
        try:
            x = subject.draw(lead, 5)
            yield subject.compare(x, RAGGED, "three rows of positions")
        except (Broken, Raised):
            raise Skip("takes no positions of shape (batch, seq_len)") from None


@law("fractions", CALLED, "positions between two rows turn by a part of the angle", TAU)
def fractions(subject: Encoding) -> Trials:
    """Give fractional positions, unless they are refused, or cut off."""
    x = subject.draw((1,), 3)
    try:
        out, cut = (subject.call(x, k) for k in (FRACTIONS, FRACTIONS.astype(int)))
    except (Raised, TypeError):
        raise Skip("positions are whole numbers: others are refused") from None
    # Code that indexes a table cuts the rest off; that is its right.
    if np.array_equal(out, cut):
        raise Skip("positions are whole numbers: the rest is cut off")
    yield subject.compare(x, FRACTIONS, "positions 0.5, 1.25, 7.75")


@law("far", ALL, "far beyond the first rows, a row is what it should be", TAU)
def far(subject: Encoding) -> Trials:
    """Try distant rows, or a long table; a layer may refuse them."""
    if subject.kind == "module" and not subject.free:
        raise Skip("rows are counted from the first one only")
    if subject.convention and subject.convention.direction == "down":
        raise Skip("rows are counted from the last one only")
    limit = subject.at_most(subject.longest)
    tested = positions_near(limit)
    positions = tested if subject.free else range(limit)
    trial = subject.compare(subject.draw((), len(positions)), positions)
    yield trial
    errors = np.abs(trial.given - trial.meant).max(axis=-1).reshape(-1)
    shown = zip(positions, errors.tolist(), strict=False)
    subject.errors = {k: error for k, error in shown if k in tested}


@law("axes", ("rotary",), "each pair turns by its own coordinate", TAU)
def axes(subject: Rotation) -> Trials:
    """Give another coordinate along each axis."""
    if not subject.axes:
        raise Skip(
            "one coordinate; for several, pass frequencies of shape (axes, pairs)"
        )
    x, right = subject.draw((), 12), subject.reference(subject.widths[0])
    # (rows, axes)
    k = np.random.default_rng(SEED).integers(1, subject.rows, (12, subject.axes))
    out = floats(subject.raw(subject.array(x), subject.array(k, "int64")))
    # (rows, axes) @ (axes, pairs): the angles of all axes add up.
    meant, swapped = (right.encode(x, n @ subject.frequencies) for n in (k, k[:, ::-1]))
    if np.abs(out - swapped).max() < NEAR < np.abs(out - meant).max():
        raise Broken("coordinates are in reverse order", SWAPPED)
    bounds = right.bound(x, np.full(12, 1.0 * subject.axes * subject.rows))
    yield Trial("other coordinates", out, meant, bounds, ("row", "dimension"))


# Unusual input


@law("masked", CALLED, "a row's content, even NaN, affects no other row")
def masked(subject: Encoding) -> Trials:
    """Put NaN into one row, and infinity into another, as padding may hold anything."""
    x, positions = some(subject)
    before = subject.call(x, positions)
    x[0, -1], x[1, 0] = math.nan, math.inf
    with np.errstate(invalid="ignore"):
        after = subject.call(x, positions)
    kept = np.isfinite(x).all(axis=-1)
    yield Trial("rows beside NaN", after[kept], before[kept])


@law("odd", ALL, "an odd width is refused, or its last dimension passes")
def odd(subject: Encoding) -> Trials:
    """Ask for an odd width."""
    if subject.fixed:
        raise Skip("the layer has one width")
    x = subject.draw((), 3, subject.widths[0] - 1)
    try:
        out = subject.call(x, range(3))
    except Raised:
        return  # any error is a refusal
    except Broken as how:
        raise Broken(str(how), ODD) from None
    known = subject.convention
    # tensor2tensor pads a table with zeros.
    if subject.kind != "rotary" and not (known and known.rule == "d/2 - 1"):
        raise Broken(f"a table of width {x.shape[-1]}, and no error", ODD)
    yield Trial("last dimension", out[..., -1], x[..., -1], NEAR)


# Number types


def in_half(subject: Encoding, name: str, **how: Any) -> Trial:
    """Compare a call in which results are rounded to a half type."""
    count = subject.at_most(1024 if subject.kind == "module" else 5000)
    positions = positions_near(count) if subject.free else range(count)
    # x is in the half type: its rounding isn't the code's.
    x = floats(subject.array(subject.draw((1,), len(positions)), name))
    return subject.compare(x, positions, name, unit=UNITS[name], **how)


@law("half", ALL, "in half precision, positions and angles keep their digits", IN_UNIT)
def half(subject: Encoding) -> Trials:
    """Ask for results in the half type, cast along with a module."""
    if subject.kind == "table" and not argument(subject.subject, ["dtype"]):
        raise Skip("no argument `dtype`")
    name = "float16" if subject.library is np else "bfloat16"
    module = None
    if hasattr(subject.module, name):
        module = user(copy.deepcopy, subject.module).bfloat16()
    yield in_half(subject, name, dtype=name, module=module)


@law("reduced", CALLED, "under autocast, angles keep their digits", IN_UNIT)
def reduced(subject: Encoding) -> Trials:
    """Round products of matrices, which angles shouldn't be."""
    torch = torch_of(subject)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        yield in_half(subject, "bfloat16")


# Modules of torch


def torch_of(subject: Encoding) -> Any:
    """Return torch, or skip the law."""
    if subject.library is np:
        raise Skip("numpy arrays")
    return subject.library


def a_copy(subject: Encoding) -> Any:
    """Return a copy of the module, or skip the law if it isn't a torch module."""
    if not isinstance(subject.module, torch_of(subject).nn.Module):
        raise Skip("not a torch module")
    return user(copy.deepcopy, subject.module).eval()


def same(subject: Encoding, module: Any, words: str) -> Trial:
    """Compare a module with the one that was given."""
    x, positions = some(subject)
    meant, given = (subject.call(x, positions, module=m) for m in (None, module))
    return Trial(words, given, meant, 4 * subject.unit * (1 + np.abs(meant)))


@law("gradient", CALLED, "gradients flow, and no table is trained", TAU)
def gradient(subject: Encoding) -> Trials:
    """Multiply the gradient by x: that is how much of the result comes from x, in each row."""
    torch_of(subject)
    drawn, positions = some(subject)
    x, weights = subject.array(drawn).requires_grad_(), drawn[::-1]
    out = subject.raw(x, subject.places(positions))
    if out.requires_grad:
        (out * subject.array(weights)).sum().backward()
    if x.grad is None:
        raise Broken("no gradient reaches x", CUT)
    if subject.kind == "module" and not subject.about:
        for name, table in subject.module.named_parameters():
            if table.ndim > 1 and table.grad is not None:
                raise Broken(f"{name} is trained", "make it a buffer (exhibit 7)")
    # Both are linear in x, but for the rows that are added.
    from_x = floats(out) - subject.call(0 * drawn, positions)
    given, meant = (
        (floats(x.grad) * drawn).sum(axis=-1),
        (weights * from_x).sum(axis=-1),
    )
    bounds = (16 * UNIT * np.abs(weights) * (1 + np.abs(drawn))).sum(axis=-1)
    yield Trial("gradient times x", given, meant, bounds, ("sequence", "row"))


@law("state", CALLED, "saved, and loaded into an empty copy, it gives the same", "4u")
def state(subject: Encoding) -> Trials:
    """Fill a copy with NaN, as memory on meta may have, and then as frameworks do."""
    module = a_copy(subject)
    saved = copy.deepcopy(module.state_dict())
    refills = [
        getattr(part, name)
        for part in module.modules()
        for name in REFILLS
        if hasattr(part, name)
    ]
    tensors = [*module.state_dict().values()]
    # What isn't in the state can only be filled by code, if there is some.
    if refills or "made on meta" in subject.tags:
        tensors += module.buffers()
    for tensor in tensors:
        tensor.fill_(math.nan if tensor.is_floating_point() else 0)
    for refill in refills:
        user(refill)
    user(module.load_state_dict, saved)
    try:
        trial = same(subject, module, "saved and loaded")
    except Broken as how:
        raise Broken(str(how), UNFILLED) from None
    if refills and trial.worst > 1:
        raise Broken("another result", UNFILLED)
    yield trial


@law("device", CALLED, "the result has the device of the input")
def device(subject: Encoding) -> Iterable[Trial]:
    """Move to torch's device meta."""
    torch, (x, positions) = torch_of(subject), some(subject)
    places, module = subject.places(positions), subject.module
    if isinstance(module, torch.nn.Module):
        module = a_copy(subject).to("meta")
    places = None if places is None else places.to("meta")
    if not subject.raw(subject.array(x).to("meta"), places, module).is_meta:
        raise Broken("the result isn't on the device of the input", STAYS)
    return ()


@law(
    "compile", CALLED, "torch.compile takes it as one graph, with the same result", "4u"
)
def compiles(subject: Encoding) -> Trials:
    """Compile without a backend."""
    torch = torch_of(subject)
    # Graphs of an earlier check would be taken again.
    torch.compiler.reset()
    compiled = torch.compile(subject.module, fullgraph=True, backend="eager")
    with torch.no_grad():
        yield same(subject, compiled, "compiled")
