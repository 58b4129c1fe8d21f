"""Keeps the numbers, titles and labels in link texts correct.

Link texts name their target: ``[Figure 7.1](#fig-x)``, ``[Derive the formula](02_formula.ipynb)``,
``[Vaswani et al., 2017](../book/references.md#vaswani2017)``. `Book` computes the numbers, counting
as Sphinx does, and `Book.restate` writes them: ``make references`` runs it, and the build warns
where it would change something. Empty link texts are filled in. A text that begins with a small
letter and has no digit, ``[the first chapter](…)``, is left alone.
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
from pybtex.backends.markdown import Backend
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text
from pybtex.style.formatting.plain import Style
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

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
LABEL = re.compile(r"^(?::name: |\()([\w-]+)", re.MULTILINE)
GENERATED = re.compile("(term|claim|row|module)-")  # the build warns of these
THREAD = re.compile(
    r"\[([\w.-]*)#(\d+)\]\(https://github\.com/[\w.-]+/([\w.-]+)/\w+/(\d+)"
)
FREE = re.compile(
    r"[a-z`]\D*"
)  # the author's own wording, with no number, title or label


def label(key: str, entry: Entry) -> str:
    """Up to two names, or the first and "et al.", and the year; a document's is its key."""
    if re.fullmatch(r"S\d", key):
        return key
    names = [
        " ".join([*p.prelast_names, *p.last_names]) for p in entry.persons["author"]
    ]
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{Text.from_latex(shown)}, {entry.fields['year']}"


def labels(path: Path) -> dict[str, str]:
    """The label of each reference, by key."""
    return {
        key: label(key, entry)
        for key, entry in parse_file(path, "bibtex").entries.items()
    }


def listing(path: Path) -> str:
    """The list of references in Markdown, with an anchor for each."""
    names, backend = labels(path), Backend()
    entries = Style().format_bibliography(
        parse_file(path, "bibtex")
    )  # ordered by author
    lines = []
    for entry in sorted(
        entries, key=lambda e: e.key if names[e.key] == e.key else "later"
    ):
        text = re.sub(
            r"\\([.()+-])", r"\1", " ".join(entry.text.render(backend).split())
        )
        lines.append(f'- <a id="{entry.key}"></a>**{names[entry.key]}.** {text}')
    return "\n".join(lines)


