"""Live figures show what Python computes, and follow a reader's hand, keys and links."""

import itertools
import json
import random
import re

import matplotlib as mpl
import numpy as np
import pytest
import stills
from pages import button, check_contrast, check_with_axe
from playwright.sync_api import expect
from reading import text_of
from sphinx_posenc import live_figures

from posenc.book import plots, widgets

close = np.testing.assert_allclose
KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}
PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Figures</title>
<style>
:root {{ color-scheme: light; --pst-color-background: Canvas }}
[data-theme=dark] {{ color-scheme: dark }}
body {{ background: Canvas }}
</style>
<script>{script}</script>
<main><h1>Figures</h1><section>{figures}</section></main>"""
FIGURE = (
    '<figure id="fig-{0}"><posenc-figure kind="{0}">A picture</posenc-figure></figure>'
)


@pytest.fixture
def show(desk, visit, tmp_path):
    """Open a page with figures; the first is `page.figure`. Options ask for a new window."""

    def show(*kinds, query="", below="", width=1280, **options):
        file = tmp_path / "figures.html"
        figures = "".join(map(FIGURE.format, kinds)) + below
        script = live_figures.script(*(KINDS[kind].__name__ for kind in kinds))
        script += text_of("tests/figures.js")
        file.write_text(PAGE.format(script=script, figures=figures), encoding="utf-8")
        page = visit(**options) if options else desk
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(file.as_uri() + query)
        page.figure = page.locator("posenc-figure").first
        return page

    yield show
    wrong = desk.wrong.copy()
    desk.wrong.clear()
    assert wrong == [], "script errors, or requests to other hosts"


def state_of(page):
    return page.figure.evaluate("({ figure }) => figure.state")


def show_state(page, **state):
    page.figure.evaluate("({ figure }, state) => figure.update(state)", state)


def drawn_states(kind):
    """Fields at their usual value, or about their first or last one, at random."""
    choices = {
        name: field.get("options") or [field["min"] + 1, field["initial"], field["max"]]
        for name, field in kind.fields.items()
    }
    by_chance = random.Random(0).choice
    for _ in range(12):
        yield {name: by_chance(values) for name, values in choices.items()}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_seen_is_what_python_computes(show, name):
    page = show(name)
    for given in drawn_states(KINDS[name]):
        seen = json.loads(page.figure.evaluate("shown", given))
        figure = KINDS[name](**seen["state"])
        # Neither has a number between two steps.
        assert figure.state() == seen["state"]
        computed = figure.values()
        if "hands" in computed:
            # They are drawn in pixels of dials, and known in units of their radius.
            hands = np.ravel(computed.pop("hands"))
            scale = np.linalg.norm(hands) / np.linalg.norm(seen["hands"])
            close(scale * np.ravel(seen["hands"]), hands, rtol=0, atol=0.01)
        for key, value in computed.items():
            close(seen["values"][key], np.ravel(value), 1e-12, 1e-12)
        for key, pixels in seen["pixels"].items():
            limit = 2 if key == "difference" else 1
            shares = np.array(seen["values"][key]) / (2 * limit) + 0.5
            colors = mpl.colormaps[plots.DIVERGING](shares, bytes=True)
            assert pixels == colors.ravel().tolist(), key
        assert seen["unknownColors"] == seen["cut"] == []


@pytest.mark.parametrize("figure", stills.by_file().values(), ids=repr)
def test_a_still_picture_is_what_the_script_draws(desk, figure):
    """Words and shapes; where they stand depends on the machine's fonts. Else: `make stills`."""
    fresh = stills.draw(desk, figure)
    stored = figure.still().read_text("utf-8")
    for part in r">([^<]+)<", r"<(\w+)", r'"(#\w+|rgb.*?)"':
        assert re.findall(part, fresh) == re.findall(part, stored)


