"""A Markdown twin of every page, and ``llms.txt``, which lists them with their descriptions.

For programs and text-to-speech: formulas as TeX, code and its output, captions, and the alt texts
of pictures. The twin of `03.html` is `03.md`, beside it. ``llms.txt`` follows https://llmstxt.org.
"""

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

from .claims import as_markdown
from .cross_references import Book, book_of
from .downloads import boxes
from .myst_markup import read_notebook


def text_of(source: str) -> str:
    """Turn boxes into block quotes, and point links at the twins of other chapters."""
    text = "\n".join(boxes(source.split("\n")))
    return re.sub(r"(\]\([\w./-]+)\.ipynb(?=[#)])", r"\1.md", text)


def output(cell: dict[str, Any]) -> Iterator[str]:
    """The outputs of a cell as Markdown, pictures as their alt texts."""
    for shown in cell["outputs"]:
        data = shown.get("data", {})
        if any(kind.startswith("image/") for kind in data):
            alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "a picture")
            yield f"*Picture: {alt}*"
        else:
            text = "".join(shown.get("text", data.get("text/plain", "")))
            yield f"```text\n{text.rstrip()}\n```"


def notebook(cells: list[dict[str, Any]]) -> Iterator[str]:
    """The parts of a chapter's twin."""
    for cell in cells:
        claims = [tag for tag in cell["metadata"].get("tags", []) if re.match(r"S\d-", tag)]
        yield from (f'<a id="claim-{claim}"></a>' for claim in claims)
        if cell["cell_type"] == "code":
            yield f"```python\n{cell['source']}\n```"
            yield from output(cell)
        else:
            yield text_of(cell["source"])


def twin(book: Book, page: str) -> str:
    """The Markdown twin of a page."""
    path = book.root / page
    if page in book.places:
        return "\n\n".join(notebook(read_notebook(path)["cells"])) + "\n"
    source = as_markdown(path.read_text(encoding="utf-8"), book.root)
    source = re.sub(
        r"^```\{figure\}.*?^:alt: (.*?)$.*?^```$", r"*Picture: \1*", source, flags=re.M | re.S
    )
    return text_of(source)


def write_twins(app: Sphinx) -> None:
    """Write the twins and their list into the site."""
    book = book_of(app)
    says = {page: kept.get("description") for page, kept in app.env.metadata.items()}
    listed = [f"# {app.config.html_title}", "", f"> {says['index']}", ""]
    for page, title in book.titles.items():
        path = app.outdir / re.sub(r"\.(ipynb|md)$", ".md", page)
        path.parent.mkdir(exist_ok=True)
        path.write_text(twin(book, page), encoding="utf-8")
        where = f"{app.config.html_baseurl}{path.relative_to(app.outdir)}"
        listed.append(f"- [{title}]({where}): {says[page.rpartition('.')[0]]}")
    (app.outdir / "llms.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
