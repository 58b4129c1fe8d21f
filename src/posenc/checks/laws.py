"""The battery for tables, layers and rotations: calls, number types, moves, and properties."""

from __future__ import annotations

import contextlib
import copy
import io
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from posenc.checks.explanation import NEAR
from posenc.checks.rotations import Rotation
from posenc.checks.subjects import argument, floats, values
from posenc.checks.tables import Layer, Table
from posenc.checks.trials import SEED, Broken, Follows, Raised, Skip, Trial, law, user
from posenc.checks.turning import UNITS, Turning
from posenc.conventions import Floats

# What laws ask a subject, of any kind (x: (..., seq_len, width), in float64):
#
#   draw(lead, seq_len)      x with these axes in front; zeros for a table
#   call(x, positions)       the result, of the shape of x; a law is broken if it has another
#   raw(array, places)       the same in the library's own arrays, with nothing checked or undone
#   rows, at_most(n)         positions that most laws look at; n, or the longest that the code takes
#   free                     whether a call takes any positions, or counts 0, 1, 2, … by itself
#   agrees                   whether the whole sequence is the book's; else most laws follow
#   compare(x, positions)    a trial of a call, beside the book's
#   about                    why it is another kind of table, or "": sinusoidal laws aren't asked
#   normed                   whether a norm follows, so that the size of x is lost
#   module                   the torch module, or function, of the first width (not of a table)
#   axes, owners             of a rotation: how many coordinates, and the one that each pair has
AnyModule = Layer | Rotation

TURNING, TORCH = "table module rotary", "module rotary"
TAU = "τ + 2u for an entry of size 1, τ = 2u + u|θ|(3|ln ω| + 5)"
IN_UNIT = f"{TAU}, with the type's u for the entry, float32's for the angle"

# Faults may begin at eight heads, four sequences or an odd length.
DRAWN = np.random.default_rng(SEED).integers(
    (1, 1, 2), (9, 12, 33), (6, 3), endpoint=True
)
SIZES = [*DRAWN.tolist(), [9, 12, 33], [3, 8, 5], [1, 1, 4]]
SOME = ([1, 2, 3, 4], [40, 41, 42, 43], [9, 3, 12, 5], [200, 0, 0, 7])
RAGGED = np.array([[3, 4, 5, 6, 7], [7, 8, 9, 10, 2], [40, 3, 5, 1, 0]])
FRACTIONS = np.array([0.5, 1.25, 7.75])
REFILLS = ("reset_parameters", "reset_buffers", "rope_init", "init_weights")
PRODUCTS = (
    "matmul",
    "__matmul__",
    "__rmatmul__",
    "mm",
    "bmm",
    "linear",
    "mv",
    "baddbmm",
)
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
    powers = [2**n + more for n in range(9, 21) for more in (-1, 0, 1)]
    near = {
        *range(16),
        255,
        256,
        257,
        300,
        301,
        5001,
        *powers,
        *range(limit - 3, limit),
    }
    return sorted(k for k in near if 0 <= k < limit)


def some(subject: Turning) -> tuple[Any, range]:
    """Draw two sequences, and return them and their positions."""
    count = min(9, subject.rows)
    return subject.draw((2,), count), range(count)


# The sequence as a whole


@law("shape", TURNING, "the shape is the requested one, and all entries are finite")
def shape(subject: Turning) -> Iterable[Trial]:
    """Call with and without a batch, and heads."""
    # (seq_len, width), (batch, seq_len, width), (batch, heads, seq_len, width)
    for lead in ((), (2,), (2, 3)):
        subject.call(subject.draw(lead, 5), range(5))
    return ()


