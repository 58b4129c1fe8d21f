"""Begin a chapter: `python tools/chapters.py relative_bias`, or make new NAME=relative_bias.

It comes from a template with a sample of each element: figure, live figure, table, equation,
citation and exercises. It is listed last in the table of contents, on the landing page and
among all pages.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def chapters():
    """Return the names of the numbered chapters in order, without chapter 0."""
    notebooks = (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    return sorted(path.stem for path in notebooks if not path.stem.startswith("00_"))


def list_last(name, row):
    """Insert a row below the last one of a file that names a chapter."""
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    *_, last = re.finditer(r"^.*notebooks/\d\d_.*\n", text, re.MULTILINE)
    path.write_text(text[: last.end()] + row + text[last.end() :], encoding="utf-8")


def new(name):
    """Write the chapter, and list it last."""
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        example = "make new NAME=relative_bias"
        sys.exit(f"NAME needs lowercase letters, digits and _, such as: {example}")
    for chapter in chapters():
        if chapter[3:] == name:
            sys.exit(f"notebooks/{chapter}.ipynb has that name: choose another")
    number = len(chapters()) + 1
    chapter = f"notebooks/{number:02}_{name}"
    template = (ROOT / "tools" / "chapter.ipynb").read_text(encoding="utf-8")
    text = template.replace("NAME", name.replace("_", "-"))
    (ROOT / f"{chapter}.ipynb").write_text(text, encoding="utf-8")
    row = f"- [](../{chapter}.ipynb): what it shows, in one sentence.\n"
    list_last("_toc.yml", f"      - file: {chapter}\n")
    list_last("index.md", f"- [What it is about]({chapter}.ipynb)\n")
    list_last("book/all_pages.md", row)
    print(
        f"Created {chapter}.ipynb; see _toc.yml, index.md and book/all_pages.md, too."
    )
    print(f"Execute and check it: make chapter NOTEBOOK={chapter}.ipynb")


if __name__ == "__main__":
    new(sys.argv[1])
