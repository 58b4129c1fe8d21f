"""Draw formulas at build time, with KaTeX in an embedded JavaScript engine.

A page then needs no script for its formulas: they are there at once, without a network and without
JavaScript, and nothing moves while it loads. KaTeX's style and fonts are in ``book/_static/katex``
and of the same version as its script, which comes with sphinxcontrib-katex.
"""

import atexit
import re
from functools import cache
from html import escape
from importlib.metadata import files
from typing import Any

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


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
    html = str(engine().call("katex.renderToString", latex, options))
    # The source, which KaTeX adds to the MathML, is shown and read to nobody.
    return re.sub("<annotation.*?</annotation>", "", html, flags=re.DOTALL)


def html_of(node: nodes.Node, display: bool) -> str:
    """The formula of a node, or a warning and its source where KaTeX refuses it."""
    try:
        return render(node.astext(), display)
    except JSEvalException as error:
        first = str(error).strip().splitlines()[0]
        logger.warning("KaTeX: %s in %r", first, node.astext(), location=node)
        return escape(node.astext())


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate"))
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
