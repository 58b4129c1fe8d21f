"""Tables, layers and rotations: called alike, each with the book's to compare it with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import islice, product
from typing import Any

import numpy as np

from posenc._validate import check_d_model, check_int, check_positions, check_real
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import POSITIONS, Subject, argument, floats, type_of
from posenc.checks.trials import (
    NEAR,
    ON_REQUEST,
    SEED,
    Broken,
    Raised,
    Trial,
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

# What a subject knows of itself is found when it is first asked for, and kept. Each of these may
# ask for those to its left or above, never for others:
#
#   made → free, call → unit, carried, rows → sequences → other_kind, templates
#   → convention → reference(width) → compare, explain
#
#   made        returns what is called, by width; `call` calls it.
#   free        whether a call takes any positions, or only 0, 1, 2, …; for a layer, the name of its
#               argument for them.
#   unit        the rounding unit of the type that is returned; `carried` is the multiplier of x.
#   rows        how many positions most laws look at: fewer than 257 if a table ends early.
#   sequences   x and the result for all of these rows, by width.
#   other_kind  whether it is no sinusoid; `templates` are the conventions to try if it is one.
#   convention  the declared one, or the one recognized by reference(width, candidate). That
#               doesn't ask for `convention`, since the candidate is given.

ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
UNITS = {"float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8}
# Bases of released models, the most usual ones first
BASES = [1e4, 5e5, 1e6, 1e5, 1e3, 1e2, 1e7, 5e6]
BASES += [8e6, 1.5e5, 1.6e5, 2.5e5, 5e4, 4e4, 3e4, 2e4]
LEARNED = "another kind (learned?), not checked as sinusoidal; to do so, pass base= or convention="
UNKNOWN = "no known convention gives nine tenths of it; beside it is"
DECLARE = (
    f"{NO_CAUSE}; if they are meant, pass base=, frequencies= or convention=, or learned=True for "
    "a table of another kind; if a norm follows the rotation, check what comes before it"
)
CAST = "the result isn't cast back to the dtype of the input"
DECLARATIONS = {"base", "declared", "frequencies"}
DECIDED = ("other_kind", "templates", "convention")  # by these, and by measurements
# Usual names of the attribute that holds a layer's width
WIDTHS = ("d_model", "embedding_dim", "embed_dim", "hidden_size", "dim", "channels")


class Encoding(Subject):
    """A table, a layer or a rotation, which turns pairs of dimensions from row to row.

    `convention` is what it is compared with: the declared one, or the one that gives nine tenths
    of its entries. If there is none, the law `values` fails, and the others follow. Each kind says
    how it is called, by ``raw(x, positions)`` in arrays of its library.
    """

    # Other laws compare it with a sinusoid.
    asked_if_learned = (
        *("shape", "repeat", "unique", "masked", "gradient", "state"),
        *ON_REQUEST,
    )
    free: Any = True
    leads = (0, 2)  # the fewest and the most axes of x in front of (seq_len, width)
    carried: Any = 1.0  # multiplier of x, where rows are added to it
    axes = 1  # coordinates of a position
    dtype = "float32"
    raw: Callable[[Any, Any], Any]  # x and positions, in arrays of its library

    def __init__(
        self,
        subject: Any,
        base: float | None = None,
        convention: str | Convention | None = None,
        frequencies: Any = None,
        widths: Sequence[int] | None = None,
        longest: int = 2**17 + 1,
        attention_factor: float = 1.0,
        learned: bool = False,
    ) -> None:
        super().__init__(subject, learned)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.base = None if base is None else check_real("base", base, positive=True)
        self.declared: Any = KNOWN.get(str(convention), convention)
        if not isinstance(self.declared, Convention | None):
            names = f"a Convention or one of {', '.join(KNOWN)}"
            raise ValueError(f"convention must be {names}, got {convention!r}")
        self.frequencies: Any = None
        if frequencies is not None:
            omega = check_positions(frequencies, "frequencies", ndim=None)
            self.frequencies = np.atleast_2d(omega)
            self.axes, pairs = self.frequencies.shape
            widths = widths or [2 * pairs]
        # A class, or another function of the width that makes a layer
        self.factory = isinstance(subject, type)
        if self.kind == "module":
            self.factory = not hasattr(subject, "training")
        self.longest = check_int("longest", longest, minimum=16)
        self.widths = [check_d_model(width) for width in widths or (16, 24)]
        self.made: Any = cache(self.make)
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
        return self.raw(self.array(self.draw((2,), 3, width)), self.places(range(3)))

    def changed(self, **attributes: Any) -> Encoding:
        """Return a copy with other `dtype`, `unit`, `made`, or declarations, and nothing else.

        What was measured stays that of the code as it was given, in float32: `free`, `carried`,
        `rows`, `sequences`. What is in DECIDED is forgotten if declarations change.
        """
        other = copy.copy(self)
        vars(other).update(attributes)
        if attributes.keys() & DECLARATIONS:
            for name in DECIDED:
                vars(other).pop(name, None)
        return other

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has: (*lead, seq_len, width)."""
        fewest, most = self.leads
        lead = (*lead, *[2] * fewest)[:most]
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        return np.random.default_rng(SEED).normal(size=size).astype("f4").astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library; each of several axes gets the same coordinate."""
        k = np.asarray(positions)
        # Tables are indexed by whole numbers; an empty list would become floats.
        whole = k.dtype.kind in "iu" or not k.size
        k = k[..., None].repeat(self.axes, -1) if self.axes > 1 else k
        return self.array(k, "int64" if whole else "float32")

    def call(self, x: Floats, positions: Any) -> Floats:
        """Call the code; return float64 values, of the shape of x."""
        # x: (..., seq_len, width), positions: (seq_len,) or (batch, seq_len)
        made = self.raw(self.array(x, self.dtype), self.places(positions))
        if self.dtype not in ("float32", type_of(made)):
            raise Broken(f"{type_of(made)} for {self.dtype}", CAST)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return out

    def at_most(self, count: int) -> int:
        """Return this number of rows, or a half, a quarter, … of it that the code takes."""
        # Layers hold tables of some length, which nobody declares.
        while count > 2:
            # A table has to be built as a whole, a rotation is asked for its last row.
            positions = [count - 1] if self.free else range(count)
            try:
                self.call(self.draw((), len(positions)), positions)
                break
            except (Broken, Raised) as how:
                # A law will report what is broken; but a table may end early.
                if self.free and isinstance(how, Broken):
                    break
                count //= 2
        return count

    @cached_property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return self.at_most(ROWS)

    @cached_property
    def sequences(self) -> dict[int, tuple[Floats, Floats]]:
        """By width, x and the result for all rows; x is drawn for a rotation, else zeros."""
        turns = self.kind == "rotary"
        inputs = {d: turns * self.draw((), self.rows, d) for d in self.widths}
        return {d: (x, self.call(x, range(self.rows))) for d, x in inputs.items()}

    @cached_property
    def other_kind(self) -> bool:
        """Whether that is declared, or seen from the entries."""
        declared = self.base or self.declared or self.frequencies is not None
        if self.learned or declared or self.rows < 64:  # too few to tell
            return self.learned
        width = self.widths[0]
        _, out = self.sequences[width]
        return has_many_frequencies(out.reshape(-1, self.rows, width)[0])

    # What it is compared with

    @cached_property
    def templates(self) -> list[Convention]:
        """Conventions to try, of any base: known tables, other layouts, and starts."""
        known = [table for table in KNOWN.values() if not table.rotary]
        starts = product(LAYOUTS, RULES, (0, 1, 2))
        return known + [Convention(layout, rule, first=k) for layout, rule, k in starts]

    def candidates(self) -> Iterator[Convention]:
        """Yield the templates, with the declared base, or each of the usual ones."""
        bases = [self.base] if self.base else BASES
        for base, template in product(bases, self.templates):
            yield replace(template, base=base)

    def follows(self, known: Convention) -> bool:
        """Whether a convention gives nine tenths of the entries, at all widths."""
        for trial in self.whole(known):
            # `values` tells if the multiplier isn't 1.
            scaled = replace(trial, meant=multiplier(trial) * trial.meant)
            if (scaled.ratio <= 4).mean() < 0.9:
                return False
        return True

    def recognized(self) -> Convention | None:
        """Return the first candidate that it follows; `declared` needn't be among them."""
        return next(filter(self.follows, self.candidates()), None)

    @cached_property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The declared convention, or the first that gives nine tenths of the entries."""
        return self.declared or self.recognized()

    @property
    def about(self) -> str:  # type: ignore[override]
        """What it was compared with."""
        if self.other_kind:
            return LEARNED
        words = "compared with" if self.convention else UNKNOWN
        return f"{words} {self.convention or next(self.candidates())}"

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's encoding: of the convention, or with the declared frequencies."""
        known = known or self.convention or next(self.candidates())
        right = known.encoding(width)
        if self.frequencies is not None:
            # Coordinates of several axes are equal here, so that their frequencies add up.
            right = replace(right, frequencies=self.frequencies.sum(axis=0))
        return replace(right, carried=self.carried, factor=self.factor)

    def whole(self, known: Convention | None = None) -> list[Trial]:
        """Compare the whole sequence at each width."""
        return [
            self.trial(f"width {width}", x, out, range(self.rows), known)
            for width, (x, out) in self.sequences.items()
        ]

    def compare(self, x: Floats, positions: Any) -> Trial:
        """Call the code, and compare it with the book's."""
        return self.trial(f"shape {x.shape}", x, self.call(x, positions), positions)

    def trial(
        self,
        words: str,
        x: Floats,
        out: Floats,
        positions: Any,
        known: Convention | None = None,
    ) -> Trial:
        """Compare a result with the book's."""
        k = np.asarray(positions, np.float64)
        if k.ndim == 2:
            # (batch, seq_len) → (batch, 1, …, seq_len), over the heads
            k = k.reshape(len(k), *[1] * (x.ndim - 3), -1)
        k = np.broadcast_to(k, x.shape[:-1])
        right = self.reference(x.shape[-1], known)
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        axes = (*("sequence", "head")[: x.ndim - 2], "position", "dimension")
        bounds, rounded = right.bound(x, k, self.unit), self.unit > UNIT
        return Trial(words, out, right(x, k), bounds, axes, (x, k), rounded)

    # Causes

    def explain(self, trials: list[Trial]) -> str:
        """Return the known faults that give the same calls, the whole sequence, and a batch."""
        # Properties have no call that a fault could be run on.
        tried = [trial for trial in trials if trial.call]
        if not tried:
            return ""
        agrees = all(trial.worst <= 1 for trial in self.whole())
        if agrees and not tried[0].rounded:
            tried += [*self.whole(), self.compare(self.draw((2, 3), 5), range(5))]
        likely = [self.convention] if self.convention else islice(self.candidates(), 20)
        for known in likely:
            rights = [self.reference(trial.given.shape[-1], known) for trial in tried]
            text = causes(self.kind, rights, tried)
            if text:
                return text
        return "" if agrees else self.undeclared(tried[0])

    def undeclared(self, trial: Trial) -> str:
        """Say if it follows a convention that wasn't declared, or is multiplied by a number."""
        other = self.changed(base=None, declared=None, frequencies=None)
        known = other.recognized()
        if known not in (None, self.convention):
            return f"these are the numbers of another convention: {known}"
        number = multiplier(trial)
        if np.abs(trial.given - number * trial.meant).max() < NEAR < abs(number - 1):
            cure = (
                f"pass attention_factor={number:.9g}, widths=[{trial.given.shape[-1]}]"
            )
            return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
        return NO_CAUSE if self.declared or self.frequencies is not None else DECLARE


