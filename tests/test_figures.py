"""Live figures show what Python computes, and follow a reader's hand, keys and links."""

import gzip
import itertools
import json
import random
import re
from operator import itemgetter
from urllib.parse import urlencode

import matplotlib as mpl
import numpy as np
import pytest
from pages import button, check_with_axe
from playwright.sync_api import expect
from reading import text_of
from sphinx_posenc import live_figures

from posenc.book import plots, widgets

close = np.testing.assert_allclose
KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}
MAPS = {"heatmap": 1, "switch": 3}  # values that a figure shows as pixels
PAGE = """<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Figures</title>
<style>
:root {{ color-scheme: light dark; --pst-color-background: Canvas }}
body {{ background: Canvas }}
</style>
<script>
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {{ document.documentElement.dataset.theme = dark.matches ? "dark" : "light" }};
dark.onchange = follow; follow();
{script}</script>
<main><h1>Figures</h1><section>{figures}</section></main>"""
FIGURE = (
    '<figure id="fig-{0}"><posenc-figure kind="{0}">A picture</posenc-figure></figure>'
)


@pytest.fixture
def show(visit, tmp_path):
    """Open a page with figures; the first is `page.figure`."""

    def show(*kinds, query="", below="", **options):
        file = tmp_path / "figures.html"
        figures = "".join(map(FIGURE.format, kinds)) + below
        script = live_figures.script(*(KINDS[kind].__name__ for kind in kinds))
        script += text_of("tests/figures.js")
        file.write_text(PAGE.format(script=script, figures=figures), encoding="utf-8")
        page = visit(file.as_uri() + query, **options)
        page.figure = page.locator("posenc-figure").first
        return page

    return show


def state_of(page):
    return page.figure.evaluate("({ figure }) => figure.state")


def show_state(page, **state):
    page.figure.evaluate("({ figure }, state) => figure.update(state)", state)


def drawn_states(kind):
    """All fields at their first value, at their last one, and at random."""
    choices = {
        name: field.get("options") or [field["min"], field["initial"], field["max"]]
        for name, field in kind.fields.items()
    }
    by_chance = random.Random(0).choice
    for pick in (itemgetter(0), itemgetter(-1), *[by_chance] * 8):
        yield {name: pick(values) for name, values in choices.items()}


def check_hands(drawn, hands):
    """Hands are drawn in pixels of dials, and known in units of their radius."""
    tips = np.reshape(drawn, hands.shape)
    scale = np.linalg.norm(hands) / np.linalg.norm(tips)
    close(scale * tips, hands, rtol=0, atol=0.01)


def check_pixels(name, drawn, values):
    limit = 2 if name == "difference" else 1
    shares = np.array(values) / (2 * limit) + 0.5
    colors = mpl.colormaps[plots.DIVERGING](shares, bytes=True)
    assert drawn == colors.ravel().tolist(), name


@pytest.mark.parametrize("name", KINDS)
def test_what_is_seen_is_what_python_computes(show, name):
    page = show(name)
    for given in drawn_states(KINDS[name]):
        seen = json.loads(page.figure.evaluate("shown", given))
        computed = KINDS[name](**seen["state"]).values()
        if "hands" in computed:
            check_hands(seen["hands"], computed.pop("hands"))
        for key, value in computed.items():
            close(seen["values"][key], np.ravel(value), 1e-12, 1e-12)
        for key, pixels in seen["pixels"].items():
            check_pixels(key, pixels, seen["values"][key])
        assert seen["unknownColors"] == []
    assert len(seen["pixels"]) == MAPS.get(name, 0)


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


def test_the_largest_figure_is_light_enough_for_a_phone():
    script = live_figures.script("Turning").encode()
    assert len(gzip.compress(script)) <= 14 * 1024


def test_axe_finds_nothing(show):
    check_with_axe(show(*KINDS), "main")


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
        page.mouse.move(*np.add(grip["place"], grip["off"]))
        page.mouse.down()
        # In steps: one jump would be a single event, which a drag may take for its start.
        page.mouse.move(*np.add(grip["aim"], grip["off"]), steps=3)
        held = page.figure.evaluate("grips", pixels)[n]
        off = np.subtract(held["place"], grip["aim"]) * grip["follows"]
        assert np.hypot(*off) < 2, f"grip {n}"
        # Between two places while it is held; at the nearer one once it is dropped.
        between = state_of(page)
        page.mouse.up()
        for field, value in state_of(page).items():
            if not isinstance(value, str):
                assert value == np.floor(between[field] + 0.5), f"grip {n}"


