import gzip
import inspect
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pictures
import pytest
from matplotlib.figure import Figure
from sphinx_posenc import live_figures

from posenc import (
    angular_frequencies,
    plots,
    rotary_frequencies,
    sinusoidal_encoding,
    wavelengths,
    widgets,
)
from posenc.widgets import RULES, VARIANTS, Curves, Heatmap, Kernel, Rotation, Stretch, Switch

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(params=widgets.FIGURES.values(), ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_its_text_makes_it_again(kind):
    widget = kind(d_model=12, base=100)
    again = eval(repr(widget), vars(widgets))
    assert again.state() == widget.state()
    assert list(widget.state())[:2] == ["d_model", "base"]
    assert widget._repr_mimebundle_()[0][widgets.MIME] == {
        "kind": kind.__name__,
        "state": widget.state(),
    }


@pytest.mark.parametrize(
    ("name", "value", "error", "says"),
    [
        ("d_model", 7, ValueError, "d_model must be even"),
        ("d_model", 0, ValueError, "d_model must be at least"),
        ("d_model", 1024, ValueError, "d_model must be at most"),
        ("d_model", True, TypeError, "d_model must be an int, got True"),
        ("d_model", "8", TypeError, "d_model must be an int, got '8'"),
        ("base", 0.5, ValueError, "base must be at least 10?, got 0.5"),
        ("base", 2e6, ValueError, "base must be at most 1000000, got 2000000.0"),
        ("base", float("nan"), ValueError, "base must be finite, got nan"),
        ("base", None, TypeError, "base must be a real number, got None"),
    ],
)
def test_errors_name_argument_value_and_rule(kind, name, value, error, says):
    with pytest.raises(error, match=says):
        kind(**{name: value})
    widget = kind()
    with pytest.raises(error, match=says):
        setattr(widget, name, value)
    assert widget.state() == kind().state()


def test_limits_are_those_of_the_docstring(kind):
    parameters = inspect.getdoc(kind).partition("Parameters\n")[2].partition("\nRaises")[0]
    parameters = re.sub(r"(?<=\d) (?=\d)", "", parameters)
    controls = {name: trait.control(kind) for name, trait in kind._arguments().items()}
    for names, text in re.findall(r"^(\w[\w, ]*) : .*\n    (.*(?:\n    .*)*)", parameters, re.M):
        for name in names.split(", "):
            control = controls.pop(name)
            limits = re.search(r"from (-?\d+) to (\d+)", text)
            if limits:
                other = f"{name} has other limits than the docstring of {kind.__name__} says"
                assert [control["min"], control["max"]] == [*map(int, limits.groups())], other
            else:
                assert "options" in control or control["below"] in text or "within" in text, name
    assert not controls


def test_limits_themselves_are_allowed(kind):
    limits = kind.class_traits()["base"]
    for base in (limits.minimum, limits.maximum):
        assert kind(base=base).state()["base"] == base
    width = kind.class_traits()["d_model"]
    for d_model in (width.minimum, width.maximum):
        assert kind(d_model=d_model).state()["d_model"] == d_model


def test_the_script_is_told_which_figure_it_is(kind):
    assert kind().get_state("_kind") == {"_kind": kind.__name__.lower()}


def test_the_script_knows_what_python_knows(kind):
    given = dict(re.findall(r"^const (\w+) = (.*);$", widgets.script(kind.__name__), re.M)[:4])
    assert set(given) == {"FIELDS", "LINES", "MAP", "STYLE"}
    given = {name: json.loads(value) for name, value in given.items()}
    fields = {name: trait.control(kind) for name, trait in kind._arguments().items()}
    assert given["FIELDS"] == {kind.__name__.lower(): fields}
    assert given["LINES"] == [*plots.COLORS]
    purple, orange = (
        "2d004b 542788 8073ac b2abd2 d8daeb f7f7f7",
        "fee0b6 fdb863 e08214 b35806 7f3b08",
    )
    assert [f"{color:06x}" for color in given["MAP"]] == f"{purple} {orange}".split()
    assert given["STYLE"].startswith(":host")


def test_unknown_arguments_are_refused(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} has no argument color, width"):
        kind(width=8, color=1)


def test_arguments_have_defaults_and_limits():
    whole = widgets.Whole("count", 3, 1, 5).control(Heatmap)
    assert whole == {"label": "count", "initial": 3, "min": 1, "max": 5, "step": 1}
    part = widgets.Whole("pair", 3, below="d_model", parts=2)
    limits = {"min": 0, "max": 127, "step": 1, "below": "d_model", "parts": 2}
    assert part.control(Heatmap) == {"label": "pair", "initial": 3} | limits
    assert part.top(Heatmap(d_model=10)) == 4
    assert widgets.Whole("offset", 1, below="seq_len").control(Heatmap)["parts"] == 1
    width = {"label": "width d", "initial": 4, "min": 2, "max": 8, "step": 2}
    assert widgets.Width(4, 2, 8).control(Heatmap) == width
    base = {"label": "base n", "initial": 10_000, "min": 1, "max": 1_000_000}
    assert widgets.Base().control(Heatmap) == base | {"step": 0.25, "log": True}
    variant = {"label": "variant", "initial": "halves", "options": VARIANTS}
    assert widgets.Choice("variant", "halves", widgets.VARIANTS).control(Heatmap) == variant
    for trait in (part, widgets.Base(), widgets.Choice("variant", "halves", widgets.VARIANTS)):
        assert trait.metadata == {"sync": True, "argument": True}


@pytest.mark.parametrize(
    ("kind", "state", "says"),
    [
        (Heatmap, {"seq_len": 10, "position": 10}, "position must be at most 9, got 10"),
        (Heatmap, {"d_model": 8, "dimension": 8}, "dimension must be at most 7, got 8"),
        (Curves, {"d_model": 8, "pair": 4}, "pair must be at most 3, got 4"),
        (Rotation, {"d_model": 8, "pair": 4}, "pair must be at most 3, got 4"),
        (Rotation, {"offset": -65}, "offset must be at least -64, got -65"),
        (Kernel, {"seq_len": 8, "offset": 8}, "offset must be at most 7, got 8"),
        (Switch, {"variant": "b"}, "variant must be one of halves, .*, got 'b'"),
    ],
)
def test_what_the_table_does_not_hold_is_refused(kind, state, says):
    with pytest.raises(ValueError, match=says):
        kind(**state)


def test_a_cell_stays_in_a_table_that_shrinks():
    heatmap = Heatmap(position=60, dimension=60)
    heatmap.seq_len = 10
    heatmap.d_model = 6
    assert (heatmap.position, heatmap.dimension) == (9, 5)
    with pytest.raises(ValueError, match="position must be at most 9, got 10"):
        heatmap.position = 10


def test_picture_is_the_same_each_time_and_follows_the_state(kind):
    widget = kind(d_model=16)
    first = widget.picture()
    assert first.startswith("<?xml")
    assert "<dc:date>" not in first
    assert widget.picture() == first
    widget.base = 50.0
    assert widget.picture() != first


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


def test_curves_and_their_names_follow_the_base():
    figure = Figure()
    Curves(d_model=8, base=50, seq_len=9, stride=1)._draw(figure)
    for column, line in enumerate(figure.axes[0].lines):
        table = sinusoidal_encoding(line.get_xdata(), 8, base=50)
        assert np.array_equal(line.get_ydata(), table[:, column])
    for pair, line in enumerate(figure.axes[0].lines[::2]):
        assert (
            f"pair {pair}: wavelength {wavelengths(8, base=50)[pair]:.2f} pos" in line.get_label()
        )


@pytest.mark.parametrize("rule", RULES)
def test_a_stretch_draws_the_waves_of_its_rule(rule):
    lengths = {"factor": 3, "original_max_position_embeddings": 64}
    llama3 = {"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4, **lengths}
    omega = {
        "none": angular_frequencies(8, base=500),
        "interpolation": angular_frequencies(8, base=500) / 3,
        "raised base": angular_frequencies(8, base=500 * 3 ** (8 / 6)),
        "llama3": rotary_frequencies(8, base=500, scaling=llama3)[0],
        "YaRN": rotary_frequencies(8, base=500, scaling={"rope_type": "yarn", **lengths})[0],
    }
    figure = Figure()
    Stretch(d_model=8, base=500, trained=64, factor=3, rule=rule)._draw(figure)
    before, after = (line.get_ydata() for line in figure.axes[0].lines[:2])
    np.testing.assert_allclose(before, wavelengths(8, base=500), rtol=1e-12)
    np.testing.assert_allclose(after, 2 * np.pi / omega[rule], rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_has_a_picture(variant):
    assert "svg" in Switch(variant=variant).picture()


def test_shown_live_or_as_a_picture(kind, monkeypatch):
    monkeypatch.delenv("POSENC_STATIC", raising=False)
    widget = kind()
    live, _ = widget._repr_mimebundle_()
    assert set(live) == {"text/plain", "image/svg+xml", widgets.MIME, VIEW}
    monkeypatch.setenv("POSENC_STATIC", "1")
    assert kind().comm is None
    stored, _ = widget._repr_mimebundle_()
    figure = {"kind": type(widget).__name__, "state": widget.state()}
    picture = {"text/plain": repr(widget), "image/svg+xml": widget.picture()}
    assert stored == picture | {widgets.MIME: figure}


def test_wrong_tables_are_wrong_as_named():
    d, base, k = 8, 10_000.0, np.arange(20)[:, None]
    right = widgets._table(20, d, base)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    assert np.array_equal(widgets._table(20, d, base, "halves"), right[:, order])
    swapped = right[:, [1, 0, 3, 2, 5, 4, 7, 6]]
    assert np.array_equal(widgets._table(20, d, base, "cosine first"), swapped)
    assert np.array_equal(widgets._table(19, d, base, "from 1"), right[1:])
    assert np.array_equal(widgets._table(20, d, base, "ones"), np.tile(right[:, :2], 4))
    last = widgets._table(20, d, base, "minus 1")[:, -2:]
    assert np.allclose(last, np.hstack([np.sin(k / base), np.cos(k / base)]), rtol=0, atol=1e-14)
    doubled = widgets._table(20, d, base, "dimension for pair")
    assert np.array_equal(doubled, widgets._table(20, d, base**2, "own exponent"))
    assert np.array_equal(widgets._table(20, d, base, "own exponent")[:, ::2], right[:, ::2])


def test_a_page_with_a_figure_gets_a_small_script_that_can_be_inlined(kind):
    script = live_figures.script(kind.__name__)
    assert len(gzip.compress(script.encode())) <= 6_500
    assert "export" not in script
    assert "</" not in script


def test_the_script_draws_the_figures_it_is_asked_for():
    def drawn(script):
        return re.findall(r"^FIGURES\.(\w+) = ", script, re.MULTILINE)

    assert drawn(widgets.script(*widgets.FIGURES)) == [name.lower() for name in widgets.FIGURES]
    assert len(widgets.FIGURES) >= 6
    for name, kind in widgets.FIGURES.items():
        assert drawn(kind()._esm) == [name.lower()]
