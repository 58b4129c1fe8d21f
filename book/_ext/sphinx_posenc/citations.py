"""Citation labels, such as "Vaswani et al., 2017", and the list of references.

``book/references.bib`` is the source. ``make references`` writes the list into
``book/references.md``, as plain Markdown that JupyterLab shows too. The documents, S0 to S5, come
first, with their keys as labels.
"""

import re
from collections import Counter
from pathlib import Path

from pybtex.backends.markdown import Backend
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text
from pybtex.style.formatting.plain import Style


def authors(entry: Entry) -> str:
    """The names in a label: up to two, or the first and "et al."; without any, the title."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [" ".join([*each.prelast_names, *each.last_names]) for each in people]
    names = names or [entry.fields["title"]]
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return str(Text.from_latex(shown))


def labels(path: Path) -> dict[str, str]:
    """The label of each reference, by key."""
    names = {}
    for key, entry in sorted(parse_file(path, "bibtex").entries.items()):
        dated = f"{authors(entry)}, {entry.fields.get('year', 'n.d.')}"
        names[key] = key if re.fullmatch(r"S\d", key) else dated
    count, seen = Counter(names.values()), Counter[str]()
    for key, name in names.items():
        if count[name] > 1:  # 2017a, 2017b
            names[key] += "abcdefgh"[seen[name]]
            seen[name] += 1
    return names


def listing(path: Path) -> str:
    """The list of references in Markdown, with an anchor for each."""
    names, backend = labels(path), Backend()
    entries = Style().format_bibliography(parse_file(path, "bibtex"))  # ordered by author
    lines = []
    for entry in sorted(entries, key=lambda e: e.key if names[e.key] == e.key else "later"):
        text = re.sub(r"\\([.()+-])", r"\1", " ".join(entry.text.render(backend).split()))
        lines.append(f'- <a id="{entry.key}"></a>**{names[entry.key]}.** {text}')
    return "\n".join(lines)
