"""Measure every page of the built site: `make check-site`.

Lighthouse measures as on a phone with simulated throttling, which scales with this machine's
processor: run nothing beside it. Performance is the median of RUNS runs (3); a page that misses
its goal gets up to 5. The other three scores are the same in every run and taken once.

Playwright opens each page in both themes at three widths, scrolls through it, and has axe check it
with every solution unfolded. Contrast, axe's slowest rule, leaves out code (tests/test_contrast.py
computes it from the style), and formulas except at the largest width. Bytes and requests are those
of a first visit on a phone, before scrolling: each request counts, and each body as it is sent,
except pictures of more than LARGE bytes. Then the page is opened from its file, with no network,
and must show what the served one shows; and once more without JavaScript.

PAGES="index notebooks/*" limits the pages.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
from fnmatch import fnmatch
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from conftest import FLAGS, MISSING, chromium

TOOLS = Path(__file__).parent
SITE = TOOLS.parent / "_build" / "html"
LARGE = 10_000
AXE = TOOLS / "lighthouse" / "node_modules" / "axe-core" / "axe.min.js"
HEADLESS = ("--headless=new", *FLAGS)
ZIPPED = {".css", ".html", ".js", ".json", ".svg", ".txt", ".xml"}
WIDTHS = (390, 320, 1280)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# Column, goal, and whether the goal is the least that will do (else the most).
SCORES = ("perf", "access", "best", "seo")
GOALS = [
    *zip(SCORES, (98, 100, 100, 100), (True,) * 4, strict=True),
    *((column, 0, False) for column in ("axe", "sideways", "3rd party", "errors")),
    ("KB", 110, False),
    ("requests", 12, False),
    ("shift", 0.03, False),
    ("file://", 0, False),
    ("no script", 0, False),
]

WATCH = """window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(
    entry => { window.shift += entry.value })).observe({ type: 'layout-shift', buffered: true })"""
UNFOLD = """document.querySelectorAll('details').forEach(each => { each.open = true });
    document.querySelectorAll('.toggle-hidden > button').forEach(each => each.click())"""
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# Text that is not drawn though nothing is folded, formulas and pictures without a size.
LOST = """[...document.querySelectorAll(
    ':is(article, .bd-search-container) :is(h1, h2, h3, p, li, pre, td, .katex, img)')]
    .filter(each => each.closest('posenc-figure')?.figure ? false // drawn live instead
        : each.matches('img') ? !(each.complete && each.naturalWidth)
        : each.textContent.trim() && !each.closest('details, button, template, dialog')
            && !(each.checkVisibility() && each.getClientRects().length))
    .map(each => each.outerHTML.slice(0, 80))"""
# What a page says, but for the buttons that run its cells: from a file there are none.
SHOWN = """(() => {
    const show = (how) => document.querySelectorAll('.run').forEach((b) => (b.style.display = how));
    show('none');
    const text = document.querySelector('article, .bd-search-container').innerText;
    show('');
    return text;
})()"""


class Pages(SimpleHTTPRequestHandler):
    """Serve the site as GitHub Pages does: zipped, to be kept for ten minutes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        found = path.is_file()
        body = sent(path) if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in ZIPPED:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Keep the table clean."""


@cache
def sent(path):
    """Body of a file as it is sent."""
    body = path.read_bytes()
    return gzip.compress(body, mtime=0) if path.suffix in ZIPPED else body


def scroll(page):
    """Go through the page as a reader does, so that what loads late is loaded."""
    for top in range(0, page.evaluate("document.documentElement.scrollHeight"), 800):
        page.evaluate(f"scrollTo({{ top: {top}, behavior: 'instant' }})")
        page.wait_for_timeout(20)
    page.wait_for_load_state("networkidle")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # nothing under the page's head


def visit(browser, address, wrong=None, **options):
    """Open an address in a window of its own; what goes wrong is added to `wrong`."""
    page = browser.new_context(**options).new_page()
    if wrong is not None:
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(error.message))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
        page.on("response", lambda each: each.ok or wrong.append(f"{each.status}: {each.url}"))
    page.add_init_script(WATCH)
    page.goto(address, wait_until="networkidle")
    return page


def axe(page, alike):
    """Rules of axe that a page breaks; contrast, the slow one, is left out where it is `alike`."""
    rules = {"runOnly": RULES, "resultTypes": ["violations"]}
    colors = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
    whole = Axe.from_file(AXE).run(
        page, options=rules | {"rules": {"color-contrast": {"enabled": False}}}
    )
    colored = Axe.from_file(AXE).run(page, context={"exclude": alike}, options=colors)
    broken = whole.response["violations"] + colored.response["violations"]
    return [f"{each['id']} {each['nodes'][0]['target']}" for each in broken]


def weight(asked):
    """Bytes of a first load, without large pictures."""
    sizes = [(each.url, int(each.headers.get("content-length", 0))) for each in asked]
    return sum(size for url, size in sizes if "/_images/" not in url or size < LARGE)


def look(browser, origin, name):
    """What one page does in a browser: a number for each column, or a list of what is wrong."""
    found = {"axe": [], "sideways": [], "errors": [], "shift": 0.0, "file://": []}
    asked = []
    for theme in ("light", "dark"):
        page = visit(browser, "about:blank", found["errors"], color_scheme=theme)
        page.on("response", lambda answer: asked.append(answer))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(f"{origin}/{name}", wait_until="networkidle")
            if "KB" not in found:
                found |= {"requests": len(asked), "KB": weight(asked) / 1000}
            scroll(page)
            shown = page.evaluate(SHOWN)
            found["shift"] = max(found["shift"], page.evaluate("shift"))
            page.evaluate(UNFOLD)
            found["sideways"] += [f"{theme} {width}"] * page.evaluate(SIDEWAYS)
            alike = ["pre", ".katex"] if width < max(WIDTHS) else ["pre"]
            found["axe"] += [f"{theme} {width} {broken}" for broken in axe(page, alike)]
        page.context.close()
    found["3rd party"] = [each.url for each in asked if not each.url.startswith(origin)]

    address = (SITE / name).as_uri()
    page = visit(browser, address, found["file://"], offline=True)
    scroll(page)
    found["file://"] += ["not the text of the served page"] * (page.evaluate(SHOWN) != shown)
    found["file://"] += page.evaluate(LOST)
    page.context.close()
    page = visit(browser, address, offline=True, java_script_enabled=False)
    found["no script"] = page.evaluate(LOST)
    page.context.close()
    return found


def lighthouse(origin, names):
    """Scores of each page, in the order of the names."""
    run = ["node", TOOLS / "lighthouse" / "run.mjs", origin, os.environ.get("RUNS", "3"), "98"]
    env = os.environ | {"CHROME_PATH": chromium(), "CHROME_FLAGS": " ".join(HEADLESS)}
    with subprocess.Popen([*run, *names], env=env, stdout=subprocess.PIPE, text=True) as node:
        for line in node.stdout:
            yield json.loads(line)
    if node.returncode:
        sys.exit(f"lighthouse ended with {node.returncode}")


def row(name, found):
    """A line of the table, with a `!` after what misses its goal; and the notes on it."""
    cells, notes = [], []
    for column, goal, least in GOALS:
        value = found[column]
        number = len(value) if isinstance(value, list) else value
        misses = number < goal if least else number > goal
        text = f"{number:.3f}" if column == "shift" else f"{number:.0f}"
        cells.append(text + ("!" if misses else " "))
        notes += [f"{name}: {column}: {each}" for each in value] if number is not value else []
    return "".join(f"{cell:>10}" for cell in cells), notes


def main():
    """Measure, print the table, and exit with 1 if anything misses."""
    if not shutil.which("node"):
        sys.exit("no node: install Node.js 18.20 or later, https://nodejs.org")
    if not chromium():
        sys.exit(MISSING)
    wanted = os.environ.get("PAGES", "*").split()
    names = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    names = [n for n in names if not n.startswith(("_", "embed/"))]
    names = [n for n in names if any(fnmatch(n.removesuffix(".html"), each) for each in wanted)]
    if not names:
        sys.exit("no pages: run `make book` first")

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium(), args=FLAGS)
        looks = [look(browser, origin, name) for name in names]
        browser.close()

    goals = [("≥" if least else "≤") + str(goal) for _, goal, least in GOALS]
    print(" " * 36 + "".join(f"{column:>9} " for column, _, _ in GOALS))
    print(f"{'goal':36}" + "".join(f"{goal:>9} " for goal in goals))
    missed = {}
    for name, found, scored in zip(names, looks, lighthouse(origin, names), strict=True):
        found |= dict(zip(SCORES, scored["scores"], strict=True))
        found["shift"] = max(found["shift"], scored["shift"])
        line, notes = row(name, found)
        print(f"{name:36}{line}", flush=True)
        if "!" in line:
            missed[name] = [*notes, *(f"{name}: lighthouse: {each}" for each in scored["missed"])]
    for notes in missed.values():
        print(*dict.fromkeys(notes), sep="\n")
    sys.exit(f"{len(missed)} of {len(names)} pages miss a goal" if missed else 0)


if __name__ == "__main__":
    main()
