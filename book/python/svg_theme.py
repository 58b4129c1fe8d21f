"""Makes figures follow the theme of the page, light or dark.

`follow_theme` also runs in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import base64
import re
from html import unescape
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image

from posenc.book.plots import COLORS, DARK_MAP, DIVERGING, INK, STYLE

DARK_INK = "#e6e8ee"
# The size of a picture's text on a desktop, as a share of the width that it has there
TEXT_SHARE = 14 / 720
# The same in a picture that a desktop shows as large as it was drawn.
SMALL = "@media (min-width: 470px) and (max-width: 599px) { .word { scale: 0.87 } }"
LARGER = 1.1  # text in the typeface of the page, by its size in matplotlib's
SHARE = 85  # percent of a color; the rest is ink, so that colored text is legible in both themes
WIDEST_BAR = 1 / 8  # of a figure's width: wider axes are a panel, not a color bar
LARGEST_SCALE = 1.6  # of a stacked panel, by its size in the row
COLUMNS_SCALE = 1.4  # and of panels that are narrow enough to stand in two columns
THEME = f"""<style>
:root {{ --ink: {INK}; --black: #000; --white: #fff; color-scheme: light dark }}
text {{
fill: var(--black); font-family: -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif
}}
.word {{ transform-box: fill-box; transform-origin: center }}
:is([id^="legend"], [id^="start"]) .word {{ transform-origin: left }}
[id^="ytick"] .word {{ transform-origin: right }}
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
    r'scale\(([\d.]+) -[\d.]+\)">.*?</g>',
    re.DOTALL,
)
FORMULA = re.compile(
    r'(<!-- [^>]*\$[^>]*-->\s*<g )((?:style="[^"]*" )?)(transform="translate[^"]*?) '
    r'(scale\([^"]*">.*?</g>)',
    re.DOTALL,
)
# <path id="DejaVuSans-14" d="M 794 531 (more lines)" transform="scale(0.015625)"/>
GLYPH = re.compile(r'<path id="(DejaVu[^"]+)".*?/>', re.DOTALL)
#   <g id="text_21">     two spaces deep: of the figure, not of one plot
FOR_ALL = re.compile(r'^  <g id="text', re.MULTILINE)
#   <g id="legend_1">    of the figure, too; then its first line, whose start is about its corner
#     <path d="M 206.3 156.4 (more)
LEGEND = re.compile(
    r'^  <g id="(legend_\d+)">.*?\sd="M ([\d.]+) ([\d.]+)', re.MULTILINE | re.DOTALL
)
# <g id="axes_1">
#  <g id="patch_2">      the background, from the bottom left to the bottom right
#   <path d="M 38.8 206.5
# L 250.1 206.5 (more)
BEFORE_AXES = '<g id="axes_'
AXES = re.compile(
    r'(\d+)">\s*<g id="patch_\d+">\s*<path d="M ([\d.]+) ([\d.]+)\s*L ([\d.]+) '
)
# <image xlink:href="data:image/png;base64,
# iVBORw0KGgo(more)" id="image1" (more)/>
IMAGE = re.compile(r'<image (?=[^>]*?base64,\s*([^"]+)")')
# <svg (more) width="504pt" height="216pt" viewBox="0 0 504 216" (more)>
SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
# A copy of the first panel's y axis, which matplotlib numbers after its x axis.
LABELS = '<use id="again_{}" xlink:href="#matplotlib.axis_2" display="none"/>'


class Axes(NamedTuple):
    """A plot or a color bar: its element, and where its background is, from the top left."""

    name: str
    left: float
    bottom: float
    right: float
    labels: int  # how many labels, or only ticks, its y axis has


class Stacked(NamedTuple):
    """How panels are stacked on a phone."""

    style: str  # what the picture's head gets
    ratio: float  # of the stacked picture: its width by its height


def set_word(outlines):
    """Turn a word of outlines into text as wide, in the typeface of the page."""
    words, style, place, scale = outlines.groups(default="")
    size = 100 * float(scale)
    is_bold = "DejaVuSans-Bold" in outlines[0]
    font = FontProperties(size=size, weight="bold" if is_bold else "normal")
    measure = text_to_path.get_text_width_height_descent
    width, _, _ = measure(unescape(words), font, ismath=False)
    if is_bold:
        style += ' font-weight="bold"'
    return (
        f'<g transform="{place}"><text class="word" {style} font-size="{LARGER * size:.2f}" '
        f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{words}</text></g>'
    )


def set_words(svg):
    """Set all words but formulas as text, and keep the outlines that formulas need."""
    outlines = {glyph[1]: glyph[0] for glyph in GLYPH.finditer(svg)}
    # The first word with a letter brought its outline along: formulas get theirs in one place.
    svg = GLYPH.sub("", WORDS.sub(set_word, svg))
    svg = FORMULA.sub(r'\1\3"><g class="word"><g \2transform="\4</g></g>', svg)
    needed = outlines.keys() & re.findall('href="#([^"]+)"', svg)
    kept = "".join(outlines[name] for name in sorted(needed))
    return svg.replace("<defs>", f"<defs>{kept}", 1)


def mark_map(image):
    """Mark an image that has the colors of the map for values around zero, and no others."""
    picture = Image.open(BytesIO(base64.b64decode(image[1]))).convert("RGB")
    colors = np.unique(np.asarray(picture, int).reshape(-1, 3), axis=0)
    steps = mpl.colormaps[DIVERGING](range(256), bytes=True)[:, :3].astype(int)
    distances = abs(colors[:, None] - steps).max(axis=2).min(axis=1)
    # Color bars are blurred.
    return '<image class="map" ' if distances.max() <= 8 else image[0]


def axes_of(svg):
    """All axes of a figure, in the order in which they are drawn; none if one isn't known."""
    axes = []
    _, *drawings = svg.split(BEFORE_AXES)
    for drawing in drawings:
        background = AXES.match(drawing)
        if not background:
            return []
        number, *corners = background.groups()
        labels = drawing.count("ytick_")
        axes.append(Axes(f"axes_{number}", *map(float, corners), labels))
    return axes


def panels_of(axes, width):
    """The two to four panels that can be stacked, from left to right; none if others are drawn."""
    panels = [axis for axis in axes if axis.right - axis.left > width * WIDEST_BAR]
    is_row = all(left.right <= right.left for left, right in pairwise(panels))
    return panels if is_row and 2 <= len(panels) <= 4 else []


def strips_of(panels):
    """Where each panel's strip of the figure starts, and which get the first panel's labels.

    A strip goes on to the next one's start. Of a row of panels (``[ ]``), the second with labels
    (``y``) of its own, the third without, ``panel`` 0 to 2 start at ``|``::

        |y[  ]|y[  ] |[  ]
    """
    first, starts, labeled = panels[0], [0.0], []
    for panel, (left, right) in enumerate(pairwise(panels), 1):
        # Labels of its own would need as much room as the first one's have.
        is_bare = right.left - left.right < first.left / 2
        if is_bare and right.labels == first.labels:
            starts.append(right.left - first.left)  # with room for them
            labeled.append(panel)
        else:
            starts.append(left.right)
    return starts, labeled


def stack(svg):
    """Return what stacks two to four panels on a phone, as `Stacked`; narrow ones in two columns.

    A panel that shares the labels of the first one gets a copy of them; a legend below all panels
    comes last. None if the panels are others, or have other words in common. Media queries in a
    picture go by its own width.

    `svg` is matplotlib's, or what `follow_theme` made of it, for which optimization.py asks the
    ratio: both have the same size, groups and backgrounds, and nothing else is read here.
    """
    size = SIZE.search(svg)
    if not size or FOR_ALL.search(svg):
        return None
    width, height = map(float, size.groups())
    axes, legends = axes_of(svg), LEGEND.findall(svg)
    panels = panels_of(axes, width)
    lowest = max((panel.bottom for panel in panels), default=np.inf)
    if not panels or any(float(top) < lowest for _, _, top in legends):
        return None
    # Of three panels of 120 from 40, 200, and 336 on, in 504, strips start at 0, 160, and 296, and
    # are up to 208 wide: two columns have no room for 1.4 · 208, so all are 1.6 times as large.
    starts, labeled = strips_of(panels)
    widest = max(np.diff([*starts, width]))
    columns = 2 if widest * COLUMNS_SCALE <= width / 2 else 1
    rows = -(-len(panels) // columns)
    scale = min(LARGEST_SCALE, width / columns / widest)

    def move(name, shift, panel, shown=""):
        """A rule that moves an element of the figure sideways, and to a panel's place."""
        row, column = divmod(panel, columns)
        across = shift + column * width / columns / scale
        to = f"translate({across:.1f}px, {row * height:.1f}px)"
        return f"#{name} {{ {shown}transform: scale({scale:.2f}) {to} }}\n"

    rules, copies = "", ""
    for axis in axes:  # panels and their color bars
        panel = sum(start <= axis.left for start in starts) - 1
        rules += move(axis.name, -starts[panel], panel)
    for panel in labeled:
        rules += move(f"again_{panel}", 0, panel, "display: inline; ")
        copies += LABELS.format(panel)
    for name, left, _ in legends:
        rules += move(name, panels[0].left - float(left), (rows - 1) * columns)
    style = f"<style>@media (max-width: 450px) {{\n{rules}}}</style>{copies}"
    return Stacked(style, width / (rows * height * scale))


def follow_theme(svg):
    """Replace a figure's ink by a CSS variable that is light on a dark page.

    Browsers without ``color-mix`` fall back to the declaration before it.
    """
    head, _, body = IMAGE.sub(mark_map, set_words(svg)).partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    for color, name in ((INK, "ink"), ("#000000", "black"), ("#ffffff", "white")):
        body = body.replace(color, f"var(--{name})")
    # What can be read on a phone would be too large on a desktop.
    drawn = LARGER * STYLE["font.size"] / float(SIZE.search(svg)[1])
    shrunk = f".word {{ scale: {min(1, TEXT_SHARE / drawn):.2f} }}"
    head += f"<style>@media (min-width: 600px) {{ {shrunk} }}{SMALL}</style>"
    if stacked := stack(svg):
        at_the_left = '<svg preserveAspectRatio="xMinYMin" '
        head = head.replace("<svg ", at_the_left, 1) + stacked.style
    return f"{head}{THEME}<defs>{body}"


def color_pictures(folder):
    """Make the figures in a folder follow the theme."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if "Matplotlib" in svg:
            path.write_text(follow_theme(svg), encoding="utf-8")
