"""What ties a chapter to the ledger: the places where it judges what a document says.

A box "In the documents" names each claim that it judges by its id, as code: that is the place the
ledger leads to, and it leads to the row of the ledger. A claim that no box names has its place at
the cell that asserts it, the one whose tag is the id.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

CLAIM = re.compile(r"S[0-4]-[a-z0-9-]+")


def link(target: str, docname: str, *content: nodes.Node, **attributes: object) -> nodes.Node:
    """A link to a place that `place` named, anywhere in the book."""
    options = {"refdomain": "std", "reftype": "ref", "reftarget": target.lower(), "refdoc": docname}
    inner = nodes.inline("", "", *content)
    return addnodes.pending_xref("", inner, refexplicit=True, refwarn=True, **options, **attributes)


def place(env: BuildEnvironment, node: nodes.Element, name: str) -> None:
    """Make a node the place of that name."""
    node["ids"].append(name)
    env.get_domain("std").anonlabels[name.lower()] = env.docname, name


def tie(app: Sphinx, doctree: nodes.document) -> None:
    """Link the ids in the boxes with the ledger, and give the others a place at their cells."""
    named = set()
    for box in doctree.findall(nodes.admonition):
        for code in list(box.findall(nodes.literal)) if "documents" in box["classes"] else ():
            claim = code.astext()
            if CLAIM.fullmatch(claim) and claim not in named:
                named.add(claim)
                there = nodes.inline(classes=["claim"])
                code.replace_self(there)
                there += link(f"row-{claim}", app.env.docname, code)
                place(app.env, there, f"claim-{claim}")
    for cell in doctree.findall(nodes.container):
        for name in cell["classes"]:
            claim = name.removeprefix("tag_")
            if CLAIM.fullmatch(claim) and claim not in named:
                named.add(claim)
                place(app.env, cell, f"claim-{claim}")
