"""Makes figures follow the theme of the page, light or dark.

`follow_theme` also runs in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import base64
import re
from html import unescape
from io import BytesIO

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image
from stacking import SIZE, stack

from posenc.book.plots import COLORS, DARK_MAP, DIVERGING, INK, STYLE

DARK_INK = "#e6e8ee"
LARGER = 1.1  # text in the typeface of the page, by its size in matplotlib's
TEXT = 13  # pixels: a picture's text on a desktop
DESKTOP = 720  # pixels: the width of a wide picture there
PHONE_TEXT = 12  # pixels: and on a phone
PHONE = 358  # pixels: the width of a picture there
POINT = 4 / 3  # pixels
MOST_COLORS = 512  # of a map, which has 256, and whose color bar may be blurred
SHARE = 85  # percent of a color; the rest is ink, so that colored text is legible in both themes
# Ids are matplotlib's, but for "start-…": chapters give it, as `gid`, to words beside a point.
# As in live figures, words at axes without a color of their own are quiet, and so are axes: no
# other path has miters and square ends.
THEME = f"""<style>
:root {{ --ink: {INK}; --black: #000; --white: #fff; color-scheme: light dark }}
text {{
fill: var(--black); font-family: -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif
}}
.word {{ transform-box: fill-box; transform-origin: center }}
[id^="matplotlib.axis"] .word:not([style$="(--ink))"]) {{ fill-opacity: 0.7 }}
path[style*="miter; stroke-linecap: square"] {{ stroke-opacity: 0.3 }}
:is([id^="legend"], [id^="start"]) .word {{ transform-origin: left }}
[id^="ytick"] .word {{ transform-origin: right }}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: {DARK_INK}; --black: #fff; --white: #000; --dark: 1 }} /* on a map */
image {{ filter: brightness(0.8) }}
image.map {{ filter: {DARK_MAP} }}
}}
</style>"""
# Of live figures' still pictures, which are drawn on a light page
STILL_THEME = f"""<style>@media (prefers-color-scheme: dark) {{
:root {{ --dark: 1; filter: {DARK_MAP} }}
}}</style>"""
# Lines of matplotlib 3's SVG, with `svg.fonttype: path`; compare an update with them.

# <!-- −15 -->
# <g style="fill: #1f2430" transform="translate(41.7 209.7) scale(0.11 -0.11)"> (outlines) </g>
# A formula's comment has dollar signs.
WORDS = re.compile(
    r'<!-- ([^$]*?) -->\s*<g(?: (style="[^"]*"))? transform="(translate[^"]*?) '
    r'scale\(([\d.]+) -[\d.]+\)">.*?</g>',
    re.DOTALL,
)
# A formula becomes a word, which CSS scales, between the group that moves it and its outlines':
# <g transform="translate(41.7 209.7)"><g class="word">
# <g style="fill: #1f2430" transform="scale(0.11 -0.11)"> (outlines) </g></g></g>
FORMULA = re.compile(
    r'(?P<comment><!-- [^>]*\$[^>]*-->\s*)<g (?P<style>style="[^"]*" )?'
    r'transform="(?P<place>translate[^"]*?) (?P<scale>scale\([^"]*)">(?P<outlines>.*?)</g>',
    re.DOTALL,
)
WORD = (
    r'\g<comment><g transform="\g<place>"><g class="word">'
    r'<g \g<style>transform="\g<scale>">\g<outlines></g></g></g>'
)
# <path id="DejaVuSans-14" d="M 794 531 (more lines)" transform="scale(0.015625)"/>
GLYPH = re.compile(r'<path id="(DejaVu[^"]+)".*?/>', re.DOTALL)
# <image xlink:href="data:image/png;base64,
# iVBORw0KGgo(more)" id="image1" (more)/>
IMAGE = re.compile(r'<image (?=[^>]*?base64,\s*([^"]+)")')


def set_word(outlines):
    """Turn a word of outlines into text as wide, in the typeface of the page."""
    words, style, place, scale = outlines.groups(default="")
    size = text_to_path.FONT_SCALE * float(scale)
    is_bold = "DejaVuSans-Bold" in outlines[0]
    font = FontProperties(size=size, weight="bold" if is_bold else "normal")
    measure = text_to_path.get_text_width_height_descent
    width, _, _ = measure(unescape(words), font, ismath=False)
    if is_bold:
        style += ' font-weight="bold"'
    return (
        f'<g transform="{place}"><text class="word" {style} font-size="{LARGER * size:.2f}" '
        f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{words}</text></g>'
    )


def set_words(svg):
    """Set all words but formulas as text, and keep the outlines that formulas need."""
    outlines = {glyph[1]: glyph[0] for glyph in GLYPH.finditer(svg)}
    # The first word with a letter brought its outline along: formulas get theirs in one place.
    svg = GLYPH.sub("", WORDS.sub(set_word, svg))
    svg = FORMULA.sub(WORD, svg)
    needed = outlines.keys() & re.findall('href="#([^"]+)"', svg)
    kept = "".join(outlines[name] for name in sorted(needed))
    return svg.replace("<defs>", f"<defs>{kept}", 1)


def mark_map(image):
    """Mark an image that has the colors of the map for values around zero, and no others."""
    picture = Image.open(BytesIO(base64.b64decode(image[1]))).convert("RGBA")
    pixels = np.asarray(picture, int).reshape(-1, 4)
    # Cells without a number are transparent, and have no color.
    colors = np.unique(pixels[pixels[:, 3] > 0, :3], axis=0)
    if len(colors) > MOST_COLORS:  # of a photo, all pairs of colors would be too many
        return image[0]
    steps = mpl.colormaps[DIVERGING](range(256), bytes=True)[:, :3].astype(int)
    distances = abs(colors[:, None] - steps).max(axis=2).min(axis=1)
    # Color bars are blurred.
    return '<image class="map" ' if distances.max(initial=0) <= 8 else image[0]


def text_sizes(width, stacked):
    """Rules for the size of words, whatever the picture's.

    `width` is the picture's as drawn, in points, and `stacked` how its panels stand on a phone.
    Media queries in a picture go by the width in pixels that a page shows it in:

    ==========  ========================================  =========================================
    width       a picture of it is                        its words are
    ==========  ========================================  =========================================
    to 450      on a phone                                as drawn, `PHONE_TEXT` pixels at most
    451 to 469  on a phone, where wide ones scroll        as drawn
    470 to 599  small, and shown as large as drawn        `TEXT` pixels at the size drawn
    from 600    wide, and on a desktop                    `TEXT` pixels if it is `DESKTOP` wide
    ==========  ========================================  =========================================

    Within a row, words grow with the picture.
    """
    drawn = LARGER * STYLE["font.size"]
    small = TEXT / (drawn * POINT)
    wide = min(1, TEXT / DESKTOP * width / drawn)
    # Words of a picture 504 wide are 8.6 pixels large at 358; if its panels are stacked, 1.85 times
    # that, 15.9, and 0.75 of those are 12.
    shown = drawn * PHONE / width * (stacked.scale if stacked else 1)
    narrow = min(1, PHONE_TEXT / shown)  # matplotlib left no room for more
    return f"""<style>@media (min-width: 600px) {{ .word {{ scale: {wide:.2f} }} }}\
