"""Cells that run in the page: Pyodide in a worker, on the built site, with no other host."""

import json
import os
import re
import statistics
import subprocess
import sys
import threading
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from exercises import code_cells, exercises
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
ONE = "06_binary_analogy"
SLOW = 240_000  # ms: a busy machine may take long, and no test waits longer than it must
# One Python for all chapters, in the site's own worker; what a cell says comes in messages.
START = """() => {
    const python = document.querySelector("meta[name=python]").content;
    const worker = new Worker(new URL(`${python}worker.js`, location), { type: "module" });
    window.run = (source) => new Promise((resolve, reject) => {
        const found = { text: "", drawn: 0 };
        worker.onmessage = ({ data }) => {
            found.text += data.stream ?? data.text ?? "";
            if ("text" in data) found.text += "\\n";
            if ("svg" in data) found.drawn++;
            if ("broken" in data) reject(new Error(data.broken));
            if ("done" in data) resolve({ ...found, ...data.done });
        };
        worker.postMessage({ source, name: "cell" });
    });
}"""
RUN = """async (sources) => {
    const found = [];
    for (const source of sources) found.push(await run(source));
    return found;
}"""
# The cells of a page; null stands for one without a button.
CELLS = """async (name) => {
    const text = await (await fetch(`${name}.html`)).text();
    const page = new DOMParser().parseFromString(text, "text/html");
    return [...page.querySelectorAll("div.cell")].map((cell) =>
        cell.matches(".needs-torch, .tag_remove-input") ? null
            : cell.querySelector("pre").textContent);
}"""
FRESH = """
import sys
if "numpy" in sys.modules:
    sys.modules["numpy"].set_printoptions(
        precision=8, suppress=False, linewidth=75, threshold=1000, edgeitems=3, formatter=None)
if "matplotlib" in sys.modules:
    sys.modules["matplotlib"].rcdefaults()
for name in [name for name in globals() if name != "__builtins__"]:
    del globals()[name]
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def served(site):
    """The address of the built site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def python(visit_all, served):
    """A page with a Python that every chapter runs in, one after the other."""
    page = visit_all(f"{served}/notebooks/{ONE}.html")
    page.evaluate(START)
    return page


@pytest.fixture(scope="module")
def reader(visit_all, served):
    """A page whose cells a reader runs."""
    return visit_all(f"{served}/notebooks/{ONE}.html")


def stored(cell):
    """What a stored cell says, and how many pictures it draws."""
    text, drawn = "", 0
    for output in cell.outputs:
        data = output.get("data", {})
        drawn += "image/svg+xml" in data
        if "image/svg+xml" not in data:
            text += output.get("text") or data.get("text/plain", "") + "\n"
    return text.rstrip(), drawn


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_has_a_button_runs_and_says_what_is_stored(python, chapter):
    sources, cells = python.evaluate(CELLS, chapter), code_cells(chapter)
    assert len(sources) == len(cells), "the site is older than the chapter: run `make book`"
    numbers = [n for n, source in enumerate(sources) if source]
    fresh, *found = python.evaluate(RUN, [FRESH, *(sources[n] for n in numbers)])
    assert "error" not in fresh, fresh
    for n, now in zip(numbers, found, strict=True):
        where = f"{chapter}, cell [{n + 1}], differs in the page"
        assert "error" not in now, f"{where}: {now['error']['text']}"
        text, drawn = stored(cells[n])
        if "nbval-ignore-output" not in cells[n].metadata.get("tags", []):
            assert now["text"].rstrip() == text, where
        assert now["drawn"] == drawn, where


def test_bugs_are_hunted_and_models_trained_in_the_page(python):
    hunt, train = python.evaluate(CELLS, "../book/try")
    short = "for line in compare(['sinusoidal'], [16], [0], steps=40): print(line)"
    first, _, trained = python.evaluate(RUN, [hunt, train.partition("\n")[0], short])
    assert "It caught 0 of 7 bugs, and accused 0 of 3 right tables." in first["text"]
    assert re.search(r"sinusoidal  0\.\d\d \(0\.\d\d–0\.\d\d\)", trained["text"])


