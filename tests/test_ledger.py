"""The ledger says what cells assert: each claim's verdict, and its formulas."""

import ast
import re
from collections import Counter

from reading import NOTEBOOKS, ROOT, claims, read, rule
from sphinx_posenc.claims import ledger
from sphinx_posenc.myst_markup import CLAIM

CODE = [cell for path in NOTEBOOKS for cell in read(path).code]


@rule
def test_boxes_judge_what_the_chapter_asserts(chapter):
    judged = {claim for cell in chapter.code for claim in claims(cell)}
    for claim in judged ^ {*CLAIM.findall(chapter.text)}:
        yield None, f"{claim}: name it in a box, and under `claims` of a cell"
    for cell in chapter.code:
        if claims(cell) and not re.search(r"\bassert", cell.source):
            yield cell, "judges a claim, but asserts nothing: add the assertion"


def test_each_claim_is_on_one_cell_with_the_verdict_of_its_row():
    # Pairs are counted: a claim on two cells, or in two rows, is left over on one side.
    rows = Counter((row["id"], row["verdict"]) for row in ledger(ROOT))
    judged = Counter(pair for cell in CODE for pair in claims(cell).items())
    message = (
        "in book/claims.yml, but under no cell's `claims`, or with another verdict"
    )
    assert list(rows - judged) == [], message
    assert list(judged - rows) == [], "of a cell: book/claims.yml has no such row, once"


def test_each_claim_that_fails_has_what_is_true_instead():
    for row in ledger(ROOT):
        assert ("truth" in row) == (row["verdict"] != "holds"), row["id"]


# Formulas of the ledger in the notation of Python; in this order.
AS_PYTHON = {
    r"\\,|_\{model\}": "",  # 10\,000, d_{model}
    r"\\(sin|cos|pi)": r" \1 ",
    r"\^\{": "**(",
    r"\}": ")",
    r"(?<=[\d)]) *(?=[a-z(])|(?<=pi) +(?=[a-z])": "*",  # 2k
    r"(sin|cos) *\*? *\(": r"\1(",  # a call isn't a product
}
# Modules, and names for base, width and position, as the ledger has them.
AS_IN_THE_LEDGER = {
    r"\b(np|math|torch)\.": "",
    r"\b(base|10000)\b": "n",
    r"\bpos\b": "k",
    r"\bd_model\b": "d",
}


def replaced(text, patterns):
    for pattern, replacement in patterns.items():
        text = re.sub(pattern, replacement, text)
    return text


def canonical(node):
    """An expression as text, whatever its module, base, width and position are called."""
    return replaced(ast.unparse(node), AS_IN_THE_LEDGER)


def expression(latex):
    code = replaced(latex, AS_PYTHON).strip()
    return canonical(ast.parse(code, mode="eval").body)


AS_READ = {  # as in the ledger, and in Python
    r"2\pi n^{(d-2)/d}": "2 * pi * n ** ((d - 2) / d)",
    r"\sin(k/n^{2i/d})": "sin(k / n ** (2 * i / d))",
    r"\cos(pos/10\,000^{i - 1/d_{model}})": "cos(k / n ** (i - 1 / d))",
    r"3 \cos(2/10000^{2/4})": "3 * cos(2 / n ** (2 / 4))",
}


def test_formulas_are_read_as_python():
    assert {latex: expression(latex) for latex in AS_READ} == AS_READ


def test_formulas_are_evaluated_by_the_cells_that_judge_them():
    """Those with an exponent stand in the cell as an expression, so that it computes them."""
    judging = {claim: cell for cell in CODE for claim in claims(cell)}
    for row in ledger(ROOT):
        nodes = ast.walk(ast.parse(judging[row["id"]].source))
        known = {canonical(node) for node in nodes if isinstance(node, ast.expr)}
        statement = f"{row['claim']} {row.get('truth')}"
        for part in re.split(r"[$=]|\\approx", statement):
            if re.search(r"[a-z0]\^\{", part):
                formula = expression(part)
                assert formula in known, f"{row['id']}: its cell computes no {formula}"
