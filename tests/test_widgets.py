"""Figures as Python shows them, with and without a browser."""

import inspect

import pytest

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
    with pytest.raises(TypeError):
        kind(bsae=10)
    assert inspect.getdoc(kind.values)  # without it, the API page leaves it out
