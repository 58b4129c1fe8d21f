"""The book's own rules."""

import ast
import itertools
import re
from collections import Counter
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from sphinx_posenc.claims import CLAIM, ledger, nearest
from sphinx_posenc.myst_markup import CAPTION, EXERCISE
from sphinx_posenc.slices import bound_and_read, needing_torch

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# The page before chapter 1 isn't a chapter: it and its pictures have no numbers, and it has no
# frame, no exercises and no folds.
CHAPTERS = [path for path in NOTEBOOKS if not path.stem.startswith("00_")]
# What the outline of a chapter must hold: its headings, pictures and the folded line "Before you
# start", which the build completes with minutes and what runs in the page.
FRAME = {
    r"\A# [^\n]*\n(?!.*^# )": "needs one heading of the first level, its title, at the top",
    "^## Summary$.*^## Exercises$.*^## What comes next$": "needs the sections Summary, Exercises, "
    "and What comes next, in this order",
    r"^## What you'll do$|\A[^\n]*\n((?!##).)*^picture$((?!##).)*^<details": "needs its question "
    "and a picture above “Before you start”, of the class “opening”",
}
CURE = "run `make notebooks NOTEBOOKS=…`, which executes and stores it"
# What code must not hold: a pattern, and what is wrong with it.
FORBIDDEN = {
    r"""["'](/|~|[A-Z]:\\)\w""": "is an absolute path: chapters must run anywhere",
    r"\b(urllib|requests|httpx|socket|urlopen|wget|curl)\b|https?://": "uses a network",
    r"fetch_|load_dataset|from_pretrained|hub\.load|pip install": "downloads something",
    r"filterwarnings|simplefilter|catch_warnings|np\.seterr|PYTHONWARNINGS": "hides warnings",
    r"assert \w+\.allclose\([^#\n]*tol=(0?\.[1-9]|[1-9]e-1\b|[1-9](?![\d.]*e-))": "is too loose",
    r"(?m)^\s*assert \w+$": "holds for nearly anything: compare it with what it must be",
}


class Chapter:
    """A notebook, as rules need it."""

    def __init__(self, path):
        self.path = path
        self.notebook = nbformat.read(path, as_version=4)
        self.cells = self.notebook.cells
        self.code = [cell for cell in self.cells if cell.cell_type == "code"]
        self.text = "\n\n".join(
            c.source for c in self.cells if c.cell_type == "markdown"
        )

    def where(self, cell):
        """File and cell, by the number that JupyterLab shows after a run from the top."""
        if cell is None:
            return f"notebooks/{self.path.name}"
        before = self.cells[: self.cells.index(cell)]
        number = f"[{sum(c.cell_type == 'code' for c in before) + 1}]"
        place = (
            f"cell {number}"
            if cell.cell_type == "code"
            else f"the text above cell {number}"
        )
        return f"notebooks/{self.path.name}, {place} ({cell.source.partition(chr(10))[0][:60]})"


def rule(find, paths=NOTEBOOKS):
    """Make a per-notebook test of a function that yields problems: a cell or None, and words."""

    @pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)
    def test(path):
        chapter = Chapter(path)
        found = [f"{chapter.where(cell)}: {problem}" for cell, problem in find(chapter)]
        if found:
            pytest.fail("\n".join(found), pytrace=False)

    return test


chapter_rule = partial(rule, paths=CHAPTERS)


def tags(cell):
    return cell.metadata.get("tags", [])


def claims(cells):
    return Counter(tag for cell in cells for tag in tags(cell) if CLAIM.fullmatch(tag))


def images(cell):
    return [
        o
        for o in cell.get("outputs", [])
        if any("image/" in k for k in o.get("data", {}))
    ]


