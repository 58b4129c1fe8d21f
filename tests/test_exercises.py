"""Each check of an exercise takes the book's solution and refuses wrong answers in words that help.

The wrong answers stand in ``wrong_answers.py``. Most are the book's solution with a slip in it:
what to change in the cell of the solution. A check needs few of the lines before it; which ones,
their names tell, so that no model is trained and no figure drawn here.
"""

import ast
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
import torch
from sphinx_posenc.browser_cells import bound_and_read
from wrong_answers import WRONG

ROOT = Path(__file__).parents[1]
CHAPTERS = {path.stem: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


@cache
def cells(chapter):
    return [c for c in nbformat.read(CHAPTERS[chapter], 4).cells if c.cell_type == "code"]


def checks(chapter):
    """Each check of a chapter, with the cell that defines it and the solution that calls it."""
    for number, cell in enumerate(cells(chapter)):
        for name in re.findall(r"^def (check_\w+)", cell.source, re.MULTILINE):
            yield name, number, next(c for c in cells(chapter)[number + 1 :] if name in c.source)


CHECKS = {(c, name): found for c in CHAPTERS for name, *found in checks(c)}


def answers(chapter, check):
    return WRONG.get(chapter, {}).get(check, [])


ANSWERS = [(*check, number) for check in CHECKS for number in range(len(answers(*check)))]


def names(node):
    """The names that a statement binds, changes and reads."""
    binds, reads = bound_and_read(node)
    changes = {"torch"} if ast.unparse(node).startswith("torch.set_default") else set()
    for part in [] if isinstance(node, ast.FunctionDef) else ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            changes.add(re.match(r"\w*", ast.unparse(part))[0])
        elif isinstance(part, ast.AugAssign):
            reads.add(ast.unparse(part.target))
    return binds, changes, reads


def split(source):
    """The statements of a cell, each with its names."""
    return [(node, *names(node)) for node in ast.parse(source).body]


@cache
def lines_for(chapter, check):
    """What a check and its solution need of the chapter, and no more."""
    number, solution = CHECKS[chapter, check]
    usual = [
        c for c in cells(chapter)[: number + 1] if "solution" not in c.metadata.get("tags", [])
    ]
    instead = WRONG.get(chapter, {}).get("instead", "")
    before = [line for cell in usual for line in split(cell.source)]
    after = [*split(instead), *split(solution.source)]
    called, more = set(), {check}  # What a function reads is what stands there when it is called.
    while more:
        called |= more
        kept, needed = [], set(called)
        for line in reversed([*before, *after]):
            node, binds, changes, reads = line
            if line in after or (binds | changes) & needed:
                kept.append(line)
                needed -= binds
                needed |= set() if isinstance(node, ast.FunctionDef) else reads
        functions = [line for line in kept if isinstance(line[0], ast.FunctionDef | ast.ClassDef)]
        more = {name for line in functions for name in line[3]} - called
    return "\n".join([ast.unparse(line[0]) for line in kept[::-1] if line in before] + [instead])


def give(chapter, check, answer):
    """Run what the check needs, and hand it an answer."""
    space = {"__name__": "__main__"}
    exec(lines_for(chapter, check), space)
    exec(answer, space)


def wrong_answer(chapter, check, number):
    """What somebody who makes this slip writes."""
    change = answers(chapter, check)[number][1]
    if isinstance(change, str):
        return change
    answer = CHECKS[chapter, check][1].source
    for old, new in change.items():
        assert old in answer, f"the solution of {check} has no {old!r} to change"
        answer = answer.replace(old, new)
    return answer


@pytest.fixture(autouse=True)
def _chapter(monkeypatch):
    """A chapter runs beside its data, and may set what torch does."""
    monkeypatch.chdir(ROOT / "notebooks")
    dtype, gradients = torch.get_default_dtype(), torch.is_grad_enabled()
    yield
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(gradients)


def test_every_check_has_two_wrong_answers():
    few = [check for check in CHECKS if len(answers(*check)) < 2]
    assert few == [], "tests/wrong_answers.py: give each of these two wrong answers at least"
    listed = {(c, check) for c in WRONG for check in WRONG[c] if check != "instead"}
    assert listed - set(CHECKS) == set(), "tests/wrong_answers.py: no chapter has these checks"


@pytest.mark.parametrize(("chapter", "check"), CHECKS)
def test_takes_the_solution(chapter, check):
    give(chapter, check, CHECKS[chapter, check][1].source)


@pytest.mark.parametrize(("chapter", "check", "number"), ANSWERS)
def test_refuses_a_wrong_answer_in_words_that_help(chapter, check, number):
    slip, _, says = answers(chapter, check)[number]
    with pytest.raises(AssertionError) as refusal:
        give(chapter, check, wrong_answer(chapter, check, number))
    message = str(refusal.value)
    assert refusal.traceback[-1].name == check, f"it is refused before the check: {message}"
    assert says in message, f"{slip}: {message}"
    assert len(message.split()) >= 4, f"it says only {message!r}"
