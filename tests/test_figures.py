"""What a live figure shows, says and allows is what Python computes; and a reader can move it."""

import math
import re

import matplotlib as mpl
import numpy as np
import pytest
from addresses import SITE
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sphinx_posenc import live_figures

from posenc import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    plots,
    sinusoidal_encoding,
    wavelengths,
    widgets,
)

KINDS = {name.lower(): kind for name, kind in widgets.FIGURES.items()}
TRICKY = {
    "curves": [{"seq_len": 12}],  # ticks two apart
    "kernel": [
        {"d_model": 4, "base": 32, "seq_len": 64},  # the nearest are neighbors
        {"d_model": 4, "base": 3.2, "seq_len": 64},  # seven are nearer
    ],
    "stretch": [  # YaRN's range is cut off at the last dimension, and at the first
        {"rule": "YaRN", "d_model": 128, "base": 10, "trained": 1024},
        {"rule": "YaRN", "d_model": 8, "trained": 64},
    ],
}
ORDER = "a convention: the same columns in another order"
# Of each variant: what is said of it, its exponent of column j of d, and whether that is a cosine.
VARIANTS = {
    "halves": (ORDER, lambda j, d: (2 * (j % (d // 2)) / d, j >= d // 2)),
    "cosine first": (ORDER, lambda j, d: (2 * (j // 2) / d, j % 2 == 0)),
    "from 1": (
        "a convention: every row is moved up by one",
        lambda j, d: (2 * (j // 2) / d, j % 2),
    ),
    "minus 1": (
        "a convention: other frequencies, the last one exactly 1/n",
        lambda j, d: (j // 2 / (d // 2 - 1), j % 2),
    ),
    "ones": ("a bug: one pair, d/2 times over", lambda j, d: (0, j % 2)),
    "dimension for pair": (
        "a bug: no sine has its cosine, and rows differ in length",
        lambda j, d: (2 * j / d, j % 2),
    ),
    "own exponent": ("a bug: each cosine is slower than its sine", lambda j, d: (j / d, j % 2)),
}
# Of each figure: what its pictures are called, and its controls.
NAMES = {
    "heatmap": ["Heatmap of the encoding"],
    "curves": ["Sine and cosine of each pair, over positions"],
    "clock": ["One clock hand for each pair, and the binary digits"],
    "clocks": ["One clock for each pair, and its two numbers"],
    "rotation": ["One pair before and after a shift, from 0 and from k"],
    "kernel": ["Product of two encodings, by their offset"],
    "switch": [f"Heatmap: {title}" for title in ("the paper's", "the variant", "difference")],
    "stretch": ["Wavelength of each pair, in training and now"],
}
LABELS = {
    "heatmap": "width d, base n, length L, position k, dimension j",
    "curves": "width d, base n, length L, first pair i, pairs apart",
    "clock": "width d, base n, position k",
    "clocks": "width d, base n, position k",
    "rotation": "width d, base n, pair i, position k, offset φ",
    "kernel": "width d, base n, length L, offset φ",
    "switch": "width d, base n, length L, variant",
    "stretch": "width d, base n, trained length, factor s, rule",
}
SEE = """() => {
    const { figure, shadowRoot: root } = document.querySelector("posenc-figure");
    const all = (query, read) => [...root.querySelectorAll(query)].map(read);
    const walk = document.createTreeWalker(root.querySelector(".picture"), NodeFilter.SHOW_TEXT);
    const words = [];
    while (walk.nextNode()) words.push(walk.currentNode.data);
    const list = (value) => (typeof value === "number" ? value : [...value]);
    const numbers = (...names) => (e) => names.map((name) => Number(e.getAttribute(name)));
    return {
        state: figure.state,
        values: Object.fromEntries(Object.entries(figure.values).map(([k, v]) => [k, list(v)])),
        words,
        says: root.querySelector(".say").textContent,
        names: all("[role=img]", (e) => e.ariaLabel),
        labels: all("label", (e) => e.textContent).join(", "),
        hands: all("line", numbers("x1", "y1", "x2", "y2")),
        pixels: all("canvas", (e) =>
            [...e.getContext("2d").getImageData(0, 0, e.width, e.height).data]),
    };
}"""


def number(x, digits=4):
    """A number as the figures write it."""
    return f"{round(x, digits) + 0:.{digits}f}".replace("-", "−")


def grouped(x):
    """A number with a space between thousands."""
    return f"{x:,}".removesuffix(".0").replace(",", " ").replace("-", "−")


def table(positions, d_model, base):
    where = np.asarray(positions, float)
    return sinusoidal_encoding(where, d_model, base=base, dtype=np.float64)


def ticks(right, top):
    step = next(size for size in (1, 2, 5, 10, 20, 50) if right / size <= 7)
    return [*map(str, range(0, right + 1, step)), *(number(y, 0) for y in (-top, 0, top))]


def has_colors(pixels, values, limit):
    """Each pixel has matplotlib's color of its value."""
    meant = mpl.colormaps[plots.DIVERGING]((values + limit) / (2 * limit), bytes=True)
    assert pixels == meant.ravel().tolist()


# Of each figure: its values by numpy, its words in the order of the picture, and its sentence.


def heatmap(seen, d_model, base, seq_len, position, dimension):
    right = table(range(seq_len), d_model, base)
    has_colors(seen["pixels"][0], right, 1)
    j, wave = dimension, "cos" if dimension % 2 else "sin"
    formula = f"{wave}({position} / {base:.15g}^({j - j % 2}/{d_model}))"
    words = ["0", "position", str(seq_len - 1), "0", "dimension", str(d_model - 1), "−1", "1"]
    value = number(right[position, j])
    says = f"Position {position}, dimension {j}: {formula} = {value}"
    return {"table": right.ravel()}, words, says


def curves(seen, d_model, base, seq_len, pair, stride):
    pairs = np.arange(pair, d_model // 2, stride)[:3]
    parts = 2 if seq_len > 64 else 4
    points = np.arange(parts * (seq_len - 1) + 1) / parts
    waves, turns = table(points, d_model, base).T, wavelengths(d_model, base=base)[pairs]
    sines, cosines = waves[2 * pairs], waves[2 * pairs + 1]
    texts = [number(turn, 2) for turn in turns]
    words = [*ticks(seq_len - 1, 1), "position"]
    words += [f"pair {i}: wavelength {n} positions" for i, n in zip(pairs, texts, strict=True)]
    said = [f"Pair {i} turns once in {n} positions." for i, n in zip(pairs, texts, strict=True)]
    values = {"pairs": pairs, "wavelengths": turns, "points": points}
    says = " ".join([*said, "Solid lines are sines, dashed ones cosines."])
    return values | {"sines": sines, "cosines": cosines}, words, says


def has_hands(seen, tips):
    """Each hand points to (right, up), and all are of one length."""
    x1, y1, x2, y2 = np.transpose(seen["hands"])
    hands = np.stack([x2 - x1, y1 - y2], axis=1)
    length = np.linalg.norm(hands[0])
    np.testing.assert_allclose(hands / length, np.reshape(tips, (-1, 2)), rtol=0, atol=1e-9)


def clock(seen, d_model, base, position):
    row, bits = table([position], d_model, base)[0], binary_encoding([position], 8)[0]
    has_hands(seen, row.reshape(-1, 2)[:, ::-1])
    digits = "".join(str(int(bit)) for bit in bits)
    words = [*map(str, range(d_model // 2))]
    for n, bit in enumerate(digits):
        words += [bit, str(2**n)]
    says = (
        f"Position {position}. Above, one hand for each pair, cosine across and sine upwards, so "
        "that it starts at the right and turns counterclockwise. "
        f"Below, {position} in binary, lowest digit first: {digits}."
    )
    return {"row": row, "bits": bits}, words, says


def clocks(seen, d_model, base, position):
    row, turns = table([position], d_model, base)[0], wavelengths(d_model, base=base)
    has_hands(seen, row.reshape(-1, 2)[:, ::-1])
    words = []
    for n, pair in enumerate(row.reshape(-1, 2)):
        words += [f"clock {n}", *(number(x, 2) for x in pair)]
    says = (
        f"Position {position}. Below each clock are its sine (how high the tip is) and its cosine "
        f"(how far right). Clock 0 turns once in {number(turns[0], 2)} positions, "
        f"clock {len(turns) - 1} in {grouped(int(np.floor(turns[-1] + 0.5)))}."
    )
    return {"row": row, "wavelengths": turns}, words, says


def rotation(seen, d_model, base, pair, position, offset):
    k, to, omega = position, position + offset, angular_frequencies(d_model, base=base)[pair]
    theta = offset * omega
    before, after = table([k, to], d_model, base)[:, 2 * pair : 2 * pair + 2]
    ends = np.array([[0, theta], [k * omega, to * omega]])
    has_hands(seen, np.stack([np.cos(ends), np.sin(ends)], axis=-1))
    told = [f"({number(sine)}, {number(cosine)})" for sine, cosine in (before, after)]
    says = (
        f"Pair {pair} at {k} is {told[0]}, at {number(to, 0)} it is {told[1]}. From 0 or from {k}, "
        f"it turns by ω·φ = {number(theta)} rad = {number(np.degrees(theta), 1)}°. "
        "Cosine across, sine upwards."
    )
    words = [f"0 to {number(offset, 0)}", f"{k} to {number(to, 0)}"]
    return {"theta": theta, "from": before, "to": after}, words, says


def kernel(seen, d_model, base, seq_len, offset):
    products = offset_kernel(np.arange(seq_len), d_model, base=base)
    nearer = [n for n in range(2, seq_len) if products[n] > products[1]]
    nearer.sort(key=lambda n: -products[n])
    more = f" and {len(nearer) - 6} more" if len(nearer) > 6 else ""
    said = f"Nearer than the next position: {', '.join(map(str, nearer[:6]))}{more}."
    said = said if nearer else "No offset looks nearer than the next position, 1."
    says = f"PE(k)·PE(k + {offset}) = {number(products[offset])}, of at most {d_model // 2}. {said}"
    words = [*ticks(seq_len - 1, d_model // 2), "offset φ"]
    named = seen["words"][len(words) :]  # the nearest two, where there is room
    assert named in ([str(n) for n in nearer[:room]] for room in range(bool(nearer), 3))
    return {"products": products, "nearer": nearer}, [*words, *named], says


def switch(seen, d_model, base, seq_len, variant):
    verdict, column = VARIANTS[variant]
    right, other = table(range(seq_len), d_model, base), []
    for exponent, cosine in (column(j, d_model) for j in range(d_model)):
        angles = (np.arange(seq_len) + (variant == "from 1")) / base**exponent
        other.append(np.cos(angles) if cosine else np.sin(angles))
    values = {"right": right, "other": np.transpose(other)}
    values["difference"] = values["other"] - right
    for pixels, (name, limit) in zip(
        seen["pixels"], zip(values, (1, 1, 2), strict=True), strict=True
    ):
        has_colors(pixels, np.reshape(seen["values"][name], right.shape), limit)
    largest = number(np.abs(values["difference"]).max())
    says = f"{widgets.VARIANTS[variant]}: {verdict}. Largest difference: {largest}."
    words = ["the paper's", "the variant", "difference"]
    return {name: each.ravel() for name, each in values.items()}, words, says


def stretch(seen, d_model, base, trained, factor, rule):
    plain = angular_frequencies(d_model, base=base)
    now = widgets._stretched(d_model, base, trained, factor, rule)
    unfinished = plain * trained < 2 * np.pi
    beyond = (unfinished & (now * factor > plain * (1 + 1e-9))).sum()
    before, after = 2 * np.pi / plain, 2 * np.pi / now
    slower = [number(after[pair] / before[pair], 2) for pair in (0, -1)]
    says = (
        f"{widgets.RULES[rule]}. The first pair is slower by {slower[0]}, the last by {slower[1]}. "
        f"Of {unfinished.sum()} pairs that never finished a turn, {beyond} meet new angles."
    )
    top = int(np.ceil(np.log10(max(after.max(), factor * trained))))
    words = [grouped(10**power) for power in range(0, top + 1, 2)]
    words += ["0", str(d_model // 2 - 1), "pair i"]
    words += [f"trained: {grouped(trained)}", f"wanted: {grouped(factor * trained)}"]
    values = {"before": before, "after": after, "unfinished": unfinished.sum(), "beyond": beyond}
    return values, words, says


EXPECTED = {f.__name__: f for f in (heatmap, curves, clock, clocks, rotation, kernel, switch)}
EXPECTED["stretch"] = stretch


def settings(field, figure):
    """What a control can be set to, from the least to the most."""
    if isinstance(field, widgets.Choice):
        return [*field.options]
    if isinstance(field, widgets.Base):
        return [float(f"{10 ** (n / 4):.2g}") for n in range(4 * len(f"{field.minimum}") - 4, 25)]
    return range(field.minimum, field.top(figure) + 1, field.step)


def states(kind):
    """The usual state, the limits of each argument, all least, all most, and some at random."""
    lot = np.random.default_rng(0)
    fields = KINDS[kind]._arguments()

    def state(way, *names, **given):
        figure = KINDS[kind]()
        for name in names or fields:
            value = given.get(name) or way(settings(fields[name], figure))
            setattr(figure, name, value)
        return figure.state()

    ends = [lambda all: all[0], lambda all: all[-1]]
    yield KINDS[kind]().state()
    yield from [state(end, name) for name in fields for end in ends]
    yield from [state(end) for end in ends]
    turns = getattr(fields[[*fields][-1]], "options", range(2))
    for turn in turns:
        given = {[*fields][-1]: turn} if isinstance(turn, str) else {}
        yield state(lambda all: all[lot.integers(len(all))], **given)
    yield state(ends[0], "base") | {"base": 12.3456}
    yield from [state(None, *given, **given) for given in TRICKY.get(kind, ())]


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_seen_is_as_python_computes(visit, kind):
    page, script = visit(), live_figures.script(*widgets.FIGURES)
    page.set_content(f'<script>{script}</script><posenc-figure kind="{kind}"></posenc-figure>')
    page.locator("posenc-figure .picture > *").first.wait_for(state="attached")
    update = "given => document.querySelector('posenc-figure').figure.update(given)"
    for state in states(kind):
        page.evaluate(update, state)
        seen = page.evaluate(SEE)
        assert seen["state"] == state
        values, words, says = EXPECTED[kind](seen, **state)
        assert seen["values"].keys() == values.keys()
        for name, value in values.items():
            np.testing.assert_allclose(
                seen["values"][name], value, rtol=1e-14, atol=1e-12, err_msg=name
            )
        found = {"words": words, "says": says, "names": NAMES[kind], "labels": LABELS[kind]}
        other = f"src/posenc/figures/{kind}.js shows something else than Python expects of {state}"
        assert {name: seen[name] for name in found} == found, other


# ---------------------------------------------------------------- on the pages of the site

PLACES = {path: path.read_text(encoding="utf-8") for path in SITE.glob("notebooks/*.html")}


@pytest.fixture
def shown(site, visit):
    """Open a chapter that shows a figure, and as few others as may be."""

    def open_page(kind, **options):
        held = [p for p, html in PLACES.items() if f'<posenc-figure kind="{kind}"' in html]
        if not held:
            pytest.fail(f"no page shows {kind}: run `make book`, or add a cell to a chapter")
        few = min(held, key=lambda path: (PLACES[path].count("<posenc-figure"), path))
        page = visit(few.as_uri(), **options)
        page.figure = page.locator(f"posenc-figure[kind={kind}]").first
        page.figure.locator(".picture > *").first.wait_for(state="attached")
        return page

    return open_page


def state_of(page):
    return page.figure.evaluate("element => element.figure.state")


def name_of(page):
    return page.locator("figure:has(posenc-figure)").first.get_attribute("id")


def press(page, field, key):
    page.figure.locator(f"#field-{field}").press(key)


@pytest.mark.parametrize("kind", KINDS)
def test_each_field_answers_to_the_keyboard_on_a_phone_and_axe_finds_nothing(shown, kind):
    page = shown(kind)
    page.set_viewport_size({"width": 320, "height": 640})
    fields, height = KINDS[kind]._arguments(), page.figure.bounding_box()["height"]
    for name, field in fields.items():
        control = page.figure.locator(f"#field-{name}")
        if isinstance(field, widgets.Choice):
            read = "all => all.map(o => [o.value, o.text])"
            assert dict(control.locator("option").evaluate_all(read)) == field.options
            continue
        control.press("Home")
        assert state_of(page)[name] == field.minimum, name
        control.press("End")
        top = field.maximum if name == "base" else field.top(KINDS[kind](**state_of(page)))
        assert state_of(page)[name] == top, name
        assert control.get_attribute("aria-valuetext") == grouped(top)
    assert page.figure.bounding_box()["height"] == height, "the page jumps"
    for control in page.locator("posenc-figure :is(input, select, button)").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 24
        assert box["x"] + box["width"] <= 320
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-theme={scheme}]").wait_for(state="attached")
        found = Axe().run(page, context="posenc-figure", options={"preload": False})
        assert found.violations_count == 0, found.generate_report()


def test_a_picture_stands_in_without_a_script_and_in_print(shown, browser):
    page = shown("heatmap")
    picture = page.figure.locator("img")
    assert not picture.is_visible()
    page.emulate_media(media="print")
    assert picture.is_visible()
    assert not page.figure.locator(".live").is_visible()
    bare = browser.new_page(java_script_enabled=False)
    bare.goto(page.url)
    assert bare.locator("posenc-figure img").is_visible()
    assert len(bare.locator("posenc-figure img").get_attribute("alt")) > 10
    bare.close()


def test_pointer_and_sliders_agree(shown):
    page = shown("heatmap")
    canvas = page.figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 40.5 / 64, box["y"] + box["height"] * 20.5 / 64)
    assert page.get_by_label("dimension j").input_value() == "40"
    assert page.get_by_label("position k").input_value() == "20"
    value = math.sin(20 / 10_000 ** (40 / 64))
    said = f"Position 20, dimension 40: sin(20 / 10000^(40/64)) = {value:.4f}"
    assert page.figure.locator(".say").text_content() == said


@pytest.mark.parametrize(("motion", "steps"), [("no-preference", 12), ("reduce", 3)])
def test_buttons_step_play_and_go_around(shown, motion, steps):
    page = shown("clock", reduced_motion=motion)
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    press(page, "position", "End")
    for name, after in (("Forward", 0), ("Back", 255), ("Forward", 0)):
        page.get_by_role("button", name=name).press("Enter")
        assert state_of(page)["position"] == after
    page.get_by_role("button", name="Play").press("Enter")
    page.clock.run_for(3100)
    page.get_by_role("button", name="Pause").press("Enter")
    page.clock.run_for(3100)
    assert state_of(page)["position"] == steps


def test_clocks_run_until_the_reader_takes_them_over(shown):
    page = shown("clocks", reduced_motion="no-preference")
    page.figure.scroll_into_view_if_needed()
    start = widgets.Clocks().position
    expect(page.locator("#field-position").first).not_to_have_value(str(start), timeout=60_000)
    page.get_by_role("button", name="Pause").first.click()
    stopped = state_of(page)
    page.wait_for_timeout(1300)  # two steps
    assert state_of(page) == stopped


def test_a_change_is_announced_once_it_rests(shown):
    page = shown("rotation")
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    page.figure.evaluate("""({ shadowRoot }) => {
        const spoken = shadowRoot.querySelector("output[aria-live=polite]");
        window.heard = [];
        new MutationObserver(() => heard.push(spoken.textContent))
            .observe(spoken, { childList: true });
    }""")
    for _ in range(5):
        press(page, "position", "ArrowRight")
    page.clock.run_for(1000)
    assert page.evaluate("heard") == [page.figure.locator(".say").text_content()]


def test_a_link_opens_the_same_view_of_one_figure(shown):
    page = shown("kernel", permissions=["clipboard-read", "clipboard-write"])
    name = name_of(page)
    press(page, "d_model", "PageUp")
    press(page, "base", "ArrowLeft")
    page.get_by_role("button", name="Copy link").press("Enter")
    page.get_by_role("button", name=re.compile("Link copied|address bar")).wait_for()
    link, state = page.url, state_of(page)
    assert link.endswith(f"#{name}")
    page.goto("about:blank")
    page.goto(link)
    assert state_of(page) == state != widgets.Kernel().state()
    page.goto("about:blank")
    page.goto(link.replace(f"figure={name}", "figure=fig-other").partition("#")[0])
    assert state_of(page)["d_model"] != state["d_model"]


@pytest.mark.parametrize("value", ["", "-7.5", "1e99", "__proto__", "<img src=x onerror=alert(1)>"])
def test_a_bad_link_opens_the_usual_view(shown, value):
    page = shown("heatmap")
    usual = state_of(page)
    page.evaluate(
        """given => { const url = new URL(location.href);
        url.search = new URLSearchParams(given); location.href = url }""",
        {"figure": name_of(page), "kind": value, "__proto__": value} | dict.fromkeys(usual, value),
    )
    page.wait_for_url("**/*figure=*")
    assert state_of(page) == usual
    assert page.locator("posenc-figure :is(img[src=x], script)").count() == 0


@pytest.mark.parametrize("start", ["canvas", "input"])
def test_a_swipe_scrolls_the_page_and_changes_nothing(shown, start):
    """One that begins on a figure, as a thumb's often does; a tap still picks."""
    phone = {"viewport": {"width": 390, "height": 500}, "has_touch": True, "is_mobile": True}
    page = shown("heatmap", **phone)
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
