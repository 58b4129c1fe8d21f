"""What pages say about themselves, with and without an address of the published site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
URL = "https://example.org/the-book"
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
project = "Head"
language = "en"
extensions = ["myst_nb", "pipeline"]
myst_enable_extensions = ["dollarmath"]
html_theme = "sphinx_book_theme"
html_title = "The book"
html_context = {{"default_mode": "auto"}}
html_additional_pages = {{"404": "404.html"}}
templates_path = [{str(ROOT / "book" / "_templates")!r}]
"""
LONG = "A long sentence that never ends, "
PAGES = {
    "index.md": "# An intro\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    "Here is $x$.\n\nIt begins. It goes on.\n\n"
    "```{toctree}\n:hidden:\nnotebooks/one\n```\n",
    "notebooks/one.md": f"# One\n\n{LONG * 9}and ends.\n",
}


def git(folder, *arguments):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    day = {"GIT_COMMITTER_DATE": "2021-03-04T05:06:07Z"}
    subprocess.run(["git", "-C", folder, *who, *arguments], env=os.environ | day, check=True)


def build(source, built, url):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{built}-trees", source, built]
    subprocess.run(command, env=os.environ | {"PAGES_URL": url}, check=True)
    return {
        path.relative_to(built).as_posix(): path.read_text(encoding="utf-8")
        for path in built.rglob("*.*")
        if path.suffix in {".html", ".xml", ".txt"}
    }


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The files of a site whose address is known, and of one without."""
    folder = tmp_path_factory.mktemp("head")
    source = folder / "source"
    for name, text in {"conf.py": CONF, **PAGES}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", source)
    git(source, "add", "index.md", "conf.py")
    git(source, "commit", "--quiet", "--message", "An intro")
    return build(source, folder / "known", URL), build(source, folder / "unknown", "")


def test_a_known_address_is_that_of_every_page(sites):
    known, _ = sites
    for page in ("index.html", "notebooks/one.html", "genindex.html"):
        address = f"{URL}/{'' if page == 'index.html' else page}"
        assert f'<link rel="canonical" href="{address}"' in known[page]
        assert f'property="og:url" content="{address}"' in known[page]
        assert f'property="og:image" content="{URL}/_static/card.png"' in known[page]
    assert known["sitemap.xml"].count("<loc>") == len(PAGES)
    assert f"<loc>{URL}/</loc>" in known["sitemap.xml"]
    assert f"<loc>{URL}/notebooks/one.html</loc>" in known["sitemap.xml"]
    assert f"Sitemap: {URL}/sitemap.xml" in known["robots.txt"]


def test_an_unknown_address_is_nowhere(sites):
    _, unknown = sites
    assert "sitemap.xml" not in unknown
    assert "Sitemap" not in unknown["robots.txt"]
    for name, page in unknown.items():
        assert 'rel="canonical"' not in page, name
        assert "og:url" not in page, name
        assert "og:image" not in page, name


def test_the_page_of_no_address_works_at_any_depth(sites):
    known, unknown = sites
    assert 'href="notebooks/one.html"' in unknown["404.html"].replace('="./', '="')
    assert 'href="/the-book/notebooks/one.html"' in known["404.html"]
    assert 'action="/the-book/search.html"' in known["404.html"]
    assert 'data-content_root="/the-book/"' in known["404.html"]
    assert "canonical" not in known["404.html"]


def test_descriptions_are_whole_sentences_or_cut_at_a_word(sites):
    known, _ = sites
    texts = {
        page: re.search('name="description" content="([^"]*)"', known[page])[1]
        for page in ("index.html", "notebooks/one.html", "404.html")
    }
    assert texts["index.html"] == "It begins. It goes on."
    assert texts["notebooks/one.html"] == f"{LONG * 4}A long sentence that never…"
    assert texts["404.html"].startswith("This address leads nowhere")


def test_a_page_has_the_day_of_its_last_commit(sites):
    known, _ = sites
    assert "2021-03-04" in known["index.html"]
    assert "2021-03-04" not in known["notebooks/one.html"]  # never committed


def test_a_history_that_is_cut_off_gives_no_day(tmp_path, monkeypatch):
    """It would give the day of its oldest commit for all that is older."""
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from head import last_change

    git(tmp_path, "init", "--quiet", "whole")
    for name in ("one.md", "two.md"):
        (tmp_path / "whole" / name).write_text(name, encoding="utf-8")
        git(tmp_path / "whole", "add", name)
        git(tmp_path / "whole", "commit", "--quiet", "--message", name)
    git(tmp_path, "clone", "--quiet", "--depth=1", (tmp_path / "whole").as_uri(), "cut")
    assert last_change(str(tmp_path / "whole"), "one.md") == "2021-03-04"
    assert last_change(str(tmp_path / "cut"), "one.md") is None
