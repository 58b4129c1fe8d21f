"""What the book's extensions change in the HTML of a page."""

import re

import highlighting
import pytest
from accessibility import repair
from docutils import nodes
from docutils.core import publish_doctree
from pygments import highlight
from pygments.formatters import HtmlFormatter
from typography import keep_formulas, keep_text


def test_tables_and_pictures_scroll_by_keyboard():
    table = '<div class="pst-scrollable-table-container"><table></table></div>'
    figure = '<figure class="align-default" id="f">\n<img alt="a" src="b.svg" /><figcaption>'
    live = '<figure id="f">\n<posenc-figure kind="clock"><img alt="a" src="b.svg" />'
    for body in (table, figure):
        assert 'tabindex="0"' in repair(body)
    assert repair(figure).count("<div") == repair(figure).count("</div>") == 1
    assert repair(live) == live


def test_entries_of_the_bibliography_are_a_list():
    assert repair('<div role="doc-biblioentry">') == '<div role="listitem">'


def test_little_code_stays_in_one_line():
    code = '<code class="docutils literal notranslate{}"><span>{}</span> <span>1</span></code>'
    for words, together in (("base", " together"), ("base" * 4, "")):
        assert keep_text(code.format("", words)) == code.format(together, words)


def test_paths_end_a_line_after_a_slash():
    path = '<span class="pre">src/a.py</span>'
    assert keep_text(path) == '<span class="pre">src/</span><wbr><span class="pre">a.py</span>'
    for text in ('<span class="pre">d//2</span>', '<span class="pre">1/n</span>', "<p>one/two</p>"):
        assert keep_text(text) == text


def test_the_other_tokens_of_code_have_elements():
    code = "for i in range(3):  # rows\n    np.sin(i)\n"
    html = highlight(code, highlighting.Python(), HtmlFormatter())
    assert re.findall(r'<span class="(\w+)">([^<]*)', html) == [
        ("k", "for"),
        ("ow", "in"),
        ("nb", "range"),
        ("mi", "3"),
        ("c1", "# rows"),
        ("o", "."),
    ]


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        ("<p>1 000 000, not 10 000</p>", "<p>1&nbsp;000&nbsp;000, not 10&nbsp;000</p>"),
        ("<p>of 2017 128 and 5 1000</p>", "<p>of 2017 128 and 5 1000</p>"),
        ("<pre>10 000</pre> 10 000", "<pre>10 000</pre> 10&nbsp;000"),
        ('<img alt="10 000" />', '<img alt="10 000" />'),
        ("<p>45\n% of 100 × 512</p>", "<p>45&nbsp;% of 100&nbsp;×&nbsp;512</p>"),
        ("<p>at d = 8, x = −1</p>", "<p>at d&nbsp;=&nbsp;8, x&nbsp;=&nbsp;−1</p>"),
        ("<p>(i − 1) / d, n = d</p>", "<p>(i&nbsp;−&nbsp;1)&nbsp;/ d, n&nbsp;= d</p>"),
        ("<p>Document S4, <i>Table 2.1</i></p>", "<p>Document&nbsp;S4, <i>Table&nbsp;2.1</i></p>"),
        ("<p>(10, 3, 2), (a, 1)</p>", "<p>(10,&nbsp;3,&nbsp;2), (a, 1)</p>"),
        ("<p>a – b, x &lt; y</p>", "<p>a – b, x&nbsp;&lt; y</p>"),
        (
            "<p>a t-SNE map, k-nearest, well-known</p>",
            '<p>a <span class="together">t-SNE</span> map, '
            '<span class="together">k-nearest</span>, well-known</p>',
        ),
        ("<code>d = 8</code><svg><text>t-SNE</text></svg>",) * 2,
    ],
)
def test_numbers_and_short_equations_stay_in_one_line(body, whole):
    assert keep_text(body) == whole


@pytest.mark.parametrize(
    ("text", "together"),
    [
        (":math:`x`, and (:math:`y`).", ["x,", "(y)."]),
        (":math:`x` and :math:`y` are free", []),
        (f":math:`{'x' * 39}`, too long to be kept from breaking", []),
    ],
)
def test_short_formulas_keep_what_touches_them(text, together):
    document = publish_doctree(text)
    before = document.astext()
    keep_formulas(None, document, "page")
    assert [each.astext() for each in document.findall(nodes.inline)] == together
    assert document.astext() == before


@pytest.mark.parametrize(("length", "together"), [(38, ["together"]), (39, [])])
def test_a_formula_stays_in_one_line_if_it_is_short(length, together):
    formula = nodes.math("", "x" * length)
    keep_formulas(None, nodes.paragraph("", "", formula), "page")
    assert formula["classes"] == together
