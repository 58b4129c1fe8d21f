"""Compare two drawings of a figure: words, colors and structure exactly, coordinates nearly.

Both are SVG by matplotlib, so a difference can be named: "axes_1 text_5: 'position' became
'dimension'". A pixel comparison couldn't name it, and might miss a short word.
"""

import base64
import io
import re
from itertools import pairwise
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from lxml import etree
from PIL import Image

SVG = "image/svg+xml"
ANCHOR = re.compile(r'<a id="(fig-[\w-]+)"></a>')

POINTS = 0.25  # tolerance of coordinates; matplotlib draws a curve no more exactly
LEVELS = 4  # of a heatmap's pixels, of 255: at most one step of the color map

# Tolerances of figures whose curves and points, but not axes or words, vary between CPUs.
ROUGH = {
    # With such small steps t-SNE ends nearly in the same place: half a point was seen.
    "fig-tsne-variants": 5,
    # Training is less reproducible: 7 points, 3 % of the axis, were seen without AVX.
    "fig-helps-curves": 20,
    # It shows float32 rounding errors, which differ between processors: 5 points were seen.
    "fig-precision-float32": 10,
}

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
HASH = re.compile(r"[0-9a-f]{10}\b")  # of coordinates, in the ids of markers and clips
NAMED = re.compile("axes|matplotlib|.?tick|legend|text|line2d|patch|.*Collection")
GEOMETRY = {"d", "transform", "x", "y", "width", "height", "viewBox"}
MORE_POINTS = re.compile("( L _ _)+")
LINE = re.compile(r"path (.* )?d=M _ _ L( style=.*)?")  # without `MORE_POINTS`
PNG = "data:image/png;base64,"


def is_comparable(svg):
    """Whether the installed matplotlib drew it: other versions may place words elsewhere."""
    return f"Matplotlib v{'.'.join(mpl.__version__.split('.')[:2])}." in svg


class Element(NamedTuple):
    """A part of a drawing: an element, the pixels of a heatmap, or a word.

    Their `what` is "path d=M _ _ L _ _ style=fill: none", "pixels, (64, 64, 4)", and "'position'".
    `MORE_POINTS` and `LINE` read the first, `unlike` the start of the second, `labels` the third.
    """

    where: str  # the named groups around it: "axes_1 line2d_3"
    what: str  # its tag and attributes, with _ for each coordinate; a word in quotes
    numbers: np.ndarray  # what _ stands for


def pixels(value, where):
    """Return the colors of a picture that an attribute holds."""
    file = io.BytesIO(base64.b64decode(value.removeprefix(PNG)))
    colors = np.asarray(Image.open(file).convert("RGBA"), dtype=float)
    return Element(where, f"pixels, {colors.shape}", colors)


def element(node, where):
    """Return an element, with its coordinates apart from the rest of its attributes."""
    what, numbers = [etree.QName(node).localname], []
    for key, value in sorted(node.items()):
        if key in GEOMETRY:
            numbers += NUMBER.findall(value)
            value = " ".join(NUMBER.sub("_", value).split())
        if not value.startswith(PNG):
            what.append(f"{key.rpartition('}')[2]}={HASH.sub('#', value)}")
    return Element(where, " ".join(what), np.array(numbers, dtype=float))


def elements(svg):
    """Yield an `Element` for each element and word, in drawing order."""
    places = {None: ""}
    for node in etree.fromstring(svg.encode()).iter():
        where = places.get(node.getparent())
        if where is None or str(node.tag).endswith("metadata"):
            continue
        if node.tag is etree.Comment:  # matplotlib writes a word as a comment
            yield Element(where, repr(node.text.strip()), np.empty(0))
            continue
        if not re.search(r"text_\d+$", where):  # glyphs; the word itself is a comment
            name = node.get("id", "")
            places[node] = f"{where} {name}".strip() if NAMED.match(name) else where
        yield element(node, where)
        for value in node.values():
            if value.startswith(PNG):
                yield pixels(value, where)


def apart(points, line):
    """Return the largest distance of the points from a polyline."""
    start, along = line[:-1], np.diff(line, axis=0)
    to = points[:, None] - start
    # The nearest point of each piece of the line: the foot of a perpendicular, or an end.
    share = (to * along).sum(axis=2) / np.maximum((along**2).sum(axis=1), 1e-12)
    foot = np.clip(share, 0, 1)[..., None] * along
    return np.linalg.norm(to - foot, axis=2).min(axis=1).max()


def unlike(old, new, rough):
    """Say how two elements differ, or None; `rough` is the tolerance for data inside the axes."""
    # A curve may have more points or fewer.
    shape, shape_now = (MORE_POINTS.sub(" L", one.what) for one in (old, new))
    if shape != shape_now:
        return f"{old.where}: {old.what[:80]} became {new.what[:80]}"
    is_data = "axes" in old.where and "matplotlib.axis" not in old.where
    tolerance = rough if is_data else POINTS
    if old.what.startswith("pixels"):
        tolerance = LEVELS
    is_same_size = old.numbers.shape == new.numbers.shape
    far = np.abs(old.numbers - new.numbers).max(initial=0) if is_same_size else np.inf
    if far > tolerance and LINE.fullmatch(shape):
        # Rounding decides which points matplotlib drops when it simplifies a curve.
        line, line_now = old.numbers.reshape(-1, 2), new.numbers.reshape(-1, 2)
        far = max(apart(line, line_now), apart(line_now, line))
    if far > tolerance:
        return f"{old.where}: {old.what[:40]} differ by {far:.2f}"
    return None


def differences(stored, fresh, figure=""):
    """Return the first differences between two SVGs of the named figure, in words."""
    old, new = [*elements(stored)], [*elements(fresh)]
    rough = ROUGH.get(figure, POINTS)
    pairs = zip(old, new, strict=False)
    problems = [*filter(None, (unlike(before, now, rough) for before, now in pairs))]
    if len(old) != len(new):
        problems.append(f"{len(old)} elements became {len(new)}")
    # Words, colors and shapes first: a longer word shifts many coordinates.
    return sorted(problems, key=lambda text: "differ by" in text)[:5]


def labels(svg):
    """Return the words of a picture, without tick labels and numbers."""
    shown = [one.what for one in elements(svg) if "tick" not in one.where]
    return [what for what in shown if re.match("'.*[a-z]{2}", what)]


def name(cells, cell):
    """Return the name of a cell's figure, read from the caption in the next cell."""
    for before, below in pairwise(cells):
        if before is cell and (anchor := ANCHOR.match(below.source)):
            return anchor[1]
    return ""


def changed(cell, outputs, figure=""):
    """Say how a cell's stored pictures, of the named figure, differ from fresh outputs.

    Where nbval ignores the output, because of times or rounding, only labels are compared.
    """
    stored, fresh = (
        [output.data[SVG] for output in side if SVG in output.get("data", {})]
        for side in (cell.outputs, outputs)
    )
    problems = []
    for old, new in zip(stored, fresh, strict=True):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            if labels(old) != labels(new):
                problems.append(f"labels {labels(old)} became {labels(new)}")
        elif is_comparable(old):
            problems += differences(old, new, figure)
    return "\n".join(f"{figure} {problem}" for problem in problems)
