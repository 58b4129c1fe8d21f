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

ROOT = Path(__file__).parents[1]
ONE = "09_binary_analogy"
# nbval proves each cell; this proves what differs in the page: Pyodide's packages, stubs, printing.
CHAPTERS = some(
    sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")), [ONE]
)
SLOW = 240_000  # ms; a timeout for busy machines, not a delay
BUSY = re.compile("^(Waiting|Starting|Loading|Running)")

# The site's own worker, which posts outputs as messages.
START = """() => {
    const python = document.querySelector("meta[name=python]").content;
    const worker = new Worker(new URL(`${python}worker.js`, location), { type: "module" });
    window.run = (source) => new Promise((resolve, reject) => {
        const found = { text: "", drawn: 0 };
        worker.onmessage = ({ data }) => {
            found.text += data.stream ?? (data.text ? `${data.text}\\n` : "");
            if ("svg" in data) found.drawn++;
            if ("broken" in data) reject(new Error(data.broken));
            if ("done" in data) resolve({ ...found, ...data.done });
        };
        worker.postMessage({ source, name: "cell" });
    });
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
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4).cells
    code = (cell for cell in cells if cell.cell_type == "code")
    return [
        cell for cell in code if "remove-input" not in cell.metadata.get("tags", [])
    ]


def sources(page):
    """The cells of a built page; nothing for one without a button."""
    cells = lxml.html.parse(SITE / f"{page}.html").xpath(
        "//div[starts-with(@class, 'cell ')]"
    )
    return [
        "needs-torch" not in e.classes and e.find(".//pre").text_content()
        for e in cells
    ]


def stored(cell):
    """What a stored cell prints, and the number of its pictures."""
    outputs = [
        each for each in cell.outputs if "image/svg+xml" not in each.get("data", {})
    ]
    texts = [each.get("text") or each.data["text/plain"] + "\n" for each in outputs]
    return "".join(texts).rstrip(), len(cell.outputs) - len(texts)


def press(cell, name="Run", says=""):
    """Press a button of a cell, wait until it is done, and return the cell's status."""
    cell.scroll_into_view_if_needed()
    # What it said of the last run would pass for an answer.
    cell.locator(".state").evaluate_all(
        "all => all.forEach((e) => (e.textContent = 'Waiting'))"
    )
    cell.locator(".bar").get_by_role("button", name=name, exact=True).click()
    state, silent = (
        cell.locator(".state"),
        f"{name} doesn't respond: fix book/python/page.js",
    )
    expect(state, silent).to_be_visible(timeout=60_000)
    expect(state, silent).not_to_have_text(BUSY, timeout=SLOW)
    said = state.text_content()
    assert said.startswith(says), f"after {name}, a cell says {said!r}, not {says!r}"
    return said


def write(cell, text):
    """Edit a cell."""
    if not cell.locator("textarea").count():
        cell.get_by_role("button", name="Edit").click()
    cell.locator("textarea").fill(text)


def test_a_config_that_is_pasted_is_read_by_python(reader):
    reader.open("book/config")
    shown = reader.locator("#config-shown")
    fields = {"rope_theta": 10_000.0, "head_dim": 64, "max_position_embeddings": 1024}
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    for text, says in [
        (json.dumps(fields | linear), "The scaling, linear, moves 32 of 32 pairs."),
        (
            json.dumps({"rope_scaling": {"type": "new"}}),
            "rope_scaling.type 'new' isn't known",
        ),
        (
            '{"rope_theta": 1e4\n "head_dim": 64}',
            "line 1, column 18: a comma is missing behind",
        ),
    ]:
        reader.locator("#config-text").fill(text)
        expect(shown).to_contain_text(says, timeout=SLOW)
    assert reader.locator(".config-wrong").inner_text() == '1  {"rope_theta": 1e4'
    assert reader.locator("#config-choice").input_value() == ""


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
    for n, (source, cell) in enumerate(pairs, 1):
        if source:
            now, where = run(source), f"{chapter}, cell [{n}], differs in the page"
            assert "error" not in now, f"{where}: {now['error']['text']}"
            if "nbval-ignore-output" not in cell.metadata.get("tags", []):
                assert (now["text"].rstrip(), now["drawn"]) == stored(cell), where


def test_bugs_are_hunted_in_the_page(run):
    (hunt,) = sources("book/try")
    caught = "It caught 0 of 7 bugs, and rejected 0 of 3 correct tables."
    assert caught in run(hunt)["text"]


@pytest.fixture
def cell(reader):
    """The first cell that isn't folded, in a page where buttons run the cells."""
    if ONE not in reader.url:
        reader.open(f"notebooks/{ONE}")
    return reader.locator("div.cell.first")


