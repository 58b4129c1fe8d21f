"""Draw the cover, the favicon, the card and the map of the chapters: `python tools/draw.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from posenc import plots, sinusoidal_encoding

STATIC = Path(__file__).parents[1] / "book" / "_static"

# The lines of the map: where they begin, their color, their name, and their stations.
LINES = [
    (0, 0, plots.COLORS[1], "The two-hour way"),
    (2.25, 0, plots.COLORS[0], "What it does"),
    (2.25, 6.2, plots.COLORS[2], "Positions at work"),
]
STATIONS = {
    "The two-hour way": [
        *("Why order?", "The formula", "In numpy", "In torch", "Heatmaps", "Binary digits"),
        *("A shift is a rotation", "t-SNE", "Distance; why 10 000"),
    ],
    "What it does": [
        *("RoPE and ALiBi", "Does it help?", "Conventions", "Precision, speed", "Bug museum"),
    ],
    "Positions at work": [
        *("Longer context", "Batches, caches", "Images", "Time and space", "Check your own"),
        "What models use",
    ],
}


def cover() -> Figure:
    """128 positions in 64 dimensions, as a heatmap."""
    figure, ax = plt.subplots(figsize=(7, 3.6))
    plots.heatmap(sinusoidal_encoding(128, 64), ax)
    return figure


def favicon() -> str:
    """Six positions in six dimensions, on a square of colored tiles."""
    table = sinusoidal_encoding(np.arange(6), 6, base=100)
    colors = mpl.colormaps[plots.DIVERGING]((table + 1) / 2)
    tiles = "".join(
        f'<rect x="{column}" y="{row}" width="1" height="1" fill="{mpl.colors.to_hex(color)}"/>'
        for (row, column), color in zip(np.ndindex(6, 6), colors.reshape(36, 4), strict=True)
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 6 6" shape-rendering="crispEdges">'
    return f"{head}{tiles}</svg>\n"


def card() -> np.ndarray:
    """63 positions in 120 dimensions, 1200 by 630 pixels: what a link to the book shows."""
    table = sinusoidal_encoding(63, 120)
    colors = mpl.colormaps[plots.DIVERGING]((table + 1) / 2, bytes=True)
    return colors[..., :3].repeat(10, axis=0).repeat(10, axis=1)


def book_map() -> Figure:
    """The chapters as stations of three lines."""
    figure, ax = plt.subplots(figsize=(4.3, 4.2))
    chapter = 1
    for x, top, color, line in LINES:
        ax.text(x - 0.06, top - 0.75, line, color=color, fontweight="bold", va="center")
        rows = top + np.arange(len(STATIONS[line]))
        ax.plot(np.full(len(rows), x), rows, "o-", color=color, linewidth=4, markersize=8)
        for row, name in zip(rows, STATIONS[line], strict=True):
            ax.text(x + 0.14, row, f"{chapter}  {name}", va="center", fontsize=10)
            chapter += 1
    ax.set(xlim=(-0.12, 4.1), ylim=(11.5, -1.1))
    ax.axis("off")
    return figure


def draw(folder: Path) -> None:
    """Write the pictures into a folder."""
    plots.use_style()
    for name, figure in [("cover", cover()), ("map", book_map())]:
        figure.savefig(folder / f"{name}.svg", metadata={"Creator": None, "Date": None})
        plt.close(figure)
    Image.fromarray(card()).save(folder / "card.png", optimize=True)
    (folder / "favicon.svg").write_text(favicon(), encoding="utf-8")


if __name__ == "__main__":
    draw(STATIC)
