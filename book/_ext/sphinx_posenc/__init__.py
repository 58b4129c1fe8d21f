"""The book's Sphinx extension: one module per job, whose docstring says what it does.

`setup` lists the handlers in the order in which they handle a page: before reading, while reading
it, after reading it and all pages, and while writing. Then the theme's layout and ``_templates``
assemble the page, and `finish` works on the complete site.
"""

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# What the page's kernel shares with the build.
sys.path.append(str(Path(__file__).parents[2] / "python"))
# Handler priorities: before or after the default, 500, which Sphinx and the theme mostly use.
BEFORE, AFTER = 400, 900


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything; handlers of equal priority run in the order listed."""
    # Imported here so that a tool that needs one module doesn't load them all.
    import svg_theme

    from . import (
        browser_files,
        cards,
        claims,
        config_page,
        downloads,
        folds,
        live_figures,
        metadata,
        myst_markup,
        opening,
        optimization,
        prose,
        rendering,
        search_index,
        theme,
    )

    def finish_page(
        app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
    ) -> None:
        """Complete what a page's template gets: no script but the book's, for example."""
        body = context["body"] = theme.boxed(context.get("body") or "")
        contents = context["generate_toc_html"]
        context["generate_toc_html"] = lambda: theme.grouped(str(contents()))
        context["script_files"].clear()
        browser_files.name_folder(page, context)
        live_figures.script_for(app, body)
        if page == "book/config":
            config_page.fill(app, context)

    def search_by_itself(app: Sphinx) -> None:
        """Sphinx's own search isn't written."""
        app.builder.search = False

    def finish(app: Sphinx, error: Exception | None) -> None:
        """Post-process the complete site, the theme's files included."""
        if error is None and app.builder.name == "html":
            svg_theme.color_pictures(app.outdir / "_images")
            downloads.write(app)
            search_index.write(app)
            optimization.finish(app)
            browser_files.copy_python(app.outdir)

    app.add_config_value(
        "html_optimized", True, "html"
    )  # False: pages as Sphinx writes them
    app.add_config_value("repository", "", "html")
    app.add_lexer("python", rendering.Python)
    app.add_node(folds.Fold, html=folds.element("details"))
    app.add_node(folds.Summary, html=folds.element("summary"))
    app.add_node(
        folds.Evidence,
        html=folds.element("div", CLASS="evidence", hidden="until-found"),
    )
    app.add_html_math_renderer("katex", *[(rendering.visit, None)] * 2)
    app.add_transform(myst_markup.Anchors)
    app.add_transform(folds.Details)
    app.add_post_transform(myst_markup.Places)
    for event, priority, handler in [
        ("config-inited", BEFORE, metadata.read_environment),
        ("builder-inited", BEFORE, search_by_itself),
        ("source-read", BEFORE, myst_markup.write_myst),
        ("source-read", BEFORE, claims.write_tables),
        (
            "doctree-read",
            BEFORE,
            live_figures.replace_outputs,
        ),  # before Sphinx collects images
        ("doctree-read", AFTER, claims.color_rows),
        ("doctree-read", AFTER, claims.tie),
        ("doctree-read", AFTER, metadata.summarize),
        ("doctree-read", AFTER, opening.tell),
        ("doctree-resolved", AFTER, prose.link_terms),
        ("doctree-resolved", AFTER, prose.keep_together),
        ("doctree-resolved", AFTER, search_index.collect),
        ("doctree-resolved", AFTER, folds.fold),
        ("doctree-resolved", AFTER, live_figures.set_stages),
        ("doctree-resolved", AFTER, cards.deal),
        ("html-collect-pages", BEFORE, live_figures.embeds),
        # The theme renders parts of the page between these two.
        ("html-page-context", BEFORE, metadata.describe),
        ("html-page-context", AFTER, finish_page),
        ("build-finished", AFTER, finish),
    ]:
        app.connect(event, handler, priority)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
