"""Compute the test vectors, `book/vectors.json`, from their own parameters.

To add a vector, write its case into the file, without the values, and run
`.venv/bin/python tools/vectors.py`. `book/vectors.md` explains the format. Sines and cosines come
from mpmath, so that they test the package; frequencies under a scaling come from the package,
which the tests compare with a record of transformers.
"""

import json
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mpf

from posenc import read_config, rotary_frequencies

DIGITS = 20
FILE = Path(__file__).parents[1] / "book" / "vectors.json"


def text(number):
    """Format a number of mpmath; below 1e-40 it is 0, as the sine of π is."""
    if abs(number) < mpf(10) ** -40:
        return "0.0"
    return mpmath.nstr(number, DIGITS, min_fixed=-40, max_fixed=40)


def geometric(pairs, base, minus=0):
    """Return the frequency of each pair, base^(-i / (pairs - minus))."""
    return [mpf(base) ** (-mpf(i) / (pairs - minus)) for i in range(pairs)]


def table_rows(case):
    """Return rows of a table."""
    minus = 1 if case["exponent"] == "i/(d/2 - 1)" else 0
    omega = geometric(case["d_model"] // 2, case["base"], minus)
    turn = 2 * mpmath.pi / case["seq_len"]
    step = turn if case["step"] == "one turn" else mpf(case["step"])
    values = []
    for row in case["rows"]:
        count = row if case["direction"] == "up" else case["seq_len"] - 1 - row
        position = step * (case["first"] + count)
        sines = [mpmath.sin(position * w) for w in omega]
        cosines = [mpmath.cos(position * w) for w in omega]
        columns = {
            "sin, cos": sines + cosines,
            "cos, sin": cosines + sines,
            "interleaved": np.stack([sines, cosines], axis=1).flat,
        }
        values.append([text(entry) for entry in columns[case["layout"]]])
    return values


def rotated(case):
    """Return one vector, rotated to several positions, each with one coordinate or several."""
    pairs = len(case["x"]) // 2
    # Cases with several axes name the power of the base for each pair.
    omega = geometric(pairs, case["base"])
    if "exponents" in case:
        omega = [mpf(case["base"]) ** -mpf(power) for power in case["exponents"]]
    axis_of_pair = case.get("axis", [0] * pairs)
    values = []
    for position in case["positions"]:
        coordinates = position if isinstance(position, list) else [position]
        row = [mpf(entry) for entry in case["x"]]
        for i in range(pairs):
            halves = case["layout"] == "halves"
            one, two = (i, i + pairs) if halves else (2 * i, 2 * i + 1)
            turn = mpmath.expj(coordinates[axis_of_pair[i]] * omega[i])
            turned = mpmath.mpc(row[one], row[two]) * turn
            row[one], row[two] = turned.real, turned.imag
        values.append([text(entry) for entry in row])
    return values


def shortest(number):
    """Format a float64 with the digits that tell it from its neighbors."""
    return np.format_float_positional(number, trim="0")


def frequencies(case):
    """Return the frequencies under a scaling, and the attention factor."""
    omega, factor = rotary_frequencies(
        case["d_model"],
        base=float(case["base"]),
        scaling=case["scaling"],
        max_position_embeddings=case["max_position_embeddings"],
        seq_len=case["seq_len"],
    )
    return [shortest(w) for w in omega], shortest(factor)


def multipliers(case):
    """Return the multiplier of cosine and sine, and the additional one of scores."""
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    return shortest(layers.attention_factor), shortest(layers.score_factor or 1.0)


def compute(vectors):
    """Add values to all cases."""
    with mpmath.workdps(DIGITS + 20):
        for case in vectors["tables"]:
            case["values"] = table_rows(case)
        for case in vectors["rotations"] + vectors["axes"]:
            case["values"] = rotated(case)
        for case in vectors["frequencies"]:
            case["values"], case["attention_factor"] = frequencies(case)
        for case in vectors["multipliers"]:
            case["attention_factor"], case["score_factor"] = multipliers(case)


def written(vectors):
    """Return the file's text, a line for each case and each row of values; no word has brackets."""
    text = json.dumps(vectors, ensure_ascii=False)
    text = text.replace('}], "', '}],\n"').replace(', {"', ',\n {"')
    return text.replace("[[", "[\n  [").replace("], [", "],\n  [") + "\n"


if __name__ == "__main__":
    known = json.loads(FILE.read_text(encoding="utf-8"))
    compute(known)
    FILE.write_text(written(known), "utf-8")
