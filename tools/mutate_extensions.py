"""Put one error into an extension at a time and see whether a test of the small site notices.

    python tools/mutate_extensions.py [book/_ext/folds.py …]

A mutant is one small error: those of `mutate_notebooks`, another text or pattern, a condition
turned around, a step left out, an option that is not given. Which ones are drawn depends on their
own text alone. Each builds the small site (tests/small_site.py) in a fork of a process that has
loaded all that a build needs. One that changes no page, picture or download counts for nothing. Of
the others at least nine in ten must fail a test, and the rest is listed in tools/mutants.toml with
the reason.

Pages are built as Sphinx writes them, but for errors in `optimization`, which is what makes them
light: it runs again over the site that was built before.
"""

import ast
import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import io
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[1]
EXTENSIONS = ROOT / "book" / "_ext"
sys.path[:0] = [str(ROOT / "tests"), str(EXTENSIONS)]

import mutate_notebooks
import pytest
import small_site
from sphinx.application import builtin_extensions
from sphinx.cmd.build import build_main

LISTED = Path(__file__).with_name("mutants.toml")
NAMES = [path.stem for path in sorted(EXTENSIONS.glob("*.py"))]
FEW, LINES = 4, 15  # mutants of a module: a few, and one for so many lines
SHARE = 0.9  # of the mutants that change a page
SECONDS = 120
RAW = ("-D", "html_optimized=0")
PAGES, LIGHT = ["test_pages.py", "test_markdown.py"], ["test_light.py", "-k", "not look"]


def variants(node, parent, names):
    """Kind of error, and what it makes of a node: those of a chapter's code, and more."""
    if "logger" in ast.unparse(getattr(parent, "func", node)):
        return  # a warning is on no page
    for kind, variant in mutate_notebooks.variants(node, parent, names):
        if kind not in ("name", "index"):  # of formulas
            yield kind, variant
    tests = [*getattr(parent, "ifs", []), getattr(parent, "test", None)]
    if any(node is test for test in tests) and not isinstance(node, ast.Compare | ast.UnaryOp):
        yield "condition", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Constant(str(value)) if not isinstance(parent, ast.Expr):
            pattern = isinstance(parent, ast.Call) and "re" in ast.unparse(parent.func)
            words = re.findall(r"[a-z]{2,}", value)
            if pattern and len(value) > 3:
                yield "pattern", ast.Constant(value[:-1] if value[-1].isalnum() else f"{value}x")
            elif words:
                longest = max(words, key=len)
                yield "text", ast.Constant(value.replace(longest, f"{longest}x", 1))
            elif value:
                yield "text", ast.Constant("")
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "condition", ast.BoolOp(other, values)
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "step", ast.Pass()
        case ast.Call(function, arguments, [*options, _]):
            yield "option", ast.Call(function, arguments, options)


def drawn(name):
    """The mutants of a module: text, and source."""
    source = (EXTENSIONS / f"{name}.py").read_text("utf-8")
    count = FEW + len(source.splitlines()) // LINES
    cells = [SimpleNamespace(source=source)]
    return mutate_notebooks.draw(cells, count, variants)[0]


class Mutated(importlib.machinery.SourceFileLoader):
    """Loads an extension from another source."""

    source = ""

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == cls.name:
            return importlib.util.spec_from_loader(name, cls(name, str(EXTENSIONS / f"{name}.py")))
        return None


def put_in(name, source):
    """Let this process load all extensions anew, one of them with an error."""
    for loaded in NAMES:
        sys.modules.pop(loaded, None)
    Mutated.name, Mutated.source = name, source
    sys.meta_path.insert(0, Mutated)


