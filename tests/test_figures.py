"""What a live figure shows, says and allows is what Python computes for its state.

A case is a figure in a setting and acts: a state that it is given, or what a reader does. After
each act, everything that the figure shows is compared.
"""

import base64
import itertools
import json
import re
from pathlib import Path
from urllib.parse import urlencode

import matplotlib as mpl
import numpy as np
import pytest
from rjsmin import jsmin

from posenc import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    plots,
    sinusoidal_encoding,
    wavelengths,
    widgets,
)

STAGE = Path(__file__).with_name("stage.js").read_text(encoding="utf-8")
KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}
FIRST, SECOND = plots.COLORS[:2]
DASHED = {"stroke-dasharray": "5 4"}
ACCENT, THIN = {"class": "accent"}, {"class": "thin"}
TAU = 2 * np.pi
TRICKY = {
    "curves": [{"seq_len": 12}],  # ticks two apart
    "kernel": [
        {"d_model": 4, "base": 32, "seq_len": 64},  # the nearest are neighbors
        {"d_model": 4, "base": 3.2, "seq_len": 64},  # seven are nearer
    ],
    "stretch": [  # YaRN's range is cut off at the last dimension, and at the first
        {"rule": "YaRN", "d_model": 128, "base": 10, "trained": 1024},
        {"rule": "YaRN", "d_model": 8, "trained": 64},
    ],
}
PARTS = {
    "heatmap": ["picture map", "down", "panel", "cell", "across", "scale"],
    "switch": ["picture three", *["panel", "title"] * 3],
}
VERDICTS = {
    "halves": "a convention: the same columns in another order",
    "cosine first": "a convention: the same columns in another order",
    "from 1": "a convention: every row is moved up by one",
    "minus 1": "a convention: other frequencies, the last one exactly 1/n",
    "ones": "a bug: one pair, d/2 times over",
    "dimension for pair": "a bug: no sine has its cosine, and rows differ in length",
    "own exponent": "a bug: each cosine is slower than its sine",
}

NO_OFFSET = "No offset looks nearer than the next position, 1."


def number(x, digits=4):
    """A number as the figures write it."""
    return f"{round(x, digits) + 0:.{digits}f}".replace("-", "−")


def grouped(x):
    """A number with a space between thousands."""
    return f"{x:,}".removesuffix(".0").replace(",", " ").replace("-", "−")


def near(found, wanted, within):
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted, rtol=0, atol=within), (found, wanted)


class Seen:
    """What a figure showed: its state, its values, its elements, and what the act told."""

    def __init__(self, text):
        self.__dict__ = json.loads(text)

    def every(self, tag, **wanted):
        """The elements with these attributes."""
        return [e for e in self.all if e["tag"] == tag and wanted.items() <= e.items()]

    def words(self, tag, **wanted):
        return [e["words"] for e in self.every(tag, **wanted)]

    def numbers(self, tag, *names):
        return [[float(e[name]) for name in names] for e in self.every(tag)]

    def has_values(self, **wanted):
        """The values are numpy's, to the last bits."""
        self.__dict__.setdefault("values", wanted)  # in Jupyter, none can be had
        assert self.values.keys() == wanted.keys()
        for name, value in wanted.items():
            found = self.values[name]
            if isinstance(found, str):
                found = self.values[name] = np.frombuffer(base64.b64decode(found))
            assert np.shape(found) == np.shape(value), name
            assert np.allclose(found, value, rtol=1e-14, atol=1e-12), name

    def says(self, text):
        assert self.words("p") == [text]

    def is_called(self, *names):
        """The names of its pictures, for those who hear them."""
        assert [e["aria-label"] for e in self.all if e.get("role") == "img"] == [*names]

    def has_lines(self, *wanted):
        """The lines in their order: how each looks, and its points to a tenth of a pixel."""
        lines = self.every("polyline")
        assert len(lines) == len(wanted)
        for line, (look, points) in zip(lines, wanted, strict=True):
            assert look.items() <= line.items()
            near([pair.split(",") for pair in line["points"].split()], points, 0.0501)

    def has_texts(self, *wanted):
        """The texts in their order, each on its side of a point, inside and apart."""
        texts = self.every("text")
        assert [text["words"] for text in texts] == [str(words) for words, _, _ in wanted]
        (size,) = self.every("svg", words="")
        assert size["viewBox"] == f"0 0 {size['viewBox'].split()[2]} {size['height']}"
        right, bottom = map(float, size["viewBox"].split()[2:])
        for text, (words, side, (x, y)) in zip(texts, wanted, strict=True):
            x0, y0, x1, y1 = text["box"]
            across, down = (x0 + x1) / 2 - x, (y0 + y1) / 2 - y
            assert (abs(across) < 1) == (side in ("on", "above", "below")), words
            assert (abs(down) < 4) == (side in ("on", "left", "right")), words
            assert {
                "on": True,
                "above": 0 < y - y1 < 12,
                "below": 0 < y0 - y < 33,
                "left": 0 < x - x1 < 12,
                "right": 0 < x0 - x < 12,
                "after, above": 0 < x0 - x < 12 and 0 < y - y1 < 12,
                "after, below": 0 < x0 - x < 12 and 0 < y0 - y < 12,
            }[side], words
            assert 0 <= x0 < x1 <= right, words
            assert 0 <= y0 < y1 <= bottom, words
        for a, b in itertools.combinations([text["box"] for text in texts], 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)

    def has_tables(self, *tables):
        """A canvas for each table and limit, in matplotlib's colors."""
        for canvas, (table, limit) in zip(self.every("canvas"), tables, strict=True):
            shape = (int(canvas["height"]), int(canvas["width"]))
            meant = mpl.colormaps[plots.DIVERGING]((table + limit) / (2 * limit), bytes=True)
            shown = np.frombuffer(base64.b64decode(canvas["pixels"]), np.uint8)
            assert (shown.reshape(*shape, 4) == meant).all()


