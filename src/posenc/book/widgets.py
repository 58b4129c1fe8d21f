"""Live figures, as Jupyter widgets.

A script of the folder ``figures`` draws each of them, on the website and in Jupyter. Python
has its fields with their limits, the values that tests hold the script to, and a plain
picture for readers without JavaScript. Limits are checked by traitlets, which raises
TraitError. With ``POSENC_STATIC`` set, only the picture is shown: a stored notebook outlives
the kernel of a widget.

To add a figure:

1. Write a subclass of `_Figure` here: its fields (`_number`, `_base`, `_choice`), `values`, and the
   `parts` of its picture, with `_plot` if one is a plot. Its name has one capital, the first
   letter. The last word of a label is the letter that formulas have for it ("width d"): it lights
   up with its number.
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
from dataclasses import replace
from io import StringIO
from typing import Any, ClassVar

import anywidget
import matplotlib as mpl
import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

import posenc
from posenc.book import plots, scripts
from posenc.conventions import Convention
from posenc.museum import wrong_table

# Of kind and state, beside a stored picture.
MIME = "application/vnd.posenc.figure+json"
Floats = NDArray[Any]
Field = dict[str, Any]  # what a script knows of a field: `Field` in figure.js
# What is drawn, by the names that scripts have for it. "hands" are those of dials, as (up, right):
# (dials, hands of each, 2).
Values = dict[str, Any]


def _number(
    label: str, initial: float, low: float, high: float, step: float = 1, **more: bool
) -> Any:
    """Return a field between two limits, which a slider moves by steps.

    It holds an int if its step is one, so that a step of 1.0 allows for fractions. `more` is `log`
    alone: then the slider moves the power of ten.
    """
    limits = {"min": low, "max": high}
    field = {
        "label": label,
        "initial": initial,
        "step": step,
        **limits,
        **more,
    }
    kind: Any = traitlets.Int if isinstance(step, int) else traitlets.Float
    return kind(initial, **limits).tag(sync=True, field=field)


def _base(initial: float = 10_000.0) -> Any:
    """Return a base, which a slider moves by quarter powers of ten."""
    return _number("base n", initial, 10, 1_000_000, 0.25, log=True)


def _choice(label: str, *options: str) -> Any:
    """Return a field that is one of the options, the first by default."""
    field = {
        "label": label,
        "initial": options[0],
        "options": options,
    }
    return traitlets.Enum(options, options[0]).tag(sync=True, field=field)


class _Figure(anywidget.AnyWidget):
    """A figure has fields, and `values`, which its script computes, too."""

    fields: ClassVar[dict[str, Field]] = {}
    #: The panels of the picture, namely tables by name, "hands" for dials, and a "plot".
    parts: ClassVar[Sequence[str]] = ("plot",)
    #: Of the hands of a dial; None is the color of the dial's pair.
    colors: ClassVar[Sequence[str | None]] = (None,)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Each widget gets a class of its own, which inherits its fields.
        traits = {
            name: trait.metadata["field"]
            for name, trait in vars(cls).items()
            if "field" in getattr(trait, "metadata", ())
        }
        cls.fields = cls.fields | traits

    def __init__(self, **state: Any) -> None:
        if unknown := state.keys() - self.fields.keys():
            raise TypeError(f"{type(self).__name__} has no argument {min(unknown)}")
        super().__init__(**state)

    def open(self) -> None:
        """Announce the widget to the browser, unless static; called by ipywidgets."""
        if not os.environ.get("POSENC_STATIC"):
            super().open()

    def state(self) -> Values:
        """Return the arguments that recreate the figure."""
        return {name: getattr(self, name) for name in self.fields}

    def values(self) -> Values:
        """Return what is drawn, by the names that the script has for it."""
        raise NotImplementedError

    def picture(self) -> str:
        """Return a picture of the state, as SVG in the book's style."""
        with mpl.rc_context(plots.STYLE):
            figure, svg = Figure(), StringIO()
            self._draw(figure, self.values())
            figure.savefig(svg, format="svg", metadata={"Date": None})
        return svg.getvalue()

    def _draw(self, figure: Figure, values: Values) -> None:
        panels = figure.subplots(1, len(self.parts), squeeze=False)[0]
        for part, ax in zip(self.parts, panels, strict=True):
            if part == "plot":
                self._plot(ax, values)
            elif part == "hands":
                plots.dials(values["hands"], self.colors, ax)
            else:
                limit = np.ceil(abs(values[part]).max())
                look = {"limit": limit, "colorbar": len(panels) == 1}
                plots.heatmap(values[part], ax, title=part, **look)

    def _plot(self, ax: Axes, values: Values) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(
        self, **options: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            "text/plain": repr(self),
            "image/svg+xml": self.picture(),
            MIME: {"kind": type(self).__name__, "state": self.state()},
        }
        if os.environ.get("POSENC_STATIC"):
            return data, {}
        live, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return live | data, metadata


