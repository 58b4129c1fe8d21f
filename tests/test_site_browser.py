"""The built site in a browser: controls, anchors, print, search, and what is focused or hovered."""

import pytest
from pages import PALE, address, check_with_axe, themes
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("site")
CHAPTER = address("notebooks/03_linearity")


def test_the_policy_lets_a_reader_use_the_page(visit):
    """Theme switch, copying code, opening a solution."""
    tab = visit(
        CHAPTER, permissions=["clipboard-read", "clipboard-write"], color_scheme="light"
    )
    tab.click("button.theme")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    cell = tab.locator(".cell_input:visible").first
    cell.scroll_into_view_if_needed()
    buttons = cell.locator(".bar button")
    expect(buttons, "from a file, there is no Python").to_have_text(["Copy"])
    buttons.click()
    copied = "code => navigator.clipboard.readText().then((text) => text === code)"
    tab.wait_for_function(copied, arg=cell.locator("pre").text_content())
    tab.locator("details.solution > summary").first.click()
    assert tab.locator("details.solution[open]").count() == 1


# Text, formulas and pictures that aren't shown although they aren't folded.
LOST = """[...document.querySelectorAll("article :is(h1, h2, h3, p, li, pre, td, .katex, img)")]
    .filter((e) => (e.textContent.trim() || e.matches("img"))
        && !e.closest("details, button, template, dialog")
        && !(e.checkVisibility() && e.getClientRects().length && (e.naturalWidth ?? 1)))
    .map((e) => e.outerHTML.slice(0, 80))"""


def test_without_scripts_a_chapter_shows_all_that_it_says_and_a_picture_for_its_figure(
    visit,
):
    tab = visit(address("notebooks/08_heatmaps"), java_script_enabled=False)
    assert tab.locator("posenc-figure img").is_visible()
    assert tab.evaluate(LOST) == []


def test_a_dark_page_is_printed_light_with_a_picture_of_its_figure(visit):
    tab = visit(address("notebooks/08_heatmaps"), color_scheme="dark")
    live, picture = (
        tab.locator("posenc-figure .live"),
        tab.locator("posenc-figure > img"),
    )
    live.wait_for()
    assert not picture.is_visible()
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(
        f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})"
    )
    tab.pdf()
    assert [tab.evaluate(each) for each in ("printed", theme)] == ["light", "dark"]
    tab.emulate_media(media="print")
    assert picture.is_visible()
    assert not live.is_visible()


def test_an_address_with_a_place_leads_there(visit):
    """Even though the content above the anchor keeps changing while the page loads."""
    phone = {"width": 390, "height": 800}
    tab = visit(f"{address('notebooks/02_formula')}#summary", viewport=phone)
    tab.locator("posenc-figure .live").first.wait_for(state="attached")
    near = "Math.abs(document.getElementById('summary').getBoundingClientRect().y - 50) <= 50"
    tab.wait_for_function(near)


def test_evidence_is_one_switch_away(visit):
    """By button and key, remembered, in a link; a claim's row leads to its cell, opened."""
    tab = visit(CHAPTER)
    switch = tab.get_by_role("button", name="Evidence", exact=True)
    check = tab.get_by_text("Checked: ").first
    expect(check).not_to_be_visible()
    switch.click()
    expect(check).to_be_visible()
    tab.reload()
    expect(switch).to_have_attribute("aria-pressed", "true")
    tab.keyboard.press("e")
    expect(check).not_to_be_visible()
    tab.goto(f"{CHAPTER}?evidence")
    expect(check).to_be_visible()
    tab.goto(f"{CHAPTER}#claim-S0-linear")
    expect(tab.locator("#claim-S0-linear pre").first).to_be_in_viewport()


def test_what_is_typed_is_found_and_said(visit):
    """The words of tests/searches.txt find their places in `test_searches`, by the same script."""
    tab = visit(CHAPTER)
    tab.keyboard.press("Control+k")
    tab.locator(".search input").fill("wavelenght xyzzy")
    said = "“wavelength” instead of “wavelenght”. Nothing has “xyzzy”."
    expect(tab.locator(".search [role=status]")).to_contain_text(said)
    expect(tab.locator(".search mark").first).to_contain_text(
        "wavelength", ignore_case=True
    )
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/glossary.html#term-wavelength")
    tab.goto(f"{address('search')}?q=shift+matrix")
    expect(tab.locator("#hits a").first).to_contain_text("shift")


def test_the_contents_show_the_question_that_is_being_read(visit):
    tab = visit(address("book/rope_in_production"))
    place = "#what-is-position-interpolation"
    tab.evaluate("place => document.querySelector(place).scrollIntoView()", place)
    marked = tab.locator(f".bd-toc-nav a.active[href='{place}']")
    marked.wait_for()
    assert 0 < marked.bounding_box()["y"] < 750
    assert abs(tab.locator(place).bounding_box()["y"]) < 200  # the page didn't scroll


# The focused element, in shadow roots, too: whether focusing it draws anything.
FOCUSED = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    if (!e || e === document.body) return null;
    const parts = [e, e.parentElement, e.nextElementSibling, e.querySelector("*")].filter(Boolean);
    const rings = (e) => [null, "::before", "::after"].map((part) => {
        const { outline, boxShadow, borderColor, backgroundColor } = getComputedStyle(e, part);
        return [outline, boxShadow, borderColor, backgroundColor].join();
    }).join();
    const look = () => parts.map(rings).join();
    const focused = look();
    e.blur();
    const plain = look();
    e.focus({ focusVisible: true, preventScroll: true });
    return { what: e.outerHTML.slice(0, 90), seen: focused !== plain };
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["notebooks/03_linearity", "book/claims"])
def test_what_has_the_focus_is_seen(visit, page, theme):
    tab, stops = visit(address(page), color_scheme=theme), []
    for _ in range(60):
        tab.keyboard.press("Tab")
        stops += filter(None, [tab.evaluate(FOCUSED)])
    assert len(stops) > 40
    unseen = [stop["what"] for stop in stops if not stop["seen"]]
    assert unseen == [], (
        "draw a focus ring: book.css, or src/posenc/book/figures/figures.css"
    )


def test_what_is_under_the_mouse_can_be_read_and_axe_finds_nothing(visit):
    tab, pale = visit(CHAPTER), set()
    tab.add_style_tag(content="* { transition: none !important }")
    for kind in (
        "article p a",
        ".bd-toc-nav a",
        ".bd-links a",
        "summary",
        ".prev-next-area a",
    ):
        link = tab.locator(kind).locator("visible=true").first
        link.hover()
        pale |= {found for _ in themes(tab) for found in link.evaluate(PALE)}
    assert pale == set(), "under the mouse, too, text needs 4.5 to 1"
    check_with_axe(tab, "body", contrast=False)
