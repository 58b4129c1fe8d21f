"""The built site in a browser: controls, anchors, print, search, and what is focused or hovered."""

import pytest
from card import CARD, says
from pages import PAINT_ALL, address, button, check_contrast, check_with_axe, themes
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("site")
CHAPTER = address("notebooks/03_linearity")
KINDS = "index", "search", "book/api", "book/claims", "book/config", "book/glossary"
KINDS += "book/questions", "book/rope_in_production", "book/teach"
KINDS += ("notebooks/03_linearity",)
THEME = "document.documentElement.dataset.theme"
HEIGHT = "document.documentElement.scrollHeight"
# Once a page has come, its sections are measured one by one (reading.js).
MEASURED = """() => [...document.querySelectorAll("article > section > section, section > dl.py")]
    .every((e) => e.matches(":has(dl.py)") || e.style.containIntrinsicHeight)"""
# Colored parts of code, each an element, have nothing for axe.
FLATTEN = """() => document.querySelectorAll("pre:not(:has(a))")
    .forEach((pre) => (pre.textContent = pre.textContent))"""
NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { get() { throw Error("no") } });"""
SPOILED = """for (const name of ["right", "typed"]) localStorage.setItem(name, "{");"""


@pytest.fixture(scope="module")
def phone(visit_all):
    """One narrow tab for many pages: a window of its own takes as long as a page."""
    return visit_all(width=390)


@pytest.mark.parametrize("name", KINDS)
def test_axe_finds_nothing_on_a_page_of_each_kind(phone, name):
    """On a phone, where it also asks that what scrolls is reached by the keyboard."""
    phone.goto(address(name))
    phone.evaluate(PAINT_ALL)
    phone.evaluate(FLATTEN)
    check_with_axe(phone, "body")  # `test_site` looks at the contrast of all pages


@pytest.mark.parametrize(
    "name", ["book/api", "book/questions", "notebooks/05_rotary_and_alibi"]
)
def test_a_page_is_as_high_before_one_scrolls_as_after(visit, name):
    tab = visit(address(name))
    tab.wait_for_function(MEASURED)
    before = tab.evaluate(HEIGHT)
    tab.evaluate(PAINT_ALL)
    assert tab.evaluate(HEIGHT) == pytest.approx(before, abs=2)


def test_a_line_that_grows_is_reached_by_the_keyboard_and_fades(visit):
    """As a cell's that prints a dot for each step."""
    box = visit(CHAPTER).locator(".cell_input pre:visible").first
    box.evaluate("(box) => { box.textContent = 'a word' }")
    expect(box).not_to_have_attribute("tabindex", "0")
    box.evaluate("(box) => box.append('.'.repeat(999))")
    expect(box).to_have_attribute("tabindex", "0")
    expect(box).to_contain_class("more")


def test_the_theme_is_switched_and_code_is_copied(visit):
    tab = visit(CHAPTER, color_scheme="light")
    button(tab, "List of chapters").click()
    button(tab, "Light or dark").click()
    tab.keyboard.press("Escape")
    assert tab.evaluate(THEME) == "dark"
    cell = tab.locator(".cell_input:visible").first
    cell.scroll_into_view_if_needed()
    button(cell, "Copy").click()
    cell.get_by_text("Copied.").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied == cell.locator("pre").text_content()


def test_without_scripts_a_figure_is_a_picture_and_evidence_is_in_folds(visit):
    tab = visit(CHAPTER, java_script_enabled=False, color_scheme="dark")
    expect(tab.locator("html")).to_have_attribute("data-theme", "light")
    expect(tab.locator("posenc-figure img").first).to_be_visible()
    tab.locator("details.documents > summary").first.click()
    expect(tab.locator("details.documents[open] p").first).to_be_visible()


def test_a_figure_stays_in_view_while_its_words_are_read(visit):
    tab = visit()
    # Beside the words it begins with them; above them all of it stays.
    for width, share in [(1920, 0.1), (390, 1)]:
        tab.set_viewport_size({"width": width, "height": 800})
        tab.goto(address("notebooks/05_rotary_and_alibi"))
        stage = tab.locator(".stage").last
        words = stage.locator("a[data-set]").last
        words.evaluate("(link) => link.scrollIntoView({ block: 'end' })")
        tab.evaluate("scrollBy(0, 60)")  # the words just above the lower edge
        expect(stage.locator("posenc-figure")).to_be_in_viewport(ratio=share)
        words.click(trial=True)  # raises if the figure covers them


