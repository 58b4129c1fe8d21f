"""Live figures, as Jupyter widgets.

A script of the folder ``figures`` draws each of them, on the website and in Jupyter. Python
has its arguments with their limits, the values that tests hold the script to, and a plain
picture for readers without JavaScript. Limits are checked by traitlets, which raises
TraitError. With ``POSENC_STATIC`` set, only the picture is shown: a stored notebook outlives
the kernel of a widget.

To add a figure:

1. Write a subclass of `_Figure` here: its arguments (`_number`, `_base`, `_choice`), `values` and
   `_draw`. Its name has one capital, the first letter. The last word of a label is the letter that
   formulas have for it ("width d"): it lights up with its number.
2. Write ``figures/<name in lowercase>.js``, which sets ``FIGURES.<name in lowercase>``; what it is
   made of is said in ``figure.js``. Its ``compute`` returns `values`, key by key; ``hands``, which
   only Python has, are compared with the lines of the class ``hand``.
3. What only it needs of styles is in ``figures/<name in lowercase>.css``.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import anywidget
import matplotlib as mpl
import numpy as np
import traitlets
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

import posenc
from posenc.book import plots, scripts
from posenc.conventions import Convention
from posenc.museum import wrong_table

# Of kind and state, beside a stored picture.
MIME = "application/vnd.posenc.figure+json"
Floats = NDArray[Any]
Values = dict[str, Any]  # what is drawn, by the names that scripts have for it


def _number(
    label: str, default: float, low: float, high: float, step: float = 1
) -> Any:
    """Return an argument between two limits, which a slider moves by steps."""
    kind: Any = traitlets.Int if isinstance(step, int) else traitlets.Float
    return kind(default, min=low, max=high).tag(sync=True, label=label, step=step)


def _base(default: float = 10_000.0) -> Any:
    """Return a base, which a slider moves by quarter powers of ten."""
    return _number("base n", default, 10, 1_000_000, 0.25).tag(log=True)


def _choice(label: str, *options: str) -> Any:
    """Return an argument that is one of the options, the first by default."""
    return traitlets.Enum(options, options[0]).tag(sync=True, label=label)


class _Figure(anywidget.AnyWidget):
    """A figure has arguments, `values`, which its script computes, too, and `_draw`."""

    _kind = traitlets.Unicode().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        if unknown := state.keys() - self.arguments().keys():
            raise TypeError(f"{type(self).__name__} has no argument {min(unknown)}")
        super().__init__(_kind=type(self).__name__.lower(), **state)

    def open(self) -> None:
        """Announce the widget to the browser, unless static; called by ipywidgets."""
        if not os.environ.get("POSENC_STATIC"):
            super().open()

    @classmethod
    def arguments(cls) -> dict[str, Any]:
        """Return the traits that a reader can move, by name."""
        # A widget's own class is a subclass without them.
        traits = {}
        for owner in cls.__mro__:
            for name, trait in vars(owner).items():
                if "label" in getattr(trait, "metadata", ()):
                    traits[name] = trait
        return traits

    def state(self) -> Values:
        """Return the arguments that recreate the figure."""
        return {name: getattr(self, name) for name in self.arguments()}

    def values(self) -> Values:
        """Return what is drawn, by the names that the script has for it."""
        raise NotImplementedError

    def _draw(self, figure: Figure, values: Values) -> None:
        raise NotImplementedError

    def picture(self) -> str:
        """Return a picture of the state, as SVG in the book's style."""
        with mpl.rc_context():
            plots.use_style()
            figure, svg = Figure(), StringIO()
            self._draw(figure, self.values())
            figure.savefig(svg, format="svg", metadata={"Date": None})
        return svg.getvalue()

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        figure = {"kind": type(self).__name__, "state": self.state()}
        data = {
            "text/plain": repr(self),
            "image/svg+xml": self.picture(),
            MIME: figure,
        }
        if os.environ.get("POSENC_STATIC"):
            return data, {}
        live, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return live | data, metadata


class Heatmap(_Figure):
    """The table of an encoding, with one cell explained."""

    d_model = _number("width d", 64, 2, 256, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)
    position = _number("position k", 5, 0, 127)
    dimension = _number("column j", 8, 0, 255)

    def values(self) -> Values:
        return {"table": _encode(range(self.seq_len), self)}

    def _draw(self, figure: Figure, values: Values) -> None:
        axes = plots.heatmap(values["table"], figure.subplots(), xlabel="column").axes
        axes.plot(self.dimension, self.position, "s", mfc="none", mec="black", ms=7)


