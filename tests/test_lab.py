"""The book in a real JupyterLab, as `make lab` opens it: pages shown, one chapter run."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pages import some

ROOT = Path(__file__).parents[1]
# What breaks one page here, a directive or a style, mostly breaks others.
DOCUMENTS = [*sorted(ROOT.glob("notebooks/*.ipynb")), *sorted(ROOT.glob("book/*.md"))]
ONE = "notebooks/09_binary_analogy.ipynb"
DO = "([name, given]) => jupyterapp.commands.execute(name, given).then(() => null)"
CELL = "jupyterapp.shell.currentWidget.content.activeCell"
READY = "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
# What is wrong with a page that has a number of pictures. JupyterLab's start may bring its first
# page back to the front: then this one is opened again.
WRONG = r"""async ([given, drawn]) => {
    const { context, content, node } = jupyterapp.shell.currentWidget ?? {};
    if (context?.path !== given.path) {
        await jupyterapp.commands.execute("docmanager:open", given);
        return ["isn't opened"];
    }
    const all = (query, within = node) => [...within.querySelectorAll(query)];
    const text = (node) => {
        const copy = node.cloneNode(true);
        for (const part of all("code, pre, .katex", copy)) part.remove();
        return copy.textContent;
    };
    const cells = content.widgets ?? [{ model: { type: "markdown" }, node }];
    const blank = cells.filter((cell) => cell.model.type === "markdown"
        && !cell.node.querySelector(".myst")?.textContent);
    const pictures = all(".jp-OutputArea-output img");
    const isBad = (e) => e.naturalWidth <= 100 || e.getBoundingClientRect().right > innerWidth
        || getComputedStyle(e).backgroundColor !== "rgb(255, 255, 255)";
    const raw = /.*(\{[a-z][\w-]*\}|:::|`|\$\$).*/g;
    return [
        ...blank.map(() => "isn't rendered"),
        ...all(".myst").map(text).join("\n\n").match(raw) ?? [],
        ...all(".myst :is([class*='text-yellow'], [class*='text-red'], .katex-error)"),
        ...all(".myst a[href^='#']").filter((a) => !document.getElementById(a.hash.slice(1))),
        ...pictures.filter(isBad),
        ...drawn === null || drawn === pictures.length ? [] : [`has ${pictures.length} pictures`],
        ...drawn === null ? [] : all(".myst details[open]"),
    ].map((wrong) => wrong.outerHTML?.slice(0, 100) ?? wrong);
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
    environment = os.environ | {
        f"JUPYTER{name}_DIR": str(folder / name) for name in own
    }
    environment["JUPYTER_CONFIG_PATH"] = str(
        ROOT / "tools" / "lab"
    )  # as in the Makefile
    environment.pop("POSENC_STATIC", None)
    options = ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]
    options += ["--ServerApp.port=0", "--ServerApp.token=book"]
    command = [sys.executable, "-m", "jupyterlab", *options, folder / "root"]
    log = folder / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env=environment, stderr=out) as server,
    ):
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
    page.wrong[:] = [
        said for said in page.wrong if said.startswith("gets")
    ]  # JupyterLab logs more


def settles(page, read, wanted):
    """Read until it is as wanted, for three minutes at most."""
    until = time.monotonic() + 180
    while (found := read()) != wanted and time.monotonic() < until:
        page.wait_for_timeout(250)
    assert found == wanted


@pytest.mark.parametrize("path", some(DOCUMENTS, one_in=12), ids=lambda path: path.stem)
def test_a_page_shows_what_it_holds(page, path):
    """Without a kernel: other tests run the notebooks."""
    given = {
        "path": path.relative_to(ROOT).as_posix(),
        "kernelPreference": {"canStart": False},
    }
    drawn = (
        path.read_text("utf-8").count('"image/svg+xml": [')
        if path.suffix != ".md"
        else None
    )
    settles(page, lambda: page.evaluate(WRONG, [given, drawn]), [])
    page.evaluate("jupyterapp.shell.currentWidget.dispose()")


def run_below(page, source):
    """Write a cell below the active one, run it, and return what it prints."""
    page.evaluate(DO, ["notebook:insert-cell-below", {}])
    page.evaluate(f"source => {CELL}.model.sharedModel.setSource(source)", source)
    page.evaluate(DO, ["notebook:run-cell", {}])
    return page.evaluate(f"{CELL}.outputArea.node.innerText").strip()


def test_one_chapter_runs_and_moves(page):
    """All cells run; a widget and its Python object stay in sync."""
    settles(
        page,
        lambda: "isn't opened" in page.evaluate(WRONG, [{"path": ONE}, None]),
        False,
    )
    page.wait_for_function(READY)
    page.evaluate(DO, ["notebook:clear-all-cell-outputs", {}])
    page.evaluate(DO, ["notebook:run-all-cells", {}])
    ran = page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    code = [cell for cell in ran["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert not [
        o for cell in code for o in cell["outputs"] if o["output_type"] == "error"
    ]

    run_below(
        page,
        "from posenc.book import widgets\nfigure = widgets.Heatmap(d_model=64)\nfigure",
    )
    slider = page.locator(".jp-OutputArea-output #field-d_model").last

    def moved():
        slider.fill(
            "66"
        )  # JupyterLab may draw the figure anew, and may take the focus from a key
        return run_below(page, "print(figure.d_model)")

    settles(page, moved, "66")  # from the browser to Python
    run_below(page, "figure.d_model = 32")  # and back
    settles(page, slider.input_value, "32")
