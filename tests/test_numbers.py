"""Every number in a text is printed or asserted by a cell of the same section.

A section runs from one heading to the next; numbers in the introduction and the summary may be
shown anywhere in the chapter. For a page of the book, the sections or chapters that a part links to
must show its numbers; for a row of the ledger, the chapter that judges it.

Exempt are whole numbers below ten, most numbers in words, years, versions, numbers of chapters,
figures and sections, and code. Those that no cell can show are in ``numbers.yml``, with a reason.
Signs aren't compared.
"""

import ast
import contextlib
import re
from collections import defaultdict
from decimal import Decimal
from functools import cache
from pathlib import Path

import yaml
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx_posenc.claims import judges, ledger
from test_book import CODE, claims, read, rule

ROOT = Path(__file__).parents[1]
ELSEWHERE = yaml.safe_load((ROOT / "tests" / "numbers.yml").read_text(encoding="utf-8"))
ANYWHERE = {"What you'll do", "Summary", "What comes next"}
WHOLE = None  # the title under which all numbers of a chapter stand
UNTESTED = {"CHANGELOG", "CONTRIBUTING", "SECURITY", "references", "try"}  # no results

NAMED = {"eleven": 11, "twelve": 12, "fifteen": 15, "sixteen": 16, "twenty": 20}
NAMED["fifty"] = 50
PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[-+]?\d+)?")
# Not a part of a name, of an exponent or of a range: A-12, 10^{-12}, 3-12.
NUMBER = re.compile(
    r"(?<![\w.,/^{])(?<![\w{}]-)\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w}/-]|\.\d|,\d)"
)
HEADING_OR_ANCHOR = re.compile(r'^(#+) (.+)$|<a id="([\w-]+)">', re.MULTILINE)
# What holds numbers that aren't results, taken out by one pass from left to right.
NO_RESULT = re.compile(
    r"""
      ^[ ]*(?:```|:::).*$                          # ```{figure} plot-12.svg
    | ^:\w+:.*$                                    # :width: 400
    | ^[ ]*\d+\.\s                                 # 12. Draw it.
    | (?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)  # `n = 50`
    | \[\([\d.]+\)\]\([^)]*\)                      # [(11.2)](11_x.ipynb#eq-a)
    | \[[^\]]*\]\(\#[^)]*\)                        # [12 dials](#fig-turn)
    | \]\([^)]*\)                                  # ](11_does_it_help.ipynb)
    | <[^>]*>                                      # <img width="12">
    | https?://\S+                                 # https://arxiv.org/list?skip=25
    | [Cc]hapters?\s+\d+(?:\s(?:and|to|or)\s\d+)?  # Chapters 11 to 15
    | (?:Figure|Table|(?i:equation|section|exhibit)|Exercise)\s\(?[\d.]+\)?  # Figure 11.
    | (?:Python|Llama|CC[ ]BY|\[version)\s\d+\.\d+ # Python 3.11
    | (?:fifteen\sminutes|Twenty\squestions)       # Twenty questions
    """,
    re.MULTILINE | re.VERBOSE,
)


def spelled(text):
    """Convert numbers such as twelve, 10 000, 10\\,000 and 1e−3 to Python's notation."""
    for name, number in NAMED.items():
        text = re.sub(rf"(?i)\b{name}\b", str(number), text)
    for written, plain in [("−", "-"), ("{,}", ""), ("\\,", " "), ("\u202f", " ")]:
        text = text.replace(written, plain)
    text = re.sub(r"\b(\d\d+) million", r"\1e6", text)
    text = re.sub(r"(\d)\s*(?:\\cdot|·|×|\\times)\s*10\^\{?(-?\d+)\}?", r"\1e\2", text)
    return re.sub(r"(?<![\d.])(\d{1,3})((?:[ \xa0,]\d{3})+)(?!\d)", joined, text)


def joined(thousands):
    """10 000 without its space."""
    return thousands[1] + re.sub(r"\D", "", thousands[2])


def numbers(text):
    """The numbers of a text that a cell must show, as written; percentages as ``19 %``."""
    text = spelled(NO_RESULT.sub(" ", text))
    for match in NUMBER.finditer(text):
        number = match[0]
        is_small_or_year = number.isdigit() and (
            int(number) < 10 or 1900 <= int(number) <= 2030
        )
        if re.match(r"\s?\\?%", text[match.end() :]):
            yield f"{number} %"
        elif not is_small_or_year:
            yield number