class Axes:
    """Where values stand in a drawing, by the three corners of its frame."""

    def __init__(self, seen, right, low, high):
        frame = seen.every("polyline")[0]["points"].split()
        (x0, self.top), (_, y0), (x1, _) = [map(float, pair.split(",")) for pair in frame]
        self.corner, self.size = np.array([x0, y0]), np.array([x1 - x0, self.top - y0])
        assert x1 - x0 > 190
        assert y0 - self.top > 140
        self.right, self.low, self.high = right, low, high
        self.frame = (THIN, [(x0, self.top), (x0, y0), (x1, y0)])

    def at(self, x, y):
        x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        share = np.stack([x / self.right, (y - self.low) / (self.high - self.low)], axis=-1)
        return self.corner + share * self.size

    def level(self, y):
        return self.at([0, self.right], y)

    def texts(self, across, upward, name):
        """Ticks by their words, and the name of the axis."""
        below = [(words, "below", self.at(x, self.low)) for words, x in across.items()]
        beside = [(words, "left", self.at(0, y)) for words, y in upward.items()]
        return *below, *beside, (name, "below", self.at(self.right / 2, self.low))


def plain_axes(seen, right, top, name):
    """Axes around 0: with their frame and zero line, and their texts."""
    axes = Axes(seen, right, -top, top)
    step = next(size for size in (1, 2, 5, 10, 20, 50) if right / size <= 7)
    across = {k: k for k in range(0, right + 1, step)}
    texts = axes.texts(across, {number(y, 0): y for y in (-top, 0, top)}, name)
    return axes, [axes.frame, ({"class": "thin faint"}, axes.level(0))], texts


def table(positions, state):
    where = np.asarray(positions, float)
    return sinusoidal_encoding(where, state["d_model"], base=state["base"], dtype=np.float64)


