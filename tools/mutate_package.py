"""Put one error into `posenc` at a time and see whether a test fails: `make mutants`.

mutmut makes the mutants and runs the tests. Survivors must be those that tools/mutants.toml lists
with the reason why they change nothing, by what they exchange: mutmut's own numbers shift.
"""

import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LISTED = Path(__file__).with_name("mutants.toml")
MUTMUT = Path(sys.executable).with_name("mutmut")


def mutmut(*arguments):
    return subprocess.run(
        [MUTMUT, *arguments], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def exchange(name):
    """A mutant in words: the function, what is taken out, what is put in."""
    lines = mutmut("show", name).splitlines()
    out = [line[1:].strip() for line in lines if line.startswith("-") and line[1:2] != "-"]
    new = [line[1:].strip() for line in lines if line.startswith("+") and line[1:2] != "+"]
    function = re.sub(r"\.x[_ǁ]", ".", name.rpartition("__mutmut_")[0]).replace("ǁ", ".")
    return f"{function}: {' '.join(out)} → {' '.join(new)}"


def main():
    subprocess.run([MUTMUT, "run", *sys.argv[1:]], check=True)
    names = [line.split(":") for line in mutmut("results").splitlines() if "__mutmut_" in line]
    # What no longer ends is noticed, and so is what the types of `make lint` forbid.
    killed = ("killed", "timeout", "caught by type check")
    names = [name.strip() for name, state in names if state.strip() not in killed]
    with ThreadPoolExecutor(2) as both:
        survivors = set(both.map(exchange, names))
    listed = {mutant["text"] for mutant in tomllib.loads(LISTED.read_text())["package"]}
    results = mutmut("results", "--all", "true")
    total, typed = results.count("__mutmut_"), results.count("caught by type check")
    print(f"posenc: {total - len(survivors)} of {total} killed, {typed} of them by types")
    print(f"{len(listed)} are listed with reasons")
    wrong = [f"survives: {text}" for text in sorted(survivors - listed)]
    wrong += [f"is listed, but doesn't survive: {text}" for text in sorted(listed - survivors)]
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
