"""Figures that follow the theme of the page, light or dark.

In a page that runs Python, `follow_theme` colors what a cell draws; there is no Sphinx.
"""

import re
from pathlib import Path

from posenc.plots import COLORS, INK

DARK_INK = "#e6e8ee"
SHARE = 85  # percent of a color; the rest is ink, so that words in it can be read on either page
THEME = f"""<style>
:root {{ --ink: {INK}; color-scheme: light dark }}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: {DARK_INK} }}
image {{ filter: brightness(0.8) }} /* the white of a matrix */
}}
</style>"""


def follow_theme(svg: str) -> str:
    """The figure with its ink as a CSS variable that is light on a dark page.

    A browser that can't mix colors takes the one before.
    """
    head, _, body = svg.partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} {SHARE}%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    return head + THEME + "<defs>" + body.replace(INK, "var(--ink)")


def color_pictures(folder: Path) -> None:
    """Let the figures in a folder follow the theme of the page."""
    for path in folder.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        if "--ink" not in svg and any(color in svg for color in (INK, *COLORS)):
            path.write_text(follow_theme(svg), encoding="utf-8")
