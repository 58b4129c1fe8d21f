"""Every contrary of an assertion: what must fail where a claim is true.

An assertion is negated, each of its comparisons swapped, and what is compared is moved: a stated
number by one in its last digit, what a tolerance is allowed for by three times the tolerance, the
last number of a table by one, a bound by a factor of ten. (Bounds of rounding errors aren't moved:
no document says how small such an error is.)
"""

import ast
import copy

import numpy as np

TURNED = {ast.Lt: [ast.Gt, ast.GtE], ast.LtE: [ast.Gt, ast.GtE]}
TURNED |= {ast.Gt: [ast.Lt, ast.LtE], ast.GtE: [ast.Lt, ast.LtE]}
PAIRS = [(ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)]
TURNED |= {a: [b] for pair in PAIRS for a, b in (pair, pair[::-1])}
BOUNDS = tuple(TURNED)[:4]
ROUNDING = 1e-4
EQUAL = {"array_equal", "equal", "printed"}
# How the tolerances are called, and what they are if not given.
CLOSE = {name: {"rtol": 1e-5, "atol": 1e-8} for name in ("isclose", "allclose")}
CLOSE["math.isclose"] = {"rel_tol": 1e-9, "abs_tol": 0.0}


def moved(value):
    """Something other than a value: the last number of a table is another."""
    if hasattr(value, "reshape") and value.shape:
        changed = value.clone() if hasattr(value, "clone") else value.copy()
        changed.reshape(-1)[-1:] = changed.reshape(-1)[-1:] + 1
        return changed
    match value:
        case list() | tuple():
            return type(value)([*value[:-1], moved(value[-1])])
        case set():
            return {*value, "another"}
        case bool() | np.bool_():
            return not value
        case str():
            return f"not {value}"
    return value + 1


def beyond(value, relative, absolute):
    """A value, or all of a table, three times as far away as is tolerated."""
    value = value if hasattr(value, "clone") else np.asarray(value)
    return value + 3 * (absolute + relative * abs(value))


def tightened(value, up):
    """A bound ten times as strict; `up` says whether it moves up."""
    return value * (0.1 + 9.9 * ((value > 0) == up))


HELPERS = {"_moved": moved, "_beyond": beyond, "_tightened": tightened}


def call(name, *arguments):
    """The call of a helper."""
    given = [a if isinstance(a, ast.AST) else ast.Constant(a) for a in arguments]
    return ast.Call(ast.Name(name, ast.Load()), given, [])


def stated(node):
    """The constants that a side of a comparison states, not those that it hands to a function."""
    match node:
        case ast.Constant(int() | float() | str()):
            yield node
        case ast.BinOp(left, _, right):
            yield from [*stated(left), *stated(right)]
        case ast.UnaryOp(_, operand):
            yield from stated(operand)
        case ast.List(items) | ast.Tuple(items) | ast.Set(items) | ast.Dict(_, items):
            for item in items:
                yield from stated(item)


def next_to(value):
    """Another constant, as near as its digits allow."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            digits, _, power = repr(value).partition("e")
            return value + 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return f"not {value}"


def of_sides(left, op, right, holds):
    """What moves a side of a comparison so far that it shouldn't hold."""
    if isinstance(op, ast.Eq if holds else ast.NotEq):
        found = [*stated(left), *stated(right)]
        yield from ((node, ast.Constant(next_to(node.value))) for node in found)
        if not found:
            yield right, call("_moved", right)
    elif isinstance(op, BOUNDS):
        rising = isinstance(op, BOUNDS[:2]) == holds
        for side, up in [(left, rising), (right, not rising)]:
            numbers = [node.value for node in stated(side)]
            if numbers and min(numbers) >= ROUNDING:
                yield side, call("_tightened", side, up)


def contraries(node, holds=True):
    """Each contrary of a condition that holds, or doesn't: what it replaces, and by what."""
    match node:
        case ast.Compare(left, ops, rights):
            sides = [left, *rights]
            for i, op in enumerate(ops):
                for other in TURNED[type(op)]:
                    yield node, ast.Compare(left, [*ops[:i], other(), *ops[i + 1 :]], rights)
                yield from of_sides(sides[i], op, sides[i + 1], holds)
        case ast.BoolOp(_, values):
            yield from ((value, ast.UnaryOp(ast.Not(), value)) for value in values)
        case ast.Call(func, [_, second, *_], keywords) if holds:
            name = getattr(func, "attr", getattr(func, "id", ""))
            known = CLOSE.get(ast.unparse(func), CLOSE.get(name))
            if known:
                given = known | {k.arg: k.value for k in keywords}
                yield second, call("_beyond", second, *[given[key] for key in known])
            elif name in EQUAL:
                yield second, call("_moved", second)
    for child in ast.iter_child_nodes(node):
        yield from contraries(child, holds != isinstance(getattr(node, "op", None), ast.Not))


def turn(source):
    """A cell that hands the contraries of each assertion to `_try` first, and their texts."""
    tree, lines, texts = ast.parse(source), source.splitlines(), []

    class Turn(ast.NodeTransformer):
        def visit_Assert(self, node):
            tried = {}
            negated = ast.UnaryOp(ast.Not(), node.test)
            for old, new in [(node.test, negated), *contraries(node.test)]:
                code = ast.unparse(copy.deepcopy(node.test, {id(old): new}))
                line = lines[node.lineno - 1].strip()
                tried.setdefault(code, f"{line}: {ast.unparse(old)} → {ast.unparse(new)}")
            first = len(texts)
            texts.extend(tried.values())
            lambdas = ", ".join(f"({first + i}, lambda: {c})" for i, c in enumerate(tried))
            return [*ast.parse(f"_try([{lambdas}])").body, node]

    return ast.unparse(ast.fix_missing_locations(Turn().visit(tree))), texts