def test_lists_open_over_the_page_and_make_way(phone):
    phone.goto(CHAPTER)
    entries = phone.locator(".bd-sidebar-primary li > a")
    button(phone, "List of chapters").click()
    expect(phone.locator(".bd-sidebar-primary a").first).to_be_focused()
    phone.keyboard.press("Escape")
    expect(entries.last).not_to_be_visible()
    button(phone, "Contents of this page").click()
    phone.locator(".bd-toc-nav a[href='#summary']").click()
    expect(phone.locator(".bd-sidebar-secondary")).not_to_be_visible()
    expect(phone.locator("#summary > h2")).to_be_in_viewport()


def test_another_site_can_put_a_view_in_a_frame(visit, served, tmp_path):
    """The copied line reproduces the view there, without requests to other hosts."""
    tab = visit(f"{served}/notebooks/08_heatmaps.html")
    figure = tab.locator("posenc-figure")
    figure.locator("input").first.press("ArrowLeft")
    said = figure.locator(".say").text_content()
    button(figure, "Share").click()
    button(figure, "Copy embed code").click()
    button(figure, "Copied embed code").wait_for()
    other = tmp_path / "other.html"
    other.write_text(tab.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    tab.goto(other.as_uri())
    expect(tab.frame_locator("iframe").locator(".say")).to_have_text(said)


def test_a_dark_page_is_printed_light_with_pictures_and_its_evidence(visit):
    tab = visit(CHAPTER, color_scheme="dark")
    live = tab.locator("posenc-figure .live").first
    live.wait_for()
    tab.evaluate("() => { window.print = () => {} }")
    button(tab, "List of chapters").click()
    button(tab, "Take this page along").click()
    check_with_axe(tab, "#take")
    check_contrast(tab, "#take")
    button(tab, "Print with the evidence").click()
    evidence = tab.locator("details.documents").first
    expect(evidence).to_have_js_property("open", True)
    # Printing to a file raises the events of a print, and emulating the medium doesn't.
    tab.evaluate(f"() => addEventListener('beforeprint', () => (printed = {THEME}))")
    tab.pdf()
    assert tab.evaluate("printed") == "light"
    assert tab.evaluate(THEME) == "dark"
    tab.emulate_media(media="print")
    expect(tab.locator("posenc-figure > img").first).to_be_visible()
    expect(live).not_to_be_visible()


def test_an_address_with_a_place_leads_there_and_contents_mark_it(desk):
    """Even though the content above the anchor keeps changing while the page loads."""
    desk.goto(f"{address('notebooks/02_formula')}#summary")
    place = "document.getElementById('summary').getBoundingClientRect().y"
    desk.wait_for_function(f"Math.abs({place} - 50) <= 50")
    marked = desk.locator(".bd-toc-nav a.active")
    expect(marked).to_have_text("Summary")
    desk.keyboard.press("End")
    expect(marked).to_have_text("What comes next")
    # Marking the contents scrolls them, and not the page. (On a busy machine, Chromium may end a
    # scroll by the key Home halfway.)
    desk.evaluate("scrollTo(0, 2400)")
    expect(marked).not_to_have_text("What comes next")
    assert desk.evaluate("scrollY") == 2400


def test_on_a_phone_a_question_opens_its_answer(visit):
    """Where a link leads, it is open; on a wide page all are."""
    asked = "does-the-decoder-need-positional-encoding-too"
    tab = visit(f"{address('book/questions')}#{asked}", width=390)
    expect(tab.get_by_text("The paper adds it at the bottom")).to_be_visible()
    first = tab.locator(".question").first
    expect(first.locator("p").first).not_to_be_visible()
    first.locator("summary").click()
    expect(first.locator("p").first).to_be_visible()
    tab.set_viewport_size({"width": 1280, "height": 800})
    expect(tab.locator(".question p").last).to_be_visible()


def test_evidence_is_one_switch_away(visit):
    tab = visit(CHAPTER)
    switch = button(tab, "Evidence")
    check = tab.get_by_text("Checked: ").first
    expect(check).not_to_be_visible()
    switch.click()
    expect(check).to_be_visible()
    # It is remembered; a key switches, too.
    tab.reload()
    expect(switch).to_have_attribute("aria-pressed", "true")
    tab.keyboard.press("e")
    expect(check).not_to_be_visible()
    # A link may ask for all of it, or for one claim's cell.
    tab.goto(f"{CHAPTER}?evidence")
    expect(check).to_be_visible()
    tab.goto(f"{CHAPTER}#claim-S0-linear")
    expect(tab.locator("#claim-S0-linear pre").first).to_be_in_viewport()


def test_the_preview_of_links_shows_todays_figure(visit):
    card = Image.open(CARD)
    card.load()
    assert says(visit(address("index"))) == card.text["says"], "run `make card`"


def test_a_search_is_corrected_and_leads_to_its_results(visit, served):
    tab = visit(f"{served}/notebooks/03_linearity.html")
    field = tab.locator(".search input")

    def answer_later(route):
        expect(field).to_have_value("wavelenght xyzzy")
        route.continue_()

    # What is typed while the index loads is searched for.
    tab.route("**/searchindex.js", answer_later)
    tab.keyboard.press("Control+k")
    tab.keyboard.type("wavelenght xyzzy")
    corrected = "“wavelength” instead of “wavelenght”. Nothing has “xyzzy”."
    expect(tab.locator(".search [role=status]")).to_contain_text(corrected)
    check_with_axe(tab, "dialog.search")
    check_contrast(tab, "dialog.search")
    field.fill("linearity")
    tab.locator("#hits a[href*='03_linearity.html#']").first.click()
    expect(field, "the result is on this page").not_to_be_visible()
    # Enter leads to the best result, without a click.
    tab.keyboard.press("Control+k")
    field.fill("wavelength")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/glossary.html#term-wavelength")


def test_a_page_works_without_storage_and_with_any_hash(visit):
    tab = visit(f"{CHAPTER}#100%")
    for storage in (SPOILED, NO_STORAGE):
        tab.add_init_script(storage)
        tab.reload()
        button(tab, "Evidence").click()
        expect(tab.get_by_text("Checked: ").first).to_be_visible()
    assert {*tab.wrong} <= {"no"}, "scripts in the head fail, each alone"
    tab.wrong.clear()


# The focused element if it, and what is around it, are drawn as they are without the focus. Of
# elements with the same classes, in the same place, one is enough.
UNSEEN = """() => {
    const e = document.activeElement;
    const parts = [e, e.parentElement, e.nextElementSibling].filter(Boolean);
    const kind = [THEME, e.tagName, ...parts.map((part) => part.className)].join();
    window.kinds ??= new Set();
    if (kinds.has(kind)) return "";
    kinds.add(kind);
    const look = () => parts.flatMap((part) => [null, "::before", "::after"].map((pseudo) => {
        const { outline, boxShadow, borderColor, backgroundColor } = getComputedStyle(part, pseudo);
        return [outline, boxShadow, borderColor, backgroundColor].join();
    })).join();
    const focused = look();
    e.blur();
    const plain = look();
    e.focus({ focusVisible: true, preventScroll: true });
    return e !== document.body && !e.shadowRoot && focused === plain ? e.outerHTML : "";
}""".replace("THEME", THEME)


def test_what_has_the_focus_is_seen_and_under_the_mouse_it_can_be_read(desk):
    desk.goto(CHAPTER)
    for _ in themes(desk):
        for _ in range(60):
            desk.keyboard.press("Tab")
            assert desk.evaluate(UNSEEN) == "", "draw a focus ring in book.css"
    desk.add_style_tag(content="* { transition: none !important }")
    for kind in ("article p a", ".bd-toc-nav a", "summary"):
        # A theme that changes under a resting mouse shows colors of hovering in both.
        desk.locator(f"{kind}:visible").first.hover()
        check_contrast(desk, f"{kind}:hover")


def test_claims_are_filtered_by_words_and_a_search_is_a_step_away(desk):
    desk.goto(address("book/claims"))
    rows = desk.locator("table.ledger tbody tr:visible")
    # Its row has no "is": little words needn't be there.
    desk.get_by_label("Find a claim").fill("position is unique")
    expect(rows).to_contain_text(["Each position in the sequence has a unique"])
    button(desk, "Search the book").click()
    expect(desk.locator("dialog #hits a").first).to_contain_text("position")