def heatmap(seen, d_model, base, seq_len, position, dimension):
    right = table(range(seq_len), seen.state)
    seen.has_values(table=right.ravel())
    j, wave = dimension, "cos" if dimension % 2 else "sin"
    formula = f"{wave}({position} / {base:.15g}^({j - j % 2}/{d_model}))"
    value = number(right[position, j])
    seen.says(f"Position {position}, dimension {j}: {formula} = {value}")
    seen.is_called("Heatmap of the encoding")
    seen.has_tables((seen.values["table"].reshape(right.shape), 1))
    ends = [e["words"] for e in seen.every("span") if "aria-hidden" not in e]
    assert ends == ["0", str(seq_len - 1), "0", str(d_model - 1)]
    assert seen.words("div", **{"class": "down"}) == ["position"]
    assert seen.words("div", **{"class": "across"}) == ["dimension"]
    assert seen.words("div", **{"class": "scale"}) == ["−1|1"]
    ((_, style),) = [(e, e["style"]) for e in seen.every("i")]
    colors = mpl.colormaps[plots.DIVERGING](np.linspace(0, 1, 6), bytes=True)[:, :3]
    assert style.startswith("background: linear-gradient(90deg, rgb(")
    near(re.findall(r"\d+", style)[1:], colors.ravel(), 0)
    (cell,) = seen.every("div", **{"class": "cell"})
    place = re.findall(r"(\w+): ([\d.e-]+)%", cell["style"])
    assert [side for side, _ in place] == ["left", "top", "width", "height"]
    shares = [j / d_model, position / seq_len, 1 / d_model, 1 / seq_len]
    near([share for _, share in place], 100 * np.array(shares), 1e-3)