def test_nothing_is_loaded_before_a_reader_asks(visit, served):
    page, asked = visit(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}/notebooks/{ONE}.html")
    first = page.locator("div.cell.first .bar button:visible")
    expect(first).to_have_text(["Run", "Edit", "Reset", "Run all", "Copy"])
    assert [url for url in asked if "/python/" in url or "offline" in url] == []
    assert (
        page.evaluate(
            "navigator.serviceWorker.getRegistrations().then(all => all.length)"
        )
        == 0
    )
    with page.expect_request("**/python/*/page.js"):
        page.locator(".answer textarea").first.focus()


def test_a_cell_is_run_edited_and_reset(cell):
    published = cell.locator(".cell_output:not(.ran) .output").first
    press(cell, says="Done")  # the cells above ran first
    assert (
        cell.locator(".ran").text_content().strip()
        == published.text_content().strip()
        != ""
    )
    assert not published.is_visible()
    press(cell, "Reset", says="As it was published.")
    assert published.is_visible()
    assert cell.locator(".ran").count() == 0
    write(cell, "x = 1\nprint('here')\n1 / 0\nx = 2")
    press(cell, says="Line 3: ZeroDivisionError: division by zero")
    assert cell.locator(".stdout").text_content() == "here\n"
    where = f'<{cell.get_attribute("data-name")}>", line 3, in <module>'
    assert where in cell.locator(".error").text_content()
    write(cell, "for x in (1, 2)\n    pass")
    press(cell, says="Line 1: SyntaxError: expected ':'")
    assert "ast.py" not in cell.locator(".error").text_content()
    write(
        cell,
        "from posenc.book import widgets\nclock = widgets.Clocks(position=3)\nclock",
    )
    press(cell, says="Done")
    cell.get_by_role("slider", name="position k").press("ArrowRight")
    assert "Position 4" in cell.locator(".ran .say").text_content()


def test_an_exercise_is_answered_and_kept_here_until_it_is_forgotten(reader, cell):
    codes = code_cells(ONE)
    found = [code for code in codes if "wrong_answers" in code.metadata]
    right = reader.locator(".bd-links .right")
    for n, code in enumerate(found):
        box, wrong = reader.locator(".answer").nth(n), code.metadata.wrong_answers[0]
        check = re.search(r"^def (check_\w+\()", code.source, re.MULTILINE)[1]
        solution = next(c.source for c in codes if check in c.source and c is not code)
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
    expect(right).to_have_count(0)  # in each window
    other.close()


def test_a_phone_a_keyboard_and_axe_are_enough(reader, cell):
    reader.set_viewport_size({"width": 390, "height": 800})
    press(cell, "Reset")
    cell.locator(".bar").get_by_role("button", name="Edit").press("Enter")
    expect(
        cell.locator("textarea")
    ).to_be_focused()  # what is typed earlier goes elsewhere
    reader.keyboard.press("Control+a")
    reader.keyboard.type("for x in range(2):\nprint(x)")
    reader.keyboard.press("Control+Enter")
    cell.locator(".state").get_by_text("Done.", exact=True).wait_for()
    assert cell.locator(".stdout").text_content() == "0\n1\n"
    said = reader.locator("article > [role=status]").text_content()
    assert said == f"{cell.get_attribute('data-name')}: Done."
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    for control in reader.locator(".bar button:visible").all():
        assert control.bounding_box()["height"] >= 24
    check_with_axe(reader, "article div.cell:has(textarea)")
    menu = reader.locator(".primary-toggle")
    menu.press("Enter")
    expect(reader.locator(".bd-sidebar-primary :focus")).to_be_visible()
    reader.keyboard.press("Escape")
    expect(menu).to_be_focused()


def test_a_loop_is_stopped_and_the_page_runs_on_a_plane(reader, cell, monkeypatch):
    """Loaded files are cached, so Python starts again without a network."""
    press(cell)
    write(cell, "while True:\n    pass")
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_text("Running", exact=True).wait_for()
    (worker,) = reader.workers
    with worker.expect_event("close"):
        cell.get_by_role("button", name="Stop").click()
    for says in (cell.locator(".state"), reader.locator("article > [role=status]")):
        assert "variables are gone" in says.text_content()
    monkeypatch.setattr(
        SimpleHTTPRequestHandler, "do_GET", lambda self: self.connection.close()
    )
    reader.reload()
    write(cell, "print(6 * 7)")
    press(cell, says="Done.")
    press(cell, "Reset")
    assert cell.locator("textarea").count() == 0
    assert "print(6 * 7)" not in reader.evaluate("JSON.stringify(localStorage)")


def test_the_page_states_how_much_is_loaded():
    files, first = (
        ROOT / "book" / "python" / "pyodide",
        ("pyodide.asm*", "python_std*", "numpy*"),
    )
    size = sum(path.stat().st_size for name in first for path in files.glob(name))
    said = f"some {size / 1e6:.0f} MB are loaded from this site, and more where"
    assert said in " ".join((ROOT / "book" / "try.md").read_text("utf-8").split())
