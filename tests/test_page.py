"""Cells that run in the page: Pyodide in a worker, on the built site, without other hosts."""

import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lxml.html
import nbformat
import pytest
from pages import SITE, check_with_axe, some
from playwright.sync_api import expect

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
ONE = "09_binary_analogy"
# nbval proves each cell; this proves what differs in the page: Pyodide's packages, stubs, printing.
CHAPTERS = some(sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")), [ONE])
SLOW = 240_000  # ms; a timeout for busy machines, not a delay
BUSY = re.compile("^(Waiting|Starting|Loading|Running)")

# The site's own worker, which posts outputs as messages.
START = """async () => {
    const address = document.querySelector("meta[name=python]").content;
    const { Python } = await import(new URL(`${address}python.js`, location));
    const output = { text: "", drawn: 0 };
    let resolve;
    const hear = (data) => {
        output.text += data.stream ?? (data.text ? `${data.text}\\n` : "");
        if ("svg" in data) output.drawn++;
        if ("done" in data) resolve({ ...output, ...data.done });
    };
    const python = new Python({ hear, tell() {}, fail: (reason) => resolve({ error: reason }) });
    window.run = (source) => {
        Object.assign(output, { text: "", drawn: 0 });
        const answer = new Promise((given) => (resolve = given));
        python.post({ source, name: "cell" });
        return answer;
    };
}"""
# Reset what a chapter has set, and clear its names.
FRESH = """
import matplotlib, numpy
matplotlib.rcdefaults()
numpy.set_printoptions(precision=8, suppress=False, linewidth=75, threshold=1000, formatter=None)
globals().clear()
"""


@pytest.fixture(scope="module")
def served(site):
    """The address of the built site."""
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def reader(visit_all, served):
    """One page for all tests, so that Python starts from what its first start left."""
    page = visit_all()
    page.open = lambda name: page.goto(f"{served}/{name}.html")
    return page


def code_cells(chapter):
    """The code cells of a chapter that are shown."""
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    hidden = {"remove-input", "answer"}
    return [cell for cell in code if not hidden & {*cell.metadata.get("tags", [])}]


def sources(page):
    """The code of the cells of a built page; nothing for one that can't run there."""
    built = lxml.html.parse(SITE / f"{page}.html")
    cells = built.xpath("//div[starts-with(@class, 'cell ')][.//pre]")
    shown = [cell for cell in cells if cell.find_class("cell_input")]
    return [
        "needs-torch" not in cell.classes and cell.find(".//pre").text_content()
        for cell in shown
    ]


def stored(cell):
    """What a stored cell prints, and the number of its pictures."""
    pictures = [out for out in cell.outputs if "image/svg+xml" in out.get("data", {})]
    texts = [
        out.get("text") or out.data["text/plain"] + "\n"
        for out in cell.outputs
        if out not in pictures
    ]
    return "".join(texts).rstrip(), len(pictures)


def press(cell, name="Run", says=""):
    """Press a button of a cell, wait until it is done, and check the cell's status."""
    cell.scroll_into_view_if_needed()
    bar = cell.locator(".bar")
    button = bar.get_by_role("button", name=name, exact=True)
    if not button.is_visible():
        bar.get_by_role("button", name="More").click()
    state = bar.locator(".state")
    # What it said of the last run would pass for an answer.
    state.evaluate("(state) => (state.textContent = 'Waiting')")
    button.click()
    expect(state).not_to_have_text(BUSY, timeout=SLOW)
    expect(state).to_contain_text(says)


def write(cell, text):
    """Edit a cell."""
    if not cell.locator("textarea").count():
        cell.get_by_role("button", name="Edit").click()
    cell.locator("textarea").fill(text)


def test_a_pasted_config_is_read_and_never_shown_as_another(reader):
    reader.open("book/config")
    shown = reader.locator("#config-shown")
    expect(shown).to_contain_text("llama")
    linear = {"rope_theta": 1e4, "head_dim": 64, "max_position_embeddings": 1024}
    linear["rope_scaling"] = {"rope_type": "linear", "factor": 4.0}
    reader.locator("#config-text").fill(json.dumps(linear))
    expect(shown).to_contain_text("Reading", timeout=1)
    moved = "The scaling, linear, moves 32 of 32 pairs."
    expect(shown).to_contain_text(moved, timeout=SLOW)
    reader.locator("#config-text").fill('{"rope_theta": 1e4\n "head_dim": 64}')
    expect(reader.locator(".config-wrong")).to_have_text('1  {"rope_theta": 1e4')


@pytest.fixture
def run(reader):
    """One Python for all chapters, since each start takes seconds."""
    if "try" not in reader.url:
        reader.open("book/try")
        reader.evaluate(START)
    return lambda source: reader.evaluate("source => run(source)", source)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_has_a_button_runs_and_says_what_is_stored(run, chapter):
    assert "error" not in run(FRESH)
    pairs = zip(sources(f"notebooks/{chapter}"), code_cells(chapter), strict=True)
    for source, cell in pairs:
        if source:
            result = run(source)
            assert "error" not in result, f"{source}: {result['error']['text']}"
            if "nbval-ignore-output" not in cell.metadata.get("tags", []):
                assert (result["text"].rstrip(), result["drawn"]) == stored(cell), (
                    source
                )


def test_bugs_are_hunted_in_the_page(run):
    (hunt,) = sources("book/try")
    assert "rejected 0 of 3 correct tables." in run(hunt)["text"]


@pytest.fixture
def cell(reader):
    """The first cell in sight, in a page where buttons run the cells."""
    if ONE not in reader.url:
        reader.open(f"notebooks/{ONE}")
    return reader.locator("div.cell.first")


def test_python_is_loaded_once_a_reader_nears_a_cell(visit, served):
    page, loaded = visit(), []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{served}/notebooks/{ONE}.html", wait_until="networkidle")
    assert not any("/python/" in url for url in loaded)
    with page.expect_request("**/python/*/worker.js"):
        page.mouse.wheel(0, 100)
        page.locator("div.cell.first").scroll_into_view_if_needed()


def test_a_cell_is_run_edited_and_reset(cell):
    published = cell.locator(".cell_output:not(.ran) .output").first
    press(cell, says="Done")  # the cells above ran first
    output = published.text_content().strip()
    assert cell.locator(".ran").text_content().strip() == output != ""
    expect(published).not_to_be_visible()
    press(cell, "Reset", says="As it was published.")
    expect(published).to_be_visible()
    write(cell, "x = 1\nprint('here')\n1 / 0")
    press(cell, says="Line 3: ZeroDivisionError: division by zero")
    expect(cell.locator(".stdout")).to_have_text("here")
    write(cell, "for x in (1, 2)\n    pass")
    press(cell, says="Line 1: SyntaxError: expected ':'")
    expect(cell.locator(".editor .k").first).to_have_text("for")
    figure = "from posenc.book import widgets\nwidgets.Clocks(position=3)"
    write(cell, figure)
    press(cell, says="Done")
    cell.get_by_role("slider", name="position k").press("ArrowRight")
    expect(cell.locator(".ran .say")).to_contain_text("Position 4")


def test_an_exercise_is_answered_and_kept_here_until_it_is_forgotten(reader, cell):
    codes = code_cells(ONE)
    question = next(code for code in codes if "wrong_answers" in code.metadata)
    wrong = question.metadata.wrong_answers[0]
    check = re.search(r"^def (check_\w+\()", question.source, re.MULTILINE)[1]
    solution = next(c.source for c in codes if check in c.source and c is not question)
    box, right = reader.locator(".answer").first, reader.locator(".bd-links .right")
    press(box, says="Put your answer")
    box.locator("textarea").fill(wrong.answer)
    press(box, says=wrong.says)
    box.locator("textarea").fill(solution)
    press(box, says="Right.")
    expect(right).to_contain_text("✓ 1 of")
    other = reader.context.new_page()
    other.goto(reader.url)
    other.on("dialog", lambda dialog: dialog.accept())
    other.get_by_role("button", name="Forget").click()
    expect(right).to_have_count(0)  # in each window
    other.close()


def test_a_phone_a_keyboard_and_axe_are_enough(reader, cell):
    reader.set_viewport_size({"width": 390, "height": 800})
    press(cell, "Reset")
    cell.locator(".bar").get_by_role("button", name="Edit").press("Enter")
    expect(cell.locator("textarea")).to_be_focused()
    reader.keyboard.press("Control+a")
    reader.keyboard.type("for x in range(2):\nprint(x)")
    reader.keyboard.press("Control+Enter")
    expect(reader.locator("article > [role=status]")).to_contain_text("Done.")
    expect(cell.locator(".stdout")).to_have_text("0\n1\n")
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    check_with_axe(reader, "article div.cell:has(textarea)")


def test_a_loop_is_stopped_and_the_page_runs_on_a_plane(reader, cell, monkeypatch):
    """Loaded files are kept, so Python starts again without a network."""
    press(cell)
    write(cell, "while True:\n    pass")
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_text("Running", exact=True).wait_for()
    cell.get_by_role("button", name="Stop").click()
    expect(cell.locator(".state")).to_contain_text("variables are gone")
    hang_up = lambda handler: handler.connection.close()  # noqa: E731
    monkeypatch.setattr(SimpleHTTPRequestHandler, "do_GET", hang_up)
    reader.reload()
    write(cell, "print(6 * 7)")
    press(cell, says="Done.")
