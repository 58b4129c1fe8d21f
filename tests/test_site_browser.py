"""Pages of the built site in a browser: controls, themes, places, print, and searches."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))
FIRST = 3  # hits among which a reader should find the place

if not (SITE / "index.html").exists() and not os.environ.get("CI"):
    pytest.skip("no site was built: run `make book` first", allow_module_level=True)


def complaints(tab):
    """What goes wrong in a page from now on, as it comes."""
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    return errors


def test_the_policy_lets_a_reader_use_the_page(browser):
    """Theme, full screen, code to the clipboard, a solution, a figure: each by its own control."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    errors = complaints(tab)
    tab.goto((SITE / "notebooks" / "07_linearity.html").as_uri())

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
    assert errors == []
    tab.close()


def test_the_search_button_is_called_what_it_shows(browser):
    """For those who speak to their browser (WCAG 2.5.3)."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "index.html").as_uri())
    button = tab.locator(".search-button-field").first
    shown = " ".join(button.inner_text().split())
    assert shown.startswith("Search")
    assert f'button "{shown}"' in " ".join(button.aria_snapshot().split())
    tab.close()


def test_a_dark_page_is_printed_light(browser):
    tab = browser.new_page(color_scheme="dark")
    tab.goto((SITE / "notebooks" / "05_heatmaps.html").as_uri())
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})")
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(theme) == "dark"
    tab.close()


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


@pytest.mark.parametrize("width", [390, 1280])
def test_an_address_with_a_place_leads_there(browser, width):
    """Even though what is above it goes on changing while the page loads."""
    chapter = SITE / "notebooks" / "02_formula.html"
    places = re.findall(r'<section [^>]*id="([^"]*)"', chapter.read_text(encoding="utf-8"))
    tops = {}
    for place in places[1:-1:4]:
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.goto(f"{chapter.as_uri()}#{place}")
        tops[place] = tab.evaluate(WHERE_IT_RESTS, place)
        tab.close()
    assert len(tops) > 3
    assert {place: top for place, top in tops.items() if not 0 <= top <= 100} == {}


def test_a_link_leads_to_its_place_at_once(browser):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "notebooks" / "02_formula.html").as_uri())
    top = tab.evaluate(
        """() => new Promise((done) => {
            location.hash = "exercises";
            const place = document.getElementById("exercises");
            requestAnimationFrame(() => done(place.getBoundingClientRect().y));
        })"""
    )
    assert 0 <= top <= 100
    tab.close()


@pytest.mark.parametrize("chapter", ["05_heatmaps", "14_bug_museum"])
def test_figures_are_whole_on_a_phone(browser, chapter):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto((SITE / "notebooks" / f"{chapter}.html").as_uri())
    rights = tab.eval_on_selector_all(
        "figure img", "all => all.map((img) => img.getBoundingClientRect().right)"
    )
    assert len(rights) > 5
    assert max(rights) <= 390
    tab.close()


@pytest.mark.parametrize("name", ["04_torch_stack_flatten", "12_conventions"])
def test_tables_code_and_messages_are_whole_on_a_desk(browser, name):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto((SITE / "notebooks" / f"{name}.html").as_uri())
    for solution in tab.locator(".solution.dropdown .admonition-title").all():
        solution.click()
    hidden = tab.eval_on_selector_all(
        "pre, .pst-scrollable-table-container",
        "all => all.map((box) => box.scrollWidth - box.clientWidth)",
    )
    assert len(hidden) > 20
    assert max(hidden) <= 1
    tab.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "notebooks/07_linearity", "book/claims", "search"])
def test_pages_can_be_read_in_both_themes(browser, name, theme):
    """Contrast of text, code, links and buttons, as axe measures it."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=theme)
    tab.goto((SITE / f"{name}.html").as_uri())
    found = Axe().run(tab, options={"runOnly": ["color-contrast"]}).response["violations"]
    tab.close()
    assert [node["html"] for each in found for node in each["nodes"]] == []


@pytest.fixture(scope="module")
def results(browser):
    """What a search finds, on the site opened from its files."""
    tab = browser.new_page()
    errors = complaints(tab)

    def found(word):
        tab.goto(f"{(SITE / 'search.html').as_uri()}?q={word}")
        tab.wait_for_selector("#search-results li a")
        tab.wait_for_selector("#search-results p:has-text('finished')")
        assert errors == []
        return tab.eval_on_selector_all("#search-results li > a", "as => as.map(a => a.href)")

    yield found
    tab.close()


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("wavelength", "glossary.html#term-wavelength"),
        ("omega", "notation.html"),
        ("RoPE", "10_rotary_and_alibi.html"),
        ("d_model", "notation.html"),
        ("heatmaps", "05_heatmaps.html"),
    ],
)
def test_search_finds_names(results, word, target):
    assert any(target in link for link in results(word))


def test_excerpts_of_a_search_are_of_the_text(browser):
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
def hits(browser):
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
