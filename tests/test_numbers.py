"""Every number in a text is printed or asserted by a cell of the same section.

A section runs from one heading to the next; numbers in the introduction and the summary may be
shown anywhere in the chapter. For a page of the book, the sections or chapters that a part links to
must show its numbers; for a row of the ledger, the chapter that judges it.

Exempt are whole numbers below ten, most numbers in words, years, versions, numbers of chapters,
figures and sections, and code (`numbers_in_texts`). Those that no cell can show are in
``numbers.yml``, with a reason. Signs aren't compared.
"""

import re
from collections import defaultdict
from functools import cache

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify
from numbers_in_texts import is_shown, shown_by, stated_in
from reading import ROOT, described, read, rule, text_of
from sphinx_posenc.claims import judges, ledger

LISTED = yaml.safe_load(text_of("tests/numbers.yml"))
ANYWHERE = {"What you'll do", "Summary", "What comes next"}
WHOLE = None  # the address under which all numbers of a chapter stand
UNTESTED = {"CHANGELOG", "CONTRIBUTING", "SECURITY", "references", "try"}  # no results
START_OF_PART = re.compile(r"^(?=#|- \"|\* - )", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)


@cache
def sections(path):
    """The texts of a chapter, each with its cell and section, and the numbers of each section.

    Sections are known by their addresses; `WHOLE` is the chapter.
    """
    texts, shown = [], defaultdict(set)
    section = WHOLE
    for cell in read(path).cells:
        text = cell.source
        if cell.cell_type == "code":
            shown[section] |= shown_by(cell)
            shown[WHOLE] |= shown[section]
            text = described(cell)
        for level, title in HEADING.findall(text):
            slug = default_slugify(re.sub(r"[`*$]|<[^>]*>", "", title))
            section = WHOLE if level == "#" or title in ANYWHERE else slug
        texts.append((cell, section, text))
    return texts, shown


def problems(name, parts):
    """Yield places and what is wrong there, of places with their texts and the numbers shown."""
    listed = LISTED.get(name, {})
    unshown = set()
    for place, text, shown in parts:
        for number in stated_in(text):
            if is_shown(number, shown):
                continue
            unshown.add(number)
            # numbers.yml has a number as it is written, with its percent sign.
            if number not in listed:
                yield place, f"no cell shows {number}"
    for number in listed.keys() - unshown:
        yield None, f"{number} needs no exception: take it out of tests/numbers.yml"


@rule
def test_numbers_in_the_text_are_printed_or_asserted(chapter):
    """By a cell below the same heading, or numbers.yml lists them."""
    texts, shown = sections(chapter.path)
    parts = [(cell, text, shown[section]) for cell, section, text in texts]
    yield from problems(chapter.path.stem, parts)


def linked(text):
    """The numbers of all sections, or whole chapters, that a text links to.

    A section without numbers in its cells stands for its chapter, and so does the address of a
    figure or an equation. (A build fails at an address that isn't there.)
    """
    numbers = set()
    for chapter, anchor in re.findall(r"(\d\d_\w+)\.ipynb(?:#([\w-]+))?", text):
        _, shown = sections(ROOT / f"notebooks/{chapter}.ipynb")
        numbers |= shown.get(anchor) or shown[WHOLE]
    return numbers


def parts_of_pages():
    """The parts of other texts, by page: a section, or an entry of a list."""
    pages = {}
    for page in [*ROOT.glob("*.md"), *ROOT.glob("book/*.md")]:
        if page.stem not in UNTESTED:
            pages[page.stem] = START_OF_PART.split(page.read_text("utf-8"))
    chapters = judges(ROOT)
    pages["claims.yml"] = [
        f"{row['claim']} {row.get('truth')} ]({chapters[row['id']]}.ipynb)"
        for row in ledger(ROOT)
    ]
    return pages


def test_numbers_elsewhere_are_shown_by_the_chapters_they_are_linked_with():
    wrong = []
    for name, texts in parts_of_pages().items():
        parts = [(text, text, linked(text)) for text in texts]
        wrong += [(name, *problem) for problem in problems(name, parts)]
    assert wrong == [], "fix them, or link to a section that shows them"
