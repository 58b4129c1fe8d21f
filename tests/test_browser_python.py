"""Cells that run in the page: Pyodide in a worker, on the built site, with no other host."""

import json
import math
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bench_page import CHAPTERS as SIX
from exercises import code_cells, exercises

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
OTHERS = sorted({path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} - {*SIX})
SLOW = 240_000  # ms: a busy machine may take long, and no test waits longer than it must
# Presses Run on cells, and tells what came out: text, error, pictures and figures.
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

    def open_page(chapter, context=None, folder="notebooks", **options):
        context = context or browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.goto(f"{served}/{folder}/{chapter}.html")
        page.asked = asked
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []


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


def run_whole(page, chapter):
    """Run every cell that has a button: none fails, and each says what is stored. All cells."""
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
    return cells


@pytest.mark.parametrize("chapter", OTHERS)
def test_what_has_a_button_runs_and_says_what_it_says(visit, chapter):
    run_whole(visit(chapter), chapter)


@pytest.mark.parametrize("chapter", SIX)
def test_a_chapter_runs_whole_and_says_what_it_says(visit, chapter):
    """Then its exercises: a wrong answer, and the book's own, which the list of chapters counts."""
    page = visit(chapter)
    run_whole(page, chapter)
    answers = page.locator(".answer")
    checks = [text.split()[-1] for text in answers.locator(".bar").evaluate_all(LABELS)]
    found = [*exercises(chapter)]
    assert [check for check, *_ in found] == checks
    for n, check in enumerate(checks):
        start = answers.nth(n).locator("textarea").input_value()
        assert re.fullmatch(rf"(\w+ = \.\.\.\n)+\n{check}\([\w, ]+\)", start)
        (_, _, (wrong, *_), solution) = found[n]
        refused = answer(page, n, wrong.answer)
        assert refused.startswith("Not yet: ")
        assert wrong.says in refused
        assert answer(page, n, solution) == "Right."
        assert page.locator(".bd-links .right").text_content() == f"✓ {n + 1} of {len(checks)}"


LABELS = "all => all.map(each => each.getAttribute('aria-label'))"


def answer(page, number, text):
    """Write and run an answer; what is said of it."""
    box = page.locator(".answer").nth(number)
    box.locator("textarea").fill(text)
    box.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(RESTS, arg=box.element_handle(), timeout=SLOW)
    return box.locator(".state").text_content()


RESTS = """cell => cell.getAttribute("aria-busy") === "false"
    && !/^(Waiting|Loading|Running|It needs)/.test(cell.querySelector(".state").textContent)"""


def press(page, number, name="Run"):
    """Press a button of a cell, and wait until it is done."""
    cell = page.locator("div.cell:not(.answer)").nth(number)
    if name == "Run" and not cell.locator(".bar").count():
        cell.locator(".run").click()
    else:
        cell.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function(
        f"cell => cell.querySelector('.bar') && ({RESTS})(cell)",
        arg=cell.element_handle(),
        timeout=SLOW,
    )
    return cell.locator(".state").text_content()


def write(page, number, text):
    """Edit a cell."""
    cell = page.locator("div.cell:not(.answer)").nth(number)
    if not cell.locator("textarea").count():
        cell.get_by_role("button", name="Edit").click()
    cell.locator("textarea").fill(text)
    return cell


def test_a_cell_is_edited_stopped_and_reset(visit):
    page = visit("06_binary_analogy")
    code = page.locator("div.cell").first.locator("pre").text_content()
    assert press(page, 0).startswith("Done")
    cell = write(page, 0, "x = 1\nprint('here')\n1 / 0\nx = 2")
    assert press(page, 0) == "Line 3: ZeroDivisionError: division by zero"
    assert cell.locator(".stdout").text_content() == "here\n"
    assert re.search(r'<cell 1>", line 3, in <module>', cell.locator(".error").text_content())
    stripe, area = (cell.locator(each).bounding_box() for each in (".stripe", "textarea"))
    assert 0.4 < (stripe["y"] + stripe["height"] / 2 - area["y"]) / area["height"] < 0.7
    write(page, 0, "while True:\n    pass")
    assert cell.locator(".stripe").count() == 0
    cell.get_by_role("button", name="Run", exact=True).click()
    cell.get_by_text("Running", exact=True).wait_for()
    (python,) = page.workers
    with python.expect_event("close"):
        page.get_by_role("button", name="Stop").click()
    assert "variables are gone" in cell.locator(".state").text_content()
    assert "variables are gone" in page.locator("article > [role=status]").text_content()
    write(page, 0, "print(x)")
    assert "NameError" in press(page, 0)
    press(page, 0, "Reset")
    assert cell.locator("textarea").count() == 0
    assert cell.locator("pre").first.text_content() == code
    assert cell.locator("pre").first.is_visible()


