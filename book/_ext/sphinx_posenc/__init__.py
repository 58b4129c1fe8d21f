"""The book's Sphinx extension: one module per job, whose docstring says what it does.

`setup` lists the handlers in the order in which they handle a page: before reading, while reading
it, after reading it and all pages, and while writing. Then the theme's layout and ``_templates``
assemble the page, and `finish` works on the complete site.
"""

import sys
from pathlib import Path

# What the page's kernel shares with the build.
sys.path.append(str(Path(__file__).parents[2] / "python"))
# Handler priorities: before or after the default, 500, which Sphinx and the theme mostly use.
BEFORE, AFTER = 400, 900


def setup(app):
    """Register everything; handlers of equal priority run in the order listed."""
    # Imported here so that a tool that needs one module doesn't load them all.
    import svg_theme

    from . import (
        browser_files,
        cards,
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
        stages,
        templates,
        theme,
    )

    def finish_page(app, page, template, context, doctree):
        """Complete what a page's template gets: no script but the book's, for example."""
        body = context["body"] = theme.adapted(context.get("body") or "")
        if page == "book/questions":
            context["body"] = theme.folded(body)
        contents = context["generate_toc_html"]
        if page.startswith("notebooks/"):
            context["generate_toc_html"] = lambda: theme.grouped(str(contents()))
        context["script_files"].clear()
        context["python"] = browser_files.folder()
        context["python_size"] = browser_files.first_size()
        live_figures.add_script(app, body)

    def finish(app, error):
        """Post-process the complete site, the theme's files included."""
        if error is None and app.builder.name == "html":
            svg_theme.color_pictures(app.outdir / "_images")
            downloads.write(app)
            search_index.write(app)
            optimization.finish(app)
            browser_files.copy_python(app.outdir)

    # False: pages as Sphinx writes them.
    app.add_config_value("html_optimized", True, "html")
    app.add_lexer("python", rendering.Python)
    app.add_node(folds.Fold, html=folds.element("details"))
    app.add_node(folds.Summary, html=folds.element("summary"))
    behind = {"CLASS": "evidence", "hidden": "until-found"}
    app.add_node(folds.Evidence, html=folds.element("div", **behind))
    formula = (rendering.visit, None)
    app.add_html_math_renderer("katex", formula, formula)
    app.add_transform(myst_markup.Anchors)
    handlers = [
        ("config-inited", BEFORE, metadata.read_environment),
        ("builder-inited", BEFORE, search_index.replace),
        ("source-read", BEFORE, myst_markup.write_myst, templates.fill),
        # Before Sphinx collects images.
        ("doctree-read", BEFORE, folds.fold_boxes, live_figures.replace_outputs),
        ("doctree-read", AFTER, metadata.summarize, opening.tell),
        ("doctree-resolved", AFTER, prose.keep_together, prose.link_terms),
        ("doctree-resolved", AFTER, search_index.collect, folds.fold),
        ("doctree-resolved", AFTER, stages.set_stages, cards.deal, cards.head),
        ("html-collect-pages", BEFORE, live_figures.embeds),
        # The theme renders parts of the page between these two.
        ("html-page-context", BEFORE, metadata.describe),
        ("html-page-context", AFTER, finish_page),
        ("build-finished", AFTER, finish),
    ]
    for event, priority, *functions in handlers:
        for function in functions:
            app.connect(event, function, priority)
