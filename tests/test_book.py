"""The book's own rules."""

import ast
import copy
import itertools
import re
from pathlib import Path

import licenses
import nbformat
import numpy as np
import pytest
import yaml
from sphinx_posenc.claims import CLAIM
from sphinx_posenc.cross_references import Book
from sphinx_posenc.myst_markup import CAPTION, SOLUTION

import posenc

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# The page before chapter 1 is no chapter: it has no number, so its pictures have none, no frame and
# no exercises; it opens with a picture and folds nothing.
CHAPTERS = [path for path in NOTEBOOKS if not path.stem.startswith("00_")]
SECTIONS = ["What you'll do", "Summary", "Exercises", "What comes next"]
BOOK = Book(ROOT)
CURE = "run `make notebooks NOTEBOOKS=…` for it, which executes and stores it"
FORBIDDEN = {
    "an absolute path": r"""["'](/|~|[A-Z]:\\)\w""",
    "network access": r"\b(urllib|requests|httpx|socket|urlopen|wget|curl)\b|https?://",
    "a download": r"fetch_|load_dataset|from_pretrained|hub\.load|pip install",
    "a warnings filter": r"filterwarnings|simplefilter|catch_warnings|np\.seterr|PYTHONWARNINGS",
    "a wall-clock assertion": r"assert.*(perf_counter|elapsed|seconds)",
}


class Chapter:
    """A notebook as the rules look at it."""

    def __init__(self, path):
        self.path = path
        self.notebook = nbformat.read(path, as_version=4)
        self.cells = self.notebook.cells
        self.code = [cell for cell in self.cells if cell.cell_type == "code"]
        self.text = "\n\n".join(c.source for c in self.cells if c.cell_type == "markdown")
        cells = BOOK.cells(f"notebooks/{path.name}", copy.deepcopy(self.cells))
        self.plain = [nbformat.from_dict(cell) for cell in cells]

    def where(self, cell):
        """File and cell, by the number that JupyterLab shows after a run from the top."""
        if cell is None:
            return f"notebooks/{self.path.name}"
        cells = self.cells if cell in self.cells else self.plain
        before = cells[: cells.index(cell)]
        number = f"[{sum(c.cell_type == 'code' for c in before) + 1}]"
        place = f"cell {number}" if cell.cell_type == "code" else f"the text above cell {number}"
        return f"notebooks/{self.path.name}, {place} ({cell.source.partition(chr(10))[0][:60]})"


def rule(find, paths=NOTEBOOKS):
    """Make a test of each notebook from what finds problems: pairs of a cell or None, and words."""

    @pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)
    def test(path):
        chapter = Chapter(path)
        found = [f"{chapter.where(cell)}: {problem}" for cell, problem in find(chapter)]
        if found:
            pytest.fail("\n".join(found), pytrace=False)

    return test


def chapter_rule(find):
    """Make a test of each chapter."""
    return rule(find, CHAPTERS)


def tags(cell):
    return cell.metadata.get("tags", [])


def images(cell):
    return [o for o in cell.outputs if any("image/" in kind for kind in o.get("data", {}))]


