"""Downloadable notebooks, in plain Markdown.

A reader who downloads one chapter has neither the others nor a MyST extension. Boxes become block
quotes, and links to other pages lead to the published site or, if there is none, become plain text.
Numbers, captions and citations are text already. If GitHub builds the site, a first code cell
installs the package from that commit, unless it is installed.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from .cross_references import LINK, Book, book_of
from .myst_markup import read_notebook

OPENING = re.compile(r"(`{3,}|:{3,})\s*\{([\w-]+)\} *(.*)")
OPTION = re.compile(r":[\w-]+:")
# What may travel along: data that a cell names, and modules beside the chapters.
DATA = re.compile(r'"(data/[\w.]+)"')
MODULES = {path.stem for path in Path(__file__).parents[3].glob("notebooks/*.py")}


def boxes(lines: list[str]) -> Iterator[str]:
    """Turn boxes into block quotes, each under its title."""
    rest = iter(lines)
    for line in rest:
        opening = OPENING.match(line)
        if not opening:
            yield line
            continue
        fence, kind, title = opening.groups()
        body: list[str] = []
        for inner in rest:
            if inner.strip() == fence:
                break
            body.append(inner)
        label = re.search(r"^:label: (ex-\S+)", "\n".join(body), re.MULTILINE)
        while body and (OPTION.match(body[0]) or not body[0].strip()):
            body.pop(0)
        if kind == "index":
            continue
        if kind in {"exercise", "solution"}:
            title = kind.capitalize()
        if label:
            yield f'<a id="{label[1]}"></a>\n'
        yield f"> **{title or kind.capitalize()}**"
        for inner in ["", *boxes(body)]:
            yield f"> {inner}".rstrip()


def resolve(text: str, here: str, site: str, book: Book) -> str:
    """Make a cell's Markdown portable: no MyST, no relative links."""

    def link(found: re.Match[str]) -> str:
        if found["code"] or not found["path"]:
            return found[0]
        page = book.path(here, found["path"])
        if not site:
            is_title = found["text"] == book.titles.get(page)
            return f"*{found['text']}*" if is_title else found["text"]
        address = re.sub(r"\.(ipynb|md)$", ".html", page)
        anchor = f"#{found['anchor']}" if found["anchor"] else ""
        return f"[{found['text']}]({site.rstrip('/')}/{address}{anchor})"

    return LINK.sub(link, "\n".join(boxes(text.split("\n"))))


def preparation(repository: str, commit: str, code: str) -> dict[str, Any]:
    """A cell that installs what a chapter's code needs, unless the book is installed."""
    lines = [
        "# Get what this notebook needs, unless the book is installed.",
        "import importlib.util",
        'if importlib.util.find_spec("posenc") is None:',
        f'    %pip install --quiet "posenc[chapters] @ git+{repository}@{commit}" '
        "--extra-index-url https://download.pytorch.org/whl/cpu",
    ]
    imported = MODULES.intersection(re.findall(r"^import (\w+)$", code, re.MULTILINE))
    for name in sorted({*DATA.findall(code), *(f"{module}.py" for module in imported)}):
        address = f"{repository}/raw/{commit}/notebooks/{name}"
        lines.append(
            f"    !curl --silent --show-error --location --create-dirs -o {name} {address}"
        )
    cell = {"cell_type": "code", "execution_count": None, "id": "install", "metadata": {}}
    return cell | {"outputs": [], "source": "\n".join(lines)}


def write_downloads(app: Sphinx) -> None:
    """Overwrite the copies of the notebooks that Sphinx makes."""
    book, site = book_of(app), app.config.html_baseurl
    repository = app.config.html_theme_options.get("repository_url")
    commit = os.environ.get("GITHUB_SHA")
    for page in book.places:
        notebook = read_notebook(book.root / page)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = resolve(cell["source"], page, site, book)
            cell["metadata"].pop("mystnb", None)
        if repository and commit:
            code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            needs = "\n".join(cell["source"] for cell in code)
            at = notebook["cells"].index(code[0]) if code else 0
            notebook["cells"].insert(at, preparation(repository, commit, needs))
        path = app.outdir / "_sources" / page
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