class Book:
    """Titles, numbers and labels of pages, figures, tables, equations and references."""

    def __init__(self, root: Path) -> None:
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        files = [toc["root"]] + [
            c["file"] for p in toc.get("parts", ()) for c in p["chapters"]
        ]
        bib = root / "book" / "references.bib"
        self.root, self.labels = root, labels(bib) if bib.exists() else {}
        self.texts: dict[
            str, list[str]
        ] = {}  # of a page, or of each cell of a notebook
        self.titles: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.places: dict[str, dict[str, tuple[str, str]]] = {}  # kind and number
        for file in files:
            if (path := root / f"{file}.ipynb").exists():
                cells = read_notebook(path)["cells"]
                texts = [
                    cell["source"] for cell in cells if cell["cell_type"] == "markdown"
                ]
                self.add(f"{file}.ipynb", texts)
            elif (path := root / f"{file}.md").exists():
                self.add(f"{file}.md", [path.read_text(encoding="utf-8")])

    def add(self, page: str, texts: list[str]) -> None:
        title = TITLE.search("\n\n".join(texts))
        self.texts[page], self.titles[page] = texts, title[1] if title else ""
        if page.endswith(".ipynb"):
            self.places[page] = places = {}
            if posixpath.basename(page).startswith("00_"):
                return  # the page before chapter 1 and its figures are unnumbered
            self.numbers[page] = number = len(self.numbers) + 1
            for kind, form in PLACES.items():
                names = [
                    found["name"] for text in texts for found in form.finditer(text)
                ]
                places |= {
                    name: (kind, f"{number}.{n}") for n, name in enumerate(names, 1)
                }

    def path(self, here: str, link: str) -> str:
        """The target page of a link on page `here`, relative to the book's root."""
        return (
            posixpath.normpath(posixpath.join(posixpath.dirname(here), link))
            if link
            else here
        )

    @cache  # noqa: B019 - a book lives as long as the process
    def anchors(self, page: str) -> set[str]:
        """The anchors that a page's text defines: headings, labels, ``<a id="…">``."""
        text = "\n\n".join(self.texts[page])
        headings = (
            re.sub(r"[`*$]|<[^>]*>", "", title) for title in HEADING.findall(text)
        )
        return {
            *ANCHOR.findall(text),
            *LABEL.findall(text),
            *map(default_slugify, headings),
        }

    def dead_links(self, here: str) -> Iterator[str]:
        """Describe links of a page to a missing anchor, with the nearest, or to another thread."""
        text = "\n\n".join(self.texts[here])
        for name, said, repository, number in THREAD.findall(text):
            if (name or repository, said) != (repository, number):
                yield f"{here}: [{name}#{said}] leads to {repository}#{number}"
        for found in LINK.finditer(text):
            page, anchor = self.path(here, found["path"] or ""), found["anchor"]
            known = (
                self.anchors(page)
                if page in self.titles.keys() - {REFERENCES}
                else {anchor}
            )
            if anchor and anchor not in known and not GENERATED.match(anchor):
                near = difflib.get_close_matches(anchor, known, 1, 0)
                yield f"{here}: {page} has no #{anchor}; the nearest is #{''.join(near)}"

    def text(self, here: str, text: str, path: str, anchor: str | None) -> str:
        """The correct text of a link."""
        page = self.path(here, path)
        if FREE.fullmatch(text):
            return text
        if page == REFERENCES and anchor:
            label = self.labels.get(anchor, f"?{anchor}: add it to book/references.bib")
            told = re.sub(r", (\d{4}\w?)$", r" (\1)", label)  # Vaswani et al. (2017)
            return text if text == told else label
        if anchor in self.places.get(page, ()):
            kind, number = self.places[page][anchor]
            name = (
                f"({number})" if kind == "equation" else f"{kind.capitalize()} {number}"
            )
            return NUMBER.sub(number, text) if NUMBER.search(text) else name
        if page in self.numbers and CHAPTER.search(text):
            return CHAPTER.sub(rf"\g<1>{self.numbers[page]}", text)
        return text if anchor else self.titles.get(page, text)

    def restate(self, here: str, text: str) -> str:
        """Correct every number, title and label in the Markdown of a page."""

        def link(found: re.Match[str]) -> str:
            path, anchor = found["path"], found["anchor"]
            text = " ".join((found["text"] or "").split())  # it may span lines
            if found["code"] or not (path or anchor):
                return found[0]
            if (words := self.text(here, text, path, anchor)) == text:
                return found[0]
            words = words.replace(" ", "\n", found["text"].count("\n"))
            return f"[{words}]({path}{f'#{anchor}' if anchor else ''})"

        def place(found: re.Match[str]) -> str:
            _, number = self.places[here][found["name"]]
            start, end = (n - found.start() for n in found.span("number"))
            return found[0][:start] + number + found[0][end:]

        for form in PLACES.values() if here in self.places else ():
            text = form.sub(place, text)
        return LINK.sub(link, text)


@cache
def book_of(app: Sphinx) -> Book:
    """The book being built."""
    return Book(Path(app.srcdir))


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
    for page, texts in book.texts.items():
        now = [line for text in texts for line in text.split("\n")]
        right = [
            line for text in texts for line in book.restate(page, text).split("\n")
        ]
        for line, should in zip(now, right, strict=False):
            if line != should:
                logger.warning(
                    "%s: %r should be %r: run make references", page, line, should
                )
        for problem in book.dead_links(page):
            logger.warning(problem)
    for page, places in book.places.items():
        counted = env.toc_fignumbers.get(page.removesuffix(".ipynb"), {})
        numbers = {id: n for kind in counted.values() for id, n in kind.items()}
        for name, (kind, number) in places.items():
            if kind == "exercise":
                continue  # Sphinx doesn't count these
            shown = numbers.get(f"equation-{name}" if kind == "equation" else name, ())
            if ".".join(map(str, shown)) != number:
                logger.warning(
                    "%s: %s is %s here, but %s in Sphinx", page, name, number, shown
                )
