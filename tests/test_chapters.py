"""A chapter is begun from a template that runs, and listed last."""

import json
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tool(tmp_path):
    """The tool in a folder with what it reads and writes."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "book").mkdir()
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    listings = ("_toc.yml", "index.md", "book/all_pages.md")
    for name in (*listings, "tools/chapter.ipynb", "tools/chapters.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return SimpleNamespace(**runpy.run_path(tmp_path / "tools" / "chapters.py"))


def test_a_chapter_is_begun_and_listed_last(tool):
    number = len(tool.chapters()) + 1
    last = f"notebooks/{number - 1:02}_"
    tool.new("of_a_test")
    added = f"notebooks/{number:02}_of_a_test"
    assert (tool.ROOT / f"{added}.ipynb").exists()
    for name in ("_toc.yml", "index.md", "book/all_pages.md"):
        before, _, _ = (tool.ROOT / name).read_text("utf-8").partition(added)
        assert last in before.splitlines()[-2], f"{name}: not below the last chapter"


@pytest.mark.parametrize("name", ["Relative", "linearity", ""])
def test_a_name_that_would_break_the_book_is_refused(tool, name):
    with pytest.raises(SystemExit, match=r"NAME needs|has that name"):
        tool.new(name)


def test_the_template_runs():
    template = json.loads((ROOT / "tools" / "chapter.ipynb").read_text("utf-8"))
    scope = {}
    for cell in template["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), scope)