@law(
    "repeat",
    TURNING,
    "a second call gives the same; input and first result are unchanged",
)
def repeat(subject: Turning) -> Iterator[Trial]:
    """Keep the first result, and call again, with other input, too."""
    x, where = some(subject)
    # A table is asked itself, since a sum would be a copy.
    direct: Any = subject.subject if subject.kind == "table" else None
    places = subject.places(where)
    given = subject.library.array(x)

    def once(x: Any) -> Any:
        return (
            user(direct, len(where), x.shape[-1]) if direct else subject.raw(x, places)
        )

    # A copy is kept: what the code returned may change under us.
    first = once(given)
    kept = floats(first).copy()
    second = floats(once(given))
    for width in subject.widths:
        once(subject.library.array(1 + subject.draw((2,), len(where), width)))
    yield Trial("a second call", second, kept, 0 * kept)
    yield Trial("the first result, after a later call", floats(first), kept, 0 * kept)
    yield Trial("the input", floats(given), x, 0 * x)


@law("values", TURNING, "the whole sequence has the entries of the convention", TAU)
def whole(subject: Turning) -> Iterator[Trial]:
    """Compare the whole sequence at each width."""
    yield from subject.whole()


@law(
    "norm",
    TURNING,
    "rows have the norm that sin² + cos² = 1 gives",
    "12u of its square",
)
def norm(subject: Turning) -> Iterator[Trial]:
    """Compare squares, which no angle changes."""
    for width in subject.widths:
        x, out = subject.called(width)
        meant = subject.reference(width)(x, np.arange(subject.rows) + 0.0)
        # An error of 2u in sine and cosine changes sin² + cos² by up to 4√2·u, and x by as much.
        squares = (meant**2).sum(axis=-1)
        bounds = 12 * subject.unit * squares
        yield Trial(f"width {width}", (out**2).sum(axis=-1), squares, bounds, ("row",))


@law(
    "offset",
    TURNING,
    "products of two rows depend only on their offset",
    f"{TAU}; summed",
)
def offset(subject: Turning) -> Iterator[Trial]:
    """Multiply one query and one key at all positions; or the rows that are added to zeros."""
    x = np.repeat(subject.draw((2,), 1)[:2], subject.rows, axis=1)
    x = x if subject.kind == "rotary" else 0 * x
    where = np.arange(subject.rows) + 0.0
    query, key = subject.call(x, range(subject.rows))
    one, two = (
        subject.reference(x.shape[2]).bound(each, where, subject.unit) for each in x
    )
    # Each entry of one row is off by its bound, and is multiplied by the other row.
    errors = one @ np.abs(key).T + np.abs(query) @ two.T
    products = query @ key.T
    bounds = errors[1:, 1:] + errors[:-1, :-1]
    yield Trial(
        "shifted by one", products[1:, 1:], products[:-1, :-1], bounds, ("row", "and")
    )


@law("unique", TURNING, "no two rows are equal", "six decimals")
def unique(subject: Turning) -> Iterator[Trial]:
    """Look for rows that are equal when rounded."""
    count = subject.at_most(subject.length)
    # The same x in all rows, so that positions alone tell them apart.
    x = np.repeat(subject.draw((), 1), count, axis=-2)
    out = subject.call(x, range(count)).reshape(-1, count, x.shape[-1])[0]
    _, first, groups = np.unique(
        np.round(out, 6), axis=0, return_index=True, return_inverse=True
    )
    # The first row with the same rounded entries.
    earlier = first[groups.ravel()]
    for later in np.flatnonzero(earlier != np.arange(count))[:1]:
        raise Broken(f"rows {earlier[later]} and {later} are equal")
    yield Trial(f"{count} rows", out, out, 0 * out)


# The same rows in other calls, which the reference tells


Calls = Iterable[tuple[tuple[int, ...], Any]]
"""Axes in front of (seq_len, width), and positions, of each call."""


def calls(
    name: str,
    kinds: str,
    asks: str,
    made: Callable[[Turning], Calls],
) -> None:
    """Define a law on calls, given the sizes in front of (seq_len, width), and positions."""

    def test(subject: Turning) -> Iterator[Trial]:
        for lead, positions in made(subject):
            x = subject.draw(lead, np.shape(positions)[-1])
            words = f"shape {x.shape}" if len(lead) else ""
            yield subject.compare(x, positions, words)

    law(name, kinds, asks, TAU)(test)


def single_tokens(subject: Turning) -> Calls:
    """Yield batches of one token, at position 7, or 0 if positions are counted."""
    position = 7 if subject.free else 0
    for lead in ((3,), (3, 2), (1, 4), (4, 8)):
        yield lead, [position]


