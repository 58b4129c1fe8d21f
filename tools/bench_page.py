"""How fast is Python in the page? Cells of six chapters there and natively, in turn.

Run it with `make bench`; alone it needs a built site, and `PYTHONPATH=tests`. It prints Markdown;
`--record FILE` also writes what `book/try.md` states, as JSON. Both sides run the same cells by the
same program, `book/python/kernel.py`, which measures them: in Chromium by Pyodide, and natively by
this Python. A chapter is run once on both sides before it is measured, so that imports, fonts and
packages are there; then in turn, natively and in the page, from top to bottom. No network is
counted: the server is this machine.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import types
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import machine

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
CHAPTERS = (
    "02_formula",
    "03_numpy_loops",
    "05_heatmaps",
    "06_binary_analogy",
    "07_linearity",
    "08_tsne",
)
ROUNDS = 5
STARTS = 3
FIRST = "import numpy as np\nprint(np.arange(10).sum())"
LONG = 600_000  # ms

# The seconds that Python took for a cell come from the worker in its last message.
LISTEN = """Worker = class extends Worker {
    constructor(...all) {
        super(...all);
        this.addEventListener("message", ({ data }) => {
            if (data.done) window.done = data.done;
        });
    }
}"""
FIND = """() => [...document.querySelectorAll("div.cell")].flatMap((cell, n) =>
    cell.matches(".needs-torch") ? [] : [[n, cell.querySelector("pre").textContent]])"""
RUN = """async (numbers) => {
    const python = document.querySelector("meta[name=python]").content;
    const { press } = await import(new URL(`${python}page.js`, location));
    const boxes = [...document.querySelectorAll("div.cell:not(.answer)")];
    const seconds = [];
    for (const n of numbers) {
        await press(boxes[n]);
        if (done.error) throw new Error(done.error.text);
        seconds.push(done.seconds);
    }
    return seconds;
}"""
START = """async (source) => {
    const box = document.querySelector("div.cell");
    box.querySelector("pre").textContent = source;
    const start = performance.now();
    const python = document.querySelector("meta[name=python]").content;
    const { press } = await import(new URL(`${python}page.js`, location));
    await press(box);
    const seconds = (performance.now() - start) / 1000;
    if (box.querySelector(".ran").textContent.trim() !== "45") throw new Error("no answer");
    return seconds;
}"""


class Server(SimpleHTTPRequestHandler):
    """Serves the site in isolation, which lets the page's clock count in 5 µs, not 100."""

    def end_headers(self):
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *args):
        pass


def native():
    """Run the cells that come in, a list of sources on each line, and answer with their seconds."""
    sys.path[:0] = [str(ROOT / "book" / name) for name in ("python", "_ext/sphinx_posenc")]
    page = types.ModuleType("page")
    page.send = lambda text: None
    sys.modules["page"] = page
    import kernel

    sys.meta_path.insert(0, kernel.Finder)  # no torch, and no Jupyter, as in the page
    os.chdir(ROOT / "notebooks")
    for line in sys.stdin:
        seconds = []
        for number, source in enumerate(json.loads(line)):
            done = json.loads(kernel.run(source, f"cell {number}"))
            if "error" in done:
                sys.exit(done["error"]["text"])
            seconds.append(done["seconds"])
        print(json.dumps(seconds), flush=True)


