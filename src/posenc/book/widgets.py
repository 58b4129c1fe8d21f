"""Live figures, as Jupyter widgets.

A script of the folder ``figures`` draws each of them, on the website and in Jupyter. Python
has its fields with their limits, which traitlets checks and raises TraitError, and the values that
tests hold the script to: a number that both of them write, as ``HEAD`` in ``attention.js``, fails
``tests/test_figures.py`` where they differ. Readers without JavaScript get a still picture,
which the script has drawn: ``make stills`` stores one for each state that a chapter shows. With
``POSENC_STATIC`` set, it alone is shown: a stored notebook outlives the kernel of a widget.

To add a figure:

1. Write a subclass of `_Figure` here: its fields (`_number`, `_base`, `_choice`), and `values`.
   Its name has one capital, the first letter. The last word of a label is the letter that
   formulas have for it ("width d"): it lights up with its number.
2. Write ``figures/<name in lowercase>.js``, which sets ``FIGURES.<name in lowercase>``; what it is
   made of is said in ``figure.js``. Its ``compute`` returns at least `values`, key by key. Only
   ``hands`` are never compared with what it has of that name, but with the lines of the class
   ``hand``.
3. What only it needs of styles is in ``figures/<name in lowercase>.css``.
4. Run a chapter that shows it, then ``make stills``, and the chapter again.
"""

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

import posenc
from posenc.book import scripts
from posenc.book.hunt import wrong_table
from posenc.conventions import Convention

# Of kind and state, beside a stored picture.
MIME = "application/vnd.posenc.figure+json"
Numbers = NDArray[Any]
# What is drawn, by the names that scripts have for it. "hands" are those of dials, as (up, right):
# (dials, hands of each, 2).
Values = dict[str, Any]
STILLS = Path(__file__).with_name("stills")  # drawings of figures


def _number(
    label: str,
    initial: float,
    low: int,
    high: int,
    step: float = 1,
    kind: Any = traitlets.Int,
    **more: Any,
) -> Any:
    """Return a field between two limits, which the script keeps at steps from the lower one."""
    limits = {"min": low, "max": high}
    field = {"label": label, "initial": initial, **limits, "step": step, **more}
    return kind(initial, **limits).tag(sync=True, field=field)


def _base(initial: float = 10_000.0) -> Any:
    """Return a base, which a slider moves by quarter powers of ten."""
    return _number("base n", initial, 10, 1_000_000, 0.25, traitlets.Float, log=True)


def _choice(label: str, *options: str) -> Any:
    """Return a field that is one of the options, the first by default."""
    field = {"label": label, "initial": options[0], "options": options}
    return traitlets.Enum(options, options[0]).tag(sync=True, field=field)


class _Figure(anywidget.AnyWidget):
    """A figure has fields, and `values`, which its script computes, too."""

    fields: ClassVar[dict[str, Any]] = {}  # by name; `Field` in figure.js

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # As `Field` of figure.js. Not by `class_traits`, which sorts them: controls have the
        # order of the class.
        cls.fields = cls.fields | {
            name: trait.metadata["field"]
            for name, trait in vars(cls).items()
            if "field" in getattr(trait, "metadata", ())
        }

    def __init__(self, **state: Any) -> None:
        if unknown := state.keys() - self.fields:
            raise TypeError(f"{type(self).__name__} has no argument {min(unknown)}")
        super().__init__(**state)

    @property
    def _esm(self) -> str:
        """Return the script, for anywidget."""
        return script(type(self).__name__)

    def state(self) -> Values:
        """Return the arguments that recreate the figure."""
        return {name: getattr(self, name) for name in self.fields}

    def values(self) -> Values:
        """Return what is drawn, by the names that the script has for it."""
        raise NotImplementedError

    def still(self) -> Path:
        """Return the file with the script's drawing of this state, which `make stills` draws."""
        name = type(self).__name__
        for field, value in self.state().items():
            if value != self.fields[field]["initial"]:
                name += f"-{field}-{value}"
        return STILLS / f"{name.replace(' ', '-')}.svg"

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state().items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        data = {
            "text/plain": repr(self),
            MIME: {"kind": type(self).__name__, "state": self.state()},
        }
        still = self.still()
        if still.exists():
            data["image/svg+xml"] = still.read_text("utf-8")
        if os.environ.get("POSENC_STATIC"):
            return data, {}
        live, metadata = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return live | data, metadata


def _encode(positions: ArrayLike, figure: Any) -> Numbers:
    """Return the rows of positions, by a figure's width and base."""
    return posenc.sinusoidal_encoding(
        positions, figure.d_model, base=figure.base, dtype=float
    )


class Heatmap(_Figure):
    """The table of an encoding, with one cell explained."""

    d_model = _number("width d", 64, 2, 256, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)
    position = _number("position k", 5, 0, 127)
    dimension = _number("column j", 8, 0, 255)

    def values(self) -> Values:
        return {"table": _encode(range(self.seq_len), self)}


