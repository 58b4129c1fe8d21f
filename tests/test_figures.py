"""Live figures show what Python computes, and follow a reader's hand, keys and links."""

import gzip
import json
import re
from urllib.parse import urlencode

import matplotlib as mpl
import numpy as np
import pytest
from pages import check_with_axe
from playwright.sync_api import expect
from sphinx_posenc import live_figures

from posenc.book import plots, widgets

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
# The two scripts below know of a figure (src/posenc/book/figures):
#   figure.js         `update`, `state`, `values`
#   hands.js          .hand, a line from the middle of a clock to its tip
#   scene.js          .grip, hidden where there is nothing to drag
#   words.js          .card, which is dragged as a grip is
#   clocks.js, dials.js, learning.js, rotation.js    circle.faint, the rim of a clock
#   map.js            a canvas, with the key of its values as `data-values`
# What a figure shows in a state: values, the hands of clocks, and the pixels of maps by the
# key of their values.
SEE = """({ figure, shadowRoot: root }, state) => {
    figure.update(state);
    const all = (query, read) => [...root.querySelectorAll(query)].map(read);
    const list = (value) => [value].flatMap((x) => (x.length === undefined ? x : [...x].flat()));
    const values = Object.entries(figure.values).map(([name, value]) => [name, list(value)]);
    return JSON.stringify({
        state: figure.state,
        values: Object.fromEntries(values),
        hands: all(".hand", (e) => {
            const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => e.getAttribute(name));
            return [y1 - y2, x2 - x1];
        }),
        pixels: Object.fromEntries(all("canvas", (e) => [e.dataset.values,
            [...e.getContext("2d").getImageData(0, 0, e.width, e.height).data]])),
    });
}"""
# Of each grip: where it is, how far from there to take it, where to drag it (around the center of
# the clock whose hand it is, down if it moves a length, or else to the right), and which way it
# follows (across and down).
GRIPS = """({ shadowRoot: root }, pixels) => {
    const grips = [...root.querySelectorAll(".card, .grip:not([hidden])")];
    const middle = (node) => {
        const { x, y, width, height } = node.getBoundingClientRect();
        return [x + width / 2, y + height / 2, width / 2];
    };
    const rims = [...root.querySelectorAll("circle.faint")].map(middle);
    return grips.map((grip) => {
        const [x, y] = middle(grip);
        const isRim = ([cx, cy, r]) => Math.abs(Math.hypot(x - cx, y - cy) - r) < 3;
        const hub = grip.matches(".grip") && rims.find(isRim);
        const follows = grip.closest(".stretch") ? [0, 1] : [1, 0];
        const moved = [x + pixels * follows[0], y + pixels * follows[1]];
        if (!hub) return { place: [x, y], off: [4, 4], aim: moved, follows };
        const [cx, cy, r] = hub;
        const angle = Math.atan2(y - cy, x - cx) - pixels / r;
        const aim = [cx + r * Math.cos(angle), cy + r * Math.sin(angle)];
        return { place: [x, y], off: [0, 0], aim, follows: [1, 1] };
    });
}"""


@pytest.fixture
def show(visit, tmp_path):
    """Open a page with figures; the first is `page.figure`."""

    def show(*kinds, query="", below="", **options):
        file = tmp_path / "figures.html"
        figures = "".join(map(FIGURE.format, kinds)) + below
        script = live_figures.script(*(KINDS[kind].__name__ for kind in kinds))
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
    """States at all limits, and some at random."""
    lot = np.random.default_rng(0)
    choices = {}
    for name, field in kind.fields.items():
        if "options" in field:
            choices[name] = field["options"]
        else:
            above = field["max"] + field["step"] / 2
            choices[name] = np.arange(field["min"], above, field["step"]).tolist()
    for share in (lambda: 0, lambda: 1, *[lot.random] * 8):
        yield {
            name: few[round(share() * (len(few) - 1))] for name, few in choices.items()
        }


