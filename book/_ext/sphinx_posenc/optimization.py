"""Make the built pages light: one style, one script, and fonts of the glyphs that are drawn.

Sphinx, the theme and the extensions each add their own files to every page, and most of the rules
and glyphs in them are never used. When the site is built, `lighten` merges what the pages load, in
its order; leaves out style rules that can match nothing, and glyphs that no page draws; tells the
pages how large their pictures are; and deletes the files that nothing names any more. It changes
nothing that a reader sees. What one page or style needs is computed once, and kept for the next.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from io import BytesIO
from itertools import count, groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import imagesize
import tinycss2
from bs4 import BeautifulSoup
from fontTools import subset
from fontTools.ttLib import TTFont
from joblib import Memory
from rjsmin import jsmin

SCRIPT = re.compile(r"[ \t]*<script([^>]*)>(.*?)</script>\n?", re.DOTALL)
STYLE = re.compile(r'[ \t]*<link(?=[^>]* rel="stylesheet")[^>]* href="([^"]*)"[^>]*>\n?')
IMAGE = re.compile(r"<img\b[^>]*>")
URL = re.compile(r"""url\(\s*("[^"]*"|'[^']*'|[^)"']*?)\s*\)""")
FAMILY = re.compile(r"(?<![\w-])font(?:-family)?:[^;]*?(KaTeX_\w+|Font ?Awesome[\w ]*)")
WORD = re.compile(r"[A-Za-z_][\w-]*")
PROPERTY = re.compile(r"--[\w-]+")
FILE = re.compile(r"[\w.-]+\.\w+")
NOTICE = re.compile(r"/\*!.*?\*/", re.DOTALL)  # the author and the license
# The version switcher alone reads the name of the page, and the book has no versions.
PAGENAME = "DOCUMENTATION_OPTIONS.pagename"
INLINE = 3000  # bytes: a smaller font is not worth a request of its own
# Nearly every formula draws with these. They are in the style, and asked for before the text is
# there: a browser that reads them later breaks lines anew.
FORMULAS = {"KaTeX_Main-Regular": "1em KaTeX_Main", "KaTeX_Math-Italic": "italic 1em KaTeX_Math"}
# A picture keeps its shape where it is made narrower, unless another rule says how high it is.
SIZED = ":where(img[height]){height:auto}"

logging.getLogger("fontTools").setLevel(logging.WARNING)


def used(html: str, classes: set[str]) -> tuple[set[str], dict[str, set[str]]]:
    """What style rules can match in a page, and the characters below each of some classes.

    MathML is for screen readers: its characters are not drawn.
    """
    words: set[str] = set()
    drawn: dict[str, set[str]] = {}
    page = BeautifulSoup(html, "html.parser")
    tags = page.find_all()
    for tag in tags:
        words.update([tag.name, *tag.get("class", []), tag.get("id", "")])
    for script in page("script"):
        words.update(WORD.findall(script.text))
    for formula in page("math"):
        formula.clear()
    for tag in tags:
        for name in classes.intersection(tag.get("class", [])):
            drawn.setdefault(name, set()).update(tag.text)
    return words, drawn


# ---------------------------------------------------------------- styles


def read_style(path: Path, folder: Path) -> str:
    """A stylesheet with its imports in place, and its addresses as seen from a folder."""

    def address(found: re.Match[str]) -> str:
        target = found[1].strip("\"'")
        if target.startswith(("data:", "#")):
            return found[0]
        file = os.path.relpath(path.parent / target.partition("?")[0], folder)
        return f'url("{Path(file).as_posix()}")'

    css = re.sub(r"@charset [^;]*;|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    *imports, css = re.split(r'\s*@import "([^"]*)";', css)
    return "".join(read_style(path.parent / name, folder) for name in imports if name.strip()) + (
        URL.sub(address, css)
    )


def words_of(selector: list[Any]) -> set[str]:
    """The elements, classes and ids without which a selector matches nothing.

    What stands in parentheses, as in ``:not(.a)``, and in brackets is not asked for.
    """
    words, before = set(), ""
    for token in selector:
        if (token.type == "ident" and before != ":") or token.type == "hash":
            words.add(token.value)
        before = token.value if token.type == "literal" else ""
    return words


def split(tokens: list[Any]) -> list[list[Any]]:
    """Tokens, split at their commas."""
    return [list(part) for comma, part in groupby(tokens, lambda token: token == ",") if not comma]


def text(tokens: list[Any]) -> str:
    """Tokens as text, with a blank for each run of white space."""
    return re.sub(r"\s+", " ", tinycss2.serialize(tokens)).strip()


def parse(css: str) -> list[Any]:
    return tinycss2.parse_rule_list(css, skip_comments=True, skip_whitespace=True)


def declarations(rule: Any) -> list[Any]:
    """What stands between the braces of a rule."""
    return tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)


def purge(rules: list[Any], words: set[str], read: set[str]) -> str:
    """The rules that elements made of these words can match, with the properties that are read."""
    css = []
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [text(s) for s in split(rule.prelude) if words_of(s) <= words]
            inside = [
                d
                for d in declarations(rule)
                if d.type != "declaration" or d.name in read or not d.name.startswith("--")
            ]
            if kept and inside:
                css.append(f"{','.join(kept)}{{{''.join(text([d]) for d in inside)}}}")
        elif rule.at_keyword in {"media", "supports"}:
            if rules_inside := purge(parse(tinycss2.serialize(rule.content)), words, read):
                css.append(f"@{rule.at_keyword} {text(rule.prelude)}{{{rules_inside}}}")
        elif "keyframes" not in rule.at_keyword or text(rule.prelude) in read:
            css.append(text([rule]))
    return "".join(css)


def used_rules(css: str, words: set[str], elsewhere: set[str]) -> str:
    """The style without what nothing matches, and then without what nothing reads."""
    while True:
        values = re.sub(r"([{;]\s*)--[\w-]+:", r"\1", css)
        read = elsewhere | set(re.findall(r"--[\w-]+", values))
        read |= set(re.findall(r"[\w-]+", " ".join(re.findall(r"animation[\w-]*:([^;}]*)", css))))
        smaller = purge(parse(css), words, read)
        if smaller == css:
            return css
        css = smaller


# ---------------------------------------------------------------- fonts


def fonts_of(rules: list[Any]) -> dict[str, set[str]]:
    """The classes that draw in each font: the last one of each selector."""
    fonts: dict[str, set[str]] = {}
    for rule in rules:
        if rule.type == "qualified-rule" and (name := family(rule)):
            for selector in split(rule.prelude):
                classes = re.findall(r"\.([\w-]+)", text(selector))
                fonts.setdefault(name, set()).update(classes[-1:])
    return fonts


def family(rule: Any) -> str:
    """The font family that a rule names first, or nothing."""
    found = FAMILY.search(text(rule.content).replace("\\", ""))
    return found[1] if found else ""


def smaller_font(path: Path, characters: set[str]) -> bytes:
    """The font with the glyphs of these characters alone.

    The blank is always there: a browser takes the height of a line from the first font with one.
    """
    font = TTFont(path, recalcTimestamp=False)
    reduced = subset.Subsetter(
        subset.Options(hinting=False, layout_features=["*"], notdef_outline=True)
    )
    reduced.populate(unicodes=map(ord, {" ", *characters}))
    reduced.subset(font)
    font.flavor = "woff2"
    out = BytesIO()
    font.save(out)
    return out.getvalue()


def is_asked_for(face: Any, css: str) -> bool:
    """Whether a rule that is left can ask for this face: one that is slanted, if it is."""
    name = family(face)
    slanted = rf"{name}[^}}]*italic|italic[^}}]*{name}|textit"
    return "italic" not in text([face]) or re.search(slanted, css) is not None


def faces(rules: list[Any], drawn: dict[str, set[str]], folder: Path, memory: Memory) -> str:
    """The fonts that draw something, with their glyphs that are drawn; small ones in the style."""
    css = []
    for rule in rules:
        characters = drawn.get(family(rule))
        source = URL.search(text([rule]))
        if characters and source:
            path = folder / source[1].strip('"')
            font = memory.cache(smaller_font)(path, characters)
            url = f"data:font/woff2;base64,{b64encode(font).decode()}"
            if len(font) > INLINE and path.stem not in FORMULAS:
                url = store(folder, path.stem, ".woff2", font)
            kept = "".join(text([d]) for d in declarations(rule) if d.name != "src")
            css.append(f'@font-face{{{kept}src:url({url}) format("woff2")}}')
    return "".join(css)


# ---------------------------------------------------------------- files


def store(folder: Path, name: str, suffix: str, content: bytes) -> str:
    """Write a file, named by a hash of its content, and return the name."""
    path = folder / f"{name}.{hashlib.sha256(content).hexdigest()[:10]}{suffix}"
    path.write_bytes(content)
    return path.name


def target(page: Path, link: str) -> Path:
    """The file that a link in a page names."""
    return Path(os.path.normpath(page.parent / unquote(link.partition("?")[0])))


def relative(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def scripts_of(page: Path, html: str) -> list[tuple[re.Match[str], Path | str]]:
    """The scripts that a page loads, and the ones in its head: where, and which.

    The theme's own first one has an attribute: it sets the theme before anything is drawn.
    """
    found: list[tuple[re.Match[str], Path | str]] = []
    for script in SCRIPT.finditer(html):
        link = re.search(r' src="([^"]*)"', script[1])
        if link:
            found.append((script, target(page, link[1])))
        elif not script[1] and script.start() < html.index("</head>"):
            found.append((script, script[2]))
    return found


def merge_scripts(pages: dict[Path, str], folder: Path) -> str:
    """Put what every page runs into one script, and return the code of all script files.

    It stands where the theme's own script does, after the page. What only some pages run
    (searching) follows it.
    """
    found = {page: scripts_of(page, html) for page, html in pages.items() if "<script" in html}
    first, *others = ([what for _, what in scripts] for scripts in found.values())
    shared = [what for what in dict.fromkeys(first) if all(what in other for other in others)]
    # An empty statement before each file keeps its "use strict" from holding for all of them.
    sources = [what if isinstance(what, str) else what.read_text("utf-8") for what in shared]
    code = "".join(f";\n{jsmin(source, keep_bang_comments=True)}" for source in sources)
    name = store(folder, "site", ".js", code.encode())
    for page, scripts in found.items():
        html, after = pages[page], []
        for script, what in scripts:
            if isinstance(what, Path) and what not in shared:
                after.append(f'<script src="{relative(what, page)}"></script>\n')
                code += what.read_text("utf-8") if what.parent == folder else ""
            if isinstance(what, Path) or what in shared or PAGENAME in what:
                html = html.replace(script[0], "", 1)
        after.insert(0, f'<script src="{relative(folder / name, page)}"></script>\n')
        pages[page] = html.replace("</body>", "".join(after) + "</body>")
    return code


def merge_styles(pages: dict[Path, str], folder: Path, code: str, memory: Memory) -> str:
    """Put the styles of all pages into one, without what neither pages nor scripts need."""
    links = [target(page, link) for page, html in pages.items() for link in STYLE.findall(html)]
    paths = list(dict.fromkeys(links))
    notices = "".join(n for path in paths for n in NOTICE.findall(path.read_text("utf-8")))
    rules = parse("".join(read_style(path, folder) for path in paths))
    fonts = [rule for rule in rules if getattr(rule, "at_keyword", "") == "font-face"]
    classes = fonts_of(rules)
    words, below = set(WORD.findall(code)), dict[str, set[str]]()
    for html in pages.values():
        of_page, drawn = memory.cache(used)(html, set().union(*classes.values()))
        words |= of_page
        for name, characters in drawn.items():
            below.setdefault(name, set()).update(characters)
    elsewhere = set(PROPERTY.findall("".join([*pages.values(), code])))
    others = tinycss2.serialize([rule for rule in rules if rule not in fonts])
    css = memory.cache(used_rules)(others, words, elsewhere)
    icons = set(re.findall("[\ue000-\uf8ff]", css))
    drawn = {
        name: icons.union(*(below[each] for each in names & below.keys()))
        for name, names in classes.items()
        if names & below.keys()
    }
    fonts = [font for font in fonts if is_asked_for(font, css)]
    css = f'@charset "utf-8";{notices}{faces(fonts, drawn, folder, memory)}{SIZED}{css}'
    name = store(folder, "site", ".css", css.encode())
    ask = "".join(f'document.fonts.load("{font}");' for font in FORMULAS.values())
    for page, html in pages.items():
        tag = f'    <link rel="stylesheet" href="{relative(folder / name, page)}" />\n'
        tags = iter([tag + (f"    <script>{ask}</script>\n" if 'class="katex"' in html else "")])
        pages[page] = STYLE.sub(lambda _, tags=tags: next(tags, ""), html)
    return css


def size_images(page: Path, html: str) -> str:
    """Reserve the place of each picture; load those after the first when a reader comes near."""
    before = count()

    def sized(found: re.Match[str]) -> str:
        source = re.search(r' src="(?!data:|\w+://)([^"]*)"', found[0])
        if not source or " width=" in found[0]:
            return found[0]
        width, height = map(round, imagesize.get(target(page, source[1])))
        lazy = ' loading="lazy"' if next(before) else ""
        return f'<img width="{width}" height="{height}" decoding="async"{lazy}{found[0][4:]}'

    return IMAGE.sub(sized, html)


def delete_unnamed(folder: Path, texts: Iterable[str]) -> None:
    """Delete the files of a folder that no text names, except for licenses."""
    named = set(FILE.findall("\n".join(texts)))
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name not in named and "LICENSE" not in path.name:
            path.unlink()


def lighten(pages: dict[Path, str], site: Path, memory: Memory) -> None:
    """Make the pages of a built site light, and the files beside them."""
    folder = site / "_static"
    code = merge_scripts(pages, folder)
    css = merge_styles(pages, folder, code, memory)
    for path, html in pages.items():
        pages[path] = size_images(path, html)
    for unnamed in (folder, site / "_images"):
        delete_unnamed(unnamed, [*pages.values(), code, css])
