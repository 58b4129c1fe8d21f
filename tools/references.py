r"""Update the numbers, titles and labels in the book's text, and the list of references.

Run by ``make references``, and by a test that changes nothing. Link texts name their target:
``[Figure 7.1](#fig-x)``, ``[Derive the formula](02_formula.ipynb)``, ``[Su et al.,
2021](../book/references.md#su2021)``. In a chapter, write ``[](#fig-arcs)``,
``[](03_linearity.ipynb)``, ``[](../book/references.md#su2021)``, and ``**Figure ?.**``,
``**Table ?.**``, ``**Exercise ?.`` and ``\tag{?}`` for new ones: this fills in the rest, and
updates whatever has moved. A text that begins with a small letter and has no digit stays as it is.
It prints each line that it changed, and fails if a link leads to an anchor that doesn't exist.
"""

import difflib
import json
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify
from pybtex.backends.markdown import Backend
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text
from pybtex.style.formatting.plain import Style

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from sphinx_posenc.myst_markup import ANCHOR, PLACES, read_notebook

REFERENCES = "book/references.md"
# A link, unless it is in code, or its brackets are an image's or are escaped.
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
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
LABEL = re.compile(r"^(?::name: |\()([\w-]+)", re.MULTILINE)  # of MyST, on pages
GENERATED = re.compile("(term|claim|row|module)-")  # the build warns of these
FREE = re.compile(r"[a-z`]\D*")  # the author's own wording
ESCAPED = re.compile(r"\\([.()+-])")  # pybtex escapes more than Markdown needs


def label(key: str, entry: Entry) -> str:
    """Up to two names, or the first and "et al.", and the year; a document's is its key."""
    if re.fullmatch(r"S\d", key):
        return key
    people = entry.persons["author"]
    names = [" ".join([*person.prelast_names, *person.last_names]) for person in people]
    authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{Text.from_latex(authors)}, {entry.fields['year']}"


