"""The test vectors, the record of transformers, and the package agree."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from posenc import (
    angular_frequencies,
    read_config,
    rotary_frequencies,
    rotate_pairs,
)
from posenc.conventions import Convention

BOOK = Path(__file__).parents[1] / "book"
VECTORS = json.loads((BOOK / "vectors.json").read_text(encoding="utf-8"))


def numbers(texts):
    return np.array(texts, dtype=np.float64)


def test_the_schema_describes_the_file():
    schema = (BOOK / "vectors.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(VECTORS, json.loads(schema))


@pytest.mark.parametrize("case", VECTORS["tables"], ids=lambda case: case["convention"])
def test_tables_are_the_package_s(case):
    convention = Convention(
        layout=case["layout"],
        rule=case["exponent"].removeprefix("i/(").removesuffix(")"),
        base=float(case["base"]),
        first=case["first"],
        step=case["step"] if case["step"] == "one turn" else float(case["step"]),
        direction=case["direction"],
    )
    # No stored row of a longer table depends on its length.
    table = convention.table(min(case["seq_len"], 200_000), case["d_model"])
    values = numbers(case["values"])
    # An angle of 131,071,000 radians is rounded to 1.5e-8.
    np.testing.assert_allclose(table[case["rows"]], values, rtol=0, atol=1e-7)


@pytest.mark.parametrize("case", VECTORS["frequencies"], ids=lambda case: case["name"])
def test_frequencies_are_the_package_s(case):
    stated = {
        name: case[name] for name in ("scaling", "max_position_embeddings", "seq_len")
    }
    omega, factor = rotary_frequencies(
        case["d_model"], base=float(case["base"]), **stated
    )
    np.testing.assert_allclose(omega, numbers(case["values"]), rtol=1e-14)
    assert factor == pytest.approx(float(case["attention_factor"]), rel=1e-15)


@pytest.mark.parametrize("case", VECTORS["multipliers"], ids=lambda case: case["name"])
def test_multipliers_are_the_package_s(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    factors = [layers.attention_factor, layers.score_factor or 1.0]
    stored = [float(case["attention_factor"]), float(case["score_factor"])]
    assert factors == pytest.approx(stored, rel=1e-15)


@pytest.mark.parametrize("case", VECTORS["rotations"] + VECTORS["axes"])
def test_rotations_are_the_package_s(case):
    base = float(case["base"])
    if "axis" in case:
        coordinates = np.arange(len(case["positions"][0]))
        follows = np.array(case["axis"]) == coordinates[:, None]  # (axes, pairs)
        options = {"frequencies": follows * base ** -numbers(case["exponents"])}
    else:
        options = {"base": base}
    x = np.tile(numbers(case["x"]), (len(case["positions"]), 1))
    turned = rotate_pairs(x, case["positions"], pairing=case["layout"], **options)
    np.testing.assert_allclose(turned, numbers(case["values"]), rtol=0, atol=1e-10)


# Width, rope_parameters, max_position_embeddings, seq_len; then the frequencies and the attention
# factor that the functions of transformers 5.23.0 compute from them in float64.
RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", RECORD, ids=lambda row: row[1]["rope_type"])
def test_frequencies_equal_the_record_of_transformers(row):
    width, scaling, limit, seq_len, expected, attention = row
    omega, factor = rotary_frequencies(
        width, scaling=scaling, max_position_embeddings=limit, seq_len=seq_len
    )
    np.testing.assert_allclose(omega, expected, rtol=1e-7, atol=0)
    assert factor == pytest.approx(attention, rel=1e-15)


def test_types_that_transformers_lacks():
    """vLLM multiplies the base, then divides all; Hunyuan raises the base alone."""

    def scaled(**fields):
        return rotary_frequencies(8, scaling=fields)[0]

    ntk = angular_frequencies(8, base=4 * 10_000.0) / 4 ** (2 / 8)
    np.testing.assert_allclose(scaled(rope_type="ntk", factor=4.0), ntk, rtol=1e-14)
    mixed = angular_frequencies(8) / np.exp(np.log(4) / 4**0.5 * np.arange(1, 5) ** 0.5)
    by_mixed = scaled(rope_type="ntk", factor=4.0, mixed_b=0.5)
    np.testing.assert_allclose(by_mixed, mixed, rtol=1e-14)
    raised = angular_frequencies(8, base=10_000.0 * 4 ** (8 / 6))
    by_alpha = scaled(rope_type="dynamic", alpha=4.0)
    np.testing.assert_allclose(by_alpha, raised, rtol=1e-14)


TRAINED = "original_max_position_embeddings"
YARN = {"rope_type": "yarn", "factor": 4.0, TRAINED: 64}
ERRORS = [
    ({"rope_type": "wrong"}, "must be one of default, linear.*'wrong'"),
    ({"rope_type": "linear"}, "^scaling needs the field 'factor'$"),
    (YARN | {"type": "linear"}, "differ: 'yarn', 'linear'"),
    ({"full": {}, "sliding": {}}, "full, sliding: pass one of them$"),
    ({"rope_theta": 5e5}, "500000, but base is 100"),
    ({"partial_rotary_factor": 0.4}, "even number .* got 3 of 8"),
]


@pytest.mark.parametrize(("scaling", "message"), ERRORS)
def test_errors_name_the_field(scaling, message):
    with pytest.raises(ValueError, match=message):
        rotary_frequencies(8, base=100, scaling=scaling)
