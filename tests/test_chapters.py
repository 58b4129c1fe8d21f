"""A chapter is begun, moved and removed, and leaves no trace."""

import re
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


def git(folder, *command):
    return subprocess.check_output(
        ["git", *command], cwd=folder, text=True
    ).splitlines()


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    """The tool in a repository with what is here now, so that git says what changed."""
    there = tmp_path_factory.mktemp("book")
    for name in git(ROOT, "ls-files", "-co", "--exclude-standard"):
        if Path(name).parts[:2] != ("book", "python") and (ROOT / name).exists():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            (there / name).write_bytes((ROOT / name).read_bytes())
    for command in (
        "init -q",
        "add -A",
        "-c user.name=a -c user.email=a@b.c commit -qm all",
    ):
        git(there, *command.split())
    return SimpleNamespace(**runpy.run_path(there / "tools" / "chapters.py"))


def changed(tool):
    """The files that git says are changed, if chapters are listed in order."""
    for path in tool.LISTS:
        row = r"^\W+(?:file|\d+ ).*?notebooks/(\d\d)"
        listed = re.findall(row, path.read_text("utf-8"), re.M)
        assert listed == sorted(listed), (
            f"{path} lists chapters out of order: fix `relist`"
        )
    return {line[3:] for line in git(tool.ROOT, "status", "--short", "-uall")}


def test_a_chapter_is_begun_moved_and_removed_without_a_trace(tool, capsys):
    number = int((last := tool.stems()[-1])[:2]) + 1
    added = f"notebooks/{number}_of_a_test.ipynb"
    (tool.ROOT / ".coverage.md").write_text(
        "[](16_of_a_test.ipynb)"
    )  # as a built page: ignored
    tool.new("of_a_test")
    assert changed(tool) == {"_toc.yml", "index.md", added}
    tool.move(added, "16")
    assert f"{last} is now {number}{last[2:]}" in capsys.readouterr().out
    assert {added, "tests/searches.txt"} & changed(tool) == {"tests/searches.txt"}
    moved = (tool.ROOT / "_config.yml").read_text("utf-8")
    assert f'"notebooks/{last}": "notebooks/{number}{last[2:]}"' in moved
    tool.remove("notebooks/16_of_a_test.ipynb")
    assert changed(tool) == set()
    assert "_build/removed/16_of_a_test.ipynb keeps it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("remove notebooks/03_linearity.ipynb", "Pages link to 03_linearity: "),
        ("remove notebooks/99_none.ipynb", "There is no chapter notebooks/99_none"),
        ("move notebooks/00_in_ten_minutes.ipynb 3", "is the page before chapter 1"),
        ("move notebooks/03_linearity.ipynb 99", "From 1 to "),
        ("new Relative", "NAME needs lowercase letters"),
    ],
)
def test_what_would_break_the_book_is_refused(tool, command, message):
    name, *given = command.split()
    with pytest.raises(SystemExit, match=message):
        getattr(tool, name)(*given)
    assert changed(tool) == set()
