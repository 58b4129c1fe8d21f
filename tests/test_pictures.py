"""The comparison of pictures detects visible changes, and ignores rounding."""

import io
import re
from tempfile import TemporaryDirectory

import execute
import matplotlib as mpl
import numpy as np
import pictures
import pytest
from matplotlib.figure import Figure
from nbformat import v4, write
from reading import NOTEBOOKS, ROOT, python

from posenc.book import plots

X = np.linspace(0, 8, 200)
TABLE = np.outer(np.sin(X[:20]), np.cos(X[:12]))
# About what other processors change in float64.
NOISE = np.random.default_rng(0).uniform(-1e-6, 1e-6, X.shape)


def draw(curve=np.sin, table=TABLE, color=plots.INK, label="offset"):
    """A curve beside a heatmap, as SVG."""
    file = io.StringIO()
    with mpl.rc_context(plots.STYLE):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        left.plot(X, curve(X), color=color)
        left.set_xlabel(label)
        plots.heatmap(table, right, limit=1.0)
        figure.savefig(file, format="svg")
    return file.getvalue()


STORED = draw()
# A word, a color, a curve by a five-hundredth, one pixel of a heatmap.
CHANGES = [
    ({"label": "index"}, r"axes_1 .*text_\d+: 'offset' became 'index'"),
    ({"color": plots.COLORS[0]}, "axes_1 line2d_.*became"),
    ({"curve": lambda x: np.sin(1.002 * x)}, "axes_1 line2d_.* differ by"),
    ({"table": TABLE + 0.1 * (TABLE[3, 4] == TABLE)}, "axes_2: pixels.* differ by"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_sees_what_a_reader_may_see(change, message):
    problems = pictures.differences(STORED, draw(**change))
    assert any(re.match(message, problem) for problem in problems), problems


def test_ignores_rounding():
    # Neither the curve's points nor the pixels are exactly those stored.
    noisy = draw(lambda x: np.sin(x + NOISE), TABLE + NOISE[:12])
    assert pictures.differences(STORED, noisy) == []
    # It decides which points of a curve are left out.
    with mpl.rc_context({"path.simplify": False}):
        assert pictures.differences(STORED, draw()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_pictures_are_by_this_matplotlib_which_alone_is_compared(path):
    # Others may place words elsewhere, so `pictures.changed` passes them over.
    drawn_by = re.findall(r"Matplotlib v(\d+\.\d+)", path.read_text("utf-8"))
    installed = mpl.__version__.rpartition(".")[0]
    assert {*drawn_by} <= {installed}, "run `make notebooks`"


def drawing(source, svg, *tags):
    """A cell that stores a picture."""
    output = v4.new_output("display_data", {pictures.SVG: svg})
    options = {"outputs": [output], "execution_count": 1, "metadata": {"tags": tags}}
    return v4.new_code_cell(source, id="drawing", **options)


@pytest.mark.parametrize(
    ("source", "change", "is_kept"),
    [
        ("draw()", {"curve": np.cos}, True),
        ("draw()", {"label": "index"}, False),
        ("draw(cos)", {"curve": np.cos}, False),
    ],
)
def test_a_picture_of_times_is_kept_unless_words_or_code_change(
    source, change, is_kept
):
    old = drawing("draw()", STORED, "nbval-ignore-output")
    new = drawing(source, draw(**change), "nbval-ignore-output")
    fresh, stored = v4.new_notebook(cells=[new]), v4.new_notebook(cells=[old])
    execute.keep_outputs(fresh, stored)
    assert (new.outputs == old.outputs) == is_kept


def test_other_printed_words_are_stored():
    cells = [drawing("draw()", STORED) for _ in range(2)]
    for cell, text in zip(cells, ["before", "after"], strict=True):
        cell.outputs.append(v4.new_output("stream", text=text))
    stored, fresh = (v4.new_notebook(cells=[cell]) for cell in cells)
    execute.keep_outputs(fresh, stored)
    assert fresh.cells[0].outputs[1].text == "after"


def test_a_notebook_fails_and_says_where():
    """The hook of the conftest.py beside README.md."""
    data = {pictures.SVG: draw(label="index")}
    source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
    notebook = v4.new_notebook(cells=[drawing(source, STORED)])
    # Below the root, whose conftest.py pytest then loads, with the hook that compares.
    with TemporaryDirectory(dir=ROOT / "tests") as folder:
        write(notebook, f"{folder}/trial.ipynb")
        said = python("-m", "pytest", folder, "-q", "--color=no").stdout
    assert "trial.ipynb, cell [1]: the picture differs from the stored one" in said
    assert re.search(r"\naxes_1 .*'offset' became 'index'", said), said
