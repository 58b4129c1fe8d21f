"""Makes pages light and safe: one stylesheet, one script, sized images, and a policy.

Sphinx writes pages that load the stylesheets of the theme and the extensions one by one. Once all
pages exist, `merge` writes ``site.css``, the same styles in the same order without rules that can't
match (`styles`), with fonts subset (`fonts`), and puts its hashed name, and that of the script, in
each page. `guard` gives each page a policy: no third parties.
"""

import hashlib
import re
from base64 import b64encode
from itertools import count
from pathlib import Path
from urllib.parse import unquote

import imagesize
import tinycss2
from rjsmin import jsmin
from sphinx.application import Sphinx
from svg_theme import stack

from . import metadata
from .fonts import faces
from .styles import CLEAN, read_style, store, used_rules

STYLE = re.compile(
    r'\s*<link rel="stylesheet"[^>]* href="([./]*)(_static/[^"?]*)[^>]*>'
)
IMAGE = re.compile(r'<img\b(?=[^>]* src="([^":]*)")(?![^>]* width=)')
TAG = re.compile(r"<script(?![^>]* src=).*?</script>|<[a-z][^>]*>", re.DOTALL)
WORD = re.compile(r"(?:--)?[A-Za-z_][\w-]*")
NOTICE = re.compile(r"/\*!.*?\*/", re.DOTALL)  # the author and the license
SCRIPT = re.compile(r"<script(?![^>]* src=)[^>]*>(.*?)</script>", re.DOTALL)
CHARSET = '<meta charset="utf-8" />'
# Formulas and pictures need style attributes.
POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
Pages = dict[Path, str]  # HTML by file


def size_images(html: str, folder: Path) -> str:
    """Set each image's size, to prevent layout shifts; lazy-load all but the first."""
    before = count()  # images so far

    def sized(image: re.Match[str]) -> str:
        path = folder / unquote(image[1])
        width, height = map(round, imagesize.get(path))
        lazy = ' loading="lazy"' if next(before) else ""
        ratio = ""
        if path.suffix == ".svg" and (stacked := stack(path.read_text("utf-8"))):
            ratio = f' style="--stacked: {stacked.ratio:.3f}"'
        return f'<img width="{width}" height="{height}" decoding="async"{lazy}{ratio}'

    return IMAGE.sub(sized, html)


def write_style(site: Path, pages: Pages, code: str) -> tuple[str, str]:
    """Write the site's stylesheet, for these pages and this script; its name and its text."""
    folder = site / "_static"
    paths = [site / name for _, name in STYLE.findall(pages[site / "index.html"])]
    styles = "".join(read_style(path, folder) for path in paths)
    rules = tinycss2.parse_rule_list(styles, **CLEAN)
    fonts = [rule for rule in rules if getattr(rule, "at_keyword", "") == "font-face"]
    others = [rule for rule in rules if rule not in fonts]
    # Classes and ids that pages have, or that scripts may give to something.
    search = [path.read_text("utf-8") for path in (folder / "search").glob("*.js")]
    tags = {tag for page in pages.values() for tag in TAG.findall(page)}
    css = used_rules(others, {*WORD.findall(" ".join([code, *search, *tags]))})
    notices = "".join(
        note for path in paths for note in NOTICE.findall(path.read_text("utf-8"))
    )
    head = f'@charset "utf-8";{notices}'
    css = f"{head}{faces(fonts, css, pages.values(), folder)}{css}"
    return store(folder, "site", ".css", css.encode()), css


def remove_unnamed(folder: Path, loaded: str) -> None:
    """Remove the files, most of them the theme's, whose names what is loaded doesn't have.

    A script that puts a file's name together from parts would lose the file: names in ``book.js``
    and in the search's scripts are written out. Licenses stay with what they are for.
    """
    for path in folder.rglob("*.*"):
        is_license = "LICENSE" in path.name
        if path.is_file() and path.name not in loaded and not is_license:
            path.unlink()


def merge(site: Path, pages: Pages) -> None:
    """Write the site's stylesheet and script, and reference them from its pages."""
    folder = site / "_static"
    code = jsmin((folder / "book.js").read_text("utf-8"))
    style, css = write_style(site, pages, code)
    script = store(folder, "site", ".js", code.encode())
    for path, html in pages.items():
        if first := STYLE.search(html):
            link = f'\n    <link rel="stylesheet" href="{first[1]}_static/{style}" />'
            rest = STYLE.sub("", html[first.end() :])
            html = html[: first.start()] + link + rest
        pages[path] = html.replace('_static/book.js"', f'_static/{script}"')
    remove_unnamed(folder, "".join([*pages.values(), code, css]))


def guard(html: str) -> str:
    """Add the Content-Security-Policy to a page."""
    digests = {
        b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in SCRIPT.findall(html)
    }
    scripts = " ".join(f"'sha256-{digest}'" for digest in sorted(digests))
    policy = POLICY.format(scripts=scripts)
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'
    return html.replace(CHARSET, f"{CHARSET}\n    {tag}", 1)


def finish(app: Sphinx) -> None:
    """Optimize the pages, and add a security policy to each.

    A site is finished once, as Sphinx has just written it into an empty folder.
    """
    site, url = app.outdir.resolve(), app.config.html_baseurl
    pages = {
        path: size_images(path.read_text(encoding="utf-8"), path.parent)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    if app.config.html_optimized:
        merge(site, pages)
    for path, html in pages.items():
        if path.name == "404.html" and url:
            html = metadata.from_anywhere(html, url)
        path.write_text(guard(html), encoding="utf-8")
