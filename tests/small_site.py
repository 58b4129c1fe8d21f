"""A small site with the book's own settings: a page or a cell of each thing that the book has.

`_config.yml` is the book's; what needs more than these pages is left out.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from posenc import plots, widgets

ROOT = Path(__file__).parents[1]
BOOK = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
KINDS = [name.lower() for name in widgets.FIGURES]
LEFT_OUT = {"jupyter_book", "sphinx_comments"}
LONG = "A long sentence that never ends, "
DAY = "2021-03-04"

URL = "https://example.org/the-book"
PUBLISHED = {
    "PAGES_URL": URL,
    "GITHUB_SERVER_URL": "https://github.test",
    "GITHUB_REPOSITORY": "who/book",
}

# Formulas in most of KaTeX's fonts, and a figure, a picture, tables, code and notes.
INDEX = r"""# A page

| a | b |
|---|---|
| 1 | 2 |

Here is $x$.

Text with a [link](plain.md), `code`, **bold** and a formula, $\omega_i = n^{-2i/d}$.

$$
\left\|\sum_{i=0}^{d/2-1} \mathbf{x}_i\right\| \le \sqrt{\left(\frac{\mathcal{L}}
{\int_0^\infty f}\right)} \in \mathbb{R}
$$ (eq-one)

```{figure} squares.svg
:name: fig-landing
:class: live-heatmap
:alt: The encoding of 64 positions as a heatmap.

A heatmap with its **caption**.
```

```python
for i in range(3):  # three
    print("i", i)
```

:::{note}
A note.
:::

:::{admonition} Folded
:class: dropdown
Unfolded.
:::

## A section

![squares](squares.svg)

### Below it

:::{exercise}
:label: one
Do it.
:::
"""
SQUARES = f"""<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="150pt"><defs></defs>
<path d="M0 0h200v100h200v100h-200z" style="fill: {plots.INK}; stroke: {plots.COLORS[0]}"/></svg>"""


def markdown(text, *tags):
    return {"cell_type": "markdown", "metadata": {"tags": list(tags)}, "source": text}


def code(source, *tags, alt=None, svg=None, plain=None, live=None):
    """A cell that was run, with its outputs."""
    meta = {"tags": list(tags)} | ({"mystnb": {"image": {"alt": alt}}} if alt else {})
    data = {"image/svg+xml": svg, "text/plain": plain, widgets.MIME: live}
    data = {kind: shown for kind, shown in data.items() if shown}
    outputs = [{"output_type": "display_data", "data": data, "metadata": {}}] if data else []
    cell = {"cell_type": "code", "metadata": meta, "source": source, "outputs": outputs}
    return cell | {"execution_count": 1}


PAGES = {
    "index.md": INDEX,
    "plain.md": f"# A page without figures\n\n{LONG * 9}and ends.\n",
    "squares.svg": SQUARES,
}


def settings():
    """The text of conf.py."""
    own = BOOK["sphinx"]["config"]
    own |= {
        "project": "A small site",
        "html_title": "A small site",
        "html_theme": "sphinx_book_theme",
        "extensions": [name for name in own["extensions"] if name not in LEFT_OUT],
        "myst_enable_extensions": BOOK["parse"]["myst_enable_extensions"],
        "nb_execution_mode": "off",
    }
    for name in ("html_static_path", "templates_path"):
        own[name] = [str(ROOT / path) for path in own[name]]
    own["html_search_scorer"] = str(ROOT / own["html_search_scorer"])
    folders = {str(ROOT / path) for path in BOOK["sphinx"]["local_extensions"].values()}
    lines = ["import sys", f"sys.path[:0] = {sorted(folders)!r}"]
    return "\n".join([*lines, *(f"{name} = {value!r}" for name, value in own.items()), ""])


def page(number, kind):
    """A notebook that shows the widget, as `make notebooks` stores it."""
    widget = widgets.FIGURES[kind.capitalize()]()
    drawn = {"live": {"kind": type(widget).__name__, "state": widget.state()}}
    drawn |= {"plain": repr(widget), "svg": widget.picture()}
    return [
        markdown(f"# The figure {kind}\n\nSee [Figure {number}.1](#fig-{kind})."),
        code(repr(widget), alt=f"The figure {kind}.", **drawn),
        markdown(f'<a id="fig-{kind}"></a>**Figure {number}.1.** A figure that moves.'),
        markdown("Below the figure."),
    ]


def write(source):
    """Write the sources of the site; its first page is committed."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    meta = {"kernelspec": kernel, "language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    chapters = {kind: page(n, kind) for n, kind in enumerate(KINDS, 1)}
    parts = [
        {"numbered": 1, "chapters": [{"file": name} for name in chapters]},
        {"chapters": [{"file": "plain"}]},
    ]
    toc = json.dumps({"format": "jb-book", "root": "index", "parts": parts})
    for name, text in {"conf.py": settings(), "_toc.yml": toc, **PAGES}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    for name, cells in chapters.items():
        cells = [{"id": f"cell-{n}"} | cell for n, cell in enumerate(cells)]
        notebook = {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}
        text = json.dumps(notebook)
        (source / f"{name}.ipynb").write_text(text, encoding="utf-8")
    git(source, "init", "--quiet")
    commit(source, "index.md")
    return source


def git(folder, *arguments):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    day = {"GIT_COMMITTER_DATE": f"{DAY}T05:06:07Z"}
    subprocess.run(["git", "-C", folder, *who, *arguments], env=os.environ | day, check=True)


def commit(folder, name):
    git(folder, "add", name)
    git(folder, "commit", "--quiet", "--message", name)


def build(source, built, *options, **variables):
    """Build it in a process of its own: two sites built in one get in each other's way."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{built}-trees", *options]
    environment = os.environ | PUBLISHED | variables
    subprocess.run([*command, source, built], env=environment, check=True)
    return built
