"""Tables, layers and rotations: called alike, each with the book's to compare it with."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice, product
from typing import Any

import numpy as np

from posenc._validate import check_int, check_positions, check_real
from posenc.checks.recognition import candidates, other_numbers, recognized
from posenc.checks.subjects import POSITIONS, Subject, argument, floats, type_of
from posenc.checks.trials import (
    NEAR,
    SEED,
    Broken,
    Raised,
    Skip,
    Trial,
    Trials,
    causes,
    user,
)
from posenc.conventions import (
    KNOWN,
    LAYOUTS,
    ROTARY_LAYOUTS,
    RULES,
    UNIT,
    Convention,
    Floats,
    Reference,
)

# What a subject knows of itself is measured when it is first asked for, and kept. Each of these
# may ask for those to its left, never for one to its right:
#
#   call → rows → called(width) → convention → reference(width) → agrees → compare, explain
#
#   call           calls the code.
#   rows           how many positions most laws look at: fewer than 257 if a table ends early.
#   called(width)  x and the result for all of these rows. A Table's calls also raise `unit` to
#                  that of the type they return, so `unit` is read after a call, never before.
#   convention     the declared one, or the one recognized by reference(width, candidate). That
#                  doesn't ask for `convention`, since the candidate is given.
#   agrees         whether the whole sequence follows it.

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
LENGTHS = (2**15, 2**13, 5000, 4096, 2048, 1024, 512, ROWS, 128, 64, 32, 16, 8, 2)
UNITS = {"float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
AXES = ("sequence", "head", "position", "dimension")
# Laws that another kind of table is asked, since they don't compare it with a sinusoid.
ANY_TABLE = [
    "shape",
    "repeat",
    "unique",
    "masked",
    "gradient",
    "state",
    "device",
    "compile",
]
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
CAST = "the result isn't cast back to the dtype of the input"
# Usual names of the attribute that holds a layer's width
WIDTHS = [
    "d_model",
    "embedding_dim",
    "embed_dim",
    "hidden_size",
    "dim",
    "channels",
    "d_hid",
]


class Encoding(Subject, ABC):
    """A table, a layer or a rotation, which turns pairs of dimensions from row to row.

    `convention` is what it is compared with: the declared one, or the one that gives nine tenths
    of its entries. If there is none, the law `values` fails, and the others follow.
    """

    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    fixed = False  # whether it has one width
    carried = 1.0  # multiplier of x, where rows are added to it
    axes = 0  # of coordinates, if there are several

    def __init__(
        self,
        subject: Any,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        widths: Sequence[int] | None = None,
        length: int = 2048,
        longest: int = 2**17 + 1,
        **options: Any,
    ) -> None:
        super().__init__(subject, **options)
        self.base = None if base is None else check_real("base", base, positive=True)
        self.declared: Any = KNOWN.get(str(convention), convention)
        if not isinstance(self.declared, Convention | None):
            names = f"a Convention or one of {', '.join(KNOWN)}"
            raise ValueError(f"convention must be {names}, got {convention!r}")
        self.frequencies: Any = frequencies
        if frequencies is not None:
            self.frequencies = check_positions(frequencies, "frequencies", ndim=None)
            widths = widths or [2 * self.frequencies.shape[-1]]
        self.widths = [check_int("widths", d, minimum=2) for d in widths or (16, 24)]
        if any(width % 2 for width in self.widths):
            raise ValueError(f"widths must be even, got {widths!r}")
        self.length = check_int("length", length, minimum=2)
        self.longest = check_int("longest", longest, minimum=16)
        self.module: Any = subject
        self.called: Any = cache(self.call_whole)

    # What each kind says of itself

    @abstractmethod
    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the code, or a module in its place, with arrays of its library."""

    @abstractmethod
    def factor_of(self, width: int) -> float:
        """Return the multiplier of the rows, or of what turns."""

    @abstractmethod
    def templates(self) -> list[Convention]:
        """Return conventions to try, whose bases may be others."""

    # Calls

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has: (*lead, seq_len, width)."""
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        return np.random.default_rng(SEED).normal(size=size).astype("f4").astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library; each of several axes gets the same coordinate."""
        k = np.asarray(positions)
        # Tables are indexed by whole numbers; an empty list would become floats.
        whole = k.dtype.kind in "iu" or not k.size
        k = k[..., None].repeat(self.axes, -1) if self.axes else k
        return self.array(k, "int64" if whole else "float32")

    def call(
        self, x: Floats, positions: Any, dtype: str = "float32", module: Any = None
    ) -> Floats:
        """Call the code, or a module in its place; return float64 values, of the shape of x."""
        # x: (..., seq_len, width), positions: (seq_len,) or (batch, seq_len)
        made = self.raw(self.array(x, dtype), self.places(positions), module)
        if dtype != "float32" and type_of(made) != dtype:
            raise Broken(f"{type_of(made)} for {dtype}", CAST)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return out

    def at_most(self, seq_len: int) -> int:
        """Return this length, or the longest usual one below it that the code takes."""
        # Layers hold tables of some length, which nobody declares.
        shorter = [length for length in LENGTHS if length < seq_len]
        return next(filter(self.reaches, [seq_len, *shorter]), seq_len)

    def reaches(self, seq_len: int) -> bool:
        """Whether the code takes that many positions, from 0."""
        # A table has to be built as a whole, a rotation is asked for its last row.
        positions = [seq_len - 1] if self.free else range(seq_len)
        try:
            self.call(self.draw((), len(positions)), positions)
        except Raised:
            return False
        except Broken:  # a law will report it; but a table may end early
            return self.free
        return True

    @cached_property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return self.at_most(ROWS)

    def call_whole(self, width: int) -> tuple[Floats, Floats]:
        """Return x and the result for all rows; x is drawn for a rotation, else zeros."""
        x = self.draw((), self.rows, width) * (self.kind == "rotary")
        return x, self.call(x, range(self.rows))

    # What it is compared with

    @cached_property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The declared convention, or the first that gives nine tenths of the entries."""
        return self.declared or recognized(self)

    @property
    def beside(self) -> str:  # type: ignore[override]
        """What it was compared with, if no convention fits."""
        first = next(candidates(self))
        text = f"no known convention gives nine tenths of it; beside it is {first}"
        return "" if self.convention else text

    def undeclared(self) -> Encoding:
        """Return the same subject, as if nothing had been declared."""
        # What was called and seen to move stays; what it is compared with is found anew.
        other = copy.copy(self)
        other.base = other.declared = other.frequencies = None
        vars(other).pop("convention", None)
        return other

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's encoding: of the convention, or with the declared frequencies."""
        known = known or self.convention or next(candidates(self))
        factor = self.factor_of(width)
        right = replace(known.encoding(width), carried=self.carried, factor=factor)
        if self.frequencies is None:
            return right
        # Coordinates of several axes are equal here, so that their frequencies add up.
        return replace(right, frequencies=np.atleast_2d(self.frequencies).sum(axis=0))

    @cached_property
    def agrees(self) -> bool:
        """Whether the whole sequence is what the reference gives."""
        return all(trial.worst <= 1 for trial in self.whole())

    def whole(self) -> Trials:
        """Compare the whole sequence at each width."""
        for width in self.widths:
            x, out = self.called(width)
            yield self.trial(f"width {width}", x, out, range(self.rows))

    def compare(
        self,
        x: Floats,
        positions: Any,
        words: str = "",
        dtype: str = "float32",
        unit: float = UNIT,
        module: Any = None,
    ) -> Trial:
        """Call the code, and compare it with the book's."""
        out = self.call(x, positions, dtype, module)
        return self.trial(words, x, out, positions, unit)

    def trial(
        self, words: str, x: Floats, out: Floats, positions: Any, unit: float = UNIT
    ) -> Trial:
        """Compare a result with the book's."""
        k = np.asarray(positions, np.float64)
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        k = np.broadcast_to(k, x.shape[:-1])
        right = self.reference(x.shape[-1])
        bounds = right.bound(x, k, max(unit, self.unit))
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        names = (AXES[0], *AXES[2:]) if x.ndim == 3 else AXES[4 - x.ndim :]
        rounded = unit > UNIT
        return Trial(words, out, right(x, k), bounds, names, (x, k), rounded)

    # Causes

    def excuse(self, law: str) -> None:
        """Raise `Skip` if another kind of table isn't asked this law."""
        super().excuse(law)
        if self.about and law not in ANY_TABLE:
            raise Skip(self.about)

    def explain(self, trials: list[Trial]) -> str:
        """Return the known faults that give the same calls, the whole sequence, and a batch."""
        # Properties have no call that a fault could be run on.
        tried = [trial for trial in trials if trial.call]
        if not tried:
            return ""
        if self.agrees and not tried[0].rounded:
            tried += [*self.whole(), self.compare(self.draw((2, 3), 5), range(5))]
        widths = [trial.given.shape[-1] for trial in tried]
        known = [self.convention] if self.convention else islice(candidates(self), 20)
        for convention in known:
            rights = [self.reference(width, convention) for width in widths]
            text = causes(self.kind, rights, tried)
            if text:
                return text
        return "" if self.agrees else other_numbers(self, tried)


