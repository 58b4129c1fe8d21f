"""Put one error at a time into a part of the live figures' script: `make mutants`.

    python tools/mutate_figures.py src/posenc/figures/kernel.js

Stryker makes the mutants, all in one script, where they are switched on one after the other. For
each, a browser plays the cases of tests/test_figures.py; what differs from what the script itself
shows is checked as the tests check it. Survivors must be those that tools/mutants.toml lists with
the reason why they change nothing that a reader could notice.
"""

import json
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import test_figures
from playwright.sync_api import Error, sync_playwright

from conftest import FLAGS, chromium
from posenc import widgets

HERE = Path(__file__).parent
LISTED = HERE / "mutants.toml"
COUNTING = "cover;\n  cover.apply(null, arguments)"  # of what runs, which nobody asks for
TOGETHER = 40  # mutants in one page, which keeps each element that is defined
# A mutant that is met so often in one case stands in a loop that doesn't end.
FIRST = """async ([mutant, places, from]) => {
    for (const place of places) {
        globalThis.__stryker__ = { activeMutant: mutant, hitCount: 0, hitLimit: 5e5 };
        const start = place === places[0] ? from : 0;
        const views = await play(script, cases[place], known[place], start);
        if (views.length) return [place, ...views[0]];
    }
}"""


def instrumented(path):
    """Return the whole script with all mutants of one part in it, and what they are."""
    command = ["node", HERE / "stryker" / "instrument.mjs", path]
    made = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    part, script = path.read_text(encoding="utf-8"), widgets.script(*widgets.FIGURES)
    assert part in script
    script = script.replace(part, made["files"][0]["content"])
    return script.replace(COUNTING, "() => {}"), made["mutants"]


def exchange(path, mutant):
    """A mutant in words: the file, the line, what becomes of it."""
    lines, (start, end) = path.read_text(encoding="utf-8").splitlines(), mutant["location"].values()
    first, last = lines[start["line"]], lines[end["line"]]
    new = first[: start["column"]] + mutant["replacement"] + last[end["column"] :]
    return f"{path.name}: {first.strip()} → {' '.join(new.split())}"


def check(place, n, text):
    """What is wrong with what was seen, or nothing."""
    try:
        test_figures.check(place, n, text)
    except Exception as error:  # whatever fails a test
        return repr(error)[:100] or "fails"


def fate(page, mutant, places):
    """What notices a mutant, or nothing."""
    skip = 0
    while places:
        try:
            found = page.evaluate(FIRST, [mutant["id"], places, skip])
        except Error as error:
            return error.message.splitlines()[0]
        if not found:
            return None
        place, n, text = found
        if noticed := check(place, n, text):
            return noticed
        places, skip = places[places.index(place) :], n + 1
    return None


def opened(browser, script, cases, known):
    """A page that plays the cases."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.add_script_tag(content=test_figures.STAGE)
    given = {"script": script, "cases": cases, "known": known}
    page.evaluate("given => Object.assign(globalThis, given) && 0", given)
    return page


def main(path):
    script, mutants = instrumented(path)
    cases, survivors = test_figures.played(), []
    kinds = [path.stem] if path.stem in test_figures.KINDS else {case["kind"] for case in cases}
    places = [place for place, case in enumerate(cases) if case["kind"] in kinds]
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = opened(browser, script, cases, [])
        known = [[] for _ in cases]
        for place in places:
            views = page.evaluate("n => play(script, cases[n])", place)
            wrong = [found for n, text in views if (found := check(place, n, text))]
            if wrong:
                sys.exit(f"The figures themselves fail: {cases[place]}: {wrong[0]}")
            known[place] = [text for _, text in views]
        for start in range(0, len(mutants), TOGETHER):
            page.close()
            page = opened(browser, script, cases, known)
            for mutant in mutants[start : start + TOGETHER]:
                text, killed = exchange(path, mutant), fate(page, mutant, places)
                print(f"{text} | {killed or 'SURVIVES'}", flush=True)
                if not killed:
                    survivors.append(text)
            # The control: without an error, the same page shows none.
            if found := fate(page, {"id": ""}, places):
                sys.exit(f"{path.name}: after its mutants, the script itself fails: {found}")
        browser.close()
    listed = [
        text
        for group in tomllib.loads(LISTED.read_text(encoding="utf-8"))["figures"]
        for text in group["texts"]
        if text.startswith(f"{path.name}: ")
    ]
    dead, total = len(mutants) - len(survivors), len(mutants)
    print(f"{path.name}: {dead} of {total} killed, {len(listed)} listed")
    new, gone = Counter(survivors) - Counter(listed), Counter(listed) - Counter(survivors)
    wrong = [f"survives: {text}" for text in new.elements()]
    wrong += [f"is listed, but doesn't survive: {text}" for text in gone.elements()]
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
