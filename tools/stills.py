"""Draw the still picture of each live figure in a chapter, as its script draws it: `make stills`.

They are stored: a notebook that is run needs no browser. A test draws them again. Pictures of
states that no chapter shows any more are removed.
"""

import json
from html import escape
from pathlib import Path

from browser import start
from playwright.sync_api import sync_playwright

from posenc.book import plots, widgets

ROOT = Path(__file__).parents[1]
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>:root {{ color-scheme: light }}
body {{ background: white; color: {ink}; width: 672px }}</style><script>{script}</script>
<posenc-figure kind="{kind}"{state}></posenc-figure>"""
# As a function of the figure
SCRIPT = Path(__file__).with_name("stills.js").read_text("utf-8")
STILL = f"(figure) => {{ {SCRIPT}\n return still(figure); }}"


def figures():
    """Yield each figure as a chapter shows it, and in its first state."""
    for kind in widgets.FIGURES.values():
        yield kind()
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                if live := output.get("data", {}).get(widgets.MIME):
                    yield widgets.FIGURES[live["kind"]](**live["state"])


def by_file():
    """Return the figures by the files of their pictures."""
    return {figure.still(): figure for figure in figures()}


def draw(page, figure):
    """Return the drawing of a figure, as a standalone SVG."""
    name = type(figure).__name__
    state = "".join(
        f' {key.replace("_", "-")}="{escape(str(value))}"'
        for key, value in figure.state().items()
    )
    script = f"(() => {{ {widgets.script(name, entries=['website'])} }})()"
    page.goto("about:blank")  # whose elements are defined anew
    page.set_content(
        PAGE.format(script=script, kind=name.lower(), state=state, ink=plots.INK)
    )
    svg = page.locator("posenc-figure").evaluate(STILL)
    return svg.replace("><", ">\n<") + "\n"  # lines for git


def main():
    """Draw all of them, into `widgets.STILLS`, and remove others."""
    drawn = by_file()
    for file in {*widgets.STILLS.iterdir()} - drawn.keys():
        file.unlink()
    with sync_playwright() as engine:
        page = start(engine).new_page(reduced_motion="reduce")
        for file, figure in drawn.items():
            file.write_text(draw(page, figure), "utf-8")


if __name__ == "__main__":
    main()
