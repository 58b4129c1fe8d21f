"""Write the test vectors, `book/vectors.json`: exact decimals by mpmath.

`.venv/bin/python tools/vectors.py`. The formulas are written out once more here, apart from the
package, so that each tests the other. `book/vectors.md` explains the format, and
`book/vectors.schema.json` describes it.
"""

import json
from pathlib import Path

import mpmath
from mpmath import mpf

DIGITS = 30
FILE = Path(__file__).parents[1] / "book" / "vectors.json"
WIDTHS = (4, 8, 64)
ROWS = (0, 1, 2, 3, 63, 1000, 131_071, 999_999)
SHORT = 64  # the length of tables that depend on it

# name: layout, what i is divided by, first, step, direction
TABLES = {
    "paper": ("interleaved", "d/2", 0, "1", "up"),
    "tensor2tensor": ("sin, cos", "d/2 - 1", 0, "1", "up"),
    "fairseq": ("sin, cos", "d/2 - 1", 2, "1", "up"),
    "Marian": ("sin, cos", "d/2 - 1", 0, "1", "up"),
    "Marian in transformers": ("sin, cos", "d/2", 0, "1", "up"),
    "Transformer-XL": ("sin, cos", "d/2", 0, "1", "down"),
    "DDPM": ("sin, cos", "d/2 - 1", 0, "1", "up"),
    "guided diffusion": ("cos, sin", "d/2", 0, "1", "up"),
    "Grad-TTS": ("sin, cos", "d/2 - 1", 0, "1000", "up"),
    "DETR, one axis": ("interleaved", "d/2", 1, "one turn", "up"),
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
LONG = {"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 4096}
LONG |= {"short_factor": [1.0, 1.125, 1.25, 1.5], "long_factor": [1.0, 2.5, 10.0, 32.0]}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
PROPORTIONAL = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 1.0}
# name: d_model, base, scaling, max_position_embeddings, seq_len
FREQUENCIES = {
    "default": (128, 10_000, {"rope_type": "default"}, None, None),
    "default, base 500000": (128, 500_000, {"rope_type": "default"}, None, None),
    "linear": (64, 10_000, {"rope_type": "linear", "factor": 4.0}, None, None),
    "dynamic": (64, 10_000, {"rope_type": "dynamic", "factor": 2.0}, 2048, 8192),
    "partial": (64, 10_000, {"rope_type": "default", "partial_rotary_factor": 0.25}, None, None),
    "yarn": (128, 1_000_000, YARN, None, None),
    "longrope, short": (8, 10_000, LONG, None, 4096),
    "longrope, long": (8, 10_000, LONG, None, 4097),
    "llama3": (128, 500_000, LLAMA3, None, None),
    "proportional": (16, 10_000, PROPORTIONAL, None, None),
}
# name: frequencies of each pair, and the axis that it follows
AXES = {
    "two axes, halves": [(0, 0), (1, 0), (0, 1), (1, 1)],
    "three axes, sectioned": [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)],
    "three axes, interleaved": [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 2)],
}
PLACES = [[0, 0, 0], [5, 5, 5], [5, 6, 7], [100, 3, 131_071]]
# name: what a configuration asks for
MULTIPLIERS = {
    "yarn": {"factor": 40.0},
    "yarn, both depths": {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0},
    "yarn, two depths": {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.707},
    "yarn, given": {"factor": 8.0, "attention_factor": 1.25},
}


def text(number):
    """Write a number with enough decimals for 30 correct digits; the sine of π is 0."""
    if abs(number) < mpf(10) ** -40:
        return "0"
    return mpmath.nstr(number, DIGITS, strip_zeros=True, min_fixed=-40, max_fixed=40)


def texts(numbers):
    return [text(number) for number in numbers]


def geometric(d_model, base, minus=0):
    """Frequencies of all pairs."""
    pairs = d_model // 2
    return [mpmath.power(base, -mpf(i) / (pairs - minus)) for i in range(pairs)]


def table(name, d_model):
    """Some rows of a table."""
    layout, rule, first, step, direction = TABLES[name]
    fixed = step != "one turn" and direction == "up"
    seq_len = ROWS[-1] + 1 if fixed else SHORT
    size = 2 * mpmath.pi / seq_len if step == "one turn" else mpf(step)
    omega = geometric(d_model, 10_000, minus=rule.endswith("1"))
    rows, values = [row for row in ROWS if row < seq_len], []
    for row in rows:
        counted = first + (row if direction == "up" else seq_len - 1 - row)
        sines = [mpmath.sin(size * counted * each) for each in omega]
        cosines = [mpmath.cos(size * counted * each) for each in omega]
        pairs = [entry for pair in zip(sines, cosines, strict=True) for entry in pair]
        columns = {"sin, cos": sines + cosines, "cos, sin": cosines + sines, "interleaved": pairs}
        values.append(texts(columns[layout]))
    return {
        "convention": name,
        "layout": layout,
        "exponent": f"i/({rule})",
        "base": "10000",
        "first": first,
        "step": step,
        "direction": direction,
        "seq_len": seq_len,
        "d_model": d_model,
        "rows": rows,
        "values": values,
    }


def example(d_model):
    """A vector that every number type holds exactly."""
    return [mpf((7 * j) % 11 - 5) / 4 for j in range(d_model)]


def turned(x, angles, layout="neighbors"):
    """Rotate each pair of a vector by its angle."""
    out = [None] * len(x)
    for i, angle in enumerate(angles):
        a, b = (2 * i, 2 * i + 1) if layout == "neighbors" else (i, i + len(angles))
        cos, sin = mpmath.cos(angle), mpmath.sin(angle)
        out[a], out[b] = x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos
    return texts(out)


