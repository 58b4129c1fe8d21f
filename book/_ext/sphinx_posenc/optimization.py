"""Shrinks the built site: one stylesheet, one script, and subset fonts.

Instead of the files of Sphinx, the theme and the extensions, each page loads ``site.css`` and
``site.js``, which `merge` writes once all pages exist: the same styles in the same order, without
rules that can't match, with fonts subset to the glyphs that pages use, and ``book.js``, which
stands in for all other scripts. `guard` gives each page a policy: no third parties.
"""

import hashlib
import logging
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from itertools import count, groupby
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import unquote

import imagesize
import lxml.html
import tinycss2
from fontTools import subset
from rjsmin import jsmin
from sphinx.application import Sphinx
from svg_theme import stack

from . import metadata, theme

SITE = re.compile(r'(?<=_static/)site\.(css|js)(?=")')
IMAGE = re.compile(r'<img\b(?=[^>]* src="([^":]*)")(?![^>]* width=)')
URL = re.compile(r"""url\(\s*("[^"]*"|'[^']*'|[^)"']*?)\s*\)""")
TAG = re.compile(r"<script(?![^>]* src=).*?</script>|<[a-z][^>]*>", re.DOTALL)
WORD = re.compile(r"(?:--)?[A-Za-z_][\w-]*")
NOTICE = re.compile(r"/\*!.*?\*/", re.DOTALL)  # the author and the license
INLINE = 3000  # bytes; a smaller font isn't worth a separate request
# Fonts of headings and of nearly every formula: inlined in the stylesheet, and for formulas loaded
# early by `layout.html`, since a font that arrives after the text reflows it.
AT_ONCE = "KaTeX_Main-Regular", "KaTeX_Math-Italic", "Spectral-SemiBold"
SCRIPT = re.compile(r"<script(?![^>]* src=)[^>]*>(.*?)</script>", re.DOTALL)
CHARSET = '<meta charset="utf-8" />'
# Formulas and pictures need style attributes.
POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
CLEAN = {"skip_comments": True, "skip_whitespace": True}

logging.getLogger("fontTools").setLevel(logging.WARNING)


def load_merged(
    app: Sphinx, page: str, template: str, context: Any, doctree: Any
) -> None:
    """Make a page load the merged files (see webpack-macros.html), and no script but the book's."""
    context["styles"], context["last_script"] = theme.STYLES, "book.js"
    context["script_files"].clear()
    if app.config.html_optimized:
        context["styles"], context["last_script"] = ["site.css"], "site.js"
        app.listed = sorted(context["css_files"], key=lambda file: file.priority)
        context["css_files"].clear()


def size_images(app: Sphinx, body: str) -> str:
    """Set each image's size, to prevent layout shifts; lazy-load all but the first."""
    paths = {name: path for path, name in app.builder.images.items()}
    before = count()  # images so far

    def sized(image: re.Match[str]) -> str:
        path = app.srcdir / paths[Path(unquote(image[1])).name]
        width, height = map(round, imagesize.get(path))
        lazy = ' loading="lazy"' if next(before) else ""
        stacked = (
            stack(path.read_text(encoding="utf-8")) if path.suffix == ".svg" else None
        )
        ratio = f' style="--stacked: {stacked[1]:.3f}"' if stacked else ""
        return f'<img width="{width}" height="{height}" decoding="async"{lazy}{ratio}'

    return IMAGE.sub(sized, body)


def read_style(path: Path, folder: Path) -> str:
    """A stylesheet with its URLs relative to a folder."""

    def address(url: re.Match[str]) -> str:
        target = url[1].strip("\"'")
        if target.startswith(("data:", "#")):
            return url[0]
        file = os.path.relpath(path.parent / target.partition("?")[0], folder)
        return f'url("{Path(file).as_posix()}")'

    css = re.sub(
        r"@charset [^;]*;|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S
    )
    return URL.sub(address, css)


def text(tokens: list[Any]) -> str:
    """Serialize tokens, collapsing whitespace."""
    return re.sub(r"\s+", " ", tinycss2.serialize(tokens)).strip()


def names(selector: list[Any]) -> set[str]:
    """The elements, classes and ids that a selector names; ``:not(.a)`` and ``[b]`` name none."""
    return {
        token.value
        for before, token in zip([None, *selector], selector, strict=False)
        if token.type == "hash" or (token.type == "ident" and before != ":")
    }


def matching(rule: Any, words: set[str]) -> list[str]:
    """The selectors of a rule that can match."""
    parts = groupby(rule.prelude, lambda token: token == ",")
    selectors = [[*tokens] for is_comma, tokens in parts if not is_comma]
    return [text(selector) for selector in selectors if names(selector) <= words]


def useful(rule: Any, read: set[str]) -> list[str]:
    """What a rule declares, and nested rules, without custom properties that nothing reads."""
    parts = tinycss2.parse_blocks_contents(rule.content, **CLEAN)
    return [
        text([part])
        for part in parts
        if part.type != "declaration" or part.name[:2] != "--" or part.name in read
    ]


def purge(rules: list[Any], words: set[str], read: set[str]) -> str:
    """Keep rules that name only these words, and custom properties and animations that are read."""
    css = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors, inside = matching(rule, words), useful(rule, read)
            if selectors and inside:
                css.append(f"{','.join(selectors)}{{{''.join(inside)}}}")
        elif rule.at_keyword in {"media", "supports"}:
            inner = tinycss2.parse_rule_list(rule.content, **CLEAN)
            if within := purge(inner, words, read):
                css.append(f"@{rule.at_keyword} {text(rule.prelude)}{{{within}}}")
        elif "keyframes" not in rule.at_keyword or text(rule.prelude) in read:
            css.append(text([rule]))
    return "".join(css)


