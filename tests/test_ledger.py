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
    assert list(rows - judged) == [], "no cell has them under `claims`: see claims.yml"
    assert list(judged - rows) == [], "book/claims.yml has no such row, once"


def test_each_claim_that_fails_has_what_is_true_instead():
    for row in ledger(ROOT):
        assert ("truth" in row) == (row["verdict"] != "holds"), row["id"]


# How formulas are compared: \sin(k/n^{2i/d}) of the ledger, and np.sin(k / base ** (2 * i / d)) of
# a cell, are both sin(k/n^(2i/d)).
SAME = {
    r"\\,|_\{?model\}?": "",  # 10\,000, d_{model}
    r"\b(np|math|torch)\.": "",
    r"\b(base|10000)\b": "n",
    r"\bpos\b": "k",
    r"\*\*": "^",
    r"\{": "(",
    r"\}": ")",
    r"[\\* ]": "",
}


def plain(formula):
    for pattern, replacement in SAME.items():
        formula = re.sub(pattern, replacement, formula)
    return formula


def test_formulas_are_evaluated_by_the_cells_that_judge_them():
    """Those with an exponent stand in the cell as an expression, so that it computes them."""
    judging = {claim: cell for cell in CODE for claim in claims(cell)}
    for row in ledger(ROOT):
        nodes = ast.walk(ast.parse(judging[row["id"]].source))
        computed = {plain(ast.unparse(node)) for node in nodes}
        statement = f"{row['claim']} {row.get('truth')}"
        for part in re.split(r"[$=]|\\approx", statement):
            if re.search(r"[a-z0]\^\{", part):
                assert plain(part) in computed, f"{row['id']}: compute {part}"
