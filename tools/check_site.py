"""Look at pages of the built site as readers do: `make check-site`, after Lighthouse.

Each page is opened in both themes at three widths and scrolled through, and axe checks it with
every solution unfolded; contrast, its slowest rule, at two of the widths. Then the page is opened
from its file, with no network, and must show what the served one shows; and once more without
JavaScript.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from browser import chromium

SITE = Path(__file__).parents[1] / "_build" / "html"
HOME = "https://book.test/"
WIDTHS = (390, 320, 1280)
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
    .filter(each => each.closest('posenc-figure')?.figure ? false // drawn live instead
        : each.matches('img') ? !(each.complete && each.naturalWidth)
        : each.textContent.trim() && !each.closest('details, button, template, dialog')
            && !(each.checkVisibility() && each.getClientRects().length))
    .map(each => each.outerHTML.slice(0, 80))"""
# What a page says, but for the buttons that run its cells: from a file there are none.
SHOWN = """(() => {
    const own = [...document.querySelectorAll('.run, .answer')];
    const show = (how) => own.forEach((each) => (each.style.display = how));
    show('none');
    const text = document.querySelector('article, .bd-search-container').innerText;
    show('');
    return text;
})()"""


def answer(route):
    """Serve a file of the site."""
    path = SITE / urlsplit(route.request.url).path.lstrip("/")
    route.fulfill(path=path) if path.is_file() else route.fulfill(status=404)


def visit(browser, wrong, **options):
    """Open a window, and note what goes wrong in it."""
    page = browser.new_context(**options).new_page()
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(error.message))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.route(f"{HOME}**", answer)
    page.add_init_script(WATCH)
    return page


def scroll(page):
    """Go through the page as a reader does, so that what loads late is loaded."""
    for top in range(0, page.evaluate("document.documentElement.scrollHeight"), 800):
        page.evaluate(f"scrollTo({{ top: {top}, behavior: 'instant' }})")
        page.wait_for_timeout(20)
    page.wait_for_load_state("networkidle")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # nothing under the page's head


def axe(page, width):
    """Rules of axe that a page breaks."""
    contrast = {"color-contrast": {"enabled": width > min(WIDTHS)}}
    options = {"runOnly": RULES, "rules": contrast, "resultTypes": ["violations"]}
    broken = Axe().run(page, options=options).response["violations"]
    return [f"axe: {each['id']} {each['nodes'][0]['target']}" for each in broken]


def look(browser, name):
    """What is wrong with a page, in words."""
    wrong = []
    for theme in ("light", "dark"):
        page = visit(browser, wrong, color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(HOME + name, wait_until="networkidle")
            scroll(page)
            shown, shift = page.evaluate(SHOWN), page.evaluate("shift")
            page.evaluate(UNFOLD)
            found = axe(page, width)
            found += ["it scrolls sideways"] * page.evaluate(SIDEWAYS)
            found += [f"it shifts by {shift:.3f}"] * (shift > SHIFT)
            wrong += [f"{theme}, {width} wide: {each}" for each in found]
        page.context.close()
    for script in (True, False):
        found = []
        page = visit(browser, found, offline=True, java_script_enabled=script)
        page.goto((SITE / name).as_uri(), wait_until="networkidle")
        if script:
            scroll(page)
            found += ["it says something else"] * (page.evaluate(SHOWN) != shown)
            page.evaluate(UNFOLD)
        found += page.evaluate(LOST)
        wrong += [f"from a file{'' if script else ', without scripts'}: {each}" for each in found]
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
