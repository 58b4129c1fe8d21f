"""Cells that run in the page: Pyodide in a worker, on the built site, without other hosts."""

import os
import re
from http.server import SimpleHTTPRequestHandler

import pytest
from pages import button, check_contrast, check_with_axe, some
from playwright.sync_api import expect
from reading import NOTEBOOKS

ONE = "notebooks/09_binary_analogy"
# Of its first exercise: a wrong answer, and a right one.
ANSWERS = {
    "# check_decimal(12)": "Done",
    "check_decimal(24)": "the factor is 3.16",
    "check_decimal(12)": "Right.",
}
CHAPTERS = some([f"notebooks/{path.stem}" for path in NOTEBOOKS], one_in=9)
SLOW = 240_000  # ms; a timeout for busy machines, not a delay
# Stored texts and fresh ones that differ, but for cells that print times.
CHANGED = """() => {
    const words = (cell, part) => [...cell.querySelectorAll(part)]
        .map((e) => e.textContent).join(" ").split(/\\s+/).join(" ").trim();
    return [...document.querySelectorAll("div.cell:not(.tag_nbval-ignore-output):has(.ran)")]
        .map((cell) => [words(cell, ".cell_output:not(.ran) pre"), words(cell, ".ran pre")])
        .filter(([stored, fresh]) => stored !== fresh);
}"""
LINEAR = """{"rope_theta": 1e4,
"head_dim": 64, "max_position_embeddings": 1024,
"rope_scaling": {"rope_type": "linear", "factor": 4.0}}"""
BUSY = re.compile("^(Waiting|Starting|Loading|Running)")


@pytest.fixture(scope="module")
def reader(visit_all, served):
    """One page for all tests, so that Python starts from what its first start left.

    A test may leave what ran, an edited first cell, which `cell` resets, an answer, and any size
    of the window.
    """
    page = visit_all()
    page.open = lambda name: page.goto(f"{served}/{name}.html")
    return page


def press(cell, name="Run", says=""):
    """Press a button of a cell, wait until it is done, and check the cell's status."""
    cell.scroll_into_view_if_needed()
    bar = cell.locator(".bar")
    bar.wait_for()  # it is made when the cell comes near (cells.js)
    if not button(bar, name).is_visible():
        button(bar, "More").click()
    state = bar.locator(".state")
    # What it said of the last run would pass for an answer.
    state.evaluate("(state) => (state.textContent = 'Waiting')")
    button(bar, name).click()
    expect(state).not_to_have_text(BUSY, timeout=SLOW)
    expect(state).to_contain_text(says)


def write(cell, text):
    """Edit a cell."""
    area = cell.locator("textarea")
    if not area.count():
        button(cell, "Edit").click()
    area.fill(text)


def test_a_pasted_config_is_read_and_never_shown_as_another(reader):
    reader.open("book/config")
    field, shown = reader.locator("#config-text"), reader.locator("#config-shown")
    expect(shown).to_contain_text("llama")
    field.click()
    reader.keyboard.insert_text(LINEAR)
    # At once, what was shown is taken away; the answer comes once Python has loaded.
    expect(shown).to_contain_text("Reading", timeout=1)
    moved = "The scaling, linear, moves 32 of 32 pairs."
    expect(shown).to_contain_text(moved, timeout=SLOW)
    field.fill('{"rope_theta": 1e4\n "head_dim": 64}')
    expect(reader.locator(".config-wrong")).to_have_text('1  {"rope_theta": 1e4')


# Last the one whose cells the tests below use: Python goes on running.
OTHERS = [chapter for chapter in CHAPTERS if chapter != ONE]


@pytest.mark.parametrize("page", ["book/try", *OTHERS, ONE])
def test_all_cells_of_a_chapter_run_in_the_page(reader, page):
    """nbval proves each cell; in the page packages, stubs and printing differ."""
    reader.open(page)
    press(reader.locator("div.cell.first"), "Run all", says="cells have run")
    assert reader.locator(".ran .error").count() == 0
    if page != "book/try":  # a page of Markdown stores no output
        assert reader.evaluate(CHANGED) == [], "it prints something else than is stored"


