"""Makes pages light and safe: one stylesheet, one script, sized images, and a policy.

Sphinx writes pages that load the stylesheets of the theme and the extensions one by one. Once all
pages exist, `merge` writes ``site.css``, the same styles in the same order without rules that can't
match (`styles`), with fonts subset (`fonts`), and puts its hashed name, and that of the script, in
each page. `guard` gives each page a policy: no third parties.
"""

import hashlib
import re
from base64 import b64encode
from urllib.parse import unquote

import imagesize
from rjsmin import jsmin
from sphinx.errors import ExtensionError
from stacking import stack

from . import metadata
from .fonts import faces
from .styles import parsed, store, used_rules

# <link rel="stylesheet" type="text/css" href="../_static/book.css?v=1a2b" />
STYLE = re.compile(
    r'\s*<link rel="stylesheet"[^>]* href="([./]*)(?P<name>_static/[^"?]*)[^>]*>'
)
# <img alt="Clocks" src="../_images/turn.svg" />, without a width
IMAGE = re.compile(r'<img\b(?=[^>]*\ssrc="([^":]+)")(?![^>]* width=)')
UNSIZED = re.compile(r'<img\b(?![^>]* width="[1-9])[^>]*>')
STYLED_TWICE = re.compile(r'(<img\b[^>]* style="[^"]*)("[^>]*) style="([^"]*)"')
# <script src="../_static/page/tools.js"></script>, all of them together, and one alone
SOURCES = re.compile(r'(?:\s*<script src="([./]*)_static/page/[\w.]+"></script>)+')
PART = re.compile(r'<script src="[./]*(?P<name>_static/page/[\w.]+)"')
# A style, or a part of the script, that none of these patterns found
LEFT = re.compile('rel="stylesheet"|_static/page/')
# <script>…</script> of the page, <div class="cell">
TAG = re.compile(r"<script(?![^>]* src=).*?</script>|<[a-z][^>]*>", re.DOTALL)
WORD = re.compile(r"(?:--)?[A-Za-z_][\w-]*")
NOTICE = re.compile(r"/\*!.*?\*/", re.DOTALL)  # the author and the license
# <script>…</script> of the page, which its policy names by a hash of what is inside
SCRIPT = re.compile(r"<script(?![^>]* src=)[^>]*>(.*?)</script>", re.DOTALL)
CHARSET = '<meta charset="utf-8" />'
# Formulas and pictures need style attributes.
POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)


def size_images(html, page):
    """Set the size of a page's images, to prevent layout shifts; lazy-load all but the first."""
    lazy = ""

    def sized(image):
        nonlocal lazy
        path = page.parent / unquote(image[1])
        width, height = map(round, imagesize.get(path))
        tag = f'<img width="{width}" height="{height}" decoding="async"{lazy}'
        lazy = ' loading="lazy"'
        if path.suffix == ".svg" and (stacked := stack(path.read_text("utf-8"))):
            tag += f' style="--stacked: {stacked.ratio:.3f}"'
        return tag

    # Of two style attributes, a browser drops the second: so they become one.
    html = STYLED_TWICE.sub(r"\1; \3\2", IMAGE.sub(sized, html))
    if unsized := UNSIZED.search(html):
        raise ExtensionError(f"{page}: give this image a width: {unsized[0]}")
    return html


def files_of_all(pages, pattern):
    """The files that such tags name, in order: the same on each page that has any."""
    lists = {
        tuple(tag["name"] for tag in pattern.finditer(html)) for html in pages.values()
    }
    lists.discard(())  # pages for other sites' frames
    if len(lists) != 1:
        raise ExtensionError(f"pages load different files: {sorted(lists)}")
    return lists.pop()


def write_style(site, pages, code):
    """Write the site's stylesheet, for these pages and this script, and return its name."""
    folder = site / "_static"
    rules, fonts, notices = [], [], ""
    for name in files_of_all(pages, STYLE):
        css = (site / name).read_text("utf-8")
        notices += "".join(NOTICE.findall(css))
        for rule in parsed(css):
            if rule.type == "at-rule" and rule.at_keyword == "font-face":
                fonts.append(((site / name).parent, rule))
            else:
                rules.append(rule)
    # Classes and ids that pages have, or that scripts may give to something. They are words of tags
    # and of code: a word too many keeps a rule, one too few would lose it.
    words = [code, *(path.read_text("utf-8") for path in folder.glob("search/*.js"))]
    words += {tag for page in pages.values() for tag in TAG.findall(page)}
    css = used_rules(rules, {*WORD.findall(" ".join(words))})
    css = f'@charset "utf-8";{notices}{faces(fonts, css, pages.values(), folder)}{css}'
    return store(folder, "site", ".css", css.encode())


def merge(site, pages):
    """Write the site's stylesheet and script, and name them in its pages, HTML by path."""
    folder = site / "_static"
    parts = files_of_all(pages, PART)
    code = jsmin("\n".join((site / part).read_text("utf-8") for part in parts))
    style = write_style(site, pages, code)
    script = store(folder, "site", ".js", code.encode())
    for path, html in pages.items():
        joined = rf'\n<script src="\1_static/{script}"></script>'
        light, places = SOURCES.subn(joined, STYLE.sub("", html))
        if places > 1 or LEFT.search(light):
            raise ExtensionError(
                f"{path}: a style or a script where it isn't looked for"
            )
        # Pages for other sites' frames have no stylesheet.
        if first := STYLE.search(html):
            link = f'<link rel="stylesheet" href="{first[1]}_static/{style}" />'
            light = light.replace("</title>", f"</title>\n    {link}", 1)
        pages[path] = light


def guard(html):
    """Add the Content-Security-Policy to a page."""
    before, after = html.split(CHARSET, 1)  # an error if a page has none
    digests = set()
    for script in SCRIPT.findall(html):
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        digests.add(f"'sha256-{digest}'")
    policy = POLICY.format(scripts=" ".join(sorted(digests)))
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}" />'
    return f"{before}{CHARSET}\n    {tag}{after}"


def finish(app):
    """Optimize the pages, and add a security policy to each.

    A site is finished once, as Sphinx has just written it into an empty folder. `guard` comes last:
    a policy has the digests of the scripts that are then in a page.
    """
    site, url = app.outdir.resolve(), app.config.html_baseurl
    pages = {
        path: size_images(path.read_text(encoding="utf-8"), path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.relative_to(site).parts
    }
    if app.config.html_optimized:
        merge(site, pages)
    for path, html in pages.items():
        if path.name == "404.html" and url:
            html = metadata.from_anywhere(html, url)
        path.write_text(guard(html), encoding="utf-8")
