"""Draw the card that previews of links show, from the figure of the first page: `make card`.

It is stored: a build that drew it would need a browser, which machines that only build have not.
"""

import io
from pathlib import Path

from browser import start
from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
FIGURE = ROOT / "_build" / "html" / "index.html"
CARD = ROOT / "book" / "_static" / "card.png"
# The title, a line, and the figure's drawing, alone on the page.
ALONE = """(figure) => {
    const [title, line] = [document.querySelector("h1"), document.createElement("p")];
    title.querySelector("a")?.remove();
    line.textContent =
        "Everything turns, nothing changes: how a model knows the order of its words";
    title.style = "font-size: 54px; margin: 0";
    line.style = "font-size: 26px; margin: 0 0 4px";
    for (const part of figure.shadowRoot.querySelectorAll(".say, .moves, .controls, .buttons"))
        part.remove();
    document.body.replaceChildren(title, line, figure);
    document.body.style = "padding: 26px 48px; overflow: hidden";
    document.documentElement.style = "scrollbar-gutter: auto"; // the ground reaches both edges
}"""


def main():
    size = {"width": 1200, "height": 630}
    with sync_playwright() as engine:
        page = start(engine).new_page(viewport=size, reduced_motion="reduce")
        page.goto(FIGURE.as_uri())
        page.locator("posenc-figure").first.evaluate(ALONE)
        page.wait_for_timeout(500)  # it is drawn for its new width
        picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(256).save(CARD, optimize=True)


if __name__ == "__main__":
    main()
