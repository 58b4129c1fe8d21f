"""Makes pages light and safe: one stylesheet, one script, sized images, and a policy.

Instead of the files of Sphinx, the theme and the extensions, each page loads ``site.css`` and
``site.js``. While a page is written, `load_merged` puts these two names in it. Once all pages
exist, `merge` writes the two files and puts their hashed names in the pages: the same styles in the
same order, without rules that can't match (`styles`), with fonts subset (`fonts`), and ``book.js``,
which stands in for all other scripts. `guard` gives each page a policy: no third parties.
"""

import hashlib
import re
from base64 import b64encode
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import imagesize
import tinycss2
from rjsmin import jsmin
from sphinx.application import Sphinx
from svg_theme import stack

from . import metadata, theme
from .fonts import faces
from .styles import CLEAN, read_style, store, used_rules

SITE = re.compile(r'(?<=_static/)site\.(css|js)(?=")')
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


def load_merged(app: Sphinx, context: dict[str, Any]) -> list[str]:
    """Make a page load the merged files (see webpack-macros.html), and no script but the book's.

    Returns the stylesheets that Sphinx and the extensions list for it, which `merge` needs: paths
    from the site's root, in the order in which they apply. `finish` takes those of the last page.
    """
    context["styles"], context["last_script"] = theme.STYLES, "book.js"
    context["script_files"].clear()
    if not app.config.html_optimized:
        return []
    context["styles"], context["last_script"] = ["site.css"], "site.js"
    files = sorted(context["css_files"], key=lambda file: file.priority)
    context["css_files"].clear()
    return [file.filename.partition("?")[0] for file in files]


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


def write_style(
    site: Path, stylesheets: list[str], pages: list[str], code: str
) -> tuple[str, str]:
    """Write the site's stylesheet, for these pages and this script; its name and its text."""
    folder = site / "_static"
    paths = [folder / name for name in theme.STYLES]
    paths += [site / name for name in stylesheets]
    styles = "".join(read_style(path, folder) for path in paths)
    rules = tinycss2.parse_rule_list(styles, **CLEAN)
    fonts = [rule for rule in rules if getattr(rule, "at_keyword", "") == "font-face"]
    others = [rule for rule in rules if rule not in fonts]
    # Classes and ids that pages have, or that scripts may give to something.
    search = [path.read_text("utf-8") for path in (folder / "search").glob("*.js")]
    tags = {tag for page in pages for tag in TAG.findall(page)}
    css = used_rules(others, {*WORD.findall(" ".join([code, *search, *tags]))})
    notices = [
        notice for path in paths for notice in NOTICE.findall(path.read_text("utf-8"))
    ]
    head = f'@charset "utf-8";{"".join(notices)}'
    css = f"{head}{faces(fonts, css, pages, folder)}{css}"
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


def merge(app: Sphinx, pages: dict[Path, str], stylesheets: list[str]) -> None:
    """Write the site's stylesheet and script, and reference them from its pages."""
    site = app.outdir.resolve()
    folder = site / "_static"
    code = jsmin((folder / "book.js").read_text("utf-8"))
    css_name, css = write_style(site, stylesheets, [*pages.values()], code)
    names = {"css": css_name, "js": store(folder, "site", ".js", code.encode())}
    for path, html in pages.items():
        pages[path] = SITE.sub(lambda reference: names[reference[1]], html)
    remove_unnamed(folder, "".join([*pages.values(), code, css]))


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


def finish(app: Sphinx, stylesheets: list[str]) -> None:
    """Optimize the pages, and add a security policy to each; see `load_merged`."""
    site = app.outdir.resolve()
    paths = [
        path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    ]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    if app.config.html_optimized:
        merge(app, pages, stylesheets)
    for path, html in pages.items():
        if path.name == "404.html" and app.config.html_baseurl:
            html = metadata.from_anywhere(html, app.config.html_baseurl)
        path.write_text(guard(html), encoding="utf-8")
