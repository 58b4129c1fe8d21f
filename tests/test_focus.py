"""What a keyboard and a mouse reach is seen: focus rings, and contrast of links under the mouse."""

import pytest
from addresses import SITE
from test_site import PALE

pytestmark = pytest.mark.browser
# The focused element, in shadow roots, too: whether focusing it draws anything.
FOCUSED = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    if (!e || e === document.body) return null;
    const parts = [e, e.parentElement, e.nextElementSibling, e.querySelector("*")].filter(Boolean);
    const rings = (e) => [null, "::before", "::after"].map((part) => {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor }
            = getComputedStyle(e, part);
        const outline = outlineStyle !== "none" && parseFloat(outlineWidth) && outlineColor;
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
def test_what_has_the_focus_is_seen(site, visit, page, theme):
    tab = visit((SITE / f"{page}.html").as_uri(), color_scheme=theme)
    unseen, stops = [], 0
    for _ in range(60):
        tab.keyboard.press("Tab")
        if now := tab.evaluate(FOCUSED):
            stops += 1
            unseen += [now["what"]] if not now["seen"] else []
    assert stops > 40
    assert unseen == [], "draw a focus ring: book.css, or src/posenc/book/figures/figures.css"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_under_the_mouse_can_be_read(site, visit, theme):
    tab = visit((SITE / "notebooks" / "03_linearity.html").as_uri(), color_scheme=theme)
    pale = set()
    for kind in ("article p a", ".bd-toc-nav a", ".bd-links a", "summary", ".prev-next-area a"):
        tab.locator(kind).locator("visible=true").first.hover()
        tab.wait_for_timeout(300)  # transitions
        pale |= {*tab.evaluate(PALE)}
    assert pale == set(), "under the mouse, too, text needs 4.5 to 1"