def test_a_config_that_is_pasted_is_read_by_python(visit, served):
    page = visit(f"{served}/book/config.html")
    shown = page.locator("#config-shown")
    fields = {"rope_theta": 10_000.0, "head_dim": 64, "max_position_embeddings": 1024}
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    page.locator("#config-text").fill(json.dumps(fields | linear))
    expect(shown).to_contain_text("The scaling, linear, moves 32 of 32 pairs.", timeout=SLOW)
    page.locator("#config-text").fill(json.dumps(fields | {"rope_scaling": {"type": "new"}}))
    expect(shown).to_contain_text("rope_scaling.rope_type must be one of")
    page.locator("#config-text").fill("{")
    expect(shown).to_contain_text("This can't be read: ")


# ------------------------------------------ buttons, on one chapter, whose Python starts once

BUSY = re.compile("^(Waiting|Starting|Loading|Running|It needs)")


def shown():
    """The number of the first cell that isn't folded, and that says something."""
    code = code_cells(ONE)
    folded = ["hide-input" in cell.metadata.get("tags", []) for cell in code]
    return next(n for n, cell in enumerate(code) if n and stored(cell)[0] and not folded[n])


def cell_of(page):
    return page.locator("div.cell:not(.answer)").nth(shown())


def press(page, cell, name="Run"):
    """Press a button of a cell, wait until it is done, and return what is said of it."""
    cell.scroll_into_view_if_needed()
    bar = cell.locator(".bar:visible")
    if bar.count():
        bar.get_by_role("button", name=name, exact=True).click()
    else:
        cell.locator(".run").click()
    expect(cell.locator(".bar")).to_be_visible(timeout=SLOW)
    expect(cell.locator(".state")).not_to_have_text(BUSY, timeout=SLOW)
    return cell.locator(".state").text_content()


def write(cell, text):
    """Edit a cell."""
    if not cell.locator("textarea").count():
        cell.get_by_role("button", name="Edit").click()
    cell.locator("textarea").fill(text)


def test_nothing_is_loaded_before_a_reader_asks(visit, served):
    page, asked = visit(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}/notebooks/{ONE}.html", wait_until="networkidle")
    runnable = "document.querySelectorAll('div.cell:not(.needs-torch, .tag_remove-input)').length"
    assert page.locator(".run").count() == page.evaluate(runnable) > 10
    assert [url for url in asked if "/python/" in url or "offline" in url] == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0


def test_a_cell_is_run_edited_and_reset(reader):
    cell = cell_of(reader)
    published = cell.locator(".cell_output:not(.ran) .output").first
    assert press(reader, cell).startswith("Done")  # what is above ran first
    assert cell.locator(".ran").text_content().strip() == stored(code_cells(ONE)[shown()])[0]
    assert not published.is_visible()
    assert press(reader, cell, "Run all above") == "All above has run."
    assert press(reader, cell, "Reset") == "As it was published."
    assert published.is_visible()
    write(cell, "x = 1\nprint('here')\n1 / 0\nx = 2")
    assert press(reader, cell) == "Line 3: ZeroDivisionError: division by zero"
    assert cell.locator(".stdout").text_content() == "here\n"
    where = rf'<cell {shown() + 1}>", line 3, in <module>'
    assert re.search(where, cell.locator(".error").text_content())
    write(cell, "from posenc import widgets\nclock = widgets.Clock(position=3)\nclock")
    assert press(reader, cell).startswith("Done")
    cell.get_by_label("position k").press("ArrowRight")
    assert "Position 4" in cell.locator(".ran .say").text_content()
    press(reader, cell, "Reset")


