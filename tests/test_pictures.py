"""The comparison of pictures sees what a reader may see, and notebooks fail by it."""

import io
import re
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
import pictures
from matplotlib.figure import Figure
from nbformat import v4, write
from reading import NOTEBOOKS, ROOT, python

from posenc.book import plots

X = np.linspace(0, 8, 200)
TABLE = np.outer(np.sin(X[:20]), np.cos(X[:12]))


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


def test_stored_pictures_are_by_this_matplotlib_which_alone_is_compared():
    # Others may place words elsewhere, so `pictures.changed` passes them over.
    stored = "".join(path.read_text("utf-8") for path in NOTEBOOKS)
    drawn_by = {*re.findall(r"Matplotlib v(\d+\.\d+)", stored)}
    assert drawn_by == {mpl.__version__.rpartition(".")[0]}, "run `make notebooks`"


def test_a_notebook_fails_by_what_a_reader_may_see():
    """The hook of the conftest.py beside README.md says where."""
    stored = v4.new_output("display_data", {pictures.SVG: STORED})
    notebook = v4.new_notebook()
    for number, (change, _) in enumerate(CHANGES, 1):
        data = {pictures.SVG: draw(**change)}
        source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
        cell = v4.new_code_cell(source, outputs=[stored], execution_count=number)
        notebook.cells.append(cell)
    # Below the root, whose conftest.py pytest then loads, with the hook that compares.
    with TemporaryDirectory(dir=ROOT / "tests") as folder:
        write(notebook, f"{folder}/trial.ipynb")
        said = python("-m", "pytest", folder, "-q", "--color=no").stdout
    for number, (_, message) in enumerate(CHANGES, 1):
        assert f"trial.ipynb, cell [{number}]: the picture differs" in said
        assert re.search(f"(?m)^{message}", said), said
