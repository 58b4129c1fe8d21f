"""The test vectors, by tool and package; frequencies as transformers has them; their errors."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch
import vectors

from posenc import angular_frequencies, read_config, rotary_frequencies
from posenc.checks import KNOWN
from posenc.conventions import join
from posenc.nn import rotate_pairs
from posenc.scaling import SCALINGS

VECTORS = json.loads(vectors.FILE.read_text(encoding="utf-8"))


def each_of(part):
    names = [next(iter(case.values())) for case in VECTORS[part]]
    return pytest.mark.parametrize("case", VECTORS[part], ids=names)


def near(found, texts, rtol=0.0, atol=0.0):
    np.testing.assert_allclose(
        found, np.array(texts, dtype=float), rtol=rtol, atol=atol
    )


def test_the_file_is_what_the_tool_computes():
    assert vectors.computed(VECTORS) == VECTORS
    assert {
        each["convention"] for each in VECTORS["tables"] + VECTORS["rotations"]
    } == {*KNOWN}


def test_the_schema_describes_the_file():
    schema = json.loads(
        vectors.FILE.with_suffix(".schema.json").read_text(encoding="utf-8")
    )
    jsonschema.validate(VECTORS, schema)
    wrong = VECTORS["tables"][0] | {"values": [["1e-3"]]}
    for broken in ({"format": 2}, {"more": 1}, {"tables": [wrong]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(VECTORS | broken, schema)


@each_of("tables")
def test_tables(case):
    known = KNOWN[case["convention"]]
    for name in ("layout", "direction", "first"):
        assert case[name] == getattr(known, name)
    assert case["exponent"] == f"i/({known.rule})"
    assert case["step"] == (
        known.step if known.step == "one turn" else f"{known.step:g}"
    )
    angles = known.angles(case["rows"], case["seq_len"], case["d_model"])
    near(join(np.exp(1j * angles), known.layout), case["values"], atol=5e-16)


def turned(case, **options):
    """A case's x, rotated by the package to the case's positions."""
    positions, x = (
        torch.tensor(case["positions"]),
        torch.tensor([*map(float, case["x"])]),
    )
    return rotate_pairs(
        x.double().expand(len(positions), -1), positions, **options
    ).numpy()


@each_of("rotations")
def test_rotations(case):
    found = turned(case, base=float(case["base"]), pairing=case["layout"])
    near(found, case["values"], atol=1e-9)


@each_of("axes")
def test_axes(case):
    powers = [
        over / under
        for over, under in (map(int, e.split("/")) for e in case["exponents"])
    ]
    follows = np.array(case["axis"]) == np.arange(len(case["positions"][0]))[:, None]
    omega = follows * float(case["base"]) ** -np.array(powers)
    found = turned(case, frequencies=omega, pairing="neighbors")
    near(found, case["values"], atol=1e-9)


@each_of("frequencies")
def test_frequencies(case):
    asked = {name: case[name] for name in ("d_model", "scaling", MAXIMUM, "seq_len")}
    found, factor = rotary_frequencies(base=float(case["base"]), **asked)
    near(found, case["values"], rtol=1e-13)
    near(factor, case["attention_factor"], rtol=1e-14)


def test_every_type_of_scaling_has_a_vector_and_a_row_in_chapter_15():
    assert {case["scaling"]["rope_type"] for case in VECTORS["frequencies"]} == {
        *SCALINGS
    }
    chapter = vectors.FILE.parents[1] / "notebooks" / "15_longer_context.ipynb"
    assert {*re.findall(r'"\| `(\w+)` \|', chapter.read_text("utf-8"))} == {
        "rope_type",
        *SCALINGS,
    }


@each_of("multipliers")
def test_multipliers(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    near(layers.attention_factor, case["attention_factor"], rtol=1e-14)
    near(layers.score_factor or 1, case["score_factor"], rtol=1e-14)


# Width, rope_parameters, max_position_embeddings, seq_len; then the frequencies and the attention
# factor that the functions of transformers 5.23.0 compute from them in float64.
RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text(encoding="utf-8"))
ORIGINAL, MAXIMUM = "original_max_position_embeddings", "max_position_embeddings"
YARN = {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 4096}
UNSTATED = {"rope_type": "yarn", "factor": 4.0}
LONG = {"rope_type": "longrope", "factor": 4.0, ORIGINAL: 4096}
LONG |= {"short_factor": [1.0, 1.1, 1.5, 1.5], "long_factor": [2.0] * 4}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, ORIGINAL: 8192}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize(
    "recorded", RECORD, ids=lambda recorded: recorded[1]["rope_type"]
)
def test_equals_the_record_of_transformers(recorded):
    width, scaling, limit, seq_len, expected, attention = recorded
    found, factor = rotary_frequencies(
        width, scaling=scaling, max_position_embeddings=limit, seq_len=seq_len
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=0)
    assert factor == pytest.approx(attention, rel=1e-15)


THETA, LIMIT, LONG_LIMIT = ({"rope_theta": 500.0}, *({MAXIMUM: n} for n in (9, 4096)))
SAME = [
    ({}, {"base": 10_000, "scaling": {}}),
    ({}, {"scaling": {"type": "default", "factor": None}}),
    ({"base": 500}, {"scaling": THETA}),
    (
        {"scaling": {"rope_type": "ntk", "factor": 2}},
        {"scaling": {"type": "ntk", "factor": 2.0}},
    ),
    (
        {},
        {"scaling": DYNAMIC, "seq_len": 4096, **LONG_LIMIT},
    ),  # no longer than the limit
    ({}, {"scaling": YARN | {"factor": 1.0}}),
    ({"scaling": YARN}, {"scaling": YARN | {"factor": None}, MAXIMUM: 16_384}),
    (
        {"scaling": YARN},
        {"scaling": UNSTATED, **LONG_LIMIT},
    ),  # which is the original length
    (
        {"scaling": YARN},
        {"scaling": YARN | {"mscale": 2.0}},
    ),  # no effect without mscale_all_dim
    (
        {"scaling": YARN},
        {"scaling": YARN | {"truncate": True, "beta_fast": 32, "beta_slow": 1}},
    ),
    (
        {"scaling": LONG | {"attention_factor": 2}},
        {"scaling": LONG | {"short_mscale": 2}},
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_left_out_has_a_default(one, other):
    found, factor = rotary_frequencies(8, **one)
    same, again = rotary_frequencies(8, **other)
    np.testing.assert_allclose(found, same, rtol=1e-15)
    assert factor == again


def test_pairs_jump_where_a_range_is_empty():
    """In YaRN with beta_fast = beta_slow, in llama3 with equal frequency factors."""
    empty = (
        {"beta_fast": 8, "beta_slow": 8, "truncate": False},
        {"low_freq_factor": 4.0},
    )
    omega = angular_frequencies(64)
    for scaling, turns in ((YARN | empty[0], 8), (LLAMA3 | empty[1], 4)):
        stretch = np.where(
            scaling[ORIGINAL] * omega / (2 * np.pi) >= turns, 1, scaling["factor"]
        )
        np.testing.assert_allclose(
            omega / rotary_frequencies(64, scaling=scaling)[0], stretch
        )


LINEAR, UNSCALED = {"rope_type": "linear"}, {"rope_type": "yarn"}
SHARE = {"rope_type": "proportional"}
ERRORS = [
    (
        {"scaling": {"rope_type": "wrong"}},
        ValueError,
        "must be one of default, linear.*'wrong'",
    ),
    ({"scaling": LINEAR}, ValueError, "^scaling needs the field 'factor'$"),
    ({"scaling": LINEAR | {"factors": 2}}, ValueError, "type 'linear': 'factors'"),
    (
        {"scaling": UNSCALED | {"type": "linear"}},
        ValueError,
        "differ: 'yarn', 'linear'",
    ),
    (
        {"scaling": {"full": {}, "sliding": {}}},
        ValueError,
        "full, sliding: pass one of them$",
    ),
    (
        {"base": 10_000.0, "scaling": {"rope_theta": 5e5}},
        ValueError,
        "500000, but base is 10000",
    ),
    ({"scaling": {"partial_rotary_factor": 1.5}}, ValueError, "at most 1, got 1.5"),
    (
        {"scaling": {"partial_rotary_factor": 0.4}},
        ValueError,
        "even number .* got 3 of 8",
    ),
    (
        {"scaling": DYNAMIC},
        ValueError,
        "^scaling of type 'dynamic' needs max_position_embeddings$",
    ),
    (
        {"scaling": DYNAMIC, "d_model": 2, **LIMIT},
        ValueError,
        "^scaling of .* two pairs or more",
    ),
    ({"scaling": UNSTATED}, ValueError, f"'{ORIGINAL}', or pass {MAXIMUM}$"),
    ({"scaling": YARN | {ORIGINAL: 1}}, ValueError, f"{ORIGINAL}'. must be at least 2"),
    (
        {"scaling": YARN | {"beta_fast": 0}},
        ValueError,
        r"^scaling\['beta_fast'\] must be positive",
    ),
    (
        {"scaling": THETA | {"rope_theta": 0}},
        ValueError,
        "^base must be positive, got 0",
    ),
    ({"scaling": UNSCALED, **LIMIT}, ValueError, "^scaling needs .* or 'original_max"),
    ({"scaling": YARN | {"truncate": "no"}}, TypeError, "truncate.* must be a bool"),
    (
        {"scaling": YARN | {"factor": None}, **LIMIT},
        ValueError,
        f"{ORIGINAL} = 4096, got 9",
    ),
    ({"base": 1.0, "scaling": YARN}, ValueError, "base must be above 1"),
    (
        {"scaling": LLAMA3 | {"high_freq_factor": 0.5}},
        ValueError,
        "'high_freq_factor'.* not be",
    ),
]
for each in (LINEAR, DYNAMIC, SHARE, YARN, LLAMA3, {"rope_type": "ntk"}):
    ERRORS += [
        (
            {"scaling": each | {"factor": 0.9}},
            ValueError,
            r"'factor'\] must be at least 1",
        )
    ]


@pytest.mark.parametrize(("arguments", "error", "message"), ERRORS)
def test_errors_name_the_field(arguments, error, message):
    with pytest.raises(error, match=message):
        rotary_frequencies(**{"d_model": 8, **arguments})