def test_an_exercise_is_answered_and_kept_here_until_it_is_forgotten(reader):
    press(reader, cell_of(reader))
    found = [*exercises(ONE)]
    right = reader.locator(".bd-links .right")
    for n, (check, _, (wrong, *_), solution) in enumerate(found):
        box = reader.locator(".answer").nth(n)
        assert check in box.locator("textarea").input_value()
        box.locator("textarea").fill(wrong.answer)
        refused = press(reader, box)
        assert refused.startswith("Not yet: ")
        assert wrong.says in refused
        box.locator("textarea").fill(solution)
        assert press(reader, box) == "Right."
        assert right.text_content() == f"✓ {n + 1} of {len(found)}"
    other = reader.context.new_page()
    other.goto(reader.url)
    assert other.locator(".bd-links .right").text_content() == right.text_content()
    other.get_by_role("button", name="Forget").click()
    assert other.locator(".right, .forget").count() == 0
    other.close()


def test_a_phone_a_keyboard_and_axe_are_enough(reader):
    cell = cell_of(reader)
    press(reader, cell)
    reader.set_viewport_size({"width": 390, "height": 800})
    cell.locator(".bar").get_by_role("button", name="Edit").press("Enter")
    reader.keyboard.press("Control+a")
    reader.keyboard.type("for x in range(2):\nprint(x)")
    reader.keyboard.press("Control+Enter")
    cell.locator(".state").get_by_text("Done.", exact=True).wait_for()
    assert cell.locator(".stdout").text_content() == "0\n1\n"
    assert reader.locator("article > [role=status]").text_content() == f"cell {shown() + 1}: Done."
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    for control in reader.locator(".bar button:visible").all():
        assert control.bounding_box()["height"] >= 24
    reader.wait_for_timeout(500)  # what scrolls takes the keyboard 0.3 s after the last change
    for scheme in ("light", "dark"):
        reader.emulate_media(color_scheme=scheme)
        reader.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        found = Axe().run(reader, "article div.cell:has(.bar)", {"preload": False})
        assert found.violations_count == 0, found.generate_report()
    reader.set_viewport_size({"width": 1280, "height": 800})


def test_a_loop_is_stopped_and_the_page_runs_on_a_plane(reader, monkeypatch):
    """What was loaded is kept, so Python starts again without a network."""
    cell = cell_of(reader)
    press(reader, cell)
    write(cell, "while True:\n    pass")
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_text("Running", exact=True).wait_for()
    (worker,) = reader.workers
    with worker.expect_event("close"):
        cell.get_by_role("button", name="Stop").click()
    assert "variables are gone" in cell.locator(".state").text_content()
    assert "variables are gone" in reader.locator("article > [role=status]").text_content()
    monkeypatch.setattr(Quiet, "do_GET", lambda self: self.connection.close())
    reader.reload()
    write(cell, "print(x)")
    assert "NameError" in press(reader, cell)
    press(reader, cell, "Reset")
    assert cell.locator("textarea").count() == 0


def test_from_a_file_there_are_no_buttons(site, visit):
    page = visit((site / "notebooks" / f"{ONE}.html").as_uri())
    assert page.locator("div.cell").count()
    assert page.locator(".run").count() == 0


# ---------------------------------------------------------------- what book/try.md states

RECORD = ROOT / "book" / "python" / "speed.json"
SIX = CHAPTERS[1:3] + CHAPTERS[4:8]
NATIVE = """
import json, os, sys, types
sys.path[:0] = ["book/python", "book/_ext/sphinx_posenc"]
sys.modules["page"] = types.ModuleType("page")
sys.modules["page"].send = lambda text: None
import kernel
os.chdir("notebooks")
for line in sys.stdin:
    done = [json.loads(kernel.run(cell, "cell")) for cell in json.loads(line)]
    print(json.dumps(done), flush=True)
"""


