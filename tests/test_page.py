"""Cells that run in the page: Pyodide in a worker, on the built site, with no other host."""

import json
import math
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

import pytest
from exercises import code_cells, exercises
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
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
def served():
    """The address of the built site."""
    if not (SITE / "python").exists():
        pytest.fail("there is no site: run `make book` first")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def visit(browser, served):
    """Return a function that opens a page; nothing may be asked of another host, or go wrong."""
    asked, wrong = [], []

    def open_page(name, **options):
        page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.goto(f"{served}/{name}.html")
        page.asked = asked
        return page

    yield open_page
    assert wrong == []
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []


@pytest.fixture(scope="module")
def python(visit):
    """A page with a Python that every chapter runs in, one after the other."""
    page = visit(f"notebooks/{ONE}")
    page.evaluate(START)
    return page


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


def test_a_config_that_is_pasted_is_read_by_python(visit):
    page = visit("book/config")
    shown = page.locator("#config-shown")
    fields = {"rope_theta": 10_000.0, "head_dim": 64, "max_position_embeddings": 1024}
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    page.locator("#config-text").fill(json.dumps(fields | linear))
    expect(shown).to_contain_text("The scaling, linear, moves 32 of 32 pairs.", timeout=SLOW)
    page.locator("#config-text").fill(json.dumps(fields | {"rope_scaling": {"type": "new"}}))
    expect(shown).to_contain_text("rope_scaling.rope_type must be one of")
    page.locator("#config-text").fill("{")
    expect(shown).to_contain_text("This can't be read: ")


# ---------------------------------------------------------------- buttons, on one chapter

BUSY = re.compile("^(Waiting|Starting|Loading|Running|It needs)")


def cell_of(page, number):
    return page.locator("div.cell:not(.answer)").nth(number)


def shown():
    """The number of the first cell that isn't folded, and that says something."""
    code = code_cells(ONE)
    folded = ["hide-input" in cell.metadata.get("tags", []) for cell in code]
    return next(n for n, cell in enumerate(code) if n and stored(cell)[0] and not folded[n])


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


def test_nothing_is_loaded_before_a_reader_asks(visit):
    page = visit(f"notebooks/{ONE}")
    page.asked.clear()
    page.reload(wait_until="networkidle")
    runnable = page.evaluate(
        "document.querySelectorAll('div.cell:not(.needs-torch, .tag_remove-input)').length"
    )
    assert page.locator(".run").count() == runnable > 10
    assert [url for url in page.asked if "/python/" in url or "offline" in url] == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0


def test_a_cell_is_run_edited_stopped_and_reset(visit):
    page = visit(f"notebooks/{ONE}")
    number = shown()
    cell = cell_of(page, number)
    code = cell.locator("pre").first.text_content()
    published = cell.locator(".cell_output:not(.ran) .output").first
    assert press(page, cell).startswith("Done")  # what is above ran first
    assert cell.locator(".ran").text_content().strip() == stored(code_cells(ONE)[number])[0]
    assert not published.is_visible()
    assert press(page, cell, "Run all above") == "All above has run."
    assert press(page, cell, "Reset") == "As it was published."
    assert published.is_visible()
    write(cell, "x = 1\nprint('here')\n1 / 0\nx = 2")
    assert press(page, cell) == "Line 3: ZeroDivisionError: division by zero"
    assert cell.locator(".stdout").text_content() == "here\n"
    assert re.search(
        rf'<cell {number + 1}>", line 3, in <module>', cell.locator(".error").text_content()
    )
    write(cell, "from posenc import widgets\nclock = widgets.Clock(position=3)\nclock")
    assert press(page, cell).startswith("Done")
    cell.get_by_label("position k").press("ArrowRight")
    assert "Position 4" in cell.locator(".ran .say").text_content()
    write(cell, "while True:\n    pass")
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_text("Running", exact=True).wait_for()
    (worker,) = page.workers
    with worker.expect_event("close"):
        cell.get_by_role("button", name="Stop").click()
    assert "variables are gone" in cell.locator(".state").text_content()
    assert "variables are gone" in page.locator("article > [role=status]").text_content()
    write(cell, "print(x)")
    assert "NameError" in press(page, cell)
    press(page, cell, "Reset")
    assert cell.locator("textarea").count() == 0
    assert cell.locator("pre").first.text_content() == code