def test_what_stands_above_runs_first_where_it_is_needed(visit):
    page = visit("06_binary_analogy")
    number = next(n for n, cell in enumerate(code_cells("06_binary_analogy")) if n and cell.outputs)
    cell = page.locator("div.cell").nth(number)
    stored = cell.locator(".cell_output .output").first
    said = stored.locator("pre").text_content()
    assert press(page, number).startswith("Done")
    assert not stored.is_visible()
    assert cell.locator(".ran").text_content().strip() == said.strip()
    assert press(page, number, "Run all above") == "All above has run."
    assert press(page, number, "Reset") == "As it was published."
    assert stored.is_visible()


def test_a_figure_made_by_an_edited_cell_moves(visit):
    page = visit("06_binary_analogy")
    press(page, 0)
    cell = write(page, 0, "from posenc import widgets\nclock = widgets.Clock(position=3)\nclock")
    assert press(page, 0).startswith("Done")
    assert "Position 3" in cell.locator(".ran .say").text_content()
    cell.get_by_label("position k").press("ArrowRight")
    assert "Position 4" in cell.locator(".ran .say").text_content()
    cell = write(page, 1, "clock.position") if press(page, 1) else None
    press(page, 1)
    assert cell.locator(".ran").text_content() == "4"
    write(page, 1, "clock.position = 9")
    press(page, 1)
    assert "Position 9" in page.locator("div.cell").first.locator(".ran .say").text_content()


def test_right_answers_are_remembered_here_until_they_are_forgotten(visit):
    page = visit("05_heatmaps")
    press(page, 0)
    assert answer(page, 0, "check_base(10)").startswith("Not yet")
    assert page.locator(".bd-links .right").count() == 0
    assert answer(page, 0, "check_base(100)") == "Right."
    other = visit("06_binary_analogy", page.context)
    assert other.locator(".right").text_content() == "✓ 1 of 3"
    assert (
        other.locator("a", has=other.locator(".right")).get_attribute("href") == "05_heatmaps.html"
    )
    other.get_by_role("button", name="Forget right answers").click()
    assert other.locator(".right, .forget").count() == 0
    page.reload()
    assert page.locator(".right, .forget, .bar, .answer").count() == 0


def test_two_tabs_have_a_python_each(visit):
    one = visit("06_binary_analogy")
    two = visit("06_binary_analogy", one.context)
    for page, value in ((one, "1"), (two, "2")):
        press(page, 0)
        write(page, 0, f"x = {value}")
        press(page, 0)
    for page, value in ((one, "1"), (two, "2")):
        press(page, 0)
        cell = write(page, 0, "x")
        press(page, 0)
        assert cell.locator(".ran").text_content() == value


