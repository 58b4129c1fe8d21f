"""The book's figures: one style, ``book.mplstyle``, and one color map, for light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike

STYLE = mpl.rc_params_from_file(
    Path(__file__).with_name("book.mplstyle"), use_default_template=False
)

INK: str = STYLE["text.color"]  #: Color of text and axes.
#: Of lines, in order.
COLORS: tuple[str, ...] = tuple(STYLE["axes.prop_cycle"].by_key()["color"])
#: Of pairs, fastest first; apart from query and key for the colorblind, too.
PAIRS = (
    "#5aa652",
    "#1ea267",
    "#08977c",
    "#078d86",
    "#07828d",
    "#077892",
    "#056d9a",
    "#075ea9",
)
#: Of contenders in experiments, the same in all figures; others are drawn in `INK`.
CONTENDERS = dict(
    zip(
        ["sinusoidal", "rotary", "ALiBi", "learned", "windows", "none", "hybrid"],
        COLORS,
        strict=True,
    )
)
#: Map of values around 0, purple below and orange above.
DIVERGING: str = STYLE["image.cmap"]
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


def heatmap(
    table: ArrayLike,
    ax: Axes | None = None,
    *,
    limit: float = 1.0,
    colorbar: bool = True,
    **labels: str | None,
) -> AxesImage:
    """Draw a table as a heatmap, with row 0 at the top.

    Colors range from -limit to limit, in the book's style nearly white at 0. Without axes, it draws
    in a new figure. `labels`, as ``xlabel`` and ``title``, go to ``Axes.set``.
    """
    ax = ax or plt.subplots()[1]
    image = ax.imshow(table, vmin=-limit, vmax=limit)
    ax.set(**{"xlabel": "dimension", "ylabel": "position", **labels})
    ax.spines[:].set_visible(False)
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, ticks=[-limit, 0, limit])
        bar.outline.set_visible(False)
    return image


def curves(
    x: ArrayLike,
    ys: Sequence[ArrayLike],
    labels: Sequence[str],
    ax: Axes | None = None,
    *,
    xlabel: str = "position",
    ylabel: str = "value",
    **kwargs: Any,
) -> Axes:
    """Draw several curves over the same x, and name them above; `kwargs` go to ``plot``."""
    ax = ax or plt.subplots()[1]
    for y, label in zip(ys, labels, strict=True):
        ax.plot(x, y, label=label, **kwargs)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    name_above(ax)
    return ax


def name_above(ax: Axes) -> None:
    """Name the lines of axes above them, where a phone shows all names without scrolling."""
    _, names = ax.get_legend_handles_labels()
    # A phone shows six sevenths of a picture's width: four short names, or two long ones.
    columns = 4 if max(map(len, names)) < 15 else 2
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, columnspacing=1)


def contenders(
    labels: Sequence[str],
    centers: Iterable[float],
    bounds: Iterable[ArrayLike],
    ax: Axes,
    *,
    marker: str = "o",
) -> None:
    """Draw a dot with a bar for each label, the first label at the top, in the contender's color.

    `bounds`, (n, 2), are the ends of the bars. The labels have that color, too, and quiet lines
    lead from them to the dots. Another marker than a dot tells a second set.
    """
    ax.set_yticks(range(len(labels)), labels)
    rows = zip(labels, centers, bounds, strict=True)
    for row, (label, center, ends) in enumerate(rows):
        color = CONTENDERS.get(label, INK)
        # A bar ends where its interval does, without the usual cap.
        ax.plot(ends, [row, row], color=color, linewidth=2.2, solid_capstyle="butt")
        ax.plot(center, row, marker, color=color, markersize=6, markeredgewidth=1.8)
    # Of panels that share their labels, the first one alone has any.
    for name in ax.get_yticklabels():
        name.set_color(CONTENDERS.get(name.get_text(), INK))
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="y", alpha=0.15)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


@dataclass(repr=False)
class Quotations:
    """Texts that models wrote, by the models' names, as quotations in a notebook, or as text.

    The models have their colors as `CONTENDERS`. What follows the first `known` characters is
    dimmer in a notebook.
    """

    texts: Mapping[str, str]
    known: int

    def __repr__(self) -> str:
        """Return a paragraph for each model."""
        return "\n\n".join(f"{name}: {text}" for name, text in self.texts.items())

    def _repr_html_(self) -> str:
        quoted = ""
        for name, text in self.texts.items():
            color = CONTENDERS.get(name, INK)
            start = html.escape(text[: self.known])
            rest = (
                f'<span style="opacity: 0.7">{html.escape(text[self.known :])}</span>'
            )
            quoted += f"<dt>{html.escape(name)}</dt>"
            quoted += f'<dd style="border-color: {color}">{start}{rest}</dd>\n'
        return f'<dl class="quotations">\n{quoted}</dl>'


class Table:
    """A table that renders as HTML in a notebook, and as aligned text in a terminal.

    Each row has a label and a cell for each other column; otherwise it is a ValueError. A caption
    stands above it.
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str = "",
    ) -> None:
        self.rows = [[*map(str, row)] for row in (header, *rows)]
        columns = zip(*self.rows, strict=True)
        self.widths = [max(map(len, column)) for column in columns]
        self.caption = caption

    def __repr__(self) -> str:
        """Return the cells as aligned text."""
        lines = ["  ".join(map(str.ljust, row, self.widths)) for row in self.rows]
        title = [self.caption, ""] if self.caption else []
        return "\n".join([*title, *map(str.rstrip, lines)])

    def _repr_html_(self) -> str:
        header, *rows = [map(html.escape, row) for row in self.rows]
        head = "".join(f'<th scope="col">{name}</th>' for name in header)
        body = ""
        for first, *others in rows:
            cells = "".join(f"<td>{cell}</td>" for cell in others)
            body += f'<tr><th scope="row">{first}</th>{cells}</tr>\n'
        title = (
            f"<caption>{html.escape(self.caption)}</caption>\n" if self.caption else ""
        )
        return (
            '<div class="pst-scrollable-table-container" tabindex="0"><table class="table">\n'
            f"{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        )
