"""Live figures match Python in values, texts and limits, and respond to the reader."""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import matplotlib as mpl
import numpy as np
import pytest
from pages import address, check_with_axe
from sphinx_posenc import live_figures

from posenc.book import plots, widgets

pytestmark = pytest.mark.usefixtures("site")
KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}
CHAPTER = address("notebooks/08_heatmaps")
# Figures in some state, with the labels and limits of controls, the labels and text of pictures and
# what is dashed there, and the sentence below; for further states, only the last of these lines.
SHOWN = Path(__file__).with_name("figures.txt").read_text(encoding="utf-8")
# Put a figure into a state, and read what it shows.
SEE = """({ figure, shadowRoot: root }, state) => {
    figure.update(state);
    const all = (query, read) => [...root.querySelectorAll(query)].map(read);
    const walk = document.createTreeWalker(root.querySelector(".picture"), NodeFilter.SHOW_TEXT);
    const words = [];
    const order = (e) => [...e.parentNode.children].indexOf(e);
    const limit = ({ control }) => (control?.max ? ` ≤ ${control.max}` : "");
    while (walk.nextNode()) words.push(walk.currentNode.data);
    const list = (value) => (typeof value === "number" ? value : [...value]);
    return JSON.stringify({
        state: figure.state,
        values: Object.fromEntries(Object.entries(figure.values).map(([k, v]) => [k, list(v)])),
        texts: [
            all("label, legend", (e) => `${e.textContent}${limit(e)}`).join(", "),
            all("[role=img], table", (e) => e.ariaLabel).join(", "),
            [...words, ...all("[stroke-dasharray]", (e) => `┄${order(e)}`)].join(" "),
            root.querySelector(".say").textContent,
        ],
        ticks: root.querySelector(".axes") ? all(".tick", (e) => e.textContent).length : 2,
        hands: all("line", (e) => ["x1", "y1", "x2", "y2"].map((name) => +e.getAttribute(name))),
        pixels: all("canvas", (e) =>
            [...e.getContext("2d").getImageData(0, 0, e.width, e.height).data]),
    });
}"""


def states(kind):
    """States from `SHOWN`; all minima, all maxima, and some at random."""
    for block in SHOWN.strip().split("\n\n"):
        figure, *texts = re.sub(r"\n +", " ", block).splitlines()
        if figure.lower().startswith(f"{kind}("):
            yield eval(figure, vars(widgets)).state(), texts
    lot = np.random.default_rng(0)
    for share in (lambda: 0, lambda: 1, *[lot.random] * 4):
        given = {}
        for name, field in KINDS[kind]._arguments().items():
            able = field.control()
            if "options" in able:
                given[name] = str(lot.choice([*able["options"]]))
            else:
                steps = (able["max"] - able["min"]) / able["step"]
                given[name] = able["min"] + round(share() * steps) * able["step"]
        yield given, []


def show(visit, *kinds, **options):
    """Open a page of the site, and replace its text by figures."""
    page = visit(address("book/notation"), bypass_csp=True, **options)
    page.add_script_tag(content=live_figures.script(*widgets.FIGURES))
    figure = '<figure><posenc-figure kind="{}"></posenc-figure></figure>'
    figures = "".join(map(figure.format, kinds))
    formula = '<p><span class="katex"><i>k</i><i>d</i></span></p>'
    html = f"<section>{figures}{formula}<section>{formula}</section></section>"
    page.evaluate(
        "html => { document.querySelector('article').innerHTML = html }", html
    )
    drawn = "[...document.querySelectorAll('posenc-figure')].map((e) => e.shadowRoot.firstChild)"
    page.wait_for_function(
        f"{drawn}.every((e) => e.nextSibling.firstChild.textContent)"
    )
    page.figure = page.locator("posenc-figure").first
    page.set_default_timeout(15_000)  # the message names what doesn't respond
    return page


