"""What every chapter holds, so that a reader can run it, read it anywhere, and trust it."""

import re
from collections import Counter
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import execute
import nbformat
import pytest
import yaml
from slices import needed
from sphinx_posenc.claims import CLAIM, ledger, nearest
from sphinx_posenc.myst_markup import CAPTION, EXERCISE, draws

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# The page before chapter 1 isn't a chapter: no numbers, no exercises.
CHAPTERS = [path for path in NOTEBOOKS if not path.stem.startswith("00_")]
CURE = "run `make notebooks NOTEBOOKS=…`, which executes and stores it"
DOCUMENTS = re.compile(
    r'^<details class="documents"><summary>.*?</summary>\n(.*?)^</details>$',
    re.MULTILINE | re.DOTALL,
)
ENDING = "## Summary", "## Exercises", "## What comes next"
# One exercise or more; a solution may have several cells of code.
EXERCISES = re.compile("(exercise answer solution( code)+ ?)+")
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
        # Pairs: in a dict, a claim on two cells would be there once.
        self.claims = [
            (claim, (verdict, cell))
            for cell in self.code
            for claim, verdict in cell.metadata.get("claims", {}).items()
        ]


read = cache(Chapter)
JUDGED = [pair for path in NOTEBOOKS for pair in read(path).claims]
CLAIMS = dict(JUDGED)  # the verdict and the cell of each claim


def rule(find, paths=NOTEBOOKS):
    """Make a per-notebook test of a function that yields problems: a cell or None, and words."""

    @pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)
    def test(path):
        chapter = read(path)
        lines = []
        for wrong, problem in find(chapter):
            place = f"notebooks/{path.name}"
            for number, cell in enumerate(chapter.cells, 1):
                if cell is wrong:
                    line = cell.source.partition("\n")[0][:60]
                    place += f", cell {number} from the top ({line})"
            lines.append(f"{place}: {problem}")
        if lines:
            pytest.fail("\n".join(lines), pytrace=False)

    return test


chapter_rule = partial(rule, paths=CHAPTERS)


def tags(cell):
    return cell.metadata.get("tags", [])


@rule
def test_is_whole_and_was_run_from_the_top(chapter):
    nbformat.validate(chapter.notebook)
    if execute.tidy(chapter.notebook) != chapter.notebook:
        problem = "has what an editor added, or folds that aren't as tags say"
        yield None, f"{problem}: {CURE}"
    for number, cell in enumerate(chapter.code, 1):
        kinds = {output.get("name", output.output_type) for output in cell.outputs}
        if kinds & {"error", "stderr"} or cell.execution_count != number:
            problem = "stores an error, a warning, or another run than the rest"
            yield cell, f"{problem}: {CURE}"


@chapter_rule
def test_ends_with_a_summary_exercises_and_what_comes_next(chapter):
    if len(re.findall("^# ", chapter.text, re.MULTILINE)) != 1:
        yield None, "needs one title, the heading of the first level"
    if tuple(re.findall("^## .*", chapter.text, re.MULTILINE)[-3:]) != ENDING:
        yield None, f"needs {', '.join(ENDING)}, in this order, last"


@chapter_rule
def test_nothing_is_left_of_the_template(chapter):
    name = chapter.path.stem[3:].replace("_", "-")
    template = Chapter(ROOT / "tools" / "chapter.ipynb")
    samples = template.text.replace("NAME", name).split("\n\n")
    for paragraph in chapter.text.split("\n\n"):
        if paragraph in samples and len(paragraph.split()) > 5:
            yield None, f"{paragraph[:60]!r} is the template's: write your own"


@rule
def test_needs_no_network_and_hides_nothing(chapter):
    for cell in chapter.code:
        for pattern, problem in FORBIDDEN.items():
            if match := re.search(pattern, cell.source):
                yield cell, f"{match[0]} {problem}"


@chapter_rule
def test_figures_have_caption_alt_text_and_a_mention(chapter):
    before = ""
    for cell, below in pairwise(chapter.cells):
        if cell.cell_type == "markdown":
            before += cell.source
        elif draws(cell):
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            caption = CAPTION.fullmatch(below["source"])
            if not caption:
                form = '<a id="fig-name"></a>**Figure ?.** What it shows'
                yield cell, f"no caption in the cell below it: {form}"
            elif f"](#{caption['name']})" not in before:
                yield cell, f"refer to {caption['name']} in the text above it"
            if " " not in alt or (caption and alt == caption["text"]):
                problem = "no alt text that says what a sighted reader sees"
                yield cell, f"{problem}: add to its metadata, under mystnb, image.alt"