def test_both_words_are_dragged_by_any_part_of_the_bracket(show):
    page = show("turning")
    before = state_of(page)
    box = page.figure.locator(".bracket").bounding_box()
    x, y = box["x"] + 10, box["y"] + box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + box["width"], y, steps=3)
    page.mouse.up()
    apart = before["query"] - before["key"]
    moved = {"query": before["query"] + apart, "key": before["key"] + apart}
    assert state_of(page) == before | moved


# What a guide offers to show, and what becomes of the score.
MOVES = {
    "Drag dog": r"[+−]\d",
    "Drag both, by": "same",
    "Choose “added.”": r"[+−]\d",
}


@pytest.mark.parametrize(("query", "key"), [(8, 4), (0, 15)])
def test_a_guide_shows_that_moving_both_changes_no_score_unless_added(show, query, key):
    """From any place: where there is too little room, it starts from another one."""
    page = show("turning")
    show_state(page, query=query, key=key)
    guide = page.figure.locator(".moves")
    for move, change in MOVES.items():
        expect(guide).to_contain_text(move)
        button(guide, "Show me").click()
        expect(page.figure.locator(".score + text")).to_have_text(re.compile(change))
    expect(guide).to_contain_text("Learned once")
    button(guide, "Again").click()
    assert state_of(page)["method"] == "turned"
    expect(page.figure.locator(".score + text")).to_have_text("score")


@pytest.mark.parametrize("apart", [3, 5])
def test_again_begins_with_the_first_move(show, apart):
    """Even if that is done at first, or the way back looks like another one."""
    page = show("turning", query=f"?figure=fig-turning&query=9&key={9 - apart}")
    guide = page.figure.locator(".moves")
    for _ in MOVES:
        button(guide, "Show me").click()
    show_state(page, query=12, key=12 - apart)
    button(guide, "Again").click()
    for move in MOVES:
        expect(guide).to_contain_text(move)
        button(guide, "Show me").click()


def test_a_press_ends_a_showing_on_places(show):
    page = show("turning", reduced_motion="no-preference")
    button(page, "Show me").click()
    wait_until(page, "key % 1 > 0")
    box = page.figure.locator(".curve").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert state_of(page)["key"] % 1 == 0
    assert_rests(page)


# What else may a reader do meanwhile, and what is so from then on?
INTERRUPTIONS = {
    "a key": (
        lambda page: page.get_by_role("slider", name="dog").press("Home"),
        "key === 0",
    ),
    "a switch": (
        lambda page: page.get_by_role("radio", name="added").check(),
        "method === 'added'",
    ),
}


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_what_a_reader_does_ends_a_showing_and_stays(show, name):
    act, condition = INTERRUPTIONS[name]
    page = show("turning", reduced_motion="no-preference")
    button(page, "Show me").click()
    wait_until(page, "key % 1 > 0")
    act(page)
    wait_until(page, condition)
    assert_rests(page)
    assert state_of(page)["key"] % 1 == 0


def test_a_guide_goes_on_only_once_all_hands_agree_and_leads_back(show):
    page = show("turning")
    guide, goal = page.figure.locator(".moves"), page.figure.locator(".goal")
    dog = page.get_by_role("slider", name="dog")
    dog.press("ArrowRight")
    expect(guide).to_contain_text("Drag dog")
    expect(goal).to_be_visible()
    page.get_by_role("radio", name="ALiBi").check()
    expect(guide).to_contain_text("Choose “turned.”")
    expect(goal).to_be_hidden()
    page.get_by_role("radio", name="turned").check()
    dog.press("ArrowRight")
    expect(guide).to_contain_text("Drag both")
    expect(goal).to_be_hidden()


def test_a_switch_is_no_change_by_moving_and_hides_what_does_nothing(show):
    page = show("turning")
    change = page.figure.locator(".score + text")
    rule = page.get_by_role("radio", name="YaRN")
    base = page.get_by_role("slider", name="base")
    button(page, "More").click()
    page.get_by_role("slider", name="dog").press("ArrowRight")
    expect(change).to_have_text(re.compile(r"[+−]\d"))
    used = {"turned": (rule, base), "added": (base,), "ALiBi": (), "none": ()}
    for method, controls in used.items():
        page.get_by_role("radio", name=method).check()
        expect(button(page, "Less")).to_be_visible(visible=bool(controls))
        for control in (rule, base):
            expect(control).to_be_visible(visible=control in controls)
        page.wait_for_timeout(50)
    expect(change).to_have_text("score")


