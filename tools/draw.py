"""Draw the cover: `python tools/draw.py`."""

from pathlib import Path

import matplotlib.pyplot as plt

from posenc import plots, sinusoidal_encoding

COVER = Path(__file__).parents[1] / "book" / "_static" / "cover.svg"


def draw(path: Path) -> None:
    """128 positions in 64 dimensions, as a heatmap."""
    plots.use_style()
    figure, ax = plt.subplots(figsize=(7, 3.6))
    plots.heatmap(sinusoidal_encoding(128, 64), ax)
    figure.savefig(path, metadata={"Creator": None, "Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(COVER)