@pytest.mark.parametrize("name", KINDS)
def test_each_control_answers_to_the_keyboard_on_a_phone(show, name):
    page = show(name, width=320)
    more = button(page, "More")
    if more.is_visible():
        more.press("Enter")
    height = page.figure.bounding_box()["height"]
    usual = state_of(page)
    for control in page.figure.locator("input").all():
        show_state(page, **usual)  # in others, some do nothing, and are hidden
        # Of two keys, a radio button answers to the first, and a slider to the second.
        control.press("ArrowLeft")
        control.press("End")
        before = state_of(page)
        control.press(" ")
        control.press("Home")
        assert state_of(page) != before, control.get_attribute("id")
        if control.get_attribute("type") == "range":
            now = page.figure.bounding_box()["height"]
            assert now == height, "what stands below has moved"
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_axe_finds_nothing_and_words_keep_their_colors(show):
    page = show(*KINDS)
    # What looks at contrast passes over pictures; words that are white lie on colors.
    word = page.locator(".words .card:not(.key, .query) text")
    expect(word).not_to_have_css("fill", "rgb(255, 255, 255)")
    check_with_axe(page, "main")
    check_contrast(page, ".live")


# Where there is room to both sides; of eight clocks, five go, and their grips with them.
ROOM = {"clocks": {"position": 100, "d_model": 6}, "stretch": {"trained": 512}}
DRAGGED = [*ROOM, "distances", "kernel", "rotation", "turning", "words"]


@pytest.mark.parametrize("name", DRAGGED)
def test_a_grip_stays_under_the_pointer_and_lands_on_a_place(show, name):
    page = show(name)
    usual = state_of(page) | ROOM.get(name, {})
    show_state(page, **usual)
    count = len(page.figure.evaluate("grips", 0))
    for n, pixels in itertools.product(range(count), (9, -23)):
        show_state(page, **usual)
        grip = page.figure.evaluate("grips", pixels)[n]
        page.mouse.move(*grip["take"])
        page.mouse.down()
        # In steps: one jump would be a single event, which a drag may take for its start.
        page.mouse.move(*grip["drop"], steps=3)
        held = page.figure.evaluate("grips", pixels)[n]
        off = np.subtract(held["place"], grip["aim"]) * grip["follows"]
        assert np.hypot(*off) < 2, f"grip {n}"
        # Between two places while it is held; at the nearer one once it is dropped.
        between = state_of(page)
        page.mouse.up()
        for field, value in state_of(page).items():
            if not isinstance(value, str):
                assert value == np.floor(between[field] + 0.5), f"grip {n}"


# What a guide offers to show, and what becomes of the score.
MOVES = {
    "Drag dog": r"[+−]\d",
    "Drag both, by": "same",
    "Choose “added.”": r"[+−]\d",
}


@pytest.mark.parametrize(("query", "key"), [(8, 4), (0, 15)])
def test_a_guide_shows_that_moving_both_changes_nothing_unless_added(show, query, key):
    """From any place: where there is too little room, it starts from another one."""
    page = show("turning", query=f"?figure=fig-turning&query={query}&key={key}")
    guide = page.figure.locator(".moves")
    change = page.figure.locator(".score + text")
    for _ in range(2):
        for move, pattern in MOVES.items():
            expect(guide).to_contain_text(move)
            button(guide, "Show me").click()
            expect(change).to_have_text(re.compile(pattern))
            # The landscape's change, from how it was, and back along how it is
            band = (
                page.figure.locator("polygon.changed").get_attribute("points").split()
            )
            assert (band != band[::-1]) == ("added" in move)
        button(guide, "Again").click()


def test_a_press_or_a_key_ends_a_showing_on_places(show):
    page = show("turning", reduced_motion="no-preference")
    land = page.figure.locator(".curve")
    dog = page.get_by_label("dog")
    for act in (lambda: land.click(force=True), lambda: dog.press("Home")):
        button(page, "Show me").click()
        wait_until(page, "key % 1 > 0")
        act()
        assert state_of(page)["key"] % 1 == 0
        assert_rests(page)


# Places of query and key, a key pressed on a word or a choice, and what is then offered, or said.
SAID = [
    (8, 4, "ALiBi", "Space", "Choose “turned.”"),
    (8, 4, "turned", "Space", "Drag dog"),
    (8, 4, "dog", "ArrowRight", "Drag both"),
    (8, 4, "both", "PageDown", "holds anywhere"),
    (12, 2, "both", "PageDown", "never showed"),
    (8, 7, "dog", "PageDown", "takes up as much of dog"),
]


