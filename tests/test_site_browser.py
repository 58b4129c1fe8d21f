"""The built site in a browser: controls, anchors, print, search, and what is focused or hovered."""

import pytest
from card import CARD, says
from pages import PALE, address, check_with_axe, themes
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("site")
CHAPTER = address("notebooks/03_linearity")
KINDS = "index", "search", "book/api", "book/claims", "book/config", "book/glossary"
KINDS += "book/rope_in_production", "book/teach", "notebooks/03_linearity"
THEME = "document.documentElement.dataset.theme"
LAID_OUT = """() => [...document.querySelectorAll("article > section > section")]
    .every((section) => section.style.contentVisibility === "visible")"""
VIEW = "({ figure }) => figure.state"
HEIGHT = "document.documentElement.scrollHeight"


@pytest.mark.parametrize("name", KINDS)
def test_axe_finds_nothing_on_a_page_of_each_kind(visit, name):
    """On a phone, where it also asks that what scrolls is reached by the keyboard."""
    tab = visit(address(name), viewport={"width": 390, "height": 800})
    tab.wait_for_function(LAID_OUT)
    # PALE looks at the contrast of all pages, much faster.
    check_with_axe(tab, "body", contrast=False)


def test_the_policy_lets_a_reader_use_the_page(visit):
    """Theme switch, copying code."""
    tab = visit(CHAPTER, color_scheme="light")
    tab.click("button.theme")
    assert tab.evaluate(THEME) == "dark"
    cell = tab.locator(".cell_input:visible").first
    cell.scroll_into_view_if_needed()
    cell.get_by_role("button", name="Copy").click()
    copied = "code => navigator.clipboard.readText().then((text) => text === code)"
    tab.wait_for_function(copied, arg=cell.locator("pre").text_content())


def test_without_scripts_a_figure_is_a_picture_and_evidence_is_in_folds(visit):
    tab = visit(CHAPTER, java_script_enabled=False)
    expect(tab.locator("posenc-figure img").first).to_be_visible()
    tab.locator("details.documents > summary").first.click()
    expect(tab.locator("details.documents[open] p").first).to_be_visible()


# Beside the words it begins with them; above them all of it stays.
@pytest.mark.parametrize(("width", "share"), [(1920, 0.1), (390, 1)])
def test_a_figure_stays_in_view_while_its_words_are_read(visit, width, share):
    size = {"width": width, "height": 900}
    tab = visit(address("notebooks/05_rotary_and_alibi"), viewport=size)
    stage = tab.locator(".stage").last
    words = stage.locator("a[data-set]").last
    words.evaluate("(link) => link.scrollIntoView({ block: 'end' })")
    tab.evaluate("scrollBy(0, 60)")
    expect(stage.locator("posenc-figure")).to_be_in_viewport(ratio=share)
    words.click(trial=True)  # raises if the figure covers them