class Distances(_Figure):
    """How far all positions are from one, as digits and as pairs."""

    position = _number("position k", 12, 0, 62)
    d_model = _number("width d", 12, 4, 64, 2)
    base = _base()

    def values(self) -> Values:
        tables = {
            # Six digits are enough for 64 positions.
            "digits": posenc.binary_encoding(64, 6).astype(float),
            "pairs": _encode(range(64), self),
        }
        return {
            name: np.linalg.norm(table - table[self.position], axis=1)
            for name, table in tables.items()
        }


class Clocks(_Figure):
    """The clocks of an encoding, running from a position, with sine and cosine of each."""

    position = _number("position k", 5, 0, 255)
    d_model = _number("width d", 16, 2, 16, 2)
    base = _base()
    digits = _choice("binary digits", "off", "on")

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

    def values(self) -> Values:
        omega = posenc.angular_frequencies(self.d_model, base=self.base)
        # The hands of the left dial, and those of the right one.
        ends = [0, self.offset, self.position, self.position + self.offset]
        rows = _encode(ends, self).reshape(2, 2, 8, 2)  # by dial, hand and pair
        theta = self.offset * omega[self.pair]
        return {"theta": theta, "hands": rows[:, :, self.pair]}


_FILM = json.loads(scripts.FOLDER.joinpath("learning.json").read_text("utf-8"))


