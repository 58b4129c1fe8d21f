"""The test vectors, the record of transformers, and the package agree.

The vectors were computed by mpmath, from their own parameters.
"""

import json

import jsonschema
import numpy as np
import pytest
from reading import text_of

from posenc import read_config, rotary_frequencies, rotate_pairs
from posenc.conventions import KNOWN
from posenc.scaling import SCALINGS

VECTORS = json.loads(text_of("book/vectors.json"))
# What transformers 5.23.0 computes, partly in float32; `test_watch` asks it anew.
RECORD = json.loads(text_of("tests/rotary.json"))


def test_the_schema_describes_the_file():
    jsonschema.validate(VECTORS, json.loads(text_of("book/vectors.schema.json")))


def test_each_type_of_scaling_has_frequencies_stored():
    stored = {case["scaling"]["rope_type"] for case in VECTORS["frequencies"]}
    assert {*SCALINGS} - stored == set(), "add a case to book/vectors.json"


def table(case):
    # No stored row of a longer table depends on its length.
    seq_len = min(case["seq_len"], 200_000)
    return KNOWN[case["convention"]].table(seq_len, case["d_model"])[case["rows"]]


def rotated(case):
    base = float(case["base"])
    options = {"base": base}
    if "axis" in case:
        axes = np.arange(len(case["positions"][0]))[:, None]
        # (axes, pairs): each pair turns by one coordinate.
        omega = base ** -np.float64(case["exponents"]) * (axes == case["axis"])
        options = {"frequencies": omega}
    x = np.tile(np.float64(case["x"]), (len(case["positions"]), 1))
    return rotate_pairs(x, case["positions"], pairing=case["layout"], **options)


def frequencies(case):
    omega, factor = rotary_frequencies(
        case["d_model"],
        base=case["base"] and float(case["base"]),  # the record has it in its scaling
        scaling=case["scaling"],
        max_position_embeddings=case["max_position_embeddings"],
        seq_len=case["seq_len"],
    )
    return [*omega, factor]


def multipliers(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    return [layers.attention_factor, layers.score_factor or 1.0]


STORED = "values", "attention_factor", "score_factor"
# How numbers are computed, and how far off they may be.
COMPUTED = [
    # An angle of 131,071,000 radians is rounded to 1.5e-8.
    (table, VECTORS["tables"], {"atol": 1e-7}),
    (rotated, VECTORS["rotations"] + VECTORS["axes"], {"atol": 1e-10}),
    (multipliers, VECTORS["multipliers"], {"rtol": 1e-15}),
    (frequencies, VECTORS["frequencies"], {"rtol": 1e-14}),
    (frequencies, RECORD, {"rtol": 1e-7}),
]
CASES = [(compute, case, limit) for compute, cases, limit in COMPUTED for case in cases]


@pytest.mark.parametrize(("compute", "case", "limit"), CASES)
def test_numbers_are_the_package_s(compute, case, limit):
    stored = [np.float64(case[name]) for name in STORED if name in case]
    expected = np.concatenate(stored, axis=None)
    limits = {"rtol": 0} | limit
    np.testing.assert_allclose(np.ravel(compute(case)), expected, **limits)
