"""What tests of pages in a browser share."""

import os
import re

from axe_playwright_python.sync_playwright import Axe
from reading import ROOT

SITE = ROOT / "_build" / "html"

# Text with too little contrast (WCAG 2.2, 1.4.3), each pair of colors once.
PALE = """(root) => {
    const brush = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const light = (layers) => {
        for (const layer of ["#fff", ...layers]) {
            brush.fillStyle = layer;
            brush.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...brush.getImageData(0, 0, 1, 1).data].map((x) => linear(x / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const layers = new Map([[null, []]]);
    const behind = (e) => {
        if (!layers.has(e)) {
            // A figure's parts stand in a tree of their own.
            const around = e.parentElement ?? e.getRootNode().host ?? null;
            const own = getComputedStyle(e).backgroundColor, below = behind(around);
            layers.set(e, own === "rgba(0, 0, 0, 0)" ? below : [...below, own]);
        }
        return layers.get(e);
    };
    const found = new Map();
    const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
        const e = words.currentNode.parentElement;
        if (words.currentNode.data.trim().length < 2 || e.closest("svg, :disabled")) continue;
        if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(e);
        const least = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24) ? 3 : 4.5;
        const below = behind(e);
        const colors = `${color} on ${below.at(-1)}`, seen = `${below}, ${color}, ${least}`;
        if (found.has(seen)) continue;
        const [low, high] = [light(below), light([...below, color])].sort((a, b) => a - b);
        const contrast = (high + 0.05) / (low + 0.05);
        found.set(seen, contrast < least
            && `${contrast.toFixed(2)} to 1: ${e.outerHTML.slice(0, 80)}, ${colors}`);
    }
    return [...found.values()].filter(Boolean);
}"""

# Sections far from the window are painted when they come near (book.css).
PAINT_ALL = """() => {
    const style = document.createElement("style");
    style.textContent = "section, dl.py { content-visibility: visible !important }";
    document.head.append(style);
}"""

# Rules of axe about colors: `PALE`, and `UNMARKED` of `test_site`, look at all pages.
SEEN_BY_OTHERS = "color-contrast", "link-in-text-block"


def some(of, one_in=6):
    """All of these with WHOLE=1, as CI sets weekly; otherwise a sample."""
    return of if os.environ.get("WHOLE") else of[::one_in]


def address(name):
    """A page's address, from disk."""
    return (SITE / f"{name}.html").as_uri()


def button(place, name):
    """The button of this name, on a page or in a part of it, with a sign or none."""
    return place.get_by_role("button", name=re.compile(rf"^\W*{name}\W*$"))


def themes(page):
    """Switch a page to the light theme, then to the dark one."""
    for theme in ("light", "dark"):
        page.evaluate(
            "(name) => { document.documentElement.dataset.theme = name }", theme
        )
        yield theme


def check_contrast(page, part):
    """Look at the text in parts of a page, in both themes; axe would take ten times as long."""
    for theme in themes(page):
        for place in page.locator(part).all():
            assert place.evaluate(PALE) == [], f"{theme}: text needs 4.5 to 1"


def check_with_axe(page, part):
    """Let axe look at a part of a page, but not at its colors, which take it the most time."""
    options = {
        "preload": False,
        # It would also describe each element that is right.
        "resultTypes": ["violations"],
        "rules": {name: {"enabled": False} for name in SEEN_BY_OTHERS},
    }
    report = Axe().run(page, part, options)
    assert report.violations_count == 0, report.generate_report()
