"""The book in a real JupyterLab, as `make lab` opens it: all chapters shown, one of them run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from exercises import exercises

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PAGES = sorted(path.stem for path in (ROOT / "book").glob("*.md"))
ONE = "06_binary_analogy"
# Without a kernel: what is looked at was run by other tests.
SHOW = """path => jupyterapp.commands.execute("docmanager:open", {
    path, kernelPreference: { shouldStart: false, canStart: false },
}).then(() => null)"""
RUN = "path => jupyterapp.commands.execute('docmanager:open', { path }).then(() => null)"
DO = "name => jupyterapp.commands.execute(name).then(() => null)"
CELL = "jupyterapp.shell.currentWidget.content.activeCell"
RENDERED = """path => {
    const widget = jupyterapp.shell.currentWidget;
    if (widget?.context?.path !== path) return false;
    const cells = widget.content.widgets ?? [];
    return cells.length ? cells.every((cell) => cell.model.type !== "markdown"
        || cell.node.querySelector(".myst")?.textContent) : widget.node.querySelector(".myst h1");
}"""
READY = """() => {
    const { sessionContext } = jupyterapp.shell.currentWidget;
    const kernel = sessionContext?.session?.kernel;
    return !sessionContext || sessionContext.isReady
        && kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
# What a reader sees in a chapter or on a page, without code and formulas.
SEEN = """async () => {
    const page = jupyterapp.shell.currentWidget.node;
    const all = (query, node = page) => [...node.querySelectorAll(query)];
    const text = (node) => {
        const copy = node.cloneNode(true);
        for (const part of all("code, pre, .katex", copy)) part.remove();
        return copy.textContent;
    };
    const pictures = all(".jp-OutputArea-output img");
    await Promise.all(pictures.map((picture) => picture.decode()));
    return {
        text: all(".myst").map(text).join("\\n\\n"),
        wrong: all(".myst :is([class*='text-yellow'], [class*='text-red'], .katex-error)").length,
        nowhere: all(".myst a[href^='#']").map((a) => a.hash.slice(1)).filter(
            (id) => !document.getElementById(id)),
        pictures: pictures.map((picture) => picture.naturalWidth > 100
            && getComputedStyle(picture).backgroundColor),
        clipped: all(".jp-OutputArea-output img").filter(
            (img) => img.getBoundingClientRect().right > innerWidth).length,
        folded: all(".myst details:not([open])").length,
        open: all(".myst details[open]").length,
        lines: all(".jp-Placeholder.jp-InputPlaceholder").map((line) => line.textContent.trim()),
    };
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab that serves the book."""
    folder = tmp_path_factory.mktemp("lab")
    for name in ("notebooks", "book"):  # a copy: JupyterLab saves what it shows
        ignored = shutil.ignore_patterns("__pycache__", "python", "_*")
        shutil.copytree(ROOT / name, folder / "root" / name, ignore=ignored)
    shutil.copy(ROOT / "index.md", folder / "root")
    names = ("CONFIG", "RUNTIME", "DATA")
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in names}
    own |= {f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")}
    own["JUPYTER_CONFIG_PATH"] = str(ROOT / "tools" / "lab")  # as in the Makefile
    environment = {k: v for k, v in os.environ.items() if k != "POSENC_STATIC"} | own
    options = ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
    options += [
        "--ServerApp.port=0",
        "--ServerApp.token=book",
        f"--ServerApp.root_dir={folder / 'root'}",
    ]
    with open(folder / "log", "wb") as log:
        command = [sys.executable, "-m", "jupyterlab", *options]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(1200):
            assert server.poll() is None, (folder / "log").read_text()
            if said := [*(folder / "runtime").glob("jpserver-*.json")]:
                break
            time.sleep(0.1)
        yield json.loads(said[0].read_text())["url"]
    finally:
        server.terminate()
        server.wait(120)


@pytest.fixture(scope="module")
def page(visit_all, lab):
    """JupyterLab as it opens, in the dark, where a picture needs paper."""
    page = visit_all(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(180_000)
    page.goto(f"{lab}?token=book")
    page.locator(".jp-MarkdownViewer table").first.wait_for()
    dark = "jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"
    page.evaluate(f"{dark}.then(() => null)")
    yield page
    page.close()
    page.wrong[:] = [said for said in page.wrong if said.startswith("asks")]  # it says much else


def opened(page, path, how=SHOW):
    """Open a document, and wait until it is drawn."""
    page.evaluate(how, path)
    page.wait_for_function(RENDERED, arg=path, polling=300)


def look(page, path, **wanted):
    """Open a document and read it, then close it: no raw markup, no warning, no dead link."""
    opened(page, path)
    wanted |= {"wrong": 0, "nowhere": []}
    for _ in range(60):
        seen = page.evaluate(SEEN)
        found = {name: seen[name] for name in wanted}
        if found == wanted:
            break
        page.wait_for_timeout(1000)
    assert found == wanted
    assert re.findall(r".*(?:\{[a-z][\w-]*\}|:::|`|\$\$).*", seen["text"]) == []
    page.evaluate("jupyterapp.shell.currentWidget.dispose()")
    return seen


def test_it_opens_at_the_first_page(page):
    viewer = page.locator(".jp-MarkdownViewer")
    assert viewer.locator("h1").inner_text() == "Positional encoding, executed"
    assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_it_holds(page, name):
    assert len(look(page, f"book/{name}.md")["text"]) > 500


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_shows_what_is_stored(page, name):
    stored = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    source = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    drawn = sum("image/svg+xml" in o.get("data", {}) for cell in code for o in cell.outputs)
    hidden = [cell for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    look(
        page,
        f"notebooks/{name}.ipynb",
        pictures=["rgb(255, 255, 255)"] * drawn,
        clipped=0,
        folded=len(re.findall("^:class: .*dropdown", source, re.MULTILINE)),
        open=0,
        lines=[cell.source.partition("\n")[0] for cell in hidden],
    )


def run_below(page, source):
    """Write a cell below the active one, run it, and return what it prints."""
    page.evaluate(DO, "notebook:insert-cell-below")
    page.evaluate(f"source => {CELL}.model.sharedModel.setSource(source)", source)
    page.evaluate(DO, "notebook:run-cell")
    return page.evaluate(f"{CELL}.outputArea.node.innerText")


def test_one_chapter_runs_moves_and_is_solved(page):
    """A link leads to its place; all cells run; a figure leads and follows; an exercise answers."""
    path = f"notebooks/{ONE}.ipynb"
    opened(page, path, RUN)
    page.wait_for_function(READY)
    page.evaluate(DO, "notebook:clear-all-cell-outputs")
    page.evaluate(DO, "notebook:run-all-cells")
    ran = page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    code = [cell for cell in ran["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert not [o for cell in code for o in cell["outputs"] if o["output_type"] == "error"]

    show = "from posenc import widgets\nfigure = widgets.Heatmap(d_model=64)\nfigure"
    run_below(page, show)
    slider = page.locator(".jp-OutputArea-output #field-d_model").last
    slider.wait_for()
    slider.press("ArrowRight")  # leads: Python has what the reader set
    assert any("66" in run_below(page, "print(figure.d_model)") for _ in range(20))
    run_below(page, "figure.d_model = 32")  # follows: the reader sees what Python set
    page.wait_for_function("s => s.value === '32'", arg=slider.element_handle())

    _, place, (wrong, *_), solution = next(exercises(ONE))
    number = [n for n, cell in enumerate(ran["cells"]) if cell["cell_type"] == "code"][place]
    page.evaluate(f"jupyterapp.shell.currentWidget.content.activeCellIndex = {number}")
    assert wrong.says in run_below(page, wrong.answer)
    assert "Right." in run_below(page, solution)

    source = "".join("".join(cell["source"]) for cell in ran["cells"])
    there, place = re.search(r"\((\d\d_\w+\.ipynb)#([\w-]+)\)", source).groups()
    page.locator(f".jp-Document:visible .myst a[href$='#{place}']").first.click()
    page.wait_for_function(RENDERED, arg=f"notebooks/{there}")
    page.wait_for_function(f"""() => {{
        const place = document.querySelector(".jp-Document:not(.lm-mod-hidden) [id='{place}']");
        const y = place?.getBoundingClientRect().y;
        return y > 0 && y < innerHeight;
    }}""")