@pytest.fixture(scope="module")
def everything(site, visit_all):
    """All figures on one page."""
    return show(visit_all, *KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_seen_is_as_python_computes(everything, kind):
    for given, texts in states(kind):
        figure = everything.locator(f"posenc-figure[kind={kind}]")
        seen = json.loads(figure.evaluate(SEE, given))
        state = KINDS[kind](**seen["state"]).state()  # raises if Python rejects it
        where = f"fix figures/{kind}.js, widgets.py or tests/figures.txt, in {state}"
        assert seen["texts"][4 - len(texts) :] == texts, where
        assert seen["ticks"] > 1, f"no ticks: {where}"
        wanted = KINDS[kind](**state).values()
        hands = np.reshape(wanted.pop("hands", []), (-1, 2))
        assert seen["values"].keys() == wanted.keys(), where
        for name, value in wanted.items():
            found = np.ravel(seen["values"][name])
            message = f"{name}: {where}"
            np.testing.assert_allclose(
                found, np.ravel(value), 1e-14, 1e-12, err_msg=message
            )
        if len(hands):  # all have the same length
            x1, y1, x2, y2 = np.transpose(seen["hands"])
            tips = np.stack([y1 - y2, x2 - x1], axis=1) / np.hypot(x2 - x1, y1 - y2)[0]
            hands = hands / np.hypot(*hands[0])
            np.testing.assert_allclose(tips, hands, rtol=0, atol=1e-9, err_msg=where)
        for name, pixels in zip(wanted, seen["pixels"], strict=False):
            values, limit = (
                np.array(seen["values"][name]),
                2 if name == "difference" else 1,
            )
            limit = wanted.get("limit", limit)
            colors = mpl.colormaps[plots.DIVERGING](
                (values + limit) / (2 * limit), bytes=True
            )
            assert pixels == colors.ravel().tolist(), f"the colors of {name}: {where}"


def state_of(page):
    return page.figure.evaluate("element => element.figure.state")


def press(page, field, key):
    control = page.figure.locator(f"#field-{field}")
    assert control.count() == 1, f"{field} has no control: figures/page.js"
    control.press(key)
    return state_of(page)[field]


def test_each_control_answers_to_the_keyboard_on_a_phone_and_axe_finds_nothing(visit):
    page = show(visit, *KINDS, viewport={"width": 320, "height": 640})
    for kind, figure in KINDS.items():
        page.figure = page.locator(f"posenc-figure[kind={kind}]")
        height = page.figure.bounding_box()["height"]
        for name, field in figure._arguments().items():
            silent = f"{kind}: {field.label} doesn't respond"
            if options := [*field.limits.get("options", [])]:
                group = page.figure.get_by_role("group", name=field.label)
                choices = group.get_by_role("radio")
                assert choices.evaluate_all("all => all.map((e) => e.value)") == options
                choices.first.press("ArrowLeft")  # around, to the last
                assert state_of(page)[name] == options[-1], silent
                continue
            assert press(page, name, "Home") == field.limits["min"], silent
            last = press(page, name, "End")
            assert last == int(field.top(figure(**state_of(page)))), silent
            spoken = page.figure.locator(f"#field-{name}").get_attribute(
                "aria-valuetext"
            )
            assert spoken == f"{int(last):,}".replace(",", " "), silent
        assert page.figure.bounding_box()["height"] == height, f"{kind}: layout shift"
    controls = page.locator("posenc-figure :is(input, select, button)")
    boxes = controls.evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect().toJSON())"
    )
    for box in boxes:
        assert min(box["width"], box["height"]) >= 24
        assert box["right"] <= 320
    check_with_axe(page, "posenc-figure")


def test_pointer_and_sliders_agree(visit):
    page = show(visit, "heatmap")
    box = page.figure.locator("canvas").bounding_box()
    page.mouse.move(
        box["x"] + box["width"] * 40.5 / 64, box["y"] + box["height"] * 20.5 / 64
    )
    assert page.get_by_label("dimension j").input_value() == "40"
    assert page.get_by_label("position k").input_value() == "20"
    page.get_by_label("position k").focus()
    letters = page.locator(".katex i").evaluate_all(
        "all => all.map((e) => !!e.style.background)"
    )
    assert letters == [True, False, False, False], (
        "lights up k in this section, beside the figure"
    )
    said = "Position 20, dimension 40: sin(20 / 10 000^(40/64)) = 0.0632"
    assert page.figure.locator(".say").text_content() == said


