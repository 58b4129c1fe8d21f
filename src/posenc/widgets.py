"""Figures that a reader moves, as Jupyter widgets.

Each figure is drawn by ``figures.js``, in Jupyter as on the book's website. Python adds a state
that is read and set by name, with the limits of the sliders, and a picture of it for where no
script runs. With ``POSENC_STATIC`` set in the environment the picture is all that is shown, and
that is what a stored notebook should hold: a widget is gone with its kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import anywidget
import matplotlib as mpl
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

from posenc import plots
from posenc._validate import check_base, check_d_model, check_int
from posenc.encoding import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    sinusoidal_encoding,
    wavelengths,
)

Floats = NDArray[np.float64]

VARIANTS = {
    "halves": "sines first, then cosines",
    "cosine first": "cosine before sine",
    "from 1": "positions counted from 1",
    "minus 1": "exponent i/(d/2 − 1)",
    "ones": "exponent 0",
    "dimension for pair": "exponent 2j/d, with the dimension j",
    "own exponent": "exponent j/d, with the dimension j",
}
"""The tables that `Switch` puts beside the paper's, by name."""


class Whole(traitlets.TraitType[int, int]):
    """A whole number within limits; `top` is the upper one where it depends on other traits."""

    def __init__(
        self, default: int, minimum: int, maximum: int, top: Callable[[Any], int] | None = None
    ) -> None:
        super().__init__(default)
        self.minimum, self.maximum, self.top = minimum, maximum, top
        self.tag(sync=True, argument=True)

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an int within the limits."""
        number = check_int(str(self.name), value, minimum=self.minimum)
        return int(_at_most(str(self.name), number, self.maximum))


class Width(Whole):
    """An even width."""

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an even int within the limits."""
        return check_d_model(super().validate(obj, value))


class Base(traitlets.TraitType[float, float]):
    """A base within limits."""

    minimum, maximum = 1.0, 1_000_000.0

    def __init__(self) -> None:
        super().__init__(10_000.0)
        self.tag(sync=True, argument=True)

    def validate(self, obj: Any, value: Any) -> float:
        """Return `value` as a float within the limits."""
        if check_base(value) < self.minimum:
            raise ValueError(f"base must be at least {self.minimum:.0f}, got {value!r}")
        return float(_at_most("base", value, self.maximum))


