"""Print book/licenses.txt anew: whose work the site ships, and under which license.

What it says first is written by hand; the texts below it are those of the installed packages. After
an upgrade: `python tools/licenses.py > licenses.txt; mv licenses.txt book`. A test compares.
"""

from importlib.metadata import files
from pathlib import Path

BOOK = Path(__file__).parents[1] / "book"
RULE = "=" * 80
THEME = "pydata-sphinx-theme"
PACKAGES = [
    *(THEME, "sphinx-book-theme", "Sphinx", "Pygments"),
    *("sphinx-copybutton", "sphinx-design", "sphinx-exercise", "sphinx-togglebutton"),
]


def license_of(name, folder=".dist-info"):
    """The license that a package was installed with, or one that it has in a folder."""
    found = (f for f in files(name) or [] if folder in str(f) and f.name.startswith("LICENSE"))
    return next(found).read_text(encoding="utf-8")


def text():
    """Join all of it."""
    head, _, _ = (BOOK / "licenses.txt").read_text(encoding="utf-8").partition(f"\n\n{RULE}")
    katex = (BOOK / "_static" / "katex" / "LICENSE").read_text(encoding="utf-8")
    parts = {"KaTeX": katex, "Font Awesome Free": license_of(THEME, "static/vendor")}
    parts |= {name: license_of(name) for name in PACKAGES}
    chapters = (f"{RULE}\n{name}\n{RULE}\n\n{part.strip()}\n" for name, part in parts.items())
    return "\n\n".join([head, *chapters])


if __name__ == "__main__":
    print(text(), end="")
