"""The book in a real JupyterLab, as `make lab` opens it: chapters as on the site, live widgets."""

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
import yaml
from execute import is_same
from exercises import exercises
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PAGES = ["claims", "errata", "glossary", "questions", "notation", "references", "api", "try"]
if not os.environ.get("CI"):  # a page takes seconds
    CHAPTERS = ["07_linearity"]
CELLS = (
    "from posenc import widgets\nfigure = widgets.Heatmap(d_model=64)\nfigure",
    "print(figure.state())",
    "figure.d_model = 32\nfigure.position = 7",
    "print(figure.state())",
)
SLIDER = ".jp-OutputArea-output #field-d_model"
# The page says "idle" before it has a kernel, too; a cell that is run then is forgotten.
CONNECTED = """() => {
    const kernel = jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
CLEAN = "!jupyterapp.shell.currentWidget.context.model.dirty"
SHOW = "path => jupyterapp.commands.execute('docmanager:open', { path }).then(() => null)"
RENDERED = """() => {
    const text = jupyterapp.shell.currentWidget?.content.widgets?.filter(
        (cell) => cell.model.type === "markdown");
    return text?.length && text.every((cell) => cell.node.querySelector(".myst")?.textContent);
}"""
SETTLED = """() => {
    const { content, sessionContext } = jupyterapp.shell.currentWidget;
    const kernel = sessionContext?.session?.kernel;
    const started = sessionContext?.isReady ?? true;
    const idle = !kernel || kernel.connectionStatus === "connected" && kernel.status === "idle";
    const cells = content.widgets ?? [];
    return started && idle && (cells.every?.((cell) => cell.model.type !== "markdown"
        || cell.node.querySelector(".myst")?.textContent) ?? true);
}"""
SEEN = """async () => {
    const cells = jupyterapp.shell.currentWidget.content.widgets;
    const page = jupyterapp.shell.currentWidget.content.node;
    const all = (query, node = page) => [...node.querySelectorAll(query)];
    const text = (cell) => {
        const copy = cell.node.querySelector(".myst").cloneNode(true);
        for (const part of all("code, pre, .katex", copy)) part.remove();
        return copy.textContent;
    };
    const pictures = all(".jp-OutputArea-output img");
    await Promise.all(pictures.map((picture) => picture.decode()));
    return {
        text: cells.filter((cell) => cell.model.type === "markdown").map(text),
        pictures: pictures.map((picture) => [picture.naturalWidth > 100,
            getComputedStyle(picture).backgroundColor,
            text(cells[cells.findIndex((cell) => cell.node.contains(picture)) + 1])]),
        tags: all(".myst .tag").map((tag) => tag.textContent.replace(/[^\\d.]/g, "")),
        counted: all(".myst [title='Link to this Equation']").filter((a) => a.offsetParent).length,
        nowhere: all(".myst a[href^='#']").map((a) => a.hash.slice(1)).filter(
            (id) => !document.getElementById(id)),
        warnings: all(".myst [class*='text-yellow'], .myst [class*='text-red']").length,
        elsewhere: all(".myst a[href^='http']").map((a) => a.href).filter(
            (address) => !address.startsWith(location.origin)),
        places: [...all(".myst [id]").map((place) => place.id),
            ...all(".myst .heading-text").map((heading) => heading.textContent)],
        boxes: all(".myst aside.documents").length,
        exercises: all(".myst aside.myst-exercise").length,
        folded: all(".myst details.myst-exercise:not([open])").length,
        lines: all(".jp-Placeholder.jp-InputPlaceholder").map((line) => line.textContent.trim()),
    };
}"""
BOXES = """() => {
    const page = jupyterapp.shell.currentWidget.node;
    const all = (query) => [...page.querySelectorAll(`.myst ${query}`)];
    return {
        text: page.querySelector(".myst").innerText,
        links: all("a").map((link) => link.href),
        warnings: all("[class*='text-yellow'], [class*='text-red'], .katex-error").length,
        rows: all("tr:has(td)").length,
        terms: all("dt").length,
    };
}"""
# Each place stands far below the top of its page.
IN_SIGHT = """([path, query, text]) => {
    const widget = jupyterapp.shell.currentWidget;
    const place = [...widget.node.querySelectorAll(query)].find(
        (element) => element.textContent.includes(text));
    const y = place?.getBoundingClientRect().y;
    return widget.context.path === path && y > 0 && y < innerHeight;
}"""
NOTEBOOK = "jupyterapp.shell.currentWidget.content.model.toJSON()"
THEME = "name => jupyterapp.commands.execute('apputils:change-theme', { theme: name })"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab that serves the book, and a notebook of these cells."""
    folder = tmp_path_factory.mktemp("lab")
    book = folder / "book and more"
    for name in ("notebooks", "book"):
        shutil.copytree(ROOT / name, book / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "index.md", book)
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, book / "figures.ipynb")
    names = ("CONFIG", "RUNTIME", "DATA")
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in names}
    own |= {f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")}
    own["JUPYTER_CONFIG_PATH"] = str(ROOT / "tools" / "lab")  # as in the Makefile
    environment = {k: v for k, v in os.environ.items() if k != "POSENC_STATIC"} | own
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
             "--LabApp.expose_app_in_browser=True", "--ServerApp.port=0",
             "--ServerApp.token=figures", f"--ServerApp.root_dir={book}"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield address(folder / "runtime", server)
    finally:
        server.terminate()
        server.wait(30)


def address(runtime, server):
    """Wait until the server says where it is."""
    for _ in range(600):
        assert server.poll() is None, (runtime.parent / "log").read_text()
        for path in runtime.glob("jpserver-*.json"):
            return json.loads(path.read_text())["url"]
        time.sleep(0.1)
    raise TimeoutError("JupyterLab did not start within a minute")


def close(page):
    """Close what is shown; while it is drawn or its kernel starts, JupyterLab would stumble."""
    page.wait_for_function(SETTLED, timeout=120_000)
    page.evaluate("""async () => {
        const widget = jupyterapp.shell.currentWidget;
        await widget.sessionContext?.shutdown();
        widget.dispose();
    }""")


def run(page, cell):
    """Run one cell, as a learner would, and return what it prints."""
    found = page.locator(".jp-CodeCell").nth(cell)
    found.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    prompt = found.locator(".jp-InputPrompt")
    page.wait_for_function(
        "prompt => /\\d/.test(prompt.textContent)", arg=prompt.element_handle(), timeout=60_000
    )
    return found.locator(".jp-OutputArea-output").all_inner_texts()


def test_widget_shows_moves_follows_and_leads(browser, lab):
    context = browser.new_context(viewport={"width": 1200, "height": 1400})
    page = context.new_page()
    page.goto(f"{lab}lab/tree/figures.ipynb?token=figures")
    page.locator(".jp-CodeCell").nth(3).wait_for(timeout=120_000)
    page.wait_for_function(CONNECTED, timeout=120_000)

    run(page, 0)
    slider = page.locator(SLIDER)
    slider.wait_for(timeout=60_000)
    assert slider.input_value() == "64"
    before = page.locator(".jp-OutputArea-output canvas").evaluate("c => c.toDataURL()")

    slider.press("ArrowRight")  # leads: Python has what the reader set
    assert page.locator(".jp-OutputArea-output canvas").evaluate("c => c.width") == 66
    assert page.locator(".jp-OutputArea-output canvas").evaluate("c => c.toDataURL()") != before
    assert "'d_model': 66" in run(page, 1)[0]

    run(page, 2)  # follows: the reader sees what Python set
    page.wait_for_function(
        "slider => slider.value === '32'", arg=slider.element_handle(), timeout=60_000
    )
    assert page.locator(".jp-OutputArea-output canvas").evaluate("c => c.width") == 32
    assert "Position 7," in page.locator(".jp-OutputArea-output .say").text_content()
    assert "'d_model': 32" in run(page, 3)[0]
    context.close()


@pytest.fixture(scope="module")
def page(browser, lab):
    """JupyterLab as it opens, and what it asks of others."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.elsewhere = []
    page.on(
        "request",
        lambda request: (
            request.url.startswith((lab, lab.replace("http", "ws"), "data:", "blob:"))
            or page.elsewhere.append(request.url)
        ),
    )
    page.goto(f"{lab}?token=figures")
    page.locator(".jp-MarkdownViewer table").first.wait_for(timeout=120_000)
    yield page
    context.close()


def test_it_opens_at_the_first_page_and_asks_nothing(page):
    viewer = page.locator(".jp-MarkdownViewer")
    assert viewer.locator("h1").inner_text() == "Positional encoding, executed"
    assert viewer.locator("[class*='text-yellow'], [class*='text-red']").count() == 0
    widths = viewer.locator("figure img").evaluate_all("all => all.map(img => img.naturalWidth)")
    assert len(widths) == 2
    assert min(widths) > 100
    assert re.search(r"\{\w+\}|:::", viewer.inner_text()) is None
    page.wait_for_timeout(1000)
    assert page.locator(".jp-Dialog, .Toastify__toast").count() == 0
    assert page.elsewhere == []
    viewer.get_by_role("link", name="Derive the formula").first.click()
    page.wait_for_function("jupyterapp.shell.currentWidget.context.path.includes('02_formula')")
    close(page)


def letters(text):
    """What is left of a heading in every form of its address."""
    return re.sub(r"[\W_]", "", text.lower())


def named(chapter):
    """The places of a chapter that other pages link to, but for claims."""
    pages = [
        ROOT / "index.md",
        *(ROOT / "book").glob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
    ]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    return set(re.findall(rf"{chapter}\.ipynb#([^)]+)\)", text))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_beside_the_chapters_shows_what_it_holds(page, name):
    page.evaluate(SHOW, f"book/{name}.md")
    page.locator(".jp-MarkdownViewer:visible .myst h1").wait_for(timeout=60_000)
    seen = page.evaluate(BOXES)
    close(page)
    assert seen["warnings"] == 0
    assert re.search(r"\{[a-z][\w-]+\}|:::|\$", seen["text"]) is None
    assert page.elsewhere == []
    claims = yaml.safe_load((ROOT / "book" / "claims.yml").read_text())
    wrong = [claim for claim in claims if claim["verdict"] != "holds"]
    rows = {"claims": len(claims), "errata": len(wrong)}
    if name in rows:
        assert seen["rows"] == rows[name]
        assert sum("/notebooks/" in link for link in seen["links"]) >= rows[name]
    assert name != "glossary" or seen["terms"] > 50


LINKS = {
    "notebooks/07_linearity.ipynb#fig-shift-matrix": (
        "notebooks/07_linearity.ipynb",
        "[id='fig-shift-matrix']",
        "",
    ),
    "notebooks/08_tsne.ipynb#eq-formula-chord": (
        "notebooks/02_formula.ipynb",
        "[id='eq-formula-chord']",
        "",
    ),
    "book/questions.md#the-layer-dropout-and-batch_first": (
        "notebooks/04_torch_stack_flatten.ipynb",
        "h2",
        "dropout and batch_first",
    ),
    "book/claims.md#claim-S0-linear": (
        "notebooks/07_linearity.ipynb",
        ".documents p:has(code)",
        "S0-linear",
    ),
    "notebooks/07_linearity.ipynb#vaswani2017": (
        "book/references.md",
        "li",
        "Vaswani et al., 2017",
    ),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_its_place(page, link):
    """In the same chapter, in another one that isn't open yet, and on a page; nothing to save."""
    start, _, anchor = link.partition("#")
    path, query, text = LINKS[link]
    page.evaluate(SHOW, start)
    found = page.locator(f".lm-Widget.jp-Document:visible .myst a[href$='#{anchor}']").last
    found.wait_for(timeout=60_000)
    page.wait_for_function(SETTLED, timeout=60_000)
    found.click()
    page.wait_for_function(IN_SIGHT, arg=[path, query, text], timeout=60_000)
    page.wait_for_function(CLEAN, timeout=60_000)
    for _ in {start, path}:
        close(page)


def run_command(page, name):
    """Run a command of the menu, to its end."""
    page.evaluate("name => jupyterapp.commands.execute(name).then(() => null)", name)


def run_below(page, source):
    """Write a cell below the active one, run it, and return what it prints."""
    run_command(page, "notebook:insert-cell-below")
    cell = "jupyterapp.shell.currentWidget.content.activeCell"
    page.evaluate(f"source => {cell}.model.sharedModel.setSource(source)", source)
    run_command(page, "notebook:run-cell")
    return page.evaluate(f"{cell}.outputArea.node.innerText")


def check_shown(page, name, stored):
    """Before anything runs, a chapter shows what its page shows."""
    source = "\n\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    page.wait_for_function(RENDERED, timeout=120_000)
    seen = page.evaluate(SEEN)
    assert [text for text in seen["text"] if re.search(r"\{[\w-]+\}|:::|`|\$\$", text)] == []
    assert seen["warnings"] == 0
    assert seen["nowhere"] == []
    assert [address for address in seen["elsewhere"] if address not in source] == []
    assert {letters(place) for place in named(name)} <= set(map(letters, seen["places"]))
    drawn = [o for cell in code for o in cell.outputs if "image/svg+xml" in o.get("data", {})]
    captions = [caption.split(" ")[:2] for *_, caption in seen["pictures"]]
    assert captions == [["Figure", f"{int(name[:2])}.{n + 1}."] for n in range(len(drawn))]
    assert {(big, paper) for big, paper, _ in seen["pictures"]} <= {(True, "rgb(255, 255, 255)")}
    assert seen["tags"] == re.findall(r"\\tag\{([\d.]+)\}", source)
    assert seen["counted"] == 0
    assert seen["boxes"] == source.count(":class: documents")
    assert seen["exercises"] == seen["folded"] == source.count("{exercise}")
    hidden = [cell for cell in code if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert seen["lines"] == [cell.source.partition("\n")[0] for cell in hidden]


def check_run(page, stored):
    """From cleared outputs and a fresh kernel, a chapter shows what is stored, and figures move."""
    page.wait_for_function(CONNECTED, timeout=120_000)
    page.wait_for_function(CLEAN, timeout=60_000)
    run_command(page, "notebook:clear-all-cell-outputs")
    assert not any(cell.get("outputs") for cell in page.evaluate(NOTEBOOK)["cells"])
    run_command(page, "notebook:run-all-cells")
    fresh = nbformat.from_dict(page.evaluate(NOTEBOOK))
    counts = [cell.execution_count for cell in fresh.cells if cell.cell_type == "code"]
    assert counts == [*range(1, len(counts) + 1)]
    live = [n for n, cell in enumerate(stored.cells) if "widgets." in cell.source.split("\n")[-1]]
    for number, (before, after) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        ignored = "nbval-ignore-output" in before.metadata.get("tags", [])
        assert number in live or ignored or is_same(before, after), before.source
    figures = page.locator(".jp-OutputArea-output .say")
    expect(figures).to_have_count(len(live), timeout=60_000)
    for figure in figures.all():
        before = figure.inner_text()
        figure.locator("xpath=..").locator("input[type=range], input").first.press("ArrowRight")
        assert figure.inner_text() != before


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_shows_runs_and_can_be_solved(page, name):
    """In the dark, where a picture needs paper; then the first exercise, wrong and right."""
    stored = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    page.evaluate(THEME, "JupyterLab Dark")
    page.evaluate(SHOW, f"notebooks/{name}.ipynb")
    check_shown(page, name, stored)
    check_run(page, stored)
    _, place, (wrong, *_), solution = next(exercises(name))
    code = [number for number, cell in enumerate(stored.cells) if cell.cell_type == "code"]
    page.evaluate(f"jupyterapp.shell.currentWidget.content.activeCellIndex = {code[place]}")
    assert wrong.says in run_below(page, wrong.answer)
    assert "Right." in run_below(page, solution)
    close(page)
    assert page.elsewhere == []