@pytest.mark.timing
def test_python_in_the_page_is_measured(python, visit, served, browser):
    """The same cells here and natively, in turn; `RECORD=1` keeps what the page states."""
    native = subprocess.Popen(
        [sys.executable, "-c", NATIVE], cwd=ROOT, stdin=-1, stdout=-1, text=True
    )

    def both(sources):
        print(json.dumps(sources), file=native.stdin, flush=True)
        sides = python.evaluate(RUN, sources), json.loads(native.stdout.readline())
        assert not any("error" in cell for side in sides for cell in side)
        return [[cell["seconds"] for cell in side] for side in sides]

    ratios, starts = [], []
    for chapter in SIX:
        sources = [FRESH, *filter(None, python.evaluate(CELLS, chapter))]
        rounds = np.array([both(sources) for _ in range(6)])[1:]  # at first, imports take time
        ratios += np.divide(*np.median(rounds, axis=0))[1:].tolist()
    for _ in range(3):
        page = visit()
        for _ in ("the first time", "again"):
            page.goto(f"{served}/notebooks/{ONE}.html")
            page.evaluate(START)
            clock = "performance.now() - start"
            run = f"await run('import numpy as np\\nprint(np.arange(10).sum())'); return {clock}"
            starts.append(
                page.evaluate(f"async () => {{ const start = performance.now(); {run} }}")
            )
    there, here = both(python.evaluate(CELLS, "../book/try")[1:])
    record = {
        "date": str(date.today()),
        "browser": f"Chromium {browser.version}",
        "processor": re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1],
        "cores": os.cpu_count(),
        "cells": len(ratios),
        "ratios": np.quantile(ratios, [0.25, 0.5, 0.75]).round(2).tolist(),
        "seconds to the first answer": statistics.median(starts[::2]) / 1000,
        "seconds after a reload": statistics.median(starts[1::2]) / 1000,
        "seconds of training": {"in the page": there[0], "natively": here[0]},
    }
    print(json.dumps(record, indent=1))
    native.kill()
    if os.environ.get("RECORD"):
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def test_the_page_states_its_sizes_and_speed():
    """From the files, and from the record."""
    files = ROOT / "book" / "python" / "pyodide"
    packages = json.loads((files / "pyodide-lock.json").read_text("utf-8"))["packages"]

    def megabytes(*names, seen=(), core=()):
        wanted = list(names)
        for name in wanted:
            wanted += [n for n in packages[name]["depends"] if n not in wanted]
        names = [packages[n]["file_name"] for n in wanted if n not in seen]
        return round(sum((files / name).stat().st_size for name in [*names, *core]) / 1e6)

    core = ["pyodide.asm.wasm.packed", "pyodide.asm.mjs", "python_stdlib.zip"]
    pictures, learn = (megabytes(name, seen=["numpy"]) for name in ("matplotlib", "scikit-learn"))
    record = json.loads(RECORD.read_text("utf-8"))
    low, middle, high = record["ratios"]
    there, here = record["seconds of training"].values()
    sentences = [
        f"some {megabytes('numpy', core=core)} MB are loaded from this site, {pictures} more for "
        f"pictures, and where a chapter asks for them {megabytes('sympy')} for sympy and {learn} "
        "for scikit-learn",
        f"of the {record['cells']} cells of six chapters that need no PyTorch, half took at most "
        f"{middle:.1f} times as long as natively, a quarter at most {low:.1f} times, and a quarter "
        f"over {high:.1f} times",
        f"to numpy's first answer it took {record['seconds to the first answer']:.0f} s",
        f"After a reload it took {record['seconds after a reload']:.0f} s",
        f"The nine models below took {there:.0f} s in the page, and {here:.0f} s natively",
        f"Measured on {record['date']}, with {record['browser'].split('.')[0]}, on two cores "
        f"({record['processor']})",
    ]
    text = " ".join((ROOT / "book" / "try.md").read_text("utf-8").split())
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert middle <= 5, "a cell may take five times as long as natively, at the median"
    assert record["cores"] == 2
