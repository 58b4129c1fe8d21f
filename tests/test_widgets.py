"""The figures: arguments, limits and script of live ones, and helpers that no picture covers."""

import json
import re
import sys
from contextlib import suppress

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
    name, field = [*kind._arguments().items()][1]
    setattr(widget, name, field.control().get("max", "on"))
    assert widget.picture() != live["image/svg+xml"]


BAD = [
    (None, {"d_model": 0}, ValueError, "d_model must be at least"),
    (None, {"d_model": 1024}, ValueError, "d_model must be at most"),
    (None, {"base": 0.5}, ValueError, "base must be at least 10?, got 0.5"),
    (None, {"base": 2e6}, ValueError, "base must be at most 1000000, got 2000000.0"),
    (Heatmap, {"seq_len": 10, "position": 10}, ValueError, "position must be at most 9, got 10"),
    (Curves, {"d_model": 8, "pair": 4}, ValueError, "pair must be at most 3, got 4"),
    (Rotation, {"offset": -65}, ValueError, "offset must be at least -64, got -65"),
    (Switch, {"variant": "b"}, ValueError, "variant must be one of halves, .*, got 'b'"),
    (Switch, {"width": 8, "color": 1}, TypeError, "Switch has no argument color, width"),
]


@pytest.mark.parametrize(("only", "state", "error", "says"), BAD)
def test_errors_name_argument_value_and_rule(only, state, error, says):
    kinds = [kind for kind in widgets.FIGURES.values() if {*state} <= {*kind._arguments()}]
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


def test_the_script_has_the_fields_and_limits_can_be_reached(kind):
    controls = {name: trait.control() for name, trait in kind._arguments().items()}
    given = re.search(r"^const FIELDS = (.*);$", kind()._esm, re.MULTILINE)[1]
    assert json.loads(given) == {kind.__name__.lower(): controls}
    for name, control in controls.items():
        for limit in [control[end] for end in ("min", "max") if end in control]:
            with suppress(ValueError if "below" in control else ()):
                assert kind(**{name: limit}).state()[name] == limit


def test_variants_are_wrong_as_named():
    shown = {name: Switch(d_model=8, variant=name).values() for name in widgets._VARIANTS}
    tables = {name: values["other"] for name, values in shown.items()}
    right, k = shown["all ones"]["right"], np.arange(64)
    last = np.transpose([np.sin(k / 10_000), np.cos(k / 10_000)])
    doubled = Switch(d_model=8, base=100, variant="dimension for pair").values()["other"]
    for found, wanted in [
        (tables["halves"], right[:, [0, 2, 4, 6, 1, 3, 5, 7]]),
        (tables["cosine first"], right[:, [1, 0, 3, 2, 5, 4, 7, 6]]),
        (tables["from 1"][:-1], right[1:]),
        (tables["minus 1"][:, -2:], last),
        (tables["all ones"], np.tile(right[:, :2], 4)),
        (tables["own exponent"], doubled),
        (tables["own exponent"][:, ::2], right[:, ::2]),
    ]:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


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
