"""What a reader gets on the pages of the small site, where its address is known and where not."""

import base64
import hashlib
import json
import re
from urllib.parse import urlsplit

import pytest
import small_site
from bs4 import BeautifulSoup
from small_site import URL
from sphinx_posenc import browser_cells, browser_files, svg_theme
from sphinx_posenc.page_metadata import last_change

from posenc import plots, widgets

CHAPTER = "notebooks/01_first"


def parse(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def words(node):
    return " ".join(node.get_text().split()).removesuffix("#")


def texts(node, selector):
    return [words(found) for found in node.select(selector)]


def links(node, selector="a"):
    return {words(a): a["href"] for a in node.select(selector)}


@pytest.fixture(scope="module")
def pages(site):
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return {name: parse(site / name) for name in names if not name.startswith("_static")}


@pytest.fixture(scope="module")
def chapter(pages):
    return pages[f"{CHAPTER}.html"].article


@pytest.fixture(scope="module")
def homeless(site):
    """The site without an address."""
    nowhere = dict.fromkeys(small_site.PUBLISHED, "")
    options = ("-D", "html_optimized=0")
    return small_site.build(
        site.with_name("source"), site.with_name("nowhere"), *options, **nowhere
    )


def test_links_lead_to_their_places(pages, chapter):
    assert links(chapter, "section > p a") == {
        "wave length": "../book/glossary.html#term-wave-length",
        "Waves": "../book/glossary.html#term-wave",
        "Figure 1.1": "#fig-a",
        "(1.1)": "#equation-eq-a",
        "Table 1.1": "#tab-a",
        "Figure 2.1": "02_second.html#fig-b",
        "as there": "02_second.html#a-part",
        "Try the second": "02_second.html",
        "chapter 2": "02_second.html",
        "A page": "../index.html",
        "van Two and Three, 2020": "../book/references.html#two2020",
    }
    assert links(pages["notebooks/02_second.html"].article, "p a")
    for name, page in pages.items():
        for link in page.select("article a[href]"):
            there = urlsplit(link["href"])
            if not there.scheme and name != "404.html":
                path = (small_site.Path("/") / name).parent / there.path if there.path else None
                path = re.sub(r"[^/]+/\.\./", "", str(path or f"/{name}"))[1:]
                assert not there.fragment or pages[path].find(id=there.fragment), link


def test_every_link_ends(site):
    for path in site.rglob("*.html"):
        article = path.read_text("utf-8").partition("<article")[2].partition("</article>")[0]
        assert article.count("</a>") == len(re.findall(r"<a\b", article)), path


def test_figures_tables_and_equations_have_their_numbers(chapter):
    assert texts(chapter, "figcaption, caption") == [
        "Figure 1.1 What it shows.",
        "Table 1.1 What it holds.",
    ]
    assert chapter.select_one("#fig-a figcaption em").text == "shows"
    assert chapter.select_one("#fig-a img")["alt"] == "Some squares."
    assert texts(chapter, "#tab-a td") == ["1", "2"]
    equation = chapter.select_one("#equation-eq-a")
    assert texts(equation, ".eqno, annotation") == ["(1.1)", "a = b"]
    assert equation["tabindex"] == "0"
    assert equation.select_one("a.headerlink")["title"] == "Link to this equation"
    assert chapter.find(string=re.compile(r"\*\*|\\tag|\$\$|<a id")) is None


def test_wide_tables_and_pictures_scroll_by_keyboard(pages, chapter):
    for box, name in zip(chapter.select("[role=group]"), ("Figure", "Table"), strict=True):
        assert box["aria-label"].startswith(f"{name}, scrolls")
        # book.css knows them by these.
        known = {"Figure": "picture", "Table": "pst-scrollable-table-container"}
        assert box["class"] == [known[name]]
        assert box["tabindex"] == "0"
        assert [tag.name for tag in box.find_all(True, recursive=False)] == [
            "img" if name == "Figure" else "table"
        ]
    assert pages["index.html"].select("posenc-figure [role=group]") == []


def test_solutions_hold_their_code(chapter):
    assert texts(chapter, ".exercise > p") == ["Exercise 1.1", "Exercise 1.2"]
    first, second = chapter.select(".solution")
    assert texts(first, ":scope p:not(.admonition-title), .cell") == ["So:", "3", "or", "4"]
    assert "dropdown" in first["class"]
    assert texts(second, ":scope p:not(.admonition-title), .cell") == ["Thus."]
    assert "dropdown" not in second["class"]
    assert texts(chapter, "section > .cell")[-1] == "5"


def test_folded_code_opens_at_its_first_comment(chapter):
    fold = chapter.select_one("details.fold")
    assert words(fold.summary) == "Checked: a < b"
    assert fold.select_one(".cell_input")
    assert not fold.select_one(".cell_output")
    assert len(chapter.select("details, summary")) == 2


def test_colored_tokens_alone_have_elements(chapter):
    code = chapter.select_one(".cell_input pre")
    assert [(token["class"], token.text) for token in code.select("span") if token.text] == [
        (["kn"], "import"),
        (["kn"], "from"),
        (["kn"], "import"),
        (["k"], "for"),
        (["ow"], "in"),
        (["nb"], "range"),
        (["mi"], "10_000"),
        (["nb"], "print"),
        (["o"], "."),
        (["c1"], "# all"),
    ]
    assert code.text == small_site.FIRST[1]["source"] + "\n"


def test_reading_times_leave_out_what_may_be_skipped(pages, chapter):
    assert chapter.h1.find_next_sibling("p") is chapter.select_one(".reading-time")
    assert texts(chapter, ".reading-time") == ["4 minutes for the main line, 15 for all of it"]
    assert texts(chapter, ".skippable > h2") == ["Going further: more"]
    assert pages["plain.html"].select(".reading-time") == []


def test_the_ledger_and_the_boxes_lead_to_each_other(pages, chapter):
    box = chapter.select_one(".documents")
    assert links(box) == {n: f"../book/claims.html#row-{n}" for n in ("S0-boxed", "S1-other")}
    assert texts(box, "code") == ["S0-boxed", "S9"]
    assert chapter.find(id="claim-S0-boxed").find_parent(class_="documents") is box
    assert "cell" in chapter.find(id="claim-S1-cell")["class"]
    claims = pages["book/claims.html"].article
    ledger, errata = claims.select("table.ledger")
    assert [texts(row, "th, td") for row in ledger.select("tr")][2:] == [
        ["S1", "Else.", "within limits", "chapter 1"],
        ["S1", "No.", "fails", "chapter 1"],
    ]
    assert texts(ledger, "th") == ["Document", "Claim", "Verdict", "Asserted in"]
    assert texts(ledger, "em, annotation") == ["x", "so"]
    assert [texts(row, "th, td") for row in errata.select("tr")][::2] == [
        ["The document says", "Right is", "Shown in"],
        ["No.", "Yes.", "chapter 1"],
    ]
    assert [row["href"] for row in errata.select("a")] == [
        f"../{CHAPTER}.html#claim-{name}" for name in ("S1-other", "S1-cell")
    ]
    count = "Of 3 claims, 1 hold, 1 hold within limits, and 1 fail. Choose a document or a verdict"
    assert texts(claims, "h1 + p") == [f"{count} to see its rows alone."]


def test_a_reader_chooses_rows_by_what_they_are(pages):
    claims = pages["book/claims.html"].article
    assert [
        (field.legend.text, button["value"], words(button.parent), button.has_attr("checked"))
        for field in claims.select("fieldset.choices")
        for button in field.select(f"input[type=radio][name={field.legend.text}]")
    ] == [
        ("document", "all", "all", True),
        *(("document", f"S{n}", f"S{n}", False) for n in range(5)),
        ("verdict", "all", "all", True),
        ("verdict", "holds", "holds", False),
        ("verdict", "within-limits", "within limits", False),
        ("verdict", "fails", "fails", False),
    ]
    assert [set(row["class"]) - {"row-odd", "row-even"} for row in claims.select("tr[id]")] == [
        {"document-S0", "verdict-holds"},
        {"document-S1", "verdict-within-limits"},
        {"document-S1", "verdict-fails"},
    ]


def shown(node):
    """A text with the signs of `small_site.LINES`."""
    if node.name is None:
        return str(node).replace("\xa0", "~")
    if "katex" in node.get("class", ()):
        return node.annotation.text
    inner = "".join(map(shown, node.children))
    return (
        "|"
        if node.name == "wbr"
        else f"[{inner}]"
        if "together" in node.get("class", ())
        else inner
    )


def test_lines_end_where_they_may(pages):
    lines = pages["book/lines.html"].article.section.find_all("p", recursive=False)
    assert [shown(line) for line in lines] == [*small_site.LINES.values()]


def test_live_figures_are_there_with_their_picture_and_script(pages, site):
    kinds = {"index.html": ["heatmap"]} | {f"{kind}.html": [kind] for kind in small_site.KINDS}
    for name, page in pages.items():
        figures = page.select("posenc-figure")
        assert [figure["kind"] for figure in figures] == kinds.get(name, [])
        assert all(
            figure.select_one("figure img[alt][src]") for figure in figures if name != "index.html"
        )
        assert page.select("posenc-figure figcaption") == []
        code = "".join(script.text for script in page.select("script"))
        assert code.count("class PosencFigure") == len(figures)
        assert {k for k in small_site.KINDS if f"FIGURES.{k}=" in code} == {*kinds.get(name, [])}
        assert "export " not in code
    landing = pages["index.html"].select_one("figure#fig-landing posenc-figure")
    assert "seq-len" in landing.attrs
    state = {name.replace("-", "_"): value for name, value in landing.attrs.items()}
    assert state == {"kind": "heatmap"} | {k: str(v) for k, v in widgets.Heatmap().state().items()}
    assert landing.img["alt"] == "The encoding of 64 positions as a heatmap."
    assert (site / landing.img["src"]).read_text("utf-8").count("<svg") == 1


def test_pictures_follow_the_theme(site):
    squares = (site / "_images" / "squares.svg").read_text("utf-8")
    color = plots.COLORS[0]
    mixed = f"stroke: {color}; stroke: color-mix(in srgb, {color} 85%, var(--ink))"
    assert f'style="fill: var(--ink); {mixed}"' in squares
    light, dark = re.findall(r":root \{ --ink: (#\w+)", squares)
    assert (light, dark) == (plots.INK, svg_theme.DARK_INK)
    assert "@media (prefers-color-scheme: dark) { :root" in squares


def test_a_page_may_load_its_own_scripts_and_no_others(pages):
    for page in pages.values():
        policy = page.select_one("meta[http-equiv=Content-Security-Policy]")
        assert policy.find_previous_siblings("meta")[-1]["charset"] == "utf-8"
        code = [s.text for s in page.select("script:not([src])")]
        code += [v for tag in page.find_all() for k, v in tag.attrs.items() if k.startswith("on")]
        digests = (hashlib.sha256(each.encode()).digest() for each in code)
        rules = dict(rule.split(" ", 1) for rule in policy["content"].split("; "))
        assert set(rules.pop("script-src").split()) == {
            "'self'",
            "'unsafe-hashes'",
            *(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests),
        }
        assert rules == {
            "default-src": "'none'",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data:",
            "font-src": "'self' data:",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
        }


def meta(page, name):
    found = page.select_one(f'meta[name="{name}"], meta[property="{name}"]')
    return found and found["content"]


def test_descriptions_are_whole_sentences_or_cut_at_a_word(pages):
    found = {name: meta(pages[f"{name}.html"], "description") for name in ("index", "plain", "404")}
    assert found["index"] == "It begins. It goes on."
    assert found["plain"] == f"{small_site.LONG * 4}A long sentence that never…"
    assert found["404"].startswith("This address leads nowhere")
    assert meta(pages[f"{CHAPTER}.html"], "description").startswith("Each wave has its wave")
    index, search = (meta(pages[f"{name}.html"], "description") for name in ("genindex", "search"))
    assert index == "Index of the functions and the terms of the book."
    assert search == "Search the chapters, the glossary and the package for a word."


def test_a_known_address_is_that_of_every_page(pages, site):
    for name in ("index.html", "plain.html", "genindex.html", "book/glossary.html"):
        address = f"{URL}/{'' if name == 'index.html' else name}"
        assert pages[name].select_one("link[rel=canonical]")["href"] == address
        assert meta(pages[name], "og:url") == address
        assert meta(pages[name], "og:image") == f"{URL}/_static/card.png"
    chapters = (*small_site.CHAPTERS, *small_site.KINDS, *small_site.MORE)
    listed = re.findall("<url><loc>(.*)</loc></url>\n", (site / "sitemap.xml").read_text("utf-8"))
    assert listed == sorted([f"{URL}/", *(f"{URL}/{name}.html" for name in chapters)])
    robots = (site / "robots.txt").read_text("utf-8")
    assert robots == f"User-agent: *\nAllow: /\nSitemap: {URL}/sitemap.xml\n"
    buttons = links(pages["plain.html"], ".header-article__inner a[href]").values()
    assert "https://github.test/who/book" in buttons
    assert "https://github.test/who/book/blob/main/plain.md?plain=1" in buttons
    assert any(b.startswith("https://github.test/who/book/issues/new") for b in buttons)


def test_an_unknown_address_is_nowhere(homeless):
    assert not (homeless / "sitemap.xml").exists()
    assert (homeless / "robots.txt").read_text("utf-8") == "User-agent: *\nAllow: /\n"
    for path in homeless.rglob("*.html"):
        page = parse(path)
        assert page.select("link[rel=canonical], a[href*='github.test']") == []
        assert meta(page, "og:url") is meta(page, "og:image") is None
    assert "plain.html" in links(parse(homeless / "404.html")).values()


def test_the_page_of_no_address_works_at_any_depth(pages):
    lost = pages["404.html"]
    assert lost.html["data-content_root"] == "/the-book/"
    assert lost.select_one("form")["action"] == "/the-book/search.html"
    assert lost.select("link[rel=canonical]") == []
    assert meta(lost, "og:url") is None
    addresses = [tag[name] for name in ("href", "src") for tag in lost.select(f"[{name}]")]
    assert "/the-book/plain.html" in addresses
    assert [a for a in addresses if not re.match(r"/the-book/|#|https:", a)] == []


def test_a_page_has_the_day_of_its_last_commit(pages):
    assert small_site.DAY in words(pages["index.html"])
    assert small_site.DAY not in words(pages["plain.html"])  # never committed


def test_a_history_that_is_cut_off_gives_no_day(tmp_path):
    """It would give the day of its oldest commit for all that is older."""
    small_site.git(tmp_path, "init", "--quiet", "whole")
    for name in ("one.md", "two.md"):
        (tmp_path / "whole" / name).write_text(name, encoding="utf-8")
        small_site.commit(tmp_path / "whole", name)
    cut = ("clone", "--quiet", "--depth=1", (tmp_path / "whole").as_uri(), "cut")
    small_site.git(tmp_path, *cut)
    assert last_change(str(tmp_path / "whole"), "one.md") == small_site.DAY
    assert last_change(str(tmp_path / "cut"), "one.md") is None


def download(built):
    """What a chapter offers to download: its text, and all of it."""
    notebook = json.loads((built / "_sources" / f"{CHAPTER}.ipynb").read_text("utf-8"))
    cells = notebook["cells"]
    return [c["source"] for c in cells if c["cell_type"] == "markdown"], notebook


def test_a_download_needs_nothing_beside_it(site, homeless):
    text, notebook = download(site)
    sources = [(cell["cell_type"], cell["source"]) for cell in small_site.FIRST]
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code == [source for kind, source in sources if kind == "code"]
    assert not any("mystnb" in cell["metadata"] for cell in notebook["cells"])
    assert text[1] == '<a id="fig-a"></a>**Figure 1.1.** What it *shows*.'
    for link in (
        "[Figure 1.1](#fig-a)",
        f"[Figure 2.1]({URL}/notebooks/02_second.html#fig-b)",
        f"[chapter 2]({URL}/notebooks/02_second.html)",
        f"[van Two and Three, 2020]({URL}/book/references.html#two2020)",
        "`[](02_second.ipynb)`",
        "\n[](02_second.ipynb)\n",
    ):
        assert link in text[0]
    assert text[4] == (
        "After.\n\n> **In the documents**\n>\n> So. `S0-boxed` `S1-other` `S0-boxed` `S9`"
    )
    assert text[6] == (
        "## Exercises\n\n> **Exercise**\n>\n> Try.\n>\n> > **Note**\n> >\n> > It helps.\n\n"
        "> **Solution**\n>\n> So:"
    )
    text, _ = download(homeless)
    for words in ("[Figure 1.1](#fig-a)", " Figure 2.1, as there,\n*Try the second*, chapter 2, "):
        assert words in text[0]


def test_the_search_knows_words_but_no_numbers(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    known = index["terms"]
    assert {"formula", "caption"} <= set(known)
    assert "and" not in known  # as in any search of English
    assert [term for term in known if term.isdigit()] == []


def test_cells_that_need_torch_have_no_button():
    cells = [
        "import numpy as np\nimport torch\ntorch.set_num_threads(1)",
        "x = torch.ones(2)",
        "y = x.sum()",
        "x = np.ones(2)",
        "def f():\n    return y",
        "for y in range(3):\n    print(y)",
        "from posenc import nn\nfrom posenc.nn import rotate_pairs\nx",
        "def g():\n    import torch.nn",
        "exec('torch.ones(1)')",
        "rotate_pairs",
        "from posenc import experiments, plots",
        "plots.INK",
        "experiments.TASKS",
    ]
    needing = [False, True, True, False, True, False, False, True, True, True, False, False, True]
    assert [*browser_cells.needing_torch(cells)] == needing
    assert [*browser_cells.needing_torch(["x = 1", "y = x"], [0])] == [True, True]


def test_what_lacks_an_entry_that_needs_torch_has_no_button():
    cells = [
        "import torch\nkept = {}",
        "def size(name):\n    return len(kept[name])",
        "kept['ones'] = torch.ones(2)",
        "kept['two'] = [2]",
        "kept['two']",
        "kept['ones']",
        "size('two')",
        "size('ones')",
        "len(kept)",
        "kept['ones'] = [1]",
        "size('ones') + len(kept)",
    ]
    needing = [False, False, True, False, False, True, False, True, True, False, False]
    assert [*browser_cells.needing_torch(cells)] == needing


def test_other_cells_have_one(chapter):
    assert chapter.select(".cell")
    assert chapter.select(".needs-torch") == []


def test_without_pyodide_there_is_no_folder(monkeypatch, tmp_path, site, pages):
    assert re.fullmatch(r"python/\w{10}/", browser_files.folder())
    assert {"page.js", "worker.js"} <= {
        path.name for path in (site / browser_files.folder()).iterdir()
    }
    assert meta(pages[f"{CHAPTER}.html"], "python") == f"../{browser_files.folder()}"
    assert meta(pages["plain.html"], "python") is None
    monkeypatch.setattr(browser_files, "PYODIDE", tmp_path)
    assert browser_files.folder() is None