def rotation(layout, d_model, base):
    """Turn one vector at some positions."""
    x, omega = example(d_model), geometric(d_model, base)
    return {
        "convention": f"rotary, {layout}",
        "layout": layout,
        "exponent": "i/(d/2)",
        "base": str(base),
        "d_model": d_model,
        "x": texts(x),
        "positions": [*ROWS],
        "values": [turned(x, [k * each for each in omega], layout) for k in ROWS],
    }


def several(name):
    """Turn one vector at places with a coordinate for each axis."""
    pairs, base = AXES[name], 10_000
    number = len({exponent for exponent, _ in pairs})
    omega = [(mpmath.power(base, -mpf(exponent) / number), axis) for exponent, axis in pairs]
    x, axes = example(2 * len(pairs)), 1 + max(axis for _, axis in pairs)
    places = [place[:axes] for place in PLACES]
    return {
        "name": name,
        "base": str(base),
        "exponents": [f"{exponent}/{number}" for exponent, _ in pairs],
        "axis": [axis for _, axis in pairs],
        "x": texts(x),
        "positions": places,
        "values": [turned(x, [place[axis] * each for each, axis in omega]) for place in places],
    }


def ramp(value, low, high):
    """From 0 at `low` to 1 at `high`."""
    return min(max((value - low) / (high - low), mpf(0)), mpf(1))


def yarn(omega, d_model, base, fields):
    """YaRN: quick pairs stay, slow ones are stretched, with a ramp in between."""
    trained, factor = mpf(fields["original_max_position_embeddings"]), mpf(fields["factor"])

    def pair_with(turns):
        return d_model * mpmath.log(trained / (turns * 2 * mpmath.pi)) / (2 * mpmath.log(base))

    low, high = mpmath.floor(pair_with(32)), mpmath.ceil(pair_with(1))
    slow = [ramp(i, low, high) for i in range(len(omega))]
    return [
        each / factor * share + each * (1 - share) for each, share in zip(omega, slow, strict=True)
    ]


def llama3(omega, fields):
    """Llama 3: by the turns that a pair makes over the trained length."""
    low, high, factor = (mpf(fields[n]) for n in ("low_freq_factor", "high_freq_factor", "factor"))
    trained = fields["original_max_position_embeddings"]
    kept = [ramp(trained * each / (2 * mpmath.pi), low, high) for each in omega]
    return [
        (1 - share) * each / factor + share * each for each, share in zip(omega, kept, strict=True)
    ]


def frequencies(name):
    """Frequencies under a scaling, and the attention factor."""
    d_model, base, fields, limit, seq_len = FREQUENCIES[name]
    kind, factor = fields["rope_type"], mpf(fields.get("factor", 1))
    width = int(d_model * fields.get("partial_rotary_factor", 1)) if kind == "default" else d_model
    omega, attention = geometric(width, base), mpf(1)
    if kind == "linear":
        omega = [each / factor for each in omega]
    elif kind == "dynamic":
        stretch = factor * seq_len / limit - (factor - 1)
        omega = geometric(d_model, base * stretch ** (mpf(d_model) / (d_model - 2)))
    elif kind == "yarn":
        omega = yarn(omega, d_model, base, fields)
        attention = mpf("0.1") * mpmath.log(factor) + 1
    elif kind == "llama3":
        omega = llama3(omega, fields)
    elif kind == "proportional":
        turning = int(fields["partial_rotary_factor"] * d_model // 2)
        omega = [each if i < turning else mpf(0) for i, each in enumerate(omega)]
    elif kind == "longrope":
        trained = fields["original_max_position_embeddings"]
        chosen = fields["long_factor" if seq_len > trained else "short_factor"]
        omega = [each / mpf(stretch) for each, stretch in zip(omega, chosen, strict=True)]
        attention = mpmath.sqrt(1 + mpmath.log(factor) / mpmath.log(trained))
    return {
        "name": name,
        "d_model": d_model,
        "base": str(base),
        "scaling": fields,
        "max_position_embeddings": limit,
        "seq_len": seq_len,
        "values": texts(omega),
        "attention_factor": text(attention),
    }


def multipliers(name):
    """What cosine and sine, and what the score besides, are multiplied by."""
    fields = {"rope_type": "yarn", "original_max_position_embeddings": 4096, **MULTIPLIERS[name]}

    def heat(depth):
        return mpf("0.1") * mpf(str(depth)) * mpmath.log(mpf(fields["factor"])) + 1

    above, below = fields.get("mscale"), fields.get("mscale_all_dim")
    attention = heat(above) / heat(below) if below else heat(1)
    return {
        "name": name,
        "scaling": fields,
        "attention_factor": text(mpf(fields.get("attention_factor", attention))),
        "score_factor": text(heat(below) ** 2 if below else mpf(1)),
    }


def vectors():
    """Make all vectors."""
    with mpmath.workdps(DIGITS + 20):
        return {
            "format": 1,
            "schema": "vectors.schema.json",
            "digits": DIGITS,
            "tables": [table(name, width) for name in TABLES for width in WIDTHS],
            "rotations": [
                rotation(layout, width, base)
                for layout in ("neighbors", "halves")
                for width, base in ((8, 10_000), (64, 500_000))
            ],
            "frequencies": [frequencies(name) for name in FREQUENCIES],
            "axes": [several(name) for name in AXES],
            "multipliers": [multipliers(name) for name in MULTIPLIERS],
        }


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