class Book:
    """Titles, numbers and labels of pages, figures, tables, equations, exercises and references."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bibliography = parse_file(root / "book" / "references.bib", "bibtex")
        entries = self.bibliography.entries
        self.labels = {key: label(key, entry) for key, entry in entries.items()}
        self.texts: dict[
            str, list[str]
        ] = {}  # of a page, or of each cell of a notebook
        self.titles: dict[str, str] = {}
        self.places: dict[str, dict[str, tuple[str, str]]] = {}  # kind and number
        for path in [root / "index.md", *root.glob("book/*.md")]:
            if path.exists():
                page = path.relative_to(root).as_posix()
                self.add(page, [path.read_text(encoding="utf-8")])
        for path in sorted(root.glob("notebooks/*.ipynb")):
            cells = read_notebook(path)["cells"]
            texts = [
                cell["source"] for cell in cells if cell["cell_type"] == "markdown"
            ]
            self.add(f"notebooks/{path.name}", texts)

    def add(self, page: str, texts: list[str]) -> None:
        """Take in a page, and number what it has, kind by kind."""
        heading = HEADING.search("\n\n".join(texts))
        self.texts[page] = texts
        self.titles[page] = heading[1] if heading else ""
        self.places[page] = {}
        chapter = self.chapter(page)
        for kind, form in PLACES.items() if chapter else ():
            names = [place["name"] for text in texts for place in form.finditer(text)]
            for number, name in enumerate(names, 1):
                self.places[page][name] = kind, f"{chapter}.{number}"

    def chapter(self, page: str) -> int:
        """The number of a chapter; 0 for the first page of the story and for other pages."""
        match = re.match(r"notebooks/(\d\d)_", page)
        return int(match[1]) if match else 0

    def target(self, here: str, path: str) -> str:
        """The page to which a link on page `here` leads."""
        folder = posixpath.dirname(here)
        return posixpath.normpath(posixpath.join(folder, path)) if path else here

    def anchors(self, page: str) -> set[str]:
        """The anchors that a page's text defines: headings, labels, ``<a id="…">``."""
        text = "\n\n".join(self.texts[page])
        titles = (
            re.sub(r"[`*$]|<[^>]*>", "", title) for title in HEADING.findall(text)
        )
        slugs = map(default_slugify, titles)
        return {*ANCHOR.findall(text), *LABEL.findall(text), *slugs}

    def dead_links(self, here: str) -> Iterator[str]:
        """Describe a page's links to anchors that are missing, with the nearest there is."""
        for link in LINK.finditer("\n\n".join(self.texts[here])):
            page, anchor = self.target(here, link["path"] or ""), link["anchor"]
            if not anchor or page not in self.texts or GENERATED.match(anchor):
                continue
            anchors = self.anchors(page)
            if anchor not in anchors:
                near = "".join(difflib.get_close_matches(anchor, anchors, 1, 0))
                yield f"{here}: {page} has no #{anchor}; the nearest is #{near}"

    def words(self, text: str, page: str, anchor: str | None) -> str:
        """The correct text of a link to a page or to a place there."""
        if FREE.fullmatch(text):
            return text
        if page == REFERENCES and anchor:
            name = self.labels.get(anchor, f"?{anchor}: add it to book/references.bib")
            in_sentence = re.sub(r", (\d{4}\w?)$", r" (\1)", name)  # Su et al. (2021)
            return text if text == in_sentence else name
        if anchor in self.places.get(page, ()):
            kind, number = self.places[page][anchor]
            if NUMBER.search(text):
                return NUMBER.sub(number, text)
            return (
                f"({number})" if kind == "equation" else f"{kind.capitalize()} {number}"
            )
        if self.chapter(page) and CHAPTER.search(text):
            return CHAPTER.sub(rf"\g<1>{self.chapter(page)}", text)
        return text if anchor else self.titles.get(page, text)

    def restate(self, here: str, text: str) -> str:
        """Correct every number, title and label in the Markdown of a page."""

        def link(match: re.Match[str]) -> str:
            path, anchor = match["path"], match["anchor"]
            if match["code"] or not (path or anchor):
                return match[0]
            text = " ".join(match["text"].split())  # it may span lines
            words = self.words(text, self.target(here, path), anchor)
            if words == text:
                return match[0]
            words = words.replace(" ", "\n", match["text"].count("\n"))
            return f"[{words}]({path}{f'#{anchor}' if anchor else ''})"

        def place(match: re.Match[str]) -> str:
            _, number = self.places[here][match["name"]]
            start, end = (index - match.start() for index in match.span("number"))
            return match[0][:start] + number + match[0][end:]

        for form in PLACES.values() if self.places[here] else ():
            text = form.sub(place, text)
        return LINK.sub(link, text)

    def place_in_list(self, entry: Entry) -> str:
        """What the list is sorted by: documents by key, before all others as they come."""
        return entry.key if self.labels[entry.key] == entry.key else "others"

    def listing(self) -> str:
        """The list of references in Markdown: the documents, then the others by author."""
        entries = Style().format_bibliography(self.bibliography)
        lines = []
        for entry in sorted(entries, key=self.place_in_list):
            text = ESCAPED.sub(r"\1", " ".join(entry.text.render(Backend()).split()))
            lines.append(
                f'- <a id="{entry.key}"></a>**{self.labels[entry.key]}.** {text}'
            )
        return "\n".join(lines)

    def updated(self, page: str) -> str:
        """A page's file as it should be."""
        path = self.root / page
        if page.endswith(".ipynb"):
            notebook = read_notebook(path)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = self.restate(page, cell["source"])
                cell["source"] = cell["source"].splitlines(keepends=True)
            return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        text = self.restate(page, path.read_text(encoding="utf-8"))
        if page == REFERENCES:
            text = f"{text.partition('- <a id=')[0]}{self.listing()}\n"
        return text


def changes(book: Book, page: str) -> list[str]:
    """The lines of a page's file that would change, with their new form."""
    before = (book.root / page).read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(
        before, book.updated(page).splitlines(), lineterm="", n=0
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


if __name__ == "__main__":
    book = Book(ROOT)
    for page in sys.argv[1:] or book.texts:
        if lines := changes(book, page):
            print(page, *lines, sep="\n")
            (ROOT / page).write_text(book.updated(page), encoding="utf-8")
    book = Book(ROOT)
    if dead := [problem for page in book.texts for problem in book.dead_links(page)]:
        sys.exit("\n".join(dead))
    print("All references are up to date.")
