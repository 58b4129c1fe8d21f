"""The book's own rules."""

import ast
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
import yaml

import posenc
from posenc import angular_frequencies, offset_kernel, shift_matrix, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECTIONS = ["What you'll do", "Summary", "Exercises", "What comes next"]
CLAIM = re.compile(r"S[0-4]-[a-z0-9-]+")
FORBIDDEN = {
    "an absolute path": r"""["'](/|~|[A-Z]:\\)\w""",
    "network access": r"\b(urllib|requests|httpx|socket|urlopen|wget|curl)\b|https?://",
    "a download": r"fetch_|load_dataset|from_pretrained|hub\.load|pip install",
    "a warnings filter": r"filterwarnings|simplefilter|catch_warnings|np\.seterr|PYTHONWARNINGS",
    "a wall-clock assertion": r"assert.*(perf_counter|elapsed|seconds)",
}


def chapter(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def images(cell):
    return [o for o in cell.outputs if any("image/" in kind for kind in o.get("data", {}))]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(scope="module")
def claims():
    return yaml.safe_load((ROOT / "book" / "claims.yml").read_text(encoding="utf-8"))


def test_toc_and_files_agree():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"]] + [c["file"] for part in toc["parts"] for c in part["chapters"]]
    there = [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    there += ["index"] + [f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")]
    assert sorted(listed) == sorted(there)
    assert [f for f in listed if f.startswith("notebooks")] == there[: len(NOTEBOOKS)]
    assert all(re.fullmatch(r"\d\d_[a-z_]+", path.stem) for path in NOTEBOOKS)


def test_is_valid_and_says_nothing_of_a_machine(notebook):
    nbformat.validate(notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert notebook.metadata == {"kernelspec": kernel}


def test_was_executed_in_order_without_errors(notebook):
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]


def test_has_the_frame_of_a_chapter(notebook):
    headings = re.findall(r"^(#+) (.+)$", text(notebook), re.MULTILINE)
    assert [level for level, _ in headings].count("#") == 1
    assert headings[0][0] == "#"
    seconds = [title for level, title in headings if level == "##"]
    assert [title for title in seconds if title in SECTIONS] == SECTIONS
    assert seconds[0] == SECTIONS[0]
    assert "**What you'll learn.**" in text(notebook)
    assert "**Prerequisites.**" in text(notebook)


def test_imports_stand_in_the_first_cell(notebook):
    first, *rest = code_cells(notebook)
    assert "import" in first.source
    for cell in rest:
        assert not re.search(r"^(import|from) ", cell.source, re.MULTILINE), cell.source


def test_code_cells_are_short(notebook):
    lengths = [len(cell.source.splitlines()) for cell in code_cells(notebook)]
    assert max(lengths) <= 20, [
        c.source for c in code_cells(notebook) if c.source.count("\n") >= 20
    ]
    assert np.median(lengths) <= 9


@pytest.mark.parametrize("what", FORBIDDEN)
def test_code_keeps_to_itself(notebook, what):
    for cell in code_cells(notebook):
        assert not re.search(FORBIDDEN[what], cell.source), f"{what} in {cell.source!r}"


def test_figures_have_caption_alt_text_and_a_mention(notebook):
    before = ""
    for cell in notebook.cells:
        meta = cell.metadata.get("mystnb", {})
        if cell.cell_type == "markdown":
            before += cell.source
        elif images(cell) or meta:
            assert len(images(cell)) == 1, f"not one picture: {cell.source}"
            name = meta["figure"]["name"]
            assert name.startswith("fig-")
            assert len(meta["figure"]["caption"]) > 30
            assert len(meta["image"]["alt"]) > 40
            assert meta["image"]["alt"] != meta["figure"]["caption"]
            assert f"{{numref}}`{name}`" in before, f"{name} is not mentioned before it is shown"


def test_exercises_have_solutions_that_run(notebook):
    exercises = re.findall(r"(?:```|:::)\{exercise\}.*\n:label: (ex-[a-z0-9-]+)", text(notebook))
    solutions = re.findall(
        r"(?:```|:::)\{solution-start\} (ex-[a-z0-9-]+)\n:class: dropdown", text(notebook)
    )
    assert 2 <= len(exercises) <= 4
    assert solutions == exercises
    label, ran = None, set()
    for cell in notebook.cells:
        for what, name in re.findall(r"\{solution-(start|end)\} ?(\S*)", cell.source):
            label = name if what == "start" else None
        if cell.cell_type == "code":
            tagged = "solution" in cell.metadata.get("tags", [])
            assert tagged == (label is not None), f"tag and place disagree: {cell.source}"
            ran |= {label} - {None}
    assert ran == set(exercises), "a solution without code"


def test_folded_code_says_what_it_does(notebook):
    """On the site as in JupyterLab: its first line is a comment, and both fold the same cells."""
    for number, cell in enumerate(code_cells(notebook), 1):
        tags = cell.metadata.get("tags", [])
        if "solution" not in tags:
            where = f"code cell {number}: {cell.source!r}"
            collapsed = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            assert ("hide-input" in tags) == collapsed, f"hide-input and source_hidden: {where}"
            comment = re.match(r"# \S.*\n.", cell.source)
            assert comment or not collapsed, f"a folded cell begins with a comment: {where}"


def test_boxes_judge_what_the_chapter_asserts(notebook):
    """Each id of the ledger stands in one box at most, and on a cell of the same chapter."""
    boxes = re.findall(
        r"^:::\{admonition\} In the documents\n:class: documents\n(.*?)^:::$",
        text(notebook),
        re.MULTILINE | re.DOTALL,
    )
    named = re.findall(rf"`({CLAIM.pattern})`", "".join(boxes))
    tags = {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])}
    assert len({*named}) == len(named), "a claim is judged twice"
    assert {*named} <= tags, "a claim that no cell asserts"
    everywhere = re.findall(rf"`({CLAIM.pattern})`", text(notebook))
    assert sorted(everywhere) == sorted(named), "a claim is named outside of a box"


def test_ledger_rows_are_complete(claims):
    assert len(claims) >= 60
    assert len({row["id"] for row in claims}) == len(claims)
    chapters = {path.stem for path in NOTEBOOKS}
    for row in claims:
        assert CLAIM.fullmatch(row["id"]), row
        assert row["verdict"] in ("holds", "within limits", "fails"), row
        assert row["chapter"] in chapters, row
        assert ("truth" in row) == (row["verdict"] != "holds"), row
        assert set(row) <= {"id", "claim", "verdict", "chapter", "truth"}, row


def test_ledger_and_chapters_agree(claims):
    tagged = {}
    for path in NOTEBOOKS:
        for cell in chapter(path.stem).cells:
            for tag in filter(CLAIM.fullmatch, cell.metadata.get("tags", [])):
                assert tag not in tagged, f"{tag} is asserted twice"
                assert re.search(r"\bassert\b|\bassert_", cell.source), f"{tag} asserts nothing"
                tagged[tag] = path.stem
    assert tagged == {row["id"]: row["chapter"] for row in claims}


def shown(name):
    """The functions and classes that a chapter writes out, without running the rest of it."""
    parts = []
    for cell in code_cells(chapter(name)):
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
        ("03_numpy_loops", "frequencies", (8, 50.0), angular_frequencies(8, 50.0)),
        ("03_numpy_loops", "encode_by_entry", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_row", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_broadcast", (9, 6), sinusoidal_encoding(9, 6)),
        ("03_numpy_loops", "encode_by_math", (9, 6), sinusoidal_encoding(9, 6)),
        ("04_torch_stack_flatten", "encode", (torch.arange(9), 6), sinusoidal_encoding(9, 6)),
        ("07_linearity", "rotation", (3.0,), shift_matrix(3, 2)),
        ("07_linearity", "block_diagonal", (3, 8), shift_matrix(3, 8)),
        ("09_distance_and_resolution", "kernel", (np.arange(9), 8), offset_kernel(np.arange(9), 8)),
        ("10_rotary_and_alibi", "rotate", (HEADS,), rotate_pairs(HEADS)),
        ("10_rotary_and_alibi", "rotate_halves", (HEADS,), rotate_pairs(HEADS, layout="halves")),
        ("10_rotary_and_alibi", "slopes", (8,), alibi_slopes(8)),
    ],
)
def test_what_is_shown_equals_the_package(name, function, ours, packaged):
    same(shown(name)[function](*ours), packaged)


def test_the_layer_that_is_shown_equals_the_package():
    layer = shown("04_torch_stack_flatten")["PositionalEncoding"](6, 10).eval()
    x = torch.zeros(1, 10, 6)
    same(layer(x), SinusoidalPositionalEncoding(6, 10).eval()(x))


def test_no_chapter_writes_out_a_name_of_the_package():
    """One name, one thing: a chapter's own version is called otherwise."""
    public = {*posenc.__all__, "SinusoidalPositionalEncoding", "rotate_pairs", "alibi_slopes"}
    for path in NOTEBOOKS:
        for cell in code_cells(chapter(path.stem)):
            names = re.findall(r"^(?:def|class) (\w+)", cell.source, re.MULTILINE)
            assert not public.intersection(names), path.stem