def _encode(positions: ArrayLike, figure: Any) -> Floats:
    """Return the rows of positions, by a figure's width and base."""
    places = np.asarray(positions, float)
    width, base = figure.d_model, figure.base
    return posenc.sinusoidal_encoding(places, width, base=base, dtype=float)


class Heatmap(_Figure):
    """The table of an encoding, with one cell explained."""

    d_model = _number("width d", 64, 2, 256, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)
    position = _number("position k", 5, 0, 127)
    dimension = _number("column j", 8, 0, 255)
    parts = ("table",)

    def values(self) -> Values:
        return {"table": _encode(range(self.seq_len), self)}


class Distances(_Figure):
    """How far all positions are from one, as digits and as pairs."""

    position = _number("position k", 12, 0, 62)
    d_model = _number("width d", 12, 4, 64, 2)
    base = _base()

    def values(self) -> Values:
        # Six digits are enough for 64 positions.
        digits, pairs = posenc.binary_encoding(64, 6), _encode(range(64), self)
        here = self.position
        return {
            "digits": np.sqrt((digits != digits[here]).sum(axis=1)),
            "pairs": np.linalg.norm(pairs - pairs[here], axis=1),
        }

    def _plot(self, ax: Axes, values: Values) -> None:
        ax.plot(values["digits"], color=plots.INK, label="as binary digits")
        ax.plot(values["pairs"], color=plots.PAIRS[2], label="as clocks")
        ax.set(xlabel="position", ylabel=f"distance from {self.position}")
        plots.name_above(ax)


class Clocks(_Figure):
    """The clocks of an encoding, running from a position, with sine and cosine of each."""

    position = _number("position k", 5, 0, 255)
    d_model = _number("width d", 16, 2, 16, 2)
    base = _base()
    digits = _choice("binary digits", "off", "on")
    parts = ("hands",)

    def values(self) -> Values:
        row = _encode([self.position], self)[0]
        return {"row": row, "hands": row.reshape(-1, 1, 2)}


class Rotation(_Figure):
    """One clock before and after a shift, from position 0 and from another position."""

    position = _number("position k", 5, 0, 255)
    offset = _number("shift", 3, -64, 64)
    pair = _number("clock i", 1, 0, 7)
    base = _base()
    d_model = 16
    parts = ("hands",)
    colors = (plots.INK, None)

    def values(self) -> Values:
        omega = posenc.angular_frequencies(self.d_model, base=self.base)[self.pair]
        # The hands of the left dial, and those of the right one.
        ends = [0, self.offset, self.position, self.position + self.offset]
        rows = _encode(ends, self).reshape(2, 2, 8, 2)  # by dial, hand and pair
        return {"theta": self.offset * omega, "hands": rows[:, :, self.pair]}


_FILM = json.loads(scripts.FOLDER.joinpath("learning.json").read_text("utf-8"))


