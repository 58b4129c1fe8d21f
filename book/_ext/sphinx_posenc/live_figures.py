"""Interactive figures on the pages of the site.

A widget of `posenc.book.widgets` in a notebook becomes a ``<posenc-figure>`` element around its
picture, and so does an image of the class ``live-heatmap`` on another page. The picture is the
fallback without JavaScript and in print. The script is inlined into each page with a figure, since
a page opened from disk can't load modules.
"""

import os
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.book import widgets


def script(*kinds: str) -> str:
    """The modules as a classic script, which runs before the first paint: no layout shift."""
    return jsmin(f"(() => {{\n{widgets.script(*kinds, entry='website')}}})();")


def live(
    kind: str,
    state: dict[str, Any],
    image: nodes.image,
) -> list[nodes.Node]:
    """The element, with its picture inside."""
    pairs = [f'kind="{kind.lower()}"']
    for name, value in state.items():
        pairs.append(f'{name.replace("_", "-")}="{escape(str(value))}"')
    start = nodes.raw("", f"<posenc-figure {' '.join(pairs)}>", format="html")
    return [start, image, nodes.raw("", "</posenc-figure>", format="html")]


def replace_outputs(
    app: Sphinx,
    doctree: nodes.document,
) -> None:
    """Replace widgets in notebooks, and images marked as live, by live figures."""
    for cell in [*doctree.findall(nodes.container)]:
        if figure := cell.get("cell_metadata", {}).get("figure"):  # set by `to_myst`
            image = next(cell.findall(nodes.image))
            # MyST-NB has a container for an output, with one for each of its MIME types, of which
            # it chooses later. The picture is in the latter; the figure replaces the output.
            output = image.parent.parent
            output.replace_self(live(figure["kind"], figure["state"], image))
    for image in [*doctree.findall(nodes.image)]:  # on other pages
        for name in image["classes"]:
            if name.startswith("live-"):
                draw_image(app, image, name.removeprefix("live-").capitalize())


def draw_image(
    app: Sphinx,
    image: nodes.image,
    kind: str,
) -> None:
    """Replace an image by the live figure, in its first state."""
    widget = widgets.FIGURES[kind]()
    path = Path(app.doctreedir) / f"{kind}.svg"
    path.write_text(widget.picture(), encoding="utf-8")
    image["uri"] = "/" + Path(os.path.relpath(path, app.srcdir)).as_posix()
    image.parent.replace(image, live(kind, widget.state(), image.deepcopy()))


def script_for(app: Sphinx, body: str) -> None:
    """Inline the scripts of a page's figures into its head."""
    # Of the element that `live` writes, `kind` is the first attribute. A kind is the name of a
    # class in lowercase, which has one capital: "heatmap" is Heatmap.
    kinds = {*re.findall(r'<posenc-figure kind="(\w+)', body)}
    names = sorted(kind.capitalize() for kind in kinds)
    if names:
        # While a page is rendered ("html-page-context"), this adds to that page alone.
        app.add_js_file(None, body=script(*names))


def embeds(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a standalone page for each kind of figure, for other sites' iframes."""
    for kind in widgets.FIGURES:
        context = {"kind": kind, "script": script(kind)}
        yield f"embed/{kind.lower()}", context, "embed.html"
