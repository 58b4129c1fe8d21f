"""What tables, layers and rotations are asked: calls, number types, properties, and moves.

Each function tests a law, which `laws.LAWS` lists.
"""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from posenc.checks.declared import USUAL
from posenc.checks.encodings import ENTRIES, Encoding
from posenc.checks.kinds import UNITS, Rotation
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
    argument,
    floats,
    user,
)
from posenc.conventions import UNIT, EncodingCall

# What laws ask a subject, of any kind (x: (..., seq_len, width), in float64):
#
#   draw(lead, seq_len)         x with these axes in front, if the kind has them
#   call(x, positions)          the result, of the shape of x; a law is broken if it has another
#   compare(x, positions)       a trial of a call, beside the book's; or of a variant: another
#                               module or dtype, whose results have another unit of rounding
#   sequences, nearest          all rows of each width, and the convention beside which they are
#   rows, limit                 how many positions most laws look at, and the code takes
#   widths, table               widths that the code takes; all rows at the first
#   free                        whether a call takes any positions, or counts by itself
#   module                      what is called at the first width: a torch module, or a function
#   make(width)                 the same, with nothing kept from other calls
#   result(array, positions)    the result for an array of the library, unchecked
#   library                     torch or numpy; array(x) and places(positions) convert to it
#   unit                        of rounding, in the type that is returned
#   declared, other_kind        what is declared; whether it is no sinusoid


def some(subject: Encoding) -> tuple[Any, range]:
    """Draw three sequences, and return them and their positions."""
    count = min(9, subject.rows)
    return subject.draw((3,), count), range(count)


# The sequence as a whole

NARROW = (
    "one pair has the exponent 0 / 0 if that is i/(d/2 - 1): divide by 1 at least; or if all your "
    "widths are greater, pass some, as in widths=[64, 128]"
)


def shape(subject: Encoding) -> None:
    """Call with and without a batch, and heads, (batch, heads, seq_len, width), or narrowly."""
    for lead in ((), (2,), (2, 3)):
        subject.call(subject.draw(lead, 5), range(5))
    if subject.widths == USUAL:
        # It may be refused.
        with suppress(Raised, WrongShape):
            one_pair = subject.call(subject.draw((), 5, 2), range(5), finite=False)
            if not np.isfinite(one_pair).all():
                raise Broken("entries that are not finite at width 2", NARROW)


