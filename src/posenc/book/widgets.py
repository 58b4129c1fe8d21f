"""Live figures, as Jupyter widgets.

The same script draws them in Jupyter and on the book's website. Python defines the controls and
their limits, gets and sets each argument by name, returns all of them (``state()``), and draws a
fallback picture for readers without JavaScript (``picture()``). With ``POSENC_STATIC`` set in the
environment, only the picture is shown; use that for stored notebooks, since a widget doesn't
outlive its kernel.
"""

from __future__ import annotations

import itertools
import json
import os
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

from posenc._validate import check_base, check_d_model, check_int
from posenc.book import plots
from posenc.encoding import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    sinusoidal_encoding,
    wavelengths,
)
from posenc.rotary import rotary_frequencies

MIME = "application/vnd.posenc.figure+json"
"""Type of a figure's kind and state, stored beside its picture in a notebook."""

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
"""The tables that `Switch` compares with the paper's, by name."""

RULES = {
    "none": "As trained",
    "interpolation": "Interpolation: every frequency divided by s",
    "raised base": "NTK-aware: the base times s^(d/(d − 2))",
    "llama3": "llama3: by parts, over the turns of a pair",
    "YaRN": "YaRN: by parts, over the number of a pair",
}
"""The rules of `Stretch`, by name."""

METHODS = {
    "none": "No encoding",
    "added": "An encoding added to both",
    "rotary": "Both turned by their positions",
    "ALiBi": "A quarter less per position of distance",
}
"""The encodings of `Score`, by name."""

ORDERS = tuple(map(" ".join, itertools.permutations(["dog", "bites", "man"])))
"""The sentences of `Words`."""

_EMBEDDED = {"dog": (2, 0, 0, 1), "bites": (0, 1, 1, 0), "man": (1, 1, 0, 0)}


class _Field(traitlets.TraitType[Any, Any]):
    """An argument of a figure, with the label of its control."""

    def __init__(self, label: str, default: Any) -> None:
        super().__init__(default)
        self.label = label
        self.tag(sync=True, argument=True)

    def control(self, figure: type[_Figure]) -> dict[str, Any]:
        """Return what `script` needs to know about it."""
        return {"label": self.label, "initial": self.default_value}


class Whole(_Field):
    """An integer within limits, or at least 0 and below another argument or a part of it."""

    step = 1

    def __init__(
        self,
        label: str,
        default: int,
        minimum: int = 0,
        maximum: int | None = None,
        *,
        below: str = "",
        parts: int = 1,
    ) -> None:
        super().__init__(label, default)
        self.minimum, self.maximum, self.below, self.parts = minimum, maximum, below, parts

    def top(self, figure: Any) -> int:
        """Return the upper limit for a figure's state, or the highest one for a class."""
        if self.maximum is not None:
            return self.maximum
        other = getattr(figure, self.below)
        return int(getattr(other, "maximum", other)) // self.parts - 1

    def control(self, figure: type[_Figure]) -> dict[str, Any]:
        """Return label, default, limits and step."""
        limits = {"min": self.minimum, "max": self.top(figure), "step": self.step}
        below = {"below": self.below, "parts": self.parts} if self.below else {}
        return super().control(figure) | limits | below

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an int; raise if it is below the lower limit."""
        return check_int(str(self.name), value, minimum=self.minimum)

    def _cross_validate(self, obj: Any, value: Any) -> Any:
        """Check the upper limit, once all arguments are set."""
        return _at_most(str(self.name), value, self.top(obj))


class Width(Whole):
    """An even width."""

    step = 2

    def __init__(self, default: int, minimum: int, maximum: int) -> None:
        super().__init__("width d", default, minimum, maximum)

    def validate(self, obj: Any, value: Any) -> int:
        """Return `value` as an even int; raise if it is below the lower limit."""
        return check_d_model(super().validate(obj, value))


class Base(_Field):
    """A base within limits; its control is logarithmic."""

    maximum = 1_000_000

    def __init__(self, minimum: int = 1) -> None:
        super().__init__("base n", 10_000.0)
        self.minimum = minimum

    def control(self, figure: type[_Figure]) -> dict[str, Any]:
        """Return label, default, limits, and the step of the logarithm."""
        limits = {"min": self.minimum, "max": self.maximum, "step": 0.25, "log": True}
        return super().control(figure) | limits

    def validate(self, obj: Any, value: Any) -> float:
        """Return `value` as a float within the limits."""
        if check_base(value) < self.minimum:
            raise ValueError(f"base must be at least {self.minimum}, got {value!r}")
        return float(_at_most("base", value, self.maximum))


class Choice(_Field):
    """One of several names, each with a one-line description."""

    def __init__(self, label: str, default: str, options: dict[str, str]) -> None:
        super().__init__(label, default)
        self.options = options

    def control(self, figure: type[_Figure]) -> dict[str, Any]:
        """Return label, default, and the choices."""
        return super().control(figure) | {"options": self.options}

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value` if it is one of the names."""
        if value not in self.options:
            names = ", ".join(self.options)
            raise ValueError(f"{self.name} must be one of {names}, got {value!r}")
        return str(value)


