"""The t-SNE map that is stored in its chapter is the one that the text describes.

No processor draws another's map, so `pictures.py` doesn't compare it. This reads it instead: where
each number stands, in points of the page.
"""

import itertools
import re
from pathlib import Path

import nbformat
import numpy as np
import pictures
import pytest

CHAPTER = Path(__file__).parents[1] / "notebooks" / "08_tsne.ipynb"
POSITIONS = np.arange(128)
DIGIT = 0.636
"""Width of a digit of DejaVu Sans, in parts of the font's size."""


@pytest.fixture(scope="module")
def cell():
    cells = nbformat.read(CHAPTER, as_version=4).cells
    (found,) = [cell for cell in cells if pictures.name(cells, cell) == "fig-tsne-map"]
    return found


@pytest.fixture(scope="module")
def plane(cell):
    """Where the numbers from 0 to 127 stand, in points; read from the drawing alone."""
    drawn = list(pictures.elements(cell.outputs[0].data[pictures.SVG]))
    places = {}
    for (where, word, *_), (_, what, numbers, _) in itertools.pairwise(drawn):
        if "axis" not in where and re.fullmatch(r"'\d+'", word):
            assert what.startswith("g ")
            assert int(word[1:-1]) not in places, f"{word} stands there twice"
            x, y, size, _ = numbers["transform"]
            # The drawing says where a word begins. Its middle is at the point.
            places[int(word[1:-1])] = x + 100 * size * DIGIT * (len(word) - 2) / 2, y
    assert sorted(places) == POSITIONS.tolist()
    return np.array([places[k] for k in POSITIONS])


@pytest.fixture(scope="module")
def nearest(plane):
    """For each number the others, from near to far."""
    distances = np.linalg.norm(plane[:, None] - plane, axis=-1)
    np.fill_diagonal(distances, np.inf)
    return distances.argsort(axis=1)[:, :-1]


def test_the_map_has_the_words_of_s4(cell):
    words = pictures.labels(cell.outputs[0].data[pictures.SVG])
    assert sorted(words) == [
        "'t-SNE feature 1'",
        "'t-SNE feature 2'",
        "'t-SNE visualization of high-dimensional data'",
    ]


def test_positions_5_and_68_stand_beside_each_other(plane, nearest):
    assert nearest[5, 0] == 68
    assert nearest[68, 0] == 5
    width = np.ptp(plane, axis=0).max()
    assert np.linalg.norm(plane[5] - plane[68]) < 0.05 * width


def test_almost_every_number_stands_beside_its_twin(nearest):
    twins = np.abs(nearest[:, 0] - POSITIONS) == 63
    assert twins.mean() > 0.95


def test_strands_go_up_by_6(nearest):
    """Of the offsets to the four nearest, 6 and 63 are the most common."""
    apart = np.abs(nearest[:, :4] - POSITIONS[:, None])
    assert set(np.bincount(apart.ravel()).argsort()[-2:]) == {6, 63}
    assert (apart == 6).any(axis=1).mean() > 0.9


def test_pieces_that_hang_together_are_a_handful_of_hardly_mixed_colors(nearest):
    names = POSITIONS.copy()
    for k in POSITIONS:
        for near in nearest[k, :4]:
            names[names == names[near]] = names[k]
    pieces = [np.flatnonzero(names == name) for name in np.unique(names)]
    assert 3 <= len(pieces) <= 8
    assert all(len(np.unique(piece % 3)) == 1 for piece in pieces)