def test_what_is_said_is_so(show):
    """The guide goes on once all hands agree; a score may be the same on both sides of its peak."""
    page = show("turning")
    for query, key, name, press, words in SAID:
        show_state(page, query=query, key=key)
        page.get_by_label(name).press(press)
        lines = page.figure.locator(".moves, .say").filter(has_text=words)
        expect(lines, words).to_have_count(1)


# A state, a drag from there, and what is said: of numbers as they are seen.
SAID_IN_DRAGS = [
    ("added", (3, 8), (6, 11), "here the score is still 4.64"),
    ("ALiBi", (2, 1), (1.25, 1), "8 − 0.12 = 7.88"),
    ("turned", (8, 5), (8, 8.04), "dog at the place of ran"),
    # (8.3 - 8) and (4.3 - 4) are rounded, each in its own way.
    ("turned", (8, 4), (8.3, 4.3), "Both moved by"),
]


@pytest.mark.parametrize(("method", "start", "end", "words"), SAID_IN_DRAGS)
def test_what_is_said_in_a_drag_is_what_is_seen(show, method, start, end, words):
    page = show("turning")
    for (query, key), passing in [(start, False), (end, True)]:
        state = {"method": method, "query": query, "key": key}
        page.figure.evaluate(
            "({ figure }, args) => figure.update(...args)", [state, passing]
        )
    expect(page.figure.locator(".say")).to_contain_text(words)


def test_rules_for_longer_texts_come_where_they_count_and_nothing_moves(show):
    """Under a finger that drags, nothing shifts."""
    page = show("turning", width=390)
    yarn = page.get_by_label("YaRN")
    expect(yarn).to_be_hidden()
    height = page.figure.bounding_box()["height"]
    show_state(page, query=2, key=13)
    expect(yarn).to_be_visible()
    assert page.figure.bounding_box()["height"] == height
    button(page, "More").click()
    page.get_by_label("added").check()
    expect(yarn, "it would do nothing").to_be_hidden()


def test_words_stand_on_the_landscape(show):
    """They are drawn apart from it."""
    page = show("turning")
    words = page.figure.locator(".other").all()
    highest = np.argmin([word.bounding_box()["y"] for word in words])
    assert words[highest].text_content() == "a", "on place 3; the query is on 6"
    # Where all hands agree, the key's dot is on the summit.
    show_state(page, query=15, key=12)
    summit = page.figure.locator(".curve").evaluate("summit")
    x, y, _ = page.figure.locator(".dot").evaluate("middle")
    close([x, y], summit, atol=0.2)


def test_the_landscape_is_drawn_anew_for_another_width_and_base(show):
    """While words are dragged, it only moves."""
    page = show("turning")
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.figure.locator(".row")).to_have_count(2)
    ridge = page.figure.locator(".curve").first
    expect(ridge).to_have_attribute("d", re.compile("[0-9]"))
    before = ridge.get_attribute("d")
    show_state(page, base=1000)
    expect(ridge).not_to_have_attribute("d", before)
    show_state(page, method="ALiBi")  # whose sides are straight
    expect(ridge).not_to_have_attribute("d", re.compile("S"))


def test_a_word_changes_places_with_the_one_that_it_is_dropped_on(show):
    """The text says to swap the outer two; the one between them stays."""
    page = show("words")
    dog, man = (page.get_by_label(name) for name in ("dog", "man"))
    dog.drag_to(man, steps=8)
    assert state_of(page)["order"] == "man bites dog"
    dog.press("ArrowLeft")
    assert state_of(page)["order"] == "man dog bites"


def test_a_dropped_word_glides_into_its_slot(show):
    page = show("words", reduced_motion="no-preference")
    # The page's own clock, for a film of which the middle is seen.
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    card = page.get_by_label("dog")
    start, y, _ = card.evaluate("middle")
    page.mouse.move(start, y)
    page.mouse.down()
    page.mouse.move(start + 90, y, steps=3)
    page.mouse.up()
    page.clock.run_for(150)
    assert start < card.evaluate("middle")[0] < start + 90
    page.clock.run_for(300)
    close(card.evaluate("middle")[0], start, atol=0.1)


