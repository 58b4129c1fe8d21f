"""The plot helpers, and the pictures drawn from the encoding."""

import sys

import draw
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from posenc import plots


@pytest.fixture(autouse=True)
def fresh_style():
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def test_cover_and_favicon_are_current(tmp_path):
    draw.draw(tmp_path)
    for name in ("favicon.svg", "cover.svg"):
        assert (tmp_path / name).read_bytes() == (draw.STATIC / name).read_bytes(), name


def test_a_heatmap_has_rows_downwards_white_at_zero_purple_below():
    image = plots.heatmap(np.eye(3), plt.subplots()[1], limit=3, title="unit", colorbar=False)
    assert (image.get_clim(), image.colorbar) == ((-3, 3), None)
    assert plots.heatmap(np.eye(3)).colorbar is not None
    assert image.axes.yaxis_inverted()
    names = (image.axes.get_xlabel(), image.axes.get_ylabel(), image.axes.get_title())
    assert names == ("dimension", "position", "unit")
    low, zero, high = image.cmap([0.1, 0.5, 0.9])[:, :3]
    assert low[2] > low[0] > low[1]
    assert high[0] > high[1] > high[2]
    np.testing.assert_allclose(zero, 0.967, atol=0.01)


def test_curves_and_intervals():
    ax = plots.curves([5, 7], [[0, 1], [1, 0]], ["up", "down"], title="two", linewidth=3)
    assert [line.get_label() for line in ax.lines] == ["up", "down"]
    assert ax.lines[1].get_xydata().tolist() == [[5, 1], [7, 0]]
    assert ax.lines[0].get_linewidth() == 3
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("position", "value", "two")
    assert plots.curves([0], [[0]], ["same axes"], ax) is ax
    ax = plots.intervals(["a", "b"], [0.1, 0.4], [[0.0, 0.3], [0.2, 0.5]], name="first")
    assert plots.intervals(["a", "b"], [0.2, np.nan], [[0, 1], [0, 1]], ax, shift=0.2) is ax
    first, second = (bars.lines[0].get_xydata() for bars in ax.containers)
    np.testing.assert_allclose(first, [[0.1, 0], [0.4, 1]])
    np.testing.assert_allclose(second[:, 1], [0.2, 1.2])
    (ends,) = ax.containers[0].lines[2]
    np.testing.assert_allclose([each[:, 0] for each in ends.get_segments()], [[0, 0.3], [0.2, 0.5]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.yaxis_inverted()


def test_style_inside_and_outside_jupyter(monkeypatch):
    calls, inline = [], "matplotlib_inline.backend_inline"
    with monkeypatch.context() as patch:
        formats = f"{inline}.set_matplotlib_formats"
        patch.setattr(formats, lambda *kinds, **options: calls.append((kinds, options)))
        plots.use_style()
    assert calls == [(("svg",), {"metadata": {"Date": None}, "bbox_inches": None})]
    monkeypatch.setitem(sys.modules, inline, None)
    plots.use_style()
    assert mpl.rcParams["image.cmap"] == plots.DIVERGING


def test_a_table_says_the_same_as_text_and_as_html():
    table = plots.Table(["task", "share"], [["<order>", 0.5]])
    assert repr(table) == "task     share\n<order>    0.5"
    assert '<th scope="row">&lt;order&gt;</th><td>0.5</td>' in table._repr_html_()
    assert '<th scope="col">share</th>' in table._repr_html_()


BAD = [
    (lambda: plots.heatmap(np.zeros(3)), "table must have 2 dimensions, got 1"),
    (lambda: plots.heatmap(np.eye(2), limit=0), "limit must be positive, got 0"),
    (lambda: plots.heatmap(np.eye(2), limit=np.nan), "limit must be positive, got nan"),
    (lambda: plots.curves([0], [[0]], ["a", "b"]), "shorter|longer"),
    (lambda: plots.Table(["task", "share"], [["order"]]), "2 cells"),
]


@pytest.mark.parametrize(("call", "says"), BAD)
def test_bad_input_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
