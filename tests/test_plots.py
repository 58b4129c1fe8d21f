"""The plot helpers, and the pictures drawn from the encoding."""

import io
import sys
from pathlib import Path

import draw
import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pictures
import pytest

from posenc import plots, sinusoidal_encoding

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "book" / "_static"


@pytest.fixture(autouse=True)
def fresh_style():
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def test_heatmap_draws_rows_downwards_and_zero_white():
    table = sinusoidal_encoding(5, 8)
    image = plots.heatmap(table, title="five")
    np.testing.assert_array_equal(image.get_array(), table)
    assert image.get_clim() == (-1.0, 1.0)
    assert image.axes.get_xlabel() == "dimension"
    assert image.axes.get_ylabel() == "position"
    assert image.axes.get_title() == "five"
    assert image.axes.yaxis_inverted()
    np.testing.assert_allclose(image.cmap(0.5)[:3], 0.967, atol=0.01)
    assert image.colorbar is not None


def test_heatmap_in_given_axes():
    ax = plt.subplots()[1]
    image = plots.heatmap(np.eye(3), ax, limit=3, colorbar=False)
    assert image.axes is ax
    assert image.get_clim() == (-3, 3)
    assert image.colorbar is None


def test_purple_is_negative_orange_positive():
    colors = mpl.colormaps[plots.DIVERGING]([0.1, 0.9])
    assert colors[0, 2] > colors[0, 0] > colors[0, 1]
    assert colors[1, 0] > colors[1, 1] > colors[1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": np.zeros(3)}, "table must have 2 dimensions, got 1"),
        ({"table": np.eye(2), "limit": 0}, "limit must be positive, got 0"),
        ({"table": np.eye(2), "limit": np.nan}, "limit must be positive, got nan"),
    ],
)
def test_heatmap_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        plots.heatmap(**arguments)


def test_curves():
    ax = plots.curves([5, 7], [[0, 1], [1, 0]], ["up", "down"], title="two", linewidth=3)
    assert [line.get_label() for line in ax.lines] == ["up", "down"]
    assert ax.lines[1].get_xydata().tolist() == [[5, 1], [7, 0]]
    assert ax.lines[0].get_linewidth() == 3
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("position", "value", "two")
    assert plots.curves([0], [[0]], ["same axes"], ax) is ax
    with pytest.raises(ValueError, match=r"shorter|longer"):
        plots.curves([0], [[0]], ["a", "b"])


def test_draws_what_a_chapter_stores(monkeypatch):
    """Heatmaps, curves and style, as a reader of chapter 5 sees them."""
    drawn = []

    def show():
        drawn.append(io.StringIO())
        plt.gcf().savefig(drawn[-1], format="svg", metadata={"Date": None})
        plt.close()

    monkeypatch.setattr(plt, "show", show)
    chapter = nbformat.read(ROOT / "notebooks" / "05_heatmaps.ipynb", as_version=4)
    cells = [cell for cell in chapter.cells if cell.cell_type == "code"]
    names, stored = {}, []
    for cell in cells:
        checked = cell.source.startswith(("# Checked", "# For the box"))
        if checked or "solution" in cell.metadata.get("tags", []):
            continue
        exec(cell.source, names)
        if "plt.show()" in cell.source:
            stored += [o.data[pictures.SVG] for o in cell.outputs if "data" in o]
    assert len(drawn) == len(stored) > 5
    for old, new in zip(stored, drawn, strict=True):
        if pictures.is_comparable(old):
            assert pictures.differences(old, new.getvalue()) == []


def test_style_is_transparent_and_repeatable(tmp_path):
    plots.use_style()
    texts = []
    for name in ("a.svg", "b.svg"):
        figure = plots.heatmap(np.eye(3)).figure
        figure.savefig(tmp_path / name, metadata={"Date": None})
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    assert plots.INK in texts[0]
    assert "fill: #ffffff" not in texts[0]


def test_style_leaves_no_date_in_a_notebook(monkeypatch):
    calls = []
    inline = "matplotlib_inline.backend_inline.set_matplotlib_formats"
    monkeypatch.setattr(inline, lambda *kinds, **options: calls.append((kinds, options)))
    plots.use_style()
    assert calls == [(("svg",), {"metadata": {"Date": None}, "bbox_inches": None})]


def test_style_without_jupyter(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib_inline.backend_inline", None)
    plots.use_style()
    assert mpl.rcParams["image.cmap"] == plots.DIVERGING


def test_cover_and_favicon_are_current(tmp_path):
    draw.draw(tmp_path)
    for name in ("favicon.svg", "cover.svg"):
        assert (tmp_path / name).read_text() == (STATIC / name).read_text(), name


def test_intervals_share_their_labels():
    ax = plots.intervals(["a", "b"], [0.1, 0.4], [[0.0, 0.3], [0.2, 0.5]], name="first")
    assert plots.intervals(["a", "b"], [0.2, np.nan], [[0, 1], [0, 1]], ax, shift=0.2) is ax
    first, second = (bars.lines[0].get_xydata() for bars in ax.containers)
    np.testing.assert_allclose(first, [[0.1, 0], [0.4, 1]])
    np.testing.assert_allclose(second[:, 1], [0.2, 1.2])
    (ends,) = ax.containers[0].lines[2]
    np.testing.assert_allclose([each[:, 0] for each in ends.get_segments()], [[0, 0.3], [0.2, 0.5]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.yaxis_inverted()


def test_tables_say_the_same_as_text_and_as_html():
    table = plots.Table(["task", "share"], [["<order>", 0.5]])
    assert repr(table) == "task     share\n<order>    0.5"
    shown = table._repr_html_()
    assert '<th scope="row">&lt;order&gt;</th><td>0.5</td>' in shown
    assert '<th scope="col">share</th>' in shown
    with pytest.raises(ValueError, match="2 cells"):
        plots.Table(["task", "share"], [["order"]])
