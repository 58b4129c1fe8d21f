"""Figures without a script, and the helpers that draw the book's pictures."""

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import traitlets

from posenc.book import plots, widgets


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
    name, trait = next(iter(kind.arguments().items()))
    last = trait.values[-1] if isinstance(trait, traitlets.Enum) else trait.max
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


def test_modules_import_what_others_export():
    files = Path(widgets.__file__).with_name("figures").glob("*.js")
    sources = {file.stem: file.read_text(encoding="utf-8") for file in files}
    for name, source in sources.items():
        for imported, module in re.findall(
            r"^import { (.*) } from \"./(\w+)", source, re.M
        ):
            exported = re.findall(r"^export \w+ (\w+)", sources.get(module, ""), re.M)
            missing = {*imported.split(", ")} - {*exported}
            assert not missing or module == "constants", name


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


def test_a_table_says_the_same_as_text_and_as_html():
    table = plots.Table(["task", "share"], [["<order>", 0.5]])
    assert repr(table) == "task     share\n<order>    0.5"
    assert '<th scope="row">&lt;order&gt;</th><td>0.5</td>' in table._repr_html_()
    assert '<th scope="col">share</th>' in table._repr_html_()