def parts_of_exercises(cell):
    """Yield which parts of exercises a cell has: exercise, answer, solution, code."""
    if cell.cell_type == "markdown":
        # Both may be in one cell; only the pattern of an exercise has the group `name`.
        opening = rf'{EXERCISE.pattern}|^<details class="solution">'
        for match in re.finditer(opening, cell.source, re.MULTILINE):
            yield "exercise" if match["name"] else "solution"
    elif "answer" in tags(cell):
        yield "answer"
    elif "solution" in tags(cell):
        yield "code"


@chapter_rule
def test_exercises_have_a_cell_to_answer_in_and_solutions_that_run(chapter):
    for cell in chapter.code:
        few = len(cell.metadata.get("wrong_answers", [])) < 2
        if few and re.search("^def check_", cell.source, re.MULTILINE):
            yield cell, "needs two `wrong_answers`: slip, answer, what the check says"
    order = " ".join(
        part for cell in chapter.cells for part in parts_of_exercises(cell)
    )
    if not EXERCISES.fullmatch(order):
        form = 'a cell tagged `answer`, <details class="solution">, code'
        yield None, f"{order}: after each exercise, {form} tagged `solution`"


@rule
def test_nothing_needs_a_solution(chapter):
    """A reader who solves an exercise another way can go on: no later cell uses our names."""
    sources = [cell.source for cell in chapter.code]
    for number, cell in enumerate(chapter.code):
        above = [chapter.code[n] for n in needed(sources[:number], cell.source)]
        uses_solution = any("solution" in tags(other) for other in above)
        if uses_solution and "solution" not in tags(cell):
            yield cell, "uses a solution's names: a reader's may differ"


@chapter_rule
def test_folded_code_says_what_it_does(chapter):
    for cell in chapter.code:
        folded = {"hide-input", "solution"} & {*tags(cell)}
        if folded and not re.match(r"# \S.*\n.", cell.source):
            yield cell, "begin it with a comment that says what it does"


@rule
def test_boxes_judge_what_the_chapter_asserts(chapter):
    """Each claim's id is in one box and on one cell of the same chapter, and nowhere else."""
    named = re.compile(rf"`({CLAIM.pattern})`").findall
    judged = Counter(named("".join(DOCUMENTS.findall(chapter.text))))
    on_cells = Counter(claim for claim, _ in chapter.claims)
    if judged != Counter(named(chapter.text)) or judged != on_cells:
        odd = {*named(chapter.text)} ^ on_cells.keys() or judged | on_cells
        yield None, f"{odd}: each once in a box, and once under `claims` of a cell"
    for cell in chapter.code:
        if "claims" in cell.metadata and not re.search(r"\bassert", cell.source):
            yield cell, "judges a claim, but asserts nothing: add the assertion"


def test_no_claim_is_on_two_cells():
    counts = Counter(claim for claim, _ in JUDGED)
    assert [claim for claim in counts if counts[claim] > 1] == []


def test_ledger_says_what_cells_assert():
    rows = {row["id"]: row["verdict"] for row in ledger(ROOT)}
    alone = [nearest(claim, CLAIMS) for claim in rows.keys() - CLAIMS]
    assert alone == [], "rows of book/claims.yml that no cell has under `claims`"
    alone = [nearest(claim, rows) for claim in CLAIMS.keys() - rows]
    assert alone == [], "claims of cells without a row of book/claims.yml"
    turned = [claim for claim in rows if rows[claim] != CLAIMS[claim][0]]
    assert turned == [], "the verdict in book/claims.yml isn't that on the cell"


def test_toc_and_list_of_all_pages_have_all_in_order():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    chapters = [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    in_order = [name for name in listed if "notebooks/" in name]
    assert in_order == chapters, "_toc.yml: list them in order"
    pages = {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")}
    assert {*listed} - {*chapters} == pages, "list the pages of book/ in _toc.yml"
    text = (ROOT / "book" / "all_pages.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[.*?\]\(../notebooks/(\w+)\.ipynb\)", text, re.M)
    expected = [(str(number), path.stem) for number, path in enumerate(NOTEBOOKS)]
    assert rows == expected, "book/all_pages.md needs a row for each chapter, in order"
    assert "what it shows, in one sentence" not in text
    assert "[What it is about]" not in (ROOT / "index.md").read_text(encoding="utf-8")


def test_the_book_is_cited_as_its_citation_file_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = (ROOT / "book" / "all_pages.md").read_text(encoding="utf-8")
    for name in (cited["authors"][0]["name"], cited["title"], cited["version"]):
        assert f"{{{name}}}" in text, "its BibTeX entry differs from CITATION.cff"