def curves(seen, d_model, base, seq_len, pair, stride):
    pairs = np.arange(pair, d_model // 2, stride)[:3]
    parts = 2 if seq_len > 64 else 4
    points = np.arange(parts * (seq_len - 1) + 1) / parts
    waves, turns = table(points, seen.state).T, wavelengths(d_model, base=base)[pairs]
    sines, cosines = waves[2 * pairs], waves[2 * pairs + 1]
    seen.has_values(pairs=pairs, points=points, wavelengths=turns, sines=sines, cosines=cosines)
    texts = [number(turn, 2) for turn in turns]
    said = [f"Pair {i} turns once in {n} positions." for i, n in zip(pairs, texts, strict=True)]
    seen.says(" ".join([*said, "Solid lines are sines, dashed ones cosines."]))
    seen.is_called("Sine and cosine of each pair, over positions")
    axes, lines, ticks = plain_axes(seen, seq_len - 1, 1, "position")
    names = []
    for n, color in enumerate(plots.COLORS[: len(pairs)]):
        sample = [(34, 12 + 19 * n), (58, 12 + 19 * n)]
        lines.append(({"stroke": color}, sample))
        lines.append(({"stroke": color, "stroke-dasharray": "none"}, axes.at(points, sines[n])))
        lines.append(({"stroke": color, **DASHED}, axes.at(points, cosines[n])))
        names.append((f"pair {pairs[n]}: wavelength {texts[n]} positions", "right", sample[1]))
    seen.has_lines(*lines)
    seen.has_texts(*ticks, *names)


def has_hands(seen, tips, *looks):
    """A circle for each row of `tips`, in reading order, apart; its hands point (right, up)."""
    rings = np.array(seen.numbers("circle", "cx", "cy", "r"))
    hands = np.array(seen.numbers("line", "x1", "y1", "x2", "y2"))
    centers, radius = rings[:, :2], rings[0, 2]
    assert (rings[:, 2] == radius).all()
    assert len(seen.every("circle", **{"class": "thin faint"})) == len(rings)
    assert radius > 12
    assert [*np.lexsort(centers.T)] == [*range(len(centers))]
    size = np.array(seen.every("svg")[0]["viewBox"].split()[2:], float)
    assert (centers > radius).all()
    assert (centers < size - radius).all()
    for a, b in itertools.combinations(centers, 2):
        assert np.hypot(*(a - b)) > 2 * radius
    near(hands[:, :2], np.repeat(centers, len(looks), axis=0), 1e-9)
    across = (hands[:, 2:] - hands[:, :2]) * [1, -1] / radius
    near(across, np.reshape(tips, (-1, 2)), 1e-9)
    for line, look in zip(seen.every("line"), itertools.cycle(looks)):
        assert look.items() <= line.items()
    return centers, radius


def clock(seen, d_model, base, position):
    row, bits = table([position], seen.state)[0], binary_encoding([position], 8)[0]
    seen.has_values(row=row, bits=bits)
    digits = "".join(str(int(bit)) for bit in bits)
    seen.says(
        f"Position {position}. Above, one hand for each pair, cosine across and sine upwards, so "
        "that it starts at the right and turns counterclockwise. "
        f"Below, {position} in binary, lowest digit first: {digits}."
    )
    seen.is_called("One clock hand for each pair, and the binary digits")
    centers, radius = has_hands(seen, row.reshape(-1, 2)[:, ::-1], {"class": "accent"})
    texts = [(n, "below", center + np.array([0, radius])) for n, center in enumerate(centers)]
    boxes = np.array(seen.numbers("rect", "x", "y", "width", "height"))
    assert (boxes[:, 2:] > 16).all()
    near(
        boxes[:, 1], np.full(8, centers[-1, 1] + radius + 35), 10
    )  # below all circles, and not far
    for n, ((x, y, width, height), bit) in enumerate(zip(boxes, digits, strict=True)):
        texts.append((bit, "on", (x + width / 2, y + height / 2)))
        texts.append((2**n, "below", (x + width / 2, y + height)))
    seen.has_texts(*texts)
    ones = ["full" if bit == "1" else "thin faint" for bit in digits]
    assert [box["class"] for box in seen.every("rect")] == ones
    ones = ["on" if bit == "1" else "" for bit in digits]
    assert [text["class"] for text in seen.every("text") if "class" in text] == ones


def clocks(seen, d_model, base, position):
    row, turns = table([position], seen.state)[0], wavelengths(d_model, base=base)
    seen.has_values(row=row, wavelengths=turns)
    seen.says(
        f"Position {position}. Below each clock are its sine (how high the tip is) and its cosine "
        f"(how far right). Clock 0 turns once in {number(turns[0], 2)} positions, "
        f"clock {len(turns) - 1} in {grouped(int(np.floor(turns[-1] + 0.5)))}."
    )
    seen.is_called("One clock for each pair, and its two numbers")
    has_hands(seen, row.reshape(-1, 2)[:, ::-1], {"class": "accent"})
    named = [
        [f"clock {n}", *(number(x, 2) for x in row[2 * n : 2 * n + 2])] for n in range(len(turns))
    ]
    assert seen.words("text") == list(itertools.chain(*named))
    colors = mpl.colormaps[plots.DIVERGING]((row + 1) / 2, bytes=True)[:, :3]
    fills = [re.findall(r"\d+", box["fill"]) for box in seen.every("rect")]
    near(fills, colors, 0)


def rotation(seen, d_model, base, pair, position, offset):
    k, to, omega = position, position + offset, angular_frequencies(d_model, base=base)[pair]
    theta = offset * omega
    before, after = table([k, to], seen.state)[:, 2 * pair : 2 * pair + 2]
    seen.has_values(theta=theta, **{"from": before, "to": after})
    told = [f"({number(sine)}, {number(cosine)})" for sine, cosine in (before, after)]
    seen.says(
        f"Pair {pair} at {k} is {told[0]}, at {number(to, 0)} it is {told[1]}. From 0 or from {k}, "
        f"it turns by ω·φ = {number(theta)} rad = {number(np.degrees(theta), 1)}°. "
        "Cosine across, sine upwards."
    )
    seen.is_called("One pair before and after a shift, from 0 and from k")
    ends = np.array([[0, theta], [k * omega, to * omega]])
    tips = np.stack([np.cos(ends), np.sin(ends)], axis=-1)
    centers, radius = has_hands(seen, tips, {"stroke": SECOND}, {"class": "accent"})
    share = np.linspace(0, 1, 201)
    arcs = []
    for center, start in zip(centers, (0, k * omega), strict=True):
        angle, size = start + share * theta, radius * (0.35 + 0.4 * share)
        arcs.append(center + np.stack([size * np.cos(angle), -size * np.sin(angle)], axis=-1))
    seen.has_lines(*[(THIN, arc) for arc in arcs])
    names = (f"0 to {number(offset, 0)}", f"{k} to {number(to, 0)}")
    bottoms = centers + np.array([0, radius])
    seen.has_texts(*[(n, "below", at) for n, at in zip(names, bottoms, strict=True)])


def kernel(seen, d_model, base, seq_len, offset):
    products = offset_kernel(np.arange(seq_len), d_model, base=base)
    nearer = [n for n in range(2, seq_len) if products[n] > products[1]]
    nearer.sort(key=lambda n: -products[n])
    seen.has_values(products=products, nearer=nearer)
    more = f" and {len(nearer) - 6} more" if len(nearer) > 6 else ""
    listed = ", ".join(map(str, nearer[:6]))
    seen.says(
        f"PE(k)·PE(k + {offset}) = {number(products[offset])}, of at most {d_model // 2}. "
        + (f"Nearer than the next position: {listed}{more}." if nearer else NO_OFFSET)
    )
    seen.is_called("Product of two encodings, by their offset")
    axes, lines, ticks = plain_axes(seen, seq_len - 1, d_model // 2, "offset φ")
    level = ({**THIN, "stroke-dasharray": "4 4"}, axes.level(products[1]))
    seen.has_lines(*lines, level, ({"stroke": FIRST}, axes.at(np.arange(seq_len), products)))
    places = axes.at([*nearer, offset], products[[*nearer, offset]])
    near(seen.numbers("circle", "cx", "cy"), places, 1e-9)
    looks = [*[{"r": "4", "fill": SECOND}] * len(nearer), {"r": "7", **THIN}]
    for dot, look in zip(seen.every("circle"), looks, strict=True):
        assert look.items() <= dot.items()
    named = [
        n for n in (0, 1) if n < len(nearer) and (n == 0 or abs(places[1, 0] - places[0, 0]) > 24)
    ]
    seen.has_texts(*ticks, *[(nearer[n], "above", places[n]) for n in named])


def switch(seen, d_model, base, seq_len, variant):
    right, half = table(range(seq_len), seen.state), d_model // 2
    other = np.empty_like(right)
    for j in range(d_model):
        pair, cosine = divmod(j, half)[::-1] if variant == "halves" else divmod(j, 2)
        exponent = {
            "minus 1": pair / (half - 1),
            "ones": 0,
            "dimension for pair": 2 * j / d_model,
            "own exponent": j / d_model,
        }.get(variant, 2 * pair / d_model)
        angles = (np.arange(seq_len) + (variant == "from 1")) / base**exponent
        other[:, j] = np.cos(angles) if cosine != (variant == "cosine first") else np.sin(angles)
    tables = {"right": right, "other": other, "difference": other - right}
    seen.has_values(**{name: values.ravel() for name, values in tables.items()})
    name, largest = widgets.VARIANTS[variant], number(np.abs(other - right).max())
    seen.says(f"{name}: {VERDICTS[variant]}. Largest difference: {largest}.")
    titles = ["the paper's", "the variant", "difference"]
    seen.is_called(*[f"Heatmap: {title}" for title in titles])
    assert seen.words("div", **{"class": "title"}) == titles
    limits = dict(zip(tables, (1, 1, 2), strict=True))
    seen.has_tables(*[(seen.values[n].reshape(right.shape), limits[n]) for n in tables])


def stretch(seen, d_model, base, trained, factor, rule):
    plain = angular_frequencies(d_model, base=base)
    now = widgets._stretched(**seen.state)
    unfinished = plain * trained < TAU
    beyond = (unfinished & (now * factor > plain * (1 + 1e-9))).sum()
    before, after = TAU / plain, TAU / now
    seen.has_values(before=before, after=after, unfinished=unfinished.sum(), beyond=beyond)
    slower = [number(after[pair] / before[pair], 2) for pair in (0, -1)]
    seen.says(
        f"{widgets.RULES[rule]}. The first pair is slower by {slower[0]}, the last by {slower[1]}. "
        f"Of {unfinished.sum()} pairs that never finished a turn, {beyond} meet new angles."
    )
    seen.is_called("Wavelength of each pair, in training and now")
    wanted, last = factor * trained, d_model // 2 - 1
    top = int(np.ceil(np.log10(max(after.max(), wanted))))
    axes = Axes(seen, last, 0, top)
    levels = [axes.level(np.log10(length)) for length in (trained, wanted)]
    curves = [axes.at(np.arange(last + 1), np.log10(lengths)) for lengths in (before, after)]
    seen.has_lines(
        axes.frame,
        (THIN, levels[0]),
        ({"stroke": SECOND}, levels[1]),
        ({"stroke": FIRST, **DASHED}, curves[0]),
        ({"stroke": FIRST}, curves[1]),
    )
    seen.has_texts(
        *[(grouped(10**power), "left", axes.at(0, power)) for power in range(0, top + 1, 2)],
        *[(pair, "below", axes.at(pair, 0)) for pair in (0, last)],
        ("pair i", "below", axes.at(last / 2, 0)),
        (f"trained: {grouped(trained)}", "after, below", levels[0][0]),
        (f"wanted: {grouped(wanted)}", "after, above", levels[1][0]),
    )


# What Python expects of a state of each figure.
EXPECTED = {
    f.__name__: f for f in (heatmap, curves, clock, clocks, rotation, kernel, switch, stretch)
}


def has_controls(seen, kind):
    """Each argument has a control of its name, with its limits, at its value."""
    figure = KINDS[kind](**seen.state)
    arguments = figure._arguments()
    names = [f"field-{name}" for name in arguments]
    choices = [isinstance(field, widgets.Choice) for field in arguments.values()]
    rows = ["field choice" if choice else "field" for choice in choices]
    parts = ["live", *PARTS.get(kind, ["picture"]), "fields", *rows, "buttons"]
    assert [e["class"] for e in seen.every("div")] == parts
    assert [e["for"] for e in seen.every("label")] == names
    assert [e["id"] for e in seen.all if e["tag"] in ("input", "select")] == names
    (style,) = seen.words("style")
    assert style.startswith(f":host {{ --line: {FIRST} }} :host {{")
    assert seen.every("p", **{"class": "say", "aria-hidden": "true"})
    assert seen.every("output", **{"class": "hidden", "aria-live": "polite"})
    assert all(button["type"] == "button" for button in seen.every("button"))
    shown = iter(seen.every("span", **{"aria-hidden": "true"}))
    for (name, field), label in zip(arguments.items(), seen.every("label"), strict=True):
        assert label["words"] == field.label
        value = seen.state[name]
        (control,) = [e for e in seen.all if e.get("id") == f"field-{name}"]
        if isinstance(field, widgets.Choice):
            assert control["value"] == value
            options = [(e["value"], e["words"]) for e in seen.every("option")]
            assert options == [*field.options.items()]
            continue
        assert control["type"] == "range"
        assert next(shown)["words"] == control["aria-valuetext"] == grouped(value)
        limits = (field.minimum, field.maximum or field.top(figure))
        if name == "base":
            limits, value = np.log10(limits), np.log10(value)
        near([control["min"], control["max"]], limits, 1e-12)
        step = 0.25 if name == "base" else field.step
        assert float(control["step"] or 1) == step
        near(control["value"], value, 0.1251 if name == "base" else 0)


def settings(field, figure):
    """What a control can be set to, from the least to the most."""
    if isinstance(field, widgets.Choice):
        return [*field.options]
    if isinstance(field, widgets.Base):
        return [float(f"{10 ** (n / 4):.2g}") for n in range(4 * len(f"{field.minimum}") - 4, 25)]
    return range(field.minimum, field.top(figure) + 1, field.step)


def states(kind):
    """The usual state, the limits of each argument, all least, all most, and some at random."""
    lot = np.random.default_rng(0)
    fields = KINDS[kind]._arguments()

    def state(way, *names, **given):
        figure = KINDS[kind]()
        for name in names or fields:
            value = given.get(name) or way(settings(fields[name], figure))
            setattr(figure, name, value)
        return figure.state()

    ends = [lambda all: all[0], lambda all: all[-1]]
    yield KINDS[kind]().state()
    yield from [state(end, name) for name in fields for end in ends]
    yield from [state(end) for end in ends]
    turns = getattr(fields[[*fields][-1]], "options", range(5))
    for turn in turns:
        given = {[*fields][-1]: turn} if isinstance(turn, str) else {}
        yield state(lambda all: all[lot.integers(len(all))], **given)
    yield state(ends[0], "base") | {"base": 12.3456}
    yield from [state(None, *given, **given) for given in TRICKY.get(kind, ())]


def moves(kind):
    """Each control moved once, by the reader."""
    figure = KINDS[kind]()
    for name, field in figure._arguments().items():
        options = settings(field, figure)
        value = options[len(options) // 3]
        setattr(figure, name, value)
        place = round(4 * np.log10(value)) / 4 if name == "base" else value
        yield f"on.field({name!r}, {place!r})", figure.state()


def links(kind):
    """What a link gives: at the limits of the fields, beyond them, between steps, or no number."""
    fields = KINDS[kind]._arguments()
    whole = {name: field for name, field in fields.items() if hasattr(field, "top")}
    least = {name: field.minimum for name, field in whole.items()}
    most = {name: field.top(KINDS[kind]) for name, field in whole.items()}
    base = fields["base"]
    yield least | {"base": base.minimum}, True
    yield most | {"base": base.maximum}, True
    yield most | {"d_model": least["d_model"], "seq_len": least.get("seq_len")}, True
    yield {name: low - whole[name].step for name, low in least.items()} | {"base": 0.5}, False
    yield {name: high + whole[name].step for name, high in most.items()} | {"base": 2e6}, False
    yield {name: low + whole[name].step / 2 for name, low in least.items()}, False
    for bad in ("", " ", "NaN", "toString"):
        yield dict.fromkeys(fields, bad), False


def linked(kind, given):
    """The state that a link makes, each part of it held to its limit."""
    figure = KINDS[kind]()
    for name, field in figure._arguments().items():
        if given.get(name) is not None:
            limit = field.top(figure) if hasattr(field, "top") else given[name]
            setattr(figure, name, min(given[name], limit))
    return figure.state()


def case(kind, *steps, **setting):
    """Return a setting, and acts, each with the state that follows and with what it tells."""
    return {"kind": kind, **setting}, [(*step, None)[:3] for step in steps]


def cases_of_all(kind):
    """Every figure given states, moved, linked, its link copied, and shown in Jupyter."""
    usual, name = KINDS[kind]().state(), f"fig-{kind}"
    for n, width in enumerate((600, 280)):
        yield case(kind, *[(state, state) for state in [*states(kind)][n::2]], width=width)
    yield case(kind, ("", usual), *moves(kind))
    for given, fits in links(kind):
        query = urlencode({"figure": name} | {k: v for k, v in given.items() if v is not None})
        state = linked(kind, given) if fits else usual
        yield case(kind, ("", state), id=name, search=f"?{query}")

    address = f"https://book.example/page.html?{urlencode({'figure': name} | usual)}#{name}"
    address = address.replace("10000.0", "10000")
    buttons = ["Back", "Play", "Forward"] if kind in ("heatmap", "clock", "clocks") else []
    copy = f"await on.click({len(buttons)}); return [on.location.href, on.copied, on.buttons()]"
    told = [address, [address], [*buttons, "Link copied."]]
    yield case(kind, (copy, usual, told), id=name, search="?a=b")
    told = [address, [], [*buttons, "The link is in the address bar."]]
    yield case(kind, (copy, usual, told), id=name, deaf=True)

    ours = ("return [on.buttons(), on.host.dataset]", usual)
    ours = (*ours, [buttons, {"lmSuppressShortcuts": "true"}])
    yield case(kind, ours, *moves(kind), given=usual, jupyter=True)
    least, most = (linked(kind, given) for given, _ in itertools.islice(links(kind), 2))
    # Python sets one after the other, the last first, and then all at once.
    names = [*usual][::-1]
    kept = [usual | {name: least[name] for name in names[: n + 1]} for n in range(len(names))]
    set_one = [f"on.change({json.dumps({name: least[name]})})" for name in names]
    yield case(
        kind,
        *zip(set_one, kept, strict=True),
        (f"on.change({json.dumps(most)})", most),
        ("on.model.close(); return on.listeners.length", most, 0),
        given=usual,
        jupyter=True,
    )


def cases():
    """Yield the cases of all figures, and those of buttons, pointer, voice and odd places."""
    for kind in KINDS:
        yield from cases_of_all(kind)
    at = [KINDS["clock"](position=k).state() for k in range(256)]
    back, play, forward = (f"on.click({n})" for n in range(3))
    end = ("on.field('position', 255)", at[255])
    yield case("clock", (forward, at[6]), (back, at[5]), end, (forward, at[0]), (back, at[255]))
    for calm, pause in ((False, 250), (True, 1000)):
        twice = f"on.wait({2 * pause})"
        yield case(
            "clock",
            (f"{play}; return on.buttons()", at[5], ["Back", "Pause", "Forward"]),
            (f"on.wait({pause - 1})", at[5]),
            ("on.wait(1)", at[6]),
            (twice, at[8]),
            (f"{play}; return on.buttons()", at[8], ["Back", "Play", "Forward"]),
            (twice, at[8]),
            (play, at[8]),
            (twice, at[10]),
            (f"on.host.remove(); {twice}; return on.timers.size", None, 0),
            calm=calm,
        )
    usual = KINDS["heatmap"]().state()
    wide, narrow = (usual | {"d_model": d, "dimension": 1} for d in (256, 2))
    end = ("on.field('d_model', 256)", usual | {"d_model": 256})
    yield case("heatmap", end, (forward, narrow), (back, wide), (back, wide | {"d_model": 254}))

    def point(right, down, position, dimension, state=usual, event="pointermove"):
        then = state | {"position": position, "dimension": dimension}
        return f"on.point({event!r}, {right}, {down})", then

    yield case(
        "heatmap",
        point(0.305, 0.6, 38, 19, event="pointerdown"),
        point(0.6, 0.305, 19, 38),
        point(-0.1, 1.1, 63, 0),
        point(1.1, -0.1, 0, 63),
        ("on.field('d_model', 256)", wide | {"position": 0, "dimension": 63}),
        point(1.1, -0.1, 0, 255, wide),
    )
    usual, eight, nine = (KINDS["kernel"](offset=offset).state() for offset in (63, 8, 9))
    same = "return on.root.querySelector('output').value === on.root.querySelector('p').textContent"
    yield case(
        "kernel",
        (same, usual, True),
        (eight, eight),
        ("on.wait(300)", eight),
        (nine, nine),
        ("on.wait(499); return on.heard()", nine, 0),
        ("on.wait(1); return on.heard()", nine, 1),
        (same, nine, True),
        (nine, nine),
        ("on.wait(500); return on.heard()", nine, 0),
    )
    other, none = "?figure=fig-clock&offset=9", "?figure=&offset=9"
    link = ["Copy link to this view"]
    yield case("kernel", ("return on.buttons()", usual, link), id="fig-kernel", search=other)
    yield case("kernel", ("return on.buttons()", usual, []), search=none)
    # What a link can't say, the page says; a figure that is moved on the page stays.
    given = {"d_model": 4, "base": 32, "seq_len": 64, "offset": 7}
    page, link = given | {"offset": 5}, "?figure=fig-kernel&base=x&offset=7"
    again = "const { figure, parentNode } = on.host; parentNode.append(on.host); "
    again += "return on.host.figure === figure"
    yield case("kernel", (again, given, True), id="fig-kernel", given=page, search=link)
    drawn = "return on.root.querySelectorAll('text').length"
    yield case("kernel", (drawn, None, 0), width=0)
    for unknown in ("toString", ""):
        yield case(unknown, ("return on.root", None))


CASES = [*cases()]


def played():
    """The cases as `play` takes them."""
    return [{**setting, "acts": [act for act, _, _ in steps]} for setting, steps in CASES]


def check(case, n, text):
    """Hold what was seen after the act `n` of a case to what Python expects."""
    setting, steps = CASES[case]
    _, state, told = steps[n]
    seen = Seen(text)
    assert seen.told == told
    if state is None:
        return
    assert seen.state == state
    kind = setting["kind"]
    EXPECTED[kind](seen, **state)
    has_controls(seen, kind)


@pytest.fixture(scope="module")
def stage(browser):
    """A page, and what plays a case there, with the script as its place has it."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.add_script_tag(content=STAGE)
    script = widgets.script(*widgets.FIGURES)
    scripts = {True: script, None: jsmin(script)}
    yield lambda case: page.evaluate(
        "given => play(...given)", [scripts[case.get("jupyter")], case]
    )
    page.close()


@pytest.mark.parametrize("kind", dict.fromkeys(setting["kind"] for setting, _ in CASES))
def test_all_that_is_seen_is_as_python_computes(stage, kind):
    for case, playing in enumerate(played()):
        if playing["kind"] == kind:
            views = stage(playing)
            assert len(views) == len(playing["acts"])
            for n, text in views:
                check(case, n, text)
