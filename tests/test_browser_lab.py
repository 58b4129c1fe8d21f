"""The widgets in a real JupyterLab."""

import json
import os
import subprocess
import sys
import time

import nbformat
import pytest

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


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab that serves a notebook of these cells."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "figures.ipynb")
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "RUNTIME")}
    own |= {f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")}
    environment = {k: v for k, v in os.environ.items() if k != "POSENC_STATIC"} | own
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
             "--LabApp.expose_app_in_browser=True", "--ServerApp.port=0",
             "--ServerApp.token=figures", f"--ServerApp.root_dir={folder}"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield f"{address(folder / 'runtime', server)}lab/tree/figures.ipynb?token=figures"
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
    page.goto(lab)
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