def empty_calls(subject: Turning) -> Calls:
    """Yield one row; and no rows or no sequences, if a call says how many there are."""
    yield (1,), [0]
    if subject.free:
        yield from [((), []), ((2,), []), ((0,), range(3))]


calls(
    "start",
    TURNING,
    "rows don't depend on where the sequence begins or ends",
    lambda subject: [
        ((), np.array(k) % subject.rows)
        for k in (SOME if subject.free else [range(subject.rows // 2)])
    ],
)
calls(
    "steps",
    TURNING,
    "one row at a time gives the same as the whole sequence",
    lambda subject: [((1,), [k] if subject.free else range(k + 1)) for k in range(9)],
)
calls(
    "batch",
    TORCH,
    "each sequence in a batch, and each head, gets the same as alone",
    lambda subject: [
        ((n, heads), range(min(size, subject.rows))) for n, heads, size in SIZES
    ],
)
calls(
    "token",
    TORCH,
    "in a batch of single tokens, each gets the same as alone",
    single_tokens,
)
calls(
    "empty",
    TURNING,
    "no rows and no sequences give none, and one row gives one",
    empty_calls,
)


@law(
    "rows",
    TORCH,
    "with positions of shape (batch, seq_len), each row gets its own",
    TAU,
)
def rows(subject: AnyModule) -> Iterator[Trial]:
    """Give each sequence other positions, if the code takes that."""
    if not subject.free:
        raise Skip("takes no positions")
    for lead in ((3,), (3, 2)):
        try:
            yield subject.compare(
                subject.draw(lead, 5), RAGGED, "three rows of positions"
            )
        except (Broken, Raised):
            raise Skip("takes no positions of shape (batch, seq_len)") from None


@law("fractions", TORCH, "positions between two rows turn by a part of the angle", TAU)
def fractions(subject: AnyModule) -> Iterator[Trial]:
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


@law("far", TURNING, "far beyond the first rows, a row is what it should be", TAU)
def far(subject: Turning) -> Iterator[Trial]:
    """Try distant rows one by one, or a long table; a layer may refuse them."""
    known = subject.convention
    # An error in the base grows with the position, and would look like one of the code.
    if known and subject.base is None and float(f"{known.base:.3g}") != known.base:
        raise Skip(f"base {known.base:.10g} is measured, to few digits: pass base=")
    positions = positions_near(subject.limit)
    if subject.free:
        for k in positions:
            with contextlib.suppress(Raised):
                yield subject.compare(subject.draw((1,), 1), [k])
        return
    if subject.kind == "module" or (known and known.direction == "down"):
        raise Skip("rows are counted from the first or the last one only")
    trial = subject.compare(subject.draw((), subject.limit), range(subject.limit))
    errors = np.abs(trial.given - trial.meant)[positions].max(axis=1)
    subject.errors = dict(zip(positions, errors.tolist(), strict=True))
    yield trial


@law("axes", "rotary", "several coordinates turn as one after the other", TAU)
def axes(subject: Rotation) -> Iterator[Trial]:
    """Turn along each axis in sequence, and by the declared frequencies of each."""
    if not subject.axes:
        raise Skip("one coordinate; for several, pass axes=")
    x = subject.draw((), 12)
    # (rows, axes)
    drawn = np.random.default_rng(SEED).integers(1, subject.rows, (12, subject.axes))
    turned = one_after_the_other(subject, x, drawn)
    right = subject.reference(subject.widths[0])
    if subject.normed or np.any(right.order != np.arange(x.shape[1])):
        raise Skip("the output is permuted, or normed")
    out = subject.at_coordinates(x, drawn)
    largest = np.full_like(x, np.abs(x).max())
    bounds = subject.axes * right.bound(largest, np.full(12, 2.0 * subject.rows))
    names = ("row", "dimension")
    yield Trial("one after the other", out / subject.factor, turned, bounds, names)
    omega = subject.frequencies
    if len(subject.owners):
        omega = right.frequencies * (subject.owners == np.arange(subject.axes)[:, None])
    if np.ndim(omega) == 2:
        # (rows, axes) @ (axes, pairs): the angles of all axes add up.
        meant, swapped = (right.encode(x, k @ omega) for k in (drawn, drawn[:, ::-1]))
        if np.abs(out - swapped).max() < NEAR:
            raise Broken("coordinates are in reverse order", SWAPPED)
        yield Trial("pairs of each axis", out, meant, bounds, names)


def one_after_the_other(subject: Rotation, x: Floats, drawn: Any) -> Floats:
    """Turn x along one axis after the other; each must turn something."""
    turned = x
    for axis, only in enumerate(np.eye(subject.axes, dtype=int)):
        alone = subject.at_coordinates(x, drawn * only)
        if np.abs(alone - subject.factor * x).max() < NEAR:
            raise Broken(f"coordinate {axis} turns nothing")
        turned = subject.at_coordinates(turned, drawn * only) / subject.factor
    return turned


# Unusual input


@law("masked", TORCH, "a row's content, even NaN, affects no other row")
def masked(subject: AnyModule) -> Iterator[Trial]:
    """Put NaN into one row, and infinity into another."""
    x, where = some(subject)
    before = subject.call(x, where)
    # Padding may hold anything.
    x[0, -1], x[1, 0] = math.nan, math.inf
    with np.errstate(invalid="ignore"):
        after = subject.call(x, where)
    kept = np.isfinite(x).all(axis=-1)
    yield Trial("rows beside NaN", after[kept], before[kept], 0 * before[kept])


@law("odd", TURNING, "an odd width is refused, or its last dimension passes")
def odd(subject: Turning) -> Iterator[Trial]:
    """Ask for an odd width."""
    if getattr(subject, "fixed", False):
        raise Skip("the layer has one width")
    x = subject.draw((), 3, subject.widths[0] - 1)
    try:
        out = subject.call(x, range(3))
    except Raised:
        return  # any error is a refusal
    except Broken as how:
        raise Broken(str(how), ODD) from None
    known, rotary = subject.convention, subject.kind == "rotary"
    if not rotary and not (known and known.rule == "d/2 - 1"):
        raise Broken(f"a table of width {x.shape[-1]}, and no error", ODD)
    # tensor2tensor pads a table with zeros.
    yield Trial(
        "last dimension", out[..., -1], x[..., -1] * rotary, NEAR + 0 * x[..., -1]
    )


@law("strided", TORCH, "non-contiguous input gives the same result", TAU)
def strided(subject: AnyModule) -> Iterator[Trial]:
    """Pass every second row, and a transposed array."""
    if subject.library.name not in ("numpy", "torch") or subject.normed:
        raise Skip("arrays without strides, or a norm that follows")
    # Views whose rows aren't next to each other in memory.
    wide = subject.library.array(subject.draw((12,), 12).repeat(2, axis=-1))
    wide = wide[..., : subject.widths[0]]
    for name, view in (
        ("every second row", wide[:4, ::2]),
        ("transposed", wide.swapaxes(0, 1)),
    ):
        view = view[:, : min(6, subject.rows)]
        x, where = values(view).astype(np.float64), range(view.shape[1])
        out = floats(subject.raw(view, subject.places(where)))
        if not subject.agrees:
            raise Follows("follows from values")
        yield subject.trial(name, x, out, where, subject.unit)


# Number types


@law(
    "half",
    TURNING,
    "in half precision, positions and angles keep their digits",
    IN_UNIT,
)
def half(subject: Turning) -> Iterator[Trial]:
    """Ask for results in half types."""
    if isinstance(subject, Rotation):
        for name in ("bfloat16", "float16"):
            if hasattr(subject.library.namespace, name):
                yield in_half(subject, name, positions_near(min(subject.limit, 5000)))
    elif isinstance(subject, Layer):
        module = user(copy.deepcopy, subject.module).bfloat16()
        yield in_half(subject, "bfloat16", range(subject.at_most(1024)), module=module)
    elif isinstance(subject, Table):
        yield table_in_half(subject)


def in_half(
    subject: Turning, name: str, where: Any, dtype: str = "", module: Any = None
) -> Trial:
    """Compare in a half type, or where products are rounded to one."""
    x = subject.draw((1,), len(where))
    # x in the half type: its rounding isn't the code's.
    exact = floats(subject.library.array(x, dtype or name))
    # A norm rounds twice more.
    unit = UNITS[name] * (3 if subject.normed else 1)
    how = {"unit": unit, "module": module}
    trial: Trial = subject.compare(exact, where, name, dtype or name, **how)
    return trial.of_type(name)


def table_in_half(subject: Table) -> Trial:
    """Ask a table for a dtype."""
    if not argument(subject.subject, ["dtype"]) or not subject.agrees:
        raise Skip("no argument `dtype`")
    width, count = subject.widths[0], subject.at_most(5000)
    tensor = hasattr(user(subject.subject, 2, width), "detach")
    name = "bfloat16" if tensor else "float16"
    kind = getattr(__import__("torch"), name) if tensor else name
    table = subject.table(count, width, dtype=kind)
    trial: Trial = subject.trial(name, 0 * table, table, range(count), UNITS[name])
    return trial.of_type(name)


@law("reduced", TORCH, "under autocast and TF32, angles keep their digits", IN_UNIT)
def reduced(subject: AnyModule) -> Iterator[Trial]:
    """Round products of matrices, which angles shouldn't be."""
    torch = torch_of(subject)
    where = (
        positions_near(min(subject.limit, 65_539))
        if subject.free
        else range(subject.rows)
    )
    if not subject.agrees:  # asked here, where nothing is rounded yet
        raise Follows("follows from values")
    modes = {
        "bfloat16": torch.autocast("cpu", dtype=torch.bfloat16),
        "TF32": rounded_products(),
    }
    for name, mode in modes.items():
        with mode:
            yield in_half(subject, name, where, dtype="float32")


@law(
    "cast",
    "rotary",
    "cast along with its model, it turns by its own frequencies",
    IN_UNIT,
)
def cast(subject: Rotation) -> Iterator[Trial]:
    """Cast a module."""
    where = positions_near(min(subject.limit, 5000))
    yield in_half(subject, "bfloat16", where, module=a_copy(subject).bfloat16())


def rounded_products() -> Any:
    """Return a mode that rounds operands of float32 matrix products to the 11 bits of TF32."""
    import torch
    from torch.overrides import TorchFunctionMode

    def rounded(x: Any) -> Any:
        if getattr(x, "dtype", None) != torch.float32:
            return x
        # x = fraction · 2^exponent, from which 11 binary digits are kept
        fraction, exponent = torch.frexp(x)
        return torch.ldexp(torch.round(fraction * 2**11), exponent - 11)

    class RoundedProducts(TorchFunctionMode):
        def __torch_function__(
            self, call: Any, types: Any, args: Any = (), named: Any = None
        ) -> Any:
            if getattr(call, "__name__", "") in PRODUCTS:
                args = [rounded(each) for each in args]
            return call(*args, **(named or {}))

    return RoundedProducts()


# Modules of torch


def torch_of(subject: Turning) -> Any:
    """Return torch, or skip the law."""
    if subject.library.name != "torch":
        raise Skip(f"{subject.library.name} arrays")
    return subject.library.namespace


def a_copy(subject: AnyModule) -> Any:
    """Return a copy of the module, or skip the law if it isn't a torch module."""
    if not isinstance(subject.module, torch_of(subject).nn.Module):
        raise Skip("not a torch module")
    return user(copy.deepcopy, subject.module).eval()


@law("gradient", TORCH, "gradients flow, and no table is trained", TAU)
def gradient(subject: AnyModule) -> Iterator[Trial]:
    """Compare the gradient: a sum hands it on, and a rotation keeps products with x."""
    torch_of(subject)
    drawn, where = some(subject)
    x, weights = subject.library.array(drawn).requires_grad_(), drawn[::-1].copy()
    out = subject.raw(x, subject.places(where))
    if out.shape != x.shape:
        raise Broken(f"shape {tuple(out.shape)} for {tuple(x.shape)}")
    if out.requires_grad:
        (out * subject.library.array(weights)).sum().backward()
    if x.grad is None:
        raise Broken("no gradient reaches x", CUT)
    if subject.kind == "module" and not subject.about:
        for name, table in subject.module.named_parameters():
            if table.ndim > 1 and table.grad is not None:
                raise Broken(f"{name} is trained", "make it a buffer (exhibit 7)")
    gradient, bounds = floats(x.grad), 4 * UNITS["float32"] * (1 + np.abs(weights))
    if subject.kind == "module":
        yield Trial(
            "gradient", gradient, subject.carried * weights, subject.carried * bounds
        )
    elif not subject.normed:
        sums, bounds = (
            (weights * floats(out)).sum(axis=-1),
            (bounds * np.abs(drawn)).sum(axis=-1),
        )
        yield Trial(
            "gradient times x", (gradient * drawn).sum(axis=-1), sums, 4 * bounds
        )


def same(subject: AnyModule, module: Any, words: str) -> Trial:
    """Compare a module with the one that was given."""
    x, where = some(subject)
    given, meant = subject.call(x, where, module=module), subject.call(x, where)
    return Trial(words, given, meant, 4 * subject.unit * (1 + np.abs(meant)))


@law("state", "module", "a saved state loads, and gives the same result", "4u")
def state(subject: Layer) -> Iterator[Trial]:
    """Load a saved state into a copy with zeros."""
    torch, other, file = torch_of(subject), a_copy(subject), io.BytesIO()
    user(torch.save, subject.module.state_dict(), file)
    file.seek(0)
    # Whatever isn't in the state would survive, and hide that it is missing.
    for tensor in other.state_dict().values():
        tensor.zero_()
    user(other.load_state_dict, torch.load(file, weights_only=True))
    yield same(subject, other, "saved and loaded")


@law(
    "meta",
    TORCH,
    "created on meta and filled as frameworks do, it gives the same",
    "4u",
)
def meta(subject: AnyModule) -> Iterator[Trial]:
    """Fill a copy with NaN, as uninitialized memory may have, and then as frameworks do."""
    torch, module = torch_of(subject), a_copy(subject)
    saved = copy.deepcopy(module.state_dict())
    ways: Any = [
        getattr(part, name, None) for part in module.modules() for name in REFILLS
    ]
    ways = [way for way in ways if callable(way)]
    if not ways and "made on meta" not in subject.tags:
        raise Skip(
            "nothing fills its buffers anew; to test anyway, pass tags=['made on meta']"
        )
    module._apply(
        lambda each: torch.full_like(each, math.nan if each.is_floating_point() else 0)
    )
    for way in ways:
        user(way)
    user(module.load_state_dict, saved, strict=False)
    try:
        trial = same(subject, module, "created on meta")
    except Broken as how:
        raise Broken(str(how), UNFILLED) from None
    if trial.worst() > 1:
        raise Broken("another result", UNFILLED)
    yield trial


@law("device", TORCH, "the result has the device of the input", on_request=True)
def device(subject: AnyModule) -> Iterable[Trial]:
    """Move to torch's device meta."""
    torch, (drawn, where) = torch_of(subject), some(subject)
    places = subject.places(where)
    module = subject.module
    if isinstance(module, torch.nn.Module):
        module = a_copy(subject).to("meta")
    places = None if places is None else places.to("meta")
    if not subject.raw(subject.library.array(drawn).to("meta"), places, module).is_meta:
        raise Broken("the result isn't on the device of the input", STAYS)
    return ()


@law(
    "compile",
    TORCH,
    "torch.compile takes it as one graph, with the same result",
    TAU,
    on_request=True,
)
def compiles(subject: AnyModule) -> Iterator[Trial]:
    """Compile without a backend."""
    torch, (x, where) = torch_of(subject), some(subject)
    # Graphs of an earlier check would be taken again.
    torch.compiler.reset()
    compiled = torch.compile(subject.module, fullgraph=True, backend="eager")
    with torch.no_grad():
        yield subject.compare(x, where, "compiled", module=compiled)
