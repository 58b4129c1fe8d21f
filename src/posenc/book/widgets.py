"""Live figures, as Jupyter widgets.

A script draws them in Jupyter and on the website. Python defines the controls and their limits,
computes what is shown (``values()``), and draws it for readers without JavaScript (``picture()``).
Arguments can be read and set by name; wrong ones raise TypeError or ValueError. With
``POSENC_STATIC`` set, only the picture is shown: a notebook outlives the kernel of a widget.
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
from numpy.typing import ArrayLike, NDArray

import posenc
from posenc._validate import check_d_model, check_int, check_real
from posenc.book import plots
from posenc.conventions import Convention
from posenc.museum import wrong_table

MIME = "application/vnd.posenc.figure+json"  # of kind and state, beside a picture in a notebook
Floats = NDArray[np.float64]


class Field(traitlets.TraitType[Any, Any]):
    """An argument, with the control's limits: `options`, or `min` and `max`, or `below` another."""

    def __init__(
        self,
        label: str,
        default: Any,
        *,
        below: Field | None = None,
        parts: int = 1,
        **limits: Any,
    ) -> None:
        super().__init__(default)
        self.label, self.below, self.parts = label, below, parts
        if below:
            limits = {"min": 0, "max": below.limits["max"] // parts - 1}
        self.limits: dict[str, Any] = (
            limits if "options" in limits else {"step": 1} | limits
        )
        self.tag(sync=True)

    def control(self) -> dict[str, Any]:
        """Return what the script needs to know."""
        known = {"label": self.label, "initial": self.default_value, **self.limits}
        return known | (
            {"below": self.below.name, "parts": self.parts} if self.below else {}
        )

    def top(self, figure: Any) -> int:
        """Return the upper limit in a figure's state."""
        if self.below:
            return int(getattr(figure, str(self.below.name))) // self.parts - 1
        return int(self.limits["max"])

    def validate(self, obj: Any, value: Any) -> Any:
        """Return `value` if it is one of the options, or a number that isn't too low."""
        name, limits = str(self.name), self.limits
        if value in (options := limits.get("options", ())):
            return value
        if options:
            raise ValueError(
                f"{name} must be one of {', '.join(options)}, got {value!r}"
            )
        is_real = limits["step"] != int(limits["step"])
        number = check_real(name, value) if is_real else check_int(name, value)
        if number < limits["min"]:
            raise ValueError(f"{name} must be at least {limits['min']}, got {value!r}")
        return check_d_model(number) if limits["step"] == 2 else number

    def _cross_validate(self, obj: Any, value: Any) -> Any:
        """Check the upper limit, once all arguments are set."""
        if "options" in self.limits or value <= (most := self.top(obj)):
            return value
        raise ValueError(f"{self.name} must be at most {most}, got {value!r}")


def _base(low: int = 1) -> Field:
    """Return a field for a base of at most a million, with a logarithmic control."""
    return Field("base n", 10_000.0, min=low, max=1_000_000, step=0.25, log=True)


class _Figure(anywidget.AnyWidget):
    """Each has fields, `values` as in the script, with directions of hands, and `_draw`."""

    _kind = traitlets.Unicode().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        if unknown := state.keys() - self._arguments().keys():
            raise TypeError(
                f"{type(self).__name__} has no argument {', '.join(sorted(unknown))}"
            )
        super().__init__(_kind=type(self).__name__.lower(), **state)

    def open(self) -> None:
        """Announce the widget to the browser, unless static; called by ipywidgets."""
        if not os.environ.get("POSENC_STATIC"):
            super().open()

    @classmethod
    def _arguments(cls) -> dict[str, Any]:
        traits = (item for owner in cls.__mro__ for item in vars(owner).items())
        return {name: field for name, field in traits if isinstance(field, Field)}

    @traitlets.observe(traitlets.All)
    def _shrink(self, change: Any) -> None:
        for name, field in self._arguments().items():
            if field.below and field.below.name == change.name:
                setattr(self, name, min(getattr(self, name), field.top(self)))

    def state(self) -> dict[str, Any]:
        """Return the figure's state, as the arguments that recreate it."""
        return {name: getattr(self, name) for name in self._arguments()}

    def picture(self) -> str:
        """Return a picture of the state, as SVG in the book's style."""
        with mpl.rc_context():
            plots.use_style()
            figure, svg = Figure(), StringIO()
            self._draw(figure, **self.values())
            figure.savefig(svg, format="svg", metadata={"Date": None})
        return svg.getvalue()

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}={value!r}" for name, value in self.state().items()
        )
        return f"{type(self).__name__}({arguments})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        figure = {"kind": type(self).__name__, "state": self.state()}
        data = {"text/plain": repr(self), "image/svg+xml": self.picture(), MIME: figure}
        if os.environ.get("POSENC_STATIC"):
            return data, {}
        live, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return live | data, metadata


