"""Keeps the numbers, titles and labels in link texts correct.

Link texts name their target: ``[Figure 7.1](#fig-x)``, ``[Derive the formula](02_formula.ipynb)``,
``[Vaswani et al., 2017](../book/references.md#vaswani2017)``. `Book` computes the numbers, counting
as Sphinx does, and `Book.restate` writes them: ``make references`` runs it, and the build warns
where it would change something. Empty link texts are filled in. A text that begins with a small
letter and has no digit, ``[the first chapter](…)``, is left alone. The fields of the book's own
BibTeX entry come from ``CITATION.cff``.
"""

import difflib
import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .citations import labels
from .claims import as_markdown
from .myst_markup import ANCHOR, PLACES, read_notebook, to_myst

logger = logging.getLogger(__name__)

REFERENCES = "book/references.md"
LINK = re.compile(
    r"""
    (?P<code> ^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)$
            | (?<!`)(?P<tick>`{1,2})(?!`).+?(?<!`)(?P=tick)(?!`) )
    | (?<![!\\]) \[(?P<text>[^\[\]]*)\] \((?P<path>[\w./-]*)(?:\#(?P<anchor>[\w-]+))?\)
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
CHAPTER = re.compile(r"\b([Cc]hapter )\d+")
NUMBER = re.compile(r"\d+\.\d+|\?")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
LABEL = re.compile(r"^(?::{3,}\{exercise\} |:label: |:name: |\()([\w-]+)", re.MULTILINE)
GENERATED = re.compile("(term|claim|row|module)-")  # the build warns of these
ENTRY = re.compile(r"^```bibtex\n.*?^```$", re.DOTALL | re.MULTILINE)


def is_free(text: str) -> bool:
    """Whether a link's text is the author's own wording, with no number, title or label."""
    return re.match(r"[a-z`]", text) is not None and not re.search(r"\d", text)


class Book:
    """Titles, numbers and labels of pages, figures, tables, equations and references."""

    def __init__(self, root: Path) -> None:
        toc = root / "_toc.yml"
        toc = yaml.safe_load(toc.read_text(encoding="utf-8")) if toc.exists() else {"root": ""}
        files = [toc["root"]] + [c["file"] for p in toc.get("parts", ()) for c in p["chapters"]]
        self.root = root
        bib = root / "book" / "references.bib"
        self.labels = labels(bib) if bib.exists() else {}
        cited = root / "CITATION.cff"
        self.cited = yaml.safe_load(cited.read_text(encoding="utf-8")) if cited.exists() else {}
        self.titles: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.places: dict[str, dict[str, tuple[str, str]]] = {}
        for page in (f"{file}{suffix}" for file in files for suffix in (".ipynb", ".md")):
            if (root / page).exists():
                self.add(page, self.texts(page))

    def texts(self, page: str) -> list[str]:
        """The Markdown of a page, or of each cell of a notebook."""
        path = self.root / page
        if page.endswith(".md"):
            return [path.read_text(encoding="utf-8")]
        cells = read_notebook(path)["cells"]
        return [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]

    def add(self, page: str, texts: list[str]) -> None:
        title = TITLE.search("\n\n".join(texts))
        self.titles[page] = title[1] if title else ""
        if page.endswith(".ipynb"):
            self.places[page] = places = {}
            if posixpath.basename(page).startswith("00_"):
                return  # the page before chapter 1 and its figures are unnumbered
            self.numbers[page] = number = len(self.numbers) + 1
            for kind, form in PLACES.items():
                names = [found["name"] for text in texts for found in form.finditer(text)]
                places |= {name: (kind, f"{number}.{n}") for n, name in enumerate(names, 1)}

    def path(self, here: str, link: str) -> str:
        """The target page of a link on page `here`, relative to the book's root."""
        return posixpath.normpath(posixpath.join(posixpath.dirname(here), link)) if link else here

    @cache  # noqa: B019 - a book lives as long as the process
    def anchors(self, page: str) -> set[str]:
        """The anchors that a page's text defines: headings, labels, ``<a id="…">``."""
        text = "\n\n".join(self.texts(page))
        headings = (re.sub(r"[`*$]|<[^>]*>", "", title) for title in HEADING.findall(text))
        return {*ANCHOR.findall(text), *LABEL.findall(text), *map(default_slugify, headings)}

    def dead_links(self, here: str) -> Iterator[str]:
        """Describe each link of a page to an anchor that doesn't exist, with the nearest."""
        for found in LINK.finditer("\n\n".join(self.texts(here))):
            page, anchor = self.path(here, found["path"] or ""), found["anchor"]
            if not anchor or page not in self.titles or GENERATED.match(anchor):
                continue
            if page != REFERENCES and anchor not in (known := self.anchors(page)):
                near = difflib.get_close_matches(anchor, known, 1, 0)
                yield f"{here}: {page} has no #{anchor}; the nearest is #{''.join(near)}"

    def text(self, here: str, text: str, path: str, anchor: str | None) -> str:
        """The correct text of a link."""
        page = self.path(here, path)
        if page == REFERENCES and anchor:
            label = self.labels.get(anchor, f"?{anchor}: add it to book/references.bib")
            told = re.sub(r", (\d{4}\w?)$", r" (\1)", label)  # Vaswani et al. (2017)
            return text if text in (label, told) or is_free(text) else label
        if anchor in self.places.get(page, ()):
            kind, number = self.places[page][anchor]
            if is_free(text) and text:
                return text
            if NUMBER.search(text):
                return NUMBER.sub(number, text)
            return f"({number})" if kind == "equation" else f"{kind.capitalize()} {number}"
        if page in self.numbers and CHAPTER.search(text):
            return CHAPTER.sub(rf"\g<1>{self.numbers[page]}", text)
        if anchor or page not in self.titles or (text and is_free(text)):
            return text
        return self.titles[page]

    def restate(self, here: str, text: str) -> str:
        """Correct every number, title and label in the Markdown of a page."""

        def link(found: re.Match[str]) -> str:
            if found["code"]:
                return found[0]
            anchor = f"#{found['anchor']}" if found["anchor"] else ""
            if not found["path"] and not anchor:
                return found[0]
            text = " ".join(found["text"].split())  # it may span lines
            words = self.text(here, text, found["path"], found["anchor"])
            if words == text:
                return found[0]
            words = words.replace(" ", "\n", found["text"].count("\n"))
            return f"[{words}]({found['path']}{anchor})"

        def place(found: re.Match[str]) -> str:
            _, number = self.places[here][found["name"]]
            start, end = (n - found.start() for n in found.span("number"))
            return found[0][:start] + number + found[0][end:]

        if here in self.places:
            for form in PLACES.values():
                text = form.sub(place, text)
        text = ENTRY.sub(lambda entry: self.entry(entry[0]), text) if self.cited else text
        return LINK.sub(link, text)

    def entry(self, text: str) -> str:
        """Update a BibTeX entry of the book from ``CITATION.cff``."""
        says = {
            "author": " and ".join(f"{{{each['name']}}}" for each in self.cited["authors"]),
            "title": f"{{{self.cited['title']}}}",
            "year": str(self.cited["date-released"])[:4],
            "version": self.cited["version"],
        }
        for key, value in says.items():
            text = re.sub(rf"(?m)^(  {key} *= ).*", rf"\g<1>{{{value}}},", text)
        return text


def book_of(app: Sphinx) -> Book:
    """The book being built, cached on the app."""
    if not hasattr(app, "book"):
        app.book = Book(Path(app.srcdir))
    return app.book


def write_myst(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a page's source by MyST markup."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".ipynb":
        notebook = read_notebook(path)
        cells = enumerate(to_myst(notebook["cells"]))
        notebook["cells"] = [cell | {"id": f"cell-{n}"} for n, cell in cells]
        source[0] = json.dumps(notebook)
    else:
        source[0] = as_markdown(source[0], Path(app.srcdir))


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn where the text is wrong, and where Sphinx's numbers differ from `Book`'s."""
    book = book_of(app)
    message = "%s: %r should be %r: run make references"
    for page, text in [(name, text) for name in book.titles for text in book.texts(name)]:
        lines = zip(text.split("\n"), book.restate(page, text).split("\n"), strict=False)
        for is_now, should in lines:
            if is_now != should:
                logger.warning(message, page, is_now, should)
    for page, places in book.places.items():
        counted = env.toc_fignumbers.get(page.removesuffix(".ipynb"), {})
        numbers = {id: n for kind in counted.values() for id, n in kind.items()}
        for name, (kind, number) in places.items():
            shown = numbers.get(f"equation-{name}" if kind == "equation" else name, ())
            if ".".join(map(str, shown)) != number:
                logger.warning("%s: %s is %s here, but %s in Sphinx", page, name, number, shown)
