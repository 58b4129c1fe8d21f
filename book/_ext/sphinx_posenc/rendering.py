"""Renders formulas at build time, with KaTeX in an embedded JavaScript engine, and code.

Pages then show formulas at once, with neither JavaScript nor a network, and without layout shifts.
KaTeX's stylesheet and fonts in ``book/_static/katex`` are of the same version as its script, which
comes with sphinxcontrib-katex.

Pygments wraps each token of code in an element. Names and punctuation, more than half of them, look
like the text around them; bare, they make pages of code much cheaper to lay out on a phone.
"""

import atexit
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.metadata import files
from typing import Any

import lxml.html
from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

# Classes of KaTeX that need nothing but their letters.
SIMPLE = re.compile(
    "base|enclosing|m(bin|close|inner|op|open|ord|punct|rel)|math(normal|rm)|mtight"
    "|reset-size6|size3|sizing|text|textrm"
)
PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}  # tokens without a color

logger = logging.getLogger(__name__)


@cache
def engine() -> MiniRacer:
    """A JavaScript engine with KaTeX loaded."""
    script = next(
        f for f in files("sphinxcontrib-katex") or [] if f.name == "katex.min.js"
    )
    context = MiniRacer()
    atexit.register(context.close)  # otherwise Python 3.13 hangs on its thread
    context.eval(script.read_text(encoding="utf-8"))
    return context


@cache
def render(latex: str, display: bool) -> str:
    """The formula as HTML, with MathML for screen readers.

    Inline, it has a fifth of KaTeX's elements where letters and indices are all. Of ``x^2`` KaTeX
    makes, with ``…`` for styles and MathML::

        <span class="katex"><span class="katex-mathml">…</span>
        <span class="katex-html" aria-hidden="true"><span class="base"><span class="strut" …></span>
        <span class="mord"><span class="mord mathnormal">x</span><span class="msupsub">
        <span class="vlist-t"><span class="vlist-r"><span class="vlist" …><span …>
        <span class="pstrut" …></span><span class="sizing reset-size6 size3 mtight">
        <span class="mord mtight">2</span></span></span></span></span></span></span></span></span>
        </span></span>

    and this returns::

        <span class="katex"><span class="katex-mathml">…</span>
        <span class="plain" aria-hidden="true"><i>x</i><sup>2</sup></span></span>
    """
    options = {"displayMode": display, "throwOnError": True, "strict": "error"}
    html = str(engine().call("katex.renderToString", latex, options))
    # Drop the LaTeX source that KaTeX adds to the MathML: nothing shows or reads it.
    html = re.sub("<annotation.*?</annotation>", "", html, flags=re.DOTALL)
    if display:
        return html
    said, _, _ = html.partition('<span class="katex-html"')
    text = joined(lxml.html.fromstring(html).find_class("katex-html")[0])
    if text is None:
        return html
    if "<su" not in text:  # it can be read as it is
        return f'<span class="katex plain">{text}</span>'
    return f'{said}<span class="plain" aria-hidden="true">{text}</span></span>'


def joined(node: lxml.html.HtmlElement) -> str | None:
    """The text of a node and its parts; None if a part can't be text."""
    parts = [escape(node.text or ""), *map(letters, node)]
    return None if None in parts else "".join(parts)


def letters(node: lxml.html.HtmlElement) -> str | None:
    """A part of KaTeX's HTML as text, ``<i>``, ``<sub>`` and ``<sup>``; None if that can't be."""
    kinds = {*node.classes}
    if "mspace" in kinds:
        width = re.search(r"margin-right:([\d.]+)em", node.get("style", ""))
        return space(float(width[1])) if width else ""
    if "strut" in kinds:
        return ""
    if "msupsub" in kinds:
        return raised_or_lowered(node)
    if not all(map(SIMPLE.fullmatch, kinds)) or {*node.attrib} - {"class", "style"}:
        return None
    text = joined(node)
    return f"<i>{text}</i>" if text is not None and "mathnormal" in kinds else text


def space(width: float) -> str:
    """A space between words, or a thin one, for a width in em."""
    return " " if width > 0.2 else "\u2009"


def raised_or_lowered(node: lxml.html.HtmlElement) -> str | None:
    """An index or an exponent, but not both."""
    row = node.find_class("vlist")[0]
    tag = "sub" if node.find_class("vlist-t2") else "sup"
    inner = [letters(part) for part in row.find_class("sizing")]
    is_plain = len(row) == 1 and inner[0] not in (None, "′")
    return f"<{tag}>{inner[0]}</{tag}>" if is_plain else None


def visit(self: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula; if KaTeX rejects it, warn and write its source."""
    display = isinstance(node, nodes.math_block)
    tag = "div" if display else "span"
    self.body.append(self.starttag(node, tag, "", CLASS="math notranslate"))
    if display and node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    try:
        html = render(node.astext(), display)
    except JSEvalException as error:
        first = str(error).strip().splitlines()[0]
        logger.warning("KaTeX: %s in %r", first, node.astext(), location=node)
        html = escape(node.astext())
    self.body.append(f"{html}</{tag}>")
    raise nodes.SkipNode


class Python(find_lexer_class_by_name("python")):  # type: ignore[misc]
    """Python lexer that emits tokens without a color as plain text."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