@media (min-width: 470px) and (max-width: 599px) {{ .word {{ scale: {small:.2f} }} }}
@media (max-width: 450px) {{ .word {{ scale: {narrow:.2f} }} }}</style>"""


def follow_theme(svg):
    """Give matplotlib's own SVG, once, the page's colors and typeface, and what a phone needs.

    In the body, words become text, maps are marked, and ink, black, white, and colors become CSS
    that a dark page makes lighter; browsers without ``color-mix`` fall back to the declaration
    before it. The head gets the styles for it, the sizes of text, and how panels stack.
    """
    head, _, body = IMAGE.sub(mark_map, set_words(svg)).partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    for color, name in ((INK, "ink"), ("#000000", "black"), ("#ffffff", "white")):
        body = body.replace(color, f"var(--{name})")
    stacked = stack(svg)
    head += text_sizes(float(SIZE.search(svg)[1]), stacked)
    if stacked:
        at_the_left = '<svg preserveAspectRatio="xMinYMin" '
        head = head.replace("<svg ", at_the_left, 1) + stacked.style
    return f"{head}{THEME}<defs>{body}"


def color_pictures(folder):
    """Make the figures in a folder follow the theme."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if "Matplotlib" in svg:
            path.write_text(follow_theme(svg), encoding="utf-8")
        elif 'class="still"' in svg:
            path.write_text(
                f"{STILL_THEME}</svg>".join(svg.rsplit("</svg>", 1)), "utf-8"
            )