class _Figure(anywidget.AnyWidget):
    """Base class of the figures."""

    _kind = traitlets.Unicode().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        unknown = state.keys() - self._arguments().keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no argument {', '.join(sorted(unknown))}")
        super().__init__(_kind=type(self).__name__.lower(), **state)

    def open(self) -> None:
        """Announce the widget to the browser, unless static; called by ipywidgets."""
        if not _static():
            super().open()

    @classmethod
    def _arguments(cls) -> dict[str, Any]:
        """Return the traits that are arguments, in definition order."""
        traits = cls.class_traits(argument=True)
        written = [name for owner in cls.__mro__ for name in vars(owner)]
        return dict(sorted(traits.items(), key=lambda item: written.index(item[0])))

    @traitlets.observe(traitlets.All)
    def _shrink(self, change: Any) -> None:
        for name, trait in self._arguments().items():
            if getattr(trait, "below", None) == change.name:
                setattr(self, name, min(getattr(self, name), trait.top(self)))

    def state(self) -> dict[str, Any]:
        """Return the figure's state, as the arguments that recreate it."""
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
        """Draw the state onto an empty figure."""

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({arguments})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        figure = {"kind": type(self).__name__, "state": self.state()}
        data = {"text/plain": repr(self), "image/svg+xml": self.picture(), MIME: figure}
        if _static():
            return data, {}
        live, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return live | data, metadata


