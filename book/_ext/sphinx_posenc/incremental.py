"""Incremental builds: rewrites the pages that changed, or all if something they share did.

Sphinx tracks the source files of a page. But pages also show each other's titles and numbers, link
terms and claims across the book, name the folder of Python, and show the date of their last commit.
"""

import hashlib

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from . import browser_files, deployment, optimization, page_metadata, security_policy, theme
from .glossary_links import said

OTHERS = {"_static", "embed", "slides"}  # folders of pages that Sphinx doesn't write


def shared(app: Sphinx, env: BuildEnvironment) -> str:
    """A digest of everything that pages show from outside their own sources."""
    standard, math = env.get_domain("std"), env.get_domain("math")
    titles = sorted((page, title.astext()) for page, title in env.titles.items())
    numbered = env.toc_secnumbers, env.toc_fignumbers, math.equations
    numbers = [sorted(each.items()) for each in numbered]
    places = [sorted(standard.anonlabels.items()), sorted(standard.objects.items())]
    order = sorted(env.toctree_includes.items())
    everything = [titles, numbers, places, order, browser_files.folder(), said(app)]
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages to rewrite although their sources didn't change."""
    before = getattr(env, "posenc_shared", None), getattr(env, "posenc_dates", {})
    env.posenc_dates = dates = page_metadata.dates(app)
    env.posenc_shared = shared(app, env)
    everything = env.posenc_shared != before[0]
    dated = [
        page for page in env.found_docs if everything or dates.get(page) != before[1].get(page)
    ]
    return [*dated, app.config.root_doc]  # it shows the chapters' pictures


def finish(app: Sphinx) -> None:
    """Optimize the pages, and add a security policy to each."""
    site = app.outdir.resolve()
    paths = [path for path in sorted(site.rglob("*.html")) if not OTHERS & {*path.parts}]
    pages = {path: theme.lean(path.read_text(encoding="utf-8")) for path in paths}
    if app.config.html_optimized:
        optimization.merge(app, pages)
    for path, html in pages.items():
        if path.name == "404.html" and app.config.html_baseurl:
            html = deployment.from_anywhere(html, app.config.html_baseurl)
        path.write_text(security_policy.guard(html), encoding="utf-8")
