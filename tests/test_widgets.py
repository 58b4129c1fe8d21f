"""Figures without a script, and tables."""

import pytest
import traitlets

from posenc.book import plots, scripts, widgets


@pytest.mark.parametrize("kind", widgets.FIGURES.values(), ids=[*widgets.FIGURES])
def test_a_figure_is_live_or_a_picture_of_its_state(kind, monkeypatch):
    monkeypatch.delenv("POSENC_STATIC", raising=False)
    widget = kind()
    live, _ = widget._repr_mimebundle_()
    assert live.pop("application/vnd.jupyter.widget-view+json")
    monkeypatch.setenv("POSENC_STATIC", "1")
    still, _ = kind()._repr_mimebundle_()
    assert live == still
    assert still[widgets.MIME] == {"kind": kind.__name__, "state": widget.state()}
    assert eval(still["text/plain"], vars(widgets)).state() == widget.state()
    name, field = next(iter(kind.fields.items()))
    last = field["options"][-1] if "options" in field else field["max"]
    setattr(widget, name, last)
    assert widget.picture() != still["image/svg+xml"]


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="Switch has no argument color"):
        widgets.Switch(color=1)
    with pytest.raises(
        traitlets.TraitError, match=r"'d_model' trait.*greater than 256"
    ):
        widgets.Heatmap(d_model=1024)
    with pytest.raises(traitlets.TraitError, match=r"'variant' trait.*'halves'"):
        widgets.Switch(variant="b")


@pytest.mark.parametrize("line", ['import "./a.js";', "import {\n  a } from './a.js';"])
def test_an_import_that_a_script_would_keep_is_an_error(line):
    with pytest.raises(ValueError, match=r"clocks\.js must say import \{ a, b \}"):
        scripts.without_imports("clocks", f"const x = 1;\n{line}\n")


def test_a_table_says_the_same_as_text_and_as_html():
    table = plots.Table(["task", "share"], [["<order>", 0.5]])
    assert repr(table) == "task     share\n<order>    0.5"
    assert '<th scope="row">&lt;order&gt;</th><td>0.5</td>' in table._repr_html_()
    assert '<th scope="col">share</th>' in table._repr_html_()