def multiplier(trial: Trial) -> float:
    """Return the number that brings what is meant nearest to what was given: least squares."""
    return float((trial.given * trial.meant).sum() / (trial.meant**2).sum())


def has_many_frequencies(rows: Floats) -> bool:
    """Whether most columns, of rows (seq_len, width), have their energy at many frequencies.

    A sinusoid's column has most of it at one, and so has every known bug's.
    """
    # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
    columns = (rows - rows.mean(axis=0)) * np.hanning(len(rows))[:, None]
    # (frequencies, width), the strongest last
    energy = np.sort(np.abs(np.fft.rfft(columns, axis=0)) ** 2, axis=0)
    # A column that is constant makes it NaN, and the answer no.
    with np.errstate(invalid="ignore"):
        share = np.median(energy[-5:].sum(axis=0) / energy.sum(axis=0))
    return bool(share < 0.5)


class Table(Encoding):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    free = False
    leads = (0, 0)
    carried = 0.0

    @cached_property
    def unit(self) -> float:  # type: ignore[override]
        """The unit of the type that a plain call returns, at least float32's."""
        rows = self.plain(self.widths[0])
        return max(UNIT, UNITS.get(type_of(rows), 0.0))

    def raw(self, x: Any, positions: Any) -> Any:
        """Return the rows, without a batch axis of length 1; in a half type, if x has one."""
        half = self.dtype != "float32"
        rows = user(self.subject, *x.shape, **{"dtype": x.dtype} if half else {})
        # (1, seq_len, width) and (seq_len, 1, width) are usual in layers.
        if np.ndim(rows) == 3 and 1 in rows.shape[:2]:
            return rows.reshape(-1, rows.shape[2])
        return rows


