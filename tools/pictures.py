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
NAMED = re.compile("axes|matplotlib|.?tick|legend|text|line2d|patch|.*Collection")
LINE = re.compile(r"path (.* )?d=M _ _( L _ _)+( style=.*)?")
PNG = "data:image/png;base64,"


def is_comparable(svg):
    """Whether the installed matplotlib drew it: other versions may place words elsewhere."""
    return f"Matplotlib v{'.'.join(mpl.__version__.split('.')[:2])}." in svg


class Element(NamedTuple):
    """An element of a drawing, or a word, which matplotlib writes as a comment."""

    where: str  # the named groups around it: "axes_1 line2d_3"
    what: str  # its tag and attributes, with _ for each number; a word in quotes
    numbers: dict  # arrays of what _ stands for, by attribute; the pixels of a heatmap


def pixels(value):
    """Return the colors of a picture that an attribute holds, (height, width, 4)."""
    file = io.BytesIO(base64.b64decode(value.removeprefix(PNG)))
    return np.asarray(Image.open(file).convert("RGBA"), dtype=int)


def without_hashes(value, ids):
    """Replace ids that contain a hash of coordinates: which elements share one is compared.

    `ids` holds the hashes of this drawing so far, with the numbers that they got.
    """
    return re.sub(
        r"[0-9a-f]{10}\b",
        lambda digits: f"{ids.setdefault(digits[0], len(ids))}",
        value,
    )


def element(node, where, ids):
    """Return an element, with its numbers apart from the rest of its attributes."""
    what, numbers = [etree.QName(node).localname], {}
    for key, value in sorted(node.items()):
        if value.startswith(PNG):
            numbers["pixels"] = pixels(value)
            continue
        value = without_hashes(value, ids)
        if key in ("d", "transform", "x", "y", "width", "height", "viewBox"):
            numbers[key] = np.array(NUMBER.findall(value), dtype=float)
            value = " ".join(NUMBER.sub("_", value).split())
        what.append(f"{key.rpartition('}')[2]}={value}")
    return Element(where, " ".join(what), numbers)


def elements(svg):
    """Yield an `Element` for each element and word, in drawing order."""
    ids, places = {}, {None: ""}
    for node in etree.fromstring(svg.encode()).iter():
        where = places.get(node.getparent())
        if where is None or str(node.tag).endswith("metadata"):
            continue
        if node.tag is etree.Comment:
            yield Element(where, repr(node.text.strip()), {})
            continue
        if not re.search(r"text_\d+$", where):  # glyphs; the word itself is a comment
            places[node] = " ".join(
                [where, *filter(NAMED.match, [node.get("id", "")])]
            ).strip()
        yield element(node, where, ids)


def apart(points, line):
    """Return the largest distance of the points from a polyline."""
    start, along = line[:-1], np.diff(line, axis=0)
    to = points[:, None] - start
    share = (to * along).sum(axis=2) / np.maximum((along**2).sum(axis=1), 1e-12)
    foot = np.clip(share, 0, 1)[..., None] * along
    return np.linalg.norm(to - foot, axis=2).min(axis=1).max()


def unlike(old, new, rough):
    """Say how two elements differ, or None; `rough` is the tolerance for data inside the axes."""
    # A curve may have more points or fewer.
    shape, shape_now = (re.sub("( L _ _)+", " L", one.what) for one in (old, new))
    if shape != shape_now or old.numbers.keys() != new.numbers.keys():
        return f"{old.where}: {old.what[:80]} became {new.what[:80]}"
    is_data = "axes" in old.where and "matplotlib.axis" not in old.where
    for key, was in old.numbers.items():
        now = new.numbers[key]
        tolerance = LEVELS if key == "pixels" else rough if is_data else POINTS
        far = np.abs(was - now).max(initial=0) if was.shape == now.shape else np.inf
        if far > tolerance and key == "d" and LINE.fullmatch(old.what):
            # Rounding decides which points matplotlib drops when it simplifies a curve.
            a, b = was.reshape(-1, 2), now.reshape(-1, 2)
            far = max(apart(a, b), apart(b, a))
        if far > tolerance:
            return f"{old.where}: {old.what[:40]}: {key} differ by {far:.2f}"
    return None


def differences(stored, fresh, figure=""):
    """Return the first differences between two SVGs of the named figure, in words."""
    old, new = [*elements(stored)], [*elements(fresh)]
    rough = ROUGH.get(figure, POINTS)
    pairs = zip(old, new, strict=False)
    problems = [unlike(before, now, rough) for before, now in pairs]
    problems = [problem for problem in problems if problem]
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
    below = next(
        (after.source for before, after in pairwise(cells) if before is cell), ""
    )
    anchor = re.match(r'<a id="(fig-[\w-]+)"></a>', below)
    return anchor[1] if anchor else ""


def changed(cell, outputs, figure=""):
    """Say how a cell's stored pictures, of the named figure, differ from fresh outputs.

    Where nbval ignores the output, because of times or rounding, only labels are compared.
    """
    stored, fresh = (
        [o.data[SVG] for o in side if SVG in o.get("data", {})]
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