def forked(function, *arguments):
    """What a function returns in a fork of this process, or how it ended there."""
    listen, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        os.close(listen)
        try:
            answer = function(*arguments)
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(told, answer.encode()[:4000])
        os._exit(0)
    os.close(told)
    with os.fdopen(listen, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    return answer if os.waitpid(pid, 0)[1] == 0 else "the process dies, or takes too long"


@contextlib.contextmanager
def silence():
    """Keep what is printed."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        yield said


def sphinx(source, built, options, variables):
    """Build the small site in this process. Return what is wrong."""
    os.environ |= small_site.PUBLISHED | variables
    warnings.simplefilter("ignore")  # pytest makes errors of them, Sphinx doesn't
    with silence() as said:
        arguments = ["-q", "-W", "-d", f"{built}-trees", *options, str(source), str(built)]
        status = build_main(arguments)
    return said.getvalue()[-500:] if status else ""


def build(source, built, *options, **variables):
    """In place of `small_site.build`: what is there, or a build in a fork of this process."""
    if not built.exists() and (problem := forked(sphinx, source, built, options, variables)):
        raise RuntimeError(" ".join(problem.split()))
    return built


def make(folder, name, source):
    """Build a site with an error. Return what is wrong."""
    put_in(name, source)
    if name != "optimization":
        return sphinx(folder / "source", folder / "html", RAW, {})
    shutil.copytree(folder / "raw", folder / "html")
    importlib.import_module(name).lighten(folder / "html")
    return ""


def test(folder, name, source):
    """The first test that fails on a site with an error, or nothing."""
    put_in(name, source)
    small_site.write, small_site.build = lambda _: folder / "source", build
    mktemp = pytest.TempPathFactory.mktemp
    pytest.TempPathFactory.mktemp = lambda self, name, *more, **options: (
        folder if name == "site" else mktemp(self, name, *more, **options)
    )
    os.chdir(ROOT / "tests")
    with silence() as said:
        files = LIGHT if name == "optimization" else PAGES
        options = ["-qx", "-pno:cacheprovider", "--override-ini=addopts=", "--tb=line"]
        status = pytest.main([*options, "--color=no", *files])
    failed = re.search(r"^(?:FAILED|ERROR) .*?::(.*)", said.getvalue(), re.MULTILINE)
    return (failed[1] if failed else said.getvalue()[-1000:]) if status else ""


def contents(site):
    """A digest of all that a reader gets, but for the files that Sphinx keeps for itself."""
    digest = hashlib.sha256()
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.name not in (".buildinfo", "objects.inv"):
            digest.update(path.relative_to(site).as_posix().encode() + path.read_bytes())
    return digest.digest()


def read(name):
    return (EXTENSIONS / f"{name}.py").read_text("utf-8")


def prepare(folder, base):
    """Give a site with an error the sources of all, and pages as Sphinx writes them."""
    for name in ("source", "raw"):
        (folder / name).symlink_to(base / name)


def fate(base, pages, name, source):
    """What becomes of a mutant: a reason, nothing if it survives, None if no page is another."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        prepare(folder, base)
        if problem := forked(make, folder, name, source):
            return f"no build: {' '.join(problem.split())[-120:]}"
        if contents(folder / "html") == pages.get(name, pages["pipeline"]):
            return None
        return forked(test, folder, name, source)


def work(mutants, base, pages, told):
    """Tell what becomes of each."""
    for name, text, source in mutants:
        told.put((name, text, fate(base, pages, name, source)))


def control(base, name):
    """Without an error, all tests pass. What a reader gets then."""
    folder = base / name
    folder.mkdir()
    prepare(folder, base)
    if problem := forked(make, folder, name, read(name)) or forked(test, folder, name, read(name)):
        sys.exit(f"without an error, {problem}")
    return contents(folder / "html")


def main(names):
    for extension in (*builtin_extensions, *small_site.BOOK["sphinx"]["config"]["extensions"]):
        importlib.import_module(extension)
    del small_site.KINDS[2:]  # more live figures would cost time, and show nothing else
    mutants = [(name, *mutant) for name in names for mutant in drawn(name)]
    fates = {}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        # Without an address: with one, the page 404 is another when it has been made light.
        build(small_site.write(base / "source"), base / "raw", *RAW, PAGES_URL="")
        pages = {name: control(base, name) for name in ("pipeline", "optimization")}
        fork = multiprocessing.get_context("fork")
        told = fork.SimpleQueue()
        workers = [
            fork.Process(target=work, args=(mutants[i::2], base, pages, told)) for i in (0, 1)
        ]
        for worker in workers:
            worker.start()
        for _ in mutants:
            name, text, found = told.get()
            fates[f"{name}: {text}"] = found
            said = {None: "changes no page", "": "SURVIVES"}.get(found, found)
            print(f"{name}: {text} | {said}", flush=True)
    listed = {mutant["text"] for mutant in tomllib.loads(LISTED.read_text()).get("extensions", ())}
    survivors = {text for text, found in fates.items() if found == ""}
    changing = sum(found is not None for found in fates.values())
    killed = changing - len(survivors)
    print(f"extensions: {killed} of {changing} killed, {len(listed)} listed; ", end="")
    print(f"{len(fates) - changing} others change no page")
    if killed < SHARE * changing:
        sys.exit(f"extensions: fewer than {SHARE:.0%} killed")
    if new := survivors - listed:
        sys.exit(f"extensions: survives and isn't listed: {new}")
    if names == NAMES and (gone := listed - survivors):
        sys.exit(f"extensions: listed only: {gone}")


if __name__ == "__main__":
    main([Path(name).stem for name in sys.argv[1:]] or NAMES)
