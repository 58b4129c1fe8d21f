"""A chapter in JupyterLab, as `make lab` opens it: it shows its figures and folds, and it runs."""

import re
import shutil
import subprocess
import sys

import pytest
from playwright.sync_api import expect
from reading import ROOT

CHAPTER = "notebooks/09_binary_analogy.ipynb"
OPTIONS = "--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"
QUIET = "--ServerApp.log_level=ERROR"  # nobody reads on, and a full pipe would block it
NOTEBOOK = "window.jupyterapp?.shell?.currentWidget"  # none while scripts still load
READY = f"() => {NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'"
RUN = "jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """The address of a chapter in a JupyterLab with a copy of the notebooks, as it saves files."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    monkeypatch.chdir(tmp_path)
    for kind in ("CONFIG", "RUNTIME", "DATA"):
        monkeypatch.setenv(f"JUPYTER_{kind}_DIR", str(tmp_path / kind))
    # Only then does JupyterLab show stored pictures.
    subprocess.run([sys.executable, "-m", "jupyter", "trust", CHAPTER], check=True)
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS, QUIET]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        # It says where it is; if it ends without that, so does the loop.
        for line in server.stderr:
            if address := re.search(r"(http://\S+/lab)\?(token=\w+)", line):
                yield f"{address[1]}/tree/{CHAPTER}?{address[2]}"
                break
        server.kill()


def test_a_chapter_shows_its_figures_and_folds_and_runs(
    lab, visit
):  # closed in reverse
    page = visit()
    page.set_default_timeout(180_000)
    page.goto(lab)
    page.wait_for_function(READY)
    expect(page.locator(".jp-RenderedSVG img").first).to_be_visible()
    opening = page.locator("details:not([open])", has_text="Before you start")
    expect(opening).to_be_visible()
    # Formulas are set some time after the cells are there.
    expect(page.locator(".jp-Notebook")).not_to_contain_text("$$", use_inner_text=True)
    # What cells print is nbval's. (The command's value isn't one that Playwright could return.)
    page.evaluate(RUN)
    slider = page.locator(".jp-OutputArea-output input[type=range]").first
    expect(slider, "a live figure runs").to_be_attached()
    page.wrong.clear()  # JupyterLab logs warnings of its own
