"""Look at pages of the built site as readers do: `make check-site`, after Lighthouse.

Each page is opened in both themes, narrow and wide, and scrolled through; axe checks it with every
solution unfolded. Then it is opened without JavaScript, and must show all that it says.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from browser import chromium

SITE = Path(__file__).parents[1] / "_build" / "html"
HOME = "https://book.test/"
WIDTHS = (320, 1280)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SHIFT = 0.03  # what Lighthouse calls the shift of a layout; it doesn't scroll

WATCH = """window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(
    entry => { window.shift += entry.value })).observe({ type: 'layout-shift', buffered: true })"""
UNFOLD = """document.querySelectorAll('details').forEach(each => { each.open = true });
    document.querySelectorAll('.toggle-hidden > .admonition-title').forEach(each => each.click())"""
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# Text that is not drawn though nothing is folded, formulas and pictures without a size.
LOST = """[...document.querySelectorAll(
    ':is(article, .bd-search-container) :is(h1, h2, h3, p, li, pre, td, .katex, img)')]
    .filter(each => each.matches('img') ? !(each.complete && each.naturalWidth)
        : each.textContent.trim() && !each.closest('details, button, template, dialog')
            && !(each.checkVisibility() && each.getClientRects().length))
    .map(each => each.outerHTML.slice(0, 80))"""


def answer(route):
    """Serve a file of the site."""
    path = SITE / urlsplit(route.request.url).path.lstrip("/")
    route.fulfill(path=path) if path.is_file() else route.fulfill(status=404)


def visit(browser, name, wrong, **options):
    """Open a page in a window of its own, and note what goes wrong in it."""
    page = browser.new_context(**options).new_page()
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(error.message))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.route(f"{HOME}**", answer)
    page.add_init_script(WATCH)
    page.goto(HOME + name, wait_until="networkidle")
    return page


def look(browser, name):
    """What is wrong with a page, in words."""
    wrong = []
    for theme in ("light", "dark"):
        for width in WIDTHS:
            size = {"width": width, "height": 844}
            page = visit(browser, name, wrong, color_scheme=theme, viewport=size)
            for top in range(0, page.evaluate("document.documentElement.scrollHeight"), 800):
                page.evaluate(f"scrollTo({{ top: {top}, behavior: 'instant' }})")
                page.wait_for_timeout(20)
            page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # nothing under the head
            shift = page.evaluate("shift")
            page.evaluate(UNFOLD)
            options = {"runOnly": RULES, "resultTypes": ["violations"]}
            broken = Axe().run(page, options=options).response["violations"]
            found = [f"axe: {each['id']} {each['nodes'][0]['target']}" for each in broken]
            found += ["it scrolls sideways"] * page.evaluate(SIDEWAYS)
            found += [f"it shifts by {shift:.3f}"] * (shift > SHIFT)
            wrong += [f"{theme}, {width} wide: {each}" for each in found]
            page.context.close()
    page = visit(browser, name, wrong, java_script_enabled=False)
    wrong += [f"without scripts: {each}" for each in page.evaluate(LOST)]
    page.context.close()
    return wrong


if __name__ == "__main__":
    missed = 0
    with chromium() as browser:
        for path in sys.argv[1:]:
            name = Path(path).resolve().relative_to(SITE.resolve()).as_posix()
            wrong = dict.fromkeys(look(browser, name))
            print(name, *(wrong or ["all is well"]), sep="\n    ", flush=True)
            missed += bool(wrong)
    sys.exit(f"{missed} pages miss a goal" if missed else 0)
