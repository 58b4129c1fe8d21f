"""The built site in a browser: controls, figures, print, search, and what is focused or hovered."""

import re

import pytest
from pages import address, button, check_contrast, check_with_axe, themes
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("site")
CHAPTER = address("notebooks/03_linearity")
THEME = "document.documentElement.dataset.theme"
NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { get() { throw Error("no") } });"""
# What a figure's link must not bring about
BAD = "d_model=&base=-7.5&seq_len=1e99&position=__proto__&dimension=<img src=x onerror=alert(1)>"


def test_theme_and_evidence_are_remembered_and_code_is_copied(visit):
    tab = visit(CHAPTER, color_scheme="light")
    check = tab.get_by_text("Checked: ").first
    expect(check).not_to_be_visible()
    button(tab, "Evidence").click()
    button(tab, "List of chapters").click()
    button(tab, "Light or dark").click()
    tab.reload()
    expect(check).to_be_visible()
    assert tab.evaluate(THEME) == "dark"
    tab.keyboard.press("e")
    expect(check).not_to_be_visible()
    # A link to a claim leads to its cell, which is evidence.
    tab.goto(f"{CHAPTER}#claim-S0-linear")
    expect(tab.locator("#claim-S0-linear pre").first).to_be_in_viewport()
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


def test_marked_words_set_a_figure_that_stays_in_view(visit):
    tab = visit(address("notebooks/05_rotary_and_alibi"))
    stage = tab.locator(".stage").last
    figure = stage.locator("posenc-figure")
    first, last = stage.locator("a[data-set]").all()
    # Beside the words it begins with them; above them all of it stays.
    for width, share in [(1920, 0.1), (390, 1)]:
        tab.set_viewport_size({"width": width, "height": 800})
        tab.reload()
        last.evaluate("(link) => link.scrollIntoView({ block: 'end' })")
        tab.evaluate("scrollBy(0, 40)")  # the words just above the lower edge
        for link, key in [(first, 8), (last, 11)]:
            expect(figure).to_be_in_viewport(ratio=share)
            link.click()  # raises if the figure covers it
            assert figure.evaluate("({ figure }) => figure.state.key") == key


def test_a_view_is_shared_by_a_link_and_in_a_frame(visit, served, tmp_path):
    """A link with other fields than the figure's opens its usual view."""
    tab = visit(f"{served}/notebooks/08_heatmaps.html")
    figure = tab.locator("posenc-figure")
    said = figure.locator(".say")
    usual = said.text_content()
    figure.get_by_label("width d").press("PageUp")
    changed = said.text_content()
    button(figure, "Share").click()
    copied = {}
    for form in ("link", "embed code"):
        button(figure, f"Copy {form}").click()
        button(figure, f"Copied {form}").wait_for()
        copied[form] = tab.evaluate("navigator.clipboard.readText()")
    bad_link = re.sub("d_model.*(?=#)", BAD, copied["link"])
    for link, words in [(copied["link"], changed), (bad_link, usual)]:
        tab.goto("about:blank")
        tab.goto(link)
        expect(said).to_have_text(words)
    other_site = tmp_path / "other.html"
    other_site.write_text(copied["embed code"], encoding="utf-8")
    tab.goto(other_site.as_uri())
    expect(tab.frame_locator("iframe").locator(".say")).to_have_text(changed)


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


def test_on_a_phone_a_question_opens_its_answer(visit):
    """Where a link leads, it is open."""
    asked = "does-the-decoder-need-positional-encoding-too"
    tab = visit(f"{address('book/questions')}#{asked}", width=390)
    expect(tab.get_by_text("The paper adds it at the bottom")).to_be_visible()
    first = tab.locator(".question").first
    expect(first.locator("p").first).not_to_be_visible()
    first.locator("summary").click()
    expect(first.locator("p").first).to_be_visible()


def test_a_search_is_corrected_and_leads_to_its_results(visit, served):
    tab = visit(f"{served}/notebooks/03_linearity.html")
    field = tab.locator(".search input")
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
    tab.add_init_script(NO_STORAGE)
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


def test_claims_are_filtered_by_words(desk):
    desk.goto(address("book/claims"))
    # Its row has no "is": little words needn't be there.
    desk.get_by_label("Find a claim").fill("position is unique")
    rows = desk.locator("table.ledger tbody tr:visible")
    expect(rows).to_contain_text(["Each position in the sequence has a unique"])
