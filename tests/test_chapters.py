"""A chapter is begun from a template that runs, and listed last."""

import json
import shutil
from pathlib import Path

import chapters
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with what the tool reads and writes."""
    for name in ("_toc.yml", "index.md", "book/all_pages.md", "tools/chapter.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    return tmp_path


def test_a_chapter_is_begun_and_listed_last(root):
    number = len(chapters.chapters()) + 1
    chapters.new("of_a_test")
    added = f"notebooks/{number:02}_of_a_test"
    assert (root / f"{added}.ipynb").exists()
    for name in ("_toc.yml", "index.md", "book/all_pages.md"):
        before, _, _ = (root / name).read_text("utf-8").partition(added)
        assert f"notebooks/{number - 1:02}_" in before.splitlines()[-2], name


@pytest.mark.parametrize("name", ["Relative", "linearity", ""])
def test_a_name_that_would_break_the_book_is_refused(root, name):
    with pytest.raises(SystemExit, match=r"NAME needs|has that name"):
        chapters.new(name)


def test_the_template_runs():
    template = json.loads((ROOT / "tools" / "chapter.ipynb").read_text("utf-8"))
    scope = {}
    for cell in template["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), scope)