class Heatmap(_Figure):
    """The table of an encoding, with one cell explained.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 256.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of positions, from 2 to 128.
    position, dimension : int
        The explained cell; within the table.

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
    seq_len = Whole("length L", 64, 2, 128)
    position = Whole("position k", 5, below="seq_len")
    dimension = Whole("dimension j", 8, below="d_model")

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
        The first pair shown, below ``d_model / 2``.
    stride : int
        Distance between the three pairs shown, from 1 to 32; fewer if the pairs run out.

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
    seq_len = Whole("length L", 64, 2, 128)
    pair = Whole("first pair i", 0, below="d_model", parts=2)
    stride = Whole("pairs apart", 4, 1, 32)

    def _draw(self, figure: Figure) -> None:
        ax = figure.subplots()
        points = np.arange(0, self.seq_len - 0.75, 0.25)
        table = sinusoidal_encoding(points, self.d_model, base=self.base)
        turns = wavelengths(self.d_model, base=self.base)
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
        The position shown, from 0 to 255.

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
    position = Whole("position k", 5, 0, 255)

    def _draw(self, figure: Figure) -> None:
        ax = _plane(figure.subplots())
        pairs = sinusoidal_encoding([self.position], self.d_model, base=self.base).reshape(-1, 2)
        for pair, (sine, cosine) in enumerate(pairs):
            row, column = divmod(pair, 8)
            _circle(ax, (3 * column, -3.4 * row), [(cosine, sine, plots.COLORS[0])], f"{pair}")
        bottom = -3.4 * (row + 1) + 0.4
        for bit, digit in enumerate(binary_encoding([self.position], 8)[0]):
            ax.text(3 * bit, bottom, f"{digit}", ha="center", va="center", size="large")
            ax.text(3 * bit, bottom - 1.2, f"{2**bit}", ha="center", va="center", alpha=0.7)
        ax.set(xlim=(-1.5, 22.5), ylim=(bottom - 2, 1.2))


class Clocks(_Figure):
    """The clocks of an encoding, running, with sine and cosine of each.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 16.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    position : int
        Where the clocks start, from 0 to 255.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Clocks(position=6)
    Clocks(d_model=16, base=10000.0, position=6)
    """

    d_model = Width(16, 2, 16)
    base = Base()
    position = Whole("position k", 5, 0, 255)

    def _draw(self, figure: Figure) -> None:
        figure.set_size_inches(7, 1.6)
        ax = _plane(figure.subplots())
        colors = mpl.colormaps[plots.DIVERGING]
        pairs = sinusoidal_encoding([self.position], self.d_model, base=self.base).reshape(-1, 2)
        for pair, (sine, cosine) in enumerate(pairs):
            _circle(ax, (2.6 * pair, 0), [(cosine, sine, plots.COLORS[0])], "")
            ax.text(2.6 * pair, 1.5, f"clock {pair}", ha="center", va="center")
            for left, value in ((-1, sine), (0, cosine)):
                cell = Rectangle((2.6 * pair + left, -1.7), 1, 0.35, color=colors((value + 1) / 2))
                ax.add_patch(cell)
                number = f"{value:.2f}".replace("-", "−")
                x = 2.6 * pair + left + 0.5
                ax.text(x, -2.1, number, ha="center", va="center", size="small")
        ax.set(xlim=(-1.4, 19.6), ylim=(-2.5, 1.9))


class Rotation(_Figure):
    """One pair before and after a shift, from position 0 and from another position.

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
        Size of the shift in positions, from -64 to 64.

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
    pair = Whole("pair i", 1, below="d_model", parts=2)
    position = Whole("position k", 5, 0, 255)
    offset = Whole("offset φ", 3, -64, 64)

    def _draw(self, figure: Figure) -> None:
        ax = _plane(figure.subplots())
        omega = angular_frequencies(self.d_model, base=self.base)[self.pair]
        for center, start in ((-1.6, 0), (1.6, self.position)):
            ends = [(start, plots.COLORS[1]), (start + self.offset, plots.COLORS[0])]
            hands = [(np.cos(k * omega), np.sin(k * omega), color) for k, color in ends]
            _circle(ax, (center, 0), hands, f"{start} to {start + self.offset}")
            share = np.linspace(0, 1, 201)
            angle, radius = (start + share * self.offset) * omega, 0.35 + 0.4 * share
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            ax.plot(center + x, y, color=plots.INK, linewidth=1)