def drag(page, start, end):
    """Press at a point of the window, move to another one, and let go."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=8)
    page.mouse.up()


def test_hands_and_words_are_dragged(visit):
    page = show(
        visit, "score", "words", "kernel", "stretch", "rotation", "curves", "clocks"
    )

    def pull(kind, grip, right, down):
        page.figure = page.locator(f"posenc-figure[kind={kind}]")
        page.figure.scroll_into_view_if_needed()
        box = page.figure.locator(".grip").nth(grip).bounding_box()
        center = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        drag(page, center, (center[0] + right, center[1] + down))
        return state_of(page)

    assert pull("score", 0, 16, -87) == {"query": 6, "key": 2, "method": "rotary"}
    assert pull("score", 1, 82, -33) == {"query": 6, "key": 3, "method": "rotary"}
    assert pull("score", 2, -27, 33) == {
        "query": 5,
        "key": 2,
        "method": "rotary",
    }  # both
    assert (
        pull("kernel", 0, 50, 0)["offset"] > 63 > pull("kernel", 0, -200, 0)["offset"]
    )
    assert (
        pull("stretch", 0, 0, -12)["factor"] > 4 >= pull("stretch", 0, 0, 40)["factor"]
    )
    assert pull("stretch", 1, 0, -12)["trained"] > 4096
    assert pull("rotation", 0, -40, -20)["offset"] > 3
    assert pull("rotation", 2, 30, 0)["position"] < 5
    assert pull("curves", 0, 60, 0)["pair"] > 0
    assert pull("curves", 1, 60, 0)["stride"] > 4
    assert pull("clocks", 4, 0, -9)["position"] > 5
    assert (
        page.figure.locator(".lit").count() > 8
    )  # the position in words, slider and hands
    page.figure = page.locator("posenc-figure[kind=words]")
    dog, man = (page.figure.get_by_role("button", name=name) for name in ("dog", "man"))
    dog.scroll_into_view_if_needed()
    drag(
        page,
        *(
            (box["x"] + 9, box["y"] + 9)
            for box in (dog.bounding_box(), man.bounding_box())
        ),
    )
    assert state_of(page)["order"] == "bites man dog"
    dog.press("ArrowLeft")
    assert state_of(page)["order"] == "bites dog man"


@pytest.mark.parametrize(("motion", "steps"), [("no-preference", 12), ("reduce", 3)])
def test_buttons_step_play_and_go_around_and_rest_is_announced(visit, motion, steps):
    page = show(visit, "clock", reduced_motion=motion)
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    press(page, "position", "End")
    for name, after in (("Forward", 0), ("Back", 255), ("Forward", 0)):
        page.get_by_role("button", name=name).press("Enter")
        assert state_of(page)["position"] == after, (
            f"{name} doesn't respond: figures/page.js"
        )
    page.get_by_role("button", name="Play").press("Enter")
    page.clock.run_for(3100)
    page.get_by_role("button", name="Pause").press("Enter")
    page.clock.run_for(3100)
    assert state_of(page)["position"] == steps, (
        "Play or Pause doesn't respond: figures/page.js"
    )
    spoken, said = (
        page.figure.locator("[aria-live=polite]"),
        page.figure.locator(".say"),
    )
    before = spoken.text_content()
    for _ in range(5):
        press(page, "position", "ArrowRight")
        page.clock.run_for(100)
        assert spoken.text_content() == before != said.text_content()
    page.clock.run_for(1000)
    assert spoken.text_content() == said.text_content()


def test_clocks_run_until_the_reader_takes_them_over(visit):
    page = show(visit, "clocks", reduced_motion="no-preference")
    start = widgets.Clocks().position
    page.wait_for_function(
        f"document.querySelector('posenc-figure').figure.state.position > {start}"
    )
    page.get_by_role("button", name="Pause").click()
    stopped = state_of(page)
    page.wait_for_timeout(1300)  # two steps
    assert state_of(page) == stopped
    page.goto(f"{address('index')}?figure=fig-live&position=100")
    page.figure.scroll_into_view_if_needed()
    page.wait_for_timeout(1300)
    assert state_of(page)["position"] == 100, (
        "a copied link doesn't restore what was seen"
    )


def test_a_link_opens_the_same_view_of_one_figure_and_a_bad_one_the_usual(visit):
    page = visit(CHAPTER, permissions=["clipboard-read", "clipboard-write"])
    page.figure = page.locator("posenc-figure")
    press(page, "d_model", "PageUp")
    press(page, "base", "ArrowLeft")
    page.get_by_text("Share").press("Enter")
    for name in ("Notebook", "Print, or save as PDF"):
        assert page.figure.get_by_role("button", name=name).is_visible()
    page.get_by_role("button", name="Copy link").press("Enter")
    page.get_by_role("button", name="Copied link").wait_for()
    page.get_by_role("button", name="Copy link").wait_for()  # after a while
    link, state = page.url, state_of(page)
    name = page.locator("figure:has(posenc-figure)").get_attribute("id")
    assert link.endswith(f"#{name}")

    def opened(address):
        page.goto("about:blank")
        page.goto(address)
        assert page.figure.locator(":is(img[src=x], script)").count() == 0
        return state_of(page)

    assert opened(link) == state
    usual = opened(link.replace(f"figure={name}", "figure=b"))
    assert usual == opened(CHAPTER) != state
    for value in ("", "-7.5", "1e99", "__proto__", "<img src=x onerror=alert(1)>"):
        given = {"figure": name, "kind": value, "__proto__": value}
        assert (
            opened(f"{CHAPTER}?{urlencode(given | dict.fromkeys(usual, value))}")
            == usual
        )


@pytest.mark.parametrize("start", ["canvas", "input"])
def test_a_swipe_scrolls_the_page_and_changes_nothing(visit, start):
    """Even if it begins on a figure, as a thumb's often does; a tap still picks."""
    size = {"width": 390, "height": 500}
    page = visit(
        CHAPTER, viewport=size, has_touch=True, is_mobile=True, bypass_csp=True
    )
    page.figure = page.locator("posenc-figure")
    place = page.figure.locator(start).first
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    before, top = state_of(page), page.evaluate("scrollY")
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.7
    touch = page.context.new_cdp_session(page)
    for step in range(13):
        kind = "touchMove" if step else "touchStart"
        points = [{"x": x, "y": y - 10 * step}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"scrollY > {top + 50}")
    assert state_of(page) == before
    place.tap(position={"x": box["width"] * 0.3, "y": box["height"] * 0.5})
    assert state_of(page) != before
    for control in page.figure.locator("input, select, button").all():
        assert control.bounding_box()["height"] >= 36
