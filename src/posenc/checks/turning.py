"""Tables, layers and rotations: called alike, each with the book's to compare it with."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice, product
from typing import Any

import numpy as np

from posenc import conventions as conv
from posenc._validate import check_int, check_positions, check_real
from posenc.checks.reports import NO_CAUSE
from posenc.checks.subjects import (
    POSITIONS,
    Library,
    Subject,
    argument,
    floats,
    type_of,
)
from posenc.checks.trials import SEED, Broken, Follows, Raised, Trial, user
from posenc.conventions import KNOWN, UNIT, Convention, Floats
from posenc.museum import FAULTS
from posenc.reference import Reference, reference_for, spread

WIDTH = (
    "d_model",
    "embedding_dim",
    "embed_dim",
    "hidden_size",
    "dim",
    "channels",
    "d_hid",
)
ROWS = 257  # in most laws: positions 0 to 256, which bfloat16 still represents exactly
LENGTHS = (2**15, 2**13, 5000, 4096, 2048, 1024, 512, ROWS, 128, 64, 32, 16, 8, 2)
UNITS = {"float32": UNIT, "float16": 2.0**-11, "bfloat16": 2.0**-8, "TF32": 2.0**-11}
NEAR = 1e-4  # far beyond rounding, far below the effect of a fault
LOUD = 1024.0  # x times this, in front of a norm, makes the norm's ε negligible
AXES = ("sequence", "head", "position", "dimension")
DECLARE = "if they are meant, pass base=, frequencies= or convention="
OTHER = (
    "another kind ({}), not checked as sinusoidal; to do so, pass base= or convention="
)
# What another kind of table isn't asked for.
SINUSOIDAL = (
    *(
        "values",
        "norm",
        "offset",
        "start",
        "steps",
        "batch",
        "token",
        "rows",
        "fractions",
    ),
    *("far", "empty", "odd", "strided", "half", "reduced"),
)


class Turning(Subject):
    """A table, a layer or a rotation, which turns pairs of dimensions from row to row.

    `convention` is what it is compared with: the declared one, or the one that gives nine tenths
    of its entries. If there is none, the law `values` fails, and the others follow.
    """

    free = True  # whether a call takes any positions, or only 0, 1, 2, …
    normed = False
    carried = 1.0  # multiplier of x where rows are added to it, else 0
    raw: Any  # calls the code, or a module in its place, with arrays of its library
    templates: Any  # conventions to try, whose numbers may be others
    waves: Any  # cos + i·sin of each pair, by the dimensions of a convention

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
        self.widths = [
            check_int("widths", each, minimum=2) for each in widths or (16, 24)
        ]
        if any(width % 2 for width in self.widths):
            raise ValueError(f"widths must be even, got {widths!r}")
        self.length = check_int("length", length, minimum=2)
        self.longest = check_int("longest", longest, minimum=16)
        self.called: Any = cache(self.call_whole)

    # Calls

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Draw x, in numbers that float32 has."""
        # Rounded to float32 once, so that both sides get the very same numbers.
        size = (*lead, seq_len, width or self.widths[0])
        return np.random.default_rng(SEED).normal(size=size).astype("f4").astype("f8")

    def places(self, positions: Any) -> Any:
        """Convert positions to the library."""
        # Tables are indexed by whole numbers; an empty list would become floats.
        whole = np.asarray(positions).dtype.kind in "iu" or not np.size(positions)
        return self.library.array(positions, "int64" if whole else "float32")

    def call(
        self, x: Floats, positions: Any, dtype: str = "float32", module: Any = None
    ) -> Floats:
        """Call the code, or a module in its place; return float64 values, of the shape of x."""
        # x: (..., seq_len, width), positions: (seq_len,) or (batch, seq_len)
        made = self.raw(self.library.array(x, dtype), self.places(positions), module)
        if dtype != "float32" and type_of(made) != dtype:
            cause = "the result isn't cast back to the dtype of the input"
            raise Broken(f"{type_of(made)} for {dtype}", cause)
        out = floats(made, finite=bool(np.isfinite(x).all()))
        if out.shape != x.shape:
            raise Broken(f"shape {out.shape} for {x.shape}")
        return out

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

    def at_most(self, seq_len: int) -> int:
        """Return this length, or the longest usual one below it that the code takes."""
        # Layers hold tables of some length, which nobody declares.
        shorter = [length for length in LENGTHS if length < seq_len]
        return next(filter(self.reaches, [seq_len, *shorter]), seq_len)

    @cached_property
    def rows(self) -> int:
        """The number of positions that most laws look at."""
        return self.at_most(ROWS)

    @cached_property
    def limit(self) -> int:
        """The number of positions that the code takes."""
        return self.at_most(self.longest)

    def call_whole(self, width: int) -> tuple[Floats, Floats]:
        """Return drawn x, and the result for all of it."""
        x = self.draw((), self.rows, width)
        return x, self.call(x, range(self.rows))

    # What it is compared with

    @cached_property
    def convention(self) -> Convention | None:  # type: ignore[override]
        """The declared convention, or the first that gives nine tenths of the entries."""
        return self.declared or next(filter(self.follows, self.candidates()), None)

    def follows(self, known: Convention) -> bool:
        """Whether a convention gives nine tenths of the entries, at all widths."""
        for width in self.widths:
            x, out = self.called(width)
            right, where = self.reference(width, known), np.arange(self.rows)
            meant = right(x, where)
            # Least squares: the number that brings the two nearest.
            meant *= (meant * out).sum() / (
                meant**2
            ).sum()  # a factor is for `values` to tell
            near = np.abs(meant - out) <= 4 * right.bound(x, where, self.unit)
            if near.mean() < 0.9:
                return False
        return True

    def candidates(self) -> Iterator[Convention]:
        """Yield known conventions, then those with the measured base, step and direction."""
        # Known numbers first, since any two frequencies fit some base.
        for template in self.templates():
            yield replace(template, base=self.base or 10_000.0)
        for template in self.templates():
            yield from self.with_numbers(template)

    def with_numbers(self, template: Convention) -> Iterator[Convention]:
        """Yield a convention with the base and the step that the slowest and fastest pair tell."""
        width = max(self.widths)
        # radians per row: (pairs,)
        omega = conv.measure(self.waves(template, width))
        # The slowest pair makes less than half a turn per row, so its sign is the direction.
        if omega[-1] < 0:
            way = "backwards" if template.rotary else "down"
            omega, template = -omega, replace(template, direction=way)
        power = template.powers(width)
        for step in (template.step, *conv.shortened(omega[0])):
            # The first frequency is the step, the last one is step · base^-power.
            size = 2 * np.pi / self.rows if isinstance(step, str) else step
            if not 0 < omega[-1] < size:
                continue
            measured = conv.shortened((size / omega[-1]) ** (1 / power[-1]))
            for base in measured if self.base is None else [self.base]:
                # Modulo a turn, since steps may be large.
                off = np.exp(1j * size * base**-power) - np.exp(1j * omega)
                if np.abs(off).max() < 0.01:
                    yield replace(template, step=step, base=base)

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's encoding: of the convention, or with the declared frequencies."""
        known = known or self.convention or next(self.candidates())
        right = replace(reference_for(known, width), carried=self.carried)
        # Coordinates of several axes are equal here, so that their frequencies add up.
        if self.frequencies is None:
            return right
        return replace(right, frequencies=np.atleast_2d(self.frequencies).sum(axis=0))

    @cached_property
    def agrees(self) -> bool:
        """Whether the whole sequence is what the reference gives."""
        return all(trial.worst() <= 1 for trial in self.whole())

    def whole(self) -> Iterator[Trial]:
        """Compare the whole sequence at each width."""
        for width in self.widths:
            x, out = self.called(width)
            yield self.trial(f"width {width}", x, out, np.arange(self.rows), self.unit)

    def compare(
        self,
        x: Floats,
        positions: Any,
        words: str = "",
        dtype: str = "float32",
        **how: Any,
    ) -> Trial:
        """Call the code, and compare it with the book's."""
        # A call can only be compared with what was recognized in the whole sequence.
        if not self.agrees:
            raise Follows("follows from values")
        unit = max(self.unit, how.pop("unit", UNITS[dtype]))
        return self.trial(
            words, x, self.call(x, positions, dtype, **how), positions, unit
        )

    def trial(
        self, words: str, x: Floats, out: Floats, positions: Any, unit: float
    ) -> Trial:
        """Compare a result with the book's."""
        right, where = self.reference(x.shape[-1]), spread(x, np.asarray(positions))
        # (seq_len, width), (batch, seq_len, width) or (batch, heads, seq_len, width)
        names = (AXES[0], *AXES[2:]) if x.ndim == 3 else AXES[4 - x.ndim :]
        return Trial(
            words, out, right(x, where), right.bound(x, where, unit), names, x, where
        )

    # Causes

    def excuse(self, law: str) -> str:
        """Return the reason for which this law isn't asked, or ""."""
        return super().excuse(law) or (self.about if law in SINUSOIDAL else "")

    def explain(self, trials: Sequence[Trial]) -> str:
        """Run the known faults on the same calls.

        A fault must give all of them, and the whole sequence, and a batch; in each number type.
        """
        # Properties have no call that a fault could be run on.
        calls = [trial for trial in trials if trial.x is not None]
        if not calls:
            return ""
        if self.agrees and self.kind != "table":
            calls.append(self.compare(self.draw((2, 3), 5), range(5)))
        options = (
            [self.convention] if self.convention else [*islice(self.candidates(), 20)]
        )
        for known in options:
            faults = self.faults_of([*calls, *islice(self.whole(), 1)], known)
            if faults:
                return "; or ".join(faults)
        return "" if self.agrees else self.other_numbers(calls)

    def faults_of(self, calls: Sequence[Trial], known: Any) -> dict[str, None]:
        """Return what the faults that give what was measured say, if a convention is right."""
        said: dict[str, None] = {}
        # What is rounded to bfloat16 in one call is rounded to float16 in another.
        for group in dict.fromkeys(trial.group for trial in calls if trial.worst() > 1):
            tried = [trial for trial in calls if trial.group == group]
            own = [each for each in FAULTS if self.kind in each.kinds.split()]
            alike = [
                str(fault) for fault in own if self.gives(fault.make, tried, known)
            ]
            if not alike:
                return {}
            said |= dict.fromkeys(alike)
        return said

    def gives(self, make: Any, trials: Sequence[Trial], known: Any) -> bool:
        """Whether a fault gives what was measured, in each of these calls.

        Entries may differ by their bounds, and by a tenth of what is to be explained, at most 1e-4.
        """
        # How far the two are apart, at most: what a fault has to explain.
        parts = max(
            np.abs(trial.given - trial.meant).max(initial=0) for trial in trials
        )
        for trial in trials:
            # Some faults divide by zero, as the code that has them does.
            with np.errstate(all="ignore"):
                right = self.reference(trial.given.shape[-1], known)
                off = np.abs(make(right, trial.x, trial.positions) - trial.given)
            if not (off <= trial.bounds + min(NEAR, parts / 10)).all():
                return False
        return True

    def other_numbers(self, trials: Sequence[Trial]) -> str:
        """Say if all is multiplied by a number, or follows a convention that wasn't declared."""
        # The same subject, as if nothing had been declared.
        other = copy.copy(self)
        other.base = other.declared = other.frequencies = None
        vars(other).pop("convention", None)
        if other.convention not in (None, self.convention):
            return f"these are the numbers of another convention: {other.convention}"
        given = np.concatenate([trial.given.ravel() for trial in trials])
        meant = np.concatenate([trial.meant.ravel() for trial in trials])
        # Least squares again.
        number = float(given @ meant / (meant @ meant))
        if np.abs(given - number * meant).max() < NEAR < abs(number - 1):
            cure = (
                f"pass attention_factor={number:.9g}, or check the result divided by it"
            )
            return f"everything is multiplied by {number:.7g}; if that is meant, {cure}"
        undeclared = self.convention is None and self.frequencies is None
        return f"{NO_CAUSE}; {DECLARE}" if undeclared else ""


