"""Figures as Python shows them, with and without a browser."""

import pytest
import traitlets

from posenc.book import widgets


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
    again = eval(still["text/plain"], vars(widgets))
    assert again.state() == widget.state()
    name, field = next(iter(kind.fields.items()))
    last = field["options"][-1] if "options" in field else field["max"]
    assert kind(**{name: last}).picture() != still["image/svg+xml"]


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="Switch has no argument color"):
        widgets.Switch(color=1)
    with pytest.raises(traitlets.TraitError, match=r"'d_model'.*greater than 256"):
        widgets.Heatmap(d_model=1024)
