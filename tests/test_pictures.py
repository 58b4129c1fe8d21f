"""The comparison of pictures detects visible changes, and ignores rounding."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pictures
import pytest

from posenc.book import plots

ROOT = Path(__file__).parents[1]
X = np.linspace(0, 8, 200)
TABLE = np.outer(np.sin(X[:20]), np.cos(X[:12]))


def draw(x=X, curve=np.sin, table=TABLE, color=plots.INK, simplify=True, **axis):
    """A curve beside a heatmap."""
    with plt.rc_context():
        plots.use_style()
        plt.rcParams["path.simplify"] = simplify
        fig, (left, right) = plt.subplots(1, 2)
        left.plot(x, curve(x), color=color)
        left.set(**{"xlabel": "offset", "ylabel": "share"} | axis)
        plots.heatmap(table, right, limit=1.0)
        file = io.StringIO()
        fig.savefig(file, format="svg")
        plt.close(fig)
    return file.getvalue()


STORED = draw()
NOISE = np.random.default_rng(0).uniform(-1e-6, 1e-6, X.shape)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"xlabel": "index"}, r"axes_1 .*text_\d+: 'offset' became 'index'"),
        ({"color": plots.COLORS[0]}, "axes_1 line2d_.*became"),
        ({"curve": lambda x: np.sin(1.002 * x)}, "axes_1 line2d_.* differ by"),
        ({"table": TABLE + 0.1 * (TABLE[3, 4] == TABLE)}, "axes_2: pixels.* differ by"),
        ({"xlim": (8, 0)}, "axes_1 "),
    ],
)
def test_sees_what_a_reader_may_see(change, message):
    problems = pictures.differences(STORED, draw(**change))
    assert any(re.match(message, problem) for problem in problems), problems


def test_ignores_rounding():
    noisy = draw(x=X * (1 + NOISE), table=TABLE + NOISE[:12])
    assert pictures.differences(STORED, noisy) == []
    # It decides which points of a curve are left out.
    assert pictures.differences(STORED, draw(simplify=False)) == []


def test_stored_pictures_are_by_this_matplotlib_which_alone_is_compared():
    assert not pictures.is_comparable(STORED.replace("Matplotlib v", "Matplotlib v0."))
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                svg = output.get("data", {}).get(pictures.SVG)
                message = f"{path.name}: run `make notebooks`"
                assert svg is None or pictures.is_comparable(svg), message


def test_a_notebook_fails_and_says_where(tmp_path):
    """The hook of conftest.py; with nbval-ignore-output, labels are still compared."""
    cells = []
    for name, tags, change in [
        ("other", [], {"xlabel": "index"}),
        ("times", ["nbval-ignore-output"], {"curve": lambda x: 5 * np.cos(x)}),
        ("words", ["nbval-ignore-output"], {"xlabel": "index"}),
    ]:
        data = {pictures.SVG: draw(**change)}
        source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
        cell = nbformat.v4.new_code_cell(source, metadata={"tags": tags})
        cell.execution_count = 1
        cell.outputs = [nbformat.v4.new_output("display_data", {pictures.SVG: STORED})]
        caption = f'<a id="fig-{name}"></a>**Figure 1.** A line.'
        cells += [cell, nbformat.v4.new_markdown_cell(caption)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "trial.ipynb")
    options = ["--nbval", "--nbval-current-env", "-q", "-p", "conftest", "--color=no"]
    paths = map(str, [ROOT, ROOT / "tools", ROOT / "tests"])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "2 failed, 1 passed" in run.stdout, run.stdout
    place = "trial.ipynb, cell [1]: the picture differs from the stored one"
    assert place in run.stdout
    assert re.search(r"fig-other axes_1 .*'offset' became 'index'", run.stdout)
    assert "fig-words labels" in run.stdout