class Distances(_Figure):
    """How far all positions are from one, as digits and as pairs."""

    position = _number("position k", 12, 0, 62)
    d_model = _number("width d", 12, 4, 64, 2)
    base = _base()

    def values(self) -> Values:
        # Six digits are enough for 64 positions.
        digits = posenc.binary_encoding(64, 6).astype(float)
        pairs = _encode(range(64), self)
        here = self.position
        return {
            "digits": np.linalg.norm(digits - digits[here], axis=1),
            "pairs": np.linalg.norm(pairs - pairs[here], axis=1),
        }

    def _draw(self, figure: Figure, values: Values) -> None:
        axes = figure.subplots()
        axes.plot(values["digits"], color=plots.INK, label="as binary digits")
        axes.plot(values["pairs"], color=plots.PAIRS[2], label="as clocks")
        axes.set(xlabel="position", ylabel=f"distance from {self.position}")
        axes.legend()


class Clocks(_Figure):
    """The clocks of an encoding, running from a position, with sine and cosine of each."""

    position = _number("position k", 5, 0, 255)
    d_model = _number("width d", 16, 2, 16, 2)
    base = _base()
    digits = _choice("binary digits", "off", "on")

    def values(self) -> Values:
        row = _encode([self.position], self)[0]
        return {"row": row, "hands": row}

    def _draw(self, figure: Figure, values: Values) -> None:
        hands = values["hands"].reshape(-1, 1, 2)
        figure.set_size_inches(7, len(hands) / 5)
        plots.dials(hands, [None], figure.subplots())


class Rotation(_Figure):
    """One clock before and after a shift, from position 0 and from another position."""

    position = _number("position k", 5, 0, 255)
    offset = _number("shift", 3, -64, 64)
    pair = _number("clock i", 1, 0, 7)
    base = _base()
    d_model = 16

    def values(self) -> Values:
        omega = posenc.angular_frequencies(self.d_model, base=self.base)[self.pair]
        # The hands of the left dial, and those of the right one.
        ends = [0, self.offset, self.position, self.position + self.offset]
        rows = _encode(ends, self)[:, 2 * self.pair : 2 * self.pair + 2]
        return {"theta": self.offset * omega, "hands": rows}

    def _draw(self, figure: Figure, values: Values) -> None:
        colors = plots.INK, plots.PAIRS[self.pair]
        plots.dials(values["hands"].reshape(2, 2, 2), colors, figure.subplots())


_FILM = json.loads(
    Path(__file__).with_name("figures").joinpath("learning.json").read_text("utf-8")
)