class Variant(traitlets.TraitType[str, str]):
    """One of the names in `VARIANTS`."""

    def __init__(self) -> None:
        super().__init__("halves")
        self.tag(sync=True, argument=True)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value` if it is one of the names."""
        if value not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {value!r}")
        return str(value)


class _Figure(anywidget.AnyWidget):
    """What the figures have in common."""

    _esm = Path(__file__).with_name("figures.js")
    _kind = traitlets.Unicode().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        unknown = state.keys() - self._arguments().keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no argument {', '.join(sorted(unknown))}")
        super().__init__(_kind=type(self).__name__.lower(), **state)

    def open(self) -> None:
        """Tell the browser of the widget; called by ipywidgets."""
        if not _static():
            super().open()

    @classmethod
    def _arguments(cls) -> dict[str, Any]:
        """Return the traits that are arguments, in their order."""
        traits = cls.class_traits(argument=True)
        written = [name for owner in cls.__mro__ for name in vars(owner)]
        return dict(sorted(traits.items(), key=lambda item: written.index(item[0])))

    @traitlets.validate("position", "dimension", "pair", "offset")
    def _stay_within(self, proposal: Any) -> Any:
        name, top = proposal.trait.name, proposal.trait.top
        return _at_most(name, proposal.value, top(self)) if top else proposal.value

    @traitlets.observe("d_model", "seq_len")
    def _shrink(self, change: Any) -> None:
        for name, trait in self._arguments().items():
            if getattr(trait, "top", None):
                setattr(self, name, min(getattr(self, name), trait.top(self)))

    def state(self) -> dict[str, Any]:
        """Return what the figure shows, as the arguments that would make it again."""
        return {name: getattr(self, name) for name in self._arguments()}

    def picture(self) -> str:
        """Return a picture of the state, as SVG in the book's style."""
        with mpl.rc_context():
            plots.use_style()
            figure, svg = Figure(), StringIO()
            self._draw(figure)
            figure.savefig(svg, format="svg", metadata={"Date": None})
        return svg.getvalue()

    def _draw(self, figure: Figure) -> None:
        """Draw the state on an empty figure."""

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({arguments})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {"text/plain": repr(self), "image/svg+xml": self.picture()}
        if _static():
            return data, {}
        live, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return live | data, metadata


class Heatmap(_Figure):
    """The table of an encoding, with one cell of it explained.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 256.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of positions, from 2 to 128.
    position, dimension : int
        The cell that is explained; within the table.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> heatmap = Heatmap(d_model=8)
    >>> heatmap.base = 100
    >>> heatmap
    Heatmap(d_model=8, base=100.0, seq_len=64, position=5, dimension=7)
    """

    d_model = Width(64, 2, 256)
    base = Base()
    seq_len = Whole(64, 2, 128)
    position = Whole(5, 0, 127, lambda f: f.seq_len - 1)
    dimension = Whole(8, 0, 255, lambda f: f.d_model - 1)

    def _draw(self, figure: Figure) -> None:
        ax = figure.subplots()
        plots.heatmap(_table(self.seq_len, self.d_model, self.base), ax)
        corner = (self.dimension - 0.5, self.position - 0.5)
        for color, linewidth in (("black", 4), ("white", 1.5)):
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=color, linewidth=linewidth))


class Curves(_Figure):
    """Sine and cosine of three pairs over positions.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 256.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of positions, from 2 to 128.
    pair : int
        The first pair that is shown, below ``d_model / 2``.
    stride : int
        Pairs from one shown to the next, from 1 to 32; fewer than three where they end.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Curves(d_model=8, pair=3)
    Curves(d_model=8, base=10000.0, seq_len=64, pair=3, stride=4)
    """

    d_model = Width(64, 2, 256)
    base = Base()
    seq_len = Whole(64, 2, 128)
    pair = Whole(0, 0, 127, lambda f: f.d_model // 2 - 1)
    stride = Whole(4, 1, 32)

    def _draw(self, figure: Figure) -> None:
        ax = figure.subplots()
        points = np.arange(0, self.seq_len - 0.75, 0.25)
        table = sinusoidal_encoding(points, self.d_model, base=self.base)
        turns = wavelengths(self.d_model, self.base)
        shown = range(self.pair, len(turns), self.stride)[:3]
        for pair, color in zip(shown, plots.COLORS, strict=False):
            label = f"pair {pair}: wavelength {turns[pair]:.2f} positions"
            ax.plot(points, table[:, 2 * pair], color=color, label=label)
            ax.plot(points, table[:, 2 * pair + 1], "--", color=color)
        ax.set(xlabel="position", ylabel="value")
        figure.legend(loc="outside upper left")


class Clock(_Figure):
    """One position: a clock hand for each pair, and its binary digits.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 32.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    position : int
        The position that is shown, from 0 to 255.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Clock(position=6)
    Clock(d_model=32, base=10000.0, position=6)
    """

    d_model = Width(32, 2, 32)
    base = Base()
    position = Whole(5, 0, 255)

    def _draw(self, figure: Figure) -> None:
        ax = _plane(figure.subplots())
        pairs = sinusoidal_encoding([self.position], self.d_model, base=self.base).reshape(-1, 2)
        for pair, tip in enumerate(pairs):
            row, column = divmod(pair, 8)
            _circle(ax, (3 * column, -3.4 * row), [(*tip, plots.COLORS[0])], f"{pair}")
        bottom = -3.4 * (row + 1) + 0.4
        for bit, digit in enumerate(binary_encoding([self.position], 8)[0]):
            ax.text(3 * bit, bottom, f"{digit}", ha="center", va="center", size="large")
            ax.text(3 * bit, bottom - 1.2, f"{2**bit}", ha="center", va="center", alpha=0.7)
        ax.set(xlim=(-1.5, 22.5), ylim=(bottom - 2, 1.2))


class Rotation(_Figure):
    """One pair before and after a shift, from position 0 and from another.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 256.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    pair : int
        The pair that turns, below ``d_model / 2``.
    position : int
        Where the shift starts, from 0 to 255.
    offset : int
        Positions that it moves by, from -64 to 64.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Rotation(offset=-2)
    Rotation(d_model=16, base=10000.0, pair=1, position=5, offset=-2)
    """

    d_model = Width(16, 2, 256)
    base = Base()
    pair = Whole(1, 0, 127, lambda f: f.d_model // 2 - 1)
    position = Whole(5, 0, 255)
    offset = Whole(3, -64, 64)

    def _draw(self, figure: Figure) -> None:
        ax = _plane(figure.subplots())
        omega = angular_frequencies(self.d_model, self.base)[self.pair]
        for center, start in ((-1.6, 0), (1.6, self.position)):
            ends = [(start, plots.COLORS[1]), (start + self.offset, plots.COLORS[0])]
            hands = [(np.cos(k * omega), np.sin(k * omega), color) for k, color in ends]
            _circle(ax, (center, 0), hands, f"{start} to {start + self.offset}")
            share = np.linspace(0, 1, 201)
            angle, radius = (start + share * self.offset) * omega, 0.35 + 0.4 * share
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            ax.plot(center + x, y, color=plots.INK, linewidth=1)


class Kernel(_Figure):
    """The product of two encodings by their offset, and the offsets that look nearer than 1.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 128.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of offsets, from 8 to 256.
    offset : int
        The offset whose product is read off, below `seq_len`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Kernel(d_model=32)
    Kernel(d_model=32, base=10000.0, seq_len=128, offset=63)
    """

    d_model = Width(8, 2, 128)
    base = Base()
    seq_len = Whole(128, 8, 256)
    offset = Whole(63, 0, 255, lambda f: f.seq_len - 1)

    def _draw(self, figure: Figure) -> None:
        ax = figure.subplots()
        products = offset_kernel(np.arange(self.seq_len), self.d_model, base=self.base)
        nearer = np.flatnonzero(products > products[1])[1:]  # the first is offset 0
        ax.axhline(products[1], color=plots.INK, linestyle="--", linewidth=1)
        ax.plot(products)
        ax.plot(nearer, products[nearer], "o", color=plots.COLORS[1])
        ax.plot(self.offset, products[self.offset], "o", mfc="none", mec=plots.INK, ms=11)
        ax.set(xlabel="offset", ylabel="product", ylim=(-self.d_model / 2, self.d_model / 1.8))


class Switch(_Figure):
    """The paper's table, another by convention or by mistake, and their difference.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 4 to 64.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of positions, from 2 to 128.
    variant : str
        A name in `VARIANTS`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Switch(variant="minus 1")
    Switch(d_model=16, base=10000.0, seq_len=64, variant='minus 1')
    """

    d_model = Width(16, 4, 64)
    base = Base()
    seq_len = Whole(64, 2, 128)
    variant = Variant()

    def _draw(self, figure: Figure) -> None:
        right = _table(self.seq_len, self.d_model, self.base)
        other = _table(self.seq_len, self.d_model, self.base, self.variant)
        panels = {"the paper's": right, "the variant": other, "difference": other - right}
        for ax, (title, table) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            limit = 2 if title == "difference" else 1
            ylabel = "position" if ax.get_subplotspec().is_first_col() else ""
            plots.heatmap(table, ax, limit=limit, title=title, ylabel=ylabel, colorbar=False)


def _static() -> bool:
    return bool(os.environ.get("POSENC_STATIC"))


def _at_most(name: str, value: Any, maximum: float) -> Any:
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum:.0f}, got {value!r}")
    return value


def _table(seq_len: int, d_model: int, base: float, variant: str = "paper") -> Floats:
    """Return the paper's table, or one of `VARIANTS`."""
    j, half = np.arange(d_model), d_model // 2
    exponent, cosine = 2 * (j // 2) / d_model, j % 2 == 1
    start = int(variant == "from 1")
    if variant == "halves":
        exponent, cosine = (j % half) / half, j >= half
    elif variant == "cosine first":
        cosine = ~cosine
    elif variant == "minus 1":
        exponent = (j // 2) / (half - 1)
    elif variant == "ones":
        exponent = np.zeros(d_model)
    elif variant == "dimension for pair":
        exponent = 2 * j / d_model
    elif variant == "own exponent":
        exponent = j / d_model
    angles = np.arange(start, start + seq_len)[:, None] * base**-exponent
    return np.where(cosine, np.cos(angles), np.sin(angles))


def _plane(ax: Axes) -> Axes:
    """Turn axes into a plain plane."""
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _circle(
    ax: Axes, center: tuple[float, float], hands: list[tuple[float, float, str]], label: str
) -> None:
    """Draw a circle with hands, each given as right, up and color."""
    x, y = center
    ax.add_patch(Circle(center, 1, fill=False, edgecolor=plots.INK, alpha=0.5))
    for right, up, color in hands:
        ax.plot([x, x + right], [y, y + up], color=color, linewidth=2.5)
    ax.text(x, y - 1.2, label, ha="center", va="top")