def test_the_base_is_told(show):
    page = show("turning")
    button(page, "More").click()
    page.get_by_role("slider", name="base").press("ArrowRight")
    expect(page.figure.locator(".say")).to_contain_text("larger the base (here 180)")


def heights(words):
    """Where words stand, in whole pixels from the top of the page."""
    boxes = [word.bounding_box() for word in words.all()]
    return [round(box["y"] + box["height"]) for box in boxes]


def test_words_stand_as_high_as_the_query_looks_at_them(show):
    page = show("turning")
    words = page.figure.locator(".other text")
    # Three before the query, on place 6, stands the third of the other words.
    first = heights(words)
    assert min(first) == first[2] < min(first[:2] + first[3:])
    show_state(page, method="none")
    assert len({*heights(words)}) == 1


# Where the summit of the landscape is on the page.
SUMMIT = """(ridge) => {
    const places = [...ridge.points];
    const highest = places.reduce((best, place) => (place.y < best.y ? place : best));
    const { x, y } = highest.matrixTransform(ridge.getScreenCTM());
    return [x, y];
}"""


@pytest.mark.parametrize("query", [3, 8, 15])
def test_the_landscape_goes_with_the_query_under_its_words(show, query):
    """The landscape and the words on it are drawn apart."""
    page = show("turning")
    show_state(page, query=query, key=query - 3)
    box = page.figure.locator(".dot").bounding_box()
    dot = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    close(page.figure.locator(".curve").evaluate(SUMMIT), dot, atol=0.2)


@pytest.mark.parametrize(("method", "stays"), [("turned", True), ("added", False)])
def test_moving_both_changes_landscape_and_score_only_if_added(show, method, stays):
    page = show("turning")
    show_state(page, method=method)
    page.get_by_role("slider", name="both").press("ArrowRight")
    # From how it was, and back along how it is
    band = page.figure.locator("polygon.changed").get_attribute("points").split()
    before, now = band[: len(band) // 2], band[len(band) // 2 :][::-1]
    assert before
    assert (now == before) == stays
    expect(page.figure.locator("text.changed")).to_have_count(0 if stays else 1)


def test_what_holds_anywhere_isnt_said_beside_what_training_never_showed(show):
    page = show("turning")
    show_state(page, query=12, key=2)
    page.get_by_role("slider", name="both").press("ArrowRight")
    said = page.figure.locator(".say")
    expect(said).to_contain_text("never showed")
    expect(said).not_to_contain_text("anywhere")


@pytest.mark.parametrize("width", [390, 1000])
def test_rules_for_longer_texts_come_up_without_moving_anything(show, width):
    """Under a finger that drags, nothing shifts; and a small phone shows all at once."""
    page = show("turning", width=width)
    yarn = page.get_by_role("radio", name="YaRN")
    expect(yarn).to_be_hidden()
    height = page.figure.bounding_box()["height"]
    assert height < 664
    show_state(page, query=2, key=13)
    expect(yarn).to_be_visible()
    yarn.check()
    assert page.figure.bounding_box()["height"] == height


def test_a_word_changes_places_with_the_one_that_it_is_dropped_on(show):
    """The text says to swap the outer two; the one between them stays."""
    page = show("words")
    dog, man = (page.get_by_role("slider", name=name) for name in ("dog", "man"))
    dog.drag_to(man, steps=8)
    assert state_of(page)["order"] == "man bites dog"
    dog.press("ArrowLeft")
    assert state_of(page)["order"] == "man dog bites"


def test_words_keep_their_colors_beside_another_figure(show):
    """White words are the query's and the key's; others would be lost on a light page."""
    page = show("words", "turning")
    colors = page.figure.locator(".card text").evaluate_all(
        "(words) => words.map((word) => getComputedStyle(word))"
        ".map(({ fill, color }) => [fill, color])"
    )
    assert colors
    for fill, color in colors:
        assert fill == color != "rgb(255, 255, 255)"


@pytest.mark.parametrize("has_touch", [False, True])
def test_only_moving_both_words_says_that_the_score_is_the_same(show, has_touch):
    page = show("turning", has_touch=has_touch)
    score_change = page.figure.locator(".score + text")
    said = page.figure.locator(".say")
    dog, both = (page.get_by_role("slider", name=name) for name in ("dog", "both"))
    for press in ("ArrowRight", "ArrowLeft"):
        dog.press(press)
    before, change = said.text_content(), score_change.text_content()
    if has_touch:
        dog.tap()
    else:  # a hand isn't quite still
        box = dog.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 2, y)
        page.mouse.up()
    assert (said.text_content(), score_change.text_content()) == (before, change)
    dog.press("Home")
    dog.press("Home")
    expect(score_change).to_have_text("score")
    both.press("ArrowRight")
    expect(score_change).to_have_text("same")


