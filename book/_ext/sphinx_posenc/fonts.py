"""Subsets fonts to the characters that the site's pages draw with them."""

import logging
import re
from base64 import b64encode
from tempfile import NamedTemporaryFile

import lxml.html
import tinycss2
from fontTools import subset

from .styles import CLEAN, serialized, store

# Classes and elements that are drawn with them. A formula's MathML isn't: screen readers read it.
CLASSES, HEADINGS = ("navbar-brand", "katex-html", "plain"), ("h1", "h2", "h3")
ICONS = re.compile("[\ue000-\uf8ff]")
URL = re.compile(r"""url\(["']?([^"')?]+)""")
INLINE = 3000  # bytes; a smaller font isn't worth a separate request
# Fonts of headings and of nearly every formula: inlined in the stylesheet, and for formulas loaded
# early by `layout.html`, since a font that arrives after the text reflows it.
AT_ONCE = "KaTeX_Main-Regular", "KaTeX_Math-Italic", "Spectral-SemiBold"

logging.getLogger("fontTools").setLevel(logging.WARNING)


def smaller_font(path, characters):
    """Subset a font to these characters.

    The space is always kept: browsers take the line height from the first font that has one.
    """
    text = f"--text={''.join(sorted({' ', *characters}))}"
    options = ["--flavor=woff2", "--no-hinting", "--layout-features=kern"]
    with NamedTemporaryFile() as out:
        subset.main([str(path), text, *options, f"--output-file={out.name}"])
        return out.read()


def drawn_characters(pages):
    """The characters of formulas and headings on these pages."""
    characters = set()
    for page in map(lxml.html.fromstring, pages):
        drawn = [*page.iter(*HEADINGS)]
        for name in CLASSES:
            drawn += page.find_class(name)
        characters.update(*(part.text_content() for part in drawn))
    return characters


def faces(fonts, css, pages, folder):
    """Rules for the fonts that `css` uses, subset: inlined, or as files in the folder.

    `fonts` are tinycss2's ``@font-face`` rules, each after the folder of its stylesheet.
    """
    drawn, icons = drawn_characters(pages), ICONS.findall(css)
    kept = []
    for place, font in fonts:
        declarations = tinycss2.parse_blocks_contents(font.content, **CLEAN)
        face = {part.name: serialized(part.value) for part in declarations}
        path = place / URL.search(face.pop("src"))[1]
        # Only this class uses the theme's font of outlined icons.
        is_outlined = path.stem == "fa-regular-400"
        is_idle = is_outlined and ".fa-regular" not in css
        if is_idle or face["font-family"].strip('"') not in css:
            continue
        is_icons = "Awesome" in face["font-family"]
        smaller = smaller_font(path, icons if is_icons else drawn)
        url = f"data:font/woff2;base64,{b64encode(smaller).decode()}"
        if len(smaller) > INLINE and path.stem not in AT_ONCE:
            url = store(folder, path.stem, ".woff2", smaller)
        rules = "".join(f"{name}:{value};" for name, value in face.items())
        kept.append(f'@font-face{{{rules}src:url({url}) format("woff2")}}')
    return "".join(kept)
