"""Tables, and layers that add one: what is specific to calling and reading them."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from posenc import conventions as conv
from posenc._validate import check_int
from posenc.checks.explanation import NEAR
from posenc.checks.subjects import POSITIONS, Library, argument, floats, type_of
from posenc.checks.trials import Broken, user
from posenc.checks.turning import UNITS, Turning
from posenc.conventions import KNOWN, UNIT, Convention, Floats
from posenc.reference import Reference

WIDTH = (
    "d_model",
    "embedding_dim",
    "embed_dim",
    "hidden_size",
    "dim",
    "channels",
    "d_hid",
)
OTHER = (
    "another kind ({}), not checked as sinusoidal; to do so, pass base= or convention="
)


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
        width = self.widths[0]
        squares = self.added(width) ** 2
        size = (2 * np.median(squares.mean(axis=1))) ** 0.5
        # In halves, since roots of the width are usual.
        power = np.round(2 * np.log(size + 1e-9) / np.log(width)) / 2
        return float(np.clip(power, -0.5, 0.5))

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
        declared = (self.base, self.declared, self.frequencies)
        if any(option is not None for option in declared):
            return ""
        if self.has_regular_frequencies():
            return OTHER.format("frequencies are linear, or double from pair to pair")
        if self.has_spread_columns():
            return OTHER.format("its columns aren't sinusoids: learned?")
        return ""

    def has_regular_frequencies(self) -> bool:
        """Whether frequencies rise by equal steps, or double, as Fourier features' do."""
        width = self.widths[0]
        if width <= 4:  # any two frequencies are regular
            return False
        for layout in conv.LAYOUTS:
            waves = self.waves(Convention(layout), width)
            omega = np.abs(conv.measure(waves))
            # Equal steps: linear bands. Twice the one before: octaves.
            steps = np.diff(omega)
            rest = omega[1:] - 2 * omega[:-1]
            irregular = min(np.ptp(steps), np.abs(rest).max())
            regular = irregular < NEAR < np.abs(steps).min()
            if regular and np.ptp(np.abs(waves)) < NEAR < omega.min():
                return True
        return False

    def has_spread_columns(self) -> bool:
        """Whether most columns have their energy at many frequencies, as learned ones do."""
        if self.rows < 64:  # too few to tell
            return False
        columns = self.added(self.widths[0])
        columns = columns - columns.mean(axis=0)
        # A Hann window keeps a sinusoid that is cut off from leaking over the spectrum.
        columns = columns * np.hanning(self.rows)[:, None]
        # (frequencies, width), the strongest last
        energy = np.sort(np.abs(np.fft.rfft(columns, axis=0)) ** 2, axis=0)
        # The five strongest of 129 frequencies.
        strongest = energy[-5:].sum(axis=0)
        share = strongest / np.maximum(energy.sum(axis=0), 1e-300)
        return bool(np.median(share) < 0.5 and energy.any(axis=0).all())


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
