"""What a reader does with pages of the built site: controls, places, print, and searches."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from addresses import SITE

ROOT = Path(__file__).parents[1]
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))
FIRST = 3  # hits among which a reader should find the place


def address(name):
    return (SITE / f"{name}.html").as_uri()


def test_the_policy_lets_a_reader_use_the_page(site, visit):
    """Theme, full screen, code to the clipboard, a solution, a figure: each by its own control."""
    tab = visit(address("notebooks/07_linearity"), color_scheme="light")
    tab.click(".article-header-buttons .theme-switch-button")
    assert tab.evaluate("document.documentElement.dataset.mode") != "auto"
    tab.click("[onclick='toggleFullScreen()']")
    tab.wait_for_function("document.fullscreenElement")
    copy = tab.locator("button.copybtn:visible").first
    copy.scroll_into_view_if_needed()
    copy.click()
    tab.wait_for_selector("button.copybtn.success")
    solution = tab.locator(".solution.dropdown").first
    solution.locator(".admonition-title").click()
    assert "toggle-hidden" not in solution.get_attribute("class")
    figure = tab.locator("posenc-figure")
    before = figure.locator(".say").text_content()
    figure.locator("#field-offset").press("ArrowRight")
    assert figure.locator(".say").text_content() != before
    shown = " ".join(tab.locator(".search-button-field").first.inner_text().split())
    assert tab.get_by_role("button", name=shown).count() > 0, "called what it shows (WCAG 2.5.3)"


def test_a_dark_page_is_printed_light(site, visit):
    tab = visit(address("notebooks/05_heatmaps"), color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})")
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(theme) == "dark"


WHERE_IT_RESTS = """id => new Promise((rest) => {
    let before;
    const look = () => {
        const { y } = document.getElementById(id).getBoundingClientRect();
        if (y === before) return rest(y);
        before = y;
        setTimeout(look, 500);
    };
    look();
})"""


def test_an_address_with_a_place_leads_there(site, visit):
    """Even though what is above it goes on changing while the page loads; a link, at once."""
    chapter = address("notebooks/02_formula")
    html = (site / "notebooks" / "02_formula.html").read_text("utf-8")
    places = re.findall(r'<section [^>]*id="([^"]*)"', html)
    for place in places[4:-1:8]:
        tab = visit(f"{chapter}#{place}", viewport={"width": 390, "height": 800})
        assert 0 <= tab.evaluate(WHERE_IT_RESTS, place) <= 100, place
    top = """place => new Promise((done) => {
        location.hash = place;
        requestAnimationFrame(() => done(document.getElementById(place).getBoundingClientRect().y));
    })"""
    assert 0 <= tab.evaluate(top, places[2]) <= 100


def test_results_of_a_search_show_excerpts_of_the_text(site, browser):
    tab = browser.new_page()
    home = "https://book.test/"
    tab.route(f"{home}**", lambda to: to.fulfill(path=SITE / urlsplit(to.request.url).path[1:]))
    tab.goto(f"{home}search.html?q=wavelength")
    tab.wait_for_selector("#search-results p:has-text('finished')")
    tab.wait_for_function("document.querySelectorAll('#search-results .context').length >= 5")
    found = tab.eval_on_selector_all(
        "#search-results li:has(.context)",
        """all => all.map((one) =>
            [one.querySelector("a").href, one.querySelector(".context").innerText])""",
    )
    assert len(found) >= 5
    for address, excerpt in found[:5]:
        tab.goto(address.partition("?")[0])
        shown, there = (
            re.findall("[A-Za-z]{4,}", text)
            for text in (excerpt, tab.locator("article").text_content())
        )
        assert {*shown[1:-1]} <= {*there}, address  # the first and the last may be cut
    tab.close()


# What `Search.query` shows, best first; the script sorts from worst to best.
ASK = """queries => queries.map((query) =>
    Search._performSearch(...Search._parseQuery(query)).reverse()
        .map(([page, title, anchor]) => page + anchor))"""


def is_met(wanted, hits):
    """Whether a hit is what is wanted; if that is a page, any place on it will do."""
    return any(wanted in (hit, hit.partition("#")[0]) for hit in hits)


@pytest.fixture(scope="module")
def hits(site, browser):
    """The first hits of each search, from one page that is loaded once."""
    tab = browser.new_page()
    tab.goto(f"{(SITE / 'search.html').as_uri()}?q=order")
    tab.wait_for_function("Search.hasIndex()")
    found = tab.evaluate(ASK, list(SEARCHES))
    tab.close()
    return dict(zip(SEARCHES, [each[:FIRST] for each in found], strict=True))


def test_searches_find_their_place(hits):
    missed = {
        query: f"wanted {wanted}, found {hits[query]}"
        for query, wanted in SEARCHES.items()
        if not any(is_met(place, hits[query]) for place in wanted.split())
    }
    assert missed == {}


def test_what_was_typed_is_marked_where_a_result_leads_and_nowhere_else(browser):
    tab = browser.new_page()
    marked = tab.locator("span.highlighted")
    for leave, words in (("#search-results li a", {"odd"}), (".navbar-brand", set())):
        tab.goto(f"{(SITE / 'search.html').as_uri()}?q=d+odd")
        tab.locator("#search-results li a").first.wait_for()
        tab.locator(leave).first.click()
        tab.wait_for_url(re.compile("html(#.*)?$"), wait_until="load")
        tab.wait_for_timeout(500)  # Sphinx's script marks a little later
        assert {word.lower() for word in marked.all_text_contents()} == words
    tab.close()


def test_a_term_says_what_it_means_to_a_keyboard_and_at_the_first_tap(browser):
    tab = browser.new_context(has_touch=True, viewport={"width": 390, "height": 800}).new_page()
    tab.goto((SITE / "notebooks" / "07_linearity.html").as_uri())
    link = tab.locator("article a:has(.std-term)").first
    beside = "link => getComputedStyle(link, '::after').content"
    link.focus()
    assert "weighted mean over all words." in link.evaluate(beside)
    assert "weighted mean" in link.get_attribute("aria-description")
    link.blur()
    assert link.evaluate(beside) == "none"
    link.tap()
    assert "weighted mean" in link.evaluate(beside)
    assert "linearity" in tab.url
    link.press("Escape")
    assert link.evaluate(beside) == "none"
    link.tap()
    tab.wait_for_url("**/glossary.html#term-attention")
    tab.close()


def test_the_contents_show_the_question_that_is_being_read(browser):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "book" / "questions.html").as_uri())
    tab.evaluate("document.querySelector('#what-is-position-interpolation').scrollIntoView()")
    marked = tab.locator(".bd-toc-nav a.active[href='#what-is-position-interpolation']")
    marked.wait_for()
    box = marked.bounding_box()
    assert 0 < box["y"] < 800 - box["height"]
    top = tab.locator("#what-is-position-interpolation").bounding_box()["y"]
    assert abs(top) < 200  # the page itself stays where it was
    tab.close()
