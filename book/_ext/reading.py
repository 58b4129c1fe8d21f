"""Two reading times under the title of each chapter: of its main line, and of all of it.

The main line is what a first reader needs: prose and open code. Boxes, tables, formulas on lines of
their own, folded code, exercises, solutions and sections that may be skipped ("Going further")
don't belong to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

WORDS_PER_MINUTE = 200
LINES_PER_MINUTE = 12

FENCE = re.compile(r"(`{3,}|:{3,})\s*(\{[\w-]+\})?")
HEADING = re.compile(r"(#{2,4}) (.+)")
SKIPPED = re.compile(r"going further|appendix|optional", re.IGNORECASE)
ASIDE = re.compile(rf"{SKIPPED.pattern}|exercises", re.IGNORECASE)
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def running(text: str) -> str:
    """The text without directives, tables and formulas on lines of their own."""
    kept, fences = [], []
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if fence and fences and not fence[2] and fence[1].startswith(fences[-1]):
            fences.pop()
        elif fence:
            fences.append(fence[1])
        elif not fences and not line.lstrip().startswith("|"):
            kept.append(line)
    return re.sub(r"\$\$.*?\$\$", "", "\n".join(kept), flags=re.DOTALL)


class Aside:
    """Whether the reader is in a section that the main line leaves out."""

    def __init__(self) -> None:
        self.level = 0

    def main(self, text: str) -> str:
        """The lines of a Markdown cell that stand in no such section."""
        kept = []
        for line in text.split("\n"):
            heading = HEADING.match(line)
            if heading and self.level and len(heading[1]) <= self.level:
                self.level = 0
            if heading and not self.level and ASIDE.search(heading[2]):
                self.level = len(heading[1])
            if not self.level:
                kept.append(line)
        return "\n".join(kept)


def minutes(cells: list[Any]) -> tuple[float, float]:
    """Minutes for the main line of a chapter, and for all of it."""
    words = lines = all_words = all_lines = 0
    aside, solution = Aside(), False
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text = cell["source"]
            all_words += len(text.split())
            solution = solution or "{solution-start}" in text
            main = aside.main(text)
            words += 0 if solution else len(running(main).split())
            solution = solution and "{solution-end}" not in text
        elif cell["cell_type"] == "code":
            body = [line for line in cell["source"].split("\n") if line.strip()]
            body = [line for line in body if not line.startswith(("import ", "from "))]
            all_lines += len(body)
            folded = FOLDED.intersection(cell["metadata"].get("tags", []))
            lines += 0 if solution or aside.level or folded else len(body)
    main = words / WORDS_PER_MINUTE + lines / LINES_PER_MINUTE
    return main, all_words / WORDS_PER_MINUTE + all_lines / LINES_PER_MINUTE


def add_times(app: Sphinx, doctree: nodes.document) -> None:
    """Put both times under the title of a chapter, and mark the sections that may be skipped."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    main, whole = (max(1, round(m)) for m in minutes(nbformat.read(path, as_version=4).cells))
    section = next(doctree.findall(nodes.section), None)
    if section is not None:
        text = f"{main} minute{'s' * (main > 1)} for the main line, {whole} for all of it"
        section.insert(1, nodes.paragraph("", text, classes=["reading-time"]))
    for part in doctree.findall(nodes.section):
        if SKIPPED.search(part[0].astext()):
            part["classes"].append("skippable")
