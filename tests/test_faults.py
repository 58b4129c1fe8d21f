"""What breaks, and what happens: each trial breaks a copy of the book with one short chapter.

Run by `make faults`. The copy lies in a path with spaces and letters beyond ASCII, and takes the
tools from the environment that runs the tests.
"""

import importlib.util
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

pytestmark = pytest.mark.faults
ROOT = Path(__file__).parents[1]
PARTS = ["Makefile", "_config.yml", "pyproject.toml", "requirements.txt", "README.md", "LICENSE"]
PARTS += ["tools", "index.md", "src", "book", "tests/nbval.cfg", "tests/test_book.py"]
MAKE = ["make", "--old-file=.venv", f"BIN={shlex.quote(str(Path(sys.executable).parent))}"]
CHAPTER = "notebooks/01_short.ipynb"
TOC = """format: jb-book
root: index
parts:
  - caption: All
    chapters:
      - file: notebooks/01_short
      - file: book/glossary
"""
PAGES = {
    "index": "# A short book\n\nWith one chapter.\n",
    "book/glossary": "# Glossary\n\n:::{glossary}\nnothing\n  Nothing.\n:::\n",
}


def write_chapter(tree, *sources, output="4\n", name=CHAPTER):
    """A notebook with the cells given, and a first one that stores `output` for 2 + 2."""
    first = new_code_cell("print(2 + 2)", execution_count=1)
    first.outputs = [new_output("stream", name="stdout", text=output)]
    cells = [new_code_cell(source, execution_count=2) for source in sources]
    notebook = new_notebook(cells=[new_markdown_cell("# A short chapter"), first, *cells])
    notebook.metadata.kernelspec = {"display_name": "", "language": "python", "name": "python3"}
    nbformat.write(notebook, tree / name)


@pytest.fixture
def tree(tmp_path):
    """A copy of the book with a landing page and one chapter."""
    tree = tmp_path / "Bücher und mehr"
    for part in PARTS:
        source, target = ROOT / part, tree / part
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target)
    (tree / "notebooks" / "data").mkdir(parents=True)
    for page in (tree / "book").glob("*.md"):
        page.unlink()
    for name, text in PAGES.items():
        (tree / f"{name}.md").write_text(text)
    (tree / "_toc.yml").write_text(TOC)
    write_chapter(tree)
    return tree


