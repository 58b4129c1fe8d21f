"""What every chapter holds, so that a reader can run it, read it anywhere, and trust it."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import execute
import nbformat
import pytest
import yaml
from pictures import drawn
from slices import needed
from sphinx_posenc.claims import ledger
from sphinx_posenc.myst_markup import CLAIM

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CURE = "run `make notebooks NOTEBOOKS=…`, which executes and stores it"
# Where a part of an exercise begins, in Markdown or in the tags of a cell of code.
PART = re.compile(
    r"""
      <a\ id="(?P<exercise>ex-)
    | ^tags:.*'(?P<answer>answer)'
    | ^<details\ class="(?P<solution>solution)
    | ^tags:.*'(?P<code>solution)'
    """,
    re.MULTILINE | re.VERBOSE,
)
EXERCISES = re.compile("(exercise answer solution( code)+ ?)*")
# What code must not hold: a pattern, and what is wrong with it.
FORBIDDEN = {
    r"""["'](/|~|[A-Z]:\\)\w""": "is an absolute path: chapters must run anywhere",
    r"\b(urllib|requests|httpx|socket|urlopen|wget|curl)\b|https?://": "uses a network",
    r"fetch_|load_dataset|from_pretrained|hub\.load|pip install": "downloads something",
    r"filterwarnings|simplefilter|catch_warnings|np\.seterr|PYTHONWARNINGS": "hides warnings",
    r"(?m)^\s*assert \w+$": "holds for nearly anything: compare it with what it must be",
}


class Chapter:
    """A notebook, as rules need it."""

    def __init__(self, path):
        self.path = path
        self.notebook = nbformat.read(path, as_version=4)
        self.cells = self.notebook.cells
        self.code = [cell for cell in self.cells if cell.cell_type == "code"]
        texts = [cell.source for cell in self.cells if cell.cell_type == "markdown"]
        self.text = "\n\n".join(texts)


read = cache(Chapter)
CODE = [cell for path in NOTEBOOKS for cell in read(path).code]


def tags(cell):
    return cell.metadata.get("tags", [])


def claims(cell):
    """The verdicts that a cell asserts, by claim."""
    return cell.metadata.get("claims", {})


def rule(find):
    """Make a per-notebook test of a function that yields problems: a cell or None, and words."""

    @pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
    def test(path):
        chapter = read(path)
        lines = []
        for cell, problem in find(chapter):
            place = f"notebooks/{path.name}"
            if cell:
                number = chapter.cells.index(cell) + 1
                place += f", cell {number} from the top ({cell.source[:60]!r})"
            lines.append(f"{place}: {problem}")
        if lines:
            pytest.fail("\n".join(lines), pytrace=False)

    return test


@rule
def test_is_whole_and_was_run_from_the_top(chapter):
    nbformat.validate(chapter.notebook)
    # Times, an editor's settings, and its kernel would make a diff in each learner's clone.
    if execute.tidy(chapter.notebook) != chapter.notebook:
        problem = "has what an editor added, or folds that aren't as tags say"
        yield None, f"{problem}: {CURE}"
    for number, cell in enumerate(chapter.code, 1):
        kinds = {output.get("name", output.output_type) for output in cell.outputs}
        if kinds & {"error", "stderr"} or cell.execution_count != number:
            problem = "stores an error, a warning, or another run than the rest"
            yield cell, f"{problem}: {CURE}"


@rule
def test_nothing_is_left_of_the_template(chapter):
    name = chapter.path.stem[3:].replace("_", "-")
    template = Chapter(ROOT / "tools" / "chapter.ipynb")
    samples = template.text.replace("NAME", name).split("\n\n")
    # Short ones, such as "Solution", may be the same.
    for paragraph in chapter.text.split("\n\n"):
        if paragraph in samples and len(paragraph.split()) > 5:
            yield None, f"{paragraph[:60]!r} is the template's: write your own"