@pytest.mark.parametrize("name", KINDS)
def test_what_is_seen_is_what_python_computes(show, name):
    page = show(name)
    for given in drawn_states(KINDS[name]):
        seen = json.loads(page.figure.evaluate(SEE, given))
        wanted = KINDS[name](**seen["state"]).values()
        hands = wanted.pop("hands", None)
        for key, value in wanted.items():
            np.testing.assert_allclose(
                seen["values"][key], np.ravel(value), 1e-12, 1e-12
            )
        if hands is not None:
            tips = np.reshape(seen["hands"], hands.shape)
            scale = np.linalg.norm(hands) / np.linalg.norm(tips)
            np.testing.assert_allclose(scale * tips, hands, rtol=0, atol=0.01)
        for key, pixels in seen["pixels"].items():
            limit = 2 if key == "difference" else 1
            shares = np.array(seen["values"][key]) / (2 * limit) + 0.5
            colors = mpl.colormaps[plots.DIVERGING](shares, bytes=True)
            assert pixels == colors.ravel().tolist(), key
    assert len(seen["pixels"]) == MAPS.get(name, 0)


@pytest.mark.parametrize("name", KINDS)
def test_each_control_answers_to_the_keyboard_on_a_phone(show, name):
    page = show(name, viewport={"width": 320, "height": 640})
    more = page.get_by_role("button", name="More")
    if more.count():
        more.press("Enter")
    height = page.figure.bounding_box()["height"]
    for role, keys in (("slider", ("End", "Home")), ("radio", ("ArrowLeft", " "))):
        for control in page.get_by_role(role).all():
            states = []
            for key in keys:
                control.press(key)
                states.append(state_of(page))
                KINDS[name](**states[-1])  # raises if Python rejects it
            assert states[0] != states[1], control.get_attribute("aria-label")
        if role == "slider":
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


@pytest.mark.parametrize("pixels", [9, -23])
@pytest.mark.parametrize(
    "name",
    ["clocks", "distances", "kernel", "rotation", "stretch", "turning", "words"],
)
def test_a_grip_stays_under_the_pointer_and_lands_on_a_place(show, name, pixels):
    page = show(name)
    usual = state_of(page) | ROOM.get(name, {})
    show_state(page, **usual)
    for n in range(len(page.figure.evaluate(GRIPS, pixels))):
        show_state(page, **usual)
        grip = page.figure.evaluate(GRIPS, pixels)[n]
        page.mouse.move(*np.add(grip["place"], grip["off"]))
        page.mouse.down()
        # In steps: one jump would be a single event, which a drag may take for its start.
        page.mouse.move(*np.add(grip["aim"], grip["off"]), steps=3)
        held = page.figure.evaluate(GRIPS, pixels)[n]
        off = np.subtract(held["place"], grip["aim"]) * grip["follows"]
        assert np.hypot(*off) < 2, f"grip {n}"
        # Between two places while it is held; at the nearer one once it is dropped.
        between = state_of(page)
        page.mouse.up()
        for field, value in state_of(page).items():
            if not isinstance(value, str):
                assert value == np.floor(between[field] + 0.5), f"grip {n}"


@pytest.mark.parametrize(("query", "key"), [(8, 5), (5, 2), (3, 1), (0, 15)])
def test_a_guide_shows_that_moving_both_changes_no_score_unless_added(show, query, key):
    """From any place: where all hands agree, or no room is left, it starts from another one."""
    page = show("turning")
    show_state(page, query=query, key=key)
    moves = page.figure.locator(".moves")
    for move, says, changed in [
        ("Drag dog", "The hands of dog turned", r"[+−]\d"),
        ("Now drag both", "each wedge is as wide as before", "same"),
        ("Now add", "They are still", r"[+−]\d"),
    ]:
        expect(moves).to_contain_text(move)
        moves.get_by_role("button").click()
        expect(page.figure.locator(".say")).to_contain_text(says)
        expect(page.figure.locator(".score + text")).to_have_text(re.compile(changed))
    moves.get_by_role("button", name="Again").click()
    assert state_of(page)["method"] == "turned"


def test_a_drag_of_both_words_is_told_as_one_all_along(show):
    page = show("turning")
    state = state_of(page)
    for by in np.arange(1, 30) / 137:
        # Sums of fractions round, each in its own way.
        page.figure.evaluate(
            "({ figure }, change) => figure.update({ ...figure.state, ...change }, true)",
            {word: state[word] + by for word in ("query", "key")},
        )
        assert page.figure.locator(".say").text_content().startswith("Both moved by")


def test_a_slider_goes_no_further_than_another_allows(show):
    page = show("heatmap")
    show_state(page, seq_len=10, position=9)
    slider = page.get_by_role("slider", name="position")
    slider.press("End")
    assert state_of(page)["position"] == 9
    assert slider.input_value() == "9"