class Learning(_Figure):
    """A head that learns to look three words back, recorded every three steps.

    Each frame has, for the four fastest clocks, the turn that the head has learned, as
    (up, right), and the mean weight that a word gives to the words 0 to 7 before it. The
    code is chapter 3's. Each dial has a turn by three words back, and the learned one.
    """

    step = _number("training step", 0, 0, 90, 3)
    parts = ("hands", "plot")
    colors = ("silver", None)

    def values(self) -> Values:
        frame = _FILM[self.step // 3]
        turns = np.array(frame["turns"])
        # A turn that a head asks for strongly has a hand as long as the dial.
        turns /= np.maximum(1, np.linalg.norm(turns, axis=1, keepdims=True))
        meant = posenc.sinusoidal_encoding([-3], 32, dtype=float).reshape(-1, 2)
        return {
            "weights": np.array(frame["weights"]),
            "hands": np.stack([meant[:4], turns], axis=1),
        }

    def _plot(self, ax: Axes, values: Values) -> None:
        ax.bar(range(0, -8, -1), values["weights"], color=plots.INK)
        ax.set(xlabel="word that gets the weight", ylabel="mean weight")
        ax.set_ylim(0, 1)


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

    def _plot(self, ax: Axes, values: Values) -> None:
        products, nearer = values["products"], values["nearer"]
        ax.axhline(products[1], color=plots.INK, linestyle="--", linewidth=1)
        ax.plot(products)
        ax.plot(nearer, products[nearer], "o")
        ax.set(xlabel="offset", ylabel="dot product")


# Variants that are conventions, by their settings; the others are mistakes of the museum.
_CONVENTIONS: dict[str, dict[str, Any]] = {
    "halves": {"layout": "sin, cos"},
    "cosine first": {"layout": "interleaved, cos first"},
    "from 1": {"first": 1},
    "minus 1": {"rule": "d/2 - 1"},
}
_MISTAKES = "all ones", "dimension for pair", "own exponent"


class Switch(_Figure):
    """The paper's table, a variant by convention or by mistake, and their difference."""

    variant = _choice("variant", *_CONVENTIONS, *_MISTAKES)
    d_model = _number("width d", 16, 4, 64, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)
    parts = ("right", "other", "difference")

    def values(self) -> Values:
        size = self.seq_len, self.d_model
        paper = Convention(base=self.base)
        if self.variant in _MISTAKES:
            other = wrong_table(self.variant, *size, self.base)
        else:
            other = replace(paper, **_CONVENTIONS[self.variant]).table(*size)
        right = paper.table(*size)
        return {"right": right, "other": other, "difference": other - right}


_RULES = "as trained", "interpolation", "NTK-aware", "YaRN"


def _scaling(rule: str, trained: int, factor: int) -> dict[str, Any]:
    """Return a rule for longer texts as the ``rope_parameters`` of a configuration."""
    by_parts = {"factor": factor, "original_max_position_embeddings": trained}
    ends = {"low_freq_factor": 1, "high_freq_factor": 4}
    scalings: dict[str, dict[str, Any]] = {
        "as trained": {},
        "interpolation": {"rope_type": "linear", "factor": factor},
        "NTK-aware": {"rope_type": "dynamic", "alpha": factor},
        "YaRN": {"rope_type": "yarn", **by_parts},
        "llama3": {"rope_type": "llama3", **by_parts, **ends},
    }
    return scalings[rule]


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for longer texts."""

    rule = _choice("rule", *_RULES, "llama3")
    factor = _number("factor s", 4, 1, 32)
    d_model = _number("width d", 128, 4, 256, 2)
    base = _base()
    trained = _number("trained length", 4096, 64, 16_384)

    def values(self) -> Values:
        width, base = self.d_model, self.base
        scaling = _scaling(self.rule, self.trained, self.factor)
        plain = posenc.angular_frequencies(width, base=base)
        now, _ = posenc.rotary_frequencies(width, base=base, scaling=scaling)
        # A pair that never finished a turn meets new angles in a longer text, unless it is
        # slowed by as much as the text is longer.
        unfinished = plain * self.trained < 2 * np.pi
        beyond = unfinished & (now * self.factor > plain * (1 + 1e-9))
        return {
            "before": 2 * np.pi / plain,
            "after": 2 * np.pi / now,
            "unfinished": unfinished.sum(),
            "beyond": beyond.sum(),  # pairs that meet angles beyond those of training
        }

    def _plot(self, ax: Axes, values: Values) -> None:
        ax.plot(values["before"], "--", color=plots.INK)
        ax.plot(values["after"], color=plots.INK)
        ax.axhline(self.trained, color=plots.INK, linewidth=1)
        ax.axhline(self.factor * self.trained, color=plots.UNSEEN, linewidth=1)
        ax.set(xlabel="pair", ylabel="wavelength in positions")
        ax.set_yscale("log")


_DISTANCES = np.arange(-60, 61) / 4  # of Turning's curve, in quarter steps


class Turning(_Figure):
    """A query and a key in a sentence: their dials, and the score by distance."""

    query = _number("query k", 6, 0, 15, 1.0)
    key = _number("key m", 1, 0, 15, 1.0)
    method = _choice("positions", "turned", "added", "ALiBi", "none")
    rule = _choice("longer texts", *_RULES)
    base = _base(100.0)
    parts = ("hands", "plot")
    colors = plots.COLORS[:2]

    def values(self) -> Values:
        # The query, the key, and keys at all distances, all the same word.
        places = np.hstack([self.query, self.key, self.query + _DISTANCES])
        vectors = self._vectors(places)
        scores = vectors @ vectors[0]
        if self.method == "ALiBi":  # the slope of the first of eight heads is 1/2
            scores -= abs(places - self.query) / 2
        pairs = vectors[:2].reshape(2, 2, 8)  # (words, right and up, pairs)
        return {
            "shares": pairs.prod(axis=0).sum(axis=0),
            "score": scores[1],
            "curve": scores[2:],
            "hands": pairs.transpose(2, 0, 1)[..., ::-1],
        }

    def _vectors(self, places: Floats) -> Floats:
        """Return a word at each place, (places, 16): right of all pairs, then up of all."""
        words = np.zeros((len(places), 16))
        words[:, :8] = 1
        if self.method == "added":
            add = Convention("cos, sin", base=self.base).encoding(16)
            return add(words, places) / 2  # so that no hand is longer than 1
        if self.method != "turned":
            return words
        # The query has learned to look three words back.
        words[:1] = posenc.rotate_pairs(words[:1], [-3], base=self.base)
        # Trained on eight words, stretched to sixteen.
        scaling = _scaling(self.rule, trained=8, factor=2)
        omega, factor = posenc.rotary_frequencies(16, base=self.base, scaling=scaling)
        turns = posenc.rotary_turns(places, frequencies=omega, attention_factor=factor)
        return posenc.rotate_pairs(words, turns=turns)

    def _plot(self, ax: Axes, values: Values) -> None:
        ax.plot(_DISTANCES, values["curve"], color=plots.INK)
        ax.plot(self.key - self.query, values["score"], "o", color=plots.INK)
        ax.set(xlabel="position of the key minus the query’s", ylabel="score")


class Influence(_Figure):
    """How much each place counts for the last output, through layers of random weights."""

    mask = _choice("mask", "causal", "none")
    depth = _number("layers", 12, 1, 12)
    encoding = _choice("positions", "none", "rotary", "ALiBi", "windows", "hybrid")

    def values(self) -> Values:
        # In times the mean over 128 places; chapter 21 compares it with layers drawn at random.
        influence = 128 * np.eye(128)[-1]
        for layer in reversed(range(self.depth)):
            # Attention adds a seventh, and the residual connection keeps the rest.
            influence = (6 * influence + influence @ self._attention(layer)) / 7
        return {"influence": influence}

    def _attention(self, layer: int) -> Floats:
        """Return the weights of a layer, a mean over heads and random scores: (128, 128)."""
        distances: Floats = abs(np.subtract.outer(range(128), range(128)))
        is_local = self.encoding == "windows"
        if self.encoding == "hybrid":
            is_local = layer % 2 == 0
        seen = distances < (16 if is_local else 128)
        if self.mask == "causal":
            seen = np.tril(seen)
        weights = seen + np.zeros((4, 1, 1))  # of four heads
        if self.encoding == "ALiBi":
            weights *= np.exp(-posenc.alibi_slopes(4)[:, None, None] * distances)
        weights /= weights.sum(axis=2, keepdims=True)
        mean: Floats = weights.mean(axis=0)
        return mean

    def _plot(self, ax: Axes, values: Values) -> None:
        ax.bar(range(128), values["influence"] - 1, 1, bottom=1, color=plots.INK)
        ax.set(xlabel="place", ylabel="times the mean", yscale="log", ylim=0.01)


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
    parts = ("weights", "outputs")

    def values(self) -> Values:
        words = self.order.split()
        weights, outputs = self._attend(words)
        # How far each word's output is from that in the first order, wherever it stands now.
        _, before = self._attend([*_WORDS])
        moved = outputs[[words.index(word) for word in _WORDS]]
        changes = abs(moved - before).max(axis=1)
        return {
            "weights": weights,
            "outputs": outputs,
            "changes": changes,
        }

    def _attend(self, words: list[str]) -> tuple[Floats, Floats]:
        """Return the weights, (3, 3), and the outputs, (3, 4), of words as x and positions."""
        # Queries, keys and values are the words themselves.
        x = np.array([_WORDS[word] for word in words], dtype=float)
        if self.positions == "on":
            x += posenc.sinusoidal_encoding(3, 4, dtype=float)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x

    def _draw(self, figure: Figure, values: Values) -> None:
        super()._draw(figure, values)
        words = self.order.split()
        for ax in figure.axes:
            ax.set_yticks(range(3), words)
            ax.set(xlabel="", ylabel="")
        figure.axes[0].set_xticks(range(3), words)


# By name; each has a script of that name in ``figures``.
FIGURES = {kind.__name__: kind for kind in _Figure.__subclasses__()}

__all__ = [*FIGURES]


def script(*names: str, entries: Sequence[str] = ("jupyter",)) -> str:
    """Return one script that draws the named figures; the modules `entries` show them."""
    fields = {name.lower(): FIGURES[name].fields for name in names}
    return scripts.bundle([*fields, *entries], {"FIELDS": fields, "FRAMES": _FILM})


for _name, _kind in FIGURES.items():
    _kind._esm = script(_name)  # for anywidget
