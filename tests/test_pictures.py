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


def draw(
    x=X, y=np.sin, table=TABLE, label="offset", color=plots.INK, simplify=True, **axis
):
    with plt.rc_context():
        plots.use_style()
        plt.rcParams["path.simplify"] = simplify
        fig, (left, right) = plt.subplots(1, 2)
        left.plot(x, y(x), color=color)
        left.set(xlabel=label, ylabel="share", **axis)
        plots.heatmap(table, right, limit=1.0)
        file = io.StringIO()
        fig.savefig(file, format="svg")
        plt.close(fig)
    return file.getvalue()


STORED = draw()
NOISE = np.random.default_rng(0).uniform(-1e-6, 1e-6, X.shape)
CHANGES = [
    ({"label": "index"}, r"axes_1 .*text_\d+: 'offset' became 'index'"),
    ({"color": plots.COLORS[0]}, "axes_1 line2d_.*became"),
    ({"y": lambda x: np.sin(1.002 * x)}, "axes_1 line2d_.*: d differ"),
    ({"table": TABLE + 0.1 * (TABLE[3, 4] == TABLE)}, "axes_2: .*pixels differ"),
    ({"xlim": (8, 0)}, "axes_1 "),
    ({"title": "encoding"}, "axes_2: .*became 'encoding'"),
    ({"x": X * (1 + NOISE), "table": TABLE + NOISE[:12]}, None),
    # Rounding decides which points of a curve are left out.
    ({"simplify": False}, None),
]


@pytest.mark.parametrize(
    ("change", "message"), CHANGES, ids=[str([*c]) for c, _ in CHANGES]
)
def test_sees_what_a_reader_may_see(change, message):
    problems = pictures.differences(STORED, draw(**change))
    if message is None:
        assert problems == []
    else:
        assert any(re.match(message, text) for text in problems), problems


def test_another_matplotlib_draws_otherwise_and_no_stored_picture_is_by_one():
    assert not pictures.is_comparable(STORED.replace("Matplotlib v", "Matplotlib v0."))
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        outputs = [
            o for c in cells if c.cell_type == "code" for o in c.outputs if "data" in o
        ]
        drawn = [o.data[pictures.SVG] for o in outputs if pictures.SVG in o.data]
        assert all(map(pictures.is_comparable, drawn)), (
            f"{path.name}: run `make notebooks`"
        )


def test_a_notebook_fails_and_says_where(tmp_path):
    """The hook of conftest.py; with nbval-ignore-output, labels are still compared."""
    cells = []
    for name, tags, change in [
        ("other", [], {"label": "index"}),
        ("times", ["nbval-ignore-output"], {"y": lambda x: 5 * np.cos(x)}),
        ("words", ["nbval-ignore-output"], {"label": "index"}),
    ]:
        data = {pictures.SVG: draw(**change)}
        source = f"from IPython.display import display\ndisplay({data!r}, raw=True)"
        outputs = [nbformat.v4.new_output("display_data", {pictures.SVG: STORED})]
        more = {"execution_count": 1, "outputs": outputs, "metadata": {"tags": tags}}
        caption = f'<a id="fig-{name}"></a>**Figure 1.** A line.'
        cells += (
            nbformat.v4.new_code_cell(source, **more),
            nbformat.v4.new_markdown_cell(caption),
        )
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "trial.ipynb")
    cleaned = f"--nbval-sanitize-with={ROOT}/tests/nbval.cfg"
    options = ["--nbval", "--nbval-current-env", cleaned]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        "-q",
        "-p",
        "conftest",
        "--color=no",
    ]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/tools:{ROOT}/tests"}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "2 failed, 1 passed" in run.stdout, run.stdout
    assert (
        "trial.ipynb, cell [1]: the picture differs from the stored one" in run.stdout
    )
    assert re.search(
        r"fig-other axes_1 .*text_\d+: 'offset' became 'index'", run.stdout
    )
    assert "fig-words labels" in run.stdout
