"""The figures: arguments and limits of live ones, and helpers that no picture covers."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from posenc.book import plots, widgets
from posenc.book.widgets import Curves, Heatmap, Rotation, Switch

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=widgets.FIGURES.values(), ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_shown_live_or_as_a_picture_of_what_it_says(kind, monkeypatch):
    given = {"d_model": 12, "base": 100} if "base" in kind._arguments() else {}
    widget = kind(**given)
    assert list(widget.state())[:2] == ["d_model", "base"] or not given
    assert eval(repr(widget), vars(widgets)).state() == widget.state()
    figure = {"kind": kind.__name__, "state": widget.state()}
    monkeypatch.delenv("POSENC_STATIC", raising=False)
    live, _ = widget._repr_mimebundle_()
    assert live.pop(VIEW)
    assert (live["text/plain"], live[widgets.MIME]) == (repr(widget), figure)
    monkeypatch.setenv("POSENC_STATIC", "1")
    still, _ = kind(**given)._repr_mimebundle_()
    assert live == still
    name, field = [*kind._arguments().items()][-1]
    last = (
        [*field.limits["options"]][-1]
        if "options" in field.limits
        else field.top(widget)
    )
    setattr(widget, name, last)
    assert widget.picture() != live["image/svg+xml"]


BAD = [
    (None, {"d_model": 0}, ValueError, "d_model must be at least"),
    (None, {"d_model": 1024}, ValueError, "d_model must be at most"),
    (None, {"base": 0.5}, ValueError, "base must be at least 10?, got 0.5"),
    (None, {"base": 2e6}, ValueError, "base must be at most 1000000, got 2000000.0"),
    (
        Heatmap,
        {"seq_len": 10, "position": 10},
        ValueError,
        "position must be at most 9, got 10",
    ),
    (Curves, {"d_model": 8, "pair": 4}, ValueError, "pair must be at most 3, got 4"),
    (Rotation, {"offset": -65}, ValueError, "offset must be at least -64, got -65"),
    (
        Switch,
        {"variant": "b"},
        ValueError,
        "variant must be one of halves, .*, got 'b'",
    ),
    (
        Switch,
        {"width": 8, "color": 1},
        TypeError,
        "Switch has no argument color, width",
    ),
]


@pytest.mark.parametrize(("only", "state", "error", "says"), BAD)
def test_errors_name_argument_value_and_rule(only, state, error, says):
    kinds = [
        kind for kind in widgets.FIGURES.values() if {*state} <= {*kind._arguments()}
    ]
    for kind in [only] if only else kinds:
        with pytest.raises(error, match=says):
            kind(**state)
        widget, (name, value) = kind(), [*state.items()][-1]
        if len(state) == 1:
            with pytest.raises(error, match=says):
                setattr(widget, name, value)
            assert widget.state() == kind().state()


def test_a_cell_stays_in_a_table_that_shrinks():
    heatmap = Heatmap(position=60, dimension=60)
    heatmap.seq_len, heatmap.d_model = 10, 6
    assert (heatmap.position, heatmap.dimension) == (9, 5)


@mpl.rc_context({"backend": "agg"})
def test_axes_are_those_given_or_new():
    ax = plots.curves([5, 7], [[0, 1], [1, 0]], ["up", "down"])
    assert plots.curves([0], [[0]], ["same axes"], ax) is ax
    plots.intervals(["a"], [np.nan], [[0, 1]], ax, shift=0.2)
    assert len(ax.containers) == 1
    image = plots.heatmap(np.eye(2), limit=3)
    assert image.axes is not ax
    assert image.get_clim() == (-3, 3)
    plt.close("all")


@mpl.rc_context()
def test_style_outside_jupyter(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib_inline.backend_inline", None)
    plots.use_style()
    assert mpl.rcParams["image.cmap"] == plots.DIVERGING


def test_a_table_says_the_same_as_text_and_as_html():
    table = plots.Table(["task", "share"], [["<order>", 0.5]])
    assert repr(table) == "task     share\n<order>    0.5"
    assert '<th scope="row">&lt;order&gt;</th><td>0.5</td>' in table._repr_html_()
    assert '<th scope="col">share</th>' in table._repr_html_()
