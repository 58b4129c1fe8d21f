"""Stacks the panels of a picture on a phone: two to four plots in a row.

It runs also in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

WIDEST_BAR = 1 / 8  # of a figure's width: wider axes are a panel, not a color bar
LARGEST_SCALE = 1.85  # of a stacked panel, by its size in the row
COLUMNS_SCALE = 1.4  # and of panels that are narrow enough to stand in two columns
GAP = 10  # between rows, so that a title isn't taken for the label of the axis above
# Lines of matplotlib 3's SVG; compare an update with them.

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
    is_map: bool


class Stacked(NamedTuple):
    """How panels are stacked on a phone."""

    style: str  # what the picture's head gets
    ratio: float  # of the stacked picture: its width by its height
    scale: float  # of a panel, by its size in the row


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
        is_map = "<image" in drawing
        axes.append(Axes(f"axes_{number}", *map(float, corners), labels, is_map))
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
    # are up to 208 wide: two columns have no room for 1.4 · 208, so all are 1.85 times as large.
    starts, labeled = strips_of(panels)
    # Two maps with one y axis are there to be compared, and stay beside each other.
    if len(panels) == 2 and labeled and all(panel.is_map for panel in panels):
        return Stacked("", width / height, 1)
    widest = max(np.diff([*starts, width]))
    columns = 2 if widest * COLUMNS_SCALE <= width / 2 else 1
    rows = -(-len(panels) // columns)
    scale = min(LARGEST_SCALE, width / columns / widest)

    def move(name, shift, panel, shown=""):
        """A rule that moves an element of the figure sideways, and to a panel's place."""
        row, column = divmod(panel, columns)
        across = shift + column * width / columns / scale
        to = f"translate({across:.1f}px, {row * (height + GAP):.1f}px)"
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
    return Stacked(style, width / ((rows * (height + GAP) - GAP) * scale), scale)
