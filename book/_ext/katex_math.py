"""Draw formulas at build time, with KaTeX in an embedded JavaScript engine.

A page then needs no script for its formulas: they are there at once, without a network and without
JavaScript, and nothing moves while it loads. KaTeX's style and fonts are in ``book/_static/katex``
and of the same version as its script, which comes with sphinxcontrib-katex.
"""

from __future__ import annotations

import atexit
import re
from functools import cache
from importlib.metadata import files
from typing import Any

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

OPENING = re.compile(r"\S+$")
CLOSING = re.compile(r"^\S+")
SHORT = 38  # characters of LaTeX: a formula that needs no line of its own


@cache
def engine() -> MiniRacer:
    """A JavaScript engine with KaTeX loaded."""
    script = next(f for f in files("sphinxcontrib-katex") or [] if f.name == "katex.min.js")
    context = MiniRacer()
    atexit.register(context.close)  # later, Python 3.13 waits for its thread for ever
    context.eval(script.read_text(encoding="utf-8"))
    return context


@cache
def render(latex: str, display: bool) -> str:
    """The formula as HTML for the eye and MathML for a screen reader."""
    options = {"displayMode": display, "throwOnError": True, "strict": "error"}
    return str(engine().call("katex.renderToString", latex, options))


def html_of(node: nodes.Node, display: bool) -> str:
    """The formula of a node, or a warning and its source where KaTeX refuses it."""
    try:
        return render(node.astext(), display)
    except JSEvalException as error:
        first = str(error).strip().splitlines()[0]
        logger.warning("KaTeX: %s in %r", first, node.astext(), location=node)
        return nodes.literal("", node.astext()).astext()


def visit_inline(self: Any, node: nodes.math) -> None:
    together = " together" if len(node.astext()) <= SHORT else ""
    self.body.append(self.starttag(node, "span", "", CLASS=f"math notranslate{together}"))
    self.body.append(html_of(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate", tabindex="0"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(html_of(node, display=True) + "</div>\n")
    raise nodes.SkipNode


class KeepTogether(SphinxPostTransform):
    """Keep short formulas and what touches them in one line: a comma, or the end of "k-th".

    KaTeX draws boxes, and a browser may end a line beside any box.
    """

    default_priority = 900  # when the quotation marks are what they will be

    def run(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            line = formula.parent
            at = line.index(formula)
            around = [line[i] if 0 <= i < len(line) else None for i in (at - 1, at + 1)]
            before, after = (str(each) if isinstance(each, nodes.Text) else "" for each in around)
            opening, closing = OPENING.search(before), CLOSING.search(after)
            if len(formula.astext()) > SHORT or not (opening or closing):
                continue
            parts: list[nodes.Node] = [formula]
            if closing:
                line[at + 1] = nodes.Text(after[closing.end() :])
                parts.append(nodes.Text(closing[0]))
            if opening:
                line[at - 1] = nodes.Text(before[: opening.start()])
                parts.insert(0, nodes.Text(opening[0]))
            line[at] = nodes.inline("", "", *parts, classes=["together"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(KeepTogether)
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
