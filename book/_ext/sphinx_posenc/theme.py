"""What the book changes in a page's HTML: in what the theme writes, and in what chapters write.

The theme is sphinx-book-theme 1.1.4 on pydata-sphinx-theme 0.15.4; an update is compared with this
module, and with ``_templates/layout.html``.
"""

import re

# <li class="toc-h2 nav-item toc-entry"><a class="reference internal nav-link"
# href="#going-further-a">Going further: a</a></li>, in one line. Before </li>, `BELOW` may stand in
# lines of its own: subsections, which have none themselves in any chapter.
BELOW = re.compile(r'<ul [^>]*>\n(?:<li class="toc-h3 .*</li>\n)+</ul>\n')
ENTRY = r'(<li class="toc-h2 [^"]*"><a [^>]*>)Going further: (.*</a>)</li>\n'
FURTHER = re.compile(rf"(?:{ENTRY})+")
# A title of 39 letters or more: in the contents, what stands before a comma or a colon says enough.
LONG = re.compile(r'(?<=nav-link")([^>]*>)(?=[^<]{39})([^<]{10,}?)[,:] [^<]*(?=</a>)')
BOX = '<div class="{}" role="group" aria-label="{}, scrolls sideways if it is wide">'
# Of a page of questions: <h3>Why?<a class="headerlink" …></a></h3>, the answer, and </section>
ANSWER = re.compile(r"(<h3>.*?</h3>)(.*?)(?=</section>)", re.DOTALL)
OUTCOMES = "higher|lower|same|undecided"  # of comparisons, as book.css shows them
# Columns, or numbers in brackets
ALIGNED = re.compile(r"\S  +\S|^[ \t\[(]", re.MULTILINE)


def grouped(contents):
    """The theme's list of a page's sections, in short: no subsections, and what goes further folds.

    Of "Going further: a" and "Going further: b" in a row, the line that opens the fold says "Going
    further (2)", and the fold lists "a" and "b".
    """

    def fold(entries):
        inner = re.sub(ENTRY, r"\1\2</li>\n", entries[0])
        summary = f"Going further ({inner.count('<li')})"
        listed = f"<details><summary>{summary}</summary><ul>{inner}</ul></details>"
        return f'<li class="further">{listed}</li>\n'

    return LONG.sub(r"\1\2", FURTHER.sub(fold, BELOW.sub("", contents)))


def folded(body):
    """A page of questions, each a fold with its answer; book.css opens all where there is room."""
    fold = r'<details class="question"><summary>\1</summary>\2</details>\n'
    return ANSWER.sub(fold, body)


def break_path(path):
    """Let a path in code break after each slash."""
    return path[0].replace("/", '/</span><wbr><span class="pre">')


def mark_prose(output):
    """Give an output that reads like sentences the class by which its lines wrap."""
    start, rest, text = output.groups()
    return f"{start}{'' if ALIGNED.search(text) else 'prose '}{rest}{text}"


def draw_difference(cell):
    """A difference in a table, with its interval on a line from -1 to 1, which book.css draws."""
    mean, reach, outcome = cell.groups()
    number = float(mean.replace("−", "-"))
    line = f'<span class="interval" style="--mean:{number};--reach:{reach}"></span>'
    decided = f'<span class="outcome {outcome}">{outcome}</span>'
    strip = f'<span class="strip">{line}{decided}</span>'
    return f'{mean} <span class="reach">± {reach}</span> {strip}'


# What pages write, as it is shown: a pattern, below what it matches, and what stands for it.
# Minus signs come before the patterns that have one; no other pattern matches what a rule wrote.
CHAPTERS = {
    # <h2>Going further: a<a class="headerlink"
    r'(?<=>)(Going further: )(.*?)(?=<a class="headerlink")': (
        r'<span class="goes-further">\1</span><span>\2</span>'
    ),
    # <p>See <a href="…">: where an answer leads on
    r"<p>(?=See (the )?<a )": '<p class="see">',
    # <td>-0.016: a hyphen before a number is a minus sign
    r"(?<=<td>)-(?=\d)": "−",
    # <td>−0.016 ± 0.024 undecided</td>: a difference, the reach of its interval, what is decided
    rf"(?<=<td>)([+−][\d.]+) ± ([\d.]+) ({OUTCOMES})(?=</td>)": draw_difference,
    # <td>16 × base 500,000</td>: words, but no outcome, so not at the right
    rf"<td>(?![+−]|(?:{OUTCOMES})</td>)(?=[^<±]*[A-Za-z]{{3}})": '<td class="words">',
    # <td>2.40 ± 0.02</td>
    r"(?<=\d )± [\d.]+(?=</td>)": r'<span class="reach">\g<0></span>',
    # <td>higher</td>
    rf"(?<=<td>)({OUTCOMES})(?=</td>)": r'<span class="outcome \1">\1</span>',
}
# What Sphinx and the theme write, as `CHAPTERS`, in any order.
THEME = {
    # <span class="pre">tests/test_nn.py</span>
    r'(?<=<span class="pre">)[a-zA-Z][\w.-]+(/[a-zA-Z][\w.-]+)+(?=</span>)': break_path,
    # <div class="output stream highlight-ansi"><div class="highlight"><pre><span></span>…</pre>
    r'(?s)(<div class="output )([^"]*"><div class="highlight"><pre><span></span>)(.*?)(?=</pre>)': (
        mark_prose
    ),
    '<div class="pst-scrollable-table-container">': (
        BOX.format("pst-scrollable-table-container", "Table")
    ),
    # <figure class="align-default" id="fig-turn">
    # <img alt="Clocks" src="../_images/turn.svg" />, alone or in
    # <a class="reference internal image-reference" href="…">
    r"(<figure [^>]*>\s*)(<img [^>]*>|<a [^>]*image-reference[^>]*><img [^>]*></a>)": (
        rf"\1{BOX.format('picture', 'Figure')}\2</div>"
    ),
}


def adapted(body):
    """A page's HTML, as `CHAPTERS` and `THEME` say; what they don't match stays as it is."""
    for pattern, replacement in (CHAPTERS | THEME).items():
        body = re.sub(pattern, replacement, body)
    return body
