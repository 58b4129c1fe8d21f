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
"""
SQUARES = f"""<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="150pt"><defs></defs>
<path d="M0 0h200v100h200v100h-200z" style="fill: {plots.INK}; stroke: {plots.COLORS[0]}"/></svg>"""
GLOSSARY = """# Glossary

:::{glossary}
wave
  What has a length.

wave length
  From crest to crest.
:::
"""
BIB = """
@article{one2020, author = {One, Ann}, title = {A}, journal = {J}, year = {2020}}
@article{two2020, author = {van Two, Bo and Three, Cy}, title = {B}, journal = {J}, year = {2020}}
@misc{more, author = {One, A. and Two, B. and Three, C.}, title = {C}, year = {2019}}
@misc{moreagain, editor = {One, A. and Four, D. and Five, E.}, title = {D}, year = {2019}}
@misc{zero, title = {A title}, key = {zero}}
@misc{S1, title = {A document}, key = {S1}}
@misc{S0, title = {Another}, key = {S0}}
"""
REFERENCES = """# References

- <a id="S0"></a>**S0.** Another.
- <a id="two2020"></a>**van Two and Three, 2020.** B.
"""
CLAIMS = """
- {id: S0-boxed, claim: "It is $x$ & *so*.", verdict: holds}
- {id: S1-other, claim: Else., verdict: within limits, truth: Or $y$.}
- {id: S1-cell, claim: No., verdict: fails, truth: Yes.}
"""

# What is on a page, and how lines end in it: not at ~, which is a blank, nor within [], but at |.
LINES = {
    "1 000 000, not 10 000": "1~000~000, not 10~000",
    "of 2017 128 and 5 1000": "of 2017 128 and 5 1000",
    "45 % of 100 × 512": "45~% of 100~×~512",
    "at d = 8, x = −1": "at d~=~8, x~=~−1",
    "(i − 1) / d, n = d": "(i~−~1)~/ d, n~= d",
    "Document S4, *Table 2.1*": "Document~S4, Table~2.1",
    "(10, 3, 2), (a, 1)": "(10,~3,~2), (a, 1)",
    "a – b, x < y": "a – b, x~< y",
    "a t-SNE map, k-nearest, well-known": "a [t-SNE] map, [k-nearest], well-known",
    "`d = 8`, `10 000` and `basebasebasebase`": "[d = 8], [10 000] and [basebasebasebase]",
    "`basebasebase base` and `1 < 2 & 3`": "basebasebase base and [1 < 2 & 3]",
    "`src/a.py`, `b.c-d/ef/gh`, `d//2`, `1/n`, one/two": "[src/|a.py], [b.c-d/|ef/|gh], [d//2], "
    "[1/n], one/two",
    "$x$, and ($y$).": "[[x],] and [([y]).]",
    "$x$ and $y$ are free, (both *$z$*)": "[x] and [y] are free, (both [z])",
    f"${'x' * 38}$, and ${'x' * 39}$, too long": f"[[{'x' * 38}],] and {'x' * 39}, too long",
}


def markdown(text, *tags):
    return {"cell_type": "markdown", "metadata": {"tags": list(tags)}, "source": text}


def code(source, *tags, alt=None, svg=None, html=None, plain=None):
    """A cell that was run, with its outputs."""
    meta = {"tags": list(tags)} | ({"mystnb": {"image": {"alt": alt}}} if alt else {})
    data = {"image/svg+xml": svg, "text/html": html, "text/plain": plain}
    data = {kind: shown for kind, shown in data.items() if shown}
    outputs = [{"output_type": "display_data", "data": data, "metadata": {}}] if data else []
    cell = {"cell_type": "code", "metadata": meta, "source": source, "outputs": outputs}
    return cell | {"execution_count": 1}


FIRST = [
    markdown("""# First steps

