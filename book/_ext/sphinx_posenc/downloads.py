"""What a reader takes along: notebooks, and a Markdown twin of every page. Boxes are block quotes.

A downloaded notebook stands alone: links to other pages lead to the published site or, if there is
none, become plain text. If GitHub builds the site, its first code cell installs the package from
that commit, unless it is installed.

A twin, ``03.md`` beside ``03.html``, is for programs and text-to-speech: formulas as TeX, code and
its output, captions, and the alt texts of pictures. ``llms.txt`` lists them (https://llmstxt.org).
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from .claims import as_markdown
from .cross_references import LINK, Book, book_of
from .myst_markup import BOX, Cell, read_notebook

FIGURE = re.compile(r"^```\{figure\}.*?^:alt: (.*?)$.*?^```$", re.MULTILINE | re.DOTALL)
# What may travel along: data that a cell names, and modules beside the chapters.
DATA = re.compile(r'"(data/[\w.]+)"')
MODULES = {path.stem for path in Path(__file__).parents[3].glob("notebooks/*.py")}


def quoted(box: re.Match[str]) -> str:
    """A box as a block quote, under its title."""
    kind, title = box["kind"], box["title"]
    if kind == "index":
        return ""
    if kind in {"exercise", "solution"} or not title:
        title = kind.capitalize()
    label = re.search(r"^:label: (ex-\S+)", box["options"], re.MULTILINE)
    anchor = f'<a id="{label[1]}"></a>\n\n' if label else ""
    lines = [f"**{title}**", "", *unboxed(box["body"]).removesuffix("\n").split("\n")]
    return anchor + "\n".join(f"> {line}".rstrip() for line in lines) + box["end"]


def unboxed(text: str) -> str:
    return BOX.sub(quoted, text)


def resolve(text: str, here: str, site: str, book: Book) -> str:
    """Make a cell's Markdown portable: no MyST, no relative links."""

    def link(found: re.Match[str]) -> str:
        if found["code"] or not found["path"]:
            return found[0]
        page = book.path(here, found["path"])
        if not site:
            return found["text"]
        address = re.sub(r"\.(ipynb|md)$", ".html", page)
        anchor = f"#{found['anchor']}" if found["anchor"] else ""
        return f"[{found['text']}]({site.rstrip('/')}/{address}{anchor})"

    return LINK.sub(link, unboxed(text))


def preparation(repository: str, commit: str, code: str) -> Cell:
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


def twin(text: str) -> str:
    """Markdown for a twin: links to other chapters lead to their twins."""
    return re.sub(r"(\]\([\w./-]+)\.ipynb(?=[#)])", r"\1.md", unboxed(text))


def parts(cell: Cell) -> Iterator[str]:
    """A chapter's cell, and its outputs, in the chapter's twin."""
    claims = [tag for tag in cell["metadata"].get("tags", []) if re.match(r"S\d-", tag)]
    yield from (f'<a id="claim-{claim}"></a>' for claim in claims)
    is_code = cell["cell_type"] == "code"
    yield f"```python\n{cell['source']}\n```" if is_code else twin(cell["source"])
    for shown in cell.get("outputs", []):
        data = shown.get("data", {})
        if any(kind.startswith("image/") for kind in data):
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "a picture")
            yield f"*Picture: {alt}*"
        else:
            text = "".join(shown.get("text", data.get("text/plain", "")))
            yield f"```text\n{text.rstrip()}\n```"


def write(app: Sphinx) -> None:
    """Overwrite Sphinx's copies of the notebooks, and write the twins and their list."""
    book, site, commit = book_of(app), app.config.html_baseurl, os.environ.get("GITHUB_SHA")
    repository = app.config.repository
    says = {page: kept.get("description") for page, kept in app.env.metadata.items()}
    listed = [f"# {app.config.html_title}", "", f"> {says['index']}", ""]
    for page, title in book.titles.items():
        path = app.outdir / re.sub(r"\.(ipynb|md)$", ".md", page)
        where = path.relative_to(app.outdir)
        listed.append(f"- [{title}]({site}{where}): {says[str(where.with_suffix(''))]}")
        path.parent.mkdir(exist_ok=True)
        if page not in book.places:
            text = as_markdown((book.root / page).read_text(encoding="utf-8"), book.root)
            path.write_text(twin(FIGURE.sub(r"*Picture: \1*", text)), encoding="utf-8")
            continue
        notebook = read_notebook(book.root / page)
        cells: list[Cell] = notebook["cells"]
        text = "\n\n".join(part for cell in cells for part in parts(cell))
        path.write_text(f"{text}\n", encoding="utf-8")
        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = resolve(cell["source"], page, site, book)
            cell["metadata"].pop("mystnb", None)
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        if repository and commit and code:
            needs = "\n".join(cell["source"] for cell in code)
            cells.insert(cells.index(code[0]), preparation(repository, commit, needs))
        path = app.outdir / "_sources" / page
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (app.outdir / "llms.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
