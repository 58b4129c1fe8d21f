"""The book's own Sphinx extension: its modules, in the order in which pages pass them.

Before a page is read
    `deployment` asks the environment where the site will be.
While it is read
    `cross_references` fills in the numbers, titles and labels (`citations`) of links, and
    `myst_markup` exchanges the Markdown that every viewer shows for MyST's. `claims` writes the
    tables of the ledger. `code_cells` colors code.
When it has been read
    `live_figures` exchanges widgets for figures that a reader moves, `claims` ties what a chapter
    judges to its row, `reading_time` counts the minutes, and `browser_cells` marks the cells
    that can't run in the page (`unavailable`).
When all pages have been read
    `cross_references` compares what they state with what is so, `incremental` says which pages are
    written, and `search_index` which sections and words the search knows.
When a page is written
    `myst_markup` leads links to places on other pages, `glossary_links` links terms and says what
    they mean, `math_renderer` draws formulas, `code_cells` names folded code by its first comment,
    `page_body` keeps short formulas and numbers together and gives tables and pictures boxes that
    scroll, `optimization` reserves the places of pictures, `live_figures` and `config_page` add
    their scripts, `deployment` leads Colab to its notebook, `page_metadata` describes and dates the
    page, and `browser_files` says where its Python is. Then the theme's layout and ``_templates``
    put it together.
When all pages are written
    `svg_theme` colors the pictures, `downloads` writes the notebooks that pages offer, `text_twins`
    writes each page as Markdown and lists them in ``llms.txt``, `claims` writes the ledger as JSON,
    `incremental` has `optimization` merge what they load and `security_policy` say what they may,
    `live_figures` writes pages to embed, `deployment` lists the pages, and `browser_files` copies
    Python beside them.
"""

from typing import Any

from sphinx.application import Sphinx

# Priorities of handlers. Most of Sphinx's own, and of the theme's, have 500.
BEFORE, AFTER = 400, 900


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything; at one priority, handlers run in the order of this list."""
    # Imported here, a tool that needs one module doesn't wait for the others.
    from sphinx import search

    from . import (
        browser_cells,
        browser_files,
        claims,
        code_cells,
        config_page,
        cross_references,
        deployment,
        downloads,
        glossary_links,
        incremental,
        live_figures,
        math_renderer,
        myst_markup,
        optimization,
        page_body,
        page_metadata,
        reading_time,
        search_index,
        svg_theme,
        text_twins,
    )

    def change_body(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
        """Change the HTML of a page; that of searches and the index have none of their own."""
        if body := context.get("body"):
            body = page_body.keep_text(page_body.repair(body))
            context["body"] = optimization.size_images(app, body)

    def finish(app: Sphinx, error: Exception | None) -> None:
        """Change the files of a site that is complete, with the theme's own."""
        if error is None and app.builder.name == "html":
            svg_theme.color_pictures(app.outdir / "_images")
            downloads.write_downloads(app)
            text_twins.write_twins(app)
            if "book/claims" in app.env.found_docs:
                claims.write_json(app.srcdir, app.outdir, app.config.html_baseurl)
            incremental.finish(app)
            live_figures.write_embeds(app)
            deployment.list_pages(app)
            browser_files.copy_python(app.outdir)

    app.add_config_value("html_optimized", True, "html")  # without it, pages as Sphinx writes them
    app.add_config_value("redirects", {}, "html")  # old pages, and where each is now
    search.languages["en"] = search_index.Words
    search.IndexBuilder = search_index.Sections  # type: ignore[misc]  # there is no setting for it
    app.add_lexer("python", code_cells.Python)
    fold = code_cells.visit_fold, code_cells.depart_fold
    app.add_node(code_cells.HideCodeCellNode, override=True, html=fold)
    formulas = (math_renderer.visit_inline, None), (math_renderer.visit_block, None)
    app.add_html_math_renderer("katex", *formulas)
    app.add_transform(myst_markup.Anchors)
    app.add_post_transform(myst_markup.Places)
    for event, priority, handler in [
        ("config-inited", BEFORE, deployment.read_environment),
        ("source-read", BEFORE, cross_references.write_myst),
        ("doctree-read", BEFORE, live_figures.replace_outputs),  # then Sphinx collects images
        ("doctree-read", AFTER, claims.finish_tables),
        ("doctree-read", AFTER, claims.tie),
        ("doctree-read", AFTER, page_metadata.summarize),
        ("doctree-read", AFTER, reading_time.add_times),
        ("doctree-read", AFTER, browser_cells.mark_cells),
        ("env-check-consistency", BEFORE, cross_references.check),
        ("env-get-updated", AFTER, incremental.pages_to_write),
        ("doctree-resolved", AFTER, glossary_links.link_terms),
        ("doctree-resolved", AFTER, glossary_links.tell),
        ("doctree-resolved", AFTER, page_body.keep_formulas),
        ("html-collect-pages", BEFORE, deployment.redirect),
        ("html-page-context", AFTER, optimization.load_merged),
        ("html-page-context", AFTER, change_body),
        ("html-page-context", AFTER, live_figures.add_script),
        ("html-page-context", AFTER, config_page.add_script),
        ("html-page-context", AFTER, deployment.lead_colab),
        ("html-page-context", AFTER, page_metadata.describe),
        ("html-page-context", AFTER, browser_files.name_folder),
        ("build-finished", AFTER, finish),
    ]:
        app.connect(event, handler, priority)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
