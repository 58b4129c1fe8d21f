"""Draw the cover, the favicon and the card: `python tools/draw.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from posenc import plots, sinusoidal_encoding

STATIC = Path(__file__).parents[1] / "book" / "_static"


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


def draw(folder: Path) -> None:
    """Write the pictures into a folder."""
    plots.use_style()
    figure = cover()
    figure.savefig(folder / "cover.svg", metadata={"Creator": None, "Date": None})
    plt.close(figure)
    Image.fromarray(card()).save(folder / "card.png", optimize=True)
    (folder / "favicon.svg").write_text(favicon(), encoding="utf-8")


if __name__ == "__main__":
    draw(STATIC)
