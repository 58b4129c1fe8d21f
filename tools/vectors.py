"""Compute the test vectors, `book/vectors.json`, from their own parameters, with mpmath.

Run `.venv/bin/python tools/vectors.py`; a scaling as an argument, in JSON, adds a vector for it.
To add another kind, first write its case, without values, into the file. The formulas don't use the
package, so that each tests the other. `book/vectors.md` explains the format.
"""

import json
import sys
from pathlib import Path

import mpmath
from mpmath import mpf

DIGITS = 30
FILE = Path(__file__).parents[1] / "book" / "vectors.json"


def text(number):
    """Format a number with 30 significant digits; below 1e-40 it is 0, as the sine of π is."""
    if abs(number) < mpf(10) ** -40:
        return "0"
    return mpmath.nstr(number, DIGITS, strip_zeros=True, min_fixed=-40, max_fixed=40)


def texts(numbers):
    return [text(number) for number in numbers]


def geometric(d_model, base, minus=0):
    """Return the frequencies of all pairs."""
    return [
        mpmath.power(base, -mpf(i) / (d_model // 2 - minus))
        for i in range(d_model // 2)
    ]


def table(case):
    """Compute rows of a table."""
    last = case["seq_len"] - 1
    step = (
        2 * mpmath.pi / (last + 1) if case["step"] == "one turn" else mpf(case["step"])
    )
    omega = geometric(
        case["d_model"], mpf(case["base"]), case["exponent"].endswith("- 1)")
    )
    values = []
    for row in case["rows"]:
        position = case["first"] + (row if case["direction"] == "up" else last - row)
        angles = [step * position * each for each in omega]
        sines, cosines = [*map(mpmath.sin, angles)], [*map(mpmath.cos, angles)]
        pairs = [entry for pair in zip(sines, cosines, strict=True) for entry in pair]
        columns = {
            "sin, cos": sines + cosines,
            "cos, sin": cosines + sines,
            "interleaved": pairs,
        }
        values.append(texts(columns[case["layout"]]))
    return {"values": values}


def turned(x, angles, layout):
    """Rotate each pair of a vector by its angle."""
    out = [mpf(each) for each in x]
    for i, angle in enumerate(angles):
        a, b = (2 * i, 2 * i + 1) if layout == "neighbors" else (i, i + len(angles))
        cos, sin = mpmath.cos(angle), mpmath.sin(angle)
        out[a], out[b] = out[a] * cos - out[b] * sin, out[a] * sin + out[b] * cos
    return texts(out)


def rotation(case):
    """Rotate one vector at several positions, which may have a coordinate for each axis."""
    if axes := case.get("axis"):
        powers = [
            mpf(i) / mpf(n) for i, n in (each.split("/") for each in case["exponents"])
        ]
        omega = [mpmath.power(mpf(case["base"]), -power) for power in powers]
    else:
        omega = geometric(case["d_model"], mpf(case["base"]))
    values = []
    for place in case["positions"]:
        places = [place[axis] for axis in axes] if axes else [place] * len(omega)
        angles = [k * each for k, each in zip(places, omega, strict=True)]
        values.append(turned(case["x"], angles, case.get("layout", "neighbors")))
    return {"values": values}


def ramp(value, low, high):
    """Return the linear ramp from 0 at `low` to 1 at `high`, clamped."""
    return min(max((value - low) / (high - low), mpf(0)), mpf(1))


def frequencies(case):
    """Compute the frequencies under a scaling, and the attention factor."""
    d_model, base, fields = case["d_model"], mpf(case["base"]), case["scaling"]
    factor, share = mpf(fields.get("factor", 1)), fields.get("partial_rotary_factor", 1)
    trained = fields.get("original_max_position_embeddings")
    omega, attention = geometric(d_model, base), mpf(1)
    match fields["rope_type"]:
        case "default":
            omega = geometric(int(d_model * share), base)
        case "linear":
            omega = [each / factor for each in omega]
        case "proportional":
            omega = [each * (2 * i < share * d_model) for i, each in enumerate(omega)]
        case "ntk":
            power = mpf(fields.get("mixed_b", 1))
            omega = [
                w / factor ** (mpf(i + 1) / len(omega)) ** power
                for i, w in enumerate(omega)
            ]
        case "dynamic":
            if "alpha" in fields:
                stretch = mpf(fields["alpha"])
            else:
                stretch = factor * case["seq_len"] / case["max_position_embeddings"] - (
                    factor - 1
                )
            omega = geometric(d_model, base * stretch ** (mpf(d_model) / (d_model - 2)))
        case "longrope":
            side = "long" if case["seq_len"] > trained else "short"
            stretches = fields[f"{side}_factor"]
            omega = [
                each / mpf(stretch)
                for each, stretch in zip(omega, stretches, strict=True)
            ]
            attention = mpmath.sqrt(1 + mpmath.log(factor, trained))
            attention = mpf(fields.get(f"{side}_mscale", attention))
        case (
            "llama3"
        ):  # blend by each pair's turns over the trained length; fast pairs stay
            ends = fields["low_freq_factor"], fields["high_freq_factor"]
            kept = [ramp(trained * each / (2 * mpmath.pi), *ends) for each in omega]
            omega = [
                each * (k + (1 - k) / factor)
                for each, k in zip(omega, kept, strict=True)
            ]
        case (
            "yarn"
        ):  # blend by pair index, between the pairs that make 32 turns and one
            turns = (trained / (n * 2 * mpmath.pi) for n in (32, 1))
            first, last = (d_model * mpmath.log(each, base) / 2 for each in turns)
            ends = mpmath.floor(first), mpmath.ceil(last)
            slow = [ramp(i, *ends) for i in range(len(omega))]
            omega = [
                each * (s / factor + 1 - s) for each, s in zip(omega, slow, strict=True)
            ]
            attention = heat(factor, 1)
    return {"values": texts(omega), "attention_factor": text(attention)}


def heat(factor, depth):
    """Return YaRN's multiplier of cosine and sine; its square multiplies scores."""
    return mpf("0.1") * mpf(str(depth)) * mpmath.log(mpf(factor)) + 1


def multipliers(case):
    """Compute the multiplier of cosine and sine, and the additional one of scores."""
    fields = case["scaling"]
    below = heat(fields["factor"], fields.get("mscale_all_dim", 0))
    attention = heat(fields["factor"], fields.get("mscale", 1)) / below
    given = mpf(fields.get("attention_factor", attention))
    return {"attention_factor": text(given), "score_factor": text(below**2)}


MADE = {
    "tables": table,
    "rotations": rotation,
    "frequencies": frequencies,
    "axes": rotation,
}
MADE |= {"multipliers": multipliers}


def computed(vectors):
    """Return the vectors with all values recomputed."""
    with mpmath.workdps(DIGITS + 20):
        made = {
            name: [case | make(case) for case in vectors[name]]
            for name, make in MADE.items()
        }
    return vectors | made


if __name__ == "__main__":
    known = json.loads(FILE.read_text(encoding="utf-8"))
    for scaling in map(json.loads, sys.argv[1:]):
        case = {
            "name": scaling["rope_type"],
            "d_model": 64,
            "base": "10000",
            "scaling": scaling,
        }
        known["frequencies"].append(
            case | {"max_position_embeddings": None, "seq_len": None}
        )
    FILE.write_text(
        json.dumps(computed(known), indent=1, ensure_ascii=False) + "\n", "utf-8"
    )
