"""Makes figures follow the theme of the page, light or dark.

`follow_theme` also runs in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import base64
import re
from html import unescape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image

from posenc.book.plots import COLORS, DARK_MAP, DIVERGING, INK

DARK_INK = "#e6e8ee"
SHARE = 85  # percent of a color; the rest is ink, so that colored text is legible in both themes
THEME = f"""<style>
:root {{ --ink: {INK}; --black: #000; --white: #fff; color-scheme: light dark }}
text {{
fill: var(--black); font-family: -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif
}}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: {DARK_INK}; --black: #fff; --white: #000; --dark: 1 }} /* on a map */
image {{ filter: brightness(0.8) }}
image.map {{ filter: {DARK_MAP} }}
}}
</style>"""
# Lines of matplotlib 3's SVG, with `svg.fonttype: path`; compare an update with them.

# <!-- −15 -->
# <g style="fill: #1f2430" transform="translate(41.7 209.7) scale(0.11 -0.11)"> (outlines) </g>
# A formula's comment has dollar signs.
WORDS = re.compile(
    r'<!-- ([^$]*?) -->\s*<g(?: (style="[^"]*"))? transform="(translate[^"]*?) '
    r'scale\(([\d.]+) -[\d.]+\)">(.*?)</g>',
    re.DOTALL,
)
# <path id="DejaVuSans-14" d="M 794 531 (more lines)" transform="scale(0.015625)"/>
GLYPH = re.compile(r'<path id="(DejaVu[^"]+)".*?/>', re.DOTALL)
#   <g id="text_21">     two spaces deep: of the figure, not of one plot
FOR_ALL = re.compile(r'^  <g id="text', re.MULTILINE)
#   <g id="legend_1">    of the figure, too; then its first line, whose start is about its corner
#     <path d="M 206.3 156.4 (more)
LEGEND = re.compile(
    r'^  <g id="(legend_\d+)">(.*?)\sd="M ([\d.]+) ([\d.]+)', re.MULTILINE | re.DOTALL
)
# <g id="axes_1">
#  <g id="patch_2">      the background, from the bottom left to the bottom right
#   <path d="M 38.8 206.5
# L 250.1 206.5 (more)
AXES = re.compile(
    r'<g id="(axes_\d+)">\s*<g id="patch_\d+">\s*<path d="M ([\d.]+) ([\d.]+)\s*L ([\d.]+) '
)
# <image xlink:href="data:image/png;base64,
# iVBORw0KGgo(more)" id="image1" (more)/>
IMAGE = re.compile(r'<image (?=[^>]*?base64,\s*([^"]+)")')


class Axes(NamedTuple):
    """A plot or a color bar: its element, and where its background is, from the top left."""

    name: str
    left: float
    bottom: float
    right: float


class Place(NamedTuple):
    """Where a part of the figure goes on a phone: moved sideways, into a row."""

    name: str
    shift: float
    row: int
    is_copy: bool = False  # of the first panel's labels; only phones show it


def set_word(found: re.Match[str]) -> str:
    """Turn a word of outlines into text as wide, in the typeface of the page."""
    words, style, place, scale, _ = found.groups(default="")
    size = 100 * float(scale)
    width = text_to_path.get_text_width_height_descent(
        unescape(words), FontProperties(size=size), ismath=False
    )[0]
    return (
        f'<text {style} transform="{place}" font-size="{1.1 * size:.2f}" '
        f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{words}</text>'
    )


def set_words(svg: str) -> str:
    """Set all words but formulas as text, and keep the outlines that formulas need."""
    outlines = {found[1]: found[0] for found in GLYPH.finditer(svg)}
    svg = WORDS.sub(set_word, svg)
    missing = {*re.findall(r'href="#(DejaVu[^"]+)"', svg)} - {*GLYPH.findall(svg)}
    return svg.replace(
        "<defs>", "<defs>" + "".join(outlines[name] for name in sorted(missing)), 1
    )


def mark_map(found: re.Match[str]) -> str:
    """Mark an image that has the colors of the map for values around zero, and no others."""
    image = Image.open(BytesIO(base64.b64decode(found[1]))).convert("RGB")
    colors = np.array(
        [color for _, color in image.getcolors(image.width * image.height) or []]
    )
    steps = mpl.colormaps[DIVERGING](range(256), bytes=True)[:, :3].astype(int)
    distances = abs(colors[:, None] - steps).max(axis=2).min(axis=1)
    return (
        '<image class="map" ' if distances.max() <= 8 else found[0]
    )  # color bars are blurred


def panels_of(svg: str, axes: list[Axes], width: float) -> list[Axes]:
    """The two to four panels that can be stacked, from left to right; none if others are drawn."""
    panels = [
        axis for axis in axes if axis.right - axis.left > width / 8
    ]  # no color bars
    is_row = all(left.right <= right.left for left, right in pairwise(panels))
    is_all_known = len(axes) == svg.count('<g id="axes_') and not FOR_ALL.search(svg)
    return panels if is_row and is_all_known and len(panels) in (2, 3, 4) else []


def share_labels(svg: str, panels: list[Axes]) -> list[bool]:
    """Whether each panel after the first has no labels of its own, but the first one's."""
    parts = [
        svg.partition(f'id="{panel.name}"')[2].split('id="axes_')[0] for panel in panels
    ]
    ticks = [part.count("ytick_") for part in parts]
    gaps = [right.left - left.right for left, right in pairwise(panels)]
    return [
        gap < panels[0].left / 2 and n == ticks[0]
        for gap, n in zip(gaps, ticks[1:], strict=True)
    ]


