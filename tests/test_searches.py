"""What people type finds its section among the first two hits, already before a build.

The page's search runs over the sources; `test_site_browser.py` asks the built site. Left out is the
package's page, whose text stands in docstrings: no query leads there.
"""

import json
import re
from pathlib import Path

import yaml
from docutils.nodes import make_id
from py_mini_racer import MiniRacer
from sphinx_posenc.cross_references import Book
from sphinx_posenc.downloads import parts
from sphinx_posenc.myst_markup import read_notebook
from sphinx_posenc.search_index import COMMON, NAME

ROOT = Path(__file__).parents[1]
SEARCHES = yaml.safe_load((ROOT / "tests" / "searches.yml").read_text(encoding="utf-8"))
CODE = re.compile(r"^(```+)(?!\{).*?^\1$|^\$\$.*?^\$\$", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^:::\{index\} !(.+)$", re.MULTILINE)
MARKUP = re.compile(r"(?m)^[`:]{3,}.*$|^:\w[\w-]*:.*$|<[a-z/!][^>]*>|\]\([^)]*\)|[][`*|$]")


def sections(path):
    """Anchor, title, other titles, text and code of each section, or term of the glossary."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^(\w.*)\n(?=  \w)", r"## term-\1\n", text, flags=re.MULTILINE)
    else:
        cells = read_notebook(path)["cells"]
        text = "\n\n".join(part for cell in cells for part in parts(cell))
    first, *others = re.split(r"^#{2,4} ", text, flags=re.MULTILINE)
    for part in ["\n" + first, *others]:
        title, _, body = part.partition("\n")
        title = MARKUP.sub("", title)
        anchor = title.replace(" ", "-") if title.startswith("term-") else make_id(title)
        code = " ".join(found[0] for found in CODE.finditer(body))
        if path.stem.startswith("threads"):  # there the questions are enough
            body = " ".join(re.findall(r"\*\*(.+?)\*\*", body, flags=re.DOTALL))
        plain = MARKUP.sub(" ", CODE.sub("", body))
        names = " ".join(sorted({*NAME.findall(code)} - {*NAME.findall(plain)} - COMMON))
        yield anchor, title.removeprefix("term-"), ", ".join(ENTRY.findall(body)), plain, names


def test_searches_find_their_place_in_the_sources():
    pages = {page: title for page, title in Book(ROOT).titles.items() if page != "book/api.md"}
    index = {
        str(Path(page).with_suffix("")): [pages[page], [*sections(ROOT / page)]] for page in pages
    }
    ask = "JSON.stringify(bookSearch({}).results.slice(0, 2).map((hit) => [hit.name, hit.anchor]))"
    with MiniRacer() as engine:
        engine.eval(f"var window = globalThis; window.bookPages = {json.dumps(index)}")
        for path in sorted((ROOT / "book" / "_static" / "search").glob("*.js")):
            engine.eval(path.read_text(encoding="utf-8"))
        for query, wanted in SEARCHES.items():
            hits = json.loads(engine.eval(ask.format(json.dumps(query))))
            found = {name for name, _ in hits} | {f"{name}#{anchor}" for name, anchor in hits}
            missed = f"{query!r} finds {hits}: use its words on the page, best in the heading"
            assert {*wanted.split()} & found, missed
