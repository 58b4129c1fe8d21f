"""The comparison of pictures sees what a reader would, and nothing that rounding does."""

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

from posenc import plots

ROOT = Path(__file__).parents[1]
X = np.linspace(0, 8, 200)
TABLE = np.outer(np.sin(X[:20]), np.cos(X[:12]))


def svg(draw):
    with plt.rc_context():
        plots.use_style()
        fig, axes = plt.subplots(1, 2)
        draw(*axes)
        file = io.StringIO()
        fig.savefig(file, format="svg")
        plt.close(fig)
    return file.getvalue()


def draw(
    left,
    right,
    *,
    x=X,
    y=np.sin,
    table=TABLE,
    limit=1.0,
    label="offset",
    color=plots.INK,
    tamper=None,
):
    left.plot(x, y(x), color=color)
    left.set(xlabel=label, ylabel="share")
    plots.heatmap(table, right, limit=limit)
    if tamper:
        tamper(left, right)


@pytest.fixture(scope="module")
def stored():
    return svg(draw)


CHANGES = {
    "a label": ({"label": "index"}, r"axes_1 .*text_\d+: 'offset' became 'index'"),
    "a line color": ({"color": plots.COLORS[0]}, "axes_1 line2d_.*became"),
    "a slightly other curve": ({"y": lambda x: np.sin(1.002 * x)}, "axes_1 line2d_.*: d differs"),
    "a color range": ({"limit": 1.2}, "axes_2: colors of the image differ by"),
    "one cell of a table": ({"table": TABLE + 0.1 * (TABLE[3, 4] == TABLE)}, "axes_2: colors"),
    "swapped axes of a table": ({"table": TABLE.T}, r"axes_2: image of \(20, 12\) became"),
    "a turned axis": ({"tamper": lambda left, _: left.set_xlim(8, 0)}, ""),
    "an axis' limit": ({"tamper": lambda left, _: left.set_xlim(0, 8.5)}, ""),
    "a legend": ({"tamper": lambda left, _: left.legend(["sine"])}, ""),
    "a line more": ({"tamper": lambda left, _: left.axhline(0.5)}, ""),
    "another map": ({"tamper": lambda _, right: right.images[0].set_cmap("twilight")}, ""),
    "a title": ({"tamper": lambda _, right: right.set_title("encoding")}, ""),
}


@pytest.mark.parametrize("what", CHANGES)
def test_sees(stored, what):
    change, message = CHANGES[what]
    found = pictures.differences(stored, svg(lambda *axes: draw(*axes, **change)))
    assert any(re.match(message, text) for text in found), found


def test_same_picture_has_no_differences(stored):
    assert pictures.differences(stored, svg(draw)) == []


@pytest.mark.parametrize("seed", range(3))
def test_rounding_makes_no_difference(stored, seed):
    noise = np.random.default_rng(seed).uniform(-1e-6, 1e-6, X.shape)
    x, table = X * (1 + noise), TABLE + noise[:12]
    assert pictures.differences(stored, svg(lambda *axes: draw(*axes, x=x, table=table))) == []


def test_points_left_out_of_a_curve_make_no_difference():
    with plt.rc_context({"path.simplify": False}):
        full = svg(draw)
    assert len(full) > len(svg(draw))
    assert pictures.differences(full, svg(draw)) == []


@pytest.mark.parametrize("name", [plots.DIVERGING, "twilight"])
def test_rounding_moves_a_color_by_less_than_the_tolerance(name):
    steps = np.diff(plt.get_cmap(name)(np.arange(256), bytes=True).astype(int), axis=0)
    assert 0 < np.abs(steps).max() <= pictures.LEVELS


def test_stored_pictures_are_of_the_pinned_matplotlib_and_every_tolerance_has_one():
    """A tolerance goes by the name in the caption."""
    pinned = re.search(r"^matplotlib==(\d+\.\d+)", (ROOT / "requirements.txt").read_text(), re.M)
    names = set()
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        for cell in (cell for cell in cells if cell.cell_type == "code"):
            names.add(pictures.name(cells, cell))
            drawn = [
                o.data[pictures.SVG] for o in cell.outputs if pictures.SVG in o.get("data", {})
            ]
            assert {*map(pictures.version, drawn)} <= {pinned[1]}, path.name
    assert names >= set(pictures.ROUGH)


def test_another_matplotlib_draws_otherwise(stored):
    assert pictures.is_comparable(stored)
    assert not pictures.is_comparable(stored.replace("Matplotlib v", "Matplotlib v0."))


def test_a_picture_of_times_keeps_its_labels(stored):
    def changed(**change):
        now, then = (
            nbformat.v4.new_output("display_data", {pictures.SVG: drawn})
            for drawn in (svg(lambda *axes: draw(*axes, **change)), stored)
        )
        tags = {"tags": ["nbval-ignore-output"]}
        cell = nbformat.v4.new_code_cell("", outputs=[then], metadata=tags)
        return pictures.changed(cell, [now])

    assert changed(y=lambda x: 5 * np.cos(x)) == ""
    assert "became" in changed(label="index")


def test_a_notebook_fails_and_says_where(tmp_path, stored):
    """The hook of conftest.py: of two cells with the same stored picture, one draws another."""
    cells = []
    for name, label in [("fig-same", "offset"), ("fig-other", "index")]:
        drawn = {pictures.SVG: svg(lambda *axes, label=label: draw(*axes, label=label))}
        source = f"from IPython.display import display\ndisplay({drawn!r}, raw=True)"
        output = nbformat.v4.new_output("display_data", {pictures.SVG: stored})
        more = {"execution_count": 1, "outputs": [output]}
        cells.append(nbformat.v4.new_code_cell(source, **more))
        cells.append(nbformat.v4.new_markdown_cell(f'<a id="{name}"></a>**Figure 1.** A line.'))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "trial.ipynb")
    options = ["-q", "-p", "conftest", "--nbval", "--nbval-current-env", "--color=no"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--nbval-sanitize-with={ROOT}/tests/nbval.cfg"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/tools"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout
    assert "trial.ipynb, cell [2] draws another picture than the stored one" in run.stdout
    assert re.search(r"fig-other axes_1 .*text_\d+: 'offset' became 'index'", run.stdout)