class Kernel(_Figure):
    """The dot product of two encodings by offset, and the offsets that look nearer than 1.

    Parameters
    ----------
    d_model : int
        Width of the encoding; even, from 2 to 128.
    base : float
        The constant that spreads the frequencies; from 1 to 1 000 000.
    seq_len : int
        Number of offsets, from 8 to 256.
    offset : int
        The offset whose product is shown, below `seq_len`.

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
    seq_len = Whole("length L", 128, 8, 256)
    offset = Whole("offset φ", 63, below="seq_len")

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
    """The paper's table, a variant by convention or by mistake, and their difference.

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
    seq_len = Whole("length L", 64, 2, 128)
    variant = Choice("variant", "halves", VARIANTS)

    def _draw(self, figure: Figure) -> None:
        right = _table(self.seq_len, self.d_model, self.base)
        other = _table(self.seq_len, self.d_model, self.base, self.variant)
        panels = {"the paper's": right, "the variant": other, "difference": other - right}
        for ax, (title, table) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            limit = 2 if title == "difference" else 1
            ylabel = "position" if ax.get_subplotspec().is_first_col() else ""
            plots.heatmap(table, ax, limit=limit, title=title, ylabel=ylabel, colorbar=False)


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for a longer text.

    Parameters
    ----------
    d_model : int
        Width of a head; even, from 4 to 256.
    base : float
        The constant that spreads the frequencies; from 10 to 1 000 000.
    trained : int
        Length of the texts in training, from 64 to 16 384.
    factor : int
        How many times as long the text is, from 1 to 32.
    rule : str
        A name in `RULES`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Stretch(rule="llama3")
    Stretch(d_model=128, base=10000.0, trained=4096, factor=4, rule='llama3')
    """

    d_model = Width(128, 4, 256)
    base = Base(10)
    trained = Whole("trained length", 4096, 64, 16_384)
    factor = Whole("factor s", 4, 1, 32)
    rule = Choice("rule", "none", RULES)

    def _draw(self, figure: Figure) -> None:
        ax = figure.subplots()
        lengths = [2 * np.pi / angular_frequencies(self.d_model, base=self.base)]
        lengths.append(2 * np.pi / _stretched(**self.state()))
        for waves, style in zip(lengths, ("--", "-"), strict=True):
            ax.plot(waves, style, color=plots.COLORS[0])
        ax.axhline(self.trained, color=plots.INK, linewidth=1)
        ax.axhline(self.factor * self.trained, color=plots.COLORS[1], linewidth=1)
        ax.set(yscale="log", xlabel="pair", ylabel="wavelength in positions")


class Score(_Figure):
    """The score of a query and a key of width 2, by their positions.

    Parameters
    ----------
    query, key : int
        Positions, from 0 to 15.
    method : str
        A name in `METHODS`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Score(key=3)
    Score(query=5, key=3, method='rotary')
    """

    query = Whole("query k", 5, 0, 15)
    key = Whole("key m", 2, 0, 15)
    method = Choice("encoding", "rotary", METHODS)

    def values(self) -> dict[str, Any]:
        """Return the scores at all positions and at the state's, and both hands."""
        positions = np.arange(17)[:, None]
        angles = np.array([0.6, 2.6]) + (self.method == "rotary") * positions
        added = np.exp(1j * positions) * (self.method == "added")
        queries, keys = (np.exp(1j * angles) + added).T
        scores = (queries[:, None] * keys.conj()).real
        scores -= (self.method == "ALiBi") * abs(positions - positions.T) / 4
        return {
            "scores": scores[:16, :16],
            "limit": 4 if self.method in ("added", "ALiBi") else 1,
            "score": scores[self.query, self.key],
            "together": scores[self.query + 1, self.key + 1],
            "alone": scores[self.query, self.key + 1],
            "hands": [[z.imag, z.real] for z in (queries[self.query], keys[self.key])],
        }

    def _draw(self, figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        values = self.values()
        hands = zip(values["hands"], plots.COLORS, strict=False)
        tips = [(across, up, color) for (up, across), color in hands]
        _circle(_plane(left), (0, 0), tips, f"query at {self.query}, key at {self.key}")
        limit = values["limit"]
        plots.heatmap(values["scores"], right, limit=limit)
        right.set(xlabel="key position", ylabel="query position")
        right.plot(self.key, self.query, "o", mfc="none", mec="black", ms=9)


class Words(_Figure):
    """Attention over three words in any order, with encodings added or not.

    Parameters
    ----------
    order : str
        One of `ORDERS`.
    positions : str
        ``"on"`` or ``"off"``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or lies outside its limits, here or when it is set.

    Examples
    --------
    >>> Words(order="man bites dog")
    Words(order='man bites dog', positions='off')
    """

    order = Choice("order", ORDERS[0], dict.fromkeys(ORDERS, ""))
    positions = Choice("positions", "off", {"off": "", "on": ""})

    def values(self) -> dict[str, Any]:
        """Return weights, outputs, and how much each word's output changes by the order."""
        words, first = self.order.split(), ORDERS[0].split()
        weights, outputs = self._attend(words)
        before = self._attend(first)[1]
        same_words = outputs[[words.index(word) for word in first]]
        return {
            "weights": weights,
            "outputs": outputs,
            "changes": abs(same_words - before).max(axis=1),
        }

    def _attend(self, words: list[str]) -> tuple[Floats, Floats]:
        x = np.array([_EMBEDDED[word] for word in words], dtype=float)
        if self.positions == "on":
            x += sinusoidal_encoding(3, 4, dtype=np.float64)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x

    def _draw(self, figure: Figure) -> None:
        words, values = self.order.split(), self.values()
        for ax, (name, scale) in zip(
            figure.subplots(1, 2), {"weights": 1.7, "outputs": 5}.items(), strict=True
        ):
            plots.heatmap(
                values[name], ax, limit=scale, title=name, xlabel="", ylabel="", colorbar=False
            )
            ax.set_yticks(range(3), words)
            ax.set_xticks(*((range(3), words) if name == "weights" else ([],)))
            for (row, column), value in np.ndenumerate(values[name]):
                number = f"{value:.2f}".replace("-", "−")
                ax.text(column, row, number, ha="center", va="center", color="black")


FIGURES = {kind.__name__: kind for kind in _Figure.__subclasses__()}
"""The figures by name; each has a script of that name in ``figures``."""

__all__ = ["METHODS", "ORDERS", "RULES", "VARIANTS", *FIGURES]


def script(*names: str) -> str:
    """Return the JavaScript module that draws the named figures.

    It is assembled from the files in ``figures`` and the definitions in Python: the controls,
    their limits, and the book's colors.
    """
    folder = Path(__file__).with_name("figures")
    colors = map(mpl.colors.to_hex, mpl.colormaps[plots.DIVERGING].resampled(11)(range(11)))
    controls = {
        name.lower(): {key: field.control(kind) for key, field in kind._arguments().items()}
        for name, kind in FIGURES.items()
        if name in names
    }
    given: dict[str, Any] = {
        "FIELDS": controls,
        "LINES": plots.COLORS,
        "MAP": [int(color[1:], 16) for color in colors],
        "STYLE": (folder / "figures.css").read_text(encoding="utf-8"),
    }
    consts = (f"const {k} = {json.dumps(v)};\n" for k, v in given.items())
    maps = {"Heatmap", "Score"} & {*names}
    files = ("encoding", "drawing", *(["map"] if maps else []), *controls, "page")
    parts = ((folder / f"{name}.js").read_text(encoding="utf-8") for name in files)
    return "\n".join([*consts, *parts])


for _name, _kind in FIGURES.items():
    _kind._esm = script(_name)  # for anywidget


def _static() -> bool:
    return bool(os.environ.get("POSENC_STATIC"))


def _at_most(name: str, value: Any, maximum: float) -> Any:
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum:.0f}, got {value!r}")
    return value


