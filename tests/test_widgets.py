"""Figures as Python shows them, with and without a browser."""

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


def test_words_change_places_in_a_picture_as_in_the_script():
    drawn = widgets.Turning(query=0.5, key=2.4)._words()
    words = {place: word for place, word, _ in drawn}
    assert [words[place] for place in (0, 0.5, 2.4, 3)] == ["the", "ran", "dog", "saw"]
