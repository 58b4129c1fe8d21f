"""Compare two drawings of a figure: words, colors and structure exactly, coordinates nearly.

Both are SVG by matplotlib, so a difference can be named: "axes_1 text_5: 'position' became
'dimension'". A pixel comparison couldn't name it, and might miss a short word.
"""

import base64
import io
import re
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from lxml import etree
from matplotlib.path import Path
from PIL import Image
from scipy.spatial import KDTree

SVG = "image/svg+xml"
STILL = 'class="still"'  # in a live figure's still picture, which is a file

POINTS = 0.25  # tolerance of coordinates; matplotlib draws a curve no more exactly
PIECES = 2000  # of each straight part of a curve: the longest is some 500 points long
LEVELS = 4  # of a heatmap's pixels, of 255: at most one step of the color map

# Tolerances of figures whose curves and points, but not axes or words, vary between CPUs, by the
# id of the cell that draws them.
ROUGH = {
    # Chapter 10, all t-SNE variants. With such small steps it ends nearly in the same place: half a
    # point was seen.
    "08-62": 5,
    # Chapter 13, float32 rounding errors, which differ between processors: 5 points were seen.
    "question-figure": 10,
}

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
HASH = re.compile(r"[0-9a-f]{10}\b")  # of coordinates, in the ids of markers and clips
NAMED = re.compile("axes|matplotlib|.?tick|legend|text|line2d|patch|.*Collection")
GEOMETRY = {"d", "transform", "x", "y", "width", "height", "viewBox"}
CURVE = re.compile("M _ _( L _ _)+")  # the `d` of a path, with _ for each coordinate
PNG = "data:image/png;base64,"


class Part(NamedTuple):
    """A part of a drawing."""

    where: str  # the named groups around it: "axes_1 line2d_3"
    kind: str  # "word", "pixels" of a heatmap, "curve", or "shape", which is all others
    what: str  # a word in quotes; else tag and attributes, with _ for each coordinate
    numbers: np.ndarray  # what _ stands for; of pixels, the colors


def is_comparable(svg):
    """Whether it's a file, or drawn by this matplotlib: others may place words elsewhere."""
    version = ".".join(mpl.__version__.split(".")[:2])
    return STILL in svg or f"Matplotlib v{version}." in svg


def pixels(value, where):
    """Return the colors of a picture that an attribute holds."""
    file = io.BytesIO(base64.b64decode(value.removeprefix(PNG)))
    colors = np.asarray(Image.open(file).convert("RGBA"), dtype=float)
    return Part(where, "pixels", f"pixels, {colors.shape}", colors)


def shape(node, where):
    """Return an element, with its coordinates apart from the rest of its attributes."""
    kind, numbers = "shape", []
    what = etree.QName(node).localname
    for key, value in sorted(node.items()):
        if key in GEOMETRY:
            numbers += NUMBER.findall(value)
            value = " ".join(NUMBER.sub("_", value).split())
        if CURVE.fullmatch(value):  # rounding decides how many points it has
            kind, value = "curve", "M _ _ L …"
        if not value.startswith(PNG):
            what += f" {etree.QName(key).localname}={HASH.sub('#', value)}"
    return Part(where, kind, what, np.array(numbers, float))


# A word is a comment of matplotlib's, before a group without an id, which has its glyphs:
#
#     <g id="text_5">
#         <!-- position -->
#         <g transform="translate(…)"> <use xlink:href="#…"/> … </g>
def parts(svg):
    """Yield a `Part` for each element and word, in drawing order."""
    for node in etree.fromstring(svg.encode()).iter():
        around = [group.get("id", "") for group in node.iterancestors()]
        where = " ".join(filter(NAMED.match, reversed(around)))
        # Of a text its place is compared and the word, not the glyphs.
        is_glyph = re.search(r"text_\d+$", where) and around[0] == ""
        if node.tag is etree.Comment:
            yield Part(where, "word", repr(node.text.strip()), np.empty(0))
        elif not is_glyph:
            yield shape(node, where)
            for value in node.values():
                if value.startswith(PNG):
                    yield pixels(value, where)


def apart(curve, other):
    """Return the largest distance of a curve's points from another curve."""
    pieces = Path(other.reshape(-1, 2)).interpolated(PIECES).vertices
    return KDTree(pieces).query(curve.reshape(-1, 2))[0].max()


def unlike(old, new, rough):
    """Say how two parts differ, or None; `rough` is the tolerance for data inside the axes."""
    if old.what != new.what:
        return f"{old.where}: {old.what[:80]} became {new.what[:80]}"
    is_data = "axes" in old.where and "matplotlib.axis" not in old.where
    tolerance = rough if is_data else POINTS
    if old.kind == "pixels":
        tolerance = LEVELS
    far = np.inf
    if old.numbers.shape == new.numbers.shape:
        far = np.abs(old.numbers - new.numbers).max(initial=0)
    if far > tolerance and old.kind == "curve":
        # Other points may be left out of the same line.
        far = max(apart(old.numbers, new.numbers), apart(new.numbers, old.numbers))
    if far > tolerance:
        return f"{old.where}: {old.what[:40]} differ by {far:.2f}"
    return None


def differences(stored, fresh, rough=POINTS):
    """Return the first differences between two SVGs, in words."""
    old, new = [*parts(stored)], [*parts(fresh)]
    compared = [unlike(*pair, rough) for pair in zip(old, new, strict=False)]
    problems = [problem for problem in compared if problem]
    if len(old) != len(new):
        problems.append(f"{len(old)} elements became {len(new)}")
    # Words, colors and shapes first: a longer word shifts many coordinates.
    return sorted(problems, key=lambda text: "differ by" in text)[:5]


def labels(svg):
    """Return the words of a picture, without tick labels and numbers."""
    words = []
    for part in parts(svg):
        if part.kind == "word" and "tick" not in part.where:
            words += re.findall(".*[a-z]{2}.*", part.what)
    return words


def drawn(outputs):
    """Return the pictures among outputs."""
    return [output.data[SVG] for output in outputs if SVG in output.get("data", {})]


def changed(cell, outputs):
    """Say how a cell's stored pictures differ from fresh outputs.

    Where nbval ignores the output, because of times or rounding, only labels are compared. Nothing
    is said of a picture that another matplotlib drew: it can't be compared.
    """
    is_timed = "nbval-ignore-output" in cell.metadata.get("tags", [])
    problems = []
    for old, new in zip(drawn(cell.outputs), drawn(outputs), strict=True):
        if STILL in new:
            if old != new:
                problems.append("the figure's still picture is another")
        elif not is_timed and is_comparable(old):
            problems += differences(old, new, ROUGH.get(cell.id, POINTS))
        elif is_timed and labels(old) != labels(new):
            problems.append(f"labels {labels(old)} became {labels(new)}")
    return "\n".join(problems)
