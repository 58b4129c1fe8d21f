r"""Update the numbers, titles and labels in the book's text.

Run by ``make references``, and by a test that changes nothing. Link texts name their target:
``[Figure 7.1](#fig-x)``, ``[Derive the formula](02_formula.ipynb)``, ``[Su et al.,
2021](../book/references.md#su2021)``. In a chapter, write ``[](#fig-arcs)``,
``[](03_linearity.ipynb)``, ``[](../book/references.md#su2021)``, and ``**Figure ?.**``,
``**Table ?.**``, ``**Exercise ?.`` and ``\tag{?}`` for new ones: this fills in the rest, and
updates whatever has moved. A text that begins with a small letter and has no digit stays as it is.
It prints each line that it changed. Links that lead nowhere fail the build.
"""

import difflib
import json
import posixpath
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from sphinx_posenc.myst_markup import PLACES, read_notebook

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
LABEL = re.compile(r'^- <a id="([\w-]+)"></a>\*\*(.+?)\.\*\*', re.MULTILINE)
CHAPTER = re.compile(r"\b([Cc]hapter )\d+")
NUMBER = re.compile(r"\d+\.\d+|\?")
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
FREE = re.compile(r"[a-z`]\D*")  # the author's own wording


class Book:
    """Titles, numbers and labels of pages, figures, tables, equations, exercises and references."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.labels: dict[str, str] = {}  # of references
        self.titles: dict[str, str] = {}
        self.places: dict[str, dict[str, tuple[str, str]]] = {}  # kind and number
        for path in [root / "index.md", *root.glob("book/*.md")]:
            if path.exists():
                page = path.relative_to(root).as_posix()
                self.add(page, [path.read_text(encoding="utf-8")])
        for path in sorted(root.glob("notebooks/*.ipynb")):
            cells = read_notebook(path)["cells"]
            texts = [c["source"] for c in cells if c["cell_type"] == "markdown"]
            self.add(f"notebooks/{path.name}", texts)

    def add(self, page: str, texts: list[str]) -> None:
        """Take in the text of a page, or of each cell; number what it has, kind by kind."""
        heading = HEADING.search("\n\n".join(texts))
        self.titles[page] = heading[1] if heading else ""
        self.places[page] = {}
        if page == REFERENCES:
            self.labels = dict(LABEL.findall(texts[0]))
        if chapter := self.chapter(page):
            for kind, form in PLACES.items():
                places = [place for text in texts for place in form.finditer(text)]
                for number, place in enumerate(places, 1):
                    self.places[page][place["name"]] = kind, f"{chapter}.{number}"

    def chapter(self, page: str) -> int:
        """The number of a chapter; 0 for the first page of the story and for other pages."""
        match = re.match(r"notebooks/(\d\d)_", page)
        return int(match[1]) if match else 0

    def words(
        self,
        text: str,
        page: str,
        anchor: str | None,
    ) -> str:
        """The correct text of a link to a page or to a place there."""
        # "the formula" stays
        if FREE.fullmatch(text):
            return text
        # "" -> "Su et al., 2021"; "Su et al. (2021)" stays
        if page == REFERENCES and anchor:
            name = self.labels.get(anchor, f"?{anchor}: add it to {REFERENCES}")
            in_sentence = re.sub(r", (\d{4}\w?)$", r" (\1)", name)
            return text if text == in_sentence else name
        # "" -> "Figure 7.1", "(7.2)"; "Figures 7.1" -> "Figures 7.2"
        if anchor in self.places.get(page, ()):
            kind, number = self.places[page][anchor]
            plain = f"({number})" if kind == "equation" else f"{kind.title()} {number}"
            return NUMBER.sub(number, text) if NUMBER.search(text) else plain
        # "Chapter 6 shows" -> "Chapter 7 shows"
        if self.chapter(page) and CHAPTER.search(text):
            return CHAPTER.sub(rf"\g<1>{self.chapter(page)}", text)
        # "" -> the page's title; a text for a heading stays
        return text if anchor else self.titles.get(page, text)

    def restate(self, here: str, text: str) -> str:
        """Correct every number, title and label in the Markdown of a page."""

        def link(match: re.Match[str]) -> str:
            path, anchor = match["path"], match["anchor"]
            if match["code"] or not (path or anchor):
                return match[0]
            there = posixpath.join(posixpath.dirname(here), path) if path else here
            text = " ".join(match["text"].split())  # it may span lines
            words = self.words(text, posixpath.normpath(there), anchor)
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

    def updated(self, page: str) -> str:
        """A page's file as it should be."""
        path = self.root / page
        if not page.endswith(".ipynb"):
            return self.restate(page, path.read_text(encoding="utf-8"))
        notebook = read_notebook(path)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = self.restate(page, cell["source"])
            cell["source"] = cell["source"].splitlines(keepends=True)
        return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def changes(book: Book, page: str) -> list[str]:
    """The lines of a page's file that would change, with their new form."""
    before = (book.root / page).read_text(encoding="utf-8").splitlines()
    after = book.updated(page).splitlines()
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


if __name__ == "__main__":
    book = Book(ROOT)
    for page in sys.argv[1:] or book.titles:
        if lines := changes(book, page):
            print(page, *lines, sep="\n")
            (ROOT / page).write_text(book.updated(page), encoding="utf-8")
    print("All references are up to date.")
