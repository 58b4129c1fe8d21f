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


def test_axes_are_those_given_or_new():
    ax = plots.curves([5, 7], [[0, 1], [1, 0]], ["up", "down"])
    assert plots.curves([0], [[0]], ["same axes"], ax) is ax
    plots.intervals(["a"], [np.nan], [[0, 1]], ax, shift=0.2)
    assert len(ax.containers) == 1
    image = plots.heatmap(np.eye(2), limit=3)
    assert image.axes is not ax
    assert image.get_clim() == (-3, 3)


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
    with pytest.raises(ValueError, match="2 cells"):
        plots.Table(["task", "share"], [["order"]])
