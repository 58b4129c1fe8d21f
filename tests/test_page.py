"""Cells that run in the page: Pyodide in a worker, on the built site, without other hosts."""

import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sample import some

ROOT = Path(__file__).parents[1]
ONE = "09_binary_analogy"
# nbval proves each cell; this proves what differs in the page: Pyodide's packages, stubs, printing.
CHAPTERS = some(sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")), [ONE])
SLOW = 240_000  # ms; a timeout for busy machines, not a delay
# One Python for all chapters, in the site's own worker, which posts outputs as messages.
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
# The sources of a page's cells; null for a cell without a button.
CELLS = """async (name) => {
    const text = await (await fetch(`${name}.html`)).text();
    const page = new DOMParser().parseFromString(text, "text/html");
    return [...page.querySelectorAll("div.cell")].map((cell) =>
        cell.matches(".needs-torch, .tag_remove-input") ? null
            : cell.querySelector("pre").textContent);
}"""
# Reset what a chapter has set, and clear its names.
FRESH = """
import matplotlib, numpy
matplotlib.rcdefaults()
numpy.set_printoptions(precision=8, suppress=False, linewidth=75, threshold=1000, formatter=None)
globals().clear()
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
    """A page with one Python, shared by all chapters."""
    page = visit_all(f"{served}/notebooks/{ONE}.html")
    page.evaluate(START)
    page.run = lambda source: page.evaluate("source => run(source)", source)
    page.cells = lambda name: page.evaluate(CELLS, name)
    return page


def code_cells(chapter):
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4).cells
    code = (cell for cell in cells if cell.cell_type == "code")
    return [cell for cell in code if "remove-input" not in cell.metadata.get("tags", [])]


def stored(cell):
    """The text that a stored cell prints, and the number of its pictures."""
    text, drawn = "", 0
    for output in cell.outputs:
        data = output.get("data", {})
        drawn += "image/svg+xml" in data
        if "image/svg+xml" not in data:
            text += output.get("text") or data.get("text/plain", "") + "\n"
    return text.rstrip(), drawn


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_has_a_button_runs_and_says_what_is_stored(python, chapter):
    sources, cells = python.cells(chapter), code_cells(chapter)
    assert len(sources) == len(cells), "the site is older than the chapter: run `make book`"
    assert "error" not in (fresh := python.run(FRESH)), fresh
    for n, (source, cell) in enumerate(zip(sources, cells, strict=True), 1):
        if not source:
            continue
        where, now = f"{chapter}, cell [{n}], differs in the page", python.run(source)
        assert "error" not in now, f"{where}: {now['error']['text']}"
        text, drawn = stored(cell)
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            assert now["text"].rstrip() == text, where
        assert now["drawn"] == drawn, where


def test_bugs_are_hunted_and_models_trained_in_the_page(python):
    hunt, train = python.cells("../book/try")
    caught = "It caught 0 of 7 bugs, and rejected 0 of 3 correct tables."
    assert caught in python.run(hunt)["text"]
    python.run(train.partition("\n")[0])
    short = "for line in compare(['sinusoidal'], [16], [0], steps=40): print(line)"
    assert re.search(r"sinusoidal  0\.\d\d \(0\.\d\d–0\.\d\d\)", python.run(short)["text"])


def test_a_config_that_is_pasted_is_read_by_python(visit, served):
    page = visit(f"{served}/book/config.html")
    shown = page.locator("#config-shown")
    fields = {"rope_theta": 10_000.0, "head_dim": 64, "max_position_embeddings": 1024}
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    page.locator("#config-text").fill(json.dumps(fields | linear))
    expect(shown).to_contain_text("The scaling, linear, moves 32 of 32 pairs.", timeout=SLOW)
    page.locator("#config-text").fill(json.dumps(fields | {"rope_scaling": {"type": "new"}}))
    expect(shown).to_contain_text("rope_scaling.type must be one of")
    page.locator("#config-text").fill('{"rope_theta": 1e4\n "head_dim": 64}')
    expect(shown).to_contain_text("line 1, column 18: a comma is missing behind this")
    assert page.locator(".config-wrong").inner_text() == '1  {"rope_theta": 1e4'
    assert page.locator("#config-choice").input_value() == ""


# ------------------------------------------ buttons, on one chapter, whose Python starts once

BUSY = re.compile("^(Waiting|Starting|Loading|Running|It needs)")


CODE = code_cells(ONE)
# The first cell that isn't folded and prints something.
SHOWN = next(
    n
    for n, cell in enumerate(CODE)
    if n and stored(cell)[0] and "hide-input" not in cell.metadata.get("tags", [])
)


@pytest.fixture(scope="module")
def cell(visit_all, served):
    """That cell, in a page where buttons run the cells."""
    page = visit_all(f"{served}/notebooks/{ONE}.html")
    return page.locator("div.cell:not(.answer)").nth(SHOWN)


def press(cell, name="Run", says=""):
    """Press a button of a cell, wait until it is done, and return the cell's status."""
    cell.scroll_into_view_if_needed()
    # What it said of the last run would pass for an answer.
    cell.locator(".state").evaluate_all("all => all.forEach((e) => (e.textContent = 'Waiting'))")
    cell.locator(".bar").get_by_role("button", name=name, exact=True).click()
    silent = f"{name} of a cell in {ONE} doesn't respond: fix book/python/page.js"
    expect(cell.locator(".state"), silent).to_be_visible(timeout=60_000)
    expect(cell.locator(".state"), silent).not_to_have_text(BUSY, timeout=SLOW)
    said = cell.locator(".state").text_content()
    assert said.startswith(says), f"{silent}: it says {said!r}, not {says!r}"
    return said


def write(cell, text):
    """Edit a cell."""
    if not cell.locator("textarea").count():
        cell.get_by_role("button", name="Edit").click()
    cell.locator("textarea").fill(text)


def test_nothing_is_loaded_before_a_reader_asks(visit, served):
    page, asked = visit(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}/notebooks/{ONE}.html", wait_until="networkidle")
    first = page.locator("div.cell.first .bar").get_by_role("button")
    assert first.all_text_contents() == ["Run", "Edit", "Reset", "Run all", "Copy"]
    assert [url for url in asked if "/python/" in url or "offline" in url] == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0
    answer = page.locator(".answer").first
    answer.locator("textarea").focus()  # the scripts come; the letters of who types don't go astray
    answer.locator(".colors").wait_for(state="attached")
    expect(answer.locator("textarea")).to_be_focused()


def test_a_cell_is_run_edited_and_reset(cell):
    published = cell.locator(".cell_output:not(.ran) .output").first
    press(cell, says="Done")  # the cells above ran first
    assert cell.locator(".ran").text_content().strip() == stored(CODE[SHOWN])[0]
    assert not published.is_visible()
    press(cell, "Reset", says="As it was published.")
    assert published.is_visible()
    assert cell.locator(".ran").count() == 0
    write(cell, "x = 1\nprint('here')\n1 / 0\nx = 2")
    press(cell, says="Line 3: ZeroDivisionError: division by zero")
    assert cell.locator(".stdout").text_content() == "here\n"
    where = rf'<cell {SHOWN + 1}>", line 3, in <module>'
    assert re.search(where, cell.locator(".error").text_content())
    write(cell, "for x in (1, 2)\n    pass")
    press(cell, says="Line 1: SyntaxError: expected ':'")
    assert "ast.py" not in cell.locator(".error").text_content()
    write(cell, "from posenc.book import widgets\nclock = widgets.Clock(position=3)\nclock")
    press(cell, says="Done")
    cell.get_by_role("slider", name="position k").press("ArrowRight")
    assert "Position 4" in cell.locator(".ran .say").text_content()
    press(cell, "Reset")


def test_an_exercise_is_answered_and_kept_here_until_it_is_forgotten(cell):
    reader = cell.page
    press(cell)
    found = [code for code in CODE if "wrong_answers" in code.metadata]
    right = reader.locator(".bd-links .right")
    for n, code in enumerate(found):
        box, wrong = reader.locator(".answer").nth(n), code.metadata.wrong_answers[0]
        check = re.search(r"^def (check_\w+\()", code.source, re.MULTILINE)[1]
        solution = next(c.source for c in CODE if check in c.source and c is not code)
        assert check in box.locator("textarea").input_value()
        press(box, says="Put your answer")
        box.locator("textarea").fill(wrong.answer)
        assert wrong.says in press(box, says="Not yet: ")
        box.locator("textarea").fill(solution)
        press(box, says="Right.")
        assert right.text_content() == f"✓ {n + 1} of {len(found)}"
    other = reader.context.new_page()
    other.goto(reader.url)
    assert other.locator(".bd-links .right").text_content() == right.text_content()
    other.on("dialog", lambda asked: asked.accept())
    other.get_by_role("button", name="Forget").click()
    assert other.locator(".right").count() == 0
    other.get_by_role("button", name="Undo").click()
    assert other.locator(".right").text_content() == right.text_content()
    other.close()


def test_a_phone_a_keyboard_and_axe_are_enough(cell):
    reader = cell.page
    press(cell)
    reader.set_viewport_size({"width": 390, "height": 800})
    cell.locator(".bar").get_by_role("button", name="Edit").press("Enter")
    expect(cell.locator("textarea")).to_be_focused()  # what is typed earlier goes elsewhere
    reader.keyboard.press("Control+a")
    reader.keyboard.type("for x in range(2):\nprint(x)")
    reader.keyboard.press("Control+Enter")
    cell.locator(".state").get_by_text("Done.", exact=True).wait_for()
    assert cell.locator(".stdout").text_content() == "0\n1\n"
    assert reader.locator("article > [role=status]").text_content() == f"cell {SHOWN + 1}: Done."
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    for control in reader.locator(".bar button:visible").all():
        assert control.bounding_box()["height"] >= 24
    reader.wait_for_timeout(500)  # scrolling boxes take focus 0.3 s after the last change
    for scheme in ("light", "dark"):
        reader.emulate_media(color_scheme=scheme)
        reader.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        found = Axe().run(reader, "article div.cell:has(textarea)", {"preload": False})
        assert found.violations_count == 0, found.generate_report()
    reader.set_viewport_size({"width": 1280, "height": 800})


def test_a_loop_is_stopped_and_the_page_runs_on_a_plane(cell, monkeypatch):
    """Loaded files are cached, so Python starts again without a network."""
    reader = cell.page
    press(cell)
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
    assert "NameError" in press(cell)
    press(cell, "Reset")
    assert cell.locator("textarea").count() == 0
    reader.goto(reader.url.replace(ONE, "10_tsne"))
    assert reader.locator("h1").text_content() == "This page isn’t kept"
    reader.locator(f"li a[href$='{ONE}.html']").click()
    reader.locator(".bar").first.wait_for()
    assert all(said.startswith("Failed to load") for said in reader.wrong)  # that is how it is told
    reader.wrong.clear()


def test_from_a_file_there_are_no_buttons(site, visit):
    page = visit((site / "notebooks" / f"{ONE}.html").as_uri())
    assert page.locator("div.cell .bar button").first.text_content() == "Copy"


def test_the_page_states_how_much_is_loaded():
    files, first = ROOT / "book" / "python" / "pyodide", ("pyodide.asm*", "python_std*", "numpy*")
    size = sum(path.stat().st_size for name in first for path in files.glob(name))
    said = f"some {size / 1e6:.0f} MB are loaded from this site, and more where"
    assert said in " ".join((ROOT / "book" / "try.md").read_text("utf-8").split())
