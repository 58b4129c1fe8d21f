"""Make slides of two pages, with live figures, in `_build/html/slides`: `make slides`.

They use reveal.js. A slide has its section's heading and one thing to look at (a figure, a formula,
code with its output, a list), with the paragraph before it if that is short. The full text is in
the speaker notes, which S opens. Boxes, exercises and "Going further" sections are left out. The
page for teachers links to the slides.
"""

import re
import shutil
from pathlib import Path

from pdf import SITE, Page

OUT = SITE / "slides"
REVEAL = Path(__file__).parent / "slides" / "node_modules" / "reveal.js"
FILES = ["dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js", "LICENSE"]
PAGES = ["notebooks/00_in_fifteen_minutes", "notebooks/03_linearity"]
BEYOND = "[id^=going-further], #exercises, #what-comes-next, #what-you-ll-do"
MENTION = '<span class="pre">slides</span></code>'  # the command on the page for teachers
SHOWN = "pre, img, li, td, blockquote p, .katex-display"
SHORT = 300  # characters that fit on a slide above a figure
DECK = """<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{title}</title><link rel="stylesheet" href="reveal.css">
<link rel="stylesheet" href="../{style}"><style>
.reveal .slides section {{ font-size: 26px; line-height: 1.4; padding: 0; text-align: left }}
.reveal :is(h1, h2, h3) {{ font-size: 40px; margin: 0 0 16px }}
.reveal pre {{ font-size: 22px !important; line-height: 1.4 }}
.reveal posenc-figure {{ margin: auto; max-width: 800px; zoom: 1.4 }}
.reveal img {{ display: block; margin: auto; min-width: 60% }}
</style>{script}</head><body><div class="reveal"><div class="slides">{slides}</div></div>
<script src="reveal.js"></script><script src="notes.js"></script><script>
const fit = ({{ currentSlide }}) => {{
  const box = currentSlide.firstElementChild;
  box.style.zoom = Math.min(1, 660 / box.scrollHeight);
}};
for (const when of ["ready", "slidechanged"]) Reveal.on(when, fit);
Reveal.initialize({{ width: 1200, height: 660, center: false, hash: true, transition: "none",
  plugins: [RevealNotes] }});
</script></body></html>"""


def slide(shown, notes=()):
    """Return the HTML of a slide and its speaker notes."""
    return (
        f'<section class="bd-article"><div>{"".join(map(str, shown))}</div>'
        f'<aside class="notes">{"".join(map(str, notes))}</aside></section>'
    )


def slides(section):
    """Return the slides of one section, without its subsections."""
    heading, *parts = section.find_all(True, recursive=False)
    said, made = [], []
    for part in parts:
        if part.name == "p":
            said.append(part)
        elif part.name != "section" and part.select_one(SHOWN):
            before = [each for each in said[-1:] if len(each.get_text()) < SHORT]
            made.append(slide([heading, *before, part], said))
            said = []
    return [*made, slide([heading, *said])] if said or not made else made


def deck(page):
    """Return the HTML of a page's slides."""
    for part in page.article.select(f"details, .admonition, .tag_solution, {BEYOND}"):
        part.decompose()
    for part in page.article.select("a"):
        part.unwrap()
    for part in page.article.select("[id]"):
        del part["id"]
    shown = "".join(slide for part in page.article.select("section") for slide in slides(part))
    script = page.html.find("script", string=re.compile(r"^\(\(\) ?=>"))
    return DECK.format(title=page.title, style=page.style, script=script, slides=shown)


def main():
    OUT.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copy(REVEAL / name, OUT)
    links = []
    for page in map(Page, PAGES):
        path = OUT / f"{Path(page.name).name}.html"
        path.write_text(deck(page), encoding="utf-8")
        links.append(f'<a href="../slides/{path.name}">{page.title}</a>')
    teach = SITE / "book" / "teach.html"
    html = re.sub(rf"({MENTION})( \(.*?\))?", rf"\1 ({', '.join(links)})", teach.read_text("utf-8"))
    teach.write_text(html, encoding="utf-8")
    print(f"{OUT}: {len(PAGES)} pages of slides")


if __name__ == "__main__":
    main()
