"""The book's own steps in a build, in the order in which they run.

What they do to a **page**:

1. Before anything is read, `deployment` asks the environment where the site will be, and
   `chapters` looks for a chapter that `_toc.yml` forgot or that is cut off.
2. Sphinx gets each page from `stated`, which exchanges the Markdown that every viewer shows for
   MyST's markup (`plain`). While it reads, `ledger` fills in its directive, and
   `highlighting` colors code.
3. When a page has been read, `live_figures` exchanges widgets for figures that a reader moves,
   `accessibility` asks for alt texts, `folds` names folded code by its first comment, `claims`
   ties what a chapter judges to the ledger, `reading` counts the minutes, and `run` marks the cells
   that can't run in a page.
4. When all pages have been read, `stated` holds them to the numbers, titles and labels
   (`citations`) that they state. When one is to be written, `plain` leads links to places on other
   pages, `glossary` links its terms, `typography` keeps short formulas together, and
   `math_renderer` draws all formulas.
5. In the HTML of a page, `accessibility` repairs tables and pictures, `typography` binds numbers,
   `live_figures` adds its script if one is needed, `head` describes and dates the page, and `run`
   says where its Python is. The theme's layout and `_templates` then put it together.
6. When all pages are written, `figures` colors the pictures, `downloads` writes the notebooks that
   pages offer, `optimization` makes pages light, `security` says what a page may load,
   `deployment` lists the pages, and `run` copies Python beside them.

The way of a **picture**: matplotlib draws it in a cell, as `posenc.plots` says; myst-nb stores it
as a file; step 3 gives it its live figure, step 5 a box to scroll in, step 6 the colors of both
themes and the room that it takes.
"""

from __future__ import annotations

import os
from typing import Any

import accessibility
import chapters
import claims
import deployment
import downloads
import figures
import folds
import glossary
import head
import highlighting
import ledger
import live_figures
import math_renderer
import optimization
import plain
import reading
import run
import searching
import security
import stated
import typography
from jupyter_client.manager import KernelManager
from sphinx.application import Sphinx
from sphinx.search import languages


def change_body(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Change the HTML of a page that has a body; the search page and the index have none."""
    if "body" in context:
        context["body"] = typography.keep_text(accessibility.repair(context["body"]))


def change_site(app: Sphinx, error: Exception | None) -> None:
    """Change the files of a site that is complete, with the theme's own."""
    if error is None and app.builder.name == "html":
        figures.color_pictures(app.outdir / "_images")
        downloads.write_downloads(app)
        if app.config.html_optimized:
            optimization.lighten(app.outdir)
        security.guard_pages(app.outdir)
        deployment.list_pages(app)


# Handlers of Sphinx's events. Most of its own, and of the theme's, have the priority 500.
BEFORE, AFTER = 400, 900
STEPS = [
    ("config-inited", BEFORE, deployment.read_environment),
    ("env-before-read-docs", BEFORE, chapters.require_all),
    ("source-read", BEFORE, stated.write_myst),
    ("doctree-read", BEFORE, live_figures.replace_outputs),  # then Sphinx collects images
    ("doctree-read", AFTER, accessibility.require_alt),
    ("doctree-read", AFTER, folds.name_folds),
    ("doctree-read", AFTER, claims.tie),
    ("doctree-read", AFTER, reading.add_times),
    ("doctree-read", AFTER, run.mark_cells),
    ("env-updated", BEFORE, stated.check),
    ("env-updated", AFTER, optimization.write_all),
    ("doctree-resolved", AFTER, glossary.link_terms),
    ("doctree-resolved", AFTER, typography.keep_formulas),
    ("html-page-context", AFTER, change_body),
    ("html-page-context", AFTER, live_figures.add_script),
    ("html-page-context", AFTER, head.describe),
    ("html-page-context", AFTER, run.name_folder),
    ("build-finished", AFTER, change_site),
    ("build-finished", AFTER, run.copy_python),
]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything; at one priority, handlers run in the order of this list."""
    os.environ["POSENC_STATIC"] = "1"  # for the kernels that this build starts
    # They warn of open lines, and nothing that starts them here hands on a setting.
    KernelManager.transport_encryption.default_value = "auto"
    app.add_config_value("html_optimized", True, "html")  # without it, pages as Sphinx writes them
    languages["en"] = searching.Words
    app.add_lexer("ipython3", highlighting.Python)
    app.add_directive("ledger", ledger.Ledger)
    app.setup_extension("myst_nb")
    app.add_node(folds.HideCodeCellNode, override=True, html=(folds.visit, folds.depart))
    formulas = (math_renderer.visit_inline, None), (math_renderer.visit_block, None)
    app.add_html_math_renderer("katex", *formulas)
    app.add_transform(plain.Anchors)
    app.add_post_transform(plain.Places)
    for event, priority, handler in STEPS:
        app.connect(event, handler, priority)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
