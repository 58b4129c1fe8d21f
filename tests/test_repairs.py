"""What the book's extensions change in the HTML of a page."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from pygments import highlight
from pygments.formatters import HtmlFormatter

EXTENSIONS = Path(__file__).parents[1] / "book" / "_ext"


@pytest.fixture
def extensions(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])


@pytest.mark.parametrize(
    ("link", "lifted"),
    [
        ('<a class="x" href="errata.html#s0">', '<a class="x" href="book/errata.html#s0">'),
        ('<a href="../notebooks/02_formula.html">', '<a href="notebooks/02_formula.html">'),
        ('<html data-content_root="../" lang="en">', '<html data-content_root="./" lang="en">'),
        ('<form action="../search.html" method="get">', '<form action="search.html" method="get">'),
        ('<script src="../_static/a.js?v=1">', '<script src="_static/a.js?v=1">'),
        ('<a href="#run-it">', '<a href="#run-it">'),
        ('<a href="https://example.org/x">', '<a href="https://example.org/x">'),
        ('<img src="data:image/png;base64,AA">', '<img src="data:image/png;base64,AA">'),
    ],
)
def test_links_of_the_root_page(extensions, link, lifted):
    from front import from_root

    assert from_root(link, "book") == lifted


def test_tables_and_pictures_scroll_by_keyboard(extensions):
    from boxes import repair

    table = '<div class="pst-scrollable-table-container"><table></table></div>'
    figure = '<figure class="align-default" id="f">\n<img alt="a" src="b.svg" /><figcaption>'
    live = '<figure id="f">\n<posenc-figure kind="clock"><img alt="a" src="b.svg" />'
    for body in (table, figure):
        assert 'tabindex="0"' in repair(body)
    assert repair(figure).count("<div") == repair(figure).count("</div>") == 1
    assert repair(live) == live


def test_entries_of_the_bibliography_are_a_list(extensions):
    from boxes import repair

    assert repair('<div role="doc-biblioentry">') == '<div role="listitem">'


def test_little_code_stays_in_one_line(extensions):
    from boxes import repair

    code = '<code class="docutils literal notranslate{}"><span>{}</span> <span>1</span></code>'
    for words, together in (("base", " together"), ("base" * 4, "")):
        assert repair(code.format("", words)) == code.format(together, words)


def test_paths_end_a_line_after_a_slash(extensions):
    from boxes import repair

    path = '<span class="pre">src/a.py</span>'
    assert repair(path) == '<span class="pre">src/</span><wbr><span class="pre">a.py</span>'
    for text in ('<span class="pre">d//2</span>', '<span class="pre">1/n</span>', "<p>one/two</p>"):
        assert repair(text) == text


def test_the_other_tokens_of_code_have_elements(extensions):
    import ink

    html = highlight("for i in range(3):  # rows\n    np.sin(i)\n", ink.Python(), HtmlFormatter())
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
def test_numbers_and_short_equations_stay_in_one_line(extensions, body, whole):
    from boxes import repair

    assert repair(body) == whole


@pytest.mark.parametrize(
    ("text", "together"),
    [
        (":math:`x`, and (:math:`y`).", ["x,", "(y)."]),
        (":math:`x` and :math:`y` are free", []),
        (f":math:`{'x' * 39}`, too long to be kept from breaking", []),
    ],
)
def test_short_formulas_keep_what_touches_them(extensions, text, together):
    from katex_math import KeepTogether

    document = publish_doctree(text)
    before = document.astext()
    KeepTogether(document).run()
    assert [each.astext() for each in document.findall(nodes.inline)] == together
    assert document.astext() == before


@pytest.mark.parametrize(("length", "together"), [(38, True), (39, False)])
def test_a_formula_stays_in_one_line_if_it_is_short(extensions, length, together):
    from katex_math import visit_inline

    page = SimpleNamespace(body=[], starttag=lambda *_, **given: given["CLASS"])
    with pytest.raises(nodes.SkipNode):
        visit_inline(page, nodes.math("", "x" * length))
    assert ("together" in page.body[0].split()) is together
