"""Figures as Python shows them, with and without a browser."""

import pytest
from matplotlib.figure import Figure

from posenc.book import widgets

KINDS = widgets.FIGURES


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_figure_is_live_or_a_picture_with_its_state(kind, monkeypatch):
    """What pictures show is held by the chapters, and what is live by `test_figures`."""
    monkeypatch.delenv("POSENC_STATIC", raising=False)
    live, _ = kind()._repr_mimebundle_()
    assert live.pop("application/vnd.jupyter.widget-view+json")
    monkeypatch.setenv("POSENC_STATIC", "1")
    still, _ = kind()._repr_mimebundle_()
    assert live == still
    assert still[widgets.MIME] == {"kind": kind.__name__, "state": kind().state()}


def test_the_picture_of_turning_is_the_scripts():
    """Halves go up, a key at the query's place stands below it, and no summit is cut."""
    turning = widgets.Turning(query=0.5, key=0.6, base=1e6, rule="YaRN")
    figure, values = Figure(), turning.values()
    turning._draw(figure, values)
    land = figure.axes[0]
    words = [label.get_text() for label in land.get_xticklabels()]
    assert words[:3] == ["the", "ran\ndog", "saw"]
    assert land.get_ylim()[1] >= values["layers"].max() > 9