class Native:
    """A Python of its own that runs cells."""

    def __enter__(self):
        command = [sys.executable, __file__, "--native"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def run(self, sources):
        print(json.dumps(sources), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()


def measure(page, sources, numbers, rounds):
    """Seconds of each cell, natively and in the page: the median of some rounds, after one more."""
    found = []
    with Native() as python:
        for _ in range(rounds + 1):
            found.append((python.run(sources), page.evaluate(RUN, numbers)))
    each = zip(*((zip(*pair, strict=True)) for pair in found[1:]), strict=True)
    return [[statistics.median(side) for side in zip(*cell, strict=True)] for cell in each]


def quartiles(values):
    return [round(q, 2) for q in statistics.quantiles(values, n=4, method="inclusive")]


def versions():
    """The versions of what is compared, natively and in the page."""
    lock = json.loads((ROOT / "book/python/pyodide/pyodide-lock.json").read_text("utf-8"))
    return {
        "natively": {"Python": platform.python_version(), "numpy": version("numpy")},
        "in the page": {
            "Python": lock["info"]["python"],
            "numpy": lock["packages"]["numpy"]["version"],
        },
    }


def main():
    """Measure, print and record."""
    from playwright.sync_api import sync_playwright

    from conftest import FLAGS, MISSING, chromium

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--record", type=Path, help="a file for what the book states, as JSON")
    arguments = parser.parse_args()
    if not (SITE / "python").exists():
        sys.exit("no site with Python: run `make book` first")
    if not chromium():
        sys.exit(MISSING)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    record = {"made by": f"tools/bench_page.py --rounds {arguments.rounds}"}
    record |= {**machine.describe(), **versions()}
    print(", ".join(f"{name}: {what}" for name, what in record.items()))

    with sync_playwright() as engine:
        launch = partial(engine.chromium.launch, executable_path=chromium(), args=FLAGS)
        first, again = [], []
        for _ in range(STARTS):  # each in a browser that never was here
            browser = launch()
            page = browser.new_page()
            page.set_default_timeout(LONG)
            for times in (first, again):
                page.goto(f"{address}/notebooks/06_binary_analogy.html")
                times.append(round(page.evaluate(START, FIRST), 1))
            record["browser"] = f"Chromium {browser.version}"
            browser.close()
        record |= {"first answer": sorted(first), "answer after a reload": sorted(again)}
        print(f"\nFrom the first Run to numpy's answer: {first} s; after a reload: {again} s")

        browser = launch()
        context = browser.new_context()
        context.add_init_script(LISTEN)
        chapters, ratios = {}, {}
        print(
            "\n| | cells | ratio: quartiles | in the page, s | natively, s |\n|---|--:|--:|--:|--:|"
        )
        for chapter in CHAPTERS:
            page = context.new_page()
            page.set_default_timeout(LONG)
            page.goto(f"{address}/notebooks/{chapter}.html")
            numbers, sources = zip(*page.evaluate(FIND), strict=True)
            cells = measure(page, sources, numbers, arguments.rounds)
            page.close()
            of = {n: there / here for n, (here, there) in zip(numbers, cells, strict=True)}
            ratios |= {
                (chapter, n + 1): (ratio, cells[i]) for i, (n, ratio) in enumerate(of.items())
            }
            here, there = (round(sum(side), 2) for side in zip(*cells, strict=True))
            chapters[chapter] = {
                "cells": len(of),
                "ratios": quartiles(of.values()),
                "seconds in the page": there,
                "seconds natively": here,
            }
            print(
                f"| {chapter} | {len(of)} | {quartiles(of.values())} | {there} | {here} |",
                flush=True,
            )
        record |= {"rounds": arguments.rounds, "chapters": chapters}
        record["ratios"] = quartiles([ratio for ratio, _ in ratios.values()])
        record["cells above 5"] = sum(ratio > 5 for ratio, _ in ratios.values())
        slowest = sorted(ratios.items(), key=lambda item: item[1][0])[:-11:-1]
        record["largest ratios"] = [
            {
                "chapter": chapter,
                "cell": cell,
                "ratio": round(ratio, 1),
                "ms natively": round(1000 * here, 2),
            }
            for (chapter, cell), (ratio, (here, _)) in slowest
        ]
        print(f"\nAll {len(ratios)} cells: {record['ratios']}; above 5: {record['cells above 5']}")
        print(*record["largest ratios"], sep="\n")

        page = context.new_page()
        page.set_default_timeout(LONG)
        page.goto(f"{address}/book/try.html")
        (_, source) = page.evaluate(FIND)[1]
        with Native() as python:
            here, there = python.run([source])[0], page.evaluate(RUN, [1])[0]
        record["training"] = {
            "seconds in the page": round(there, 1),
            "seconds natively": round(here, 1),
        }
        print(f"\nNine models trained: {there:.1f} s in the page, {here:.1f} s natively")
        browser.close()
    if arguments.record:
        text = json.dumps(record, indent=1, ensure_ascii=False)
        arguments.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    native() if sys.argv[1:] == ["--native"] else main()
