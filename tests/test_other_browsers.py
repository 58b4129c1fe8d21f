"""Pages, figures, search and a running cell in Firefox and WebKit, where their drivers are.

Weekly (`WHOLE=1`), with geckodriver, and WebKitWebDriver of webkit2gtk-driver under xvfb-run. Both
speak WebDriver; Playwright's own builds would be two more downloads for one test.
"""

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from test_page import served  # noqa: F401

MINI = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser"
BROWSERS = {
    "geckodriver": {"moz:firefoxOptions": {"args": ["-headless"]}},
    "WebKitWebDriver": {"webkitgtk:browserOptions": {"binary": MINI, "args": ["--automation"]}},
}
PORT = 4479
# Searches for a misspelled word, moves a figure's slider, and runs the first cell.
TRY = """
const done = arguments[arguments.length - 1], seen = (text) => document.querySelector(text);
const until = async (ready) => { while (!ready()) await new Promise((go) => setTimeout(go, 50)); };
(async () => {
    const said = {}, figure = () => seen("posenc-figure")?.shadowRoot;
    await until(() => figure()?.querySelector(".say"));
    const slider = figure().querySelector("input[type=range]"), before = slider.value;
    slider.stepUp();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    said.moved = slider.value !== before;
    said.fits = document.documentElement.scrollWidth <= innerWidth;
    seen("button.seek").click();
    await until(() => seen(".search input"));
    seen(".search input").value = "wavelenght";
    seen(".search input").dispatchEvent(new Event("input"));
    said.found = seen("#hits a b").textContent;
    seen("dialog").close();
    const cell = seen("div.cell.first");
    cell.scrollIntoView();
    await until(() => cell.querySelector(".bar button"));
    cell.querySelector(".bar button").click();
    await until(() => /^(Done|Line|Python c)/.test(cell.querySelector(".state")?.textContent));
    said.ran = cell.querySelector(".state").textContent;
    done(said);
})();
"""


def ask(path, **body):
    request = Request(f"http://127.0.0.1:{PORT}/session{path}", json.dumps(body).encode())
    return json.load(urlopen(request, timeout=300))["value"]


@pytest.mark.parametrize("driver", BROWSERS)
def test_a_chapter_works(driver, site, served):  # noqa: F811
    if not os.environ.get("WHOLE") or not shutil.which(driver):
        pytest.skip(f"only with WHOLE=1, and {driver}")
    wanted = {"timeouts": {"script": 240_000}} | BROWSERS[driver]
    with subprocess.Popen([driver, f"--port={PORT}"]) as process:
        try:
            session = None
            while not session:
                assert process.poll() is None, f"{driver} doesn't start at port {PORT}"
                with suppress(URLError):
                    session = ask("", capabilities={"alwaysMatch": wanted})["sessionId"]
                time.sleep(0.2)
            ask(f"/{session}/url", url=f"{served}/notebooks/05_rotary_and_alibi.html")
            said = ask(f"/{session}/execute/async", script=TRY, args=[])
        finally:
            process.terminate()
    assert said["moved"], said
    assert said["fits"], said
    assert said["found"] == "wavelength"
    assert said["ran"].startswith("Done"), said
