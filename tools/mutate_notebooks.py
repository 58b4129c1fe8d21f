"""Put one error into a chapter at a time and see whether the chapter notices: `make mutants`.

    python tools/mutate_notebooks.py notebooks/05_heatmaps.ipynb

A mutant is one small error in one code cell: another operator, constant, index, axis, name or
word, sine for cosine. It is killed if a cell raises, prints something else than what is stored,
draws another picture, or takes ten times as long. Cells run in a fork of a process that has run
those before, so that a mutant costs only what follows it. Which mutants are drawn depends on their
own text alone: an edit elsewhere leaves most of them. Survivors that change nothing a reader sees
are listed in tools/mutants.toml with the reason.

A cell that judges a claim of the documents must fail if the claim is turned around: all contraries
of each of its assertions (tools/contraries.py) are tried in one run of the cell, and those for
which the assertion failed at least once are killed.
"""

import ast
import copy
import hashlib
import multiprocessing
import os
import re
import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path

# Before anything imports numpy or torch: a fork keeps no threads.
os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}

import contraries
import nbformat
import pictures
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import publish_display_data
from IPython.utils.capture import capture_output
from traitlets.config import Config

CLAIM = re.compile(r"S[0-4]-[a-z0-9-]+")
LISTED = Path(__file__).with_name("mutants.toml")
DRAWN = 13
SLOW = {"11_does_it_help": 8}  # a minute each
SWAPS = [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.Lt, ast.Gt), (ast.LtE, ast.GtE)]
OPERATORS = {a: b for pair in [*SWAPS, (ast.Eq, ast.NotEq)] for a, b in (pair, pair[::-1])}
OPERATORS |= {ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.Is: ast.IsNot, ast.In: ast.NotIn}
OPERATORS |= {ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv}
BINDS = {ast.Add: 1, ast.Sub: 1, ast.Mult: 2, ast.Div: 2, ast.FloorDiv: 2, ast.Mod: 2, ast.Pow: 3}
NAMES = [("sin", "cos"), ("min", "max"), ("seq_len", "d_model"), ("n", "d")]
OTHER = {a: b for pair in NAMES for a, b in (pair, pair[::-1])}
WORDS = {"xlabel", "ylabel", "title", "label", "set_title", "set_xlabel", "set_ylabel"}
# What only looks change with, what a check tolerates, and seeds are no claims of a chapter.
COSMETIC = {"alpha", "linewidth", "fontsize", "figsize", "markersize", "s", "rtol", "atol", "tol"}
SEEDS = {"manual_seed", "default_rng", "RandomState", "seed", "random_state", "generator"}


class Echo(DisplayHook):
    """The value of a cell's last line, shown as `display` would."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        publish_display_data(format_dict)


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def children(node):
    """What may be mutated below a node: no assertion, nothing cosmetic, no seed, no format."""
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in COSMETIC | SEEDS:
            continue
        if isinstance(node, ast.Call) and called(node) in SEEDS:
            continue
        if isinstance(node, ast.FormattedValue) and child is node.format_spec:
            continue
        yield child


def variants(node, parent, names):
    """Kind of error, and what it makes of a node; `names` are those that the cell knows."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield "operator", ast.BinOp(left, OPERATORS[type(op)](), right)
            outer = BINDS.get(type(op), 9)
            if isinstance(left, ast.BinOp) and BINDS.get(type(left.op), 9) < outer < 9:
                yield "grouping", ast.BinOp(left.left, left.op, ast.BinOp(left.right, op, right))
            if isinstance(right, ast.BinOp) and BINDS.get(type(right.op), 9) <= outer < 9:
                yield "grouping", ast.BinOp(ast.BinOp(left, op, right.left), right.op, right.right)
        case ast.Compare(left, [op], [right]) if type(op) in OPERATORS:
            yield "comparison", ast.Compare(left, [OPERATORS[type(op)]()], [right])
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield "sign", operand
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            if getattr(parent, "arg", "") in ("axis", "dim") and value in (0, 1):
                yield "axis", ast.Constant(1 - value)
            else:
                changed = {2: 1, 10_000: 1_000}.get(value, value + 1)
                yield "constant", ast.Constant(type(value)(changed))
        case ast.Constant(str(value)):
            where = called(parent) if isinstance(parent, ast.Call) else getattr(parent, "arg", "")
            if where in WORDS:
                yield "word", ast.Constant(f"not {value}")
        case ast.Name(name, ast.Load()) if OTHER.get(name) in names:
            yield "name", ast.Name(OTHER[name], ast.Load())
        case ast.Attribute(value, "T"):
            yield "axis", value
        case ast.Attribute(value, name) if name in OTHER:
            yield "name", ast.Attribute(value, OTHER[name], ast.Load())
    if isinstance(parent, ast.Subscript) and node is parent.slice and isinstance(node, ast.Name):
        yield "index", ast.BinOp(node, ast.Add(), ast.Constant(1))


def mutants(source, variants=variants):
    """Each mutant of a cell: kind, description, new source."""
    tree = ast.parse(source)
    lines = source.splitlines()
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}

    def visit(node):
        for child in children(node):
            for kind, variant in variants(child, node, names):
                field, position = next(
                    (f, i)
                    for f, value in ast.iter_fields(node)
                    for i, item in enumerate(value if isinstance(value, list) else [value])
                    if item is child
                )
                old = getattr(node, field)
                several = isinstance(old, list)
                new = [*old[:position], variant, *old[position + 1 :]] if several else variant
                setattr(node, field, new)
                code = ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
                setattr(node, field, old)
                line = lines[child.lineno - 1].strip()
                yield kind, f"{line}: {ast.unparse(child)} → {ast.unparse(variant)}", code
            yield from visit(child)

    return list(visit(tree))


