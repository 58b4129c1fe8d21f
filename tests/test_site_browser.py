"""The built site in a browser: controls, anchors, print, and search."""

from pathlib import Path

import pytest
import yaml
from addresses import SITE

ROOT = Path(__file__).parents[1]
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))


def address(name):
    return (SITE / f"{name}.html").as_uri()


def test_the_policy_lets_a_reader_use_the_page(site, visit):
    """Theme switch, copying code, opening a solution."""
    tab = visit(address("notebooks/03_linearity"), color_scheme="light")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.click("button.theme")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.locator(".cell_input:visible").first.scroll_into_view_if_needed()
    copy = tab.locator(".bar:visible").get_by_role("button", name="Copy").first
    copy.click()
    code = tab.evaluate("navigator.clipboard.readText()")
    assert code in tab.locator("article").text_content()
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


@pytest.fixture
def search(site, visit):
    """A page, and the function that asks its search, opened by keys."""
    tab = visit(address("notebooks/03_linearity"))
    tab.keyboard.press("Control+k")
    tab.locator(".search input").wait_for()
    return tab


# The addresses of the first hits.
ASK = """queries => queries.map((query) => bookSearch(query).results.slice(0, 2)
    .map(({ name, anchor }) => anchor ? `${name}#${anchor}` : name))"""


def test_searches_find_their_place(search):
    """If a page is wanted, any place on it counts."""
    missed = {}
    for (query, wanted), hits in zip(
        SEARCHES.items(), search.evaluate(ASK, [*SEARCHES]), strict=True
    ):
        if not {*wanted.split()} & {*hits, *(hit.partition("#")[0] for hit in hits)}:
            missed[query] = f"wanted {wanted}, found {hits}"
    assert missed == {}, "use the words of tests/searches.yml on the page, best in the heading"


def test_what_is_typed_is_found_said_and_marked_where_a_result_leads(search):
    search.locator(".search input").fill("wavelenght xyzzy")
    said = search.locator(".search [role=status]")
    assert "“wavelength” instead of “wavelenght”. Nothing has “xyzzy”." in said.text_content()
    assert "wavelength" in search.locator(".search mark").first.text_content().lower()
    search.keyboard.press("ArrowDown")
    search.keyboard.press("Enter")
    search.wait_for_url("**/glossary.html#term-wavelength")
    assert search.evaluate("CSS.highlights.get('sought').size") > 0
    search.reload()
    assert not search.evaluate("CSS.highlights.has('sought')")


def test_the_page_of_results_answers_a_query_in_its_address(site, visit):
    tab = visit(f"{address('search')}?q=shift+matrix")
    tab.locator("#hits a").first.wait_for()
    assert "shift" in tab.locator("#hits a").first.text_content()


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
    tab = visit(address("book/rope_in_production"))
    place = "#what-is-position-interpolation"
    tab.evaluate("place => document.querySelector(place).scrollIntoView()", place)
    marked = tab.locator(f".bd-toc-nav a.active[href='{place}']")
    marked.wait_for()
    assert 0 < marked.bounding_box()["y"] < 750
    assert abs(tab.locator(place).bounding_box()["y"]) < 200  # the page didn't scroll