@pytest.fixture
def cell(reader):
    """The first cell in sight, as it was published, on a desktop."""
    reader.set_viewport_size({"width": 1280, "height": 800})
    if ONE not in reader.url:
        reader.open(ONE)
    first = reader.locator("div.cell.first")
    press(first, "Reset", says="As it was published.")
    return first


def test_a_cell_is_run_edited_and_reset(cell):
    published = cell.locator(".cell_output:not(.ran) .output").first
    # The cells above run first. What was printed replaces what is stored, until it is reset.
    press(cell, says="Done")
    expect(cell.locator(".ran")).to_have_text(published.text_content())
    expect(published).not_to_be_visible()
    press(cell, "Reset", says="As it was published.")
    expect(published).to_be_visible()
    # What came before an error is shown.
    write(cell, "x = 1\nprint('here')\n1 / 0")
    press(cell, says="Line 3: ZeroDivisionError: division by zero")
    expect(cell.locator(".stdout")).to_have_text("here")
    # A figure is live.
    write(cell, "from posenc.book import widgets\nwidgets.Clocks(position=3)")
    press(cell, says="Done")
    clocks = cell.locator(".ran .live.clocks")
    clocks.get_by_label("position k").press("ArrowRight")
    expect(clocks.locator(".say")).to_contain_text("Position 4")


def test_an_exercise_is_answered(reader, cell):
    box = reader.locator(".answer").first
    box.scroll_into_view_if_needed()
    for answer, says in ANSWERS.items():
        box.locator("textarea").fill(answer)
        press(box, says=says)
    expect(reader.locator(".bd-links .right")).to_contain_text("✓ 1 of")


def test_a_phone_a_keyboard_and_axe_are_enough(reader, cell):
    reader.set_viewport_size({"width": 390, "height": 800})
    button(cell, "Edit").press("Enter")
    expect(cell.locator("textarea")).to_be_focused()
    reader.keyboard.press("Control+a")
    # A new line is indented as the editor sees fit.
    reader.keyboard.type("for x in range(2):\nprint(x)")
    reader.keyboard.press("Control+Enter")
    expect(reader.locator("article > [role=status]")).to_contain_text("Done.")
    expect(cell.locator(".stdout")).to_have_text("0\n1\n")
    assert reader.evaluate("document.documentElement.scrollWidth") <= 390
    check_with_axe(reader, "article div.cell:has(textarea)")
    check_contrast(reader, "article div.cell:has(textarea)")


def test_a_loop_is_stopped_and_the_page_runs_on_a_plane(reader, cell, monkeypatch):
    """Loaded files are kept, so Python starts again without a network."""
    reader.reload()  # loads stored pictures, too, whose places fresh ones had taken
    press(cell)
    write(cell, "while True:\n    pass")
    button(cell, "Run").click()
    expect(cell.locator(".state")).to_have_text("Running", timeout=SLOW)
    button(cell, "Stop").click()
    expect(cell.locator(".state")).to_contain_text("variables are gone")
    # The server answers nothing from here on, as on a plane.
    hang_up = lambda handler: handler.connection.close()  # noqa: E731
    monkeypatch.setattr(SimpleHTTPRequestHandler, "do_GET", hang_up)
    reader.reload()
    write(cell, "print(6 * 7)")
    press(cell, says="Done.")


# Weekly, with `BROWSERS="firefox webkit"`, which `playwright install firefox webkit` downloads.
@pytest.mark.parametrize("name", os.environ.get("BROWSERS", "").split())
def test_a_chapter_works_in_another_browser(engine, served, name):
    """Its figure is drawn, and a cell runs."""
    with getattr(engine, name).launch() as running:
        tab = running.new_page()
        tab.goto(f"{served}/notebooks/05_rotary_and_alibi.html")
        expect(tab.locator("posenc-figure input").first).to_be_visible()
        press(tab.locator("div.cell.first"), says="Done")