Each **wave** has its wave length. Waves are in [Figure 1.1](#fig-a), [(1.1)](#eq-a),
[Table 1.1](#tab-a), [Figure 2.1](02_second.ipynb#fig-b), [as there](02_second.ipynb#a-part),
[Try the second](02_second.ipynb), [chapter 2](02_second.ipynb), [A page](../index.md) and
[van Two and Three, 2020](../book/references.md#two2020), `[](02_second.ipynb)`,
![squares](../squares.svg).

```
[](02_second.ipynb)
```"""),
    code("import os\nfrom a import b\n\nfor i in range(10_000):\n    print(np.i)  # all"),
    code("1 + 1", "S1-cell", alt="Some squares.", svg=SQUARES),
    markdown('<a id="fig-a"></a>**Figure 1.1.** What it *shows*.'),
    markdown('Then\n<a id="eq-a"></a>\n\n$$\na = b\n\\tag{1.1}\n$$\n\nand on.'),
    markdown(
        '<a id="tab-a"></a>**Table 1.1.** What it holds.\n\n| wavelet | b |\n|---|---|\n| 1 | 2 |'
    ),
    markdown("""After.

:::{admonition} In the documents
:class: documents dropdown

So. `S0-boxed` `S1-other` `S0-boxed` `S9`
:::"""),
    code("# Checked: a < b\n" + "2\n" * 30, "hide-input", "S0-boxed", "S1-other", plain="2"),
    markdown("## Going further: more\n\n" + "word " * 400),
    markdown("""## Exercises

::::{exercise}
:label: ex-a

Try.

:::{note}
It helps.
:::
::::

:::{solution} ex-a
:class: dropdown

So:
:::"""),
    code("3", "solution"),
    markdown("or", "solution"),
    code("4", "solution"),
    code("5"),
    markdown(
        ":::{exercise}\n:label: ex-b\n\nAgain.\n:::\n\n:::{solution} ex-b\n\nThus.\n:::\n\nEnd."
    ),
    markdown("### Below\n\n" + "word " * 200 + "\n\n## Last\n\n" + "word " * 200),
]
SECOND = [
    markdown(
        "# Try the second\n\nSee [(1.1)](01_first.ipynb#eq-a), [Figure 1.1](01_first.ipynb#fig-a)."
    ),
    markdown("## A part"),
    code("5", alt="Squares.", svg=SQUARES),
    markdown('<a id="fig-b"></a>**Figure 2.1.** More.'),
    code("6", html="<table><tr><th>law</th></tr></table>", plain="a table"),
]
CHAPTERS = {"notebooks/01_first": FIRST, "notebooks/02_second": SECOND}
MORE = ["plain", "book/glossary", "book/claims", "book/references", "book/lines"]
PAGES = {
    "index.md": INDEX.replace("LONG", LONG * 9),
    "plain.md": f"# A page without figures\n\n{LONG * 9}and ends.\n",
    "squares.svg": SQUARES,
    "book/glossary.md": GLOSSARY,
    "book/claims.md": "# Claims\n\n```{ledger}\n```\n\n```{ledger}\n:document: S1\n```\n",
    "book/claims.yml": CLAIMS,
    "book/claims.schema.json": (ROOT / "book" / "claims.schema.json").read_text("utf-8"),
    "book/references.bib": BIB,
    "book/references.md": REFERENCES,
    "book/lines.md": "\n\n".join(["# Lines", *LINES, ""]),
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
    drawn = {"plain": repr(widget), "svg": widget.picture()}
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
    chapters = CHAPTERS | {kind: page(n, kind) for n, kind in enumerate(KINDS, 3)}
    parts = [
        {"numbered": 1, "chapters": [{"file": name} for name in chapters]},
        {"chapters": [{"file": name} for name in MORE]},
    ]
    toc = json.dumps({"format": "jb-book", "root": "index", "parts": parts})
    for name, text in {"conf.py": settings(), "_toc.yml": toc, **PAGES}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    (source / "notebooks").mkdir()
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
