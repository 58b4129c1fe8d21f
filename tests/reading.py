"""The book's files, as tests read and run them."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def rows(table):
    """Split lines such as "a file → what is read", which may end before the arrow."""
    lines = table.strip().replace("\n    →", " →").splitlines()
    return [line.split(" → ") for line in lines]


def python(*arguments, **options):
    """Run Python in the book's folder, and return what it wrote, and how it ended."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


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


def tags(cell):
    return cell.metadata.get("tags", [])


def described(cell):
    """What a cell says of its picture, for those who can't see it."""
    return cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")


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
