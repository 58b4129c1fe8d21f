"""The comparison of pictures sees what a reader may see, and notebooks fail by it."""

import io
import re
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
import pictures
from matplotlib.figure import Figure
from nbformat import v4, write
from reading import ROOT, python

from posenc.book import plots

X = np.linspace(0, 8, 200)


def draw(label="offset", color=plots.INK, stretch=1.0, pixel=0.0):
    """A curve beside a heatmap, as SVG."""
    file = io.StringIO()
    with mpl.rc_context(plots.STYLE):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        left.plot(X, np.sin(stretch * X), color=color)
        left.set_xlabel(label)
        table = np.outer(np.sin(X[:20]), np.cos(X[:12]))
        table[3, 4] += pixel
        plots.heatmap(table, right, limit=1.0)
        figure.savefig(file, format="svg")
    return file.getvalue()


# What each cell draws otherwise than is stored, and what is said of it.
CHANGES = {
    r"axes_1 .*text_\d+: 'offset' became 'index'": {"label": "index"},
    r"axes_1 line2d_.*became": {"color": plots.COLORS[0]},
    r"axes_1 line2d_.* differ by": {"stretch": 1.002},
    r"axes_2: pixels.* differ by": {"pixel": 0.1},
}


def test_a_notebook_fails_by_what_a_reader_may_see():
    """The hook of the conftest.py beside README.md says where."""
    stored = v4.new_output("display_data", {pictures.SVG: draw()})
    notebook = v4.new_notebook()
    for change in CHANGES.values():
        data = {pictures.SVG: draw(**change)}
        source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
        cell = v4.new_code_cell(source, outputs=[stored], execution_count=1)
        notebook.cells.append(cell)
    # Below the root, whose conftest.py pytest then loads, with the hook that compares.
    with TemporaryDirectory(dir=ROOT) as folder:
        write(notebook, f"{folder}/trial.ipynb")
        said = python("-m", "pytest", folder, "-q", "--color=no").stdout
    for number, message in enumerate(CHANGES, 1):
        place = rf"trial.ipynb, cell \[{number}\]: the picture differs"
        assert re.search(f"{place}.*\n{message}", said), said
