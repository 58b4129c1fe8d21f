"""Citation labels, such as "Vaswani et al., 2017", and the list of references.

``book/references.bib`` is the source. ``make references`` writes the list into
``book/references.md``, as plain Markdown that JupyterLab shows too. The documents, S0 to S5, come
first, with their keys as labels.
"""

import re
from collections import Counter
from pathlib import Path

from pybtex.backends.markdown import Backend
from pybtex.database import Entry, Person, parse_file
from pybtex.richtext import Text
from pybtex.style.formatting.plain import Style


def plain(latex: str) -> str:
    return str(Text.from_latex(latex))


def surname(person: Person) -> str:
    return plain(" ".join([*person.prelast_names, *person.last_names]))


def authors(entry: Entry) -> str:
    """The names in a label: up to two, or the first and "et al."."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    if not people:
        return plain(entry.fields["title"])
    first, *others = map(surname, people)
    if not others:
        return first
    return f"{first} and {others[0]}" if len(others) == 1 else f"{first} et al."


def labels(path: Path) -> dict[str, str]:
    """The label of each reference, by key."""
    entries = sorted(parse_file(path, "bibtex").entries.values(), key=lambda entry: entry.key)
    names = {}
    for entry in entries:
        year = entry.fields.get("year", "n.d.")
        is_document = re.fullmatch(r"S\d", entry.key)
        names[entry.key] = entry.key if is_document else f"{authors(entry)}, {year}"
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
