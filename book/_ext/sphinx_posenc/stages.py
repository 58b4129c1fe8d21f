"""Stages: a live figure with the words of its section that move it, side by side or one above.

A chapter marks words as ``<a href="#fig-x" data-set="position=3">words</a>``. All that stands from
the first to the last of a figure and its marked words becomes a ``<div class="stage">``. A class of
the figure, ``stays``, says that words follow it, for which it stays in view; a class of the stage,
``brief``, that it is one paragraph and the figure.
"""

import re

from docutils import nodes
from sphinx.errors import ExtensionError

FIGURE = "<posenc-figure"  # as `live_figures` writes it


def set_stages(app, doctree, docname):
    """Set a stage for each figure that words of its section move.

    Stages don't overlap: no other figure stands between a figure and the words that move it.
    """
    for section in [*doctree.findall(nodes.section)]:
        for part in [*section]:
            if not isinstance(part, nodes.section) and has_html(part, FIGURE):
                set_stage(section, part)


def set_stage(section, figure):
    """Wrap a figure and its marked words, if it has any."""
    shown = section.index(figure)
    words = places_of_words(section, figure)
    if not words:
        return
    first, end = min(shown, *words), max(shown, *words) + 1
    inside = section[first:end]
    if sum(has_html(part, FIGURE) for part in inside) > 1:
        raise ExtensionError(
            f"another figure is between {ids_of(figure)} and its words"
        )
    if max(words) > shown:
        figure["classes"].append("stays")
    stage = nodes.container("", *inside, classes=["stage"])
    if shown == first and len(stage) == 2:  # one paragraph, which leaves room beside it
        stage["classes"].append("brief")
    section[first:end] = [stage]


def ids_of(figure):
    """The ids by which links may name a figure: of its section, too, which may be its own."""
    ids = figure.parent["ids"][:]
    for captioned in figure.findall(nodes.figure):
        ids += captioned["ids"]
    return ids


def places_of_words(section, figure):
    """Where in a section, but not in sections below it, words stand that move a figure."""
    mark = f'href="#({"|".join(ids_of(figure))})" data-set='
    return [
        place
        for place, part in enumerate(section)
        if not isinstance(part, nodes.section) and has_html(part, mark)
    ]


def has_html(part, pattern):
    """Whether a part of a page has such HTML as it was written."""
    texts = [raw.astext() for raw in part.findall(nodes.raw)]
    return any(re.search(pattern, text) for text in texts)
