"""Numbers, titles and labels that the text states are filled in, and held true."""

import re

import pytest
import small_site
from sphinx_posenc.citations import labels, listing
from sphinx_posenc.cross_references import Book, differences

HERE = "notebooks/01_first.ipynb"
REFERENCES = "../book/references.md"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return Book(small_site.write(tmp_path_factory.mktemp("book") / "source"))


def test_labels_have_two_names_at_most_and_tell_apart(book):
    assert labels(book.root / "book" / "references.bib") == {
        "one2020": "One, 2020",
        "two2020": "van Two and Three, 2020",
        "more": "One et al., 2019a",
        "moreagain": "One et al., 2019b",
        "zero": "A title, n.d.",
        "S0": "S0",
        "S1": "S1",
    }


def test_the_list_of_references_begins_with_the_documents(book):
    lines = listing(book.root / "book" / "references.bib").split("\n")
    found = [re.match(r'- <a id="(.*)"></a>\*\*(.*)\.\*\* ', line).groups() for line in lines]
    assert dict(found) == labels(book.root / "book" / "references.bib")
    keys = [key for key, _ in found]
    assert keys[:2] == ["S0", "S1"]
    assert keys.index("one2020") < keys.index("two2020")
    assert lines[keys.index("one2020")].endswith("Ann One. A. *J*, 2020.")


@pytest.mark.parametrize(
    ("given", "stated"),
    [
        ("[](#fig-a), [](#tab-a)", "[Figure 1.1](#fig-a), [Table 1.1](#tab-a)"),
        ("[](#eq-a), [equation 7.7](#eq-a)", "[(1.1)](#eq-a), [equation 1.1](#eq-a)"),
        ("[as shown](#fig-a), [as 7.7](#fig-a)", "[as shown](#fig-a), [as 1.1](#fig-a)"),
        ("[](02_second.ipynb#fig-b)", "[Figure 2.1](02_second.ipynb#fig-b)"),
        ("[](02_second.ipynb)", "[Try the second](02_second.ipynb)"),
        ("[](../index.md)", "[A page](../index.md)"),
        ("[Chapter 7](02_second.ipynb)", "[Chapter 2](02_second.ipynb)"),
        ("[Its title](02_second.ipynb)", "[Try the second](02_second.ipynb)"),
        ("[its title](02_second.ipynb)",) * 2,
        ("[chapter 7](02_second.ipynb#a-part)", "[chapter 2](02_second.ipynb#a-part)"),
        ("[Any](02_second.ipynb#a-part), [Any](no.md)",) * 2,
        (f"[]({REFERENCES}#more)", f"[One et al., 2019a]({REFERENCES}#more)"),
        (f"[Two, 2020]({REFERENCES}#S0)", f"[S0]({REFERENCES}#S0)"),
        (f"[van Two and Three (2020)]({REFERENCES}#two2020)",) * 2,
        (f"[`their` paper]({REFERENCES}#two2020)",) * 2,
        ("`[](#fig-a)`, ![](#fig-a), [a](), \\[](#fig-a)",) * 2,
        ("```\n[](#fig-a)\n```",) * 2,
        ("```{note}\n[](#eq-a)\n```", "```{note}\n[(1.1)](#eq-a)\n```"),
        ('<a id="fig-a"></a>**Figure ?.** It', '<a id="fig-a"></a>**Figure 1.1.** It'),
        (
            '<a id="eq-a"></a>\n\n$$\na\n\\tag{7.7}\n$$',
            '<a id="eq-a"></a>\n\n$$\na\n\\tag{1.1}\n$$',
        ),
    ],
)
def test_what_is_left_out_or_untrue_is_filled_in(book, given, stated):
    assert book.restate(HERE, given) == stated


def test_what_is_untrue_is_found(book, tmp_path):
    assert differences(book) == []
    (tmp_path / "_toc.yml").write_text("root: index\n", encoding="utf-8")
    (tmp_path / "index.md").write_text("# Now\n\nSee\n[Then](index.md).\n", encoding="utf-8")
    assert differences(Book(tmp_path)) == [("index.md", "[Then](index.md).", "[Now](index.md).")]
