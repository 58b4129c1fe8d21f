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

import lxml.html
from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

# Classes of KaTeX that need nothing but their letters.
SIMPLE = {"base", "enclosing", "mbin", "mclose", "minner", "mop", "mopen", "mord", "mpunct", "mrel"}
SIMPLE |= {"mathnormal", "mathrm", "mtight", "reset-size6", "size3", "sizing", "text", "textrm"}

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


def letters(node: lxml.html.HtmlElement) -> str | None:
    """A part of KaTeX's HTML as text, ``<i>``, ``<sub>`` and ``<sup>``; None if that can't be."""
    kinds = {*node.classes}
    if "mspace" in kinds:
        width = re.search(r"margin-right:([\d.]+)em", node.get("style", ""))
        return "" if not width else " " if float(width[1]) > 0.2 else "\u2009"
    if "strut" in kinds:
        return ""
    if "msupsub" in kinds:
        row = node.find_class("vlist")[0]
        tag = "sub" if node.find_class("vlist-t2") else "sup"
        inner = [letters(part) for part in row.find_class("sizing")]
        return (
            f"<{tag}>{inner[0]}</{tag}>" if len(row) == 1 and inner[0] not in (None, "′") else None
        )
    if not kinds <= SIMPLE or {*node.attrib} - {"class", "style"}:
        return None
    parts = [escape(node.text or ""), *map(letters, node)]
    if None in parts:
        return None
    text = "".join(part for part in parts if part is not None)
    return f"<i>{text}</i>" if "mathnormal" in kinds else text


@cache
def render_inline(latex: str) -> str:
    """An inline formula, in a fifth of KaTeX's elements where letters and indices are all."""
    html = render(latex, False)
    shown = lxml.html.fromstring(html).find_class("katex-html")[0]
    plain = [letters(base) for base in shown]
    if None in plain:
        return html
    text = "".join(part for part in plain if part is not None)
    if "<su" not in text:  # it can be read as it is
        return f'<span class="katex plain">{text}</span>'
    aloud = re.search('<span class="katex-mathml">.*?</math></span>', html, re.DOTALL)
    said = aloud[0] if aloud else ""
    return f'<span class="katex">{said}<span class="plain" aria-hidden="true">{text}</span></span>'


def html_of(node: nodes.Node, display: bool) -> str:
    """Render a node's formula; if KaTeX rejects it, warn and return the source."""
    try:
        return render(node.astext(), True) if display else render_inline(node.astext())
    except JSEvalException as error:
        first = str(error).strip().splitlines()[0]
        logger.warning("KaTeX: %s in %r", first, node.astext(), location=node)
        return escape(node.astext())


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate"))
    self.body.append(html_of(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(html_of(node, display=True) + "</div>\n")
    raise nodes.SkipNode