class Table(Turning):
    """A function (seq_len, d_model) → table. It takes no x, and counts positions by itself."""

    kind = "table"
    free = False
    library = Library(np)

    def table(self, seq_len: int, width: int, **named: Any) -> Floats:
        """Return the rows in float64, without a batch axis of length 1."""
        made = user(self.subject, seq_len, width, **named)
        if not named:
            self.unit = max(self.unit, UNITS.get(type_of(made), UNIT))
        table = floats(made)
        # (1, seq_len, width) and (seq_len, 1, width) are usual in layers.
        if table.ndim == 3 and 1 in table.shape[:2]:
            table = table.reshape(-1, table.shape[2])
        if table.shape != (seq_len, width):
            raise Broken(f"shape {table.shape} for {(seq_len, width)}")
        return table

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Return some rows."""
        return x + self.table(len(positions), x.shape[-1])

    def draw(self, lead: tuple[int, ...], seq_len: int, width: int = 0) -> Floats:
        """Return zeros, since a table has no x."""
        return np.zeros((*lead, seq_len, width or self.widths[0]))

    def added(self, width: int) -> Floats:
        """Return what is added to zeros."""
        return np.asarray(self.called(width)[1].reshape(-1, self.rows, width)[0])

    @cached_property
    def power(self) -> float:
        """The power of the width nearest to the multiplier of all rows: usually 0, -½ or ½."""
        # Each pair adds 1 to the square of a row; a median, since some rows may be wrong.
        size = (2 * np.median((self.added(self.widths[0]) ** 2).mean(axis=1))) ** 0.5
        return float(
            np.clip(np.round(2 * np.log(size + 1e-9) / np.log(self.widths[0])), -1, 1)
            / 2
        )

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's table, with the usual multiplier."""
        return replace(super().reference(width, known), factor=width**self.power)

    def templates(self) -> list[Convention]:
        """Return the known tables, then other layouts, exponents, and starts."""
        known = [each for each in KNOWN.values() if not each.rotary]
        starts = product(conv.LAYOUTS, conv.RULES, (0, 1, 2))
        return known + [Convention(layout, rule, first=k) for layout, rule, k in starts]

    def waves(self, template: Convention, width: int) -> conv.Waves:
        """Read sines and cosines from the columns."""
        sine, cosine = template.dimensions(width)
        return self.added(width)[:, cosine] + 1j * self.added(width)[:, sine]

    @cached_property
    def about(self) -> str:  # type: ignore[override]
        """Another kind of table, if nobody said that it is sinusoidal.

        A sinusoid's column has most of its energy at one frequency, and so has every known bug's; a
        learned one has it spread, even when resized. Fourier features have frequencies that rise by
        equal steps, or double.
        """
        if "learned" in self.tags:
            return OTHER.format("learned")
        if any(
            each is not None for each in (self.base, self.declared, self.frequencies)
        ):
            return ""
        for layout in conv.LAYOUTS if self.widths[0] > 4 else ():
            waves = self.waves(Convention(layout), self.widths[0])
            omega = np.abs(conv.measure(waves))
            # Equal steps: linear bands. Twice the one before: octaves.
            steps, rest = np.diff(omega), omega[1:] - 2 * omega[:-1]
            regular = (
                min(np.ptp(steps), np.abs(rest).max()) < NEAR < np.abs(steps).min()
            )
            if np.ptp(np.abs(waves)) < NEAR < omega.min() and regular:
                return OTHER.format(
                    "frequencies are linear, or double from pair to pair"
                )
        columns = self.added(self.widths[0])
        # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
        columns = (columns - columns.mean(axis=0)) * np.hanning(self.rows)[:, None]
        energy = np.sort(np.abs(np.fft.rfft(columns, axis=0)) ** 2, axis=0)
        # The five strongest of 129 frequencies.
        share = energy[-5:].sum(axis=0) / np.maximum(energy.sum(axis=0), 1e-300)
        if np.median(share) < 0.5 and self.rows >= 64 and energy.any(axis=0).all():
            return OTHER.format("its columns aren't sinusoids: learned?")
        return ""