def test_an_exercise_is_answered_and_kept_here_until_it_is_forgotten(visit):
    page = visit(f"notebooks/{ONE}")
    press(page, cell_of(page, shown()))
    found = [*exercises(ONE)]
    for n, (check, _, (wrong, *_), solution) in enumerate(found):
        box = page.locator(".answer").nth(n)
        assert check in box.locator("textarea").input_value()
        box.locator("textarea").fill(wrong.answer)
        refused = press(page, box)
        assert refused.startswith("Not yet: ")
        assert wrong.says in refused
        box.locator("textarea").fill(solution)
        assert press(page, box) == "Right."
        assert page.locator(".bd-links .right").text_content() == f"✓ {n + 1} of {len(found)}"
    page.reload()
    assert page.locator(".bd-links .right").text_content() == f"✓ {len(found)} of {len(found)}"
    page.get_by_role("button", name="Forget").click()
    assert page.locator(".right, .forget").count() == 0


def test_a_phone_a_keyboard_and_axe_are_enough(visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(f"notebooks/{ONE}")
    page.set_viewport_size({"width": 390, "height": 800})
    cell = cell_of(page, shown())
    cell.locator(".run").focus()
    page.keyboard.press("Enter")
    cell.locator(".bar").get_by_text("Done").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Run"
    cell.locator(".bar").get_by_role("button", name="Edit").press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("for x in range(2):\nprint(x)")
    page.keyboard.press("Control+Enter")
    cell.locator(".state").get_by_text("Done.", exact=True).wait_for()
    assert cell.locator(".stdout").text_content() == "0\n1\n"
    assert page.locator("article > [role=status]").text_content() == f"cell {shown() + 1}: Done."
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator(".bar button:visible").all():
        assert control.bounding_box()["height"] >= 24
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        found = axe.run(page, context="article", options={"runOnly": rules})
        assert found.violations_count == 0, found.generate_report()


def test_it_runs_on_a_plane_after_the_first_time(visit, monkeypatch):
    page = visit(f"notebooks/{ONE}")
    assert press(page, cell_of(page, shown())).startswith("Done")
    monkeypatch.setattr(Quiet, "do_GET", lambda self: self.connection.close())
    page.reload()
    assert press(page, cell_of(page, shown())).startswith("Done")


def test_from_a_file_there_are_no_buttons(browser):
    page = browser.new_page()
    page.goto((SITE / "notebooks" / f"{ONE}.html").as_uri())
    assert page.locator("div.cell").count()
    assert page.locator(".run").count() == 0
    page.close()


# ---------------------------------------------------------------- what book/try.md states

RECORD = ROOT / "book" / "python" / "speed.json"
SIX = CHAPTERS[1:3] + CHAPTERS[4:8]
NATIVE = """
import json, os, sys, types
sys.path[:0] = ["book/python", "book/_ext/sphinx_posenc"]
sys.modules["page"] = types.ModuleType("page")
sys.modules["page"].send = lambda text: None
import kernel
sys.meta_path.insert(0, kernel.Finder)  # no torch, and no Jupyter, as in the page
os.chdir("notebooks")
for line in sys.stdin:
    done = [json.loads(kernel.run(cell, "cell")) for cell in json.loads(line)]
    print(json.dumps(done), flush=True)
"""


@pytest.mark.timing
def test_python_in_the_page_is_measured(python, served, browser):
    """The same cells here and natively, in turn; `RECORD=1` keeps what the page states."""
    native = subprocess.Popen(
        [sys.executable, "-c", NATIVE], cwd=ROOT, stdin=-1, stdout=-1, text=True
    )

    def both(sources):
        print(json.dumps(sources), file=native.stdin, flush=True)
        sides = json.loads(native.stdout.readline()), python.evaluate(RUN, sources)
        assert not any("error" in cell for side in sides for cell in side)
        return [[cell["seconds"] for cell in side] for side in sides]

    cells = []
    for chapter in SIX:
        sources = [FRESH, *filter(None, python.evaluate(CELLS, chapter))]
        rounds = [both(sources) for _ in range(6)][1:]  # in the first, imports take their time
        cells += [
            tuple(statistics.median(r[side][n] for r in rounds) for side in (0, 1))
            for n in range(1, len(sources))
        ]
    ratios = sorted((there / here, here) for here, there in cells)
    starts = []
    for _ in range(3):
        page = browser.new_context().new_page()
        for times in (first := []), (again := []):
            page.goto(f"{served}/notebooks/{ONE}.html")
            page.evaluate(START)
            source = "import numpy as np\\nprint(np.arange(10).sum())"
            clock = f"const start = performance.now(); await run('{source}');"
            times.append(
                page.evaluate(f"async () => {{ {clock} return performance.now() - start }}")
            )
        starts.append((first[0] / 1000, again[0] / 1000))
    here, there = both(python.evaluate(CELLS, "../book/try")[1:])
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]
    record = {
        "date": str(date.today()),
        "browser": f"Chromium {browser.version}",
        "processor": cpu,
        "cores": os.cpu_count(),
        "cells": len(ratios),
        "ratios": [round(q, 2) for q in statistics.quantiles([r for r, _ in ratios], n=4)],
        "cells above 5": sum(ratio > 5 for ratio, _ in ratios),
        "longest of the ten slowest, ms natively": 1000 * max(s for _, s in ratios[-10:]),
        "seconds to the first answer": statistics.median(first for first, _ in starts),
        "seconds after a reload": statistics.median(again for _, again in starts),
        "seconds of training": {"in the page": there[0], "natively": here[0]},
    }
    print(json.dumps(record, indent=1))
    native.kill()
    if os.environ.get("RECORD"):
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def stated():
    """What the page tells of sizes and speed: from the files, and from the record."""
    files = ROOT / "book" / "python" / "pyodide"
    packages = json.loads((files / "pyodide-lock.json").read_text("utf-8"))["packages"]

    def megabytes(*names, seen=()):
        wanted = list(names)
        for name in wanted:
            wanted += [n for n in packages[name]["depends"] if n not in wanted]
        sizes = [(files / packages[n]["file_name"]).stat().st_size for n in wanted if n not in seen]
        return round(sum(sizes) / 1e6)

    core = ["pyodide.asm.wasm.packed", "pyodide.asm.mjs", "python_stdlib.zip"]
    first = sum((files / name).stat().st_size for name in core) / 1e6 + megabytes("numpy")
    pictures, learn = (megabytes(name, seen=["numpy"]) for name in ("matplotlib", "scikit-learn"))
    yield (
        f"some {round(first)} MB are loaded from this site, {pictures} more for pictures, and "
        f"where a chapter asks for them {megabytes('sympy')} for sympy and {learn} for scikit-learn"
    )
    record = json.loads(RECORD.read_text("utf-8"))
    low, middle, high = record["ratios"]
    assert middle <= 5, "a cell may take five times as long as natively, at the median"
    yield (
        f"of the {record['cells']} cells of six chapters that need no PyTorch, half took at most "
        f"{middle:.1f} times as long as natively, a quarter at most {low:.1f} times, "
        f"a quarter over {high:.1f} times, and {record['cells above 5']} over 5 times"
    )
    longest = math.ceil(record["longest of the ten slowest, ms natively"])
    yield f"The ten that lost most are short: each takes less than {longest} ms natively"
    yield f"to numpy's first answer it took {record['seconds to the first answer']:.0f} s"
    yield f"After a reload it took {record['seconds after a reload']:.0f} s"
    there, here = record["seconds of training"].values()
    yield f"The nine models below took {there:.0f} s in the page, and {here:.0f} s natively"
    yield f"Measured on {record['date']}, with {record['browser'].split('.')[0]}"
    assert record["cores"] == 2
    yield f"on two cores ({record['processor']})"


def test_the_page_states_its_sizes_and_speed():
    text = " ".join((ROOT / "book" / "try.md").read_text("utf-8").split())
    assert [sentence for sentence in stated() if sentence not in text] == []
