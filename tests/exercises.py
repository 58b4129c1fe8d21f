"""The exercises of a chapter, for the tests that answer one as a reader would."""

import re
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def code_cells(chapter):
    cells = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells
    code = (cell for cell in cells if cell.cell_type == "code")
    return [cell for cell in code if "remove-input" not in cell.metadata.get("tags", [])]


def exercises(chapter):
    """Each check: its name, the number of its cell, its wrong answers, and the book's solution."""
    code = code_cells(chapter)
    for number, cell in enumerate(code):
        for check in re.findall(r"^def (check_\w+)", cell.source, re.MULTILINE):
            solution = next(c.source for c in code[number + 1 :] if f"{check}(" in c.source)
            yield check, number, cell.metadata.wrong_answers, solution