class Layer(Encoding):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"
    leads = (1, 1)

    def __init__(
        self, module: Any, d_model: Any = None, batch_first: Any = None, **options: Any
    ) -> None:
        self.batch_first = batch_first
        if hasattr(module, "training"):
            options["widths"] = [d_model or width_of(module)]
        super().__init__(module, **options)

    def find_library(self, call: Any) -> None:
        """Take torch, even if the layer raises: numpy has no layers."""
        import torch

        self.library = torch

    @cached_property
    def free(self) -> str:
        """The name of the layer's argument for positions, if it has one."""
        return argument(self.made(self.widths[0]).forward, POSITIONS)

    def raw(self, x: Any, positions: Any) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        call = self.made(x.shape[-1])
        usual = getattr(call, "batch_first", True)
        swap = not (usual if self.batch_first is None else self.batch_first)
        # It counts by itself, where it should count the same.
        counted = positions.tolist() == [*range(len(positions))]
        named = {self.free: positions} if self.free and not counted else {}
        # Gradients are asked for by `requires_grad`, and cost memory otherwise.
        with self.library.set_grad_enabled(x.requires_grad):
            out = user(call, x.transpose(0, 1) if swap else x, **named)
        # Some layers also return what they added.
        out = out[0] if isinstance(out, tuple) else out
        return out.transpose(0, 1) if swap else out

    @cached_property
    def carried(self) -> float:
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x, k = self.draw((), 2), range(2)
        # What is added to x cancels.
        times = np.median((self.call(x, k) - self.call(0 * x, k)) / x)
        root = float(x.shape[2] ** 0.5)
        return root if times > root / 2 else 1.0


