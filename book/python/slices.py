"""Which cells of a chapter a cell needs, and which need torch.

A cell needs the last one above that binds a name it reads, and those between that may change the
object: with ``x[0] = 1``, ``x.append(1)`` or a draw from a random generator. The page asks for
them; the build asks which cells can't run there.
"""

import ast
import copy
import dis
import re
import symtable
from dataclasses import dataclass
from functools import cache

# Modules that Python in a page lacks.
ABSENT = ("torch", "posenc.nn", "posenc.book.experiments", "recall")
GENERATORS = {"rng", "random", "generator"}


def one_by_one(body):
    """Statements, with imports split into one name each."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                alone = copy.copy(node)
                alone.names = [alias]
                yield alone
        else:
            yield node


def absent_names(node, modules=ABSENT):
    """The names that an import binds to these modules or their parts, and what each refers to."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return {}
    package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    parts = tuple(f"{module}." for module in modules)
    names = {}
    for alias in node.names:
        module = f"{package}{alias.name}"
        if f"{module}.".startswith(parts):
            names[alias.asname or alias.name.partition(".")[0]] = module
    return names


def is_setting(node):
    """Whether a statement only sets a torch option."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("torch.set_")


@dataclass
class Cell:
    """What the choice of cells goes by."""

    bound: set[str]  # names that the cell binds
    read: set[str]  # names that it takes from the cells around it
    late: set[str]  # those of them that its functions read, only when they are called
    changed: set[str]  # names whose objects it may change in place
    imported: set[str]


def read_later(table):
    """The names of the notebook that functions and classes read, by a table of symbols."""
    names = set()
    for inner in table.get_children():
        symbols = inner.get_symbols()
        names |= {symbol.get_name() for symbol in symbols if symbol.is_global()}
        names |= read_later(inner)
    return names


def base_of(node):
    """The name that a chain of attributes and items begins with."""
    name = re.match(r"\w+(?=[.[(])", ast.unparse(node))
    return name[0] if name else ""


def changes(node):
    """Whether a part of a cell may change an object in place.

    Seen are ``x[0] = 1``, ``del x[0]``, ``x.append(1)`` and ``y = rng.random()``; not seen are
    ``last = x.pop()``, ``f(x)`` and a function's ``global x``: write such a cell in another way.
    A name that is bound below ``if`` or ``try`` counts as bound always.
    """
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Store | ast.Del)
    if isinstance(node, ast.Expr):  # x.append(1), whose value nobody takes
        call = node.value
        return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    return isinstance(node, ast.Call) and base_of(node) in GENERATORS


@cache
def understand(source):
    """Parse a cell."""
    tree = ast.parse(source)
    bound, read, imported, changed = set(), set(), set(), set()
    # The compiled code has names in the order in which they are read and bound, which the tree
    # hasn't: in `x = x + 1`, x is read first. Python 3.11 (the build) and 3.14 (Pyodide) alike use
    # these two opcodes for the names of a module, and others within functions.
    for step in dis.get_instructions(compile(tree, "a cell", "exec")):
        if step.opname == "STORE_NAME":
            bound.add(step.argval)
        elif step.opname == "LOAD_NAME" and step.argval not in bound:
            read.add(step.argval)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name for alias in node.names}
        elif changes(node):
            changed.add(base_of(node))
    late = read_later(symtable.symtable(source, "a cell", "exec")) - bound
    return Cell(bound, read | late, late, changed - bound - {""}, imported)


def needed(sources, source):
    """The numbers of the cells, among those above, that a cell needs.

    With these four cells above, ``print(total)`` needs 0, 2 and 3::

        0  x = [1]            binds x
        1  y = 2              nobody wants y
        2  x.append(3)        changes x, which 3 reads
        3  total = sum(x)     binds total, reads x

    From the last to the first: 3 binds the wanted ``total``, so ``x`` is wanted instead; 2 changes
    ``x``, which stays wanted; 0 binds it.
    """
    try:
        cells = [understand(above) for above in sources]
        first = understand(source).read
    except SyntaxError:
        return []
    # By the rule, `np.random.seed(0)` changes np, and whatever reads np would need it: so changes
    # of what is imported don't count.
    modules = set().union(*(cell.imported for cell in cells))
    # Functions read names when they are called: what binds those may follow the function. So
    # a round that chooses functions is followed by another one, until they read no more names.
    later, more = None, set()
    while more != later:
        later, chosen = more, []
        wanted = first | later
        for number, cell in reversed([*enumerate(cells)]):
            if (cell.bound | (cell.changed - modules)) & wanted:
                chosen.append(number)
                wanted = (wanted - cell.bound) | cell.read | cell.changed
        more = later.union(*(cells[number].late for number in chosen))
    return chosen[::-1]


def needing_torch(sources, tagged):
    """Whether each cell of a chapter needs torch, directly or through another cell.

    A cell that merely imports torch along with other modules doesn't: ``kernel.py`` drops that
    import, and torch's settings. Where names can't tell, as with a text that is executed, an import
    within a function, or a dict that other cells fill, tag the cell `needs-torch`; `tagged` says of
    each cell whether it is.
    """
    absent = set()  # names that can't be had
    needs = []
    for source, is_tagged in zip(sources, tagged, strict=True):
        rest = []
        for node in one_by_one(ast.parse(source).body):
            names = absent_names(node)
            absent |= names.keys()
            if not names and not is_setting(node):
                rest.append(node)
        cell = understand(ast.unparse(ast.Module(rest, [])))
        is_cut = bool(cell.read & absent) or is_tagged
        absent = absent | cell.bound if is_cut else absent - cell.bound
        needs.append(is_cut)
    return needs
