"""Live figures, as Jupyter widgets.

The same script draws them in Jupyter and on the book's website. Python defines the controls and
their limits, gets and sets each argument by name, returns all of them (``state()``), computes what
is shown (``values()``), and draws a fallback picture for readers without JavaScript
(``picture()``). Arguments of a wrong type or beyond their limits raise TypeError or ValueError,
when a figure is made and when one is set. With ``POSENC_STATIC`` set in the environment, only the
picture is shown; use that for stored notebooks, since a widget doesn't outlive its kernel.

Examples
--------
>>> heatmap = Heatmap(d_model=8)
>>> heatmap.base = 100
>>> heatmap
Heatmap(d_model=8, base=100.0, seq_len=64, position=5, dimension=7)
"""

from __future__ import annotations

import json
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
from numpy.typing import ArrayLike, NDArray

from posenc.book import plots
from posenc.book.fields import METHODS, ORDERS, RULES, VARIANTS, Base, Choice, Field, Whole, Within
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
        traits = (item for owner in cls.__mro__ for item in vars(owner).items())
        return {name: field for name, field in traits if isinstance(field, Field)}

    @traitlets.observe(traitlets.All)
    def _shrink(self, change: Any) -> None:
        for name, field in self._arguments().items():
            if isinstance(field, Within) and field.other.name == change.name:
                setattr(self, name, min(getattr(self, name), int(field.top(self))))

    def state(self) -> dict[str, Any]:
        """Return the figure's state, as the arguments that recreate it."""
        return {name: getattr(self, name) for name in self._arguments()}

    def values(self) -> dict[str, Any]:
        """Return what the state shows, as the script computes it, and the directions of hands."""
        raise NotImplementedError  # pragma: no cover

    def picture(self) -> str:
        """Return a picture of the state, as SVG in the book's style."""
        with mpl.rc_context():
            plots.use_style()
            figure, svg = Figure(), StringIO()
            self._draw(figure, **self.values())
            figure.savefig(svg, format="svg", metadata={"Date": None})
        return svg.getvalue()

    def _draw(self, figure: Figure, **values: Any) -> None:
        """Draw the values onto an empty figure."""

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
    """The table of an encoding, with one cell explained."""

    d_model = Whole("width d", 64, 2, 256, step=2)
    base = Base()
    seq_len = Whole("length L", 64, 2, 128)
    position = Within("position k", 5, seq_len)
    dimension = Within("dimension j", 8, d_model)

    def values(self) -> dict[str, Any]:
        """Return the table."""
        return {"table": _encode(range(self.seq_len), self)}

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax = figure.subplots()
        plots.heatmap(values["table"], ax)
        corner = (self.dimension - 0.5, self.position - 0.5)
        for color, linewidth in (("black", 4), ("white", 1.5)):
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=color, linewidth=linewidth))


