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


def test_an_argument_that_a_figure_lacks_is_refused_by_name():
    with pytest.raises(TypeError, match="Switch has no argument color"):
        widgets.Switch(color=1)


def draw_sentence(**state):
    """Draw Turning; return where its words are, and the points of its last line."""
    figure = Figure()
    turning = widgets.Turning(**state)
    turning._draw(figure, turning.values())
    landscape = figure.axes[0]
    words = {word.get_text(): word.get_position() for word in landscape.texts}
    return words, landscape.lines[-1].get_xydata()


def test_a_key_between_two_places_stands_there_with_its_score():
    words, (dot,) = draw_sentence(key=7.5)
    assert words["dog"][0] == 7.5
    assert dot.tolist() == [7.5, widgets.Turning(key=7.5).values()["score"]]


def test_a_query_and_a_key_at_one_place_have_a_word_each():
    words, _ = draw_sentence(query=6, key=6)
    assert words["dog"][1] < words["ran"][1] - 1
