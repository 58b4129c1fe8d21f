"""Subsets fonts to the characters that the site's pages draw with them."""

import logging
import re
from base64 import b64encode
from tempfile import NamedTemporaryFile

import lxml.html
import tinycss2
from fontTools import subset

from .styles import CLEAN, store, text

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


def drawn_characters(css, pages):
    """The characters that pages draw in each family, by the beginning of its name."""
    formulas, headings = set(), set()
    for page in map(lxml.html.fromstring, pages):
        # A formula's MathML isn't drawn: screen readers read it.
        for formula in [*page.find_class("katex-html"), *page.find_class("plain")]:
            formulas.update(formula.text_content())
        for heading in [*page.find_class("navbar-brand"), *page.iter("h1", "h2", "h3")]:
            headings.update(heading.text_content())
    icons = ICONS.findall(css)
    return {"Font Awesome": icons, "KaTeX": formulas, "Spectral": headings}


def faces(fonts, css, pages, folder):
    """Rules for the fonts that `css` uses, subset: inlined, or as files in the folder.

    `fonts` are tinycss2's ``@font-face`` rules, each after the folder of its stylesheet.
    """
    drawn = drawn_characters(css, pages)
    kept = []
    for place, font in fonts:
        declarations = tinycss2.parse_blocks_contents(font.content, **CLEAN)
        face = {part.name: text(part.value) for part in declarations}
        path = place / URL.search(face.pop("src"))[1]
        # Only this class uses the theme's font of outlined icons.
        is_outlined = path.stem == "fa-regular-400"
        is_idle = is_outlined and ".fa-regular" not in css
        family = face["font-family"].strip('"')
        if is_idle or family not in css:
            continue
        # A family that isn't listed stops the build: what is drawn with it isn't known.
        (kind,) = (name for name in drawn if family.startswith(name))
        smaller = smaller_font(path, drawn[kind])
        url = f"data:font/woff2;base64,{b64encode(smaller).decode()}"
        if len(smaller) > INLINE and path.stem not in AT_ONCE:
            url = store(folder, path.stem, ".woff2", smaller)
        rules = "".join(f"{name}:{value};" for name, value in face.items())
        kept.append(f'@font-face{{{rules}src:url({url}) format("woff2")}}')
    return "".join(kept)
