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


def script(*kinds: str, entries: tuple[str, ...] = ("website", "text")) -> str:
    """The modules as a classic script, which runs before the first paint: no layout shift."""
    return jsmin(f"(() => {{\n{widgets.script(*kinds, entries=entries)}}})();")


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


def set_stages(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap each figure that marked words of its section move in a stage with these words."""
    for section in [*doctree.findall(nodes.section)]:
        for part in [*section]:
            if has_html(part, "<posenc-figure"):
                set_stage(section, part)


def set_stage(section: nodes.section, figure: nodes.Element) -> None:
    """Wrap what stands from the first to the last of a figure and its marked words.

    A chapter writes them ``<a href="#fig-x" data-set="position=3">words</a>``, in this order.
    """
    named = [section, *figure.findall(nodes.figure)]
    links = [f'href="#{name}" data-set=' for node in named for name in node["ids"]]
    places = [section.index(figure)]
    for place, part in enumerate(section):
        is_text = not isinstance(part, nodes.section)
        if is_text and any(has_html(part, link) for link in links):
            places.append(place)
    if len(places) == 1:
        return
    first, last = min(places), max(places)
    if last > places[0]:  # words follow, so the figure stays for them
        figure["classes"].append("stays")
    section[first : last + 1] = [
        nodes.container("", *section[first : last + 1], classes=["stage"])
    ]


def has_html(part: nodes.Node, html: str) -> bool:
    """Return whether a part of a page has such HTML as it was written."""
    return any(html in raw.astext() for raw in part.findall(nodes.raw))


def script_for(app: Sphinx, body: str) -> None:
    """Inline the scripts of a page's figures into its head."""
    # Of the element that `live` writes, `kind` is the first attribute. A kind is the name of a
    # class in lowercase, which has one capital: "heatmap" is Heatmap.
    kinds = {*re.findall(r'<posenc-figure kind="(\w+)', body)}
    names = sorted(kind.capitalize() for kind in kinds)
    if names:
        # While a page is rendered ("html-page-context"), this adds to that page alone.
        entries = ("website", "text") if "data-set=" in body else ("website",)
        app.add_js_file(None, body=script(*names, entries=entries))


def embeds(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a standalone page for each kind of figure, for other sites' iframes."""
    for kind in widgets.FIGURES:
        context = {"kind": kind, "script": script(kind, entries=("website",))}
        yield f"embed/{kind.lower()}", context, "embed.html"