class Layer(Table):
    """A torch module, or a factory for a given width, whose table is what it adds to zeros."""

    kind = "module"

    def __init__(
        self, module: Any, d_model: Any = None, batch_first: Any = None, **options: Any
    ) -> None:
        import torch  # not among what a table needs

        super().__init__(module, **options)
        self.library = Library(torch)
        self.fixed = isinstance(module, torch.nn.Module)
        if self.fixed:
            width = width_of(module) if d_model is None else d_model
            self.widths = [check_int("d_model", width, minimum=2)]
            kept = user(copy.deepcopy, module)
        self.made: Any = cache(
            lambda d: (kept if self.fixed else user(module, d)).eval()
        )
        self.module = self.made(self.widths[0])
        usual = getattr(self.module, "batch_first", True)
        self.batch_first = bool(usual if batch_first is None else batch_first)
        self.argument = argument(self.module.forward, POSITIONS)
        self.free = bool(self.argument)

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the layer; input and result are (batch, seq_len, d_model), whatever its order."""
        call = self.made(x.shape[-1]) if module is None else module
        named = {} if positions is None else {self.argument: positions}
        # Gradients are asked for by `requires_grad`, and cost memory otherwise.
        with self.library.namespace.set_grad_enabled(x.requires_grad):
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
        return Turning.draw(self, (lead or (2,))[:1], seq_len, width)

    def call_whole(self, width: int) -> tuple[Floats, Floats]:
        """Call with zeros, to see what is added."""
        x = np.zeros((2, self.rows, width))
        return x, self.call(x, range(self.rows))

    @cached_property
    def carried(self) -> float:  # type: ignore[override]
        """The factor of x: 1 or the root of the width, whichever is nearer."""
        x = self.draw((2,), min(9, self.rows))
        # What is added to x cancels.
        rest = self.call(x, range(x.shape[1])) - self.call(0 * x, range(x.shape[1]))
        factor = float((rest * x).sum() / (x * x).sum())
        root = float(x.shape[2] ** 0.5)
        return root if abs(root - factor) < abs(1 - factor) else 1.0


def width_of(module: Any) -> int:
    """Return the width of a layer, from an attribute or a table of its."""
    tables = [
        each for each in (*module.buffers(), *module.parameters()) if each.ndim > 1
    ]
    sizes = [getattr(module, name, None) for name in WIDTH]
    for size in (*sizes, *(table.shape[-1] for table in tables)):
        if type(size) is int:
            return size
    raise ValueError("the width of the layer can't be inferred: pass d_model")


class Rotation(Turning):
    """A function (x, positions) → x, turned: at each position, a matrix times x."""

    kind = "rotary"
    carried = 1.0

    def __init__(
        self,
        rotate: Any,
        attention_factor: float = 1.0,
        axes: int | Sequence[int] | None = None,
        library: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(rotate, **options)
        self.factor = check_real("attention_factor", attention_factor, positive=True)
        self.owners = np.array(axes if isinstance(axes, Sequence) else [], dtype=int)
        if isinstance(axes, Sequence):
            axes = max(axes) + 1
        self.axes = 0 if axes is None else check_int("axes", axes, minimum=2)
        if np.ndim(self.frequencies) == 2 and len(self.frequencies) != self.axes:
            rows = len(self.frequencies)
            raise ValueError(
                f"frequencies need a row per axis, got {rows}, axes={axes}"
            )
        is_class = isinstance(rotate, type)
        self.made: Any = cache(lambda width: rotate(width) if is_class else rotate)
        self.output: Any = cache(self.find_output)
        self.moving: Any = cache(self.find_moving)

        def turned(tried: Library) -> Any:
            self.library = tried
            x = tried.array(np.ones((2, 3, self.widths[0])))
            x = (
                x.requires_grad_() if tried.name == "torch" else x
            )  # numpy code refuses it
            return self.raw(x, self.places(range(3)))

        # numpy or torch: found by a call, since nothing in a signature tells.
        self.library = Library.of(library, turned)
        taken = [width for width in self.widths if self.takes(width)]
        self.widths = taken or self.widths[:1]
        self.module = self.made(self.widths[0])

    def takes(self, width: int) -> bool:
        """Whether heads of this width can be turned; a module may have one width."""
        try:
            self.raw(self.library.array(np.ones((3, width))), self.places(range(3)))
        except Raised:
            return False
        return True

    def raw(self, x: Any, positions: Any, module: Any = None) -> Any:
        """Call the function."""
        return user(
            user(self.made, x.shape[-1]) if module is None else module, x, positions
        )

    def places(self, positions: Any) -> Any:
        """Give each axis the same coordinate, as text has."""
        where = np.asarray(positions)
        return super().places(
            where[..., None].repeat(self.axes, -1) if self.axes else where
        )

    def at_coordinates(self, x: Floats, coordinates: Any) -> Floats:
        """Call the function with other coordinates along each axis."""
        return floats(
            self.raw(self.library.array(x), self.library.array(coordinates, "int64"))
        )

    def call(
        self, x: Floats, positions: Any, dtype: str = "float32", module: Any = None
    ) -> Floats:
        """Call the function, and undo a norm that follows the rotation."""
        weights = self.output(x.shape[-1])[0] if x.size else None
        if weights is None:
            return super().call(x, positions, dtype, module)
        # A norm divides by the root mean square, and multiplies by its weights.
        size = np.sqrt((x**2).mean(axis=-1, keepdims=True))
        loud = x * (LOUD if dtype == "float32" else 1.0)
        return np.asarray(super().call(loud, positions, dtype, module) * size / weights)

    def find_output(self, width: int) -> tuple[Any, Any]:
        """Look at position 0, where nothing turns: return a norm's weights, and an order.

        After a norm, twice the input gives the same, and ones give the weights.
        """
        x = 1.0 + np.arange(width)[None]
        one, two, weights = (
            super(Rotation, self).call(y * LOUD, [0])[0] for y in (x, 2 * x, 0 * x + 1)
        )
        self.normed = bool(
            one.any() and np.abs(one - two).max() <= NEAR * np.abs(one).max()
        )
        out = (
            one / weights * np.sqrt((x**2).mean())
            if self.normed
            else one / LOUD / self.factor
        )
        # x is 1, 2, 3, … so that the result says where each dimension went.
        order = np.round(out - 1).astype(int)
        permuted = (
            sorted(order) == [*range(width)] and np.abs(out - 1 - order).max() < NEAR
        )
        return weights if self.normed else None, order if permuted else np.arange(width)

    def find_moving(self, width: int) -> Any:
        """Return the dimensions that change from row to row."""
        # Ones turn to cos - sin and cos + sin: a dimension that turns changes.
        out = self.in_order(self.call(np.ones((self.rows, width)), range(self.rows)))
        return np.flatnonzero(np.ptp(out, axis=0) > NEAR)

    def in_order(self, out: Floats) -> Floats:
        """Undo a permutation of the output."""
        return out[:, np.argsort(self.output(out.shape[1])[1])]

    def templates(self) -> list[Convention]:
        """Return whole, partial and proportional rotations of the share that turns."""
        width = max(self.widths)
        # In halves, partial and proportional rotations pair other dimensions.
        share, extents = len(self.moving(width)) / width, ["partial", "proportional"]
        if self.frequencies is not None:
            share, extents = 2 * self.frequencies.shape[-1] / width, ["partial"]
        extents = ["whole"] if share in (0, 1) else extents
        pairs = product(("halves", "neighbors"), extents)
        return [
            Convention(layout, extent=extent, share=share or 1)
            for layout, extent in pairs
        ]

    def reference(self, width: int, known: Convention | None = None) -> Reference:
        """Return the book's rotation, permuted as the output is, if nothing is declared."""
        right = replace(super().reference(width, known), factor=self.factor)
        if self.declared is not None:
            return right
        one, two = right.pairs
        # 0 if nothing turns
        first = self.moving(width)[:1].sum()
        if (
            two[-1] + first < width
        ):  # a part of a head may turn, from another dimension on
            right = replace(right, pairs=(one + first, two + first))
        return replace(right, order=self.output(width)[1])

    def other_numbers(self, trials: Sequence[Trial]) -> str:
        """Say if the output is permuted, though a convention was declared."""
        order = self.output(self.widths[0])[1].tolist()
        if self.declared is not None and order != sorted(order):
            return f"the output is permuted: it has dimensions {order}, in this order"
        return super().other_numbers(trials)

    def waves(self, template: Convention, width: int) -> conv.Waves:
        """Turn ones in the first dimension of each pair, and zeros in the second."""
        one, two = self.reference(width, template).pairs
        x = np.zeros((self.rows, width))
        # (1, 0) turns to (cos, sin).
        x[:, one] = 1
        out = self.in_order(self.call(x, range(self.rows)))
        return out[:, one] + 1j * out[:, two]