@rule
def test_code_needs_no_network_hides_nothing_and_says_what_is_folded(chapter):
    for cell in chapter.code:
        for pattern, problem in FORBIDDEN.items():
            if match := re.search(pattern, cell.source):
                yield cell, f"{match[0]} {problem}"
        is_folded = {"hide-input", "solution"} & {*tags(cell)}
        if is_folded and not cell.source.startswith("# "):
            yield cell, "begin it with a comment, which is the line that opens it"


@rule
def test_pictures_have_words_for_who_cannot_see_them(chapter):
    for cell in chapter.code:
        image = cell.metadata.get("mystnb", {}).get("image", {})
        if drawn(cell.outputs) and not image.get("alt"):
            yield cell, "say in its metadata, under mystnb, image.alt, what is seen"


@rule
def test_exercises_have_a_cell_to_answer_in_and_solutions_that_run(chapter):
    texts = [
        cell.source if cell.cell_type == "markdown" else f"tags: {tags(cell)}"
        for cell in chapter.cells
    ]
    parts = PART.finditer("\n".join(texts))
    order = " ".join(part.lastgroup for part in parts)
    if not EXERCISES.fullmatch(order):
        form = 'a cell tagged `answer`, <details class="solution">, code'
        yield None, f"{order}: after each exercise, {form} tagged `solution`"
    for cell in chapter.code:
        is_check = re.search("^def check_", cell.source, re.MULTILINE)
        if is_check and len(cell.metadata.get("wrong_answers", [])) < 2:
            yield cell, "needs two `wrong_answers`: slip, answer, what the check says"


@rule
def test_nothing_needs_a_solution(chapter):
    """A reader who solves an exercise another way can go on: no later cell uses our names."""
    sources = [cell.source for cell in chapter.code]
    for number, cell in enumerate(chapter.code):
        above = [chapter.code[n] for n in needed(sources[:number], cell.source)]
        uses_solution = any("solution" in tags(other) for other in above)
        if uses_solution and "solution" not in tags(cell):
            yield cell, "uses a solution's names: a reader's may differ"


@rule
def test_boxes_judge_what_the_chapter_asserts(chapter):
    judged = {claim for cell in chapter.code for claim in claims(cell)}
    for claim in judged ^ {*CLAIM.findall(chapter.text)}:
        yield None, f"{claim}: name it in a box, and under `claims` of a cell"
    for cell in chapter.code:
        if claims(cell) and not re.search(r"\bassert", cell.source):
            yield cell, "judges a claim, but asserts nothing: add the assertion"


def test_ledger_says_what_cells_assert():
    """Each claim is on one cell, with the verdict of its row."""
    # Pairs are counted: a claim on two cells, or in two rows, is left over on one side.
    rows = Counter((row["id"], row["verdict"]) for row in ledger(ROOT))
    judged = Counter(pair for cell in CODE for pair in claims(cell).items())
    assert list(rows - judged) == [], "book/claims.yml: no cell has it under `claims`"
    assert list(judged - rows) == [], "of a cell: book/claims.yml has no such row, once"


def test_toc_and_list_of_all_pages_have_all_in_order():
    toc, every, first = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("_toc.yml", "book/all_pages.md", "index.md")
    )
    chapters = [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    listed = re.findall(r"file: (notebooks/\w+)", toc)
    assert listed == chapters, "_toc.yml: list them in order"
    rows = re.findall(r"^- \[.*?\]\(../(notebooks/\w+)", every, re.MULTILINE)
    assert rows == chapters, "book/all_pages.md needs each chapter, in order"
    pages = {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")}
    unlisted = pages - {*re.findall(r"file: (book/\w+)", toc)}
    assert unlisted == set(), "_toc.yml: list them, or nobody gets there"
    linked = {*re.findall(r"\((notebooks/\w+)", first)}
    assert {*chapters} <= linked, "index.md needs each chapter"


def test_the_book_is_cited_as_its_citation_file_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = (ROOT / "book" / "all_pages.md").read_text(encoding="utf-8")
    for name in (cited["authors"][0]["name"], cited["title"], cited["version"]):
        assert f"{{{name}}}" in text, "its BibTeX entry differs from CITATION.cff"