def test_a_phone_a_keyboard_and_axe_are_enough(visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit("06_binary_analogy")
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator(".run").first.focus()
    page.keyboard.press("Enter")
    page.locator(".bar").first.get_by_text("Done").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Run"
    page.locator(".bar").first.get_by_role("button", name="Edit").press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.type("for x in range(2):\nprint(x)")
    page.keyboard.press("Control+Enter")
    cell = page.locator("div.cell").first
    cell.locator(".state").get_by_text("Done.", exact=True).wait_for()
    assert cell.locator(".stdout").text_content() == "0\n1\n"
    page.keyboard.press("Tab")  # to the button that copies
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    spoken = page.locator("article > [role=status]")
    assert spoken.text_content() == "cell 1: Done."
    assert spoken.evaluate("p => p.getBoundingClientRect().width * p.offsetHeight") <= 1
    assert "inset" in spoken.evaluate("p => getComputedStyle(p).clipPath")
    page.locator("div.cell summary").first.click()
    assert press(page, 2) == "Done."
    picture = page.locator("div.cell").nth(2).locator(".ran > .picture").bounding_box()
    assert (picture["x"], picture["width"]) == (0, 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator(".bar button:visible, .run:visible").all():
        assert control.bounding_box()["height"] >= 24
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            "scheme => document.documentElement.dataset.theme === scheme", arg=scheme
        )
        found = axe.run(page, context="article", options={"runOnly": RULES})
        assert found.violations_count == 0, found.generate_report()


RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def test_bugs_are_hunted_and_models_trained_in_the_page(visit):
    page = visit("try", folder="book")
    assert press(page, 0).startswith("Done")
    shown = page.locator("div.cell").first.locator(".ran")
    assert "It caught 0 of 7 bugs, and accused 0 of 3 right tables." in shown.text_content()
    assert "missed: " in shown.text_content()
    press(page, 1, "Run")
    short = "print(*compare(['sinusoidal'], [16], [0], steps=40), sep='\\n')"
    cell = write(page, 1, f"from posenc.tiny import compare\n{short}")
    assert press(page, 1).startswith("Done")
    assert re.search(
        r"sinusoidal  0\.\d\d \(0\.\d\d–0\.\d\d\)", cell.locator(".ran").text_content()
    )


def test_it_runs_on_a_plane_after_the_first_time(visit, served, monkeypatch):
    page = visit("06_binary_analogy")
    page.locator("div.cell summary").first.click()
    assert press(page, 2).startswith("Done")
    monkeypatch.setattr(Quiet, "do_GET", lambda self: self.connection.close())
    page.reload()
    page.locator("div.cell summary").first.click()
    assert press(page, 2).startswith("Done")
    assert page.locator("div.cell").nth(2).locator(".ran img").count() == 1


def test_nothing_is_loaded_before_a_reader_asks(visit, served):
    page = visit("06_binary_analogy")
    page.wait_for_load_state("networkidle")
    assert page.locator(".run").count() == len(runnable(page))
    assert [url for url in page.asked if "/python/" in url or "offline" in url] == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0


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
    record = json.loads((ROOT / "book" / "python" / "speed.json").read_text("utf-8"))
    low, middle, high = record["ratios"]
    assert middle <= 5, "a cell may take five times as long as natively, at the median"
    count = sum(chapter["cells"] for chapter in record["chapters"].values())
    yield (
        f"of the {count} cells of six chapters that need no PyTorch, half took at most "
        f"{middle:.1f} times as long as natively, a quarter at most {low:.1f} times, "
        f"a quarter over {high:.1f} times, and {record['cells above 5']} over 5 times"
    )
    longest = max(cell["ms natively"] for cell in record["largest ratios"])
    assert len(record["largest ratios"]) == 10
    yield f"The ten that lost most are short: each takes less than {math.ceil(longest)} ms natively"
    (_, first, _), (_, again, _) = record["first answer"], record["answer after a reload"]
    yield f"From the first press of *Run* to numpy's first answer it took {first:.0f} s"
    yield f"After a reload it took {again:.0f} s"
    training = record["training"]
    yield (
        f"The nine models below took {training['seconds in the page']:.0f} s in the page, and "
        f"{training['seconds natively']:.0f} s natively"
    )
    yield f"Measured on {record['date']}, with {record['browser'].split('.')[0]}"
    assert record["cores"] == 2
    yield f"on two cores ({record['processor']})"


def test_the_page_states_its_sizes_and_speed():
    text = " ".join((ROOT / "book" / "try.md").read_text("utf-8").split())
    for sentence in stated():
        assert sentence in text


def test_from_a_file_there_are_no_buttons(browser):
    page = browser.new_page()
    page.goto((SITE / "notebooks" / "06_binary_analogy.html").as_uri())
    assert page.locator("div.cell").count()
    assert page.locator(".run").count() == 0
    page.close()