class Curves(_Figure):
    """Sine and cosine of three pairs over positions; fewer if the pairs run out."""

    d_model = Whole("width d", 64, 2, 256, step=2)
    base = Base()
    seq_len = Whole("length L", 64, 2, 128)
    pair = Within("first pair i", 0, d_model, parts=2)
    stride = Whole("pairs apart", 4, 1, 32)

    def values(self) -> dict[str, Any]:
        """Return the pairs, their wavelengths, and both waves of each at several points."""
        pairs = np.arange(self.pair, self.d_model // 2, self.stride)[:3]
        parts = 2 if self.seq_len > 64 else 4
        points = np.arange(parts * (self.seq_len - 1) + 1) / parts
        waves = _encode(points, self).T
        return {
            "pairs": pairs,
            "wavelengths": wavelengths(self.d_model, base=self.base)[pairs],
            "points": points,
            "sines": waves[2 * pairs],
            "cosines": waves[2 * pairs + 1],
        }

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax, points = figure.subplots(), values.pop("points")
        for (pair, turn, sine, cosine), color in zip(
            zip(*values.values(), strict=True), plots.COLORS, strict=False
        ):
            label = f"pair {pair}: wavelength {turn:.2f} positions"
            ax.plot(points, sine, color=color, label=label)
            ax.plot(points, cosine, "--", color=color)
        ax.set(xlabel="position", ylabel="value")
        figure.legend(loc="outside upper left")


class Clock(_Figure):
    """One position: a clock hand for each pair, and its binary digits."""

    d_model = Whole("width d", 32, 2, 32, step=2)
    base = Base()
    position = Whole("position k", 5, 0, 255)

    def values(self) -> dict[str, Any]:
        """Return the position's row, and its eight binary digits, lowest first."""
        row = _encode([self.position], self)[0]
        return {"row": row, "bits": binary_encoding([self.position], 8)[0], "hands": row}

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax = _plane(figure.subplots())
        for pair, hand in enumerate(values["row"].reshape(-1, 2)):
            row, column = divmod(pair, 8)
            _circle(ax, (3 * column, -3.4 * row), {plots.COLORS[0]: hand}, f"{pair}")
        bottom = -3.4 * (row + 1) + 0.4
        for bit, digit in enumerate(values["bits"]):
            ax.text(3 * bit, bottom, f"{digit}", ha="center", va="center", size="large")
            ax.text(3 * bit, bottom - 1.2, f"{2**bit}", ha="center", va="center", alpha=0.7)
        ax.set(xlim=(-1.5, 22.5), ylim=(bottom - 2, 1.2))


class Clocks(_Figure):
    """The clocks of an encoding, running from a position, with sine and cosine of each."""

    d_model = Whole("width d", 16, 2, 16, step=2)
    base = Base()
    position = Whole("position k", 5, 0, 255)

    def values(self) -> dict[str, Any]:
        """Return the position's row, and the wavelengths."""
        row = _encode([self.position], self)[0]
        return {"row": row, "wavelengths": wavelengths(self.d_model, base=self.base), "hands": row}

    def _draw(self, figure: Figure, **values: Any) -> None:
        figure.set_size_inches(7, 1.6)
        ax, colors = _plane(figure.subplots()), mpl.colormaps[plots.DIVERGING]
        for pair, hand in enumerate(values["row"].reshape(-1, 2)):
            _circle(ax, (2.6 * pair, 0), {plots.COLORS[0]: hand}, "")
            ax.text(2.6 * pair, 1.5, f"clock {pair}", ha="center", va="center")
            for left, value in zip((-1, 0), hand, strict=True):
                cell = Rectangle((2.6 * pair + left, -1.7), 1, 0.35, color=colors((value + 1) / 2))
                ax.add_patch(cell)
                _number(ax, 2.6 * pair + left + 0.5, -2.1, value, size="small")
        ax.set(xlim=(-1.4, 19.6), ylim=(-2.5, 1.9))


class Rotation(_Figure):
    """One pair before and after a shift, from position 0 and from another position."""

    d_model = Whole("width d", 16, 2, 256, step=2)
    base = Base()
    pair = Within("pair i", 1, d_model, parts=2)
    position = Whole("position k", 5, 0, 255)
    offset = Whole("offset φ", 3, -64, 64)

    def values(self) -> dict[str, Any]:
        """Return the angle of the shift, and the pair before and after it."""
        ends = [0, self.offset, self.position, self.position + self.offset]
        hands = _encode(ends, self)[:, 2 * self.pair : 2 * self.pair + 2]
        theta = self.offset * angular_frequencies(self.d_model, base=self.base)[self.pair]
        return {"theta": theta, "from": hands[2], "to": hands[3], "hands": hands}

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax, both = _plane(figure.subplots()), values["hands"].reshape(2, 2, 2)
        for center, start, hands in zip((-1.6, 1.6), (0, self.position), both, strict=True):
            ends = dict(zip((plots.COLORS[1], plots.COLORS[0]), hands, strict=True))
            _circle(ax, (center, 0), ends, f"{start} to {start + self.offset}")
            share = np.linspace(0, 1, 201)
            angle = np.arctan2(*hands[0]) + share * values["theta"]
            x, y = (0.35 + 0.4 * share) * [np.cos(angle), np.sin(angle)]
            ax.plot(center + x, y, color=plots.INK, linewidth=1)


class Kernel(_Figure):
    """The dot product of two encodings by offset, and the offsets that look nearer than 1."""

    d_model = Whole("width d", 8, 2, 128, step=2)
    base = Base()
    seq_len = Whole("length L", 128, 8, 256)
    offset = Within("offset φ", 63, seq_len)

    def values(self) -> dict[str, Any]:
        """Return the products, and the offsets that look nearer than 1, nearest first."""
        products = offset_kernel(np.arange(self.seq_len), self.d_model, base=self.base)
        order = np.argsort(-products)
        return {
            "products": products,
            "nearer": order[(order > 1) & (products[order] > products[1])],
        }

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax, products, nearer = figure.subplots(), values["products"], np.sort(values["nearer"])
        ax.axhline(products[1], color=plots.INK, linestyle="--", linewidth=1)
        ax.plot(products)
        ax.plot(nearer, products[nearer], "o", color=plots.COLORS[1])
        ax.plot(self.offset, products[self.offset], "o", mfc="none", mec=plots.INK, ms=11)
        ax.set(xlabel="offset", ylabel="product", ylim=(-self.d_model / 2, self.d_model / 1.8))


class Switch(_Figure):
    """The paper's table, a variant by convention or by mistake, and their difference."""

    d_model = Whole("width d", 16, 4, 64, step=2)
    base = Base()
    seq_len = Whole("length L", 64, 2, 128)
    variant = Choice("variant", "halves", VARIANTS)

    def values(self) -> dict[str, Any]:
        """Return the three tables."""
        right, other = (
            _table(self.seq_len, self.d_model, self.base, name) for name in ("paper", self.variant)
        )
        return {"right": right, "other": other, "difference": other - right}

    def _draw(self, figure: Figure, **values: Any) -> None:
        titles = ("the paper's", "the variant", "difference")
        for ax, title, table in zip(figure.subplots(1, 3), titles, values.values(), strict=True):
            limit = 2 if title == "difference" else 1
            ylabel = "position" if ax.get_subplotspec().is_first_col() else ""
            plots.heatmap(table, ax, limit=limit, title=title, ylabel=ylabel, colorbar=False)


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for a longer text."""

    d_model = Whole("width d", 128, 4, 256, step=2)
    base = Base(10)
    trained = Whole("trained length", 4096, 64, 16_384)
    factor = Whole("factor s", 4, 1, 32)
    rule = Choice("rule", "none", RULES)

    def values(self) -> dict[str, Any]:
        """Return wavelengths before and after, and how many pairs meet angles beyond training."""
        plain, now = angular_frequencies(self.d_model, base=self.base), self._stretched()
        unfinished = plain * self.trained < 2 * np.pi
        return {
            "before": 2 * np.pi / plain,
            "after": 2 * np.pi / now,
            "unfinished": unfinished.sum(),
            "beyond": (unfinished & (now * self.factor > plain * (1 + 1e-9))).sum(),
        }

    def _stretched(self) -> Floats:
        """Return the frequencies under the rule."""
        width, factor = self.d_model, self.factor
        lengths = {"factor": factor, "original_max_position_embeddings": self.trained}
        scaling: dict[str, dict[str, Any]] = {
            "none": {},
            "interpolation": {"rope_type": "linear", "factor": factor},
            "raised base": {"rope_theta": self.base * factor ** (width / max(width - 2, 1))},
            "llama3": {"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4}
            | lengths,
            "YaRN": {"rope_type": "yarn"} | lengths,
        }
        own: dict[str, Any] = {} if self.rule == "raised base" else {"base": self.base}
        return rotary_frequencies(width, scaling=scaling[self.rule], **own)[0]

    def _draw(self, figure: Figure, **values: Any) -> None:
        ax = figure.subplots()
        ax.plot(values["before"], "--", color=plots.COLORS[0])
        ax.plot(values["after"], "-", color=plots.COLORS[0])
        ax.axhline(self.trained, color=plots.INK, linewidth=1)
        ax.axhline(self.factor * self.trained, color=plots.COLORS[1], linewidth=1)
        ax.set(yscale="log", xlabel="pair", ylabel="wavelength in positions")


class Score(_Figure):
    """The score of a query and a key of width 2, by their positions."""

    query = Whole("query k", 5, 0, 15)
    key = Whole("key m", 2, 0, 15)
    method = Choice("encoding", "rotary", METHODS)

    def values(self) -> dict[str, Any]:
        """Return the scores at all positions, at the state's, and one further."""
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

    def _draw(self, figure: Figure, **values: Any) -> None:
        left, right = figure.subplots(1, 2)
        hands = dict(zip(plots.COLORS, values["hands"], strict=False))
        _circle(_plane(left), (0, 0), hands, f"query at {self.query}, key at {self.key}")
        plots.heatmap(values["scores"], right, limit=values["limit"])
        right.set(xlabel="key position", ylabel="query position")
        right.plot(self.key, self.query, "o", mfc="none", mec="black", ms=9)


class Words(_Figure):
    """Attention over three words in any order, with encodings added or not."""

    order = Choice("order", ORDERS[0], dict.fromkeys(ORDERS, ""))
    positions = Choice("positions", "off", {"off": "", "on": ""})

    def values(self) -> dict[str, Any]:
        """Return weights, outputs, and how much each word's output changes by the order."""
        words, first = self.order.split(), ORDERS[0].split()
        (weights, outputs), (_, before) = self._attend(words), self._attend(first)
        moved = outputs[[words.index(word) for word in first]]
        return {"weights": weights, "outputs": outputs, "changes": abs(moved - before).max(axis=1)}

    def _attend(self, words: list[str]) -> tuple[Floats, Floats]:
        table = {"dog": (2, 0, 0, 1), "bites": (0, 1, 1, 0), "man": (1, 1, 0, 0)}
        x = np.array([table[word] for word in words], dtype=float)
        if self.positions == "on":
            x += sinusoidal_encoding(3, 4, dtype=np.float64)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x

    def _draw(self, figure: Figure, **values: Any) -> None:
        words = self.order.split()
        for ax, name, limit in zip(figure.subplots(1, 2), values, (1.7, 5), strict=False):
            labels = {"title": name, "xlabel": "", "ylabel": ""}
            plots.heatmap(values[name], ax, limit=limit, colorbar=False, **labels)
            ax.set_yticks(range(3), words)
            ax.set_xticks(*((range(3), words) if name == "weights" else ([],)))
            for (row, column), value in np.ndenumerate(values[name]):
                _number(ax, column, row, value, color="black")


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
        name.lower(): {key: field.control() for key, field in kind._arguments().items()}
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
    _rows = [f"{k} : {f.label}, {f.rule}" for k, f in _kind._arguments().items()]
    _kind.__doc__ = "\n".join([f"{_kind.__doc__}\n", "Parameters", "-" * 10, *_rows])


def _static() -> bool:
    return bool(os.environ.get("POSENC_STATIC"))


def _encode(positions: ArrayLike, figure: Any) -> Floats:
    """Return the rows of positions, by a figure's width and base."""
    points = np.asarray(positions, float)
    return sinusoidal_encoding(points, figure.d_model, base=figure.base, dtype=np.float64)


Columns = Callable[[NDArray[Any], int], tuple[Any, Any]]
_COLUMNS: dict[str, Columns] = {  # exponent of each dimension j of d, and whether it is a cosine
    "paper": lambda j, d: (2 * (j // 2) / d, j % 2 == 1),
    "halves": lambda j, d: (j % (d // 2) / (d // 2), j >= d // 2),
    "cosine first": lambda j, d: (2 * (j // 2) / d, j % 2 == 0),
    "minus 1": lambda j, d: (j // 2 / (d // 2 - 1), j % 2 == 1),
    "ones": lambda j, d: (0 * j, j % 2 == 1),
    "dimension for pair": lambda j, d: (2 * j / d, j % 2 == 1),
    "own exponent": lambda j, d: (j / d, j % 2 == 1),
}


def _table(seq_len: int, d_model: int, base: float, variant: str = "paper") -> Floats:
    """Return the paper's table, or one of `VARIANTS`."""
    column = _COLUMNS.get(variant, _COLUMNS["paper"])
    exponent, cosine = column(np.arange(d_model), d_model)
    start = int(variant == "from 1")
    angles = np.arange(start, start + seq_len)[:, None] * base**-exponent
    table: Floats = np.where(cosine, np.cos(angles), np.sin(angles))
    return table


def _plane(ax: Axes) -> Axes:
    """Hide the axes, and use the same scale for both."""
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _number(ax: Axes, x: float, y: float, value: float, **style: Any) -> None:
    """Write two digits of a number."""
    ax.text(x, y, f"{value:.2f}".replace("-", "−"), ha="center", va="center", **style)


def _circle(ax: Axes, center: tuple[float, float], hands: dict[str, Any], label: str) -> None:
    """Draw a circle with hands, each (up, right) by color."""
    x, y = center
    ax.add_patch(Circle(center, 1, fill=False, edgecolor=plots.INK, alpha=0.5))
    for color, (up, right) in hands.items():
        ax.plot([x, x + right], [y, y + up], color=color, linewidth=2.5)
    ax.text(x, y - 1.2, label, ha="center", va="top")
