"""A chapter is begun from a template that runs, and listed last."""

import re
import shutil
from pathlib import Path

import chapters
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
LISTS = "_toc.yml", "index.md", "book/all_pages.md"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with what the tool reads and writes."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    for name in (*LISTS, "tools/chapter.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    return tmp_path


def test_a_chapter_is_begun_from_a_template_that_runs_and_listed_last(root):
    last = chapters.chapters()[-1]
    chapters.new("of_a_test")
    added = chapters.chapters()[-1]
    for name in LISTS:
        text = (root / name).read_text(encoding="utf-8")
        listed = re.findall(r"notebooks/(\w+)", text)
        assert listed[-2:] == [last, added], name
    scope = {}
    for cell in nbformat.read(root / f"notebooks/{added}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, scope)


@pytest.mark.parametrize("name", ["Relative", "linearity", ""])
def test_a_name_that_would_break_the_book_is_refused(root, name):
    with pytest.raises(SystemExit, match=r"NAME needs|has that name"):
        chapters.new(name)
