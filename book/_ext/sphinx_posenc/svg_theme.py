"""Makes figures follow the theme of the page, light or dark.

`follow_theme` also runs in the page's Python, on what a cell draws: don't import Sphinx here.
"""

import re
from pathlib import Path

from posenc.book.plots import COLORS, INK

DARK_INK = "#e6e8ee"
SHARE = 85  # percent of a color; the rest is ink, so that colored text is legible in both themes
THEME = f"""<style>
:root {{ --ink: {INK}; color-scheme: light dark }}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: {DARK_INK} }}
image {{ filter: brightness(0.8) }} /* the white of a matrix */
}}
</style>"""


def follow_theme(svg: str) -> str:
    """Replace a figure's ink by a CSS variable that is light on a dark page.

    Browsers without ``color-mix`` fall back to the declaration before it.
    """
    head, _, body = svg.partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    return head + THEME + "<defs>" + body.replace(INK, "var(--ink)")


def color_pictures(folder: Path) -> None:
    """Make the figures in a folder follow the theme. Idempotent."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if "--ink" not in svg and any(color in svg for color in (INK, *COLORS)):
            path.write_text(follow_theme(svg), encoding="utf-8")
