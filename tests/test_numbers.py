"""Every number in a text is printed or asserted by a cell of the same section.

A section runs from one heading to the next; numbers in the introduction and the summary may be
shown anywhere in the chapter. For a page of the book, the sections or chapters that a part links to
must show its numbers; for a row of the ledger, the chapter that judges it.

Exempt are whole numbers below ten, most numbers in words, years, versions, numbers of chapters,
figures and sections, and code. Those that no cell can show are in ``numbers.yml``, with a reason.
"""

import ast
import contextlib
import re
from collections import defaultdict
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
import yaml
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx_posenc.claims import judges, ledger
from test_book import NOTEBOOKS, Chapter, rule

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
UNTESTED = {"CHANGELOG", "CONTRIBUTING", "SECURITY", "references", "try"}  # no results
PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?")
NUMBER = re.compile(r"(?<![\w.,/^{-])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w}/-]|\.\d|,\d)")
# What holds numbers that aren't results: a pattern, and an example. All are taken out by one pass
# from left to right; where several match, the first of the list does: fences before code.
DROPPED = [
    # Fences of directives, and their options
    (r"^[ ]*(?:```|:::).*$", "```{figure} plot-12.svg"),
    (r"^:\w+:.*$", ":width: 400"),
    # Items of lists
    (r"^[ ]*\d+\.\s", "12. Draw it."),
    # Code between as many backticks as it began with, and roles
    (r"(?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)", "`n = 50`"),
    (r"\{\w+\}`[^`]*`", "{term}`base 50`"),
    # Links: references and links to anchors whole, of others the target
    (r"\[\([\d.]+\)\]\([^)]*\)", "[(11.2)](#eq-turn)"),
    (r"\[[^\]]*\]\(\#[^)]*\)", "[Figure 11](#fig-turn)"),
    (r"\]\([^)]*\)", "](11_does_it_help.ipynb)"),
    (r"<[^>]*>", '<a id="fig-12">'),
    (r"https?://\S+", "https://arxiv.org/abs/1706.03762"),
    # Numbers of captions, equations, exercises and the like
    (r"\*\*(?:Figure|Table)\s[\d.]+\*\*", "**Figure 11.**"),
    (r"\(eq-[\w-]+\)", "(eq-turn-12)"),
    (r"[Cc]hapters?\s+\d+(?:\s(?:and|to|or)\s\d+)?", "Chapters 11 to 15"),
    (
        r"(?:Figure|Table|(?i:equation|section|exhibit)|Exercise)\s\(?[\d.]+\)?",
        "section 11.2",
    ),
    # Names with a number
    (r"(?:Python|Llama|CC[ ]BY|\[version)\s\d+\.\d+", "Python 3.11"),
    (r"fifteen\sminutes", "fifteen minutes"),
    (r"Twenty\squestions", "Twenty questions"),
    # Commands of LaTeX with what they take
    (r"\\(?:tag|begin|end|phantom|hspace|\\)(?:\{[^}]*\}|\[[^]]*\])?", r"\tag{11.2}"),
]
NO_RESULT = re.compile("|".join(pattern for pattern, _ in DROPPED), re.MULTILINE)
# From LaTeX to Python, in this order: a product needs the names apart and round parentheses, and
# the last takes back what the product did to a call.
LATEX = [
    # pattern, replacement, example, and what it becomes
    (r"\\,|_\{model\}", "", r"2\,k", "2k"),
    (r"\\(sin|cos|pi)", r" \1 ", r"\sin(k)", " sin (k)"),
    (r"\^\{", "**(", "n^{2}", "n**(2}"),
    (r"\}", ")", "n**(2}", "n**(2)"),
    (r"(?<=[\d)]) *(?=[a-z(])|(?<=pi) +(?=[a-z])", "*", "2k", "2*k"),
    (r"(sin|cos) *\*? *\(", r"\1(", " sin (k)", " sin(k)"),
]


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
    text = re.sub(r"\b(\d\d+) million", r"\1e6", text)
    text = re.sub(r"(\d)\s*(?:\\cdot|·|×|\\times)\s*10\^\{?(-?\d+)\}?", r"\1e\2", text)
    return re.sub(
        r"(?<![\d.])\d{1,3}(?:[ \xa0,]\d{3})+(?!\d)",
        lambda n: re.sub(r"[\s,]", "", n[0]),
        text,
    )


