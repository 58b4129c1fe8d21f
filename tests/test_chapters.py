"""A chapter is begun, moved and removed, and leaves no trace."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A repository with what is here now, so that git says what changed."""
    there = tmp_path_factory.mktemp("book")
    names = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    ).splitlines()
    for name in names:
        if Path(name).parts[:2] != ("book", "python") and (ROOT / name).exists():
            (there / name).parent.mkdir(parents=True, exist_ok=True)
            (there / name).write_bytes((ROOT / name).read_bytes())
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm all"):
        subprocess.check_call(["git", *command.split()], cwd=there)
    return there


def run(copy, *command):
    """Run the tool there; return its exit code, what it said, and the files that git lists."""
    tool = [sys.executable, copy / "tools" / "chapters.py", *command]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    status = subprocess.check_output(["git", "status", "--short", "-uall"], cwd=copy, text=True)
    return done.returncode, done.stdout + done.stderr, status.splitlines()


def test_a_chapter_is_begun_moved_and_removed_without_a_trace(copy):
    last = max(path.stem for path in (copy / "notebooks").glob("[0-9]*.ipynb"))
    number = int(last[:2]) + 1
    code, said, changed = run(copy, "new", "relative_bias")
    assert code == 0, said
    assert {line[3:] for line in changed} == {
        "_toc.yml",
        "index.md",
        f"notebooks/{number}_relative_bias.ipynb",
    }
    code, said, _ = run(copy, "move", f"notebooks/{number}_relative_bias.ipynb", "16")
    assert code == 0, said
    assert f"{last} is now {number}{last[2:]}" in said
    for name in ("_toc.yml", "index.md"):
        listed = re.findall(
            r"^\W+(?:file|\d+ ).*?notebooks/(\d\d)", (copy / name).read_text("utf-8"), re.M
        )
        assert listed == sorted(listed), f"{name} lists chapters out of order: fix `relist`"
    moved = (copy / "_config.yml").read_text("utf-8")
    assert f'"notebooks/{last}": "notebooks/{number}{last[2:]}"' in moved
    code, said, changed = run(copy, "remove", "notebooks/16_relative_bias.ipynb")
    assert (code, changed) == (0, []), said
    assert "_build/removed/16_relative_bias.ipynb keeps it" in said


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("remove", "notebooks/03_linearity.ipynb"), "Pages that link to 03_linearity: "),
        (("remove", "notebooks/99_none.ipynb"), "There is no chapter notebooks/99_none"),
        (("move", "notebooks/00_in_ten_minutes.ipynb", "3"), "is the page before chapter 1"),
        (("move", "notebooks/03_linearity.ipynb", "99"), "From 1 to "),
        (("new", "Relative"), "NAME needs lowercase letters"),
    ],
)
def test_what_would_break_the_book_is_refused(copy, command, message):
    code, said, changed = run(copy, *command)
    assert (code, changed) == (1, [])
    assert message in said
