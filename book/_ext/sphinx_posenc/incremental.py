"""Rewrites all pages if something changed that they show of each other.

Sphinx rewrites a page whose own source changed, and all of them after a change of a template.
"""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from . import browser_files, prose


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """All pages, unless titles, numbers, places, terms and scripts are as they were."""
    standard, numbers = env.get_domain("std"), env.get_domain("math").equations
    titles = {page: title.astext() for page, title in env.titles.items()}
    places = standard.anonlabels, standard.objects, env.toctree_includes
    parts = [titles, numbers, env.toc_secnumbers, env.toc_fignumbers, *places]
    parts.append(prose.said(app))
    shared = repr([browser_files.folder(), *(sorted(part.items()) for part in parts)])
    before, env.posenc_shared = getattr(env, "posenc_shared", None), shared
    return env.found_docs if shared != before else set()
