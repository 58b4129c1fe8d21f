"""Compare two drawings of a figure: words, colors and structure exactly, coordinates nearly.

Both are SVG by matplotlib, so a difference can be named: "axes_1 text_5: 'position' became
'dimension'". A pixel comparison couldn't name it, and might miss a short word.
"""

import base64
import io
import re
from itertools import pairwise

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


def elements(svg):
    """Yield path, content and numbers by attribute of each element and word, in drawing order."""
    ids, places = {}, {None: ""}
    for node in etree.fromstring(svg.encode()).iter():
        where = places.get(node.getparent())
        if where is None or str(node.tag).endswith("metadata"):
            continue
        if node.tag is etree.Comment:
            yield where, repr(node.text.strip()), {}
            continue
        if not re.search(r"text_\d+$", where):  # glyphs; the word itself is a comment
            places[node] = " ".join(
                [where, *filter(NAMED.match, [node.get("id", "")])]
            ).strip()
        what, numbers = [etree.QName(node).localname], {}
        for key, value in sorted(node.items()):
            if value.startswith(PNG):
                picture = Image.open(
                    io.BytesIO(base64.b64decode(value.removeprefix(PNG)))
                )
                numbers["pixels"] = np.asarray(picture.convert("RGBA"), dtype=int)
                continue
            # Ids may contain a hash of coordinates: compare only which elements share one.
            value = re.sub(
                r"[0-9a-f]{10}\b", lambda m: f"{ids.setdefault(m[0], len(ids))}", value
            )
            if key in ("d", "transform", "x", "y", "width", "height", "viewBox"):
                numbers[key] = np.array(NUMBER.findall(value), dtype=float)
                value = " ".join(NUMBER.sub("_", value).split())
            what.append(f"{key.rpartition('}')[2]}={value}")
        yield where, " ".join(what), numbers


def apart(points, line):
    """Return the largest distance of the points from a polyline."""
    start, along = line[:-1], np.diff(line, axis=0)
    to = points[:, None] - start
    share = (to * along).sum(axis=2) / np.maximum((along**2).sum(axis=1), 1e-12)
    foot = np.clip(share, 0, 1)[..., None] * along
    return np.linalg.norm(to - foot, axis=2).min(axis=1).max()


def unlike(old, new, rough):
    """Say how two elements differ, or None; `rough` is the tolerance for data inside the axes."""
    (where, what, numbers), (_, what_now, numbers_now) = old, new
    shape, shape_now = (re.sub("( L _ _)+", " L", each) for each in (what, what_now))
    if shape != shape_now or numbers.keys() != numbers_now.keys():
        return f"{where}: {what[:80]} became {what_now[:80]}"
    is_data = "axes" in where and "matplotlib.axis" not in where
    for key, was in numbers.items():
        now = numbers_now[key]
        tolerance = LEVELS if key == "pixels" else rough if is_data else POINTS
        far = np.abs(was - now).max(initial=0) if was.shape == now.shape else np.inf
        if far > tolerance and key == "d" and LINE.fullmatch(what):
            # Rounding decides which points matplotlib drops when it simplifies a curve.
            a, b = was.reshape(-1, 2), now.reshape(-1, 2)
            far = max(apart(a, b), apart(b, a))
        if far > tolerance:
            return f"{where}: {what[:40]}: {key} differ by {far:.2f}"
    return None


def differences(stored, fresh, name=""):
    """Return the first differences between two SVGs of the named figure, in words."""
    old, new = [*elements(stored)], [*elements(fresh)]
    rough = ROUGH.get(name, POINTS)
    found = [
        *filter(None, (unlike(*both, rough) for both in zip(old, new, strict=False)))
    ]
    if len(old) != len(new):
        found.append(f"{len(old)} elements became {len(new)}")
    # Words, colors and shapes first: a longer word shifts many coordinates.
    return sorted(found, key=lambda text: "differ by" in text)[:5]


def labels(svg):
    """Return the words of a picture, without tick labels and numbers."""
    words = [what for where, what, *_ in elements(svg) if "tick" not in where]
    return [what for what in words if re.match("'.*[a-z]{2}", what)]


def name(cells, cell):
    """Return the name of a cell's figure, read from the caption in the next cell."""
    below = next(
        (after.source for before, after in pairwise(cells) if before is cell), ""
    )
    found = re.match(r'<a id="(fig-[\w-]+)"></a>', below)
    return found[1] if found else ""


def changed(cell, outputs, name=""):
    """Say how a cell's stored pictures differ from fresh outputs.

    Where nbval ignores the output, because of times or rounding, only labels are compared.
    """
    stored, fresh = (
        [o.data[SVG] for o in side if SVG in o.get("data", {})]
        for side in (cell.outputs, outputs)
    )
    found = []
    for old, new in zip(stored, fresh, strict=True):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            if labels(old) != labels(new):
                found.append(f"labels {labels(old)} became {labels(new)}")
        elif is_comparable(old):
            found += differences(old, new, name)
    return "\n".join(f"{name} {text}" for text in found)