class Added(Encoding):
    """A table or a layer: rows are added, of a sinusoid or of another kind."""

    def added(self, width: int) -> Floats:
        """Return what is added to zeros."""
        return np.asarray(self.called(width)[1].reshape(-1, self.rows, width)[0])

    def factor_of(self, width: int) -> float:
        """Return the usual multiplier that is nearest to that of the rows."""
        # Each pair adds 1 to the square of a row; a median, since some rows may be wrong.
        squares = np.median((self.added(width) ** 2).mean(axis=1))
        return nearest_root(width, float(2 * squares) ** 0.5)

    def templates(self) -> list[Convention]:
        """Return the known tables, then other layouts, exponents, and starts."""
        known = [table for table in KNOWN.values() if not table.rotary]
        starts = product(LAYOUTS, RULES, (0, 1, 2))
        return known + [Convention(layout, rule, first=k) for layout, rule, k in starts]

    @cached_property
    def about(self) -> str:  # type: ignore[override]
        """Another kind of table, if nobody said that it is sinusoidal."""
        sinusoidal = self.base or self.declared or self.frequencies is not None
        learned = "learned" in self.tags or (not sinusoidal and self.looks_learned())
        return LEARNED if learned else ""

    def looks_learned(self) -> bool:
        """Whether most columns have their energy at many frequencies.

        A sinusoid's column has most of it at one, and so has every known bug's.
        """
        if self.rows < 64:  # too few to tell
            return False
        columns = self.added(self.widths[0])
        # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
        columns = (columns - columns.mean(axis=0)) * np.hanning(self.rows)[:, None]
        # (frequencies, width), the strongest last
        energy = np.sort(np.abs(np.fft.rfft(columns, axis=0)) ** 2, axis=0)
        share = energy[-5:].sum(axis=0) / np.maximum(energy.sum(axis=0), 1e-300)
        return bool(np.median(share) < 0.5 and energy.any(axis=0).all())


