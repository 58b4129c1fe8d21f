"""The book's figures: one style, ``book.mplstyle``, and one color map, for light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle, Wedge
from numpy.typing import ArrayLike

STYLE = mpl.rc_params_from_file(
    Path(__file__).with_name("book.mplstyle"), use_default_template=False
)

INK: str = STYLE["text.color"]  #: Color of text and axes.
COLORS: tuple[str, ...] = tuple(
    STYLE["axes.prop_cycle"].by_key()["color"]
)  #: Of lines, in order.
#: Of pairs, fastest first; apart from query and key for the colorblind, too.
PAIRS = (
    "#3ea576",
    "#259f7d",
    "#019883",
    "#009188",
    "#00898b",
    "#00808d",
    "#00788d",
    "#146f8b",
)
DIVERGING: str = STYLE[
    "image.cmap"
]  #: Map of values around 0, purple below and orange above.
#: CSS filter of maps; on a page that sets --dark to 1, zero is dark, and hues stay.
DARK_MAP = "invert(var(--dark, 0)) hue-rotate(calc(var(--dark, 0) * 180deg))"


def use_style() -> None:
    """Use the book's style for all figures of this kernel, as reproducible SVG."""
    mpl.rcParams.update(STYLE)
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # outside Jupyter there is no inline backend to set
        return
    set_matplotlib_formats("svg", metadata={"Date": None}, bbox_inches=None)  # type: ignore[no-untyped-call]


#: Of angles and lengths that training never showed.
UNSEEN = "#d0342c"


def dials(hands: ArrayLike, colors: Sequence[str | None], ax: Axes) -> None:
    """Draw dials, eight in a row: hands has shape (dials, hands of each, 2), as (up, right).

    Each of a dial's hands has a color, or that of the dial's pair for None. Between two
    hands stands a wedge, on the side where they are closer.
    """
    ax.set_aspect("equal")
    ax.axis("off")
    ax.margins(0)
    for n, dial in enumerate(np.asarray(hands, float)):
        center = x, y = 2.6 * (n % 8), -2.6 * (n // 8)
        ax.add_patch(Circle(center, 1, fill=False, edgecolor=INK, alpha=0.5))
        for color, (up, right) in zip(colors, dial, strict=True):
            ax.plot([x, x + right], [y, y + up], color=color or PAIRS[n % 8])
        if len(dial) == 2:
            start, end = np.degrees(np.arctan2(dial[:, 0], dial[:, 1]))
            first, last = (start, end) if (end - start) % 360 < 180 else (end, start)
            wedge = Wedge(center, 0.7, first, last, color=PAIRS[n % 8], alpha=0.5)
            ax.add_patch(wedge)


def heatmaps(tables: Mapping[str, ArrayLike], figure: Figure, limit: float) -> None:
    """Draw tables side by side, each under its name."""
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for ax, (title, table) in zip(panels, tables.items(), strict=True):
        heatmap(table, ax, limit=limit, title=title, colorbar=False)


def heatmap(
    table: ArrayLike,
    ax: Axes | None = None,
    *,
    xlabel: str = "dimension",
    ylabel: str = "position",
    title: str | None = None,
    limit: float = 1.0,
    colorbar: bool = True,
) -> AxesImage:
    """Draw a table as a heatmap, with row 0 at the top.

    Colors range from -limit to limit: white is 0. Without axes, it draws in a new figure.
    """
    if ax is None:
        ax = plt.subplots()[1]
    image = ax.imshow(np.asarray(table), vmin=-limit, vmax=limit, cmap=DIVERGING)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if colorbar:
        ax.figure.colorbar(image, ax=ax)
    return image


def curves(
    x: ArrayLike,
    ys: Sequence[ArrayLike],
    labels: Sequence[str],
    ax: Axes | None = None,
    *,
    xlabel: str = "position",
    ylabel: str = "value",
    title: str | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw several curves over the same x, and name them above; `kwargs` go to ``plot``."""
    if ax is None:
        ax = plt.subplots()[1]
    for y, label in zip(ys, labels, strict=True):
        ax.plot(x, y, label=label, **kwargs)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    name_above(ax)
    return ax


def name_above(ax: Axes) -> None:
    """Name the lines of axes in a row above them, where a phone shows it without scrolling."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, columnspacing=1)


def intervals(
    labels: Sequence[str],
    centers: ArrayLike,
    bounds: ArrayLike,
    ax: Axes,
    *,
    name: str | None = None,
    color: str | None = None,
    shift: float = 0.0,
) -> None:
    """Draw a dot with a bar for each label, the first label at the top.

    `bounds`, (n, 2), are the ends of the bars; a center that is NaN leaves its row empty. Several
    sets can share the labels: `shift` moves one down, in rows, and `name` is for a legend.
    """
    middle, ends = np.asarray(centers, float), np.asarray(bounds, float)
    rows = np.arange(len(labels)) + shift
    reach = np.abs(ends.T - middle)
    ax.errorbar(
        middle, rows, xerr=reach, fmt="o", markersize=4.5, color=color, label=name
    )
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)


class Table:
    """A table that renders as HTML in a notebook, and as aligned text in a terminal.

    Each row has a label and a cell for each other column; to show it is a ValueError otherwise.
    """

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        self.header: list[str] = list(header)
        self.rows: list[list[str]] = [[str(cell) for cell in row] for row in rows]

    def __repr__(self) -> str:
        """Return the cells as aligned text."""
        widths = [
            max(map(len, column))
            for column in zip(self.header, *self.rows, strict=True)
        ]
        lines = []
        for first, *others in [self.header, *self.rows]:
            cells = [
                cell.rjust(width)
                for cell, width in zip(others, widths[1:], strict=True)
            ]
            lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{html.escape(name)}</th>' for name in self.header
        )
        body = ""
        for first, *others in self.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in others)
            body += f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>\n'
        return (
            '<div class="pst-scrollable-table-container" tabindex="0"><table class="table">\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        )
