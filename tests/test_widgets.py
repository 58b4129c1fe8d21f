"""The figures that a reader moves: arguments, limits, pictures, and what their script is told."""

import inspect
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pictures
import pytest

from posenc import angular_frequencies, plots, rotary_frequencies, widgets
from posenc.widgets import Curves, Heatmap, Kernel, Rotation, Switch

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=widgets.FIGURES.values(), ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_shown_live_or_as_a_picture_of_what_it_says(kind, monkeypatch):
    widget = kind(d_model=12, base=100)
    assert list(widget.state())[:2] == ["d_model", "base"]
    assert eval(repr(widget), vars(widgets)).state() == widget.state()
    picture = widget.picture()
    assert "<dc:date>" not in picture
    figure = {"kind": kind.__name__, "state": widget.state()}
    shown = {"text/plain": repr(widget), "image/svg+xml": picture, widgets.MIME: figure}
    monkeypatch.delenv("POSENC_STATIC", raising=False)
    live, _ = kind(d_model=12, base=100)._repr_mimebundle_()
    assert live.pop(VIEW)
    assert live == shown
    monkeypatch.setenv("POSENC_STATIC", "1")
    assert kind().comm is None
    assert kind(d_model=12, base=100)._repr_mimebundle_()[0] == shown
    widget.base = 50.0
    assert widget.picture() != picture


BAD = [
    (None, {"d_model": 7}, ValueError, "d_model must be even"),
    (None, {"d_model": 0}, ValueError, "d_model must be at least"),
    (None, {"d_model": 1024}, ValueError, "d_model must be at most"),
    (None, {"d_model": True}, TypeError, "d_model must be an int, got True"),
    (None, {"base": 0.5}, ValueError, "base must be at least 10?, got 0.5"),
    (None, {"base": 2e6}, ValueError, "base must be at most 1000000, got 2000000.0"),
    (None, {"base": float("nan")}, ValueError, "base must be finite, got nan"),
    (None, {"base": None}, TypeError, "base must be a real number, got None"),
    (Heatmap, {"seq_len": 10, "position": 10}, ValueError, "position must be at most 9, got 10"),
    (Curves, {"d_model": 8, "pair": 4}, ValueError, "pair must be at most 3, got 4"),
    (Rotation, {"offset": -65}, ValueError, "offset must be at least -64, got -65"),
    (Kernel, {"seq_len": 8, "offset": 8}, ValueError, "offset must be at most 7, got 8"),
    (Switch, {"variant": "b"}, ValueError, "variant must be one of halves, .*, got 'b'"),
    (Switch, {"width": 8, "color": 1}, TypeError, "Switch has no argument color, width"),
]


@pytest.mark.parametrize(("only", "state", "error", "says"), BAD)
def test_errors_name_argument_value_and_rule(only, state, error, says):
    for kind in [only] if only else widgets.FIGURES.values():
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
    with pytest.raises(ValueError, match="position must be at most 9, got 10"):
        heatmap.position = 10


def controls(kind):
    return {name: trait.control(kind) for name, trait in kind._arguments().items()}


def test_limits_are_those_of_the_docstring(kind):
    said = inspect.getdoc(kind).partition("Parameters\n")[2]
    said = re.sub(r"(?<=\d) (?=\d)", "", said)
    for name, control in controls(kind).items():
        text = re.search(rf"^(?:\w+, )*{name}\b.* : .*\n((?:    .*\n)+)", said, re.MULTILINE)[1]
        if found := re.search(r"from (-?\d+) to (\d+)", text):
            limits = [int(limit) for limit in found.groups()]
            assert limits == [control["min"], control["max"]], f"{kind.__name__}, {name}: {text}"
            assert [kind(**{name: limit}).state()[name] for limit in limits] == limits
        else:
            assert "options" in control or control["below"] in text or "within" in text, name


def test_the_script_knows_what_python_knows(kind):
    name = kind.__name__.lower()
    assert kind().get_state("_kind") == {"_kind": name}
    given = dict(re.findall(r"^const (\w+) = (.*);$", kind()._esm, re.MULTILINE)[:4])
    assert json.loads(given["FIELDS"]) == {name: controls(kind)}
    assert json.loads(given["LINES"]) == [*plots.COLORS]
    assert [f"{color:06x}" for color in json.loads(given["MAP"])[::5]] == [
        "2d004b",
        "f7f7f7",
        "7f3b08",
    ]
    assert given["STYLE"].startswith('":host')
    assert re.findall(r"^FIGURES\.(\w+) = ", kind()._esm, re.MULTILINE) == [name]


def test_controls_have_labels_limits_and_steps():
    found = controls(Rotation)
    width = {"label": "width d", "initial": 16, "min": 2, "max": 256, "step": 2}
    base = {"label": "base n", "initial": 10_000, "min": 1, "max": 1_000_000}
    pair = {"label": "pair i", "initial": 1, "min": 0, "max": 127, "step": 1}
    assert (found["d_model"], found["base"]) == (width, base | {"step": 0.25, "log": True})
    assert found["pair"] == pair | {"below": "d_model", "parts": 2}
    variant = {"label": "variant", "initial": "halves", "options": widgets.VARIANTS}
    assert controls(Switch)["variant"] == variant


def test_draws_what_a_chapter_stores(kind):
    """The picture that a reader of the chapter sees is the one of the state it names."""
    stored = {}
    for path in NOTEBOOKS.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                stored[data.get("text/plain", "").partition("(")[0]] = data
    assert kind.__name__ in stored, f"no chapter shows widgets.{kind.__name__}(): add a cell"
    data = stored[kind.__name__]
    again = eval(data["text/plain"], vars(widgets))
    if pictures.is_comparable(data[pictures.SVG]):
        assert pictures.differences(data[pictures.SVG], again.picture()) == []


def test_a_stretch_follows_its_rule():
    own = angular_frequencies(8, base=500)
    lengths = {"factor": 3, "original_max_position_embeddings": 64}
    llama3 = {"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4, **lengths}
    yarn = {"rope_type": "yarn", **lengths}
    omega = {"none": own, "interpolation": own / 3}
    omega["raised base"] = angular_frequencies(8, base=500 * 3 ** (8 / 6))
    omega["llama3"] = rotary_frequencies(8, base=500, scaling=llama3)[0]
    omega["YaRN"] = rotary_frequencies(8, base=500, scaling=yarn)[0]
    for rule in widgets.RULES:
        found = widgets._stretched(8, 500, 64, 3, rule)
        np.testing.assert_allclose(found, omega[rule], rtol=1e-12)


def test_wrong_tables_are_wrong_as_named():
    right, k = widgets._table(20, 8, 10_000.0), np.arange(20)
    tables = {name: widgets._table(20, 8, 10_000.0, name) for name in widgets.VARIANTS}
    assert np.array_equal(tables["halves"], right[:, [0, 2, 4, 6, 1, 3, 5, 7]])
    assert np.array_equal(tables["cosine first"], right[:, [1, 0, 3, 2, 5, 4, 7, 6]])
    assert np.array_equal(tables["from 1"][:-1], right[1:])
    assert np.array_equal(tables["ones"], np.tile(right[:, :2], 4))
    last = np.transpose([np.sin(k / 10_000), np.cos(k / 10_000)])
    np.testing.assert_allclose(tables["minus 1"][:, -2:], last, rtol=0, atol=1e-14)
    doubled = widgets._table(20, 8, 10_000.0**2, "own exponent")
    assert np.array_equal(tables["dimension for pair"], doubled)
    assert np.array_equal(tables["own exponent"][:, ::2], right[:, ::2])
