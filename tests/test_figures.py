"""Live figures show what Python computes, and follow a reader's hand and keys.

They are tested on the pages that other sites embed, which `make book` writes.
"""

import itertools
import json
import random
import re

import matplotlib as mpl
import numpy as np
import pytest
import stills
from pages import address, button, check_with_axe
from playwright.sync_api import expect
from reading import text_of

from posenc.book import plots, widgets

pytestmark = pytest.mark.usefixtures("site")
close = np.testing.assert_allclose
KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}


def show(page, name, query="", width=1280):
    """Open the page of a figure, which is then `page.figure`."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address(f'embed/{name}')}{query}")
    page.evaluate(text_of("tests/figures.js"))
    page.figure = page.locator("posenc-figure")
    return page


def state_of(page):
    return page.figure.evaluate("({ figure }) => figure.state")


def show_state(page, **state):
    page.figure.evaluate("({ figure }, state) => figure.update(state)", state)


def wait_until(page, condition):
    """Wait until a condition on a figure's state holds."""
    state = "document.querySelector('posenc-figure').figure.state"
    page.wait_for_function(f"() => {state}.{condition}")


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
def test_what_is_seen_is_what_python_computes(desk, name):
    page = show(desk, name)
    for given in drawn_states(KINDS[name]):
        seen = json.loads(page.figure.evaluate("shown", given))
        figure = KINDS[name](**seen["state"])
        # A field that the script lacks would have its usual value here.
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
def test_each_control_answers_to_the_keyboard_on_a_phone(desk, name):
    page = show(desk, name, width=320)
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
    # What is seen is announced once it rests.
    said = page.figure.locator(".say").text_content()
    expect(page.figure.locator("[aria-live=polite]")).to_have_text(said)
    check_with_axe(page, "main")


# Where there is room to both sides; of eight clocks, five go, and their grips with them.
ROOM = {"clocks": {"position": 100, "d_model": 6}, "stretch": {"trained": 512}}
DRAGGED = [*ROOM, "distances", "kernel", "rotation", "turning", "words"]


@pytest.mark.parametrize("name", DRAGGED)
def test_a_grip_stays_under_the_pointer_and_lands_on_a_place(desk, name):
    page = show(desk, name)
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


@pytest.mark.parametrize("place", ["query=8&key=4", "query=0&key=15"])
def test_a_guide_shows_that_moving_both_changes_nothing_unless_added(desk, place):
    """From any place: where there is too little room, it starts from another one."""
    page = show(desk, "turning", query=f"?figure=&{place}")
    guide = page.figure.locator(".moves")
    for move, pattern in MOVES.items():
        expect(guide).to_contain_text(move)
        button(guide, "Show me").click()
        expect(page.figure.locator(".score + text")).to_have_text(re.compile(pattern))


def test_the_landscape_is_drawn_anew_for_another_width_and_base(desk):
    """The key's dot, which is drawn apart from it, stands on it."""
    page = show(desk, "turning")
    for width, rows, base in [(1280, 1, 10_000), (1280, 1, 1000), (390, 2, 1000)]:
        show_state(page, query=15, key=9, base=base)
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.figure.locator(".row")).to_have_count(rows)
        figure = page.figure.element_handle()
        page.wait_for_function("(figure) => standsOnLand(figure)", arg=figure)


def test_a_word_changes_places_with_the_one_that_it_is_dropped_on(desk):
    """The text says to swap the outer two; the one between them stays."""
    page = show(desk, "words")
    dog, man = (page.get_by_label(name) for name in ("dog", "man"))
    dog.drag_to(man, steps=8)
    assert state_of(page)["order"] == "man bites dog"
    dog.press("ArrowLeft")
    assert state_of(page)["order"] == "man dog bites"


def test_clocks_run_until_they_are_paused(visit):
    page = show(visit(reduced_motion="no-preference"), "clocks")
    wait_until(page, "position > 6")
    button(page, "Pause").click()
    paused = state_of(page)
    assert paused["position"] % 1 == 0
    page.wait_for_timeout(500)
    assert state_of(page) == paused


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


def test_a_finger_takes_a_word_along_and_else_scrolls_the_page(visit):
    """Even if it begins on a figure, as a thumb's often does."""
    page = show(visit(has_touch=True, is_mobile=True), "turning", width=390)
    page.add_style_tag(content="body { padding-bottom: 100vh }")
    swipe(page.get_by_label("dog"), 130)  # down to the second row
    wait_until(page, "key === 9")
    assert page.evaluate("scrollY") == 0
    swipe(page.figure.locator("svg[role=group]"), -120)
    page.wait_for_function("() => scrollY > 50")
    assert state_of(page)["key"] == 9