def width_of(module: Any) -> int:
    """Return the width of a layer, from an attribute or a table of its."""
    widths = [getattr(module, name) for name in WIDTHS if hasattr(module, name)]
    tables = [*module.buffers(), *module.parameters()]
    widths += [table.shape[-1] for table in tables if table.ndim > 1]
    if not widths:
        raise ValueError("the width of the layer can't be inferred: pass d_model")
    return int(widths[0])


class Rotation(Encoding):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    other_kind = False

    def raw(self, x: Any, positions: Any) -> Any:
        """Call the function."""
        return user(self.made(x.shape[-1]), x, positions)

    @cached_property
    def templates(self) -> list[Convention]:
        """Rotations of the dimensions that turn, in all layouts, and both ways."""
        width = max(self.widths)
        # Ones turn to cos - sin and cos + sin: a dimension that turns changes.
        out = self.call(np.ones((self.rows, width)), range(self.rows))
        moving = np.flatnonzero(np.ptp(out, axis=0) > NEAR)
        turning = len(moving)
        if self.frequencies is not None:
            turning = 2 * self.frequencies.shape[1]
        share, start, extents = 1.0, 0.0, ["whole"]
        if 0 < turning < width:
            share, start = turning / width, min(moving[0], width - turning) / width
            extents = ["partial"] if start else ["partial", "proportional"]
        ways = product(ROTARY_LAYOUTS, extents, ("up", "backwards"))
        return [
            Convention(layout, direction=way, extent=extent, share=share, start=start)
            for layout, extent, way in ways
        ]
