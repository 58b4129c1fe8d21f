"""The built site in a browser: controls, anchors, print, and search."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from addresses import SITE

ROOT = Path(__file__).parents[1]
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))
FIRST = 3  # hits that must include the wanted place


def address(name):
    return (SITE / f"{name}.html").as_uri()


def test_the_policy_lets_a_reader_use_the_page(site, visit):
    """Theme switch, full screen, copying code, opening a solution."""
    tab = visit(address("notebooks/03_linearity"), color_scheme="light")
    tab.click(".article-header-buttons .theme-switch-button")
    assert tab.evaluate("document.documentElement.dataset.mode") != "auto"
    tab.click("[onclick='toggleFullScreen()']")
    tab.locator("html:fullscreen").wait_for()
    copy = tab.locator("button.copybtn:visible").first
    copy.scroll_into_view_if_needed()
    copy.click()
    tab.wait_for_selector("button.copybtn.success")
    tab.locator("details.solution > summary").first.click()
    assert tab.locator("details.solution[open]").count() == 1


# Text, formulas and images that aren't rendered although they aren't folded.
LOST = """[...document.querySelectorAll("article :is(h1, h2, h3, p, li, pre, td, .katex, img)")]
    .filter((e) => e.matches("img") ? !(e.complete && e.naturalWidth)
        : e.textContent.trim() && !e.closest("details, button, template, dialog")
            && !(e.checkVisibility() && e.getClientRects().length))
    .map((e) => e.outerHTML.slice(0, 80))"""


def test_without_scripts_a_chapter_shows_all_that_it_says(site, visit):
    tab = visit(address("notebooks/03_linearity"), java_script_enabled=False)
    assert tab.evaluate(LOST) == []


def test_a_dark_page_is_printed_light(site, visit):
    tab = visit(address("notebooks/08_heatmaps"), color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})")
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(theme) == "dark"


def test_an_address_with_a_place_leads_there(site, visit):
    """Even though the content above the anchor keeps changing while the page loads."""
    tab = visit(
        f"{address('notebooks/02_formula')}#summary", viewport={"width": 390, "height": 800}
    )
    tab.wait_for_timeout(1500)
    assert 0 <= tab.locator("#summary").bounding_box()["y"] <= 100


def test_results_of_a_search_show_excerpts_of_the_text(site, browser):
    tab = browser.new_page()
    home = "https://book.test/"
    tab.route(f"{home}**", lambda to: to.fulfill(path=SITE / urlsplit(to.request.url).path[1:]))
    tab.goto(f"{home}search.html?q=wavelength")
    tab.locator("#search-results .context").nth(4).wait_for()
    found = tab.locator("#search-results li:has(.context)").first
    _, *words, _ = re.findall("[A-Za-z]{4,}", found.locator(".context").inner_text())
    found.locator("a").first.click()
    there = re.findall("[A-Za-z]{4,}", tab.locator("article.bd-article").text_content())
    assert {*words} <= {*there}
    tab.close()


# What `Search.query` shows, best first; the script sorts worst first.
ASK = """queries => queries.map((query) =>
    Search._performSearch(...Search._parseQuery(query)).reverse()
        .map(([page, title, anchor]) => page + anchor))"""


def test_searches_find_their_place(site, visit):
    """If a page is wanted, any place on it counts."""
    tab = visit(f"{address('search')}?q=order")
    tab.locator("#search-results li a").first.wait_for()
    missed = {}
    for (query, wanted), found in zip(
        SEARCHES.items(), tab.evaluate(ASK, [*SEARCHES]), strict=True
    ):
        hits = found[:FIRST]
        if not {*wanted.split()} & {*hits, *(hit.partition("#")[0] for hit in hits)}:
            missed[query] = f"wanted {wanted}, found {hits}"
    assert missed == {}, "use the words of tests/searches.yml on the page, best in the heading"


def test_what_was_typed_is_marked_where_a_result_leads_and_nowhere_else(site, visit):
    for leave, words in (("#search-results li a", {"odd"}), (".navbar-brand", set())):
        tab = visit(f"{address('search')}?q=d+odd")
        tab.locator("#search-results li a").first.wait_for()
        tab.locator(leave).first.click()
        tab.wait_for_url(re.compile("html(#.*)?$"), wait_until="load")
        tab.wait_for_timeout(500)  # Sphinx's script highlights a little later
        marked = tab.locator("span.highlighted").all_text_contents()
        assert {word.lower() for word in marked} == words


def test_a_term_says_what_it_means_to_a_keyboard_and_at_the_first_tap(site, visit):
    tab = visit(address("notebooks/03_linearity"), has_touch=True)
    link = tab.locator("article a:has(.std-term):visible").first
    beside = "link => getComputedStyle(link, '::after').content"
    link.focus()
    assert "One sine and one cosine" in link.evaluate(beside)
    assert "One sine and one cosine" in link.get_attribute("aria-description")
    link.blur()
    link.tap()
    assert "One sine and one cosine" in link.evaluate(beside)
    link.press("Escape")
    assert link.evaluate(beside) == "none"
    link.tap()
    tab.wait_for_url("**/glossary.html#term-pair")


def test_the_contents_show_the_question_that_is_being_read(site, visit):
    tab = visit(address("book/questions"))
    place = "#what-is-position-interpolation"
    tab.evaluate("place => document.querySelector(place).scrollIntoView()", place)
    marked = tab.locator(f".bd-toc-nav a.active[href='{place}']")
    marked.wait_for()
    assert 0 < marked.bounding_box()["y"] < 750
    assert abs(tab.locator(place).bounding_box()["y"]) < 200  # the page didn't scroll
