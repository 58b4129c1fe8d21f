"""Other forms of the book: downloads and embeds."""

import re
from types import SimpleNamespace
from urllib.parse import urlencode

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from pages import SITE, some
from sphinx_posenc import downloads
from test_book import NOTEBOOKS


def test_a_download_links_to_the_same_place_on_the_site():
    text = downloads.resolve("[proof](02_formula.ipynb#proof)", "https://who.test/")
    assert text == "[proof](https://who.test/notebooks/02_formula.html#proof)"


def test_a_download_gets_the_book_where_it_is_missing(monkeypatch):
    source = downloads.preparation("https://github.com/who/book", "abc")["source"]
    ran = []
    shell = SimpleNamespace(
        run_line_magic=lambda *words: ran.append(" ".join(words)), system=ran.append
    )
    cell = TransformerManager().transform_cell(source)
    exec(cell, {"get_ipython": lambda: shell})
    assert ran == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(cell, {"get_ipython": lambda: shell})
    clone, checkout, install, folder = ran
    assert clone.endswith("https://github.com/who/book book")
    assert checkout.endswith(" abc")
    assert '"./book[chapters]"' in install
    assert folder == "cd book/notebooks"


@pytest.mark.parametrize(
    "path", some(sorted((SITE / "embed").glob("*.html"))), ids=lambda path: path.stem
)
def test_another_site_can_put_a_view_in_a_frame(browser, request, path):
    """The copied line reproduces the view there, without requests to other hosts."""
    embed = path.read_text("utf-8")
    here = embed.replace("<html", '<html data-content_root="../"')
    # Two sites without a server, filled as the reader goes on: the book's, and another one.
    pages = {
        "https://book.test/book/notebooks/a.html": here.replace("<body", '<body id="a"')
    }
    asked = []

    def answer(route):
        asked.append(route.request.url)
        route.fulfill(body=pages[route.request.url], content_type="text/html")

    clipboard = ["clipboard-read", "clipboard-write"]
    tab = browser.new_page(color_scheme="dark", permissions=clipboard)
    request.addfinalizer(tab.close)
    tab.route("**/*", answer)
    tab.goto(*pages)
    figure = tab.locator("posenc-figure")
    figure.locator("input").first.press("ArrowLeft")
    view = figure.evaluate("figure => figure.figure.state")
    figure.get_by_text("Share").click()
    figure.get_by_role("button", name="Copy embed code").click()
    copied = "name => navigator.clipboard.readText().then((text) => text.includes(name) && text)"
    line = tab.wait_for_function(copied, arg=path.name).json_value()
    pages["https://other.test/"] = f'<html style="color-scheme: dark">{line}'
    query = f"figure=&{urlencode(view)}"
    pages[f"https://book.test/book/embed/{path.name}?{query}"] = embed
    tab.goto("https://other.test/")
    figure = tab.frame_locator("iframe").locator("posenc-figure")
    figure.locator(".picture > *").first.wait_for()
    assert figure.evaluate("figure => figure.figure.state") == view
    assert asked == [*pages]


@pytest.mark.parametrize("path", some(NOTEBOOKS), ids=lambda path: path.stem)
def test_a_download_is_whole_by_itself(site, path):
    """No roles, directives or relative links; all anchors are there, and the code is the same."""
    cells = nbformat.read(
        site / "_sources" / "notebooks" / path.name, as_version=4
    ).cells
    text = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    assert re.findall(r"\{[\w:-]+\}`|^[>\s]*[`:]{3,} *\{.*|^:{3,}", text, re.M) == []
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if link[:1] not in "#h"] == []
    anchors = {*re.findall(r'<a id="([\w-]+)"></a>', text)}
    assert {link[1:] for link in links if link.startswith("#")} <= anchors
    stored = nbformat.read(path, as_version=4).cells
    original = [cell.source for cell in stored if cell.cell_type == "code"]
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    # The download may begin with a cell that gets the book.
    assert code[-len(original) :] == original
