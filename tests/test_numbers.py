"""Every number in a text is printed or asserted by a cell of the same section.

A section runs from one heading to the next; numbers in the introduction and the summary must recur
in a section. For a page of the book, the sections or chapters that a part links to must show its
numbers; for a row of the ledger, the chapter that judges it.

Exempt are whole numbers below ten, most numbers in words, years, versions, numbers of chapters,
figures and sections, and code. Those that no cell can show are in ``numbers.yml``, with a reason.
"""

import ast
import contextlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import nbformat
import yaml
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx_posenc.claims import judges, ledger
from test_book import rule

ROOT = Path(__file__).parents[1]
ELSEWHERE = yaml.safe_load((ROOT / "tests" / "numbers.yml").read_text(encoding="utf-8"))
ANYWHERE = {"What you'll do", "Summary", "What comes next"}

NAMED = {
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "sixteen": 16,
    "twenty": 20,
    "fifty": 50,
}
NUMBER = re.compile(r"(?<![\w.,/^{-])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w}/-]|\.\d|,\d)")
DROPPED = re.compile(
    r"""
    ^[ ]*(```|:::).*$ | ^:\w+:.*$           # fences of directives, and their options
    | (`+)(?:(?!\2).)+\2 | \{\w+\}`[^`]*`   # code, roles
    | \[\([\d.]+\)\]\([^)]*\) | \[[^\]]*\]\(\#[^)]*\)
    | \]\([^)]*\) | <[^>]*> | https?://\S+  # links
    | \*\*(Figure|Table)\s[\d.]+\*\* | \(eq-[\w-]+\)
    | (Python|Llama|CC[ ]BY|\[version)\s\d+\.\d+
    | [Cc]hapters?\s\d+(\s(and|to|or)\s\d+)? | fifteen\sminutes | Twenty\squestions
    | (Figure|Table|(?i:equation|section|exhibit)|Exercise)\s\(?[\d.]+\)?
    | \\(tag|begin|end|phantom|hspace|\\)(\{[^}]*\}|\[[^]]*\])?
    """,
    re.MULTILINE | re.VERBOSE,
)


def spelled(text):
    """Convert numbers such as twelve, 10 000, 10\\,000 and 1e−3 to Python's notation."""
    for name, number in NAMED.items():
        text = re.sub(rf"(?i)\b{name}\b(?!-)", str(number), text)
    text = (
        text.replace("−", "-")
        .replace("{,}", "")
        .replace("\\,", " ")
        .replace("\u202f", " ")
    )
    text = re.sub(r"(\d)\s*(?:\\cdot|·|×|\\times)\s*10\^\{?(-?\d+)\}?", r"\1e\2", text)
    return re.sub(
        r"(?<![\d.])\d{1,3}(?:[ \xa0]\d{3})+(?!\d)",
        lambda n: re.sub(r"\s", "", n[0]),
        text,
    )


def numbers(text):
    """The numbers of a text that a cell must show, as written; percentages as ``19 %``."""
    text = spelled(DROPPED.sub(" ", text))
    for found in NUMBER.finditer(text):
        number = found[0]
        small = number.isdigit() and (int(number) < 10 or 1900 <= int(number) <= 2030)
        if re.match(r"\s?\\?%", text[found.end() :]):
            yield f"{number} %"
        elif not small:
            yield number


def constants(source):
    """The numbers in a cell's code, strings included, and the values of constant expressions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from map(float, NUMBER.findall(spelled(node.value)))
        elif isinstance(node, ast.BinOp):
            with contextlib.suppress(TypeError, ValueError, ArithmeticError, NameError):
                yield float(
                    eval(
                        compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}
                    )
                )


def printed(output):
    """The numbers that an output shows as text."""
    data = output.get("data", {})
    text = (
        output.get("text", "")
        + data.get("text/plain", "")
        + data.get("text/markdown", "")
    )
    pattern = r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?"
    yield from map(float, re.findall(pattern, spelled(text)))


def look_at(cells):
    """The numbers that a chapter states, with cell and section, and those each section shows."""
    said, shown, title = [], defaultdict(set), None  # None: text that repeats sections
    for cell in cells:
        texts = [cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")]
        if cell.cell_type == "markdown":
            texts.append(cell.source)
            for level, name in re.findall(r"^(#+) (.+)$", cell.source, re.MULTILINE):
                title = None if len(level) == 1 or name in ANYWHERE else name
                shown.setdefault(title, set())  # a section without a cell shows nothing
        else:
            found = {*constants(cell.source)}.union(*map(printed, cell.outputs))
            shown[title or "opening"] |= found
            shown[None] |= found
        said += [(cell, title, found) for text in texts for found in numbers(text)]
    return said, shown


@cache
def shown_by(chapter, anchor=""):
    """All numbers that a section of a chapter shows, or without its anchor the chapter."""
    _, shown = look_at(
        nbformat.read(ROOT / f"notebooks/{chapter}.ipynb", as_version=4).cells
    )
    slugs = {
        default_slugify(re.sub(r"[`*$]|<[^>]*>", "", title or "")): title
        for title in shown
    }
    return shown[slugs.get(anchor)]


def is_shown(number, shown):
    """Whether a cell shows a number that equals or rounds to this one, as a fraction for a %."""
    number, percent, _ = number.partition(" %")
    places = len(number.partition(".")[2].partition("e")[0])
    value, power = float(number), int(number.partition("e")[2] or 0)
    unit = 0.500001 * 10.0 ** (power - places)
    return any(
        abs(value - scale * each)
        <= (unit if "." in number or "e" in number or each % 1 else 0)
        for each in shown
        for scale in ((1, 100) if percent and each <= 1 else (1,))
    )


@rule
def test_numbers_in_the_text_are_printed_or_asserted(chapter):
    said, shown = look_at(chapter.cells)
    known = ELSEWHERE.get(chapter.path.stem, {})
    stated = {number for _, title, number in said if title}
    for cell, title, number in said:
        is_known = number in known or (not title and number in stated)
        if not is_known and not is_shown(number, shown[title or "opening"]):
            cure = f"print or assert it in a cell below “{title}”, or list it in tests/numbers.yml"
            cure = cure if title else "state it in a section that shows it"
            yield cell, f"no cell of this section shows {number}: {cure}"


def others():
    """Other texts: where, what is said, and the chapters that must show its numbers."""
    pages = [
        ROOT / "index.md",
        ROOT / "README.md",
        *sorted((ROOT / "book").glob("*.md")),
    ]
    # `references` has years and pages, `try` sizes and what the page prints.
    for page in [each for each in pages if not re.match("references|try", each.stem)]:
        for part in re.split(
            r"^(?=#|- \"|\* - )", page.read_text("utf-8"), flags=re.MULTILINE
        ):
            where = f"{page.name}, {part.partition(chr(10))[0]}"
            yield where, part, re.findall(r"(\d\d_\w+)\.ipynb(?:#([\w-]+))?", part)
    judged = {claim: [[chapter]] for claim, chapter in judges(ROOT).items()}
    for row in ledger(ROOT):
        yield (
            f"claims.yml, {row['id']}",
            f"{row['claim']} {row.get('truth')}",
            judged[row["id"]],
        )


def test_numbers_elsewhere_are_shown_by_the_chapters_they_are_linked_with():
    for where, text, linked in others():
        known = ELSEWHERE.get(where.partition(".")[0], {})
        shown = set().union(*(shown_by(*each) for each in linked))
        missing = {
            n for n in numbers(text) if n not in known and not is_shown(n, shown)
        }
        assert not missing, (
            f"{where}: link to a section that shows {missing}, or fix them"
        )
