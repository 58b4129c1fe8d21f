"""The book in a real JupyterLab, as `make lab` opens it: pages shown, one chapter run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
from sample import some

ROOT = Path(__file__).parents[1]
# What breaks one page here, a directive or a style, mostly breaks others.
DOCUMENTS = [*sorted(ROOT.glob("notebooks/*.ipynb")), *sorted(ROOT.glob("book/*.md"))]
ONE = "notebooks/09_binary_analogy.ipynb"
DO = "([name, given]) => jupyterapp.commands.execute(name, given).then(() => null)"
CELL = "jupyterapp.shell.currentWidget.content.activeCell"
# JupyterLab's start may bring its first page back to the front: then it is opened again.
RENDERED = """async (given) => {
    const widget = jupyterapp.shell.currentWidget;
    if (widget?.context?.path !== given.path) {
        await jupyterapp.commands.execute("docmanager:open", given);
        return false;
    }
    const cells = widget.content.widgets ?? [];
    return cells.length ? cells.every((cell) => cell.model.type !== "markdown"
        || cell.node.querySelector(".myst")?.textContent) : widget.node.querySelector(".myst h1");
}"""
READY = "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
# What is visible in a chapter or on a page.
SEEN = r"""async () => {
    const page = jupyterapp.shell.currentWidget.node;
    const all = (query, node = page) => [...node.querySelectorAll(query)];
    const text = (node) => {
        const copy = node.cloneNode(true);
        for (const part of all("code, pre, .katex", copy)) part.remove();
        return copy.textContent;
    };
    const pictures = all(".jp-OutputArea-output img");
    await Promise.all(pictures.map((picture) => picture.decode()));
    const raw = /.*(\{[a-z][\w-]*\}|:::|`|\$\$).*/g;
    const warnings = ":is([class*='text-yellow'], [class*='text-red'], .katex-error)";
    return {
        "raw markup": all(".myst").map(text).join("\n\n").match(raw),
        "warnings": all(`.myst ${warnings}`).length,
        "dead links": all(".myst a[href^='#']").map((a) => a.hash.slice(1)).filter(
            (id) => !document.getElementById(id)),
        "pictures' background": pictures.map((picture) => picture.naturalWidth > 100
            && getComputedStyle(picture).backgroundColor),
        "pictures cut off": pictures.filter(
            (picture) => picture.getBoundingClientRect().right > innerWidth).length,
        "open boxes": all(".myst details[open]").length,
    };
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab that serves the book."""
    folder = tmp_path_factory.mktemp("lab")
    ignored = shutil.ignore_patterns("__pycache__", "python", "_*")
    for name in ("notebooks", "book"):  # a copy, since JupyterLab saves files
        shutil.copytree(ROOT / name, folder / "root" / name, ignore=ignored)
    shutil.copy(ROOT / "index.md", folder / "root")
    own = ("_CONFIG", "_RUNTIME", "_DATA", "LAB_SETTINGS", "LAB_WORKSPACES")
    environment = os.environ | {f"JUPYTER{name}_DIR": str(folder / name) for name in own}
    environment["JUPYTER_CONFIG_PATH"] = str(ROOT / "tools" / "lab")  # as in the Makefile
    environment.pop("POSENC_STATIC", None)
    options = ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
    options += ["--ServerApp.port=0", "--ServerApp.token=book"]
    command = [sys.executable, "-m", "jupyterlab", *options, folder / "root"]
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stderr=out) as server:
        try:
            while not (said := [*(folder / "_RUNTIME").glob("jpserver-*.json")]):
                assert server.poll() is None, log.read_text()
                time.sleep(0.1)
            yield json.loads(said[0].read_text())["url"]
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()  # a no-op once it has ended


@pytest.fixture(scope="module")
def page(visit_all, lab):
    """JupyterLab at its first page, in the dark theme, where pictures need a white background."""
    page = visit_all(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(180_000)
    page.goto(f"{lab}?token=book")
    page.get_by_role("heading", name="Positional encoding, executed").wait_for()
    assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0
    page.evaluate("jupyterapp.restored.then(() => null)")
    page.evaluate(DO, ["apputils:change-theme", {"theme": "JupyterLab Dark"}])
    yield page
    page.close()
    page.wrong[:] = [said for said in page.wrong if said.startswith("gets")]  # JupyterLab logs more


def expected(path):
    """What `SEEN` must return: no raw markup, warnings or dead links, and all stored pictures."""
    shown = {"raw markup": None, "warnings": 0, "dead links": []}
    if path.suffix == ".md":
        return shown
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    drawn = sum("image/svg+xml" in o.get("data", {}) for cell in code for o in cell.outputs)
    return shown | {
        "pictures' background": ["rgb(255, 255, 255)"] * drawn,
        "pictures cut off": 0,
        "open boxes": 0,
    }


def settles(page, read, wanted):
    """Return what is read once it is as wanted, or after a minute."""
    for _ in range(240):
        if (found := read()) == wanted:
            break
        page.wait_for_timeout(250)
    return found


@pytest.mark.parametrize("path", some(DOCUMENTS, one_in=12), ids=lambda path: path.stem)
def test_a_page_shows_what_it_holds(page, path):
    """Without a kernel: other tests run the notebooks."""
    name, wanted = path.relative_to(ROOT).as_posix(), expected(path)
    given = {"path": name, "kernelPreference": {"canStart": False}}
    page.wait_for_function(RENDERED, arg=given, polling=100)

    def seen():
        found = page.evaluate(SEEN)
        return {what: found[what] for what in wanted}

    assert settles(page, seen, wanted) == wanted, f"{name} in JupyterLab: fix it, or tools/lab"
    page.evaluate("jupyterapp.shell.currentWidget.dispose()")


def run_below(page, source):
    """Write a cell below the active one, run it, and return what it prints."""
    page.evaluate(DO, ["notebook:insert-cell-below", {}])
    page.evaluate(f"source => {CELL}.model.sharedModel.setSource(source)", source)
    page.evaluate(DO, ["notebook:run-cell", {}])
    return page.evaluate(f"{CELL}.outputArea.node.innerText").strip()


def test_one_chapter_runs_and_moves(page):
    """All cells run; a widget and its Python object stay in sync; a link leads to its target."""
    page.evaluate(DO, ["docmanager:open", {"path": ONE}])
    page.wait_for_function(RENDERED, arg={"path": ONE})
    page.wait_for_function(READY)
    page.evaluate(DO, ["notebook:clear-all-cell-outputs", {}])
    page.evaluate(DO, ["notebook:run-all-cells", {}])
    ran = page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    code = [cell for cell in ran["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert not [o for cell in code for o in cell["outputs"] if o["output_type"] == "error"]

    run_below(page, "from posenc.book import widgets\nfigure = widgets.Heatmap(d_model=64)\nfigure")
    slider = page.locator(".jp-OutputArea-output #field-d_model").last
    slider.fill("66")  # from the browser to Python; JupyterLab may take the focus from a key
    assert settles(page, slider.input_value, "66") == "66"
    assert settles(page, lambda: run_below(page, "print(figure.d_model)"), "66") == "66"
    run_below(page, "figure.d_model = 32")  # from Python to the browser
    assert settles(page, slider.input_value, "32") == "32"

    source = "".join("".join(cell["source"]) for cell in ran["cells"])
    there, place = re.search(r"\((\d\d_\w+\.ipynb)#([\w-]+)\)", source).groups()
    page.locator(f".jp-Document:visible .myst a[href$='#{place}']").first.click()
    page.wait_for_function(f"""() => {{
        const place = document.querySelector(".jp-Document:not(.lm-mod-hidden) [id='{place}']");
        const y = place?.getBoundingClientRect().y;
        return jupyterapp.shell.currentWidget.context.path === "notebooks/{there}"
            && y > 0 && y < innerHeight;
    }}""")
