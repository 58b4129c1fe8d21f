"""What the search reads (``book/_static/search``): each section's title, text and code.

A page is ``[title, sections]``, and a section ``[anchor, title, other titles, text, code, asked]``:
one of the page's sections, a term of the glossary, or a row of a table: a symptom of `RoPE in
production`, a claim of the ledger with its verdict as the title, or a mistake of the errata. The
book's own index entries count as other titles, and ``book/asked.txt`` says how people ask. Of code
and its output only the names are kept that the text lacks, each once: numbers fill outputs, and
excerpts show prose. Labels of claims stand among these names.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from .rendering import spoken

ASKED = Path(__file__).parents[2] / "asked.txt"
NAME = re.compile(r"(?=\w*[_A-Z])[^\W\d]\w{2,}")  # others are words, or serve one cell
COMMON = {"Draw", "False", "None", "True", "_000", "use_style"}
SYMPTOMS = "what-you-see"  # a section whose table has one symptom a row
CLAIM = re.compile("#claim-(.+)")
LONGEST_FORMULA = 12  # letters; of a longer one an excerpt shows "…"


def replace(app):
    """Let Sphinx write no index of its own."""
    app.builder.search = False


def collect(app, doctree, docname):
    """Remember the sections of a page that is about to be written."""
    page = doctree.deepcopy()
    name_rows(page)
    if docname != "book/claims":  # its template has these anchors
        name_rows(doctree)
    # Parameters, descriptions of pictures, and HTML.
    for kind in (addnodes.desc_signature, nodes.field_list, nodes.image, nodes.raw):
        remove(page, kind)
    remove(page, is_opening)
    # Inner parts first: what is left of the outer one is its own text.
    inner_first = [*reversed([*page.findall(is_part)]), page]
    sections = [section_of(part) for part in inner_first]
    in_order = [section for section in reversed(sections) if any(section[2:])]
    entry = [app.env.titles[docname].astext(), in_order]
    app.env.metadata[docname]["searched"] = entry


def write(app):
    """Write the index, as a script, since a page on disk can load no other file."""
    asked = read_asked(ASKED.read_text(encoding="utf-8"))
    entries = {}
    for name, kept in app.env.metadata.items():
        if "searched" in kept:
            title, sections = kept["searched"]
            complete = [[*part, asked.get((name, part[0]), "")] for part in sections]
            entries[name] = [title, complete]
    text = json.dumps(entries, sort_keys=True, ensure_ascii=False)
    path = app.outdir / "searchindex.js"
    path.write_text(f"window.bookPages={text}", encoding="utf-8")


def read_asked(text):
    """How people ask, by page and anchor."""
    asked = {}
    for line in text.splitlines():
        if line.startswith("["):
            page = line.strip("[]")
        elif line and not line.startswith("#"):
            anchor, _, phrases = line.partition(": ")
            asked[page, anchor.removeprefix("-")] = phrases
    return asked


def section_of(part):
    """Take a part out of its page, as the index has it.

    Its own parts are taken out before: what is left of it is its own. A part's first child says
    what it is: a section's title, a term, or a row's first cell. The page itself has none.
    """
    anchor, title = "", ""
    if part.parent is not None:
        part.parent.remove(part)
        head = part.pop(0)
        anchor = (head["ids"] or part["ids"])[0]
        title = prose(head)
    # The book's own entries; autodoc's aren't marked as inline or not.
    indexes = [node for node in part.findall(addnodes.index) if "inline" in node]
    entries = [entry[1] for node in indexes for entry in node["entries"]]
    labels = [*part.findall(is_label)]
    remove(part, is_label)
    code = remove(part, is_code)
    text = prose(part)
    known = {*NAME.findall(text), *COMMON}
    names = dict.fromkeys(name for name in NAME.findall(code) if name not in known)
    names.update(dict.fromkeys(label.astext() for label in labels))
    return [anchor, title, "; ".join(entries), text, " ".join(names)]


def remove(part, wanted):
    """Remove nodes of a class, or for which a function says so, and return their text."""
    removed = [*part.findall(wanted)]
    for node in removed:
        node.parent.remove(node)
    return " ".join(node.astext() for node in removed)


def prose(part):
    """The prose of a part, with short formulas as they are read, without longer ones."""
    for formula in [*part.findall(nodes.math)]:
        letters = spoken(formula.astext())
        # A fraction's numerator would stand beside its denominator.
        if len(letters) > LONGEST_FORMULA or "frac" in formula.astext():
            letters = "…"
        formula.parent.replace(formula, nodes.Text(letters))
    return " ".join(part.astext().split())


def is_code(node):
    """Whether a node is code, its output, or a display formula."""
    if isinstance(node, nodes.container) and "cell_output" in node["classes"]:
        return not any(node.findall(nodes.caption))
    return isinstance(node, nodes.literal_block | nodes.math_block)


def is_opening(node):
    """Whether a node is a page's title, or the line below it: they aren't text of the page."""
    if isinstance(node, nodes.title):
        return not is_part(node.parent) and isinstance(node.parent, nodes.section)
    return "reading-time" in getattr(node, "attributes", {}).get("classes", [])


def is_label(node):
    """Whether a node is a claim's label, which refers to its row of the ledger."""
    if not isinstance(node, nodes.reference):
        return False
    return node.get("refuri", "").endswith(f"#row-{node.astext()}")


def is_part(node):
    """Whether a node is found by itself: a section within a page, a term, a symptom."""
    if isinstance(node, nodes.section):
        return isinstance(node.parent, nodes.section)
    if isinstance(node, nodes.definition_list_item):
        return bool(node[0]["ids"])
    return is_row(node)


def is_row(node):
    """Whether a node is a symptom, a claim, or a mistake."""
    if not (isinstance(node, nodes.row) and isinstance(node.parent, nodes.tbody)):
        return False
    table = node.parent.parent.parent
    return "ledger" in table["classes"] or SYMPTOMS in table.parent["ids"]


def name_rows(doctree):
    """Give the rows that are found by themselves an anchor."""
    for row in doctree.findall(is_row):
        link = next(row.findall(nodes.reference), None)
        claim = link and CLAIM.search(link.get("refuri", ""))
        name = f"row-{claim[1]}" if claim else f"{SYMPTOMS}-{row[0].astext()}"
        row["ids"] = [name if claim else nodes.make_id(name)]