def test_another_site_can_put_a_view_in_a_frame(visit, served, tmp_path):
    """The copied line reproduces the view there, without requests to other hosts."""
    tab = visit(f"{served}/notebooks/08_heatmaps.html")
    figure = tab.locator("posenc-figure")
    figure.locator("input").first.press("ArrowLeft")
    view = figure.evaluate(VIEW)
    figure.get_by_role("button", name="Share").click()
    figure.get_by_role("button", name="Copy embed code").click()
    figure.get_by_role("button", name="Copied").wait_for()
    other = tmp_path / "other.html"
    other.write_text(tab.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    tab.goto(other.as_uri())
    framed = tab.frame_locator("iframe").locator("posenc-figure")
    framed.locator(".picture > *").first.wait_for()
    assert framed.evaluate(VIEW) == view


def test_a_dark_page_is_printed_light_with_a_picture_of_its_figure(visit):
    tab = visit(address("notebooks/08_heatmaps"), color_scheme="dark")
    live = tab.locator("posenc-figure .live")
    live.wait_for()
    tab.evaluate(f"() => addEventListener('beforeprint', () => (printed = {THEME}))")
    # Printing to a file raises the events of a print, and emulating the medium doesn't.
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(THEME) == "dark"
    tab.emulate_media(media="print")
    expect(tab.locator("posenc-figure > img")).to_be_visible()
    expect(live).not_to_be_visible()


def test_an_address_with_a_place_leads_there_and_contents_mark_it(visit):
    """Even though the content above the anchor keeps changing while the page loads."""
    tab = visit(f"{address('notebooks/02_formula')}#summary")
    place = "document.getElementById('summary').getBoundingClientRect().y"
    tab.wait_for_function(f"Math.abs({place} - 50) <= 50")
    marked = tab.locator(".bd-toc-nav a.active")
    expect(marked).to_have_text("Summary")
    tab.keyboard.press("End")
    expect(marked).to_have_text("What comes next")
    # On a busy machine, Chromium may end a scroll by the key Home halfway.
    tab.evaluate("scrollTo(0, 0)")
    expect(marked).to_have_count(0)


def test_a_page_stays_where_a_reader_has_scrolled(visit):
    """Marking the contents scrolls them, and not the page."""
    tab = visit(CHAPTER)
    for place in (700, 1200, 2400):
        tab.evaluate(f"scrollTo(0, {place})")
        tab.wait_for_timeout(300)  # some frames
        assert tab.evaluate("scrollY") == place


@pytest.mark.parametrize("width", [390, 1280])
def test_the_scroll_bar_is_right_before_a_reader_scrolls(visit, width):
    name = "notebooks/15_longer_context"
    tab = visit(address(name), viewport={"width": width, "height": 800})
    tab.wait_for_function(LAID_OUT)
    height = tab.evaluate(HEIGHT)
    # Sections that were never near the window have an estimated height until then.
    for place in range(0, height, 600):
        tab.evaluate(f"scrollTo(0, {place})")
        tab.wait_for_timeout(50)
    assert tab.evaluate(HEIGHT) == pytest.approx(height, rel=0.05)


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


def test_the_preview_of_links_shows_todays_figure(visit):
    card = Image.open(CARD)
    card.load()
    assert says(visit(address("index"))) == card.text["says"], "run `make card`"


def test_what_opens_over_the_page_can_be_read_and_a_search_is_corrected(visit):
    tab = visit(CHAPTER)
    tab.get_by_role("button", name="Take this page along").click()
    check_with_axe(tab, "#take")
    tab.keyboard.press("Escape")
    # A result on the same page is shown, and ends the search.
    tab.keyboard.press("Control+k")
    tab.locator(".search input").fill("linearity")
    tab.locator("#hits a[href*='03_linearity.html#']").first.click()
    expect(tab.locator("dialog.search")).not_to_be_visible()
    tab.keyboard.press("Control+k")
    tab.locator(".search input").fill("wavelenght xyzzy")
    corrected = "“wavelength” instead of “wavelenght”. Nothing has “xyzzy”."
    expect(tab.locator(".search [role=status]")).to_contain_text(corrected)
    check_with_axe(tab, "dialog.search")
    # Enter leads to the best result, without a click.
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/glossary.html#term-wavelength")


def test_a_page_works_without_storage_and_with_a_hash_that_leads_nowhere(visit):
    tab = visit()
    forbid = "Object.defineProperty(window, '{}', {{ get() {{ throw Error('no') }} }});"
    tab.add_init_script(forbid.format("localStorage") + forbid.format("sessionStorage"))
    tab.goto(f"{CHAPTER}#100%")
    tab.get_by_role("button", name="Evidence", exact=True).click()
    expect(tab.get_by_text("Checked: ").first).to_be_visible()
    assert {*tab.wrong} == {"no"}, "of scripts in the head, which end alone"
    tab.wrong.clear()


def test_spoiled_storage_and_a_refused_clipboard_stop_nothing(visit):
    tab = visit()
    tab.add_init_script("""
        for (const name of ["right", "typed"]) localStorage.setItem(name, "{");
        navigator.clipboard.writeText = () => Promise.reject(Error("no"));
    """)
    tab.goto(CHAPTER)
    tab.get_by_role("button", name="Take this page along").click()
    link = tab.locator("[data-does=link]")
    link.click()
    expect(link).to_have_text("Not allowed.")
    link.click()  # while it says so
    expect(link).to_have_text("Copy the link")


def test_after_a_print_of_all_evidence_boxes_are_as_they_were(visit):
    tab = visit(f"{CHAPTER}?evidence")
    tab.evaluate("() => { window.print = () => {} }")
    closed = tab.locator("details.documents").first
    closed.locator("summary").click()
    opened = "() => [...document.querySelectorAll('details')].map((box) => box.open)"
    before = tab.evaluate(opened)
    tab.get_by_role("button", name="Take this page along").click()
    tab.get_by_role("button", name="Print with the evidence").click()
    expect(closed).to_have_js_property("open", True)
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate(opened) == before


# Whether the focused element, or what is around it, is drawn as it is without the focus.
UNSEEN = """() => {
    const e = document.activeElement;
    const parts = [e, e.parentElement, e.nextElementSibling].filter(Boolean);
    const look = () => parts.flatMap((part) => [null, "::before", "::after"].map((pseudo) => {
        const { outline, boxShadow, borderColor, backgroundColor } = getComputedStyle(part, pseudo);
        return [outline, boxShadow, borderColor, backgroundColor].join();
    })).join();
    const focused = look();
    e.blur();
    const plain = look();
    e.focus({ focusVisible: true, preventScroll: true });
    return e !== document.body && !e.shadowRoot && focused === plain ? e.outerHTML : "";
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_has_the_focus_is_seen(visit, theme):
    tab = visit(CHAPTER, color_scheme=theme)
    for _ in range(60):
        tab.keyboard.press("Tab")
        assert tab.evaluate(UNSEEN) == "", "draw a focus ring in book.css"


def test_what_is_under_the_mouse_can_be_read(visit):
    tab = visit(CHAPTER)
    tab.add_style_tag(content="* { transition: none !important }")
    for kind in ("article p a", ".bd-toc-nav a", ".bd-links a", "summary"):
        link = tab.locator(f"{kind}:visible").first
        # A theme that changes under a resting mouse shows colors of hovering in both.
        link.hover()
        for _ in themes(tab):
            assert link.evaluate(PALE) == [], "text needs 4.5 to 1, hovered, too"


def test_claims_are_filtered_and_what_none_has_is_searched_for(visit):
    tab = visit(address("book/claims"))
    field = tab.get_by_label("Find a claim")
    field.fill("s3 fails")
    rows = tab.locator("table.ledger tbody tr:visible")
    expect(rows.first).to_contain_text("S3")
    field.fill("falls with distance")
    expect(rows).to_have_count(0)
    tab.get_by_role("button", name="Search the book").click()
    expect(tab.locator("dialog #hits a").first).to_contain_text("distance")
