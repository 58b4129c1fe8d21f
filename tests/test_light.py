"""Pages look the same before and after they are made light, and so does what a reader opens."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageChops

ROOT = Path(__file__).parents[1]

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
project = "Light"
language = "en"
extensions = ["myst_nb", "sphinx_book_theme", "sphinx_copybutton", "sphinx_exercise",
    "sphinx_togglebutton", "pipeline"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
numfig = True
html_math_renderer = "katex"
html_theme = "sphinx_book_theme"
html_title = "Light"
html_context = {{"default_mode": "auto"}}
html_static_path = [{str(ROOT / "book" / "_static")!r}]
html_css_files = ["katex/katex.min.css", "book.css"]
html_js_files = ["book.js"]
html_theme_options = {{"use_download_button": True, "back_to_top_button": False}}
templates_path = [{str(ROOT / "book" / "_templates")!r}]
"""

# Formulas in most of KaTeX's fonts, and a picture, a table, code and notes.
PAGE = r"""# A page

Text with a [link](other.md), `code`, **bold** and a formula, $\omega_i = n^{-2i/d}$.

$$
\left\|\sum_{i=0}^{d/2-1} \mathbf{x}_i\right\| \le \sqrt{\left(\frac{\mathcal{L}}
{\int_0^\infty f}\right)} \in \mathbb{R}
$$ (eq-one)

```{posenc-figure} curves
:name: fig-one
:alt: Curves.
The curves.
```

```python
for i in range(3):  # three
    print("i", i)
```

| a | b |
|---|---|
| 1 | 2 |

:::{note}
A note.
:::

:::{admonition} Folded
:class: dropdown
Unfolded.
:::

## A section

![squares](squares.svg)

### Below it

:::{exercise}
:label: one
Do it.
:::
"""
OTHER = "# Another page\n\n[](index.md)\n\n```{toctree}\nbook/glossary\n```\n"
SQUARES = """<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="150pt">
<path d="M0 0h200v100h200v100h-200v-100z" fill="teal"/></svg>"""
GLOSSARY = "# Glossary\n\n:::{glossary}\nnothing\n  Nothing.\n:::\n"


# Nothing blinks or fades while a picture is taken.
CALM = "* { caret-color: transparent !important; transition: none !important }"


def run(*arguments, **variables):
    subprocess.run([sys.executable, *arguments], env=os.environ | variables, check=True)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The pages as Sphinx writes them, and a copy that was made light."""
    folder = tmp_path_factory.mktemp("light")
    source = folder / "source"
    (source / "book").mkdir(parents=True)
    toctree = "\n```{toctree}\nother\n```\n"
    for name, content in {
        "conf.py": CONF,
        "index.md": PAGE + toctree,
        "squares.svg": SQUARES,
        "other.md": OTHER,
        "book/glossary.md": GLOSSARY,
    }.items():
        (source / name).write_text(content, encoding="utf-8")
    # In a process of its own: two sites built in one get in each other's way.
    sphinx = ("-m", "sphinx", "-q", "-W", "-d", folder / "trees")
    run(*sphinx, "-D", "html_optimized=0", source, folder / "raw")
    run(*sphinx, source, folder / "light")
    return folder / "raw", folder / "light"


def as_it_is(page):
    pass


def without_formulas(page):
    page.add_style_tag(content=".katex { visibility: hidden }")


def menu(page):
    without_formulas(page)
    page.click('[data-bs-toggle="dropdown"]')


def search(page):
    without_formulas(page)
    page.keyboard.press("Control+k")


def sidebar(page):
    without_formulas(page)
    page.click(".primary-toggle")


def unfolded(page):
    without_formulas(page)
    page.click(".admonition.dropdown .admonition-title")


def picture(browser, site, name, scheme, width, act):
    """A page as it looks, from top to bottom, after a reader did something."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto((site / f"{name}.html").as_uri())
    page.add_style_tag(content=CALM)
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    page.evaluate("document.fonts.ready")
    act(page)
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    page.close()
    assert errors == []
    return shot


def apart(browser, sites, *view):
    """The greatest difference of a color, 0 to 255, between pictures at a quarter of their size.

    A glyph of a smaller font may differ by part of a pixel, by how the browser hints it.
    """
    before, after = (picture(browser, site, *view) for site in sites)
    assert before.size == after.size
    difference = ImageChops.difference(before.reduce(4), after.reduce(4))
    return max(high for _, high in difference.getextrema())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "width", "act"),
    [
        ("index", 390, without_formulas),
        ("index", 1280, without_formulas),
        ("index", 1280, menu),
        ("index", 390, sidebar),
        ("index", 390, search),
        ("index", 1280, unfolded),
        ("search", 1280, as_it_is),
        ("genindex", 390, as_it_is),
    ],
)
def test_pages_look_the_same(browser, sites, name, width, act, scheme):
    assert apart(browser, sites, name, scheme, width, act) <= 16


def test_formulas_look_the_same(browser, sites):
    """A glyph that is missing, or of another font, differs by more than 100."""
    assert apart(browser, sites, "index", "light", 1280, as_it_is) <= 40


def test_two_builds_are_the_same_to_the_byte(sites, tmp_path):
    """Not in another folder, nor in another order of Python's sets, does anything differ."""
    source, built = tmp_path / "elsewhere" / "source", tmp_path / "elsewhere" / "built"
    shutil.copytree(sites[0].parent / "source", source)
    run("-m", "sphinx", "-q", "-W", source, built, PYTHONHASHSEED="1")
    first, second = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".doctrees" not in path.parts
        }
        for folder in (sites[1], built)
    )
    assert [*first] == [*second]
    assert [path for path, content in first.items() if second[path] != content] == []