@rule
def test_is_valid_and_says_nothing_of_a_machine(chapter):
    nbformat.validate(chapter.notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    if chapter.notebook.metadata != {"kernelspec": kernel}:
        yield None, f"its metadata is of the editor that saved it: {CURE}"


@rule
def test_was_executed_in_order_without_errors(chapter):
    for number, cell in enumerate(chapter.code, 1):
        if cell.execution_count != number:
            yield cell, f"the stored run has the number {cell.execution_count}: {CURE}"
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                yield (
                    cell,
                    f"the stored output is an error or a warning: mend it, then {CURE}",
                )


@rule
def test_every_check_has_two_wrong_answers(chapter):
    for cell in chapter.code:
        few = len(cell.metadata.get("wrong_answers", [])) < 2
        if few and re.search("^def check_", cell.source, re.MULTILINE):
            yield cell, "give two `wrong_answers` in its metadata: slip, answer, and what it says"


@chapter_rule
def test_has_the_frame_of_a_chapter(chapter):
    headings = re.findall(r"^(#+) (.+)$", chapter.text, re.MULTILINE)
    if [level for level, _ in headings[:1]] != ["#"] or [h[0] for h in headings].count("#") > 1:
        yield None, "has one heading of the first level, its title, above everything"
    seconds = [title for level, title in headings if level == "##"]
    if [title for title in seconds if title in SECTIONS] != SECTIONS or seconds[0] != SECTIONS[0]:
        yield None, f"needs these sections in this order, beginning with the first: {SECTIONS}"
    for words in ("**What you'll learn.**", "**Prerequisites.**"):
        if words not in chapter.text:
            yield None, f"needs a paragraph that begins with {words}"
    if re.search(r"\blast chapter\b", chapter.text):
        yield None, "says which chapter is the last: another may follow, so leave it out"


@chapter_rule
def test_imports_stand_in_the_first_cell(chapter):
    """Or in the folded cell that alone needs them, so that a chapter doesn't open with a list."""
    first, *rest = chapter.code
    if "import" not in first.source:
        yield first, "the first code cell holds the imports"
    for cell in rest:
        open_code = "hide-input" not in tags(cell)
        if open_code and re.search(r"^(import|from) ", cell.source, re.MULTILINE):
            yield cell, "an import in open code: move it to the first code cell"


@rule
def test_code_cells_are_short(chapter):
    lengths = [len(cell.source.splitlines()) for cell in chapter.code]
    for cell, length in zip(chapter.code, lengths, strict=True):
        if length > 20:
            yield cell, f"{length} lines of code: split it into cells of at most 20, 3 as a rule"
    if np.median(lengths) > 9:
        yield (
            None,
            f"its cells have {np.median(lengths):.0f} lines in the middle: at most 9",
        )


@rule
def test_code_keeps_to_itself(chapter):
    for cell in chapter.code:
        for what, pattern in FORBIDDEN.items():
            found = re.search(pattern, cell.source)
            if found:
                yield cell, f"{what} ({found[0]}): a chapter runs anywhere, without a network"


@chapter_rule
def test_figures_have_caption_alt_text_and_a_mention(chapter):
    before, cells = "", chapter.plain
    for cell, below in itertools.zip_longest(cells, cells[1:], fillvalue={"source": ""}):
        if cell.cell_type == "markdown":
            before += cell.source
        elif images(cell) or "mystnb" in cell.metadata:
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            caption = CAPTION.fullmatch(below["source"])
            name, text = caption.group("name", "text") if caption else ("", "")
            if len(images(cell)) != 1:
                yield cell, f"{len(images(cell))} pictures where metadata announces one: draw one"
            if len(text) <= 30:
                form = '<a id="fig-name"></a>**Figure ?.** What it shows'
                yield cell, f"no caption of more than 30 characters in the cell below it: {form}"
            if len(alt) <= 40 or alt == text:
                problem = "no alt text of more than 40 characters, on what a sighted reader sees"
                yield cell, f"{problem}: add to the cell's metadata, under mystnb, image.alt"
            if name and f"](#{name})" not in before:
                yield cell, f"{name} is not mentioned before it is shown: refer to it in the text"


@chapter_rule
def test_exercises_have_solutions_that_run(chapter):
    text = "\n\n".join(c.source for c in chapter.plain if c.cell_type == "markdown")
    exercises = re.findall(r"^:{3,}\{exercise\}.*\n:label: (ex-[a-z0-9-]+)", text, re.MULTILINE)
    boxes = [box for box in SOLUTION.finditer(text) if ":class: dropdown" in box["options"]]
    solutions = [box["label"] for box in boxes]
    if not 2 <= len(exercises) <= 4:
        yield None, f"has {len(exercises)} exercises with a label ex-…: write 2 to 4"
    if solutions != exercises:
        yield None, f"exercises {exercises}, but folded solutions {solutions}: one each, in order"
    label, ran = None, set()
    for cell in chapter.plain:
        found = [box["label"] for box in SOLUTION.finditer(cell.source)]
        if "solution" in tags(cell) and cell.cell_type == "code":
            if label is None:
                yield cell, "the tag solution belongs to code below a box :::{solution}"
            ran |= {label}
            hidden = cell.metadata.get("jupyter", {})
            shut = hidden.get("source_hidden") and (
                not cell.outputs or hidden.get("outputs_hidden")
            )
            if not shut or not cell.source.startswith("# Solution\n"):
                problem = "a line of the solution shows in JupyterLab before it is opened"
                cure = 'begin it with "# Solution", with source_hidden and outputs_hidden'
                yield cell, f"{problem}: {cure}"
        label = found[-1] if found else label if "solution" in tags(cell) else None
    for label in set(exercises) - ran:
        yield None, f"the solution of {label} holds no code: add a cell with the tag solution"


@rule
def test_nothing_needs_a_solution(chapter):
    """A reader who solves an exercise another way can go on: no later cell needs our names."""
    given, ours = set(), set()
    for cell in chapter.code:
        tree = list(ast.walk(ast.parse(cell.source)))
        bound = {n.id for n in tree if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.name for n in tree if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        bound |= {n.arg for n in tree if isinstance(n, ast.arg)}
        read = {n.id for n in tree if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if "solution" in tags(cell):
            ours |= bound - given
            continue
        for name in sorted((read - bound) & ours):
            yield cell, f"{name} comes from a solution: a reader may solve it otherwise"
        given |= bound
        ours -= bound


@rule
def test_is_plain_markdown_and_true(chapter):
    """Every viewer shows it, and its numbers, titles and labels are the ones of the book."""
    for cell, should in zip(chapter.cells, chapter.plain, strict=True):
        if cell != should:
            yield cell, "states what isn't so: run `make references`"
        if "figure" in cell.metadata.get("mystnb", {}):
            yield cell, "captions are cells of their own, below the figure"
        if cell.cell_type != "markdown":
            continue
        if role := re.search(r"\{[\w:-]+\}`", cell.source):
            yield cell, f"{role[0]} is a role, which other viewers don't know: write a link"
        kinds = {*re.findall(r"^[`:]{3,}\{([\w-]+)\}", cell.source, re.MULTILINE)}
        if kinds - {"admonition", "exercise", "solution", "index"}:
            yield cell, f"holds a directive, {kinds}, that no other viewer knows: write Markdown"
        for anchor in re.findall(r"\]\(#([\w-]+)\)", cell.source):
            if f'<a id="{anchor}">' not in chapter.text:
                problem = f"#{anchor} is a heading's address, which each viewer makes otherwise"
                yield cell, f'{problem}: begin its first paragraph with <a id="…"></a>'


@chapter_rule
def test_folded_code_says_what_it_does(chapter):
    """On the site as in JupyterLab: its first line is a comment, and both fold the same cells."""
    for cell in chapter.code:
        if "solution" not in tags(cell):
            collapsed = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            if ("hide-input" in tags(cell)) != collapsed:
                yield (
                    cell,
                    "folded here, open there: it takes hide-input and source_hidden",
                )
            if collapsed and not re.match(r"# \S.*\n.", cell.source):
                yield cell, "folded: begin it with a comment that says what it does"


@rule
def test_boxes_judge_what_the_chapter_asserts(chapter):
    """Each id of the ledger stands in one box at most, and on a cell of the same chapter."""
    box = r"^:::\{admonition\} In the documents\n:class: documents dropdown\n(.*?)^:::$"
    boxes = re.findall(box, chapter.text, re.MULTILINE | re.DOTALL)
    named = re.findall(rf"`({CLAIM.pattern})`", "".join(boxes))
    asserted = {tag for cell in chapter.cells for tag in tags(cell)}
    for claim in sorted({*named}):
        if named.count(claim) > 1:
            yield None, f"{claim} is judged in two boxes: once is enough"
        if claim not in asserted:
            yield None, f"{claim} has a box, but no cell: tag the cell that asserts it"
    claims = set(filter(CLAIM.fullmatch, asserted)) - {*named}
    for claim in sorted(claims):
        yield None, f"{claim} has a cell, but no box: judge it in one"
    for claim in sorted({*re.findall(rf"`({CLAIM.pattern})`", chapter.text)} - {*named}):
        yield None, f"{claim} is named outside of a box: move it into one"


@rule
def test_no_chapter_writes_out_a_name_of_the_package(chapter):
    """One name, one thing: a chapter's own version has another name."""
    public = {*posenc.__all__, "SinusoidalPositionalEncoding", "rotate_pairs", "alibi_slopes"}
    for cell in chapter.code:
        names = re.findall(r"^(?:def|class) (\w+)", cell.source, re.MULTILINE)
        for name in public.intersection(names):
            yield cell, f"{name} is a name of the package: import it, or call this one otherwise"


@pytest.fixture(scope="module")
def claims():
    return yaml.safe_load((ROOT / "book" / "claims.yml").read_text(encoding="utf-8"))


def test_licenses_are_those_of_what_is_installed():
    """After an upgrade: `python tools/licenses.py > book/licenses.txt`."""
    assert (ROOT / "book" / "licenses.txt").read_text(encoding="utf-8") == licenses.text()


def test_toc_and_files_agree():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [toc["root"]] + [c["file"] for part in toc["parts"] for c in part["chapters"]]
    there = [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    pages = ["index", *(f"book/{path.stem}" for path in (ROOT / "book").glob("*.md"))]
    assert sorted(set(there + pages) - set(listed)) == [], "missing from _toc.yml: list it there"
    assert sorted(set(listed) - set(there + pages)) == [], "in _toc.yml, but no file"
    assert [f for f in listed if f in there] == there, "_toc.yml has chapters in another order"
    odd = [path.name for path in NOTEBOOKS if not re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem)]
    assert odd == [], "a chapter is called NN_name.ipynb, in lower case"


def test_the_landing_page_lists_every_chapter():
    text = (ROOT / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[.*?\]\(notebooks/(\w+)\.ipynb\): .+ \|$", text, re.MULTILINE)
    expected = [(str(number), path.stem) for number, path in enumerate(CHAPTERS, 1)]
    assert rows == expected, "the tables of chapters in index.md"


def test_ledger_rows_are_complete(claims):
    assert len(claims) >= 60
    ids = [row["id"] for row in claims]
    for row in claims:
        where = f"book/claims.yml, {row['id']}"
        assert CLAIM.fullmatch(row["id"]), f"{where}: the id is a document, a hyphen and a name"
        assert ids.count(row["id"]) == 1, f"{where}: two rows have this id"
        assert row["verdict"] in ("holds", "within limits", "fails"), f"{where}: no such verdict"
        assert ("truth" in row) == (row["verdict"] != "holds"), f"{where}: truth, unless it holds"
        assert set(row) <= {"id", "claim", "verdict", "truth"}, f"{where}: another key"


def test_ledger_and_chapters_agree(claims):
    tagged = {}
    for chapter in map(Chapter, NOTEBOOKS):
        for cell in chapter.code:
            for tag in filter(CLAIM.fullmatch, tags(cell)):
                where = f"{chapter.where(cell)}: {tag}"
                assert tag not in tagged, f"{where} is asserted in {tagged[tag]}, too: once"
                assert re.search(r"\bassert(_|\b)", cell.source), f"{where} asserts nothing"
                tagged[tag] = chapter.path.stem
    rows = {row["id"] for row in claims}
    assert sorted(rows - {*tagged}) == [], "book/claims.yml has these, but no cell: tag one"
    assert sorted({*tagged} - rows) == [], "cells have these tags, but book/claims.yml no rows"
