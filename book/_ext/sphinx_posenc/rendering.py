"""Renders formulas at build time, with KaTeX in an embedded JavaScript engine, and code.

Pages then show formulas at once, with neither JavaScript nor a network, and without layout shifts.
KaTeX's stylesheet and fonts in ``book/_static/katex`` are of the same version as its script, which
comes with sphinxcontrib-katex.

Pygments wraps each token of code in an element. Names and punctuation, more than half of them, look
like the text around them; bare, they make pages of code much cheaper to lay out on a phone.
"""

import atexit
import re
from functools import cache
from html import escape, unescape
from importlib.metadata import files

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

# What KaTeX writes for formulas of letters and indices, and the text that looks the same. All rules
# are applied until none matches; each takes a whole part, so that their order is of no account. A
# formula with anything else in it (a color, a wide space, a fraction) has a <span> left, and stays
# as KaTeX drew it. To allow more, add a rule here, and a row to FORMULAS in test_extension.py.
TEXT = "((?:[^<]|</?i>|</?su[bp]>)*)"  # what a part holds once all in it is text
EM = r"-?[\d.]+em"
CLASSES = "base|m(?:bin|close|inner|op|open|ord|punct|rel)|mathrm|mtight|text|textrm"
# What slanted letters keep from the next one
MARGIN = f'(?: style="margin-right:{EM};")?'
SPACE = '<span class="mspace" style="margin-right:{}em;"></span>'
# A prime would look other than KaTeX's.
INDEX = (
    f'<span class="vlist" style="height:{EM};">'
    f'<span style="top:{EM};(?:margin-left:{EM};)?margin-right:0.05em;">'
    f'<span class="pstrut" style="height:{EM};"></span>'
    f'<span class="sizing reset-size6 size3 mtight">(?!′){TEXT}</span></span></span>'
)
AS_TEXT = {
    # In f\,x, and after a comma; and in an index
    SPACE.format("0.1667"): "\u2009",
    '<span class="mspace mtight" style="margin-right:0.1952em;"></span>': "\u2009",
    # Around a plus
    SPACE.format("0.2222"): " ",
    # Around an equals sign
    SPACE.format("0.2778"): " ",
    # In a~b, or a\ b
    '<span class="mspace(?: nobreak)?">\u00a0</span>': "\u00a0",
    # How high a line is
    f'<span class="strut" style="height:{EM};(?:vertical-align:{EM};)?"></span>': "",
    # x
    f'<span class="mord mathnormal(?: mtight)?"{MARGIN}>{TEXT}</span>': r"<i>\1</i>",
    # The g of log
    f'<span(?: class="mtight")?{MARGIN}>([^<]+)</span>': r"\1",
    # 2, +, (, log, and parts that hold others
    f'<span class="(?:{CLASSES})(?: (?:{CLASSES}))*"{MARGIN}>{TEXT}</span>': r"\1",
    # The index of x^2
    f'<span class="msupsub"><span class="vlist-t"><span class="vlist-r">{INDEX}'
    "</span></span></span>": r"<sup>\1</sup>",
    # The index of x_2
    '<span class="msupsub"><span class="vlist-t vlist-t2"><span class="vlist-r">'
    f'{INDEX}<span class="vlist-s">\u200b</span></span><span class="vlist-r">'
    f'<span class="vlist" style="height:{EM};"><span></span></span>'
    "</span></span></span>": r"<sub>\1</sub>",
}
PLAIN = {Name, Name.Namespace, Punctuation, Whitespace}  # tokens without a color

logger = logging.getLogger(__name__)


@cache
def engine():
    """A JavaScript engine with KaTeX loaded."""
    distributed = files("sphinxcontrib-katex")
    (script,) = [file for file in distributed if file.name == "katex.min.js"]
    context = MiniRacer()
    atexit.register(context.close)  # otherwise Python 3.13 hangs on its thread
    context.eval(script.read_text(encoding="utf-8"))
    return context


@cache
def render(latex, display):
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
    html = engine().call("katex.renderToString", latex, options)
    # Drop the LaTeX source that KaTeX adds to the MathML: nothing shows or reads it.
    html = re.sub("<annotation.*?</annotation>", "", html, flags=re.DOTALL)
    if display:
        return html
    said, _, drawn = html.partition('<span class="katex-html" aria-hidden="true">')
    text = as_text(drawn.removesuffix("</span></span>"))
    if "<span" in text:
        return html
    if "<su" not in text:  # it can be read as it is
        return f'<span class="katex plain">{text}</span>'
    return f'{said}<span class="plain" aria-hidden="true">{text}</span></span>'


def spoken(latex):
    """An inline formula's characters, as φ: what a screen reader reads of it."""
    # MathML comes first; what is drawn follows, unless the letters are all.
    said, _, _ = render(latex, False).partition('aria-hidden="true"')
    return unescape(re.sub("<[^>]*>?", "", said))


def as_text(drawn):
    """What KaTeX draws as text, ``<i>``, ``<sub>`` and ``<sup>``, as far as that can be."""
    before = ""
    while drawn != before:
        before = drawn
        for pattern, text in AS_TEXT.items():
            drawn = re.sub(pattern, text, drawn)
    return drawn


def visit(self, node):
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


class Python(find_lexer_class_by_name("python")):
    """Python lexer that emits tokens without a color as plain text."""

    def get_tokens_unprocessed(self, *arguments):
        for index, kind, value in super().get_tokens_unprocessed(*arguments):
            yield index, Text if kind in PLAIN else kind, value
