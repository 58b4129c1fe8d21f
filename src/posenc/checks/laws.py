"""The battery for tables, layers and rotations: calls, number types, moves, and properties."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from posenc.checks.encodings import UNITS, Encoding
from posenc.checks.subjects import argument, floats
from posenc.checks.trials import (
    NEAR,
    SEED,
    Broken,
    Law,
    Raised,
    Skip,
    Trial,
    Trials,
    user,
)
from posenc.conventions import UNIT

# What laws ask a subject, of any kind (x: (..., seq_len, width), in float64):
#
#   draw(lead, seq_len)      x with these axes in front, if the kind has them
#   call(x, positions)       the result, of the shape of x; a law is broken if it has another
#   raw(array, places)       the same in the library's own arrays, with nothing checked
#   places(positions)        positions in these arrays, the same along each axis
#   rows, at_most(n)         positions that most laws look at; n, or as many as the code takes
#   widths, sequences        widths that the code takes; by each, x and the result for all rows
#   free                     whether a call takes any positions, or counts 0, 1, 2, … by itself
#   reference(width)         the book's encoding, of the subject's convention
#   compare(x, positions)    a trial of a call, beside the book's; whole() has one for each width
#   changed(…)               the same subject with another dtype and unit, or module in `made`
#   made(width)              the torch module, or function, that is called
ALL, ADDED, CALLED = (
    ("table", "module", "rotary"),
    ("table", "module"),
    ("module", "rotary"),
)
TAU = "tau + 2u for an entry of size 1, tau = 2u + u |theta| (3 |ln omega| + 5)"
IN_UNIT = f"{TAU}, with the type's u for the entry, float32's for the angle"
CUT = "the graph is cut: by `detach`, `no_grad`, or `.data`"
SWAPPED = "axes are swapped (exhibit G: notebooks/16_batches_and_caches.html#exhibit-g)"


def some(subject: Encoding) -> tuple[Any, range]:
    """Draw two sequences, and return them and their positions."""
    count = min(9, subject.rows)
    return subject.draw((2,), count), range(count)


# The sequence as a whole


@Law("shape", ALL, "the shape is the requested one, and all entries are finite")
def shape(subject: Encoding) -> Trials:
    """Call with and without a batch, and heads."""
    # (seq_len, width), (batch, seq_len, width), (batch, heads, seq_len, width)
    for lead in ((), (2,), (2, 3)):
        out = subject.call(subject.draw(lead, 5), range(5))
        yield Trial(f"shape {out.shape}", out, out)


@Law(
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
    for width in subject.widths:
        subject.call(1 + subject.draw((2,), len(positions), width), positions)
    yield Trial("the first result, after a later call", floats(first), kept)
    yield Trial("the input", floats(given), x)


Law("values", ALL, "the whole sequence has the entries of the convention", TAU)(
    lambda subject: subject.whole()
)


@Law("unique", ADDED, "no two rows are equal", "six decimals")
def unique(subject: Encoding) -> Trials:
    """Count the rows that differ."""
    _, out = subject.sequences[subject.widths[0]]
    rows = np.unique(out.reshape(-1, *out.shape[-2:])[0].round(6), axis=0)
    yield Trial("rows that differ", np.array(len(rows)), np.array(subject.rows))


# The same rows in other calls, which the reference tells


def calls(*made: Any) -> Callable[[Encoding], Trials]:
    """Return a test of calls, each given by axes in front of (seq_len, width), and positions."""

    def test(subject: Encoding) -> Trials:
        for lead, positions in made:
            # Modulo, since a table may be short; counted from 0, if it takes no positions.
            k = np.array(positions, np.int64)[..., : subject.rows] % subject.rows
            x = subject.draw(lead, k.shape[-1])
            if len(lead) == 2:  # rows aren't next to each other in memory
                x = np.ascontiguousarray(x.swapaxes(-3, -2)).swapaxes(-3, -2)
            yield subject.compare(x, k if subject.free else range(len(k)))

    return test


# Faults may begin at eight heads, four sequences or an odd length.
SIZES = np.random.default_rng(SEED).integers((1, 1, 2), (10, 13, 34), (6, 3)).tolist()
SIZES += [[9, 12, 33], [3, 8, 5], [1, 1, 4]]
RAGGED = [[3, 4, 5, 6, 7], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]]

Law("start", ALL, "rows don't depend on where the sequence begins or ends", TAU)(
    calls(
        ((), [1, 2, 3, 4]),
        ((), range(40, 60)),
        ((), [9, 3, 12, 5]),
        ((), [200, 0, 0, 7]),
    )
)
Law("steps", ALL, "one row at a time gives the same as the whole sequence", TAU)(
    calls(*[((1,), [k]) for k in range(9)])
)
Law("batch", CALLED, "in a batch, each sequence and head gets the same as alone", TAU)(
    calls(*[((batch, heads), range(size)) for batch, heads, size in SIZES])
)
Law("token", CALLED, "in a batch of single tokens, each is as alone", TAU)(
    calls(((3,), [7]), ((3, 2), [7]), ((1, 4), [7]), ((4, 8), [7]))
)
Law("empty", CALLED, "no rows and no sequences give none", TAU)(
    calls(((), []), ((2,), []), ((0,), range(3)))
)


@Law("rows", CALLED, "with positions (batch, seq_len), each row gets its own", TAU)
def rows(subject: Encoding) -> Trials:
    """Give each sequence other positions, if the code takes that."""
    skip = Skip("takes no positions of shape (batch, seq_len)")
    if not subject.free:
        raise skip
    try:
        yield from calls(((3,), RAGGED), ((3, 2), RAGGED))(subject)
    except (Broken, Raised):
        # Positions along another axis give another shape: that isn't taking them, either.
        raise skip from None


@Law("fractions", CALLED, "positions between two rows turn by a part of the angle", TAU)
def fractions(subject: Encoding) -> Trials:
    """Give fractional positions, unless they are refused, or cut off."""
    x, positions = subject.draw((1,), 3), np.array([0.5, 1.25, 7.75])
    try:
        trial = subject.compare(x, positions)
        cut = subject.call(x, positions // 1)
    except (Raised, TypeError):
        raise Skip("positions are whole numbers: others are refused") from None
    # Code that indexes a table cuts the rest off; that is its right.
    if np.array_equal(trial.given, cut):
        raise Skip("positions are whole numbers: the rest is cut off")
    yield trial


def positions_to(limit: int) -> list[int]:
    """Return positions below a limit: first, last, and near the usual lengths of tables."""
    # Tables end, and half types lose whole numbers, at powers of two.
    near = {2**n + more for n in range(1, 21) for more in (-1, 0, 1)}
    return sorted(k for k in near | {limit - 1} if 0 <= k < limit)


@Law("far", ALL, "far beyond the first rows, a row is what it should be", TAU)
def far(subject: Encoding) -> Trials:
    """Try distant rows, or a long table, as far as the code takes them."""
    # A layer that counts by itself is given x for all of them.
    whole = subject.kind == "module" and not subject.free
    limit = subject.at_most(min(subject.longest, 2049) if whole else subject.longest)
    positions = positions_to(limit) if subject.free else range(limit)
    yield subject.compare(subject.draw((), len(positions)), positions)


@Law("axes", ("rotary",), "each pair turns by its own coordinate", TAU)
def axes(subject: Encoding) -> Trials:
    """Give another coordinate along each axis."""
    if subject.axes == 1:
        raise Skip("for several coordinates, pass frequencies of shape (axes, pairs)")
    x, right = subject.draw((), 12), subject.reference(subject.widths[0])
    # (rows, axes)
    k = np.random.default_rng(SEED).integers(1, 256, (12, subject.axes))
    out = floats(subject.raw(subject.array(x), subject.array(k, "int64")))
    # (rows, axes) @ (axes, pairs): the angles of all axes add up.
    meant, other = (right.encode(x, n @ subject.frequencies) for n in (k, k[:, ::-1]))
    cause = SWAPPED if np.abs(out - other).max() < NEAR else ""
    yield Trial(
        "other coordinates", out, meant, NEAR, ("row", "dimension"), cause=cause
    )


# Unusual input


@Law("masked", CALLED, "a row's content, even NaN, affects no other row")
def masked(subject: Encoding) -> Trials:
    """Put NaN into one row, and infinity into another, as padding may hold anything."""
    x, positions = some(subject)
    before = subject.call(x, positions)
    x[0, -1], x[1, 0] = math.nan, math.inf
    kept = np.isfinite(x).all(axis=-1)
    with np.errstate(invalid="ignore"):
        after = subject.call(x, positions)
    yield Trial("rows beside NaN", after[kept], before[kept])


@Law(
    "odd",
    ALL,
    "an odd width is refused, or its last dimension passes",
    cure="an odd width leaves a sine without a cosine: refuse it (exhibit 6)",
)
def odd(subject: Encoding) -> Trials:
    """Ask for an odd width; any error is a refusal."""
    x = subject.draw((), 3, subject.widths[0] - 1)
    # tensor2tensor pads a table with zeros.
    meant = x * (subject.kind == "rotary")
    try:
        out = subject.call(x, range(3))
    except Raised:
        out = meant
    yield Trial(f"width {x.shape[-1]}", out[..., -1], meant[..., -1], NEAR)


# Number types


def in_half(subject: Encoding, name: str, **changes: Any) -> Trial:
    """Compare a call in which results are rounded to a half type."""
    count = subject.at_most(1024 if subject.kind == "module" else 5000)
    positions = positions_to(count) if subject.free else range(count)
    # x is in the half type: its rounding isn't the code's.
    x = floats(subject.array(subject.draw((1,), len(positions)), name))
    return subject.changed(unit=UNITS[name], **changes).compare(x, positions)


@Law("half", ALL, "in half precision, positions and angles keep their digits", IN_UNIT)
def half(subject: Encoding) -> Trials:
    """Ask for results in the half type, cast along with a module."""
    if subject.kind == "table" and not argument(subject.subject, ["dtype"]):
        raise Skip("no argument `dtype`")
    name = "float16" if subject.library is np else "bfloat16"
    made = subject.made(subject.widths[0])
    if hasattr(made, name):
        made = user(copy.deepcopy, made).bfloat16()
    yield in_half(subject, name, dtype=name, made=lambda width: made)


@Law("reduced", CALLED, "under autocast, angles keep their digits", IN_UNIT)
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


def same(subject: Encoding, module: Any) -> Trial:
    """Compare a module with the one that was given."""
    x, positions = some(subject)
    meant = subject.call(x, positions)
    other = subject.changed(made=lambda width: module)
    given = other.raw(subject.array(x), subject.places(positions))
    bounds = 4 * subject.unit * (1 + np.abs(meant))
    return Trial("", floats(given, finite=False), meant, bounds)


@Law(
    "gradient",
    CALLED,
    "gradients flow to x, and no table is trained",
    "16u of what is added up",
)
def gradient(subject: Encoding) -> Trials:
    """Multiply the gradient by x: that is how much of the result comes from x, in each row."""
    torch_of(subject)
    drawn, positions = some(subject)
    x = subject.array(drawn).requires_grad_()
    out = subject.raw(x, subject.places(positions))
    # Where the graph is cut, a gradient of 0 remains.
    (out.sum() + 0 * x.sum()).backward()
    if not x.grad.any():
        raise Broken("no gradient reaches x", CUT)
    parameters = getattr(subject.made(drawn.shape[-1]), "parameters", list)
    trained = [
        table for table in parameters() if table.ndim > 1 and table.grad is not None
    ]
    if trained and not subject.other_kind:
        raise Broken("a table is trained", "make it a buffer (exhibit 7)")
    # Both are linear in x, but for the rows that are added.
    given = (floats(x.grad) * drawn).sum(axis=-1)
    meant = (floats(out) - subject.call(0 * drawn, positions)).sum(axis=-1)
    bounds = 16 * UNIT * (1 + np.abs(drawn)).sum(axis=-1)
    yield Trial("gradient times x", given, meant, bounds, ("sequence", "row"))


def loaded(subject: Encoding, on_meta: bool) -> Trials:
    """Fill a copy with NaN, as memory on meta may have, and then as frameworks do."""
    module = subject.made(subject.widths[0])
    if not isinstance(module, torch_of(subject).nn.Module):
        raise Skip("not a torch module")
    module = copy.deepcopy(module)
    saved = copy.deepcopy(module.state_dict())
    parts = [part for part in module.modules() if hasattr(part, "reset_parameters")]
    tensors = [*module.state_dict().values()]
    # What isn't in the state can only be filled by code, if there is some.
    if parts or on_meta:
        tensors += module.buffers()
    for tensor in tensors:
        tensor.fill_(math.nan if tensor.is_floating_point() else 0)
    for part in parts:
        user(part.reset_parameters)
    user(module.load_state_dict, saved)
    yield same(subject, module)


UNFILLED = "a tensor isn't as it was: save it, or fill it in `reset_parameters`"
Law("state", CALLED, "loaded into an empty copy, it gives the same", "4u", UNFILLED)(
    partial(loaded, on_meta=False)
)
Law("meta", CALLED, "loaded into a copy made on meta, too", "4u", UNFILLED)(
    partial(loaded, on_meta=True)
)


@Law(
    "device",
    CALLED,
    "the result has the device of the input",
    cure="a tensor stays behind: register it as a buffer, or make it on `x.device`",
)
def device(subject: Encoding) -> Trials:
    """Move to torch's device meta."""
    torch_of(subject)
    module, (x, positions) = subject.made(subject.widths[0]), some(subject)
    if hasattr(module, "to"):
        module = copy.deepcopy(module).to("meta")
    given, places = subject.array(x).to("meta"), subject.places(positions)
    if subject.kind == "rotary":
        places = places.to("meta")
    out = subject.changed(made=lambda width: module).raw(given, places)
    yield Trial("on meta", np.array(float(out.is_meta)), np.ones(()))


@Law("compile", CALLED, "torch.compile takes it as one graph, and gives the same", "4u")
def compiles(subject: Encoding) -> Trials:
    """Compile without a backend."""
    torch = torch_of(subject)
    # Graphs of an earlier check would be taken again.
    torch.compiler.reset()
    module = subject.made(subject.widths[0])
    with torch.no_grad():
        yield same(subject, torch.compile(module, fullgraph=True, backend="eager"))