def starts_of(panels: list[Axes], shared: list[bool]) -> list[float]:
    """Where each panel's strip of the figure starts, with room for its labels."""
    margin = panels[0].left
    starts = [0.0]
    for (left, right), same in zip(pairwise(panels), shared, strict=True):
        starts.append(right.left - margin if same else left.right)
    return starts


def places_of(axes: list[Axes], starts: list[float], shared: list[bool]) -> list[Place]:
    """Where plots, color bars and copies of the first panel's labels go: one strip a row."""
    places = []
    for axis in axes:
        row = sum(start <= axis.left for start in starts) - 1
        places.append(Place(axis.name, -starts[row], row))
    for row, same in enumerate(shared, 1):
        if same:
            places.append(Place(f"again_{row}", 0, row, is_copy=True))
    return places


def write_places(places: list[Place], scale: float, height: float) -> str:
    """The style that puts everything in its place on a phone, and the copies that it shows."""
    rules, copies = "", ""
    for place in places:
        shown = "display: inline; " if place.is_copy else ""
        move = f"translate({place.shift:.1f}px, {place.row * height:.1f}px)"
        rules += f"#{place.name} {{ {shown}transform: scale({scale:.2f}) {move} }}\n"
        if place.is_copy:
            copies += f'<use id="{place.name}" xlink:href="#matplotlib.axis_2" display="none"/>'
    return f"<style>@media (max-width: 450px) {{\n{rules}}}</style>{copies}"


def stack(svg: str) -> tuple[str, float] | None:
    """Return what stacks two to four panels on a phone, and the picture's ratio there.

    A panel that shares the labels of the first one gets them, too; a legend below all panels comes
    last. None if the panels are others, or have other words in common. Media queries in a picture
    go by its own width.
    """
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not size:
        return None
    width, height = map(float, size.groups())
    axes = [Axes(name, *map(float, box)) for name, *box in AXES.findall(svg)]
    panels = panels_of(svg, axes, width)
    if not panels:
        return None
    shared = share_labels(svg, panels)
    starts = starts_of(panels, shared)
    places = places_of(axes, starts, shared)
    for name, _, left, top in LEGEND.findall(svg):
        if float(top) < max(panel.bottom for panel in panels):
            return None
        places.append(Place(name, panels[0].left - float(left), len(panels) - 1))
    scale = min(1.6, width / max(np.diff([*starts, width])))
    ratio = width / (len(panels) * height * scale)
    return write_places(places, scale, height), ratio


def follow_theme(svg: str) -> str:
    """Replace a figure's ink by a CSS variable that is light on a dark page.

    Browsers without ``color-mix`` fall back to the declaration before it.
    """
    head, _, body = IMAGE.sub(mark_map, set_words(svg)).partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    for color, name in ((INK, "ink"), ("#000000", "black"), ("#ffffff", "white")):
        body = body.replace(color, f"var(--{name})")
    if stacked := stack(svg):
        head = (
            head.replace("<svg ", '<svg preserveAspectRatio="xMinYMin" ', 1)
            + stacked[0]
        )
    return head + THEME + "<defs>" + body


def color_pictures(folder: Path) -> None:
    """Make the figures in a folder follow the theme."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if any(color in svg for color in (INK, *COLORS)):
            path.write_text(follow_theme(svg), encoding="utf-8")