class Heatmap(_Figure):
    """The table of an encoding, with one cell explained."""

    d_model: Field = Field("width d", 64, min=2, max=256, step=2)
    base: Field = _base()
    seq_len: Field = Field("length L", 64, min=2, max=128)
    position: Field = Field("position k", 5, below=seq_len)
    dimension: Field = Field("dimension j", 8, below=d_model)

    def values(self) -> dict[str, Any]:
        return {"table": _encode(range(self.seq_len), self)}

    def _draw(self, figure: Figure, table: Floats) -> None:
        ax = plots.heatmap(table, figure.subplots()).axes
        corner = (self.dimension - 0.5, self.position - 0.5)
        for color, linewidth in (("black", 4), ("white", 1.5)):
            ax.add_patch(
                Rectangle(
                    corner, 1, 1, fill=False, edgecolor=color, linewidth=linewidth
                )
            )


class Curves(_Figure):
    """Sine and cosine of three pairs over positions; fewer if the pairs run out."""

    d_model: Field = Field("width d", 64, min=2, max=256, step=2)
    base: Field = _base()
    seq_len: Field = Field("length L", 64, min=2, max=128)
    pair: Field = Field("first pair i", 0, below=d_model, parts=2)
    stride: Field = Field("pairs apart", 4, min=1, max=32)

    def values(self) -> dict[str, Any]:
        pairs = np.arange(self.pair, self.d_model // 2, self.stride)[:3]
        lengths = posenc.wavelengths(self.d_model, base=self.base)[pairs]
        parts = 2 if self.seq_len > 64 else 4
        points = np.arange(parts * (self.seq_len - 1) + 1) / parts
        sines, cosines = (
            _encode(points, self).T.reshape(-1, 2, len(points))[pairs].swapaxes(0, 1)
        )
        waves = {"sines": sines, "cosines": cosines}
        return {"pairs": pairs, "wavelengths": lengths, "points": points, **waves}

    def _draw(self, figure: Figure, points: Floats, **values: Any) -> None:
        ax, lines = figure.subplots(), zip(*values.values(), strict=True)
        for (pair, turn, sine, cosine), color in zip(lines, plots.COLORS, strict=False):
            label = f"pair {pair}: wavelength {turn:.2f} positions"
            ax.plot(points, sine, color=color, label=label)
            ax.plot(points, cosine, "--", color=color)
        ax.set(xlabel="position", ylabel="value")
        figure.legend(loc="outside upper left")


class Clock(_Figure):
    """One position: a clock hand for each pair, and its binary digits."""

    d_model: Field = Field("width d", 32, min=2, max=32, step=2)
    base: Field = _base()
    position: Field = Field("position k", 5, min=0, max=255)

    def values(self) -> dict[str, Any]:
        row = _encode([self.position], self)[0]
        return {
            "row": row,
            "bits": posenc.binary_encoding([self.position], 8)[0],
            "hands": row,
        }

    def _draw(self, figure: Figure, bits: Any, hands: Floats, row: Floats) -> None:
        ax = figure.subplots()
        for pair, hand in enumerate(hands.reshape(-1, 2)):
            down, right = divmod(pair, 8)
            _circle(ax, (3 * right, -3.4 * down), {plots.COLORS[0]: hand}, f"{pair}")
        bottom = -3.4 * (down + 1) + 0.4
        for bit, digit in enumerate(bits):
            ax.text(3 * bit, bottom, f"{digit}", ha="center", va="center", size="large")
            ax.text(
                3 * bit, bottom - 1.2, f"{2**bit}", ha="center", va="center", alpha=0.7
            )
        ax.set(xlim=(-1.5, 22.5), ylim=(bottom - 2, 1.2))


class Clocks(_Figure):
    """The clocks of an encoding, running from a position, with sine and cosine of each."""

    d_model: Field = Field("width d", 16, min=2, max=16, step=2)
    base: Field = _base()
    position: Field = Field("position k", 5, min=0, max=255)

    def values(self) -> dict[str, Any]:
        row = _encode([self.position], self)[0]
        turns = posenc.wavelengths(self.d_model, base=self.base)
        return {"row": row, "wavelengths": turns, "hands": row}

    def _draw(self, figure: Figure, hands: Floats, **values: Any) -> None:
        figure.set_size_inches(7, 1.6)
        ax = figure.subplots()
        for pair, hand in enumerate(hands.reshape(-1, 2)):
            label = "\n".join([f"clock {pair}", *map(_rounded, hand)])
            _circle(ax, (2.6 * pair, 0), {plots.COLORS[0]: hand}, label)
        ax.set(xlim=(-1.4, 19.6), ylim=(-2.7, 1.2))


class Rotation(_Figure):
    """One pair before and after a shift, from position 0 and from another position."""

    d_model: Field = Field("width d", 16, min=2, max=256, step=2)
    base: Field = _base()
    pair: Field = Field("pair i", 1, below=d_model, parts=2)
    position: Field = Field("position k", 5, min=0, max=255)
    offset: Field = Field("offset φ", 3, min=-64, max=64)

    def values(self) -> dict[str, Any]:
        ends = [0, self.offset, self.position, self.position + self.offset]
        hands = _encode(ends, self)[:, 2 * self.pair : 2 * self.pair + 2]
        theta = (
            self.offset
            * posenc.angular_frequencies(self.d_model, base=self.base)[self.pair]
        )
        return {"theta": theta, "from": hands[2], "to": hands[3], "hands": hands}

    def _draw(self, figure: Figure, theta: float, hands: Floats, **values: Any) -> None:
        ax, both = figure.subplots(), hands.reshape(2, 2, 2)
        for center, start, pair in zip(
            (-1.6, 1.6), (0, self.position), both, strict=True
        ):
            ends = dict(zip((plots.COLORS[1], plots.COLORS[0]), pair, strict=True))
            _circle(ax, (center, 0), ends, f"{start} to {start + self.offset}")
            share = np.linspace(0, 1, 201)
            angle = np.arctan2(*pair[0]) + share * theta
            x, y = (0.35 + 0.4 * share) * [np.cos(angle), np.sin(angle)]
            ax.plot(center + x, y, color=plots.INK, linewidth=1)


class Kernel(_Figure):
    """The dot product of two encodings by offset, and the offsets that look nearer than 1."""

    d_model: Field = Field("width d", 8, min=2, max=128, step=2)
    base: Field = _base()
    seq_len: Field = Field("length L", 128, min=8, max=256)
    offset: Field = Field("offset φ", 63, below=seq_len)

    def values(self) -> dict[str, Any]:
        products = posenc.offset_kernel(
            np.arange(self.seq_len), self.d_model, base=self.base
        )
        order = np.argsort(-products)
        nearer = order[(order > 1) & (products[order] > products[1])]
        return {"products": products, "nearer": nearer}

    def _draw(self, figure: Figure, products: Floats, nearer: Any) -> None:
        ax, nearer = figure.subplots(), np.sort(nearer)
        ax.axhline(products[1], color=plots.INK, linestyle="--", linewidth=1)
        ax.plot(products)
        ax.plot(nearer, products[nearer], "o", color=plots.COLORS[1])
        ax.plot(
            self.offset, products[self.offset], "o", mfc="none", mec=plots.INK, ms=11
        )
        ax.set(
            xlabel="offset",
            ylabel="product",
            ylim=(-self.d_model / 2, self.d_model / 1.8),
        )


_VARIANTS: dict[
    str, tuple[str, dict[str, Any]]
] = {  # what it is, and its convention if it has one
    "halves": ("sines first, then cosines", {"layout": "sin, cos"}),
    "cosine first": ("cosine before sine", {"layout": "interleaved, cos first"}),
    "from 1": ("positions counted from 1", {"first": 1}),
    "minus 1": ("exponent i/(d/2 − 1)", {"rule": "d/2 - 1"}),
    "all ones": ("exponent 0", {}),
    "dimension for pair": ("exponent 2j/d, with the dimension j", {}),
    "own exponent": ("exponent j/d, with the dimension j", {}),
}


class Switch(_Figure):
    """The paper's table, a variant by convention or by mistake, and their difference."""

    d_model: Field = Field("width d", 16, min=4, max=64, step=2)
    base: Field = _base()
    seq_len: Field = Field("length L", 64, min=2, max=128)
    variant: Field = Field(
        "variant",
        "halves",
        options={name: says for name, (says, _) in _VARIANTS.items()},
    )

    def values(self) -> dict[str, Any]:
        size = self.seq_len, self.d_model
        if given := _VARIANTS[self.variant][1]:
            right, other = (
                Convention(base=self.base, **k).table(*size) for k in ({}, given)
            )
        else:
            right = _encode(range(self.seq_len), self)
            other = wrong_table(self.variant, *size, self.base)
        return {"right": right, "other": other, "difference": other - right}

    def _draw(self, figure: Figure, **values: Any) -> None:
        titles = ("the paper's", "the variant", "difference")
        for ax, title, table in zip(
            figure.subplots(1, 3), titles, values.values(), strict=True
        ):
            limit = 2 if title == "difference" else 1
            ylabel = "position" if ax.get_subplotspec().is_first_col() else ""
            plots.heatmap(
                table, ax, limit=limit, title=title, ylabel=ylabel, colorbar=False
            )


_RULES = {
    "as trained": "The frequencies of training",
    "interpolation": "Interpolation: every frequency divided by s",
    "NTK-aware": "the base times s^(d/(d − 2))",
    "llama3": "llama3: by parts, over the turns of a pair",
    "YaRN": "YaRN: by parts, over the number of a pair",
}


def _stretched(
    rule: str, d_model: int, base: float, *, trained: int, factor: int
) -> tuple[Floats, float]:
    """Return the frequencies by a rule of `_RULES`, and the attention factor."""
    by_parts = {"factor": factor, "original_max_position_embeddings": trained}
    scaling: dict[str, dict[str, Any]] = {
        "interpolation": {"rope_type": "linear", "factor": factor},
        "llama3": {
            "rope_type": "llama3",
            "low_freq_factor": 1,
            "high_freq_factor": 4,
            **by_parts,
        },
        "YaRN": {"rope_type": "yarn", **by_parts},
    }
    if rule == "NTK-aware":
        base *= factor ** (d_model / (d_model - 2))
    return posenc.rotary_frequencies(d_model, base=base, scaling=scaling.get(rule))


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for a longer text."""

    d_model: Field = Field("width d", 128, min=4, max=256, step=2)
    base: Field = _base(10)
    trained: Field = Field("trained length", 4096, min=64, max=16_384)
    factor: Field = Field("factor s", 4, min=1, max=32)
    rule: Field = Field("rule", "as trained", options=_RULES)

    def values(self) -> dict[str, Any]:
        factor, size = self.factor, {"trained": self.trained, "factor": self.factor}
        plain = posenc.angular_frequencies(self.d_model, base=self.base)
        now, _ = _stretched(self.rule, self.d_model, self.base, **size)
        unfinished = plain * self.trained < 2 * np.pi
        new = unfinished & (
            now * factor > plain * (1 + 1e-9)
        )  # meet angles beyond training
        lengths = {"before": 2 * np.pi / plain, "after": 2 * np.pi / now}
        return lengths | {"unfinished": unfinished.sum(), "beyond": new.sum()}

    def _draw(
        self, figure: Figure, before: Floats, after: Floats, **values: Any
    ) -> None:
        ax = figure.subplots()
        ax.plot(before, "--", after, "-", color=plots.COLORS[0])
        ax.axhline(self.trained, color=plots.INK, linewidth=1)
        ax.axhline(self.factor * self.trained, color=plots.COLORS[1], linewidth=1)
        ax.set(yscale="log", xlabel="pair", ylabel="wavelength in positions")


_METHODS = {
    "none": "No encoding",
    "added": "Encodings added",
    "rotary": "Both turned",
    "ALiBi": "A quarter less per position",
}


class Score(_Figure):
    """The score of a query and a key of width 2, by their positions."""

    query: Field = Field("query k", 5, min=0, max=15)
    key: Field = Field("key m", 2, min=0, max=15)
    method: Field = Field("encoding", "rotary", options=_METHODS)

    def values(self) -> dict[str, Any]:
        k, m, positions = self.query, self.key, np.arange(17)[:, None]
        angles = np.array([0.6, 2.6]) + (self.method == "rotary") * positions
        added = np.exp(1j * positions) * (self.method == "added")
        queries, keys = (np.exp(1j * angles) + added).T
        scores = (queries[:, None] * keys.conj()).real
        scores -= (self.method == "ALiBi") * abs(positions - positions.T) / 4
        return {
            "scores": scores[:16, :16],
            "limit": 4 if self.method in ("added", "ALiBi") else 1,
            "score": scores[k, m],
            "together": scores[k + 1, m + 1],
            "alone": scores[k, m + 1],
            "hands": [[z.imag, z.real] for z in (queries[k], keys[m])],
        }

    def _draw(
        self, figure: Figure, scores: Floats, limit: int, hands: Any, **values: Any
    ) -> None:
        left, right = figure.subplots(1, 2)
        label = f"query at {self.query}, key at {self.key}"
        _circle(left, (0, 0), dict(zip(plots.COLORS, hands, strict=False)), label)
        plots.heatmap(
            scores, right, limit=limit, xlabel="key position", ylabel="query position"
        )
        right.plot(self.key, self.query, "o", mfc="none", mec="black", ms=9)


class Turning(_Figure):
    """A query and a key in a sentence: their hands, and the score between them."""

    query: Field = Field("query k", 6, min=0, max=15, step=0.25)
    key: Field = Field("key m", 1, min=0, max=15, step=0.25)
    method: Field = Field(
        "positions",
        "turned",
        options=dict.fromkeys(("turned", "added", "ALiBi", "none"), ""),
    )
    rule: Field = Field(
        "longer texts",
        "as trained",
        options={
            name: _RULES[name]
            for name in ("as trained", "interpolation", "NTK-aware", "YaRN")
        },
    )
    base: Field = Field("base n", 100.0, min=10, max=1_000_000, step=0.25, log=True)

    def values(self) -> dict[str, Any]:
        distances = np.arange(-60, 61) / 4
        places = [self.query, self.key, *(self.query + distances)]
        vectors = self._vectors(places)
        scores = vectors @ vectors[0]
        scores -= (self.method == "ALiBi") * abs(np.subtract(places, self.query)) / 2
        shares = (vectors[0] * vectors[1]).reshape(8, 2).sum(axis=1)
        return {
            "shares": shares,
            "score": scores[1],
            "curve": scores[2:],
            "hands": vectors[:2].reshape(2, 8, 2).swapaxes(0, 1)[..., ::-1],
        }

    def _vectors(self, places: list[float]) -> Floats:
        """Return a word at each place, its pairs as (right, up): shape (places, 16)."""
        words = np.tile([1.0, 0.0], (len(places), 8))
        if self.method == "turned":
            omega, factor = _stretched(self.rule, 16, self.base, trained=8, factor=2)
            scaled = {"frequencies": omega, "attention_factor": factor}
            return posenc.rotate_pairs(words, places, pairing="neighbors", **scaled)
        if self.method == "added":
            clocks = posenc.sinusoidal_encoding(places, 16, base=self.base, dtype=float)
            return (words + clocks.reshape(-1, 8, 2)[..., ::-1].reshape(-1, 16)) / 2
        return words

    def _draw(
        self, figure: Figure, curve: Floats, hands: Floats, **values: Any
    ) -> None:
        dials, ax = figure.subplots(2, 1)
        for pair, both in enumerate(hands):
            _circle(
                dials, (2.6 * pair, 0), dict(zip(plots.COLORS, both, strict=False)), ""
            )
        ax.plot(np.arange(-60, 61) / 4, curve, color=plots.INK)
        distance = self.key - self.query
        ax.plot(distance, values["score"], "o", color=plots.INK)
        ax.set(xlabel="key position minus query position", ylabel="score")


_WORDS = {"dog": (2, 0, 0, 1), "bites": (0, 1, 1, 0), "man": (1, 1, 0, 0)}
_ORDERS = [" ".join(words) for words in itertools.permutations(_WORDS)]


class Words(_Figure):
    """Attention over three words in any order, with encodings added or not."""

    order: Field = Field("order", _ORDERS[0], options=dict.fromkeys(_ORDERS, ""))
    positions: Field = Field("positions", "off", options={"off": "", "on": ""})

    def values(self) -> dict[str, Any]:
        words = self.order.split()
        (weights, outputs), (_, before) = self._attend(words), self._attend([*_WORDS])
        moved = outputs[[words.index(word) for word in _WORDS]]
        return {
            "weights": weights,
            "outputs": outputs,
            "changes": abs(moved - before).max(axis=1),
        }

    def _attend(self, words: list[str]) -> tuple[Floats, Floats]:
        x = np.array([_WORDS[word] for word in words], dtype=float)
        if self.positions == "on":
            x += posenc.sinusoidal_encoding(3, 4, dtype=np.float64)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x

    def _draw(self, figure: Figure, **values: Any) -> None:
        words = self.order.split()
        for ax, name, limit in zip(
            figure.subplots(1, 2), values, (1.7, 5), strict=False
        ):
            labels = {"title": name, "xlabel": "", "ylabel": ""}
            plots.heatmap(values[name], ax, limit=limit, colorbar=False, **labels)
            ax.set_yticks(range(3), words)
            ax.set_xticks(*((range(3), words) if name == "weights" else ([],)))
            for (row, column), value in np.ndenumerate(values[name]):
                ax.text(
                    column,
                    row,
                    _rounded(value),
                    ha="center",
                    va="center",
                    color="black",
                )


# By name; each has a script of that name in ``figures``.
FIGURES = {kind.__name__: kind for kind in _Figure.__subclasses__()}

__all__ = [*FIGURES]


# Files that a figure's script needs, besides its own.
_SHARED = {
    "Heatmap": ("map",),
    "Score": ("map",),
    "Stretch": ("scaling",),
    "Turning": ("motion", "scaling"),
}


def script(*names: str) -> str:
    """Return the JavaScript module that draws the named figures: limits, colors and files."""
    folder = Path(__file__).with_name("figures")
    colors = map(
        mpl.colors.to_hex, mpl.colormaps[plots.DIVERGING].resampled(11)(range(11))
    )
    fields = {name.lower(): FIGURES[name]._arguments().items() for name in names}
    controls = {
        kind: {key: each.control() for key, each in of} for kind, of in fields.items()
    }
    given: dict[str, Any] = {
        "FIELDS": controls,
        "DARK_MAP": plots.DARK_MAP,
        "LINES": plots.COLORS,
        "PAIRS": plots.PAIRS,
        "MAP": [int(color[1:], 16) for color in colors],
        "STYLE": (folder / "figures.css").read_text(encoding="utf-8"),
    }
    consts = (f"const {k} = {json.dumps(v)};\n" for k, v in given.items())
    shared = {file for name in names for file in _SHARED.get(name, ())}
    files = ("encoding", "drawing", *sorted(shared), *controls, "page")
    parts = ((folder / f"{name}.js").read_text(encoding="utf-8") for name in files)
    return "\n".join([*consts, *parts])


for _name, _kind in FIGURES.items():
    _kind._esm = script(_name)  # for anywidget
    _kind.__doc__ = f"{_kind.__doc__}\n\nArguments: {', '.join(_kind._arguments())}."


def _encode(positions: ArrayLike, figure: Any) -> Floats:
    """Return the rows of positions, by a figure's width and base."""
    points = np.asarray(positions, float)
    return posenc.sinusoidal_encoding(
        points, figure.d_model, base=figure.base, dtype=np.float64
    )


def _rounded(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _circle(
    ax: Axes, center: tuple[float, float], hands: dict[str, Any], label: str
) -> None:
    """Draw a circle with hands, each (up, right) by color, in a plane without axes."""
    x, y = center
    ax.set_aspect("equal")
    ax.axis("off")
    ax.add_patch(Circle(center, 1, fill=False, edgecolor=plots.INK, alpha=0.5))
    for color, (up, right) in hands.items():
        ax.plot([x, x + right], [y, y + up], color=color, linewidth=2.5)
    ax.text(x, y - 1.2, label, ha="center", va="top")