@rule
def test_is_whole_and_was_run_from_the_top(chapter):
    nbformat.validate(chapter.notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    if chapter.notebook.metadata != {"kernelspec": kernel}:
        yield None, f"has metadata of the editor that saved it: {CURE}"
    for number, cell in enumerate(chapter.code, 1):
        failed = any(
            o.output_type == "error" or o.get("name") == "stderr" for o in cell.outputs
        )
        if failed or cell.execution_count != number:
            yield (
                cell,
                f"stores an error or a warning, or is of another run than the rest: {CURE}",
            )


def outline(cell):
    opening = r'^<details class="opening"><summary>Before you start</summary>$'
    parts = re.findall(rf"^#+ .+$|{opening}", cell.source, re.MULTILINE)
    return parts if cell.cell_type == "markdown" else ["picture"] * bool(images(cell))


@chapter_rule
def test_has_the_frame_of_a_chapter(chapter):
    parts = "\n".join(part for cell in chapter.cells for part in outline(cell))
    for pattern, problem in FRAME.items():
        if not re.search(pattern, parts, re.MULTILINE | re.DOTALL):
            yield None, problem


@rule
def test_code_is_short(chapter):
    lengths = [
        len(re.findall(r"^(?!import |from )", c.source, re.M)) for c in chapter.code
    ]
    if np.median(lengths) > 9:
        yield None, f"its median cell has {np.median(lengths):.0f} lines: at most 9"
    for cell, length in zip(chapter.code, lengths, strict=True):
        if length > 20:
            yield (
                cell,
                f"{length} lines of code: split it into cells of at most 20, usually 3",
            )


@rule
def test_needs_no_network_and_hides_nothing(chapter):
    for cell in chapter.code:
        for pattern, problem in FORBIDDEN.items():
            if found := re.search(pattern, cell.source):
                yield cell, f"{found[0]} {problem}"


@rule
def test_no_time_is_asserted(chapter):
    """Neither one that a cell measures, nor what it computes from one."""
    timed = {"time", "timeit"}
    for cell in chapter.code:
        for node in ast.parse(cell.source).body:
            bound, read = bound_and_read(node)
            if timed & read and isinstance(node, ast.Assert):
                yield (
                    cell,
                    "asserts a time, which differs from run to run: print it, or count",
                )
            elif not isinstance(node, ast.Import):
                timed = timed | bound if timed & read else timed - bound


@chapter_rule
def test_figures_have_caption_alt_text_and_a_mention(chapter):
    before, cells = "", chapter.cells
    for cell, below in itertools.zip_longest(
        cells, cells[1:], fillvalue={"source": ""}
    ):
        if cell.cell_type == "markdown":
            before += cell.source
        elif images(cell) or "mystnb" in cell.metadata:
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            caption = CAPTION.fullmatch(below["source"])
            name, text = caption.group("name", "text") if caption else ("", "")
            if len(images(cell)) != 1:
                yield (
                    cell,
                    f"{len(images(cell))} pictures, but the metadata of one: draw one",
                )
            if len(text) <= 30:
                form = '<a id="fig-name"></a>**Figure ?.** What it shows'
                yield (
                    cell,
                    f"no caption of more than 30 characters in the cell below it: {form}",
                )
            if len(alt) <= 40 or alt == text:
                problem = "no alt text of more than 40 characters, on what a sighted reader sees"
                yield (
                    cell,
                    f"{problem}: add to the cell's metadata, under mystnb, image.alt",
                )
            if name and f"](#{name})" not in before:
                yield (
                    cell,
                    f"{name} is not mentioned before it is shown: refer to it in the text",
                )


@chapter_rule
def test_exercises_have_solutions_that_run(chapter):
    """Each exercise has a cell for the answer, a folded solution, and code that runs, in order."""
    parts = []
    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            form = rf'{EXERCISE.pattern}|^<details class="solution">'
            for part in re.finditer(form, cell.source, re.MULTILINE):
                parts.append("exercise" if part["name"] else "solution")
        else:
            parts += [
                {"answer": "answer", "solution": "code"}.get(tag) for tag in tags(cell)
            ]
            few = len(cell.metadata.get("wrong_answers", [])) < 2
            if few and re.search("^def check_", cell.source, re.MULTILINE):
                yield (
                    cell,
                    "its metadata needs two `wrong_answers`: slip, answer, what check says",
                )
    order = " ".join(filter(None, parts))
    if not re.fullmatch(r"(exercise answer solution( code)+ ?)+", order):
        yield (
            None,
            f"{order}: after each exercise, in this order, a cell tagged `answer`, "
            '<details class="solution">, and its code, tagged `solution`',
        )


@rule
def test_nothing_needs_a_solution(chapter):
    """A reader who solves an exercise another way can go on: no later cell uses our names."""
    sources = [cell.source for cell in chapter.code]
    ours = [n for n, cell in enumerate(chapter.code) if "solution" in tags(cell)]
    free, needy = needing_torch(sources), needing_torch(sources, ours)
    for number, (before, now) in enumerate(zip(free, needy, strict=True)):
        if now and not before and number not in ours:
            yield chapter.code[number], "uses a solution's names: a reader's may differ"


@chapter_rule
def test_folded_code_says_what_it_does(chapter):
    """Its first line is a comment, and the site and JupyterLab fold the same cells."""
    for cell in chapter.code:
        hidden, solves = cell.metadata.get("jupyter", {}), "solution" in tags(cell)
        collapsed = hidden.get("source_hidden", False)
        if collapsed != (solves or "hide-input" in tags(cell)):
            yield (
                cell,
                "folded in one viewer alone: hide-input or solution, and source_hidden",
            )
        if solves and cell.metadata.get("cellView") != "form":
            yield cell, 'Colab shows the solution: add "cellView": "form"'
        if collapsed and not re.match(r"# \S.*\n.", cell.source):
            yield cell, "folded: begin it with a comment that says what it does"
        shown = cell.outputs and not hidden.get("outputs_hidden")
        if solves and (shown or not cell.source.startswith("# Solution\n")):
            problem = "JupyterLab shows part of the solution before it is opened"
            yield cell, f'{problem}: begin it with "# Solution", with outputs_hidden'


@rule
def test_boxes_judge_what_the_chapter_asserts(chapter):
    """Each claim's id is in one box and on one cell of the same chapter, and nowhere else."""
    box = r'^<details class="documents"><summary>.*?</summary>\n(.*?)^</details>$'
    boxes = re.findall(box, chapter.text, re.MULTILINE | re.DOTALL)
    named = re.compile(rf"`({CLAIM.pattern})`").findall
    judged, mentioned = Counter(named("".join(boxes))), Counter(named(chapter.text))
    asserted = claims(chapter.code)
    for claim in asserted | mentioned:
        counts = judged[claim], asserted[claim], mentioned[claim]
        if counts != (1, 1, 1):
            places = (
                "is in {} boxes, on {} cells, and named {} times: once each, in the box"
            )
            yield None, f"{claim} {places.format(*counts)}"
    for cell in chapter.code:
        if claims([cell]) and not re.search(r"\bassert(_|\b)", cell.source):
            yield cell, "is tagged with a claim, but asserts nothing: add the assertion"


def test_ledger_and_chapters_agree():
    rows = Counter(row["id"] for row in ledger(ROOT))
    tagged = claims(cell for path in NOTEBOOKS for cell in Chapter(path).code)
    alone = [nearest(claim, tagged) for claim in rows - tagged]
    assert alone == [], "rows of book/claims.yml without a cell, or duplicate: tag one"
    alone = [nearest(claim, rows) for claim in tagged - rows]
    assert alone == [], "tags of cells without a row of book/claims.yml, or duplicate"


def test_toc_and_list_of_all_pages_have_all_in_order():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    there = [f"notebooks/{path.stem}" for path in NOTEBOOKS]
    assert [name for name in listed if "notebooks/" in name] == there, (
        "_toc.yml: list in order"
    )
    pages = {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")}
    assert {*listed} - {*there} == pages, "list the pages of book/ in _toc.yml"
    odd = [
        name for name in there if not re.fullmatch(r"notebooks/\d\d_[a-z0-9_]+", name)
    ]
    assert odd == [], "name chapters NN_name.ipynb, in lower case"
    text = (ROOT / "book" / "all_pages.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[.*?\]\(../notebooks/(\w+)\.ipynb\)", text, re.M)
    expected = [(str(number), path.stem) for number, path in enumerate(NOTEBOOKS)]
    assert rows == expected, "book/all_pages.md needs a row for each chapter, in order"
    others = {f"book/{name}" for name in re.findall(r"\((\w+)\.md\)", text)}
    assert others == pages - {"book/all_pages"}, "book/all_pages.md: list all pages"


def test_the_package_is_published_after_its_tests():
    flow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert {*yaml.safe_load(flow)["jobs"]["publish"]["needs"]} >= {"validate", "build"}


def test_the_book_is_cited_as_its_citation_file_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    given = cited["authors"][0]["name"], cited["title"], str(cited["date-released"])[:4]
    text = (ROOT / "book" / "all_pages.md").read_text(encoding="utf-8")
    missing = [each for each in (*given, cited["version"]) if f"{{{each}}}" not in text]
    assert missing == [], (
        "the BibTeX entry in book/all_pages.md: take these from CITATION.cff"
    )
