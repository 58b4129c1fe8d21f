"""The template of `make new` runs as it is."""

from pathlib import Path

import nbformat

TEMPLATE = Path(__file__).parents[1] / "tools" / "chapter.ipynb"


def test_a_chapter_begins_with_a_template_that_runs():
    scope = {}
    for cell in nbformat.read(TEMPLATE, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, scope)