def _stretched(d_model: int, base: float, trained: int, factor: int, rule: str) -> Floats:
    """Return the frequencies of a state under one of `RULES`."""
    lengths = {"factor": factor, "original_max_position_embeddings": trained}
    scaling: dict[str, dict[str, Any]] = {
        "none": {},
        "interpolation": {"rope_type": "linear", "factor": factor},
        "raised base": {"rope_theta": base * factor ** (d_model / max(d_model - 2, 1))},
        "llama3": {"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4, **lengths},
        "YaRN": {"rope_type": "yarn", **lengths},
    }
    own: dict[str, Any] = {} if rule == "raised base" else {"base": base}
    return rotary_frequencies(d_model, scaling=scaling[rule], **own)[0]


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
    """Hide the axes, and use the same scale for both."""
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _circle(
    ax: Axes, center: tuple[float, float], hands: list[tuple[float, float, str]], label: str
) -> None:
    """Draw a circle with hands, each given as (right, up, color)."""
    x, y = center
    ax.add_patch(Circle(center, 1, fill=False, edgecolor=plots.INK, alpha=0.5))
    for right, up, color in hands:
        ax.plot([x, x + right], [y, y + up], color=color, linewidth=2.5)
    ax.text(x, y - 1.2, label, ha="center", va="top")
