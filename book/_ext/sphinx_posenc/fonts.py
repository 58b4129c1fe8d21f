"""Subsets fonts to the characters that the site's pages draw with them.

`DRAWN` says where the pages use each family. A stylesheet that brings another one stops the build
until the family is entered there, since only its place on the page tells which characters it needs.
"""

import logging
import re
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import lxml.html
import tinycss2
from fontTools import subset

from .styles import CLEAN, URL, store, text

# What is drawn with a family whose name begins so.
DRAWN = {"Font Awesome": "icons", "KaTeX": "formulas", "Spectral": "headings"}
INLINE = 3000  # bytes; a smaller font isn't worth a separate request
# Fonts of headings and of nearly every formula: inlined in the stylesheet, and for formulas loaded
# early by `layout.html`, since a font that arrives after the text reflows it.
AT_ONCE = "KaTeX_Main-Regular", "KaTeX_Math-Italic", "Spectral-SemiBold"

logging.getLogger("fontTools").setLevel(logging.WARNING)


def smaller_font(path: Path, characters: set[str]) -> bytes:
    """Subset a font to these characters.

    The space is always kept: browsers take the line height from the first font that has one.
    """
    text = f"--text={''.join(sorted({' ', *characters}))}"
    options = ["--flavor=woff2", "--no-hinting", "--layout-features=kern"]
    with NamedTemporaryFile() as out:
        subset.main([str(path), text, *options, f"--output-file={out.name}"])
        return out.read()


def drawn_characters(
    css: str,
    pages: Iterable[str],
) -> dict[str, set[str]]:
    """The characters of icons, formulas and headings."""
    formulas, headings = set[str](), set[str]()
    for page in map(lxml.html.fromstring, pages):
        # MathML is for screen readers: its characters aren't drawn.
        for formula in [*page.find_class("katex-html"), *page.find_class("plain")]:
            formulas.update(formula.text_content())
        for heading in [*page.find_class("navbar-brand"), *page.iter("h1", "h2", "h3")]:
            headings.update(heading.text_content())
    icons = {*re.findall("[\ue000-\uf8ff]", css)}
    return {"icons": icons, "formulas": formulas, "headings": headings}


def characters_of(
    family: str,
    drawn: dict[str, set[str]],
) -> set[str]:
    """The characters that a family needs."""
    for beginning, kind in DRAWN.items():
        if family.startswith(beginning):
            return drawn[kind]
    raise KeyError(f"the font {family!r} is new: enter in DRAWN what it draws")


def faces(
    fonts: list[Any],
    css: str,
    pages: Iterable[str],
    folder: Path,
) -> str:
    """Rules for the fonts that `css` uses, subset: inlined, or as files in the folder.

    `fonts` are tinycss2's ``@font-face`` rules, whose URLs are relative to the folder.
    """
    drawn = drawn_characters(css, pages)
    kept = []
    for font in fonts:
        declarations = tinycss2.parse_blocks_contents(font.content, **CLEAN)
        face = {part.name: text(part.value) for part in declarations}
        source, family = URL.search(face.pop("src")), face["font-family"].strip('"')
        path = folder / (source[1].strip('"') if source else "")
        # Only this class uses the theme's font of outlined icons.
        is_outlined = path.stem == "fa-regular-400"
        if family not in css or (is_outlined and ".fa-regular" not in css):
            continue
        # A stylesheet may escape the spaces of a name.
        characters = characters_of(family.replace("\\", ""), drawn)
        smaller = smaller_font(path, characters)
        url = f"data:font/woff2;base64,{b64encode(smaller).decode()}"
        if len(smaller) > INLINE and path.stem not in AT_ONCE:
            url = store(folder, path.stem, ".woff2", smaller)
        rules = "".join(f"{name}:{value};" for name, value in face.items())
        kept.append(f'@font-face{{{rules}src:url({url}) format("woff2")}}')
    return "".join(kept)