def nearest_root(width: int, number: float) -> float:
    """Return 1, the root of the width, or its inverse, whichever is nearest."""
    roots = [width**power for power in (-0.5, 0.0, 0.5)]
    return float(min(roots, key=lambda root: abs(np.log(root / max(number, 1e-9)))))


class Table(Added):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    free = False

    def __init__(self, encode: Any, **options: Any) -> None:
        super().__init__(encode, **options)
        self.find_library(lambda: encode(2, self.widths[0]))

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Return the rows, without a batch axis of length 1; in a half type, if x has one."""
        half = type_of(x) != "float32"
        made = user(self.subject, *x.shape, **{"dtype": x.dtype} if half else {})
        if not half:
            self.unit = max(self.unit, UNITS.get(type_of(made), 0.0))
        # (1, seq_len, width) and (seq_len, 1, width) are usual in layers.
        if np.ndim(made) == 3 and 1 in made.shape[:2]:
            return made.reshape(-1, made.shape[2])
        return made

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Return zeros, since a table has no x and no batch."""
        return np.zeros((seq_len, width or self.widths[0]))


class Layer(Added):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"

    def __init__(
        self, module: Any, d_model: Any = None, batch_first: Any = None, **options: Any
    ) -> None:
        import torch  # not among what a table needs

        super().__init__(module, **options)
        self.library = torch
        self.fixed = isinstance(module, torch.nn.Module)
        if self.fixed:
            width = width_of(module) if d_model is None else d_model
            self.widths = [check_int("d_model", width, minimum=2)]
            module = user(copy.deepcopy, module)
        self.made: Any = cache(
            lambda d: (module if self.fixed else user(module, d)).eval()
        )
        self.module = self.made(self.widths[0])
        usual = getattr(self.module, "batch_first", True)
        self.batch_first = bool(usual if batch_first is None else batch_first)
        self.argument = argument(self.module.forward, POSITIONS)
        self.free = bool(self.argument)

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        call = module or self.made(x.shape[-1])
        named = {} if positions is None else {self.argument: positions}
        # Gradients are asked for by `requires_grad`, and cost memory otherwise.
        with self.library.set_grad_enabled(x.requires_grad):
            out = user(call, x if self.batch_first else x.transpose(0, 1), **named)
        # Some layers also return what they added.
        out = out[0] if isinstance(out, tuple) else out
        return out if self.batch_first else out.transpose(0, 1)

    def places(self, positions: Any) -> Any:
        """Let the layer count by itself, where it would count the same."""
        counted = np.array_equal(positions, np.arange(len(positions)))
        return None if counted or not self.free else super().places(positions)

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw embeddings; a layer takes one batch axis."""
        return super().draw((lead or (2,))[:1], seq_len, width)

    @cached_property
    def carried(self) -> float:  # type: ignore[override]
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x = self.draw((2,), min(9, self.rows))
        k = range(x.shape[1])
        # What is added to x cancels.
        factor = ((self.call(x, k) - self.call(0 * x, k)) * x).sum() / (x * x).sum()
        return max(nearest_root(x.shape[2], float(factor)), 1.0)


def width_of(module: Any) -> int:
    """Return the width of a layer, from an attribute or a table of its."""
    sizes = [getattr(module, name, None) for name in WIDTHS]
    tensors = [*module.buffers(), *module.parameters()]
    sizes += [tensor.shape[-1] for tensor in tensors if tensor.ndim > 1]
    for size in sizes:
        if type(size) is int:
            return size
    raise ValueError("the width of the layer can't be inferred: pass d_model")


class Rotation(Encoding):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"

    def __init__(
        self,
        rotate: Any,
        attention_factor: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(rotate, **options)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        if np.ndim(self.frequencies) == 2:
            self.axes = len(self.frequencies)
        is_class = isinstance(rotate, type)
        self.made: Any = cache(lambda width: rotate(width) if is_class else rotate)
        self.moving: Any = cache(self.find_moving)
        self.find_library(lambda: self.ones(self.widths[0]))
        self.widths = [d for d in self.widths if self.takes(d)] or self.widths[:1]
        self.module = self.made(self.widths[0])

    def ones(self, width: int) -> Any:
        """Turn ones, as a batch."""
        x = self.array(np.ones((2, 3, width)))
        if self.library is not np:  # numpy code refuses it then
            x.requires_grad_()
        return self.raw(x, self.places(range(3)))

    def takes(self, width: int) -> bool:
        """Whether heads of this width can be turned; a module may have one width."""
        with suppress(Raised):
            self.ones(width)
            return True
        return False

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the function."""
        return user(module or user(self.made, x.shape[-1]), x, positions)

    def factor_of(self, width: int) -> float:
        """Return the attention factor."""
        return self.factor

    def find_moving(self, width: int) -> Any:
        """Return the dimensions that change from row to row."""
        # Ones turn to cos - sin and cos + sin: a dimension that turns changes.
        out = self.call(np.ones((self.rows, width)), range(self.rows))
        return np.flatnonzero(np.ptp(out, axis=0) > NEAR)

    def templates(self) -> list[Convention]:
        """Return rotations of the share that turns, in all layouts, and both ways."""
        width = max(self.widths)
        share, extents = len(self.moving(width)) / width, ["partial", "proportional"]
        if self.frequencies is not None:
            share, extents = 2 * self.frequencies.shape[-1] / width, ["partial"]
        if share in (0, 1):
            share, extents = 1, ["whole"]
        return [
            Convention(layout, direction=way, extent=extent, share=share)
            for way in ("up", "backwards")
            for layout in ROTARY_LAYOUTS
            for extent in extents
        ]

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's rotation, from the first dimension on that turns."""
        right = super().reference(width, known)
        # 0 if nothing turns
        first = 0 if self.declared else self.moving(width)[:1].sum()
        one, two = right.pairs
        if two[-1] + first >= width:
            return right
        # The part and its order move along; what stands behind it comes to the front.
        order = np.roll((right.order + first) % width, first)
        return replace(right, pairs=(one + first, two + first), order=order)
