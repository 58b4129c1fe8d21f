"""Chapters to download, which stand alone."""

import re
from unittest.mock import Mock

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from pages import some
from reading import NOTEBOOKS, Chapter
from sphinx_posenc import downloads


def test_a_download_links_to_the_same_place_on_the_site():
    text = downloads.resolve("[proof](02_formula.ipynb#proof)", "https://who.test/")
    assert text == "[proof](https://who.test/notebooks/02_formula.html#proof)"


def test_a_download_gets_the_book_where_it_is_missing(monkeypatch):
    source = downloads.INSTALL.format(repository="https://who.test", commit="abc")
    # As IPython does with ! and % before it runs a cell.
    cell = TransformerManager().transform_cell(source)
    shell = Mock()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(cell, {"get_ipython": lambda: shell})
    commands = str(shell.method_calls)
    for part in ("https://who.test book", "abc", '"./book[chapters]"'):
        assert part in commands


@pytest.mark.parametrize("path", some(NOTEBOOKS), ids=lambda path: path.stem)
def test_a_download_is_whole_by_itself(site, path):
    """No roles, directives or relative links; all anchors are there, and the code is the same."""
    chapter, download = Chapter(path), Chapter(site / "_sources/notebooks" / path.name)
    roles = r"\{[\w:-]+\}`|^[>\s]*[`:]{3,} *\{.*|^:{3,}"
    assert re.findall(roles, download.text, re.MULTILINE) == []
    places = {f"#{name}" for name in re.findall('<a id="(.+?)">', download.text)}
    for link in re.findall(r"\]\(([^)]*)\)", download.text):
        assert link in places or link.startswith("http")
    # The download may begin with a cell that gets the book.
    code = [cell.source for cell in download.code[-len(chapter.code) :]]
    assert code == [cell.source for cell in chapter.code]
