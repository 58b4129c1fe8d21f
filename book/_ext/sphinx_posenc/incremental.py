"""What a build writes anew: the pages that changed, and all where something that they share did.

Sphinx looks at the files of a page. But pages also show each other's titles and numbers, link terms
and claims wherever they are, name the scripts of the site, and are dated by their last commit.
And a page that is light can't be made light again: what Sphinx wrote is kept beside its doctrees.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from joblib import Memory
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from . import browser_files, deployment, optimization, page_metadata, security_policy
from .glossary_links import said


def shared(app: Sphinx, env: BuildEnvironment) -> str:
    """A digest of all that a page shows and that isn't its own."""
    standard, math = env.get_domain("std"), env.get_domain("math")
    titles = sorted((page, title.astext()) for page, title in env.titles.items())
    numbered = env.toc_secnumbers, env.toc_fignumbers, math.equations
    numbers = [sorted(each.items()) for each in numbered]
    places = [sorted(standard.anonlabels.items()), sorted(standard.objects.items())]
    order = sorted(env.toctree_includes.items())
    static = [path for path in (app.srcdir / "book" / "_static").glob("*.*") if path.is_file()]
    files = [(path.name, path.read_bytes()) for path in sorted(static)]
    everything = [titles, numbers, places, order, files, browser_files.folder(), said(app)]
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages to be written though they didn't change."""
    before = getattr(env, "posenc_shared", None), getattr(env, "posenc_dates", {})
    env.posenc_dates = dates = page_metadata.dates(app)
    env.posenc_shared = shared(app, env)
    everything = env.posenc_shared != before[0]
    return [page for page in env.found_docs if everything or dates[page] != before[1].get(page)]


def finish(app: Sphinx) -> None:
    """Make the pages light, and say in each what it may load."""
    site, kept = app.outdir.resolve(), Path(app.doctreedir) / "light"
    pages, is_new = {}, False
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site).parts[0] not in ("_static", "embed"):
            html, copy = path.read_text(encoding="utf-8"), kept / path.relative_to(site)
            if security_policy.is_guarded(html):  # an earlier build made it light
                html = copy.read_text(encoding="utf-8")
            else:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(html, encoding="utf-8")
                is_new = True
            pages[path] = html
    if is_new:
        if app.config.html_optimized:
            optimization.lighten(pages, site, Memory(kept, verbose=0))
        for path, html in pages.items():
            if path.name == "404.html" and app.config.html_baseurl:
                html = deployment.from_anywhere(html, app.config.html_baseurl)
            path.write_text(security_policy.guard(html), encoding="utf-8")