def draw(cells, count, variants=variants):
    """Mutants by cell number, kinds in turn; which ones of a kind, their texts' hashes say."""
    kinds = defaultdict(dict)
    for number, cell in enumerate(cells):
        for kind, text, code in mutants(cell.source, variants):
            kinds[kind].setdefault(text, (number, code))
    ranked = []
    for kind in kinds.values():
        order = sorted(kind, key=lambda text: hashlib.sha256(f"1 {text}".encode()).digest())
        ranked += [(rank, text, kind[text]) for rank, text in enumerate(order)]
    drawn = defaultdict(list)
    for _, text, (number, code) in sorted(ranked)[:count]:
        drawn[number].append((text, code))
    return drawn


def trouble(shell, cell, source):
    """What is wrong with a cell's outcome, compared as nbval and conftest.py do; or nothing."""
    with capture_output() as captured:
        result = shell.run_cell(source)
    if not result.success:
        return repr(result.error_before_exec or result.error_in_exec)[:100]
    fresh = [nbformat.from_dict({"data": rich.data}) for rich in captured.outputs]
    shown = [[o.data["text/plain"] for o in side if "data" in o] for side in (cell.outputs, fresh)]
    if shown[0] != shown[1]:
        return f"shows {shown[1]}"
    for name, now in [("stdout", captured.stdout), ("stderr", captured.stderr)]:
        was = "".join(o.text for o in cell.outputs if o.get("name") == name)
        if was != now and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            return f"prints {now[:60]!r}"
    return pictures.changed(cell, fresh).partition("\n")[0]


def rest(shell, cells, number, source, told):
    """Run a cell with another source, and those after it, until something is wrong."""
    for i, cell in enumerate(cells[number:], number):
        found = trouble(shell, cell, source if i == number else cell.source)
        if found:
            told.send(f"cell {i}: {found}")
            return
    told.send("")


def turned(shell, source, told):
    """Run a cell with the contraries of its assertions; send those that never failed."""
    source, texts = contraries.turn(source)
    alive = dict(enumerate(texts))

    def attempt(tests):
        for key, test in tests:
            if key in alive and not test():
                del alive[key]

    shell.user_ns |= contraries.HELPERS | {"_try": attempt}
    with capture_output():
        result = shell.run_cell(source)
    error = result.error_before_exec or result.error_in_exec
    told.send((repr(error)[:200] if error else "", len(texts), [*alive.values()]))


def fate(seconds, target, *arguments):
    """What a function finds in a fork of this process."""
    fork = multiprocessing.get_context("fork")
    listen, told = fork.Pipe(duplex=False)
    child = fork.Process(target=target, args=(*arguments, told))
    child.start()
    told.close()
    try:
        return listen.recv() if listen.poll(seconds) else "takes too long"
    except EOFError:
        return "the process dies"
    finally:
        child.kill()
        child.join()


def judges(cell):
    """Whether a cell asserts a claim of the ledger."""
    return any(CLAIM.fullmatch(tag) for tag in cell.metadata.get("tags", []))


def judge(shell, cell, seconds):
    """How many contraries the assertions of a cell have, and those that it doesn't notice."""
    found = fate(seconds, turned, shell, cell.source)
    if isinstance(found, str) or found[0]:
        sys.exit(f"the contraries of this cell can't be tried, {found}:\n{cell.source}")
    return found[1:]


def main(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    listed = {m["text"] for m in tomllib.loads(LISTED.read_text())["notebooks"].get(path.stem, [])}
    drawn = draw(cells, SLOW.get(path.stem, DRAWN))
    judging = [number for number, cell in enumerate(cells) if judges(cell)]
    os.chdir(path.parent)
    settings = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell.instance(config=settings, displayhook_class=Echo)
    started, survivors, tried = time.monotonic(), [], 0
    found = fate(600, rest, shell, cells, 0, cells[0].source)
    seconds = 10 * (time.monotonic() - started) + 10
    if found:
        sys.exit(f"{path.stem} itself fails: {found}")
    last = max([*drawn, *judging])
    for number, cell in enumerate(cells[: last + 1]):
        for text, code in drawn[number]:
            killed = fate(seconds, rest, shell, cells, number, code)
            survivors += [] if killed else [text]
            print(f"{path.stem} {number}: {text} | {killed or 'SURVIVES'}", flush=True)
        if number in judging:
            count, alive = judge(shell, cell, seconds)
            tried, survivors = tried + count, survivors + alive
            for text in alive:
                print(f"{path.stem} {number}: {text} | SURVIVES", flush=True)
        if number < last:
            trouble(shell, cell, cell.source)
    # The control: without an error, a late fork finds none.
    found = fate(seconds, rest, shell, cells, last, cells[last].source)
    if found:
        sys.exit(f"{path.stem} fails in a fork: {found}")
    total = sum(map(len, drawn.values())) + tried
    killed = f"{total - len(survivors)} of {total} killed, {len(listed)} listed"
    print(f"{path.stem}: {killed}; {tried} are contraries, of {len(judging)} cells")
    new, gone = set(survivors) - listed, listed - set(survivors)
    if new or gone:
        sys.exit(
            f"{path.stem}: survives and isn't listed: {new or '-'}; listed only: {gone or '-'}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
