"""What is known of the theme's markup: sphinx-book-theme 1.1.4 on pydata-sphinx-theme 0.15.4.

An update of the theme is compared with this module, and with ``_templates/layout.html``.
"""

import re

BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide">'
TABLE = '<div class="pst-scrollable-table-container">'
# <figure class="align-default" id="fig-turn">
# <img alt="Clocks" src="../_images/turn.svg" />, alone or in
# <a class="reference internal image-reference" href="…">
PICTURE = re.compile(
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)"
)
# <li class="toc-h2 nav-item toc-entry"><a class="reference internal nav-link"
# href="#going-further-a">Going further: a</a></li>, in one line. Instead of </li>, a list of its
# subsections may follow, each in a line.
BELOW = r'<ul [^>]*>\n(?:<li class="toc-h3 .*</li>\n)+</ul>\n'
ENTRY = (
    rf'(<li class="toc-h2 [^"]*"><a [^>]*>)Going further: (.*</a>)(?:{BELOW})?</li>\n'
)
FURTHER = re.compile(rf"(?:{ENTRY})+")
# <td>-0.016 ± 0.024 undecided</td>: the reach of an interval, and what is decided
REACH = re.compile(r"(?<=\d )± [\d.]+(?=(?: \w+)?</td>)")
OUTCOME = re.compile(r"(?<=[> ])(higher|lower|same|undecided)(?=</td>)")
# <span class="pre">tests/test_nn.py</span>
PATH = re.compile(
    r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)'
)


def grouped(contents):
    """Gather neighboring sections of a page's contents that go further below one entry.

    What is below them isn't listed.
    """

    def group(entries):
        inner = re.sub(ENTRY, r"\1\2</li>\n", entries[0])
        return f'<li class="further">Going further<ul>{inner}</ul></li>\n'

    return FURTHER.sub(group, contents)


def boxed(body):
    """Put a page's tables and pictures in scrolling boxes, and let paths break after a slash.

    In cells, the reach of an interval and what is decided get classes.
    """
    body = PATH.sub(
        lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body
    )
    body = REACH.sub(r'<span class="reach">\g<0></span>', body)
    body = OUTCOME.sub(r'<span class="outcome \1">\1</span>', body)
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
