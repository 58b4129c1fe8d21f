"""What pages say about themselves, with and without an address of the published site."""

import os
import re
import subprocess

import pytest
import small_site
from head import last_change

URL = "https://example.org/the-book"


def git(folder, *arguments):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    day = {"GIT_COMMITTER_DATE": "2021-03-04T05:06:07Z"}
    subprocess.run(["git", "-C", folder, *who, *arguments], env=os.environ | day, check=True)


def texts(built):
    files = [path for path in built.rglob("*.*") if path.suffix in {".html", ".xml", ".txt"}]
    return {path.relative_to(built).as_posix(): path.read_text("utf-8") for path in files}


@pytest.fixture(scope="module")
def sites(site, tmp_path_factory):
    """The files of a site whose address is known, and of one without."""
    folder = tmp_path_factory.mktemp("head")
    source = small_site.write(folder / "source")
    git(folder, "init", "--quiet", source)
    git(source, "add", "index.md")
    git(source, "commit", "--quiet", "--message", "A page")
    return texts(small_site.build(source, folder / "known", PAGES_URL=URL)), texts(site)


def test_a_known_address_is_that_of_every_page(sites):
    known, _ = sites
    for page in ("index.html", "plain.html", "genindex.html"):
        address = f"{URL}/{'' if page == 'index.html' else page}"
        assert f'<link rel="canonical" href="{address}"' in known[page]
        assert f'property="og:url" content="{address}"' in known[page]
        assert f'property="og:image" content="{URL}/_static/card.png"' in known[page]
    assert known["sitemap.xml"].count("<loc>") == 3 + len(small_site.KINDS)
    assert f"<loc>{URL}/</loc>" in known["sitemap.xml"]
    assert f"<loc>{URL}/plain.html</loc>" in known["sitemap.xml"]
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
    assert 'href="plain.html"' in unknown["404.html"].replace('="./', '="')
    assert 'href="/the-book/plain.html"' in known["404.html"]
    assert 'action="/the-book/search.html"' in known["404.html"]
    assert 'data-content_root="/the-book/"' in known["404.html"]
    assert "canonical" not in known["404.html"]


def test_descriptions_are_whole_sentences_or_cut_at_a_word(sites):
    known, _ = sites
    texts = {
        page: re.search('name="description" content="([^"]*)"', known[page])[1]
        for page in ("index.html", "plain.html", "404.html")
    }
    assert texts["index.html"] == "It begins. It goes on."
    assert texts["plain.html"] == f"{small_site.LONG * 4}A long sentence that never…"
    assert texts["404.html"].startswith("This address leads nowhere")


def test_a_page_has_the_day_of_its_last_commit(sites):
    known, _ = sites
    assert "2021-03-04" in known["index.html"]
    assert "2021-03-04" not in known["plain.html"]  # never committed


def test_a_history_that_is_cut_off_gives_no_day(tmp_path):
    """It would give the day of its oldest commit for all that is older."""
    git(tmp_path, "init", "--quiet", "whole")
    for name in ("one.md", "two.md"):
        (tmp_path / "whole" / name).write_text(name, encoding="utf-8")
        git(tmp_path / "whole", "add", name)
        git(tmp_path / "whole", "commit", "--quiet", "--message", name)
    git(tmp_path, "clone", "--quiet", "--depth=1", (tmp_path / "whole").as_uri(), "cut")
    assert last_change(str(tmp_path / "whole"), "one.md") == "2021-03-04"
    assert last_change(str(tmp_path / "cut"), "one.md") is None
