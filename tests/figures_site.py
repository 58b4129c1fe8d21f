"""A small site with the book's theme, extension and style, and each figure on a page of its own."""

from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from posenc import widgets

ROOT = Path(__file__).parents[1]
KINDS = ("heatmap", "curves", "clock", "rotation", "kernel", "switch")

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
project = "Figures"
language = "en"
extensions = ["myst_nb", "sphinx_book_theme", "pipeline"]
nb_execution_mode = "off"
numfig = True
html_theme = "sphinx_book_theme"
html_title = "Figures"
html_static_path = [{str(ROOT / "book" / "_static")!r}]
html_css_files = ["book.css"]
"""

GLOSSARY = ":::{glossary}\nnothing\n  Nothing.\n:::\n"
INTRO = """# Figures

```{posenc-figure} heatmap
:name: fig-landing
:alt: The encoding of 32 positions as a heatmap.
:state: d_model=32, seq_len=32
A heatmap with its **caption**.
```

[](plain.md)

```{toctree}
%s
```
"""


def page(kind):
    """A notebook that shows the widget, as `make notebooks` stores it."""
    widget = getattr(widgets, kind.capitalize())()
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


def build(folder):
    """Build the site in `folder`, and return where its pages are."""
    source, out = folder / "source", folder / "html"
    (source / "book").mkdir(parents=True)
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    (source / "book" / "glossary.md").write_text("# Glossary\n\n" + GLOSSARY, encoding="utf-8")
    (source / "plain.md").write_text("# A page without figures\n\nText.\n", encoding="utf-8")
    pages = "\n".join([*KINDS, "plain", "book/glossary"])
    (source / "index.md").write_text(INTRO % pages, encoding="utf-8")
    for kind in KINDS:
        nbformat.write(page(kind), source / f"{kind}.ipynb")
    app = Sphinx(source, source, out, folder / "doctrees", "html", warningiserror=True, status=None)
    app.build()
    assert app.statuscode == 0
    return out
