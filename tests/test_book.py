"""What every chapter holds, so that a reader can run it, read it anywhere, and trust it."""

import re

import execute
import nbformat
import yaml
from pictures import drawn, is_comparable
from reading import ROOT, described, rule, tags, text_of
from references import Book, stale
from slices import needed

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
    for cell in chapter.cells:
        if "FILL IN" in cell.source + described(cell):
            yield cell, "is the template's: write your own"


@rule
def test_folded_code_says_what_it_does(chapter):
    for cell in chapter.code:
        is_folded = {"hide-input", "solution"} & {*tags(cell)}
        if is_folded and not cell.source.startswith("# "):
            yield cell, "begin it with a comment, which is the line that opens it"


@rule
def test_pictures_can_be_compared_and_have_words_for_who_cannot_see_them(chapter):
    for cell in chapter.code:
        pictures = drawn(cell.outputs)
        if not all(map(is_comparable, pictures)):
            yield cell, f"another matplotlib drew it, so nothing compares it: {CURE}"
        if pictures and not described(cell):
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


def test_the_book_is_cited_as_its_citation_file_says():
    cited = yaml.safe_load(text_of("CITATION.cff"))
    entry = text_of("book/all_pages.md")
    for name in (cited["authors"][0]["name"], cited["title"], cited["version"]):
        assert f"{{{name}}}" in entry, "its BibTeX entry differs from CITATION.cff"


def test_numbers_and_titles_in_links_are_up_to_date():
    book = Book(ROOT)
    wrong = [path.name for path, _ in stale(book, book.titles)]
    assert wrong == [], "run make references"