def test_a_score_that_stays_isnt_told_as_more_or_less(show):
    """It is the same on both sides of where the query looks."""
    page = show("turning")
    show_state(page, query=8, key=7)
    page.get_by_role("slider", name="dog").press("PageDown")
    expect(page.figure.locator(".score + text")).to_have_text("score")
    expect(page.figure.locator(".say")).to_contain_text("ran takes up as much of dog")


def test_a_drag_of_both_words_is_told_as_one_all_along(show):
    page = show("turning")
    for _ in range(30):  # sums of fractions round, each in its own way
        said = page.figure.evaluate("moveBoth", 1 / 137)
        assert said.startswith("Both moved by")


def test_what_is_seen_is_announced_once_it_rests(show):
    page = show("turning")
    spoken = page.figure.locator("[aria-live=polite]")
    expect(spoken).not_to_be_empty()
    before = spoken.text_content()
    # The page's own clock, so that a busy machine can't be too slow.
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    slider = page.get_by_role("slider", name="dog")
    for _ in range(4):
        slider.press("ArrowRight")
        page.clock.run_for(100)
        expect(spoken).to_have_text(before)
    page.clock.run_for(1000)
    expect(spoken).to_have_text(page.figure.locator(".say").text_content())


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


BAD = "", "-7.5", "1e99", "__proto__", "<img src=x onerror=alert(1)>"


def test_a_link_opens_the_same_view_and_a_bad_one_the_usual(show):
    page = show("heatmap")
    usual = state_of(page)
    page.get_by_role("slider", name="width d").press("PageUp")
    changed = state_of(page)
    button(page, "Share").press("Enter")
    button(page, "Copy link").press("Enter")
    button(page, "Copied link").wait_for()
    page.keyboard.press("Escape")
    expect(button(page, "Share")).to_be_focused()
    link = page.evaluate("navigator.clipboard.readText()")
    wrong = {"figure": "fig-heatmap", **dict(zip(usual, BAD, strict=True))}
    bad_link = f"{link.split('?')[0]}?{urlencode(wrong)}"
    for address, state in [(link, changed), (bad_link, usual)]:
        page.goto("about:blank")
        page.goto(address)
        assert state_of(page) == state


def swipe(page, x, y, down):
    """Move a finger up or down, event by event: Playwright has taps alone.

    Chromium's own gesture, Input.synthesizeScrollGesture, scrolls nothing in a headless window.
    """
    send = page.context.new_cdp_session(page).send
    for step, kind in enumerate(["touchStart", *["touchMove"] * 12, "touchEnd"]):
        places = [{"x": x, "y": y + down * step / 12}]
        points = [] if kind == "touchEnd" else places
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.mark.parametrize(
    ("name", "start"), [("heatmap", "canvas"), ("turning", ".curve")]
)
def test_a_swipe_scrolls_the_page_and_changes_nothing(show, name, start):
    """Even if it begins on a figure, as a thumb's often does."""
    page = show(name, "switch", width=390, height=500, has_touch=True, is_mobile=True)
    spot = page.figure.locator(start).first
    spot.scroll_into_view_if_needed()
    box = spot.bounding_box()
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7
    before, top = state_of(page), page.evaluate("scrollY")
    swipe(page, x, y, -120)
    page.wait_for_function(f"scrollY > {top + 50}")
    assert state_of(page) == before


def test_a_finger_takes_a_word_down_to_the_second_row(show):
    page = show("turning", "switch", width=390, has_touch=True, is_mobile=True)
    box = page.get_by_role("slider", name="dog").bounding_box()
    swipe(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 130)
    wait_until(page, "key === 9")
    assert page.evaluate("scrollY") == 0


MARKED = '<p style="height: 90vh"><a href="#fig-turning" data-set="key={0}">{0}</a></p>'


def test_the_text_moves_the_figure_until_the_reader_plays(show):
    page = show("turning", below=f"{MARKED.format(3)}{MARKED.format(9)}<p>End</p>")
    first, second = page.get_by_role("link").all()
    for link, key in [(first, 3), (second, 9)]:
        page.mouse.move(200, 200)
        link.scroll_into_view_if_needed()
        page.mouse.wheel(0, 300)
        wait_until(page, f"key === {key}")
    page.get_by_role("slider", name="dog").press("Home")
    first.evaluate("(link) => link.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(200)
    assert state_of(page)["key"] == 0, "what the reader set is taken away"
    second.press("Enter")
    assert state_of(page)["key"] == 9