def test_what_is_seen_is_announced_once_it_rests(show):
    page = show(
        "turning", reduced_motion="reduce"
    )  # a window of its own, for its clock
    said = page.figure.locator(".say")
    spoken = page.figure.locator("[aria-live=polite]")
    expect(spoken).not_to_be_empty()
    # The page's own clock, so that a busy machine can't be too slow.
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    page.get_by_label("dog").press("ArrowRight")
    expect(spoken).not_to_have_text(said.text_content())
    page.clock.run_for(1000)
    expect(spoken).to_have_text(said.text_content())


def wait_until(page, condition):
    """Wait until a condition on a figure's state holds."""
    state = "document.querySelector('posenc-figure').figure.state"
    page.wait_for_function(f"{state}.{condition}")


def assert_rests(page):
    state = state_of(page)
    page.wait_for_timeout(500)
    assert state_of(page) == state


def test_clocks_run_until_they_are_paused(show):
    page = show("clocks", reduced_motion="no-preference")
    wait_until(page, "position > 6")
    button(page, "Pause").click()
    assert_rests(page)
    assert state_of(page)["position"] % 1 == 0


BAD = "d_model=&base=-7.5&seq_len=1e99&position=__proto__&dimension=<img src=x onerror=alert(1)>"


def test_a_link_opens_the_same_view_and_a_bad_one_the_usual(show):
    page = show("heatmap")
    usual = state_of(page)
    page.get_by_label("width d").press("PageUp")
    changed = state_of(page)
    button(page, "Share").press("Enter")
    button(page, "Copy link").press("Enter")
    button(page, "Copied link").wait_for()
    page.keyboard.press("Escape")
    expect(button(page, "Share")).to_be_focused()
    link = page.evaluate("navigator.clipboard.readText()")
    bad_link = re.sub("d_model.*(?=#)", BAD, link)
    assert bad_link != link
    for address, state in [(link, changed), (bad_link, usual)]:
        page.goto("about:blank")
        page.goto(address)
        assert state_of(page) == state


def swipe(element, down):
    """Move a finger up or down, event by event: Playwright has taps alone.

    Chromium's own gesture, Input.synthesizeScrollGesture, scrolls nothing in a headless window.
    """
    send = element.page.context.new_cdp_session(element.page).send
    x, y, _ = element.evaluate("middle")

    def touch(kind, *points):
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", {"x": x, "y": y})
    for step in range(1, 13):
        touch("touchMove", {"x": x, "y": y + down * step / 12})
    touch("touchEnd")


PHONE = {"has_touch": True, "is_mobile": True}


def test_a_finger_takes_a_word_along_and_else_scrolls_the_page(show):
    """Even if it begins on a figure, as a thumb's often does."""
    page = show("turning", "heatmap", "switch", width=390, **PHONE)
    swipe(page.get_by_label("dog"), 130)  # down to the second row
    wait_until(page, "key === 9")
    assert page.evaluate("scrollY") == 0
    page.figure = page.locator("posenc-figure").nth(1)
    spot = page.figure.locator("canvas").first
    spot.scroll_into_view_if_needed()
    before, top = state_of(page), page.evaluate("scrollY")
    swipe(spot, -120)
    page.wait_for_function(f"scrollY > {top + 50}")
    assert state_of(page) == before


MARKED = '<p style="height: 90vh"><a href="#fig-turning" data-set="key={0}">{0}</a></p>'


def test_the_text_moves_the_figure_until_the_reader_plays(show):
    page = show("turning", below=f"{MARKED.format(3)}{MARKED.format(9)}<p>End</p>")
    first, second = page.get_by_role("link").all()
    page.mouse.move(200, 200)
    for link, key in [(first, 3), (second, 9)]:
        link.scroll_into_view_if_needed()
        page.mouse.wheel(0, 300)
        wait_until(page, f"key === {key}")
    page.get_by_label("dog").press("Home")
    first.evaluate("(link) => link.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(200)
    assert state_of(page)["key"] == 0, "what the reader set is taken away"
    second.press("Enter")
    assert state_of(page)["key"] == 9
