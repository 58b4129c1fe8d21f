"""Interactive figures on the pages of the site.

A widget of `posenc.book.widgets` in a notebook becomes a ``<posenc-figure>`` element around its
picture, and so does an image of the class ``live-heatmap`` on another page. The picture is the
fallback without JavaScript and in print. The script is inlined into each page with a figure, since
a page opened from disk can't load modules.
"""

import os
import re
from html import escape
from pathlib import Path

from docutils import nodes
from rjsmin import jsmin
from sphinx.errors import ExtensionError

from posenc.book import widgets

# A kind is the name of a class, in lowercase: "heatmap" is Heatmap.
CLASSES = {name.lower(): name for name in widgets.FIGURES}


def script(*kinds, entries=("website", "text")):
    """The modules as a classic script, which runs before the first paint: no layout shift."""
    return jsmin(f"(() => {{\n{widgets.script(*kinds, entries=entries)}}})();")


def live(kind, state, image):
    """The element, with its picture inside, as nodes."""
    tag = f'<posenc-figure kind="{kind.lower()}"'
    for name, value in state.items():
        tag += f' {name.replace("_", "-")}="{escape(str(value))}"'
    start = nodes.raw("", f"{tag}>", format="html")
    return [start, image, nodes.raw("", "</posenc-figure>", format="html")]


def replace_outputs(app, doctree):
    """Replace widgets in notebooks, and images marked as live, by live figures."""
    for cell in [*doctree.findall(nodes.container)]:
        if figure := cell.get("cell_metadata", {}).get("figure"):  # from myst_markup.py
            image = next(cell.findall(nodes.image), None)
            if image is None:
                raise ExtensionError(
                    f"{app.env.docname}: {figure['kind']} has no picture: "
                    "run `make stills`, and the chapter again"
                )
            # MyST-NB has a container for an output, with one for each of its MIME types, of which
            # it chooses later. The picture is in the latter; the figure replaces the output.
            output = image.parent.parent
            output.replace_self(live(figure["kind"], figure["state"], image))
    for image in [*doctree.findall(nodes.image)]:  # on other pages
        for name in image["classes"]:
            if name.startswith("live-"):
                draw_image(app, image, name.removeprefix("live-"))


def draw_image(app, image, kind):
    """Replace an image by the live figure, in its first state."""
    if kind not in CLASSES:
        raise ExtensionError(f"{app.env.docname}: no live figure is called {kind!r}")
    widget = widgets.FIGURES[CLASSES[kind]]()
    path = Path(os.path.relpath(widget.still(), app.srcdir))
    image["uri"] = f"/{path.as_posix()}"
    figure = live(kind, widget.state(), image.deepcopy())
    image.parent.replace(image, figure)


def add_script(app, body):
    """Inline the scripts of a page's figures into its head."""
    # Of the element that `live` writes, `kind` is the first attribute.
    kinds = {*re.findall(r'<posenc-figure kind="(\w+)', body)}
    if kinds:
        # While a page is rendered ("html-page-context"), this adds to that page alone.
        entries = ("website", "text") if "data-set=" in body else ("website",)
        names = [CLASSES[kind] for kind in sorted(kinds)]
        app.add_js_file(None, body=script(*names, entries=entries))


def embeds(app):
    """Yield a standalone page for each kind of figure, for other sites' iframes."""
    for kind, name in CLASSES.items():
        context = {"kind": name, "script": script(name, entries=("website",))}
        yield f"embed/{kind}", context, "embed.html"
