"""A small site with the book's own settings: a landing page, a page with each figure, a plain one.

`_config.yml` is the book's; what needs more than these pages is left out.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

from posenc import widgets

ROOT = Path(__file__).parents[1]
BOOK = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
KINDS = [name.lower() for name in widgets.FIGURES]
LEFT_OUT = {"jupyter_book", "sphinx_comments", "sphinx_external_toc", "sphinxcontrib.bibtex"}
LONG = "A long sentence that never ends, "

# Formulas in most of KaTeX's fonts, and a figure, a picture, tables, code and notes.
INDEX = r"""# A page

| a | b |
|---|---|
| 1 | 2 |

Here is $x$.

It begins. It goes on. LONG

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

```{toctree}
plain
book/glossary"""
SQUARES = """<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="150pt">
<path d="M0 0h200v100h200v100h-200v-100z" fill="teal"/></svg>"""
PAGES = {
    "index.md": "\n".join([INDEX.replace("LONG", LONG * 9), *KINDS, "```", ""]),
    "plain.md": f"# A page without figures\n\n{LONG * 9}and ends.\n",
    "book/glossary.md": "# Glossary\n\n:::{glossary}\nnothing\n  Nothing.\n:::\n",
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
    folders = {str(ROOT / path) for path in BOOK["sphinx"]["local_extensions"].values()}
    lines = ["import sys", f"sys.path[:0] = {sorted(folders)!r}"]
    return "\n".join([*lines, *(f"{name} = {value!r}" for name, value in own.items()), ""])


def page(kind):
    """A notebook that shows the widget, as `make notebooks` stores it."""
    widget = widgets.FIGURES[kind.capitalize()]()
    data = {"text/plain": repr(widget), "image/svg+xml": widget.picture()}
    figure = {"name": f"fig-{kind}", "caption": "A figure that moves."}
    meta = {"mystnb": {"figure": figure, "image": {"alt": f"The figure {kind}."}}}
    output = nbformat.v4.new_output("execute_result", data, execution_count=1)
    code = nbformat.v4.new_code_cell(repr(widget), metadata=meta, outputs=[output])
    code.execution_count = 1
    title = nbformat.v4.new_markdown_cell(f"# The figure {kind}\n\nSee {{numref}}`fig-{kind}`.")
    below = nbformat.v4.new_markdown_cell("Below the figure.")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=[title, code, below], metadata={"kernelspec": kernel})


def write(source):
    """Write the sources of the site."""
    (source / "book").mkdir(parents=True)
    for name, text in {"conf.py": settings(), **PAGES}.items():
        (source / name).write_text(text, encoding="utf-8")
    for kind in KINDS:
        nbformat.write(page(kind), source / f"{kind}.ipynb")
    return source


def build(source, built, *options, **variables):
    """Build it in a process of its own: two sites built in one get in each other's way."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{built}-trees", *options]
    environment = os.environ | {"PAGES_URL": ""} | variables
    subprocess.run([*command, source, built], env=environment, check=True)
    return built
