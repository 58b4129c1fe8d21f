"""MyST's roles, and captions in the metadata of cells, become the plain forms of `plain`.

``make references`` writes them so, and the build reads them so: who knows MyST may write it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

REFERENCES = "book/references.md"
ROLE = re.compile(r"\{(doc|cite|numref|eq)\}`([^`]+)`")
EQUATION = re.compile(
    r"^(\n*)\$\$\n((?:(?!\$\$).)+?)\n\$\$ \((eq-[\w-]+)\)$", re.MULTILINE | re.DOTALL
)
TABLE = re.compile(r"^:::\{table\} (.+)\n:name: (tab-[\w-]+)\n\n((?:\|.*\n)+):::$", re.MULTILINE)
EXERCISE = re.compile(
    r"^(`{3,})\{(exercise|solution-start|solution-end)\}(.*?)^\1$", re.MULTILINE | re.DOTALL
)
START = re.compile(r"^(:{3,})\{solution-start\} ([\w-]+)\n((?::[\w-]+:.*\n)*)\1$", re.MULTILINE)
END = re.compile(r"^(:{3,})\{solution-end\}\s*\1$", re.MULTILINE)


class Plain:
    """Converts MyST's roles and directives to their plain forms."""

    def __init__(self, root: Path, pages: list[str]) -> None:
        self.root = root
        self.home = {}  # the page of each figure, table and equation
        for page in pages:
            text = (root / page).read_text(encoding="utf-8")
            names = re.findall(
                r"\((eq-[\w-]+)\)|:name: (tab-[\w-]+)|\"name\": \"(fig-[\w-]+)\"", text
            )
            names += re.findall(r"<a id=\\?\"((?:fig|tab|eq)-[\w-]+)\\?\">()()", text)
            self.home |= {name: page for found in names for name in found if name}

    def link(self, here: str, role: str, target: str, text: str) -> str:
        folder = posixpath.dirname(here)
        if role == "cite":
            path = posixpath.relpath(REFERENCES, folder)
            return f"[{text}]({path}#{target})"
        if role == "doc":
            path = posixpath.normpath(posixpath.join(folder, target))
            suffix = ".ipynb" if (self.root / f"{path}.ipynb").exists() else ".md"
            return f"[{text}]({target}{suffix})"
        home = self.home[target]
        path = "" if home == here else posixpath.relpath(home, folder)
        return f"[{text}]({path}#{target})"

    def roles(self, here: str, text: str) -> str:
        def convert(found: re.Match[str]) -> str:
            explicit = re.fullmatch(r"(.+?)\s*<(.+)>", found[2], re.DOTALL)
            words, targets = explicit.groups() if explicit else ("", found[2])
            links = [self.link(here, found[1], t.strip(), words) for t in targets.split(",")]
            before = found.string[: found.start()]
            word = before.rstrip()[-1:] or "."
            document = re.search(r"\b[Dd]ocument\s$", before)
            alone = word in ".,:;(|-*" or before.endswith("\n\n") or document
            inside = before.count("(") > before.count(")")
            bare = found[1] != "cite" or alone or inside
            return ", ".join(links) if bare else f"({'; '.join(links)})"

        # "Document S3 {cite}`S3`" names it twice.
        text = re.sub(r"\b(S\d)(\*\*)?\s(\{cite\}`\1`)", r"\3\2", text)
        return ROLE.sub(convert, text)

    def text(self, here: str, text: str) -> str:
        text = EXERCISE.sub(lambda m: f":::{{{m[2]}}}{m[3]}:::", text)
        text = TABLE.sub(
            lambda m: f'<a id="{m[2]}"></a>**Table ?.** {m[1]}\n\n{m[3]}'.rstrip(), text
        )
        text = EQUATION.sub(
            lambda m: f'{m[1][1:]}<a id="{m[3]}"></a>\n\n$$\n{m[2]}\n\\tag{{?}}\n$$', text
        )
        return self.roles(here, text)

    def cells(self, here: str, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        done, opened = [], None
        for cell in cells:
            if cell["cell_type"] != "markdown":
                done.append(cell)
                figure = cell["metadata"].get("mystnb", {}).pop("figure", None)
                if figure:
                    caption = f'<a id="{figure["name"]}"></a>**Figure ?.** {figure["caption"]}'
                    cell_id = f"caption-{figure['name'].removeprefix('fig-')}"[:64]
                    done.append(
                        {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": caption}
                    )
                continue
            text = self.text(here, cell["source"])
            if opened and END.search(text):
                text, opened = END.sub("", text, count=1).lstrip("\n"), None
            elif opened:  # text between the code of a solution
                cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "solution"]
            while start := START.search(text):
                after = text[start.end() :]
                end = END.search(after)
                body = (after[: end.start()] if end else after).strip("\n")
                box = f":::{{solution}} {start[2]}\n{start[3]}\n{body}\n:::"
                rest = after[end.end() :] if end else ""
                text = text[: start.start()] + box + rest
                opened = None if end else start[2]
            if text.strip():
                cell["source"] = text.strip("\n") if text != cell["source"] else text
                done.append(cell)
        return done
