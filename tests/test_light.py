"""Pages that were made light look as they did before, and a build of one change as a fresh one.

Both are tried on two pages of each thing that the book has, with the book's own settings.
"""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image, ImageChops

from posenc import plots

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"jupyter_book", "sphinx_comments"}  # they need more than these pages
# Formulas in most of KaTeX's fonts, a figure, a picture, a table, code and notes.
INDEX = r"""# A page

Text with a [link](plain.md), `code`, **bold** and a formula, $\omega_i = n^{-2i/d}$.

| a | b |
|---|---|
| 1 | 2 |

$$
\left\|\sum_{i=0}^{d/2-1} \mathbf{x}_i\right\| \le \sqrt{\left(\frac{\mathcal{L}}
{\int_0^\infty f}\right)} \in \mathbb{R}
$$ (eq-one)

```{figure} squares.svg
:name: fig-landing
:class: live-heatmap
:alt: The encoding of 64 positions as a heatmap.

A heatmap with its **caption**.
```

```python
for i in range(3):  # three
    print("i", i)
```

:::{admonition} Folded
:class: dropdown
Unfolded.
:::

## A section

![squares](squares.svg)

:::{exercise}
:label: one
Do it.
:::
"""
SQUARES = f"""<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="150pt"><defs></defs>
<path d="M0 0h200v100h200v100h-200z" style="fill: {plots.INK}; stroke: {plots.COLORS[0]}"/></svg>"""
PLAIN = "# A page without figures\n\nA long sentence, as descriptions of pages need one, ends.\n"
TOC = "{format: jb-book, root: index, chapters: [{file: plain}]}"


def settings():
    """The text of conf.py."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    own = book["sphinx"]["config"]
    own |= {
        "html_title": "A small site",
        "html_theme": "sphinx_book_theme",
        "extensions": [name for name in own["extensions"] if name not in LEFT_OUT],
        "myst_enable_extensions": book["parse"]["myst_enable_extensions"],
        "nb_execution_mode": "off",
        "html_search_scorer": str(ROOT / own["html_search_scorer"]),
    }
    for name in ("html_static_path", "templates_path"):
        own[name] = [str(ROOT / path) for path in own[name]]
    folders = {str(ROOT / path) for path in book["sphinx"]["local_extensions"].values()}
    lines = ["import sys", f"sys.path[:0] = {sorted(folders)!r}"]
    return "\n".join([*lines, *(f"{name} = {value!r}" for name, value in own.items()), ""])


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Write the pages, and build them in a process of its own into a folder that is named."""
    folder = tmp_path_factory.mktemp("small")
    texts = {"conf.py": settings(), "_toc.yml": TOC, "squares.svg": SQUARES, "plain.md": PLAIN}
    for name, text in (texts | {"index.md": INDEX}).items():
        (folder / name).write_text(text, encoding="utf-8")

    def build(name, *options, **changes):
        for page, (old, new) in changes.items():
            path = folder / f"{page}.md"
            path.write_text(path.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
        built = folder.parent / f"{folder.name}-{name}"
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", f"{built}-trees", *options]
        environment = os.environ | {"PAGES_URL": "https://example.org/the-book"}
        subprocess.run([*command, folder, built], env=environment, check=True)
        return built

    return build


@pytest.fixture(scope="module")
def sites(build):
    """The pages as Sphinx writes them; those that were made light; and those changed since."""
    build("light")
    changed = build("light", plain=("ends", "goes on"), index=("# A page", "# Another"))
    return build("raw", "-D", "html_optimized=0"), changed, build("fresh")


def menu(page):
    page.click('[data-bs-toggle="dropdown"]')


def search(page):
    page.keyboard.press("Control+k")


def sidebar(page):
    page.click(".primary-toggle")


def picture(visit, site, act, glyphs, **options):
    """A page as it looks, from top to bottom, after a reader did something."""
    page = visit((site / "index.html").as_uri(), **options)
    # Nothing blinks or fades while a picture is taken.
    page.add_style_tag(
        content="* { caret-color: transparent !important; transition: none !important }"
    )
    if not glyphs:
        page.add_style_tag(content=".katex, [class*=fa-] { visibility: hidden }")
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    page.evaluate("document.fonts.ready")
    if act:
        act(page)
    return Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")


@pytest.mark.parametrize(
    ("scheme", "width", "act", "glyphs", "limit"),
    [
        ("light", 1280, None, True, 40),  # a missing glyph, or one of another font, is over 100
        ("dark", 1280, menu, False, 16),
        ("light", 390, sidebar, False, 16),
        ("dark", 390, search, False, 16),
    ],
)
def test_pages_look_the_same(visit, sites, scheme, width, act, glyphs, limit):
    """Colors, at a quarter of the size: a font's hints differ by part of a pixel."""
    size = {"width": width, "height": 800}
    before, after = (
        picture(visit, site, act, glyphs, viewport=size, color_scheme=scheme) for site in sites[:2]
    )
    assert before.size == after.size
    difference = ImageChops.difference(before.reduce(4), after.reduce(4))
    assert max(high for _, high in difference.getextrema()) <= limit


def test_a_build_of_one_change_is_a_fresh_one_to_the_byte(sites):
    """A sentence, a title that other pages show: nothing is left of what was before."""
    changed, fresh = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*.*") if path.is_file()}
        for site in sites[1:]
    )
    assert sorted(changed) == sorted(fresh)
    assert [path for path, content in changed.items() if fresh[path] != content] == []
