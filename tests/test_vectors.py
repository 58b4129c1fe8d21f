"""The test vectors, the record of transformers, and the package agree.

The vectors were computed by mpmath, from their own parameters.
"""

import json

import jsonschema
import numpy as np
import pytest
from reading import rows, text_of

from posenc import read_config, rotary_frequencies, rotate_pairs
from posenc.conventions import KNOWN
from posenc.scaling import SCALINGS

VECTORS = json.loads(text_of("book/vectors.json"))
close = np.testing.assert_allclose


def numbers(texts):
    return np.array(texts, dtype=np.float64)


def test_the_schema_describes_the_file():
    jsonschema.validate(VECTORS, json.loads(text_of("book/vectors.schema.json")))


@pytest.mark.parametrize("case", VECTORS["tables"])
def test_tables_are_the_package_s(case):
    # No stored row of a longer table depends on its length.
    seq_len = min(case["seq_len"], 200_000)
    table = KNOWN[case["convention"]].table(seq_len, case["d_model"])
    # An angle of 131,071,000 radians is rounded to 1.5e-8.
    close(table[case["rows"]], numbers(case["values"]), rtol=0, atol=1e-7)


FREQUENCIES = [(case, 1e-14) for case in VECTORS["frequencies"]]
# What transformers 5.23.0 computes, partly in float32; `test_transformers` asks it anew.
FREQUENCIES += [(case, 1e-7) for case in json.loads(text_of("tests/rotary.json"))]


@pytest.mark.parametrize(("case", "rtol"), FREQUENCIES)
def test_frequencies_are_the_package_s(case, rtol):
    names = "scaling", "max_position_embeddings", "seq_len"
    options = {name: case[name] for name in names}
    base = case["base"] and float(case["base"])  # the record has it in its scaling
    omega, factor = rotary_frequencies(case["d_model"], base=base, **options)
    close(omega, numbers(case["values"]), rtol=rtol)
    assert factor == pytest.approx(float(case["attention_factor"]), rel=1e-15)


def test_each_type_of_scaling_has_frequencies_stored():
    stored = {case["scaling"]["rope_type"] for case in VECTORS["frequencies"]}
    assert {*SCALINGS} - stored == set(), "add a case to book/vectors.json"


@pytest.mark.parametrize("case", VECTORS["multipliers"])
def test_multipliers_are_the_package_s(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    factors = [layers.attention_factor, layers.score_factor or 1.0]
    stored = numbers([case["attention_factor"], case["score_factor"]])
    assert factors == pytest.approx(stored, rel=1e-15)


@pytest.mark.parametrize("case", VECTORS["rotations"] + VECTORS["axes"])
def test_rotations_are_the_package_s(case):
    base = float(case["base"])
    options = {"base": base}
    if "axis" in case:
        axes = np.arange(len(case["positions"][0]))[:, None]
        # (axes, pairs): each pair turns by one coordinate.
        omega = base ** -numbers(case["exponents"]) * (axes == case["axis"])
        options = {"frequencies": omega}
    x = np.tile(numbers(case["x"]), (len(case["positions"]), 1))
    turned = rotate_pairs(x, case["positions"], pairing=case["layout"], **options)
    close(turned, numbers(case["values"]), rtol=0, atol=1e-10)


# A scaling, and what is said of it.
ERRORS = rows("""
{"rope_type": "wrong"} → must be one of default, linear.*'wrong'
{"rope_type": "linear"} → ^scaling needs the field 'factor'$
{"rope_type": "yarn", "type": "linear"} → differ: 'yarn', 'linear'
{"full": {}, "sliding": {}} → full, sliding: pass one of them$
{"rope_theta": 5e5} → 500000, but base is 100
{"partial_rotary_factor": 0.4} → even number .* got 3 of 8
""")


@pytest.mark.parametrize(("scaling", "message"), ERRORS)
def test_errors_name_the_field(scaling, message):
    with pytest.raises(ValueError, match=message):
        rotary_frequencies(8, base=100, scaling=json.loads(scaling))
