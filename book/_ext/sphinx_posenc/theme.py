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
BELOW = re.compile(r'<ul [^>]*>\n(?:<li class="toc-h3 .*</li>\n)+</ul>\n')
ENTRY = r'(<li class="toc-h2 [^"]*"><a [^>]*>)Going further: (.*</a>)</li>\n'
FURTHER = re.compile(rf"(?:{ENTRY})+")
# <h2>Going further: a<a class="headerlink"
FURTHER_HEAD = re.compile('(?<=>)(Going further: )(.*?)(?=<a class="headerlink")')
# <td>-0.016 ± 0.024 undecided</td>: a difference, the reach of its interval, and what is decided
NEGATIVE = re.compile(r"(?<=<td>)-(?=\d)")
DIFFERENCE = re.compile(r"(?<=<td>)([+−][\d.]+) ± ([\d.]+) (\w+)(?=</td>)")
# <td>16 × base 500,000; 48 × base 500,000, window 4096</td>: no number, which stands at the right
WORDS = re.compile("<td>(?=[^<±]{16,}</td>)")
REACH = re.compile(r"(?<=\d )± [\d.]+(?=</td>)")
OUTCOME = re.compile(r"(?<=<td>)(higher|lower|same|undecided)(?=</td>)")
# <div class="output stream highlight-myst-ansi"><div class="highlight"><pre><span></span>…</pre>
OUTPUT = re.compile(
    r'(<div class="output )([^"]*"><div class="highlight"><pre><span></span>)(.*?)(?=</pre>)',
    re.DOTALL,
)
# Columns, or numbers in brackets
ALIGNED = re.compile(r"\S  +\S|^[\s\[(]", re.MULTILINE)
# <span class="pre">tests/test_nn.py</span>
PATH = re.compile(
    r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)'
)


def grouped(contents):
    """List a page's sections, and those that go further and are neighbors in a fold."""

    def fold(entries):
        inner = re.sub(ENTRY, r"\1\2</li>\n", entries[0])
        summary = f"Going further ({inner.count('<li')})"
        listed = f"<details><summary>{summary}</summary><ul>{inner}</ul></details>"
        return f'<li class="further">{listed}</li>\n'

    return FURTHER.sub(fold, BELOW.sub("", contents))


def draw_difference(cell):
    """A difference in a table, with its interval on a line from -1 to 1, which book.css draws."""
    mean, reach, outcome = cell.groups()
    number = mean.replace("−", "-")
    drawn = (
        f'<span class="interval" style="--mean:{float(number)};--reach:{reach}"></span>'
    )
    decided = f'<span class="outcome {outcome}">{outcome}</span>'
    line = f'<span class="strip">{drawn}{decided}</span>'
    return f'{mean} <span class="reach">± {reach}</span> {line}'


def mark_prose(output):
    """Give an output that reads like sentences the class by which its lines wrap."""
    start, rest, text = output.groups()
    return f"{start}{'' if ALIGNED.search(text) else 'prose '}{rest}{text}"


def boxed(body):
    """Put a page's tables and pictures in scrolling boxes, and let paths break after a slash.

    In cells of tables, intervals are drawn, and a hyphen before a number is a minus sign.
    """
    body = PATH.sub(
        lambda path: path[0].replace("/", '/</span><wbr><span class="pre">'), body
    )
    body = FURTHER_HEAD.sub(
        r'<span class="goes-further">\1</span><span>\2</span>', body
    )
    body = OUTPUT.sub(mark_prose, body)
    # A difference has its minus sign by then, and what is left for the last two is no difference.
    body = DIFFERENCE.sub(draw_difference, NEGATIVE.sub("−", body))
    body = WORDS.sub('<td class="words">', body)
    body = REACH.sub(r'<span class="reach">\g<0></span>', body)
    body = OUTCOME.sub(r'<span class="outcome \1">\1</span>', body)
    body = body.replace(TABLE, BOX.format("pst-scrollable-table-container", "Table"))
    return PICTURE.sub(rf"\1{BOX.format('picture', 'Figure')}\2</div>", body)