def repeat(subject: Encoding) -> Trials:
    """Keep the first result, and call again, after other calls."""
    x, positions = subject.draw((2,), 5), range(5)
    given = subject.array(x)
    first = subject.result(given, positions)
    if not np.array_equal(floats(given), x):
        raise Broken("the input is changed", "it is overwritten: write to a new array")
    # A copy is kept: what the code returned may change under us.
    kept = floats(first)
    # A long call may leave behind a longer table, or another base.
    count = min(5000, ENTRIES // subject.widths[0])
    with suppress(Raised):
        subject.result(subject.array(subject.draw((2,), count)), range(count))
    for width in subject.widths:
        subject.call(1 + subject.draw((2,), 5, width), positions)
    yield Trial("the first result, after others", floats(first), kept)
    again = floats(subject.result(given, positions))
    yield Trial("again, after others", again, kept)


def values(subject: Encoding) -> Trials:
    """Compare the whole sequence."""
    return subject.declared.trials(subject.nearest, subject.sequences)


def unique(subject: Encoding) -> None:
    """Count the rows that differ."""
    count = len(np.unique(subject.table.round(6), axis=0))
    if count < subject.rows:
        raise Broken(f"only {count} of {subject.rows} rows differ")


# The same rows in other calls

STARTS = (
    [1, 2, 3, 4],
    range(40, 60),
    [9, 3, 12, 5],
    [200, 0, 0, 7],
)
BATCHES = (  # axes in front, and the length; faults may begin at eight heads or four sequences
    ((3, 8), 5),
    ((9, 12), 33),
    ((3,), 1),
    ((4, 8), 1),
)


def at(subject: Encoding, lead: tuple[int, ...], positions: Any) -> Trial:
    """Compare rows at these positions, or the first rows, if the code counts by itself."""
    # Modulo, since a table may be short
    k = np.array(positions)[..., : subject.rows] % subject.rows
    x = subject.draw(lead, k.shape[-1])
    return subject.compare(x, k if subject.free else range(len(k)))


def start(subject: Encoding) -> Trials:
    """Begin and end elsewhere, and jump."""
    for positions in STARTS:
        yield at(subject, (), positions)


def steps(subject: Encoding) -> Trials:
    """Ask for one row after another; code that counts by itself has but the first."""
    for position in range(9 if subject.free else 1):
        yield at(subject, (1,), [position])


def batch(subject: Encoding) -> Trials:
    """Ask for several sequences and heads, also of a single row each."""
    for lead, seq_len in BATCHES:
        yield at(subject, lead, range(seq_len))


def rows(subject: Encoding) -> Trials:
    """Give each sequence other positions, with heads and without, if the code takes that."""
    begins = np.array([[40], [3], [7]])
    positions = begins + np.array([0, 1, 5, 3, 2])
    trials = []
    for lead in ((3,), (3, 2)) if subject.free else ():
        # Positions along another axis give another shape: that isn't taking them, either.
        with suppress(WrongShape, Raised):
            trials.append(at(subject, lead, positions))
    if not trials:
        raise Skip("takes no positions of shape (batch, seq_len)")
    return trials


def fractions(subject: Encoding) -> Trials:
    """Give fractional positions, unless they are refused, or cut off."""
    x, positions = subject.draw((1,), 3), np.array([0.5, 1.25, 7.75])
    with suppress(Raised):
        trial = subject.compare(x, positions)
        # Code that indexes a table cuts the rest off; that is its right.
        if not np.array_equal(trial.given, subject.call(x, positions // 1)):
            return [trial]
    raise Skip("positions are whole numbers: others are refused, or cut off")


# Tables end, and half types lose whole numbers, at powers of two. They begin at 1, unlike what code
# counts that ignores them.
DISTANT = np.unique([2**n + more for n in range(1, 21) for more in (-1, 0, 1)])


def distant(subject: Encoding, most: int, **variant: Any) -> Trial:
    """Compare distant rows, of so many at most, as the code or a variant makes them."""
    count = min(subject.limit, most)
    looked_at = [*DISTANT[count > DISTANT], count - 1]
    positions = looked_at if subject.free else range(count)
    shown = slice(None) if subject.free else looked_at
    x = subject.draw((1,), len(positions))
    return subject.compare(x, positions, shown=shown, **variant)


def far(subject: Encoding) -> Trials:
    """Try distant rows, or a long table."""
    yield distant(subject, subject.limit)
    # A single row of several sequences and heads: at 0, what isn't turned would be right.
    yield at(subject, (4, 8), [200])


def axes(subject: Rotation) -> Trials:
    """Give another coordinate along each axis."""
    if subject.declared.count_of_axes == 1:
        raise Skip("for several coordinates, pass frequencies of shape (axes, pairs)")
    x = subject.draw((), 12)
    call: EncodingCall = subject.compare(x, range(12)).call
    # (rows, axes)
    places = np.random.default_rng(SEED).integers(
        1, 256, (12, subject.declared.count_of_axes)
    )
    places %= subject.rows  # a table may be short
    made = subject.turned(subject.module, subject.array(x), subject.places(places))
    out = floats(made)
    # (axes, rows)
    k = call.convention.counted(places.T)
    # (rows, axes) @ (axes, pairs): the angles of all axes add up.
    meant = call.encode(k.T @ subject.declared.frequencies)
    # No sum of angles is greater than if all coordinates were as the greatest.
    bounds = call._replace(k=places.max(axis=1)).bounds(subject.unit)
    yield Trial("other coordinates", out, meant, bounds, ("row", "dimension"))


# Unusual input


def masked(subject: Encoding) -> Trials:
    """Put NaN into one row, and infinity into another, as padding may hold anything."""
    x, positions = some(subject)
    before = subject.call(x, positions)
    x[0, -1], x[1, 0] = math.nan, math.inf
    kept = np.isfinite(x).all(axis=-1)
    with np.errstate(invalid="ignore"):
        after = subject.call(x, positions, finite=False)
    yield Trial("rows beside NaN", after[kept], before[kept])


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


def fresh(subject: Encoding) -> Any:
    """Return what is called, of the first width, with nothing kept from other calls."""
    return subject.make(subject.widths[0])


def torch_of(subject: Encoding) -> Any:
    """Return torch, or skip the law."""
    if subject.library is np:
        raise Skip("numpy arrays")
    return subject.library


def half(subject: Encoding) -> Trials:
    """Ask for results in the half type, cast along with a module."""
    if subject.kind == "table" and not argument(subject.module, ["dtype"]):
        raise Skip("no argument `dtype`")
    name = "float16" if subject.library is np else "bfloat16"
    module = fresh(subject)
    if hasattr(module, name):
        module = user(getattr(module, name))
    yield distant(subject, 5000, unit=UNITS[name], module=module, dtype=name)


def reduced(subject: Encoding) -> Trials:
    """Round products of matrices, which angles shouldn't be."""
    torch = torch_of(subject)
    # A decorator of what is called: nothing else is under autocast.
    under_autocast = torch.autocast("cpu", dtype=torch.bfloat16)
    module = under_autocast(fresh(subject))
    yield distant(subject, 5000, unit=UNITS["bfloat16"], module=module)


# Gradients


def gradient(subject: Encoding) -> Trials:
    """Multiply the gradient by x: that is how much of the result comes from x, in each row."""
    torch_of(subject)
    drawn, positions = some(subject)
    x = subject.array(drawn).requires_grad_()
    out = subject.result(x, positions)
    # Where the graph is cut, a gradient of 0 remains. A gradient may be the user's own code.
    user(lambda: (out.sum() + 0 * x.sum()).backward())
    result, at_zero = floats(out), subject.call(0 * drawn, positions)
    # Both are linear in x, but for the rows that are added.
    given = (floats(x.grad) * drawn).sum(axis=-1)
    meant = (result - at_zero).sum(axis=-1)
    bounds = 16 * UNIT * (1 + np.abs(result)).sum(axis=-1)
    yield Trial("gradient times x", given, meant, bounds, ("sequence", "row"))


def module_of(subject: Encoding) -> Any:
    """Return a module of torch with nothing kept from other calls, or skip the law."""
    module = fresh(subject)
    if not hasattr(module, "state_dict"):
        raise Skip("not a torch module")
    return module


def trained(subject: Encoding) -> None:
    """Look for parameters with two axes: frequencies, which have one, may be trained."""
    module = module_of(subject)
    if subject.other_kind:
        raise Skip(OTHER_KIND)
    if any(part.ndim > 1 and part.requires_grad for part in user(module.parameters)):
        raise Broken("a table is trained", "make it a buffer (exhibit 7)")


# Moves of modules


def state(subject: Encoding) -> Trials:
    """Load a copy."""
    yield refilled(subject, module_of(subject))


def meta(subject: Encoding) -> Trials:
    """Load a copy that was emptied, as a move away from meta does."""
    module = user(module_of(subject).to, "meta")

    def emptied(tensor: Any) -> Any:
        return tensor.new_full(tensor.shape, -1, device="cpu")

    # By `_apply`, as `to_empty` does, since some code fills tensors there
    yield refilled(subject, user(module._apply, emptied))


def refilled(subject: Encoding, module: Any) -> Trial:
    """Fill a module as frameworks do, by `reset_parameters` and by the state, and compare it."""
    for part in module.modules():
        if hasattr(part, "reset_parameters"):
            user(part.reset_parameters)
    user(module.load_state_dict, user(subject.module.state_dict))
    return beside_itself(subject, "the copy", module)


def beside_itself(subject: Encoding, name: str, module: Any) -> Trial:
    """Compare a variant with the module as it is."""
    x, positions = some(subject)
    meant = subject.call(x, positions)
    given = subject.call(x, positions, module)
    return Trial(name, given, meant, 4 * subject.unit * (1 + np.abs(meant)))


def device(subject: Encoding) -> None:
    """Move to torch's device meta, whose tensors have a shape and no numbers."""
    torch_of(subject)
    x, positions = some(subject)
    module = fresh(subject)
    if hasattr(module, "to"):
        module = user(module.to, "meta")
    places = subject.places(positions)
    # A layer's are looked at, which those on meta can't be.
    if subject.kind == "rotary":
        places = places.to("meta")
    out = subject.raw(module, subject.array(x).to("meta"), places)
    if not out.is_meta:
        raise Broken("the result isn't on meta")


def compile(subject: Encoding) -> Trials:
    """Compile without a backend."""
    torch = torch_of(subject)
    # Graphs of an earlier check would be taken again.
    torch.compiler.reset()
    module = torch.compile(fresh(subject), fullgraph=True, backend="eager")
    with torch.no_grad():
        yield beside_itself(subject, "compiled", module)
