"""Create, move or remove a chapter, and keep every file that names it in sync.

    python tools/chapters.py new relative_bias                        make new NAME=relative_bias
    python tools/chapters.py move notebooks/21_relative_bias.ipynb 16  make move NOTEBOOK=… TO=16
    python tools/chapters.py remove notebooks/21_relative_bias.ipynb   make remove NOTEBOOK=…

A new chapter has a sample of each element: figure, live figure, table, equation, citation and
exercises. Moving a chapter renumbers the others and redirects old addresses, which readers may have
bookmarked. A chapter that other pages link to isn't removed until FORCE=1 says so; a removed one is
kept in `_build/removed`, and `make text` names the claims that it asserted.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTS = [ROOT / "_toc.yml", ROOT / "index.md"]


def stems() -> list[str]:
    """Return the numbered chapters in order, without chapter 0."""
    _, *found = sorted(
        path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    )
    return found


def find(path: str) -> str:
    """Return the stem of the chapter at a path; exit if there is none."""
    stem = Path(path).stem
    if stem.startswith("00_"):
        sys.exit(f"{stem} is the page before chapter 1: it stays where it is")
    if stem not in stems():
        sys.exit(f"There is no chapter {path or 'NOTEBOOK'}; notebooks/ has {stems()}")
    return stem


def relist(
    stem: str, new: tuple[str, ...] = (), above: str = "", *, gone: bool = False
) -> None:
    """Move, add (`new`) or drop (`gone`) a chapter's rows; they go above another's, or last."""
    for number, listed in enumerate(LISTS):
        lines = listed.read_text(encoding="utf-8").splitlines(keepends=True)
        row = (
            new[number]
            if new
            else next(line for line in lines if f"notebooks/{stem}" in line)
        )
        if not new:
            lines.remove(row)
        if not gone:
            found = re.compile(
                f"notebooks/{above}" if above else r"notebooks/\d\d_"
            ).search
            named = [n for n, line in enumerate(lines) if found(line)]
            lines.insert(named[0] if above else named[-1] + 1, row)
        listed.write_text("".join(lines), encoding="utf-8")


def new(name: str) -> None:
    """Write the chapter, and list it last."""
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        sys.exit(
            "NAME needs lowercase letters, digits and _, such as: make new NAME=relative_bias"
        )
    if taken := [stem for stem in stems() if stem[3:] == name]:
        sys.exit(
            f"notebooks/{taken[0]}.ipynb has that name: choose another, or remove that one"
        )
    number = len(stems()) + 1
    path = f"notebooks/{number:02}_{name}.ipynb"
    template = (ROOT / "tools" / "chapter.ipynb").read_text(encoding="utf-8")
    (ROOT / path).write_text(
        template.replace("NAME", name.replace("_", "-")), encoding="utf-8"
    )
    row = f"| {number} | []({path}): what it shows, in one sentence. |\n"
    relist(name, (f"      - file: {path.removesuffix('.ipynb')}\n", row))
    print(f"Created {path}, listed in _toc.yml and index.md.")
    print(f"Execute and check it: make chapter NOTEBOOK={path}")


def remove(path: str) -> None:
    """Put a chapter away, and drop its entry in every list."""
    stem = find(path)
    link = re.compile(rf"\]\(\S*{stem}\.ipynb")
    pages = [page for page in files("-co", "*.md", "*.ipynb") if page.exists()]
    lead = {
        str(page.relative_to(ROOT))
        for page in pages
        if link.search(page.read_text("utf-8"))
    }
    lead -= {"index.md", f"notebooks/{stem}.ipynb"}
    if lead and not os.environ.get("FORCE"):
        sys.exit(
            f"Pages link to {stem}: {', '.join(sorted(lead))}. Change them, or add FORCE=1"
        )
    kept = ROOT / "_build" / "removed" / f"{stem}.ipynb"
    kept.parent.mkdir(parents=True, exist_ok=True)
    (ROOT / "notebooks" / kept.name).rename(kept)
    print(f"Removed {stem}; {kept.relative_to(ROOT)} keeps it.")
    relist(stem, gone=True)
    rename(stems())


def move(path: str, to: str) -> None:
    """Give a chapter another number, and shift those in between."""
    stem, order = find(path), stems()
    if not to.isdigit() or not 1 <= int(to) <= len(order):
        sys.exit(
            f"To which number? From 1 to {len(order)}: make move NOTEBOOK={path} TO=16"
        )
    order.remove(stem)
    relist(stem, above="".join(order[int(to) - 1 :][:1]))
    order.insert(int(to) - 1, stem)
    rename(order)


def rename(order: list[str]) -> None:
    """Renumber the chapters to this order in every file that names one."""
    names = {
        old: now for n, old in enumerate(order, 1) if old != (now := f"{n:02}{old[2:]}")
    }
    folder, published = (
        ROOT / "notebooks",
        {path.stem for path in files("-c", "notebooks/*.ipynb")},
    )
    for old in names:
        (folder / f"{old}.ipynb").rename(folder / f".{old}")
    for old, now in names.items():
        (folder / f".{old}").rename(folder / f"{now}.ipynb")
        print(f"{old} is now {now}")
    word = re.compile(rf"\b({'|'.join(names)})\b")
    row = re.compile(r"^\| \d+ (?=\| \[.*?\]\(notebooks/(\d\d))", re.MULTILINE)
    for path in files(
        "-co", "*.md", "*.yml", "*.py", "*.ipynb", "tests/*.txt", ":!*addresses*"
    ):
        if names and path.exists():
            before = path.read_text(encoding="utf-8")
            after = word.sub(lambda found: names[found[1]], before)
            if path.name == "_config.yml":
                after = redirect(before, names, published)
            if path.name == "index.md":
                after = row.sub(lambda found: f"| {int(found[1])} ", after)
            if after != before:
                path.write_text(after, encoding="utf-8")
    subprocess.run([sys.executable, ROOT / "tools" / "references.py"], check=True)


def files(*which: str) -> set[Path]:
    """Return the files that `git ls-files` lists, without those that git ignores."""
    command = ["git", "ls-files", "--exclude-standard", *which]
    found = subprocess.check_output(command, cwd=ROOT, text=True)
    return {ROOT / name for name in found.splitlines()}


def redirect(config: str, names: dict[str, str], published: set[str]) -> str:
    """Return `_config.yml` with a redirect from each published old address to the new one."""
    setting = re.search(r"(?m)^    redirects: (.*)$", config)
    known = {old: now.partition("/")[2] for old, now in json.loads(setting[1]).items()}
    known = {old: names.get(now, now) for old, now in known.items()}
    known |= {f"notebooks/{old}": now for old, now in names.items() if old in published}
    there = {f"notebooks/{now}" for now in names.values()}
    kept = {
        old: f"notebooks/{now}"
        for old, now in sorted(known.items())
        if old not in there
    }
    return config.replace(setting[0], f"    redirects: {json.dumps(kept)}")


if __name__ == "__main__":
    {"new": new, "move": move, "remove": remove}[sys.argv[1]](*(sys.argv[2:] or [""]))
