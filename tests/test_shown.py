"""What a chapter shows equals what the package has."""

import ast
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

import posenc
from posenc import angular_frequencies, offset_kernel, shift_matrix, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs

ROOT = Path(__file__).parents[1]


def shown(name):
    """The functions and classes that a chapter writes out, without running the rest of it."""
    parts = []
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
        parts += [node for node in ast.parse(cell.source).body if isinstance(node, kinds)]
    space = {}
    exec(compile(ast.Module(parts, type_ignores=[]), name, "exec"), space)
    return space


def same(left, right):
    np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=0, atol=1e-6)


HEADS = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 20, 8)))


@pytest.mark.parametrize(
    ("name", "function", "ours", "packaged"),
    [
        ("03_numpy_loops", "frequencies", (8, 50.0), angular_frequencies(8, base=50.0)),
        ("03_numpy_loops", "encode_by_entry", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_row", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_broadcast", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_math", (9, 6), sinusoidal_encoding(9, 6)),
        ("04_torch_stack_flatten", "encode", (torch.arange(9), 6), sinusoidal_encoding(9, 6)),
        ("07_linearity", "rotation", (3.0,), shift_matrix(3, 2)),
        ("07_linearity", "block_diagonal", (3, 8), shift_matrix(3, 8)),
        ("09_distance_and_resolution", "kernel", (np.arange(9), 8), offset_kernel(np.arange(9), 8)),
        ("10_rotary_and_alibi", "rotate", (HEADS.numpy(),), rotate_pairs(HEADS)),
        (
            "10_rotary_and_alibi",
            "rotate_halves",
            (HEADS.numpy(),),
            rotate_pairs(HEADS, layout="halves"),
        ),
        ("10_rotary_and_alibi", "slopes", (8,), alibi_slopes(8)),
    ],
)
def test_what_is_shown_equals_the_package(name, function, ours, packaged):
    same(shown(name)[function](*ours), packaged)


def test_the_layer_that_is_shown_equals_the_package():
    layer = shown("04_torch_stack_flatten")["PositionalEncoding"](6, 10).eval()
    x = torch.zeros(1, 10, 6)
    same(layer(x), SinusoidalPositionalEncoding(6, 10).eval()(x))


def test_the_page_of_the_package_covers_all_of_it():
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    folder = ROOT / "src" / "posenc"
    modules = {path.stem for path in folder.glob("[a-z]*.py")}
    modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
    imported = {getattr(posenc, name).__module__.partition(".")[2] for name in posenc.__all__}
    imported -= {"config"}  # what it returns is described there, too
    documented = re.findall(r"automodule:: (\S+)", page)
    assert {*documented} == {"posenc"} | {f"posenc.{name}" for name in modules - imported}