def shown_by(cell):
    """The numbers in a cell's code and output, and the values of constant expressions."""
    texts, values = [], set()
    for output in cell.outputs:
        data = output.get("data", {})
        texts += [output.get("text", ""), data.get("text/plain", "")]
        texts.append(data.get("text/markdown", ""))
    # A cell asserts "== 2 * 10_000 / 3": the values of such expressions are shown, too.
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
        elif isinstance(node, ast.Constant | ast.BinOp):
            code = compile(ast.Expression(node), "", "eval")
            with contextlib.suppress(Exception):  # it has names, or isn't a number
                values.add(abs(float(eval(code, {"__builtins__": {}}))))
    return values.union(map(float, PRINTED.findall(spelled("\n".join(texts)))))


@cache
def sections(path):
    """What each section of a chapter states, by cell, and shows, and the section of anchors.

    Sections are known by their titles; `WHOLE` is the chapter.
    """
    stated, shown, places = [], defaultdict(set), {}
    title = WHOLE
    for cell in read(path).cells:
        texts = [cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")]
        if cell.cell_type == "markdown":
            texts.append(cell.source)
            for level, name, anchor in HEADING_OR_ANCHOR.findall(cell.source):
                if not level:  # of a figure, an equation, or an exercise
                    places[anchor] = WHOLE
                    continue
                title = WHOLE if level == "#" or name in ANYWHERE else name
                slug = default_slugify(re.sub(r"[`*$]|<[^>]*>", "", name))
                places[slug] = title
        else:
            shown[title] |= shown_by(cell)
            shown[WHOLE] |= shown[title]
        stated += [(cell, title, number) for text in texts for number in numbers(text)]
    return stated, shown, places


def is_shown(number, shown):
    """Whether a cell shows a number that equals or rounds to this one, as a fraction for a %."""
    digits, percent, _ = number.partition(" %")
    # A text may round: 0.62 stands for 0.615 to 0.625, 19 % for 0.185 to 0.195.
    tolerance = 0.500001 * 10.0 ** Decimal(digits).as_tuple().exponent
    scales = (1, 100) if percent else (1,)
    near = (abs(float(digits) - scale * value) for value in shown for scale in scales)
    return any(distance <= tolerance for distance in near)


@rule
def test_numbers_in_the_text_are_printed_or_asserted(chapter):
    stated, shown, _ = sections(chapter.path)
    known = ELSEWHERE.get(chapter.path.stem, {})
    for cell, title, number in stated:
        if number not in known and not is_shown(number, shown[title]):
            place = f"no cell below “{title or 'any heading'}” shows {number}"
            yield cell, f"{place}: print or assert it there, or list it in numbers.yml"


def linked(text):
    """The numbers of all sections, or whole chapters, that a text links to.

    A section without numbers in its cells stands for its chapter. A KeyError names an anchor
    that the chapter doesn't have.
    """
    shown = set()
    for chapter, anchor in re.findall(r"(\d\d_\w+)\.ipynb(?:#([\w-]+))?", text):
        _, by_title, places = sections(ROOT / f"notebooks/{chapter}.ipynb")
        title = places[anchor] if anchor else WHOLE
        shown |= by_title[title] or by_title[WHOLE]
    return shown


def parts_of_pages():
    """The parts of other texts, with the links whose targets must show their numbers."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md")]:
        text = "" if page.stem in UNTESTED else page.read_text("utf-8")
        for part in re.split(r"^(?=#|- \"|\* - )", text, flags=re.MULTILINE):
            yield page.stem, part
    chapters = judges(ROOT)
    for row in ledger(ROOT):
        link = f"{chapters[row['id']]}.ipynb"
        yield "claims.yml", f"{row['claim']} {row.get('truth')} ]({link})"


def test_numbers_elsewhere_are_shown_by_the_chapters_they_are_linked_with():
    for name, text in parts_of_pages():
        shown, known = linked(text), ELSEWHERE.get(name, {})
        others = [number for number in numbers(text) if number not in known]
        missing = [number for number in others if not is_shown(number, shown)]
        cure = f"link to a section that shows {missing}, or fix them"
        assert not missing, f"{name}, {text[:60]}: {cure}"


# The pattern that decides, a text, and the numbers that are read of it.
AS_READ = """
numbers   | 12 to 3.5, 9 of 10 in 2017, 2031     | 12 3.5 10 2031
numbers   | 19% and $0.5\\%$, 7 %                | 19% 0.5% 7%
NUMBER    | −1.25, $-0.5$, $x = -12$             | 1.25 0.5 12
NUMBER    | 1e-3, 1e−4, 12.                      | 1e-3 1e-4 12
NUMBER    | A12, A-13, v1.12, x,12, 1/12         |
NUMBER    | x^12, x^{12 k}, x^{-12 k}, y_{n}-12  |
NUMBER    | 12th, n_{k + 12}, 12/x, 12-fold      |
NUMBER    | 11.12.13; 14,15                      |
spelled   | twenty, Fifty, twelve-fold           | 20 50
spelled   | 11{,}000; 11\\,000; 11\u202f000       | 11000 11000 11000
spelled   | 10,000; 10 000; 1,234,567; 1.5 000   | 10000 10000 1234567 1.5
spelled   | 11\xa0000                            | 11000
spelled   | 25 million                           | 25e6
spelled   | 1.5 \\cdot 10^{-3}, 2.5·10^4          | 1.5e-3 2.5e4
spelled   | 2.5 × 10^4, $3 \\times 10^{12}$       | 2.5e4 3e12
NO_RESULT | ``a`12`` 34 `56` {term}`base 78`     | 34
NO_RESULT | [a number 14](x.ipynb#12)            | 14
"""


def test_numbers_are_read_as_they_are_written():
    for example in AS_READ.strip().splitlines():
        _, text, as_read = example.split(" |")
        read_here = " ".join(numbers(text)).replace(" %", "%")
        assert read_here.split() == as_read.split(), example


def test_what_holds_no_result_is_left_out():
    samples = re.findall(" # (.+)", NO_RESULT.pattern)
    assert [*numbers("\n".join(samples))] == []


def as_python(latex):
    """A formula of the ledger in the notation of Python."""
    for pattern, replacement in [
        (r"\\,|_\{model\}", ""),
        (r"\\(sin|cos|pi)", r" \1 "),
        (r"\^\{", "**("),
        (r"\}", ")"),
        (r"(?<=[\d)]) *(?=[a-z(])|(?<=pi) +(?=[a-z])", "*"),  # 2k
        (r"(sin|cos) *\*? *\(", r"\1("),  # a call isn't a product
    ]:
        latex = re.sub(pattern, replacement, latex)
    return latex.strip()


def canonical(node):
    """An expression as text, whatever its module, and base, width and position are called."""
    text = re.sub(r"\b(?:np|math|torch)\.", "", ast.unparse(node))
    for name, letter in [("base|10000", "n"), ("pos", "k"), ("d_model", "d")]:
        text = re.sub(rf"\b({name})\b", letter, text)
    return text


def test_formulas_of_the_ledger_are_evaluated_by_the_cells_that_judge_them():
    """Those with an exponent stand in the cell as an expression, so that it computes them."""
    formulas = (
        r"10\,000^{2k/d}, 2\pi n^{(d_{model} - 2)/d}, \sin(2k), \cos (k), (2k)(d)^{2}"
    )
    read_as = "10000**(2*k/d), 2*pi*n**((d - 2)/d), sin(2*k), cos(k), (2*k)*(d)**(2)"
    assert re.sub(" +", " ", as_python(formulas)) == read_as
    judging = {claim: cell for cell in CODE for claim in claims(cell)}
    for row in ledger(ROOT):
        nodes = ast.walk(ast.parse(judging[row["id"]].source))
        known = {canonical(node) for node in nodes if isinstance(node, ast.expr)}
        statement = f"{row['claim']} {row.get('truth')}"
        parts = re.split(r"[$=]|\\approx", statement)
        for part in filter(re.compile(r"[a-z0]\^\{").search, parts):
            formula = canonical(ast.parse(as_python(part), mode="eval").body)
            assert formula in known, f"{row['id']}: its cell computes no {formula}"
