"""The battery for tables, layers and rotations: calls, number types, moves, and properties."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from posenc.checks.encodings import ENTRIES, Encoding
from posenc.checks.kinds import UNITS
from posenc.checks.laws import Law
from posenc.checks.subjects import argument, floats
from posenc.checks.trials import (
    NEAR,
    OTHER_KIND,
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    WrongShape,
    user,
)
from posenc.conventions import UNIT

# Laws are tested in the order of their definition; while one of `laws.ROOTS` is broken, those
# after it aren't. What they ask a subject, of any kind (x: (..., seq_len, width), in float64):
#
#   draw(lead, seq_len)         x with these axes in front, if the kind has them
#   call(x, positions)          the result, of the shape of x; a law is broken if it has another
#   compare(x, positions)       a trial of a call, beside the book's; or of a variant: another
#                               module or dtype, whose results have another unit of rounding
#   reference(width), whole()   the book's encoding, and a trial of all rows a width
#   rows, limit                 how many positions most laws look at, and the code takes
#   widths, table               widths that the code takes; all rows at the first
#   free                        whether a call takes any positions, or counts by itself
#   module                      what is called at the first width: a torch module, or a function
#   result(array, positions)    the result for an array of the library, unchecked
ADDED, CALLED = ("table", "module"), ("module", "rotary")
ALL = ("table", *CALLED)
TAU = "tau = 2u + u |theta| (3 |ln omega| + 5), and what products and sums add"
IN_UNIT = f"{TAU}, with the type's u for the entry, float32's for the angle"
CUT = "the graph is cut: by `detach`, `no_grad`, or `.data`"
SWAPPED = "axes are swapped (exhibit G: notebooks/16_batches_and_caches.html#exhibit-g)"


def some(subject: Encoding) -> tuple[Any, range]:
    """Draw two sequences, and return them and their positions."""
    count = min(9, subject.rows)
    return subject.draw((2,), count), range(count)


# The sequence as a whole


@Law("shape", ALL, "the shape is the requested one, and all entries are finite")
def shape(subject: Encoding) -> None:
    """Call with and without a batch, and heads, (batch, heads, seq_len, width)."""
    for lead in ((), (2,), (2, 3)):
        subject.call(subject.draw(lead, 5), range(5))


@Law(
    "repeat",
    ALL,
    "a later call gives the same; input and first result are unchanged",
    cure="it depends on earlier calls: a cache needs all that it depends on as its key, "
    "such as the length, positions, dtype and device; or reset its state",
)
def repeat(subject: Encoding) -> Trials:
    """Keep the first result, and call again, after other calls, too."""
    # Of all laws, this one asks first for what is long.
    x, positions = subject.draw((2,), 5), range(5)
    given = subject.array(x)
    first = subject.result(given, positions)
    if not np.array_equal(floats(given), x):
        raise Broken("the input is changed", "it is overwritten: write to a new array")
    # A copy is kept: what the code returned may change under us.
    kept = floats(first)
    yield Trial("a second call", floats(subject.result(given, positions)), kept)
    # A long call may leave behind a longer table, or another base.
    count = min(5000, ENTRIES // subject.widths[0])
    with suppress(Raised):
        subject.result(subject.array(subject.draw((2,), count)), range(count))
    for width in subject.widths:
        subject.call(1 + subject.draw((2,), 5, width), positions)
    yield Trial("the first result, after others", floats(first), kept)
    again = floats(subject.result(given, positions))
    yield Trial("again, after others", again, kept)


Law("values", ALL, "the whole sequence has the entries of the convention", TAU)(
    lambda subject: subject.whole()
)


@Law("unique", ADDED, "no two rows are equal", "six decimals")
def unique(subject: Encoding) -> None:
    """Count the rows that differ."""
    count = len(np.unique(subject.table.round(6), axis=0))
    if count < subject.rows:
        raise Broken(f"only {count} of {subject.rows} rows differ")


# The same rows in other calls, which the reference tells


def calls(*made: Any) -> Callable[[Encoding], Trials]:
    """Return a test of calls, each given by axes in front of (seq_len, width), and positions."""

    def test(subject: Encoding) -> Trials:
        for lead, positions in made:
            # Modulo, since a table may be short; counted from 0, if it takes no positions.
            k = np.array(positions)[..., : subject.rows] % subject.rows
            x = subject.draw(lead, k.shape[-1])
            yield subject.compare(x, k if subject.free else range(len(k)))

    return test


# Faults may begin at eight heads, four sequences or an odd length.
SIZES = np.random.default_rng(SEED).integers((1, 1, 2), (10, 13, 34), (6, 3)).tolist()
SIZES += [[9, 12, 33], [3, 8, 5], [1, 1, 4]]
SINGLE = [(3,), (3, 2), (1, 4), (4, 8)]  # sequences, and heads, of a single row each
RAGGED = [[40, 3, 5, 1, 0], [3, 4, 5, 6, 7], [7, 8, 9, 10, 2]]

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
    calls(
        *[((batch, heads), range(size)) for batch, heads, size in SIZES],
        *[(lead, [0]) for lead in SINGLE],
    )
)


@Law("rows", CALLED, "with positions (batch, seq_len), each row gets its own", TAU)
def rows(subject: Encoding) -> Trials:
    """Give each sequence other positions, with heads and without, if the code takes that."""
    trials: list[Trial] = []
    for lead in ((3,), (3, 2)) if subject.free else ():
        # Positions along another axis give another shape: that isn't taking them, either.
        with suppress(WrongShape, Raised):
            trials += calls((lead, RAGGED))(subject)
    if not trials:
        raise Skip("takes no positions of shape (batch, seq_len)")
    return trials


@Law("fractions", CALLED, "positions between two rows turn by a part of the angle", TAU)
def fractions(subject: Encoding) -> Trials:
    """Give fractional positions, unless they are refused, or cut off."""
    x, positions = subject.draw((1,), 3), np.array([0.5, 1.25, 7.75])
    try:
        trial = subject.compare(x, positions)
        # Code that indexes a table cuts the rest off; that is its right.
        if not np.array_equal(trial.given, subject.call(x, positions // 1)):
            return [trial]
    except Raised:
        pass
    raise Skip("positions are whole numbers: others are refused, or cut off")


# Tables end, and half types lose whole numbers, at powers of two. They begin at 1, unlike what code
# counts that ignores them.
DISTANT = np.unique([2**n + more for n in range(1, 21) for more in (-1, 0, 1)])


def distant(
    subject: Encoding, count: int, half: str = "float32", **variant: Any
) -> Trial:
    """Compare distant ones of so many rows, of x that a half type may have rounded."""
    rows = [*DISTANT[count > DISTANT], count - 1]
    positions = rows if subject.free else range(count)
    # Rounding of x isn't the code's.
    x = floats(subject.array(subject.draw((1,), len(positions)), half))
    shown = slice(None) if subject.free else rows
    return subject.compare(x, positions, shown=shown, **variant)


@Law("far", ALL, "far beyond the first rows, a row is what it should be", TAU)
def far(subject: Encoding) -> Trials:
    """Try distant rows, or a long table."""
    return [distant(subject, subject.limit)]


@Law("axes", ("rotary",), "each pair turns by its own coordinate", TAU)
def axes(subject: Encoding) -> Trials:
    """Give another coordinate along each axis."""
    if subject.axes == 1:
        raise Skip("for several coordinates, pass frequencies of shape (axes, pairs)")
    x, right = subject.draw((), 12), subject.reference(subject.widths[0])
    # (rows, axes)
    places = np.random.default_rng(SEED).integers(1, 256, (12, subject.axes))
    out = floats(user(subject.module, subject.array(x), subject.places(places)))
    # (axes, rows)
    k = right.convention.counted(places.T)
    # (rows, axes) @ (axes, pairs): the angles of all axes add up.
    meant = right.encode(x, k.T @ subject.frequencies)
    trial = Trial("other coordinates", out, meant, NEAR, ("row", "dimension"))
    # What each axis gives if all pairs turn by its coordinate: (axes, rows, width)
    by_axis = [right.encode(x, np.outer(place, right.frequencies)) for place in k]
    errors = np.abs(np.stack(by_axis) - out).max(axis=1)
    if trial.worst > 1 and errors.min(axis=0).max() < NEAR:
        owners = errors.argmin(axis=0)  # of each dimension
        raise Broken(
            "a pair turns by another coordinate",
            f"{SWAPPED}; dimensions turn by {owners}",
        )
    yield trial


# Unusual input


@Law("masked", CALLED, "a row's content, even NaN, affects no other row")
def masked(subject: Encoding) -> Trials:
    """Put NaN into one row, and infinity into another, as padding may hold anything."""
    x, positions = some(subject)
    before = subject.call(x, positions)
    x[0, -1], x[1, 0] = math.nan, math.inf
    kept = np.isfinite(x).all(axis=-1)
    with np.errstate(invalid="ignore"):
        after = subject.call(x, positions, finite=False)
    yield Trial("rows beside NaN", after[kept], before[kept])


@Law(
    "odd",
    ALL,
    "an odd width is refused, or its last dimension passes",
    cure="an odd width leaves a sine without a cosine: refuse it (exhibit 6); or if it is meant, "
    "say so: `report.expecting({'odd': 'why'})`, or in pytest, expect={'odd': 'why'}",
)
def odd(subject: Encoding) -> Trials:
    """Ask for an odd width; any error is a refusal, since no wrong number comes back."""
    if subject.other_kind:
        raise Skip(OTHER_KIND)
    x = subject.draw((), 3, subject.widths[0] - 1)
    # What rows are added to is 0, so that what is added is seen: tensor2tensor pads with zeros.
    x = x * (subject.kind == "rotary")
    out = x
    with suppress(Raised):
        out = subject.call(x, range(3))
    yield Trial(f"width {x.shape[-1]}", out[..., -1], x[..., -1], NEAR)


# Number types


def in_half(subject: Encoding, half: str, **variant: Any) -> Trial:
    """Compare a variant whose results are rounded to a half type."""
    count = min(subject.limit, 5000)
    return distant(subject, count, half, unit=UNITS[half], **variant)


@Law("half", ALL, "in half precision, positions and angles keep their digits", IN_UNIT)
def half(subject: Encoding) -> Trials:
    """Ask for results in the half type, cast along with a module."""
    if subject.kind == "table" and not argument(subject.subject, ["dtype"]):
        raise Skip("no argument `dtype`")
    name, module = "float16" if subject.library is np else "bfloat16", subject.module
    if hasattr(module, name):
        module = user(getattr(copy.deepcopy(module), name))
    return [in_half(subject, name, module=module, dtype=name)]


@Law("reduced", CALLED, "under autocast, angles keep their digits", IN_UNIT)
def reduced(subject: Encoding) -> Trials:
    """Round products of matrices, which angles shouldn't be."""
    torch = torch_of(subject)
    # Before autocast, so that the convention is recognized without it
    in_half(subject, "bfloat16")
    module = subject.make(subject.widths[0])  # without what that call cached
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return [in_half(subject, "bfloat16", module=module)]


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
    given = subject.call(x, positions, module, finite=False)
    return Trial("the copy", given, meant, 4 * subject.unit * (1 + np.abs(meant)))


