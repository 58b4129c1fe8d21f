"""Tables, layers and rotations: how each is called."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from posenc._validate import check_d_model, check_int
from posenc.checks.recognition import (
    LEARNED,
    Comparison,
    has_many_frequencies,
)
from posenc.checks.subjects import POSITIONS, Subject, argument, floats, type_of
from posenc.checks.trials import SEED, Broken, Raised, Trial, user
from posenc.conventions import UNIT, Convention, Floats

# What a subject knows of itself is found when it is first asked for, and kept. Each of these may
# ask for those to its left, never for others:
#
#   made → free, call → unit, carried, limit → sequences → other_kind → comparison
#
#   made        returns what is called, by width; `call` calls it.
#   free        whether a call takes any positions, or only 0, 1, 2, …, as a table does.
#   unit        the rounding unit of the type that is returned; `carried` is the multiplier of x.
#   limit       how many positions the code takes, since a table may end early.
#   sequences   x and the result for the first 257 of these, or fewer, at each width.
#   other_kind  whether it is no sinusoid; `comparison` has what it is compared with, if it is one.

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
FAR = 2**17 + 1  # positions that are tried
ENTRIES = 2**21  # in one call, so that wide tables take no longer than narrow ones
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # of rounding
CAST = "the result isn't cast back to the dtype of the input"
ROTATED = (
    "`rotate(x, positions)`; if it is made for one width, pass that, as in widths=[64]; if it "
    "counts by itself, or turns keys, too, pass `lambda x, positions: rotate(x)`, or "
    "`lambda x, positions: rotate(x, -x)[0]`, and "
    "laws=['shape', 'repeat', 'values', 'batch', 'masked', 'gradient']"
)
# Usual names of the attribute that holds a layer's width
WIDTHS = ("d_model", "embedding_dim", "embed_dim", "hidden_size", "dim", "channels")


class Encoding(Subject):
    """A table, a layer or a rotation, which turns pairs of dimensions from row to row.

    Each kind says how it is called: ``raw(x, positions)``, with arrays of the library.
    """

    free: Any = True  # whether a call takes any positions, or counts from 0 by itself
    leads = (0, 2)  # the fewest and the most axes of x in front of (seq_len, width)
    takes_x = True  # or x is 0
    carried: Any = 1.0  # multiplier of x, where rows are added to it
    unit: Any = UNIT  # of rounding, in the type that is returned
    dtype = "float32"  # of x
    raw: Callable[[Any, Any], Any]

    def __init__(
        self,
        subject: Any,
        widths: Sequence[int] | None = None,
        longest: int = 0,
        learned: bool = False,
        **declared: Any,
    ) -> None:
        super().__init__(subject)
        self.learned = learned
        self.comparison = Comparison(self, **declared)
        self.longest = longest and check_int("longest", longest, minimum=16)
        pairs = self.comparison.pairs
        widths = widths or ([2 * pairs] if pairs else [16, 24])
        self.widths = [check_d_model(width) for width in widths]
        self.comparison.check_widths(self.widths)
        # A class makes what is called; so does a function of the width, for a layer.
        makes = self.kind == "module" and not hasattr(subject, "training")
        self.factory = makes or isinstance(subject, type)
        self.made: Any = cache(self.make)
        # From here on, the subject is called, for which `make` and `raw` read what is set above.
        self.find_library(lambda: self.plain(self.widths[0]))
        taken = [d for d in self.widths if self.accepts(partial(self.plain, d))]
        self.widths = taken or self.widths[:1]

    def make(self, width: int) -> Any:
        """Return what is called: the subject, or what a class makes, in evaluation mode."""
        made = user(self.subject, width) if self.factory else self.subject
        # A copy, so that the module itself stays in its mode
        return user(copy.deepcopy, made).eval() if hasattr(made, "eval") else made

    def plain(self, width: int) -> Any:
        """Call the code with a batch."""
        x = self.draw((2,), 3, width)
        return self.raw(self.array(x), self.places(range(3)))

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has: (*lead, seq_len, width); zeros if it takes none."""
        fewest, most = self.leads
        lead = (*lead, *[2] * fewest)[:most]
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        x = np.random.default_rng(SEED).normal(size=size).astype("f4")
        return self.takes_x * x.astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        # Tables are indexed by whole numbers.
        whole = np.asarray(positions).dtype.kind in "iu"
        return self.array(positions, "int64" if whole else "float32")

    @property
    def module(self) -> Any:
        """What is called at the first width."""
        return self.made(self.widths[0])

    def changed(self, module: Any, dtype: str = "float32", unit: float = 0.0) -> Any:
        """Return a copy with another module in place of its own, for x of a dtype.

        It is compared with the same: `comparison` stays that of the code as it was given.
        """
        other = copy.copy(self)
        other.made, other.dtype = (lambda width: module), dtype
        other.unit = unit or self.unit
        return other

    def call(self, x: Floats, positions: Any, finite: bool = True) -> Floats:
        """Call the code; return float64 values, of the shape of x."""
        # x: (..., seq_len, width), positions: (seq_len,) or (batch, seq_len)
        made = self.raw(self.array(x, self.dtype), self.places(positions))
        if self.dtype not in ("float32", type_of(made)):
            raise Broken(f"{type_of(made)} for {self.dtype}", CAST)
        out = floats(made, finite)
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return out

    def compare(self, x: Floats, positions: Any) -> Trial:
        """Call the code, and compare it with the book's."""
        out = self.call(x, positions)
        return self.comparison.trial(x, positions, out, unit=self.unit)

    @cached_property
    def limit(self) -> int:
        """How many positions the code takes: those asked for, or a half, a quarter, … of them."""
        most = FAR if self.free else ENTRIES // self.widths[0] + 1
        count = self.longest or most
        # Layers hold tables of some length, which nobody declares.
        while count > 2 and not self.takes(count):
            count //= 2
        return count

    def takes(self, count: int) -> bool:
        """Whether the code takes the last of so many positions, or all if it counts by itself."""
        positions = [count - 1] if self.free else range(count)
        try:
            self.call(self.draw((), len(positions)), positions)
        except Raised:
            return False
        except Broken:
            # A law will report what is broken; but a table may end early.
            return bool(self.free)
        return True

    @property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return min(self.limit, ROWS)

    @cached_property
    def sequences(self) -> list[tuple[Floats, Floats]]:
        """For each width, x and the result for all rows; x is drawn for a rotation, else zeros."""
        turns = self.kind == "rotary"
        inputs = [turns * self.draw((), self.rows, width) for width in self.widths]
        return [(x, self.call(x, range(self.rows))) for x in inputs]

    @property
    def table(self) -> Any:
        """The whole sequence at the first width: (rows, width), the first of a batch."""
        _, out = self.sequences[0]
        return out.reshape(-1, *out.shape[-2:])[0]

    @cached_property
    def other_kind(self) -> bool:
        """Whether that is declared, or seen from the entries."""
        declared = self.learned or self.comparison.is_declared
        if declared or self.rows < 64:  # too few to tell
            return self.learned
        return has_many_frequencies(self.table)

    def described(self) -> tuple[Convention | None, str]:
        """Return what it is compared with, and that in words."""
        if self.other_kind:
            return None, LEARNED
        return self.comparison.convention, self.comparison.about

    def explain(self, trials: list[Trial]) -> str:
        """Return the known faults that give what was measured, or what to declare."""
        return self.comparison.explain(trials)


