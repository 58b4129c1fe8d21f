"""A chapter in JupyterLab, as `make lab` opens it: it shows its figures and folds, and it runs."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
CHAPTER = "notebooks/09_binary_analogy.ipynb"
NOTEBOOK = "jupyterapp.shell.currentWidget"
READY = f"() => {NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'"


def address_of(server, folder):
    """Wait for the file in which a server says where it is; return the address."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert server.poll() is None, "JupyterLab doesn't start"
        for file in folder.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # half written: read it again
                return json.loads(file.read_text("utf-8"))["url"]
        time.sleep(0.1)
    raise TimeoutError("JupyterLab says no address")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that serves a copy of the notebooks, as it saves files."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    kinds = ("CONFIG", "RUNTIME", "DATA")
    environment = os.environ | {
        f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in kinds
    }
    environment.pop("POSENC_STATIC", None)
    run = {"cwd": folder, "env": environment, "stderr": subprocess.DEVNULL}
    subprocess.run(
        [sys.executable, "-m", "jupyter", "trust", CHAPTER], check=True, **run
    )
    options = [
        "--no-browser",
        "--allow-root",
        "--ServerApp.port=0",
        "--ServerApp.token=book",
    ]
    options.append("--LabApp.expose_app_in_browser=True")
    with subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options], **run
    ) as server:
        try:
            yield address_of(server, folder / "RUNTIME")
        finally:
            server.kill()


def test_a_chapter_shows_its_figures_and_folds_and_runs(visit, lab):
    page = visit()
    page.set_default_timeout(180_000)
    page.goto(f"{lab}lab/tree/{CHAPTER}?token=book")
    page.wait_for_function(READY)
    expect(page.locator(".jp-RenderedSVG img").first).to_be_visible()
    expect(
        page.locator("details:not([open])", has_text="Before you start")
    ).to_be_visible()
    assert "$$" not in page.locator(".jp-Notebook").inner_text()
    page.evaluate(
        "jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"
    )
    ran = page.evaluate(f"{NOTEBOOK}.content.model.toJSON().cells")
    code = [cell for cell in ran if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    outputs = [output["output_type"] for cell in code for output in cell["outputs"]]
    assert "error" not in outputs
    slider = page.locator(".jp-OutputArea-output input[type=range]").first
    expect(slider, "a live figure runs").to_be_attached()
    page.wrong.clear()  # JupyterLab logs warnings of its own