def start(tree, *command, under=(), **variables):
    """Start a command in a process group of its own; its output is a pipe."""
    left_out = ("MAKE", "MFLAGS", "COV", "PYTEST", "JUPYTER")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    return subprocess.Popen(
        [*under, *command],
        cwd=tree,
        env=kept | {"PYTHONPATH": str(tree / "src"), "MPLBACKEND": "agg"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def make(tree, *targets, **options):
    """Run make with the tools of this environment: exit status and output."""
    return finish(start(tree, *MAKE, *targets, **options))


def check(tree, *what, **options):
    """Run pytest on a part of the book: exit status and output."""
    return finish(start(tree, sys.executable, "-m", "pytest", *what, **options))


def finish(process):
    output = process.communicate(timeout=300)[0]
    return process.returncode, output


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def first_page(tree):
    return tree / "_build" / "html" / "index.html"


def builds(tree):
    """The book builds, and its chapter is on its page."""
    status, output = make(tree, "book")
    assert status == 0, output
    assert first_page(tree).exists()
    page = tree / "_build" / "html" / "notebooks" / "01_short.html"
    return page.read_text(encoding="utf-8").replace("<pre><span></span>", "<pre>")


def fails(tree, *words, target="book", **options):
    """It exits non-zero, says the words, and leaves no site that looks whole."""
    status, output = make(tree, target, **options)
    assert status != 0, output
    assert not first_page(tree).exists(), output
    for word in words:
        assert word in output, output


def set_config(tree, old, new):
    path = tree / "_config.yml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def namespace(*what):
    """A command that runs another in namespaces of its own, where the machine allows it."""
    command = ["unshare", "--user", "--map-root-user", *what]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no namespaces here: needs Linux and leave to unshare")
    return command


def test_a_whole_book_builds_twice(tree):
    assert "<pre>4\n" in builds(tree)
    assert "<pre>4\n" in builds(tree)


def test_a_notebook_that_raises(tree):
    builds(tree)
    write_chapter(tree, "1 / 0")
    fails(tree, CHAPTER, "ZeroDivisionError")


def test_a_notebook_that_never_ends(tree):
    set_config(tree, "timeout: 300", "timeout: 2")
    write_chapter(tree, "import time\nwhile True:\n    time.sleep(1)")
    fails(tree, CHAPTER, "CellTimeoutError")


def test_a_notebook_whose_kernel_dies(tree):
    write_chapter(tree, "import os\nos._exit(1)")
    fails(tree, CHAPTER, "DeadKernelError")


def test_a_notebook_that_is_cut_off(tree):
    builds(tree)
    path = tree / CHAPTER
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    fails(tree, CHAPTER, "restore it")


def test_a_stored_output_edited_by_hand(tree):
    assert check(tree, "notebooks")[0] == 0
    write_chapter(tree, output="5\n")
    status, output = check(tree, "notebooks")
    assert status != 0
    assert "01_short" in output
    assert "print(2 + 2)" in output


def test_a_chapter_missing_from_the_toc(tree):
    only = ("tests/test_book.py", "-k", "toc")
    assert check(tree, *only)[0] == 0
    builds(tree)
    write_chapter(tree, name="notebooks/02_forgotten.ipynb")
    fails(tree, "notebooks/02_forgotten", "_toc.yml")
    status, output = check(tree, *only)
    assert status != 0
    assert "notebooks/02_forgotten" in output


def test_a_page_that_left_the_toc_leaves_the_site(tree):
    write_chapter(tree, name="notebooks/02_second.ipynb")
    second = "01_short\n      - file: notebooks/02_second"
    (tree / "_toc.yml").write_text(TOC.replace("01_short", second))
    builds(tree)
    (tree / "notebooks" / "02_second.ipynb").unlink()
    (tree / "_toc.yml").write_text(TOC)
    builds(tree)
    assert not (tree / "_build" / "html" / "notebooks" / "02_second.html").exists()


def test_a_build_that_is_killed_is_started_again(tree):
    builds(tree)
    write_chapter(tree, "import pathlib, time\npathlib.Path('here').touch()\ntime.sleep(600)")
    process = start(tree, *MAKE, "book")
    until(lambda: list(tree.glob("**/here")))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not first_page(tree).exists()
    write_chapter(tree, "print('again')")
    assert "<pre>again\n" in builds(tree)


def test_two_builds_at_once(tree):
    write_chapter(tree, "import pathlib, time\npathlib.Path('here').touch()\ntime.sleep(5)")
    process = start(tree, *MAKE, "book")
    until(lambda: list(tree.glob("**/here")))
    fails(tree, "Wait until it has ended")
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert first_page(tree).exists()


def test_a_read_only_tree(tree):
    command = 'mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$@"'
    under = [*namespace("--mount"), "sh", "-c", command, "sh"]
    fails(tree, "Read-only file system", "Copy the book to", under=under)


def test_a_full_disk(tree):
    (tree / "_build").mkdir()
    command = """mount -t tmpfs -o size=2m none _build
        touch _build/sources _build/pages
        "$@"
        status=$?
        ls -d _build/html
        exit $status"""
    under = [*namespace("--mount"), "sh", "-c", command, "sh"]
    fails(tree, "The build failed", "No space left on device", "cannot access", under=under)


def test_no_network(tree):
    under = [*namespace("--net"), "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    status, output = make(tree, "book", under=under)
    assert status == 0, output
    status, output = check(tree, "notebooks", under=under)
    assert status == 0, output
    assert first_page(tree).exists()


def test_no_python_for_the_pages(tree):
    """Without Pyodide's files the book builds, and has no buttons."""
    html = tree / "_build" / "html"
    assert '<meta name="python"' in builds(tree)
    assert (html / "python").exists()
    shutil.rmtree(tree / "book" / "python" / "pyodide")
    assert '<meta name="python"' not in builds(tree)
    assert not (html / "python").exists()
    assert not (html / "offline.js").exists()


def test_a_busy_port(tree):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, output = make(tree, "serve", f"PORT={taken.getsockname()[1]}")
    assert status != 0
    assert "make serve PORT=" in output


OLD = {
    "gone": "#!/nowhere/python3.9",
    "exchanged": "#!/bin/sh\nexit 1",
    "not the one named": '#!/bin/sh\ntest "$1" != -V || echo Python 3.9.0',
}


@pytest.mark.parametrize("old", OLD.values(), ids=OLD)
def test_a_venv_of_another_python(tree, tmp_path, old):
    """It is made anew; what is installed then is the book's package alone, from the disk."""
    (tree / "requirements.txt").write_text("")
    (tree / ".venv" / "bin").mkdir(parents=True)
    python = tree / ".venv" / "bin" / "python"
    python.write_text(old)
    python.chmod(0o755)
    (tree / ".venv" / "installed").touch()
    flit = Path(importlib.util.find_spec("flit_core").origin).parent
    shutil.copytree(flit, tmp_path / "flit" / "flit_core")
    tools = {"PYTHONPATH": str(tmp_path / "flit"), "PYTHON": sys.executable}
    status, output = finish(start(tree, "make", ".venv", **tools))
    assert status == 0, output
    found = [python, "-c", "import importlib.util as u; print(u.find_spec('posenc').origin)"]
    assert str(tree / "src") in subprocess.check_output(found, text=True)


def test_a_python_that_is_too_old(tree, tmp_path):
    """Its stand-in runs the program that it is given, which sees a Python 3.9."""
    old = tmp_path / "python3.9"
    code = "import runpy, sys; sys.argv.pop(0); sys.path[0] = 'tools'; "
    code += "sys.version_info = (3, 9); runpy.run_path(sys.argv[0], run_name='__main__')"
    old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    old.chmod(0o755)
    status, output = finish(start(tree, "make", "book", PYTHON=str(old)))
    assert status != 0, output
    assert "Python 3.11 or later is needed" in output
    assert not (tree / ".venv").exists()


def test_a_change_in_the_package_reaches_the_chapters(tree):
    write_chapter(tree, "import posenc\nprint(posenc.__doc__.split()[0])")
    assert "<pre>Changed\n" not in builds(tree)
    package = tree / "src" / "posenc" / "__init__.py"
    text = package.read_text(encoding="utf-8")
    package.write_text('"""Changed ' + text.partition('"""')[2], encoding="utf-8")
    assert "<pre>Changed\n" in builds(tree)


def test_a_change_in_the_extensions_reaches_the_pages(tree):
    assert "for the main line" in builds(tree)
    extension = tree / "book" / "_ext" / "reading.py"
    text = extension.read_text(encoding="utf-8")
    extension.write_text(text.replace("for the main line", "to begin with"), encoding="utf-8")
    assert "to begin with" in builds(tree)