class Learning(_Figure):
    """A head that learns to look three words back, recorded every three steps.

    Each frame has, for the four fastest clocks, the turn that the head has learned, as
    (up, right), and the mean weight that a word gives to the words 0 to 7 before it. The
    code is chapter 3's. Each dial has a turn by three words back, and the learned one.
    """

    step = _number("training step", 0, 0, 90, 3)

    def values(self) -> Values:
        frame = _FILM[self.step // 3]
        turns = np.array(frame["turns"])
        # A turn that a head asks for strongly has a hand as long as the dial.
        turns /= np.maximum(1, np.linalg.norm(turns, axis=1, keepdims=True))
        meant = posenc.sinusoidal_encoding([-3], 32, dtype=float).reshape(-1, 2)[:4]
        return {
            "weights": frame["weights"],
            "hands": np.stack([meant, turns], axis=1),
        }


class Kernel(_Figure):
    """The dot product of two encodings by offset; which offsets look nearer than 1."""

    base = _base()
    d_model = _number("width d", 8, 2, 128, 2)
    offset = _number("offset", 63, 0, 127)

    def values(self) -> Values:
        products = posenc.offset_kernel(range(128), self.d_model, base=self.base)
        # The nearest first; offset 0 is left out.
        nearest = np.argsort(-products)[1:]
        return {
            "products": products,
            "nearer": nearest[products[nearest] > products[1]],
        }


# Variants that are conventions; the others are mistakes of the museum.
_CONVENTIONS = {
    "halves": Convention("sin, cos"),
    "cosine first": Convention("interleaved, cos first"),
    "from 1": Convention(first=1),
    "minus 1": Convention(rule="d/2 - 1"),
}
_MISTAKES = "all ones", "dimension for pair", "own exponent"


class Switch(_Figure):
    """The paper's table, a variant by convention or by mistake, and their difference."""

    variant = _choice("variant", *_CONVENTIONS, *_MISTAKES)
    d_model = _number("width d", 16, 4, 64, 2)
    base = _base()
    seq_len = _number("length L", 64, 2, 128)

    def values(self) -> Values:
        size = self.seq_len, self.d_model
        right = Convention(base=self.base).table(*size)
        if self.variant in _MISTAKES:
            other = wrong_table(self.variant, *size, self.base)
        else:
            other = replace(_CONVENTIONS[self.variant], base=self.base).table(*size)
        return {"right": right, "other": other, "difference": other - right}


_RULES = "as trained", "interpolation", "NTK-aware", "YaRN"


def _stretched(figure: Any) -> tuple[Numbers, float]:
    """Return the frequencies by a figure's rule for longer texts, and the attention factor."""
    factor = figure.factor
    by_parts = {"factor": factor, "original_max_position_embeddings": figure.trained}
    ends = {"low_freq_factor": 1, "high_freq_factor": 4}
    scalings: dict[str, dict[str, Any]] = {
        "as trained": {},
        "interpolation": {"rope_type": "linear", "factor": factor},
        "NTK-aware": {"rope_type": "dynamic", "alpha": factor},
        "YaRN": {"rope_type": "yarn", **by_parts},
        "llama3": {"rope_type": "llama3", **by_parts, **ends},
    }
    scaling = scalings[figure.rule]
    return posenc.rotary_frequencies(figure.d_model, base=figure.base, scaling=scaling)


class Stretch(_Figure):
    """The wavelengths of a rotary encoding, as trained and stretched for longer texts."""

    rule = _choice("rule", *_RULES, "llama3")
    factor = _number("factor s", 4, 1, 32)
    d_model = _number("width d", 128, 4, 256, 2)
    base = _base()
    trained = _number("trained length", 4096, 64, 16_384)

    def values(self) -> Values:
        plain = posenc.angular_frequencies(self.d_model, base=self.base)
        now, _ = _stretched(self)
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


class Turning(_Figure):
    """A query, *ran*, and a key, *dog*: the score of a key at each place, and their dials."""

    query = _number("query k", 6, 0, 15)
    key = _number("key m", 1, 0, 15)
    method = _choice("positions", "turned", "added", "ALiBi", "none")
    rule = _choice("longer texts", *_RULES)
    base = _base(100.0)
    # As `HEAD` in attention.js
    d_model = 16
    trained = 8
    factor = 2

    def values(self) -> Values:
        shares = self._shares_at(np.arange(16))
        # The landscape: from one end to three places beyond the other, in halves of a step
        around = self._shares_at(self.query + np.arange(-18.5, 19, 0.5))
        hands = self._hands(np.array([self.query, self.key])).T
        return {
            "shares": shares[self.key],
            "row": shares.sum(axis=1),
            # Of the slowest pair alone, the slowest two, and so on: (keys, pairs)
            "layers": around[:, ::-1].cumsum(axis=1),
            # By dial, and then by hand, as (up, right): the key's is longer.
            "hands": np.stack([hands.imag, hands.real], axis=2) * [[0.65], [0.9]],
        }

    def _shares_at(self, places: Numbers) -> Numbers:
        """Return what each pair adds to the score of keys at places: (keys, pairs)."""
        query, *keys = self._hands(np.array([self.query, *places]))
        # Right times right, and up times up
        shares: Numbers = (query.conj() * keys).real
        if self.method == "ALiBi":
            # The slope of the first of eight heads is 1/2; each of eight pairs bears its part.
            shares -= abs(places - self.query)[:, None] / 16
        return shares

    def _hands(self, places: Numbers) -> Numbers:
        """Return the query's hands at the first place and keys' at the others: (places, pairs).

        A hand is the number right + up * i: a word's hands are 1, and exp(0.5i) is turned by half
        a radian.
        """
        omega = posenc.angular_frequencies(self.d_model, base=self.base)
        clocks = np.exp(1j * np.outer(places, omega))
        if self.method == "added":
            return (1 + clocks) / 2  # so that no hand is longer than 1
        if self.method != "turned":
            return np.ones_like(clocks)
        # Trained on eight words, stretched to sixteen.
        stretched, factor = _stretched(self)
        hands = factor * np.exp(1j * np.outer(places, stretched))
        # By training, the query looks three words back.
        hands[0] *= np.exp(-3j * omega)
        return hands


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

    def _attention(self, layer: int) -> Numbers:
        """Return the weights of a layer, a mean over heads and random scores: (128, 128)."""
        is_hybrid = self.encoding == "hybrid" and layer % 2 == 0
        # How many places a query sees before and after its own
        before = 15 if is_hybrid or self.encoding == "windows" else 127
        after = 0 if self.mask == "causal" else before
        seen = np.tri(128, 128, after) - np.tri(128, 128, -before - 1)
        scores = np.zeros((4, 128, 128))  # of four heads
        if self.encoding == "ALiBi":
            scores += posenc.alibi_bias(4, 128)
        weights = seen * np.exp(scores)
        weights /= weights.sum(axis=2, keepdims=True)
        mean: Numbers = weights.mean(axis=0)
        return mean


_WORDS = {
    "dog": (2, 0, 0, 1),
    "bites": (0, 1, 1, 0),
    "man": (1, 1, 0, 0),
}


class Words(_Figure):
    """Attention over three words in any order, with encodings added or not."""

    order = _choice("order", *map(" ".join, itertools.permutations(_WORDS)))
    positions = _choice("positions", "off", "on")

    def values(self) -> Values:
        words = np.array([*_WORDS.values()], dtype=float)
        order = [[*_WORDS].index(word) for word in self.order.split()]
        weights, outputs = self._attend(words[order])
        # How far each word's output is from that in the first order, wherever it stands now.
        _, before = self._attend(words)
        changes = abs(outputs[np.argsort(order)] - before).max(axis=1)
        return {"weights": weights, "outputs": outputs, "changes": changes}

    def _attend(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """Return the weights, (3, 3), and the outputs, (3, 4), of words `x`."""
        # Queries, keys and values are the words themselves.
        if self.positions == "on":
            x = x + posenc.sinusoidal_encoding(3, 4, dtype=float)
        weights = np.exp(x @ x.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights, weights @ x


# By name; each has a script of that name in ``figures``.
FIGURES = {kind.__name__: kind for kind in _Figure.__subclasses__()}

__all__ = [*FIGURES]


def script(*names: str, entries: Sequence[str] = ("jupyter",)) -> str:
    """Return one script that draws the named figures; the modules `entries` show them."""
    fields = {name.lower(): FIGURES[name].fields for name in names}
    return scripts.bundle([*fields, *entries], {"FIELDS": fields, "FRAMES": _FILM})