class Learning(_Figure):
    """A head that learns to look three words back, recorded every three steps.

    Each frame has, for the four fastest clocks, the turn that the head has learned, as
    (up, right), and the mean weight that a word gives to the words 0 to 7 before it. The
    code is chapter 3's.
    """

    step = _number("training step", 0, 0, 90)

    def values(self) -> Values:
        before, after = _FILM[self.step // 3], _FILM[-(-self.step // 3)]
        share = self.step % 3 / 3
        mixed = {key: np.array(before[key]) for key in before}
        for key, numbers in mixed.items():
            numbers += share * (np.array(after[key]) - numbers)
        return mixed

    def _draw(self, figure: Figure, values: Values) -> None:
        left, right = figure.subplots(1, 2)
        omega = posenc.angular_frequencies(32)[:4, None]
        targets = np.hstack([np.sin(-3 * omega), np.cos(-3 * omega)])
        # A hand that a head asks for strongly is as long as the dial.
        turns = values["turns"]
        turns /= np.maximum(1, np.linalg.norm(turns, axis=1, keepdims=True))
        plots.dials(np.stack([targets, turns], axis=1), ["silver", None], left)
        right.bar(range(0, -8, -1), values["weights"], color=plots.INK)
        right.set(xlabel="word that gets the weight", ylabel="mean weight", ylim=(0, 1))


class Kernel(_Figure):
    """The dot product of two encodings by offset; which offsets look nearer than 1."""

    base = _base()
    d_model = _number("width d", 8, 2, 128, 2)
    offset = _number("offset", 63, 0, 127)

    def values(self) -> Values:
        products = posenc.offset_kernel(range(128), self.d_model, base=self.base)
        # The first is offset 0, which is nearest; the others come in order of nearness.
        nearer = np.flatnonzero(products > products[1])[1:]
        return {"products": products, "nearer": nearer[np.argsort(-products[nearer])]}

    def _draw(self, figure: Figure, values: Values) -> None:
        axes = figure.subplots()
        products, nearer = values["products"], values["nearer"]
        axes.axhline(products[1], color=plots.INK, linestyle="--", linewidth=1)
        axes.plot(products)
        axes.plot(nearer, products[nearer], "o")
        axes.set(xlabel="offset", ylabel="dot product")


# A convention by its settings, or none for a mistake, which has its table in the museum.
_VARIANTS: dict[str, dict[str, Any] | None] = {
    "halves": {"layout": "sin, cos"},
    "cosine first": {"layout": "interleaved, cos first"},
    "from 1": {"first": 1},
    "minus 1": {"rule": "d/2 - 1"},
    "all ones": None,
    "dimension for pair": None,
    "own exponent": None,
}


class Switch(_Figure):
    """The paper's table, a variant by convention or by mistake, and their difference."""

    variant = _choice("variant", *_VARIANTS)
    d_model = _number("width d", 16, 4, 64, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)

    def values(self) -> Values:
        size = self.seq_len, self.d_model
        settings = _VARIANTS[self.variant]
        if settings is None:
            right = _encode(range(self.seq_len), self)
            other = wrong_table(self.variant, *size, self.base)
        else:
            right = Convention(base=self.base).table(*size)
            other = Convention(base=self.base, **settings).table(*size)
        return {"right": right, "other": other, "difference": other - right}

    def _draw(self, figure: Figure, values: Values) -> None:
        tables = {
            "the paper’s": values["right"],
            "other": values["other"],
            "difference": values["difference"],
        }
        plots.heatmaps(tables, figure, limit=2)


_RULES = "as trained", "interpolation", "NTK-aware", "YaRN"


def _stretched(
    rule: str, d_model: int, base: float, *, trained: int, factor: int
) -> tuple[Floats, float]:
    """Return the frequencies by a rule for longer texts, and the attention factor."""
    by_parts = {"factor": factor, "original_max_position_embeddings": trained}
    ends = {"low_freq_factor": 1, "high_freq_factor": 4}
    scaling: dict[str, dict[str, Any]] = {
        "interpolation": {"rope_type": "linear", "factor": factor},
        "llama3": {"rope_type": "llama3", **ends, **by_parts},
        "YaRN": {"rope_type": "yarn", **by_parts},
    }
    if rule == "NTK-aware":
        base *= factor ** (d_model / (d_model - 2))
    return posenc.rotary_frequencies(d_model, base=base, scaling=scaling.get(rule))


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for longer texts."""

    rule = _choice("rule", *_RULES, "llama3")
    factor = _number("factor s", 4, 1, 32)
    d_model = _number("width d", 128, 4, 256, 2)
    base = _base()
    trained = _number("trained length", 4096, 64, 16_384)

    def values(self) -> Values:
        factor, trained = self.factor, self.trained
        plain = posenc.angular_frequencies(self.d_model, base=self.base)
        now, _ = _stretched(
            self.rule, self.d_model, self.base, trained=trained, factor=factor
        )
        # A pair that never finished a turn meets new angles in a longer text, unless it is
        # slowed by as much as the text is longer.
        unfinished = plain * trained < 2 * np.pi
        beyond = unfinished & (now * factor > plain * (1 + 1e-9))
        return {
            "before": 2 * np.pi / plain,
            "after": 2 * np.pi / now,
            "unfinished": unfinished.sum(),
            "beyond": beyond.sum(),  # pairs that meet angles beyond those of training
        }

    def _draw(self, figure: Figure, values: Values) -> None:
        axes = figure.subplots()
        axes.plot(values["before"], "--", values["after"], "-", color=plots.INK)
        axes.axhline(self.trained, color=plots.INK, linewidth=1)
        axes.axhline(self.factor * self.trained, color=plots.UNSEEN, linewidth=1)
        axes.set(yscale="log", xlabel="pair", ylabel="wavelength in positions")


class Turning(_Figure):
    """A query and a key in a sentence: their dials, and the score by distance."""

    query = _number("query k", 6, 0, 15, 1.0)
    key = _number("key m", 1, 0, 15, 1.0)
    method = _choice("positions", "turned", "added", "ALiBi", "none")
    rule = _choice("longer texts", *_RULES)
    base = _base(100.0)

    def values(self) -> Values:
        # The query, the key, and keys at all distances in quarter steps, all the same word.
        distances = np.arange(-60, 61) / 4
        places = [self.query, self.key, *(self.query + distances)]
        vectors = self._vectors(places)
        scores = vectors @ vectors[0]
        if self.method == "ALiBi":  # the slope of the first of eight heads is 1/2
            scores -= abs(np.subtract(places, self.query)) / 2
        # The products of the query and the key, by pair and component: (8, 2).
        products = (vectors[0] * vectors[1]).reshape(8, 2)
        # Both words' hands by pair, as (up, right): (8, 2, 2).
        hands = vectors[:2].reshape(2, 8, 2).swapaxes(0, 1)[..., ::-1]
        return {
            "shares": products.sum(axis=1),
            "score": scores[1],
            "curve": scores[2:],
            "hands": hands,
        }

    def _vectors(self, places: list[float]) -> Floats:
        """Return a word at each place, its pairs as (right, up): shape (places, 16)."""
        words = np.tile([1.0, 0.0], (len(places), 8))
        if self.method == "turned":
            # Trained on eight words, stretched to sixteen.
            omega, factor = _stretched(self.rule, 16, self.base, trained=8, factor=2)
            plain = posenc.angular_frequencies(16, base=self.base)
            # The query has learned to look three words back.
            words[:1] = _rotate(words[:1], [-3], plain)
            return _rotate(words * factor, places, omega)
        if self.method == "added":
            clocks = posenc.sinusoidal_encoding(places, 16, base=self.base, dtype=float)
            # The encoding has (up, right). The sum is halved, so that no hand is longer than 1.
            words += clocks.reshape(-1, 8, 2)[..., ::-1].reshape(-1, 16)
            words /= 2
        return words

    def _draw(self, figure: Figure, values: Values) -> None:
        top, bottom = figure.subplots(2, 1, height_ratios=[1, 2])
        plots.dials(values["hands"], plots.COLORS[:2], top)
        bottom.plot(np.arange(-60, 61) / 4, values["curve"], color=plots.INK)
        bottom.plot(self.key - self.query, values["score"], "o", color=plots.INK)
        bottom.set(xlabel="position of the key minus that of the query", ylabel="score")


_WORDS = {
    "dog": (2, 0, 0, 1),
    "bites": (0, 1, 1, 0),
    "man": (1, 1, 0, 0),
}
_ORDERS = [" ".join(words) for words in itertools.permutations(_WORDS)]


class Words(_Figure):
    """Attention over three words in any order, with encodings added or not."""

    order = _choice("order", *_ORDERS)
    positions = _choice("positions", "off", "on")

    def values(self) -> Values:
        words = self.order.split()
        weights, outputs = self._attend(words)
        # How far each word's output is from that in the first order, wherever it stands now.
        before = self._attend([*_WORDS])[1]
        moved = outputs[[words.index(word) for word in _WORDS]]
        changes = abs(moved - before).max(axis=1)
        return {"weights": weights, "outputs": outputs, "changes": changes}

    def _attend(self, words: list[str]) -> tuple[Floats, Floats]:
        """Return the weights, (3, 3), and the outputs, (3, 4), of words as x and positions."""
        # Queries, keys and values are the words themselves.
        x = np.array([_WORDS[word] for word in words], dtype=float)
        if self.positions == "on":
            x += posenc.sinusoidal_encoding(3, 4, dtype=np.float64)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x

    def _draw(self, figure: Figure, values: Values) -> None:
        tables = {"attends to": 5 * values["weights"], "output": values["outputs"]}
        plots.heatmaps(tables, figure, limit=5)
        for axes in figure.axes:
            axes.set(xlabel="", ylabel="", xticks=[])
            axes.set_yticks(range(3), self.order.split())
        figure.axes[0].set_xticks(range(3), self.order.split())


# By name; each has a script of that name in ``figures``.
FIGURES = {kind.__name__: kind for kind in _Figure.__subclasses__()}

__all__ = [*FIGURES]


def script(*names: str, entries: Sequence[str] = ("jupyter",)) -> str:
    """Return one script that draws the named figures; the modules `entries` show them."""
    modules = [*(name.lower() for name in names), *entries]
    fields = {name.lower(): _fields(FIGURES[name]) for name in names}
    return scripts.bundle(modules, {"FIELDS": fields, "FRAMES": _FILM})


def _fields(kind: type[_Figure]) -> dict[str, dict[str, Any]]:
    """Return what the script needs to know of a figure's arguments."""
    fields = {}
    for name, trait in kind.arguments().items():
        field = {"label": trait.metadata["label"], "initial": trait.default_value}
        if isinstance(trait, traitlets.Enum):
            field["options"] = trait.values
        else:
            field["min"] = trait.min
            field["max"] = trait.max
            field["step"] = trait.metadata["step"]
            if "log" in trait.metadata:
                field["log"] = True
        fields[name] = field
    return fields


for _name, _kind in FIGURES.items():
    _kind._esm = script(_name)  # for anywidget


def _rotate(words: Floats, places: ArrayLike, frequencies: Floats) -> Floats:
    """Return words turned by their places, pair by pair of neighbors."""
    return posenc.rotate_pairs(
        words, places, frequencies=frequencies, pairing="neighbors"
    )


def _encode(positions: ArrayLike, figure: Any) -> Floats:
    """Return the rows of positions, by a figure's width and base."""
    width, base = figure.d_model, figure.base
    points = np.asarray(positions, float)
    return posenc.sinusoidal_encoding(points, width, base=base, dtype=np.float64)
