"""What every chapter gets at build time.

A look whether it is whole and listed, links from terms to the glossary, and figures that follow the
theme of the page.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

from posenc.plots import COLORS, INK

logger = logging.getLogger(__name__)

THEME = """<style>
:root { --ink: %s; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ee } }
</style>"""


def find_unlisted(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Warn of a chapter that the site would leave out without a word."""
    for path in sorted((Path(app.srcdir) / "notebooks").glob("*.ipynb")):
        if f"notebooks/{path.stem}" not in env.found_docs:
            logger.warning("notebooks/%s is missing from _toc.yml: list it there", path.stem)


def require_whole(app: Sphinx, docname: str, source: list[str]) -> None:
    """Name a notebook that is cut off; its reader would not."""
    if docname.startswith("notebooks/"):
        try:
            json.loads(source[0])
        except ValueError as error:
            problem = f"{docname}.ipynb is no notebook ({error}): restore it, say with git"
            raise ExtensionError(problem) from error


def glossary_terms(text: str) -> list[str]:
    """List the terms that a glossary directive defines, longest first."""
    body = text.partition(":::{glossary}")[2].partition("\n:::")[0]
    return sorted(re.findall(r"^(\S.*)$", body, re.MULTILINE), key=len, reverse=True)


def term_link(term: str, text: str, docname: str) -> addnodes.pending_xref:
    """Link a word to its entry in the glossary."""
    word = nodes.inline("", text, classes=["xref", "std", "std-term"])
    options = {"refdomain": "std", "reftype": "term", "reftarget": term, "refdoc": docname}
    return addnodes.pending_xref("", word, refexplicit=True, refwarn=True, **options)


def link_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Link each term of the glossary where a chapter first uses it in running text."""
    docname = app.env.docname
    if not docname.startswith("notebooks/"):
        return
    glossary = Path(app.srcdir) / "book" / "glossary.md"
    app.env.note_dependency(str(glossary))
    for term in glossary_terms(glossary.read_text(encoding="utf-8")):
        use = re.compile(rf"\b{re.escape(term)}(?:s|es)?\b", re.IGNORECASE)
        for text in list(doctree.findall(nodes.Text)):
            found = use.search(text)
            prose = isinstance(text.parent, nodes.paragraph)
            if found and prose and not isinstance(text.parent.parent, nodes.entry):
                before, after = text[: found.start()], text[found.end() :]
                link = term_link(term, found[0], docname)
                text.parent.replace(text, [nodes.Text(before), link, nodes.Text(after)])
                break


def follow_theme(svg: str) -> str:
    """The figure with its ink as a CSS variable that is light on a dark page.

    Its other colors get some of that ink, so that words in them can be read on either page. A
    browser that can't mix takes the color before.
    """
    head, _, body = svg.partition("<defs>")
    for color in COLORS:
        mixed = rf"\1: {color}; \1: color-mix(in srgb, {color} 85%, var(--ink))"
        body = re.sub(rf"\b(fill|stroke): {color}\b", mixed, body)
    return head + THEME % INK + "<defs>" + body.replace(INK, "var(--ink)")


def finish_figures(app: Sphinx, error: Exception | None) -> None:
    """Let the figures of the built pages follow the page's theme."""
    if error is None and app.builder.format == "html":
        for path in (Path(app.outdir) / "_images").glob("*.svg"):
            svg = path.read_text(encoding="utf-8")
            if "--ink" not in svg and any(color in svg for color in (INK, *COLORS)):
                path.write_text(follow_theme(svg), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-before-read-docs", find_unlisted)
    app.connect("source-read", require_whole)
    app.connect("doctree-read", link_terms)
    app.connect("build-finished", finish_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
