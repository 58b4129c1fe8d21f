"""Makes figures follow the theme of the page, light or dark.

`follow_theme` also runs in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import base64
import re
from html import unescape
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from PIL import Image

from posenc.book.plots import COLORS, DARK_MAP, DIVERGING, INK

DARK_INK = "#e6e8ee"
SHARE = 85  # percent of a color; the rest is ink, so that colored text is legible in both themes
THEME = f"""<style>
:root {{ --ink: {INK}; --black: #000; --white: #fff; color-scheme: light dark }}
text {{
fill: var(--black); font-family: -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif
}}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: {DARK_INK}; --black: #fff; --white: #000; --dark: 1 }} /* on a map */
image {{ filter: brightness(0.8) }}
image.map {{ filter: {DARK_MAP} }}
}}
</style>"""
WORDS = re.compile(
    r'<!-- ([^$]*?) -->\s*<g(?: (style="[^"]*"))? transform="(translate[^"]*?) '
    r'scale\(([\d.]+) -[\d.]+\)">(.*?)</g>',
    re.DOTALL,
)
GLYPH = re.compile(r'<path id="(DejaVu[^"]+)".*?/>', re.DOTALL)
FOR_ALL = re.compile(r'^  <g id="text', re.MULTILINE)
LEGEND = re.compile(
    r'^  <g id="(legend_\d+)">(.*?)\sd="M ([\d.]+) ([\d.]+)', re.MULTILINE | re.DOTALL
)
AXES = re.compile(
    r'<g id="(axes_\d+)">\s*<g id="patch_\d+">\s*<path d="M ([\d.]+) ([\d.]+)\s*L ([\d.]+) '
)
IMAGE = re.compile(r'<image (?=[^>]*?base64,\s*([^"]+)")')


def set_word(found: re.Match[str]) -> str:
    """Turn a word of outlines into text as wide, in the typeface of the page."""
    words, style, place, scale, _ = found.groups(default="")
    size = 100 * float(scale)
    width = text_to_path.get_text_width_height_descent(
        unescape(words), FontProperties(size=size), ismath=False
    )[0]
    return (
        f'<text {style} transform="{place}" font-size="{1.1 * size:.2f}" '
        f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs">{words}</text>'
    )


def set_words(svg: str) -> str:
    """Set all words but formulas as text, and keep the outlines that formulas need."""
    outlines = {found[1]: found[0] for found in GLYPH.finditer(svg)}
    svg = WORDS.sub(set_word, svg)
    missing = {*re.findall(r'href="#(DejaVu[^"]+)"', svg)} - {*GLYPH.findall(svg)}
    return svg.replace(
        "<defs>", "<defs>" + "".join(outlines[name] for name in sorted(missing)), 1
    )


def mark_map(found: re.Match[str]) -> str:
    """Mark an image that has the colors of the map for values around zero, and no others."""
    image = Image.open(BytesIO(base64.b64decode(found[1]))).convert("RGB")
    colors = np.array(
        [color for _, color in image.getcolors(image.width * image.height) or []]
    )
    steps = mpl.colormaps[DIVERGING](range(256), bytes=True)[:, :3].astype(int)
    distances = abs(colors[:, None] - steps).max(axis=2).min(axis=1)
    return (
        '<image class="map" ' if distances.max() <= 8 else found[0]
    )  # color bars are blurred


def stack(svg: str) -> tuple[str, float] | None:
    """Return what stacks two to four panels on a phone, and the picture's ratio there.

    A panel that shares the labels of the first one gets them, too; a legend below all panels comes
    last. None if the panels are others, or have other words in common. Media queries in a picture
    go by its own width.
    """
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    axes = [(name, *map(float, box)) for name, *box in AXES.findall(svg)]
    if not size or len(axes) != svg.count('<g id="axes_') or FOR_ALL.search(svg):
        return None
    width, height = map(float, size.groups())
    wide = [axis for axis in axes if axis[3] - axis[1] > width / 8]  # color bars aren't
    gaps = [right[1] - left[3] for left, right in pairwise(wide)]
    if len(wide) not in (2, 3, 4) or min(gaps) < 0:
        return None
    margin = wide[0][1]
    parts = [svg.partition(f'id="{axis[0]}"')[2].split('id="axes_')[0] for axis in wide]
    ticks = [part.count("ytick_") for part in parts]
    # Panels that have no labels of their own.
    shared = [
        gap < margin / 2 and n == ticks[0]
        for gap, n in zip(gaps, ticks[1:], strict=True)
    ]
    starts = [0.0]
    for (left, right), same in zip(pairwise(wide), shared, strict=True):
        starts.append(right[1] - margin if same else left[3])
    scale = min(1.6, width / max(np.diff([*starts, width])))

    def rule(name: str, x: float, row: int, shown: str = "") -> str:
        move = f"translate({x:.1f}px, {row * height:.1f}px)"
        return f"#{name} {{ {shown}transform: scale({scale:.2f}) {move} }}\n"

    rules, again = "", ""
    for name, x, *_ in axes:
        row = sum(start <= x for start in starts) - 1
        rules += rule(name, -starts[row], row)
    for row, same in enumerate(shared, 1):
        if same:
            again += f'<use id="again_{row}" xlink:href="#matplotlib.axis_2" display="none"/>'
            rules += rule(f"again_{row}", 0, row, "display: inline; ")
    for name, _, x, y in LEGEND.findall(svg):
        if float(y) < max(axis[2] for axis in wide):
            return None
        rules += rule(name, margin - float(x), len(wide) - 1)
    style = f"<style>@media (max-width: 450px) {{\n{rules}}}</style>{again}"
    return style, width / (len(wide) * height * scale)


def follow_theme(svg: str) -> str:
    """Replace a figure's ink by a CSS variable that is light on a dark page.

    Browsers without ``color-mix`` fall back to the declaration before it.
    """
    head, _, body = IMAGE.sub(mark_map, set_words(svg)).partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    for color, name in ((INK, "ink"), ("#000000", "black"), ("#ffffff", "white")):
        body = body.replace(color, f"var(--{name})")
    if stacked := stack(svg):
        head = (
            head.replace("<svg ", '<svg preserveAspectRatio="xMinYMin" ', 1)
            + stacked[0]
        )
    return head + THEME + "<defs>" + body


def color_pictures(folder: Path) -> None:
    """Make the figures in a folder follow the theme."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if any(color in svg for color in (INK, *COLORS)):
            path.write_text(follow_theme(svg), encoding="utf-8")
