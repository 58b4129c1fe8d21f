"""Begin a chapter: `make new NAME=relative_bias`.

It has one of each thing in place (figure, live figure, equation, citation, claim, exercises), and
passes as it is. Its number is the next one; it is listed in `_toc.yml`, on the landing page and,
with its claim, in the ledger.
"""

import re
import sys
from pathlib import Path

TEMPLATE = Path(__file__).with_name("chapter.ipynb")
CLAIM = """
- id: S0-{label}
  claim: The encoding of position 0 begins with 0.
  verdict: holds
  chapter: {stem}
"""


def insert_after(path, pattern, text):
    """Write a text below the last match of a pattern in a file."""
    old = path.read_text(encoding="utf-8")
    end = list(re.finditer(pattern, old, re.MULTILINE))[-1].end()
    path.write_text(old[:end] + text + old[end:], encoding="utf-8")


def main(name):
    """Write the chapter, and list it."""
    if not re.fullmatch("[a-z]+(_[a-z]+)*", name):
        sys.exit("Which name? In lower case, such as: make new NAME=relative_bias")
    number = 1 + max(int(path.name[:2]) for path in Path("notebooks").glob("[0-9][0-9]_*.ipynb"))
    stem, label = f"{number:02}_{name}", name.replace("_", "-")
    path = Path("notebooks") / f"{stem}.ipynb"
    path.write_text(TEMPLATE.read_text("utf-8").replace("NAME", label), encoding="utf-8")
    insert_after(
        Path("_toc.yml"), r"^      - file: notebooks/.*\n", f"      - file: notebooks/{stem}\n"
    )
    row = f"| {number} | [](notebooks/{stem}.ipynb): what it shows, in one sentence. |\n"
    insert_after(Path("index.md"), r"^\| \d+ \| .*notebooks/.*\n", row)
    with Path("book/claims.yml").open("a", encoding="utf-8") as ledger:
        ledger.write(CLAIM.format(label=label, stem=stem).removeprefix("\n"))
    print(f"{path} is there, and listed in _toc.yml, index.md and book/claims.yml.")
    print(f"Execute and check it: make chapter NOTEBOOK={path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
