"""Cells that run in the page: Pyodide in a worker, on the built site, served and with no other host."""

import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
SIX = ("02_formula", "03_numpy_loops", "05_heatmaps", "06_binary_analogy", "07_linearity", "08_tsne")
SLOW = 240_000  # ms: a busy machine may take long, and no test waits longer than it must
# Presses Run on cells, and tells what came out: text, error, whether there is a picture or a figure.
RUN = """async (numbers) => {
    const python = document.querySelector("meta[name=python]").content;
    const { press } = await import(new URL(`${python}page.js`, location));
    const boxes = [...document.querySelectorAll("div.cell:not(.answer)")];
    const found = {};
    for (const n of numbers) {
        const cell = boxes[n];
        const seconds = await press(cell);
        found[n] = {
            text: [...cell.querySelectorAll(".ran > pre:not(.error)")].map((p) => p.textContent),
            error: cell.querySelector(".ran > .error")?.textContent,
            state: cell.querySelector(".state").textContent,
            drawn: cell.querySelectorAll(".ran > :not(pre)").length,
        };
    }
    return found;
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def served():
    """The address of the built site."""
    if not (SITE / "python").exists():
        pytest.skip("no site with Python was built: run `make book` first")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visit(browser, served):
    """Return a function that opens a chapter; nothing may be asked of another host, or go wrong."""
    contexts, asked, wrong = [], [], []

    def open_page(chapter, context=None, **options):
        context = context or browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SLOW)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.goto(f"{served}/notebooks/{chapter}.html")
        page.asked = asked
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []


def code_cells(chapter):
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", 4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def text_of(cell):
    """What a stored cell shows in words; that of a picture is its picture."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" not in data and "image/png" not in data:
            found.append(output.get("text") or data.get("text/plain", ""))
    return "\n".join(text.rstrip("\n") for text in found)


def runnable(page):
    """The numbers of the cells that don't need torch."""
    return page.evaluate(
        """() => [...document.querySelectorAll("div.cell")].flatMap(
            (cell, n) => cell.matches(".needs-torch") ? [] : [n])"""
    )


@pytest.mark.parametrize("chapter", SIX)
def test_a_chapter_runs_whole_and_says_what_it_says(visit, chapter):
    page = visit(chapter)
    numbers = runnable(page)
    found = page.evaluate(RUN, numbers)
    cells = code_cells(chapter)
    count = "document.querySelectorAll('div.cell:not(.answer)').length"
    assert page.evaluate(count) == len(cells)
    failed = {n: found[str(n)]["error"] for n in numbers if found[str(n)]["error"]}
    assert failed == {}
    for n in numbers:
        shown = "\n".join(text.rstrip("\n") for text in found[str(n)]["text"])
        drawn = any("image/svg+xml" in output.get("data", {}) for output in cells[n].outputs)
        if "nbval-ignore-output" not in cells[n].metadata.get("tags", []):
            assert shown == text_of(cells[n]), cells[n].source
        assert bool(found[str(n)]["drawn"]) == drawn, cells[n].source