class Table(Encoding):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    usage = "`encode(seq_len, d_model)`"
    free = False
    leads = (0, 0)
    takes_x = False

    @cached_property
    def unit(self) -> float:
        """The unit of the type that a plain call returns, at least float32's."""
        return UNITS.get(type_of(self.plain(self.widths[0])), UNIT)

    def raw(self, x: Any, positions: Any) -> Any:
        """Return the rows, without a batch axis of length 1; in a half type, if x has one."""
        half = type_of(x) != "float32"
        rows = user(self.subject, *x.shape, **{"dtype": x.dtype} if half else {})
        # (1, seq_len, width) and (seq_len, 1, width) are usual in layers.
        if getattr(rows, "ndim", 0) == 3 and 1 in rows.shape[:2]:
            return rows.reshape(-1, rows.shape[2])
        return rows


class Layer(Encoding):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"
    usage = "`layer(x)`, x of shape (batch, seq_len, d_model)"
    leads = (1, 1)

    def __init__(
        self, module: Any, d_model: Any = None, batch_first: Any = None, **options: Any
    ) -> None:
        self.batch_first = batch_first
        if hasattr(module, "training"):
            width = d_model or width_of(module)
            if [*options.setdefault("widths", [width])] != [width]:
                raise ValueError(f"widths must be [{width}], which the layer has")
        elif d_model:
            raise ValueError("d_model is a layer's; what makes layers is given widths=")
        super().__init__(module, **options)

    def find_library(self, call: Any) -> None:
        """Take torch, even if the layer raises: numpy has no layers."""
        import torch

        self.library = torch

    @cached_property
    def position_name(self) -> str:
        """The name of the layer's argument for positions, or ""."""
        return argument(getattr(self.module, "forward", None), POSITIONS)

    @property
    def free(self) -> bool:
        """Whether it has such an argument."""
        return bool(self.position_name)

    def raw(self, x: Any, positions: Any) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        made = self.made(x.shape[-1])
        usual = getattr(made, "batch_first", True)
        swap = not (usual if self.batch_first is None else self.batch_first)
        # It counts by itself, where it should count the same.
        counted = positions.tolist() == [*range(len(positions))]
        places = {self.position_name: positions} if self.free and not counted else {}
        # Gradients are asked for by `requires_grad`, and cost memory otherwise.
        with self.library.set_grad_enabled(x.requires_grad):
            out = user(made, x.transpose(0, 1) if swap else x, **places)
        # Some layers also return what they added.
        out = out[0] if isinstance(out, tuple) else out
        return out.transpose(0, 1) if swap else out

    @cached_property
    def carried(self) -> float:
        """The multiplier of x: 1 or the root of the width, whichever is nearer."""
        x, k = self.draw((), 2), range(2)
        # What is added to x cancels.
        times = np.median((self.call(x, k) - self.call(0 * x, k)) / x)
        root = float(x.shape[2] ** 0.5)
        return root if times > root / 2 else 1.0


def width_of(module: Any) -> int:
    """Return the width of a layer, from an attribute or a table of its."""
    widths = [getattr(module, name) for name in WIDTHS if hasattr(module, name)]
    tables = (*module.buffers(), *module.parameters())
    widths += [table.shape[-1] for table in tables if table.ndim > 1]
    if not widths:
        raise ValueError("the width of the layer can't be inferred: pass d_model")
    return int(widths[0])


class Rotation(Encoding):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    usage = ROTATED
    other_kind = False

    def __init__(self, rotate: Any, widths: Any = None, **options: Any) -> None:
        if not widths and hasattr(rotate, "training"):
            # A module's frequencies, one for each pair, tell its width.
            sizes = [2 * len(part) for part in rotate.buffers() if part.ndim == 1]
            widths = sizes[:1]
        super().__init__(rotate, widths, **options)

    def raw(self, x: Any, positions: Any) -> Any:
        """Call the function; each of several axes gets the same coordinate."""
        axes = self.comparison.axes
        if axes > 1:
            positions = self.library.stack([positions] * axes, -1)
        return user(self.made(x.shape[-1]), x, positions)