def used_rules(rules: list[Any], words: set[str]) -> str:
    """The rules that can match, by the words in tags and scripts, and the properties they read."""
    # Twice: what only dropped rules would read goes in the second round.
    css = purge(
        rules, words, words | {*re.findall(r"--[\w-]+", tinycss2.serialize(rules))}
    )
    values = " ".join(re.findall(r"var\(\s*--[\w-]+|animation[\w-]*:[^;}]*", css))
    return purge(rules, words, words | {*re.findall(r"[\w-]+", values)})


def smaller_font(path: Path, characters: set[str]) -> bytes:
    """Subset a font to these characters.

    The space is always kept: browsers take the line height from the first font that has one.
    """
    text = f"--text={''.join(sorted({' ', *characters}))}"
    options = ["--flavor=woff2", "--no-hinting", "--layout-features=kern"]
    with NamedTemporaryFile() as out:
        subset.main([str(path), text, *options, f"--output-file={out.name}"])
        return out.read()


def faces(fonts: list[Any], css: str, pages: Iterable[str], folder: Path) -> str:
    """The fonts that rules use, subset to the characters of formulas, icons and headings."""
    drawn = {
        "KaTe": "",
        "Font": "".join(re.findall("[\ue000-\uf8ff]", css)),
        "Spec": "",
    }
    for page in map(lxml.html.fromstring, pages):
        # MathML is for screen readers: its characters aren't drawn.
        formulas = [*page.find_class("katex-html"), *page.find_class("plain")]
        headings = [*page.find_class("navbar-brand"), *page.iter("h1", "h2", "h3")]
        drawn["KaTe"] += "".join(each.text_content() for each in formulas)
        drawn["Spec"] += "".join(each.text_content() for each in headings)
    kept = []
    for font in fonts:
        declared = tinycss2.parse_blocks_contents(font.content, **CLEAN)
        face = {each.name: text(each.value) for each in declared}
        source, family = URL.search(face.pop("src")), face["font-family"].strip('"')
        path = folder / (source[1].strip('"') if source else "")
        # Only this class uses the theme's font of outlined icons.
        if family in css and (path.stem != "fa-regular-400" or ".fa-regular" in css):
            smaller = smaller_font(path, {*drawn[family[:4]]})
            url = f"data:font/woff2;base64,{b64encode(smaller).decode()}"
            if len(smaller) > INLINE and path.stem not in AT_ONCE:
                url = store(folder, path.stem, ".woff2", smaller)
            rules = "".join(f"{name}:{value};" for name, value in face.items())
            kept.append(f'@font-face{{{rules}src:url({url}) format("woff2")}}')
    return "".join(kept)


def store(folder: Path, name: str, suffix: str, content: bytes) -> str:
    """Write a file with a hash of its content in its name, and return the name."""
    path = folder / f"{name}.{hashlib.sha256(content).hexdigest()[:10]}{suffix}"
    path.write_bytes(content)
    return path.name


def merge(app: Sphinx, pages: dict[Path, str]) -> None:
    """Write the site's stylesheet and script, and reference them from its pages."""
    site = app.outdir.resolve()
    folder = site / "_static"
    # What is loaded: the book's script, the styles of the themes and the book's, in this order.
    code = jsmin((folder / "book.js").read_text("utf-8"))
    search = [path.read_text("utf-8") for path in (folder / "search").glob("*.js")]
    paths = [folder / name for name in theme.STYLES]
    paths += [site / file.filename.partition("?")[0] for file in app.listed]
    styles = "".join(read_style(path, folder) for path in paths)
    rules = tinycss2.parse_rule_list(styles, **CLEAN)
    fonts = [rule for rule in rules if getattr(rule, "at_keyword", "") == "font-face"]
    others = [rule for rule in rules if rule not in fonts]
    # Classes and ids that pages have, or that scripts may give to something.
    tags = {tag for page in pages.values() for tag in TAG.findall(page)}
    css = used_rules(others, {*WORD.findall(" ".join([code, *search, *tags]))})
    notices = "".join(
        n for path in paths for n in NOTICE.findall(path.read_text("utf-8"))
    )
    css = f'@charset "utf-8";{notices}{faces(fonts, css, pages.values(), folder)}{css}'
    names = {"css": store(folder, "site", ".css", css.encode())}
    names["js"] = store(folder, "site", ".js", code.encode())
    for path, html in pages.items():
        pages[path] = SITE.sub(lambda found: names[found[1]], html)
    loaded = "".join([*pages.values(), code, css])
    for path in folder.rglob("*.*"):  # most files of the theme go
        if path.is_file() and path.name not in loaded and "LICENSE" not in path.name:
            path.unlink()


def guard(html: str) -> str:
    """Add the Content-Security-Policy to a page."""
    digests = {
        hashlib.sha256(script.encode()).digest() for script in SCRIPT.findall(html)
    }
    scripts = " ".join(
        sorted(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    )
    policy = POLICY.format(scripts=scripts)
    tag = f'{CHARSET}\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />'
    return html.replace(CHARSET, tag, 1)


def finish(app: Sphinx) -> None:
    """Optimize the pages, and add a security policy to each."""
    site = app.outdir.resolve()
    paths = [
        path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    ]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    if app.config.html_optimized:
        merge(app, pages)
    for path, html in pages.items():
        if path.name == "404.html" and app.config.html_baseurl:
            html = metadata.from_anywhere(html, app.config.html_baseurl)
        path.write_text(guard(html), encoding="utf-8")
