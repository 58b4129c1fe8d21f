"""Print what stands in book/licenses.txt: whose work the site ships, and under which license.

The texts are those of the installed packages. After an upgrade:
`python tools/licenses.py > book/licenses.txt`. A test holds the file to this.
"""

from importlib.metadata import distribution
from pathlib import Path

KATEX = Path(__file__).parents[1] / "book" / "_static" / "katex" / "LICENSE"
VENDOR = "pydata_sphinx_theme/theme/pydata_sphinx_theme/static"

HEAD = """\
Positional encoding, executed: what the site ships that others made

The book's own code is under the BSD 3-Clause License, its text and figures under CC BY 4.0.
The rest:

KaTeX, style       MIT License, below
KaTeX, fonts       SIL Open Font License 1.1, text below with Font Awesome;
                   Copyright (c) 2009-2010 Design Science, Inc. (www.mathjax.org),
                   Copyright (c) 2014-2018 Khan Academy (www.khanacademy.org),
                   with reserved font names that begin with KaTeX_
Font Awesome Free  icons CC BY 4.0, fonts SIL Open Font License 1.1, code MIT, below
Bootstrap          MIT License, text below with KaTeX;
                   Copyright (c) 2011-2024 The Bootstrap Authors
Popper             MIT License, text below with KaTeX; Copyright (c) 2019 Federico Zivolo
clipboard.js       MIT License, text below with KaTeX; Copyright (c) Zeno Rocha

BSD licenses, below: pydata-sphinx-theme, sphinx-book-theme, Sphinx, Pygments
MIT licenses, below: sphinx-copybutton, sphinx-design, sphinx-exercise, sphinx-togglebutton

Python in the pages, where the site has it: LICENSES.txt beside it, in the folder python
"""

PACKAGES = [
    "pydata-sphinx-theme",
    "sphinx-book-theme",
    "Sphinx",
    "Pygments",
    "sphinx-copybutton",
    "sphinx-design",
    "sphinx-exercise",
    "sphinx-togglebutton",
]


def license_of(name):
    """Read the license that a package was installed with."""
    files = distribution(name).files or []
    path = next(f for f in files if ".dist-info" in str(f) and f.name.startswith("LICENSE"))
    return path.read_text(encoding="utf-8")


def font_awesome():
    """Read the license beside the font that the theme brings."""
    files = distribution("pydata-sphinx-theme").files or []
    found = [f for f in files if str(f).startswith(VENDOR) and f.name == "LICENSE.txt"]
    return found[0].read_text(encoding="utf-8")


def text():
    """Join all of it."""
    parts = {"KaTeX": KATEX.read_text(encoding="utf-8"), "Font Awesome Free": font_awesome()}
    parts |= {name: license_of(name) for name in PACKAGES}
    rule = "=" * 80
    chapters = (f"{rule}\n{name}\n{rule}\n\n{part.strip()}\n" for name, part in parts.items())
    return "\n\n".join([HEAD, *chapters])


if __name__ == "__main__":
    print(text(), end="")
