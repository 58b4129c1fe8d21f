r"""Update the numbers, titles and labels in the book's text.

Run by ``make references``, and by a test that changes nothing. Link texts name their target:
``[Figure 7.1](#fig-x)``, ``[Derive the formula](02_formula.ipynb)``, ``[Su et al.,
2021](../book/references.md#su2021)``. In a chapter, write ``[](#fig-arcs)``,
``[](03_linearity.ipynb)``, ``[](../book/references.md#su2021)``, and ``**Figure ?.**``,
``**Table ?.**``, ``**Exercise ?.`` and ``\tag{?}`` for new ones: this fills in the rest, and
updates whatever has moved. A text that begins with a small letter and has no digit stays as it is.
It names each file that it changed. Links that lead nowhere fail the build.
"""

import posixpath
import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

# Each form in PLACES has the groups `name` and `number`.
from sphinx_posenc.myst_markup import PLACES

REFERENCES = "book/references.md"
# A link, unless it is in code, or its brackets are an image's or are escaped.
LINK = re.compile(
    r"""
    (?P<code> ^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)$
            | (?<!`)(?P<tick>`{1,2})(?!`).+?(?<!`)(?P=tick)(?!`) )
    | (?<![!\\]) \[(?P<text>[^\[\]]*)\] \((?P<path>[\w./-]*)(?P<hash>\#[\w-]+)?\)
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
LABEL = re.compile(r'^- <a id="([\w-]+)"></a>\*\*(.+?)\.\*\*', re.MULTILINE)
CHAPTER = re.compile(r"\b([Cc]hapter )\d+")
NUMBER = re.compile(r"\d+\.\d+|\?")
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
FREE = re.compile(r"[a-z`]\D*")  # the author's own wording


def chapter_of(page):
    """The number of a chapter; 0 for the first page of the story and for other pages."""
    match = re.match(r"notebooks/(\d\d)_", page)
    return int(match[1]) if match else 0


def prose_of(notebook):
    """The cells of Markdown."""
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


class Book:
    """Titles of pages, labels of references, and numbers of figures, tables and the like.

    A place is its kind and number: `places` has ``{page: {"fig-x": ("figure", "7.1")}}``.
    """

    def __init__(self, root):
        self.root = root
        self.titles, self.places = {}, {}
        self.labels = dict(LABEL.findall((root / REFERENCES).read_text("utf-8")))
        for path in [root / "index.md", *sorted(root.glob("book/*.md"))]:
            self.add(path.relative_to(root).as_posix(), [path.read_text("utf-8")])
        for path in sorted(root.glob("notebooks/*.ipynb")):
            cells = prose_of(nbformat.read(path, as_version=4))
            self.add(f"notebooks/{path.name}", [cell.source for cell in cells])

    def add(self, page, texts):
        """Take in the text of a page, or of each cell; number what it has, kind by kind."""
        heading = HEADING.search("\n\n".join(texts))
        self.titles[page] = heading[1] if heading else ""
        places = self.places[page] = {}
        chapter = chapter_of(page)
        for kind, form in PLACES.items() if chapter else ():
            names = [place["name"] for text in texts for place in form.finditer(text)]
            for number, name in enumerate(names, 1):
                places[name] = kind, f"{chapter}.{number}"

    def words(self, text, page, anchor):
        """The correct text of a link to a page or to a place there, by the first rule that fits."""
        # "the formula" stays
        if FREE.fullmatch(text):
            return text
        # "" -> "Su et al., 2021"; "Su et al. (2021)" stays
        if page == REFERENCES and anchor:
            label = self.labels.get(anchor, f"?{anchor}: add it to {REFERENCES}")
            in_sentence = re.sub(r", (\d{4}\w?)$", r" (\1)", label)
            return text if text == in_sentence else label
        # "" -> "Figure 7.1", "(7.2)"; "Figures 7.1" -> "Figures 7.2"
        if place := self.places.get(page, {}).get(anchor):
            kind, number = place
            plain = f"({number})" if kind == "equation" else f"{kind.title()} {number}"
            return NUMBER.sub(number, text) if NUMBER.search(text) else plain
        # "Chapter 6 shows" -> "Chapter 7 shows"
        if chapter_of(page) and CHAPTER.search(text):
            return CHAPTER.sub(rf"\g<1>{chapter_of(page)}", text)
        # "" -> the page's title; a text for a heading stays
        return text if anchor else self.titles.get(page, text)

    def restate(self, here, text):
        """Correct every number, title and label in the Markdown of a page."""

        def link(match):
            path, anchor = match["path"], match["hash"] or ""
            if match["code"] or not (path or anchor):
                return match[0]
            there = posixpath.join(posixpath.dirname(here), path) if path else here
            before = " ".join(match["text"].split())  # it may span lines
            words = self.words(before, posixpath.normpath(there), anchor[1:])
            if words == before:
                return match[0]
            words = words.replace(" ", "\n", match["text"].count("\n"))
            return f"[{words}]({path}{anchor})"

        def place(match):
            _, number = self.places[here][match["name"]]
            start, end = match.span("number")
            whole = match.string
            return whole[match.start() : start] + number + whole[end : match.end()]

        for form in PLACES.values() if self.places[here] else ():
            text = form.sub(place, text)
        return LINK.sub(link, text)

    def updated(self, page):
        """A page's file as it should be."""
        path = self.root / page
        if path.suffix == ".md":
            return self.restate(page, path.read_text(encoding="utf-8"))
        notebook = nbformat.read(path, as_version=4)
        for cell in prose_of(notebook):
            cell.source = self.restate(page, cell.source)
        return nbformat.writes(notebook) + "\n"


def stale(book, pages):
    """Yield the path of each page whose file should be otherwise, and its right text."""
    for page in pages:
        text = book.updated(page)
        if text != (book.root / page).read_text(encoding="utf-8"):
            yield book.root / page, text


if __name__ == "__main__":
    book = Book(ROOT)
    for path, text in stale(book, sys.argv[1:] or book.titles):
        path.write_text(text, encoding="utf-8")
        print(f"{path}: git diff shows what changed")
    print("All references are up to date.")
