"""The plot helpers, where no stored picture covers them."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from posenc.book import plots


@pytest.fixture(autouse=True)
def fresh_style():
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def test_curves_and_intervals_share_axes():
    ax = plots.curves([5, 7], [[0, 1], [1, 0]], ["up", "down"])
    assert plots.curves([0], [[0]], ["same axes"], ax) is ax
    assert plots.intervals(["a"], [np.nan], [[0, 1]], ax, shift=0.2) is ax
    assert plots.intervals(["a"], [0], [[0, 1]]) is not ax
    assert plots.heatmap(np.eye(2)) is not None


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


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="table must have 2 dimensions, got 1"):
        plots.heatmap(np.zeros(3))
    with pytest.raises(ValueError, match="limit must be positive, got nan"):
        plots.heatmap(np.eye(2), limit=np.nan)
    with pytest.raises(ValueError, match="2 cells"):
        plots.Table(["task", "share"], [["order"]])
