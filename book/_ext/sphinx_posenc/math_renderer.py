"""Renders formulas at build time, with KaTeX in an embedded JavaScript engine.

Pages then show formulas at once, with neither JavaScript nor a network, and without layout shifts.
KaTeX's stylesheet and fonts in ``book/_static/katex`` are of the same version as its script, which
comes with sphinxcontrib-katex.
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
    atexit.register(context.close)  # otherwise Python 3.13 hangs on its thread
    context.eval(script.read_text(encoding="utf-8"))
    return context


@cache
def render(latex: str, display: bool) -> str:
    """The formula as HTML, with MathML for screen readers."""
    options = {"displayMode": display, "throwOnError": True, "strict": "error"}
    html = str(engine().call("katex.renderToString", latex, options))
    # Drop the LaTeX source that KaTeX adds to the MathML: nothing shows or reads it.
    return re.sub("<annotation.*?</annotation>", "", html, flags=re.DOTALL)


def html_of(node: nodes.Node, display: bool) -> str:
    """Render a node's formula; if KaTeX rejects it, warn and return the source."""
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