def test_what_is_seen_is_announced_once_it_rests(show):
    page = show("turning")
    spoken = page.figure.locator("[aria-live=polite]")
    expect(spoken).not_to_be_empty()
    before = spoken.text_content()
    # The page's own clock, so that a busy machine can't be too slow.
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    for _ in range(4):
        page.get_by_role("slider", name="dog").press("ArrowRight")
        page.clock.run_for(100)
        expect(spoken).to_have_text(before)
    page.clock.run_for(1000)
    expect(spoken).to_have_text(page.figure.locator(".say").text_content())


@pytest.mark.parametrize(
    ("name", "field", "button"),
    [("clocks", "position", "Pause"), ("learning", "step", "Play")],
)
def test_what_moves_by_itself_stops_once_it_is_set(show, name, field, button):
    """By hand, or by the text; clocks run from the start."""
    page = show(name, reduced_motion="no-preference")
    start = state_of(page)[field]
    moved = (
        f"document.querySelector('posenc-figure').figure.state.{field} > {start + 1}"
    )
    if button == "Play":
        page.get_by_role("button", name=button).click()
    page.wait_for_function(moved)
    if button == "Pause":
        page.get_by_role("button", name=button).click()
    else:
        show_state(page, step=60)
    stopped = state_of(page)
    assert stopped[field] % 1 == 0
    page.wait_for_timeout(500)
    assert state_of(page) == stopped


def test_a_link_opens_the_same_view_and_a_bad_one_the_usual(show):
    page = show("heatmap")
    usual = state_of(page)
    page.get_by_role("slider", name="width d").press("PageUp")
    share = page.get_by_role("button", name="Share")
    share.press("Enter")
    page.get_by_role("button", name="Copy link").press("Enter")
    page.get_by_role("button", name="Copied link").wait_for()
    page.keyboard.press("Escape")
    expect(page.figure.locator("[popover]")).not_to_be_visible()
    expect(share).to_be_focused()
    state, link = state_of(page), page.evaluate("navigator.clipboard.readText()")

    def opened(link):
        page.goto("about:blank")
        page.goto(link)
        return state_of(page)

    assert opened(link) == state != usual
    for value in ("", "-7.5", "1e99", "__proto__", "<img src=x onerror=alert(1)>"):
        given = {"figure": "fig-heatmap", **dict.fromkeys(usual, value)}
        assert opened(f"{link.split('?')[0]}?{urlencode(given)}") == usual


@pytest.mark.parametrize(
    ("name", "start"), [("heatmap", "canvas"), ("turning", ".curve")]
)
def test_a_swipe_scrolls_the_page_and_changes_nothing(show, name, start):
    """Even if it begins on a figure, as a thumb's often does."""
    size = {"width": 390, "height": 500}
    page = show(name, "switch", viewport=size, has_touch=True, is_mobile=True)
    spot = page.figure.locator(start).first
    spot.scroll_into_view_if_needed()
    box = spot.bounding_box()
    before, top = state_of(page), page.evaluate("scrollY")
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7
    # Playwright has taps alone: a finger that moves is sent event by event. (Chromium's own
    # gesture, Input.synthesizeScrollGesture, scrolls nothing in a headless window.)
    send = page.context.new_cdp_session(page).send
    for step, kind in enumerate(["touchStart", *["touchMove"] * 12, "touchEnd"]):
        points = [] if kind == "touchEnd" else [{"x": x, "y": y - 10 * step}]
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function(f"scrollY > {top + 50}")
    assert state_of(page) == before


def test_the_text_moves_the_figure_until_the_reader_plays(show):
    link = (
        '<p style="height: 90vh"><a href="#fig-turning" data-set="key={0}">{0}</a></p>'
    )
    page = show("turning", below=link.format(3) + link.format(9) + "<p>End</p>")
    for place in (3, 9):
        page.mouse.move(200, 200)
        page.get_by_role("link", name=str(place)).scroll_into_view_if_needed()
        page.mouse.wheel(0, 300)
        key = "document.querySelector('posenc-figure').figure.state.key"
        page.wait_for_function(f"{key} === {place}")
    page.get_by_role("slider", name="dog").press("Home")
    first = page.get_by_role("link", name="3")
    first.evaluate("(link) => link.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(200)
    assert state_of(page)["key"] == 0, "what the reader set is taken away"
    page.get_by_role("link", name="9").press("Enter")
    assert state_of(page)["key"] == 9