def numbers(text):
    """The numbers of a text that a cell must show, as written; percentages as ``19 %``."""
    text = spelled(NO_RESULT.sub(" ", text))
    for match in NUMBER.finditer(text):
        number = match[0]
        is_whole = number.isdigit()
        if re.match(r"\s?\\?%", text[match.end() :]):
            yield f"{number} %"
        elif not (is_whole and (int(number) < 10 or 1900 <= int(number) <= 2030)):
            yield number


def shown_by(cell):
    """The numbers in a cell's code and output, and the values of constant expressions."""
    texts, values = [], set()
    for output in cell.outputs:
        data = output.get("data", {})
        texts += [output.get("text", ""), data.get("text/plain", "")]
        texts.append(data.get("text/markdown", ""))
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
        elif isinstance(node, ast.Constant | ast.BinOp):
            code = compile(ast.Expression(node), "", "eval")
            with contextlib.suppress(Exception):  # it has names, or isn't a number
                values.add(float(eval(code, {"__builtins__": {}})))
    return values.union(map(float, PRINTED.findall(spelled("\n".join(texts)))))


@cache
def sections(path):
    """What each section of a chapter states, by cell, and shows; ``None`` is the chapter."""
    stated, shown = [], defaultdict(set)
    title = None
    for cell in Chapter(path).cells:
        texts = [cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")]
        if cell.cell_type == "markdown":
            texts.append(cell.source)
            for level, name in re.findall(r"^(#+) (.+)$", cell.source, re.MULTILINE):
                title = None if level == "#" or name in ANYWHERE else name
        else:
            shown[title] |= shown_by(cell)
            shown[None] |= shown[title]
        stated += [(cell, title, number) for text in texts for number in numbers(text)]
    return stated, shown


def is_shown(number, shown):
    """Whether a cell shows a number that equals or rounds to this one, as a fraction for a %."""
    digits, percent, _ = number.partition(" %")
    tolerance = 0.500001 * 10.0 ** Decimal(digits).as_tuple().exponent
    scales = (1, 100) if percent else (1,)
    near = (abs(float(digits) - scale * value) for value in shown for scale in scales)
    return any(distance <= tolerance for distance in near)


@rule
def test_numbers_in_the_text_are_printed_or_asserted(chapter):
    stated, shown = sections(chapter.path)
    for cell, title, number in stated:
        is_known = number in ELSEWHERE.get(chapter.path.stem, {})
        if not is_known and not is_shown(number, shown[title]):
            cure = "print or assert it there, or list it in tests/numbers.yml"
            yield (
                cell,
                f"no cell below “{title or 'any heading'}” shows {number}: {cure}",
            )


def slug(title):
    """The anchor of a heading."""
    return default_slugify(re.sub(r"[`*$]|<[^>]*>", "", title))


def linked(text):
    """The numbers of all sections, or whole chapters, that a text links to."""
    shown = set()
    for chapter, anchor in re.findall(r"(\d\d_\w+)\.ipynb(?:#([\w-]+))?", text):
        _, by_title = sections(ROOT / f"notebooks/{chapter}.ipynb")
        titles = [title for title in by_title if title and slug(title) == anchor]
        shown |= by_title[titles[0] if titles else None]
    return shown


def others():
    """The parts of other texts, with the links whose targets must show their numbers."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md")]
    for page in pages:
        text = "" if page.stem in UNTESTED else page.read_text("utf-8")
        for part in re.split(r"^(?=#|- \"|\* - )", text, flags=re.MULTILINE):
            yield page.stem, part
    chapters = judges(ROOT)
    for row in ledger(ROOT):
        link = f"{chapters[row['id']]}.ipynb"
        yield "claims.yml", f"{row['claim']} {row.get('truth')} ]({link})"


def test_numbers_elsewhere_are_shown_by_the_chapters_they_are_linked_with():
    for name, text in others():
        shown, known = linked(text), ELSEWHERE.get(name, {})
        missing = [
            n for n in numbers(text) if n not in known and not is_shown(n, shown)
        ]
        cure = f"link to a section that shows {missing}, or fix them"
        assert not missing, f"{name}, {text[:60]}: {cure}"


def as_python(latex):
    """A formula of the ledger in the notation of Python."""
    for pattern, replacement, *_ in LATEX:
        latex = re.sub(pattern, replacement, latex)
    return latex.strip()


@pytest.mark.parametrize(("pattern", "example"), DROPPED)
def test_numbers_that_are_no_results_are_dropped(pattern, example):
    assert re.fullmatch(f"(?:{pattern}).*", example)
    assert list(numbers(example)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from 12 to 3.5", ["12", "3.5"]),
        ("9 of 10 in 2017", ["10"]),
        ("19% and $0.5\\%$", ["19 %", "0.5 %"]),
        ("twelve, not twelve-fold", ["12"]),
        ("10,000 and 10\\,000", ["10000", "10000"]),
        ("25 million", ["25e6"]),
        ("$1.5 \\cdot 10^{-3}$", ["1.5e-3"]),
        ("2.5 × 10^4", ["2.5e4"]),
        ("``a`12`` 34 `56`", ["34"]),
        ("[a number 11](x.ipynb#12)", ["11"]),
        ("x^{12} and A-12", []),
    ],
)
def test_numbers_are_read_as_they_are_written(text, expected):
    assert list(numbers(text)) == expected


@pytest.mark.parametrize(("pattern", "replacement", "example", "expected"), LATEX)
def test_each_step_from_latex_does_what_it_says(
    pattern, replacement, example, expected
):
    assert re.sub(pattern, replacement, example) == expected


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\sin(k / n^{2i/d})", "sin(k / n**(2*i/d))"),
        (r"2\pi n^{(d_{model} - 2)/d}", "2*pi*n**((d - 2)/d)"),
    ],
)
def test_formulas_become_python(latex, expected):
    assert as_python(latex) == expected


def canonical(node):
    """An expression as text, whatever its module, and base, width and position are called."""
    for part in ast.walk(node):
        for field, value in ast.iter_fields(part):
            if isinstance(value, ast.Attribute):  # np.sin
                setattr(part, field, ast.Name(value.attr))
            elif isinstance(value, ast.Constant) and value.value == 10_000:
                setattr(part, field, ast.Name("n"))
            elif isinstance(value, ast.Name):
                value.id = {"base": "n", "pos": "k", "d_model": "d"}.get(
                    value.id, value.id
                )
    return ast.unparse(node)


def test_formulas_of_the_ledger_are_evaluated_by_the_cells_that_judge_them():
    """Those with an exponent stand in the cell as an expression, so that it computes them."""
    cells = {
        claim: cell.source
        for path in NOTEBOOKS
        for cell in Chapter(path).code
        for claim in cell.metadata.get("claims", {})
    }
    for row in ledger(ROOT):
        tree = ast.parse(cells[row["id"]])
        known = {
            canonical(node) for node in ast.walk(tree) if isinstance(node, ast.expr)
        }
        text = f"{row['claim']} {row.get('truth')}"
        for latex in re.findall(r"\$([^$]+)\$", text):
            for part in re.split(r"=|\\approx", latex):
                if re.search(r"[a-z0]\^\{", part):
                    formula = canonical(ast.parse(as_python(part), mode="eval").body)
                    assert formula in known, (
                        f"{row['id']}: its cell computes no {formula}"
                    )