@Law(
    "gradient",
    CALLED,
    "gradients flow to x, also after inference mode, and no table is trained",
    "16u of what is added up",
    CUT,
)
def gradient(subject: Encoding) -> Trials:
    """Multiply the gradient by x: that is how much of the result comes from x, in each row."""
    torch = torch_of(subject)
    drawn, positions = some(subject)
    # First, since this looks at what is returned
    at_zero = subject.call(0 * drawn, positions)
    x = subject.array(drawn).requires_grad_()
    out = subject.result(x, positions)
    # Where the graph is cut, a gradient of 0 remains. A gradient may be the user's own code.
    user((out.sum() + 0 * x.sum()).backward)
    parameters = getattr(subject.module, "parameters", list)
    trained = [part for part in parameters() if part.ndim > 1 and part.grad is not None]
    if trained and not subject.other_kind:
        raise Broken("a table is trained", "make it a buffer (exhibit 7)")
    # Both are linear in x, but for the rows that are added.
    given = (floats(x.grad) * drawn).sum(axis=-1)
    meant = (floats(out) - at_zero).sum(axis=-1)
    bounds = 16 * UNIT * (1 + np.abs(drawn)).sum(axis=-1)
    yield Trial("gradient times x", given, meant, bounds, ("sequence", "row"))
    # Not a copy of what was called, which has normal tensors for those of inference mode
    module = subject.make(subject.widths[0])
    if isinstance(module, torch.nn.Module):
        with torch.inference_mode():
            subject.result(x.detach(), positions, module)
        # In training, tensors that were made there, and kept, raise.
        user(subject.result(x, positions, module.train()).sum().backward)


