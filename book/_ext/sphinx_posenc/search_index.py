"""What the search reads (``book/_static/search``): each section's title, text and code.

A page is ``[title, sections]``, and a section ``[anchor, title, other titles, text, code]``: one of
the page's sections, a term of the glossary, or a symptom of `RoPE in production`. The book's own
index entries count as other titles. Of code and its output only the names are kept that the text
lacks, each once: numbers fill outputs, and excerpts show prose.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import lxml.html
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from .rendering import render

NAME = re.compile(r"(?=\w*[_A-Z])[^\W\d]\w{2,}")  # others are words, or serve one cell
COMMON = {"Draw", "False", "None", "True", "_000", "use_style"}
SYMPTOMS = "what-you-see"  # a section whose table has one symptom a row
LONGEST_FORMULA = 12  # letters; of a longer one an excerpt shows "…"

Pages = dict[str, list[Any]]


def pages_of(app: Sphinx) -> Pages:
    """What was collected, by page; on the environment, since it is of one build and process."""
    if not hasattr(app.env, "searched_pages"):
        app.env.searched_pages = {}
    return app.env.searched_pages


def collect(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Remember the sections of a page that is about to be written."""
    page = doctree.deepcopy()
    remove(page, nodes.field_list)  # each function's parameters
    inner_first = [*reversed([*page.findall(is_part)]), page]
    sections = [section_of(part) for part in inner_first]
    in_order = [section for section in reversed(sections) if any(section[2:])]
    pages_of(app)[docname] = [app.env.titles[docname].astext(), in_order]


def write(app: Sphinx) -> None:
    """Write the index, as a script, since a page on disk can load no other file."""
    text = json.dumps(pages_of(app), sort_keys=True, ensure_ascii=False)
    path = app.outdir / "searchindex.js"
    path.write_text(f"window.bookPages={text}", encoding="utf-8")


def section_of(part: nodes.Element) -> list[str]:
    """Take a part out of its page, as the index has it.

    To be called for inner parts first: what is left of the outer one is its own text.
    """
    anchor, title = "", ""
    if part.parent is not None:
        part.parent.remove(part)
        anchor, title = anchor_of(part), part[0].astext()
        part.remove(part[0])
    # The book's own entries; autodoc's aren't marked as inline or not.
    indexes = [node for node in part.findall(addnodes.index) if "inline" in node]
    entries = [entry[1] for node in indexes for entry in node["entries"]]
    code = remove(part, is_code)
    text = prose(part)
    names = dict.fromkeys(NAME.findall(code))
    known = {*NAME.findall(text), *COMMON}
    missing = [name for name in names if name not in known]
    return [anchor, title, ", ".join(entries), text, " ".join(missing)]


def anchor_of(part: nodes.Element) -> str:
    """The place of a part on its page."""
    if isinstance(part, nodes.row):
        return SYMPTOMS
    return str((part[0]["ids"] or part["ids"])[0])


def remove(part: nodes.Element, wanted: type | Callable[[nodes.Node], bool]) -> str:
    """Remove nodes from a part, and return their text."""
    found = [*part.findall(wanted)]
    for node in found:
        node.parent.remove(node)
    return " ".join(node.astext() for node in found)


def prose(part: nodes.Element) -> str:
    """The prose of a part, with short formulas as they are read, without longer ones."""
    for formula in [*part.findall(nodes.math)]:
        formula.parent.replace(formula, nodes.Text(letters(formula.astext())))
    texts = part.findall(lambda node: isinstance(node, nodes.TextElement))
    outer = [
        text
        for text in texts
        if not isinstance(text, nodes.Inline)
        and not isinstance(text.parent, nodes.TextElement)
    ]
    return " ".join(" ".join(text.astext() for text in outer).split())


def letters(latex: str) -> str:
    """A short formula without its markup, as φ."""
    # MathML has numerators before denominators; what is drawn hasn't.
    formula = lxml.html.fromstring(render(latex, False))
    said = [*formula.iter("math")] or [formula]
    text = "".join(said[0].itertext())
    is_long = len(text) > LONGEST_FORMULA or "frac" in latex
    return "…" if is_long else text


def is_code(node: nodes.Node) -> bool:
    """Whether a node is code, its output, or a display formula."""
    if isinstance(node, nodes.container) and "cell_output" in node["classes"]:
        return not next(node.findall(nodes.caption), None)
    return isinstance(node, nodes.literal_block | nodes.math_block | nodes.raw)


def is_part(node: nodes.Node) -> bool:
    """Whether a node is found by itself: a section within a page, a term, a symptom."""
    if isinstance(node, nodes.section):
        return isinstance(node.parent, nodes.section)
    if isinstance(node, nodes.definition_list_item):
        return bool(node[0]["ids"])
    return isinstance(node, nodes.row) and is_symptom(node)


def is_symptom(row: nodes.row) -> bool:
    table = row.parent.parent.parent
    return isinstance(row.parent, nodes.tbody) and SYMPTOMS in table.parent["ids"]
