"""The comparison of pictures detects visible changes, and ignores rounding."""

import io
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import execute
import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pictures
import pytest

from posenc.book import plots

ROOT = Path(__file__).parents[1]
X = np.linspace(0, 8, 200)
TABLE = np.outer(np.sin(X[:20]), np.cos(X[:12]))


def draw(x=X, curve=np.sin, table=TABLE, color=plots.INK, label="offset"):
    """A curve beside a heatmap."""
    file = io.StringIO()
    with plt.rc_context():
        plots.use_style()
        fig, (left, right) = plt.subplots(1, 2)
        left.plot(x, curve(x), color=color)
        left.set_xlabel(label)
        plots.heatmap(table, right, limit=1.0)
        fig.savefig(file, format="svg")
        plt.close(fig)
    return file.getvalue()


STORED = draw()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "index"}, r"axes_1 .*text_\d+: 'offset' became 'index'"),
        ({"color": plots.COLORS[0]}, "axes_1 line2d_.*became"),
        ({"curve": lambda x: np.sin(1.002 * x)}, "axes_1 line2d_.* differ by"),
        ({"table": TABLE + 0.1 * (TABLE[3, 4] == TABLE)}, "axes_2: pixels.* differ by"),
    ],
)
def test_sees_what_a_reader_may_see(change, message):
    problems = pictures.differences(STORED, draw(**change))
    assert any(re.match(message, problem) for problem in problems), problems


def test_ignores_rounding():
    # About what other processors change in float64.
    noise = np.random.default_rng(0).uniform(-1e-6, 1e-6, X.shape)
    noisy = draw(x=X * (1 + noise), table=TABLE + noise[:12])
    assert pictures.differences(STORED, noisy) == []
    # It decides which points of a curve are left out.
    with plt.rc_context({"path.simplify": False}):
        assert pictures.differences(STORED, draw()) == []


def test_stored_pictures_are_by_this_matplotlib_which_alone_is_compared():
    # Others may place words elsewhere, so `pictures.changed` passes them over.
    installed = mpl.__version__.rpartition(".")[0]
    for path in ROOT.glob("notebooks/*.ipynb"):
        drawn_by = re.findall(r"Matplotlib v(\d+\.\d+)", path.read_text("utf-8"))
        assert {*drawn_by} <= {installed}, f"{path.name}: run `make notebooks`"


def test_only_a_cell_that_nobody_edited_keeps_its_stored_picture():
    """Of times, as here, curves aren't compared."""
    stored, fresh = nbformat.v4.new_notebook(), nbformat.v4.new_notebook()
    for source, edited in [("draw()", "draw()"), ("draw(sin)", "draw(cos)")]:
        old = nbformat.v4.new_code_cell(source)
        old.metadata.tags = ["nbval-ignore-output"]
        new = nbformat.from_dict(old | {"source": edited})
        for cell, curve in (old, np.sin), (new, np.cos):
            data = {pictures.SVG: draw(curve=curve)}
            cell.outputs = [nbformat.v4.new_output("display_data", data)]
        stored.cells.append(old)
        fresh.cells.append(new)
    execute.keep_outputs(fresh, stored)
    kept = [
        old.outputs == new.outputs
        for old, new in zip(stored.cells, fresh.cells, strict=True)
    ]
    assert kept == [True, False]


def test_a_notebook_fails_and_says_where():
    """The hook of conftest.py; with nbval-ignore-output, labels are still compared."""
    notebook = nbformat.v4.new_notebook()
    stored = nbformat.v4.new_output("display_data", {pictures.SVG: STORED})
    for tags, fresh in [
        ([], draw(label="index")),
        (["nbval-ignore-output"], draw(curve=np.cos)),
        (["nbval-ignore-output"], draw(label="index")),
    ]:
        data = {pictures.SVG: fresh}
        source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
        cell = nbformat.v4.new_code_cell(source, outputs=[stored], execution_count=1)
        cell.metadata.tags = tags
        notebook.cells.append(cell)
    # Below the root, whose conftest.py pytest then loads.
    with TemporaryDirectory(dir=ROOT / "tests") as folder:
        nbformat.write(notebook, f"{folder}/trial.ipynb")
        command = [sys.executable, "-m", "pytest", folder, "-q", "--color=no"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "2 failed, 1 passed" in run.stdout, run.stdout
    place = "trial.ipynb, cell [1]: the picture differs from the stored one"
    assert place in run.stdout
    assert re.search(r"\naxes_1 .*'offset' became 'index'", run.stdout)
    assert "\nlabels [" in run.stdout