def emptied(tensor: Any) -> Any:
    """Return a tensor of NaN, or -1, as fresh memory may have, on the CPU."""
    number = math.nan if tensor.is_floating_point() else -1
    return tensor.new_full(tensor.shape, number, device="cpu")


def loaded(subject: Encoding, on_meta: bool) -> Trials:
    """Empty a copy, and fill it as frameworks do: by `reset_parameters`, and then by the state.

    All tensors are emptied, also buffers that aren't in the state, if some part has that method, or
    on request, since a move away from meta empties all. Else only what is in the state.
    """
    torch, module = torch_of(subject), copy.deepcopy(subject.module)
    if not isinstance(module, torch.nn.Module):
        raise Skip("not a torch module")
    saved = copy.deepcopy(user(module.state_dict))
    parts = [part for part in module.modules() if hasattr(part, "reset_parameters")]
    if parts or on_meta:
        # Moved away from meta by `_apply`, as `to_empty` does, after which code may fill
        user(module.to("meta")._apply, emptied)
    else:
        # What isn't in the state stays: there is no code to fill it.
        for tensor in filter(torch.is_tensor, module.state_dict().values()):
            tensor.copy_(emptied(tensor))
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
def device(subject: Encoding) -> None:
    """Move to torch's device meta."""
    torch_of(subject)
    module, (x, positions) = subject.module, some(subject)
    # First, since what is on meta can't be looked at
    subject.call(x, positions)
    if hasattr(module, "to"):
        module = user(copy.deepcopy(module).to, "meta")
    places = subject.places(positions)
    # A layer's are looked at, which those on meta can't be.
    if subject.kind == "rotary":
        places = places.to("meta")
    x = subject.array(x).to("meta")
    if not subject.raw(module, x, places).is_meta:
        raise Broken("the result isn't on meta")


@Law("compile", CALLED, "torch.compile takes it as one graph, and gives the same", "4u")
def compiles(subject: Encoding) -> Trials:
    """Compile without a backend."""
    torch = torch_of(subject)
    # Graphs of an earlier check would be taken again.
    torch.compiler.reset()
    module = torch.compile(subject.module, fullgraph=True, backend="eager")
    with torch.no_grad():
        yield same(subject, module)
