"""`posenc.rotary_frequencies`: the rules by their formulas, a record of theirs, and every error."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from posenc import angular_frequencies, rotary_frequencies

RECORD = yaml.safe_load(Path(__file__).with_name("rotary.yml").read_text(encoding="utf-8"))

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 8192,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "rope_theta": 500_000.0,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
LONGROPE = {
    "rope_type": "longrope",
    "factor": 4.0,
    "original_max_position_embeddings": 4096,
    "short_factor": [1.0, 1.5],
    "long_factor": [2.0, 4.0],
}


def test_without_scaling_they_are_the_encoding_s():
    for scaling in (None, {}, {"rope_type": "default"}, {"type": "default", "factor": None}):
        frequencies, factor = rotary_frequencies(64, base=500.0, scaling=scaling)
        np.testing.assert_array_equal(frequencies, angular_frequencies(64, base=500.0))
        assert factor == 1
    assert frequencies.dtype == np.float64


def test_linear_divides_and_type_is_the_old_name():
    for key in ("rope_type", "type"):
        found, factor = rotary_frequencies(8, scaling={key: "linear", "factor": 2})
        np.testing.assert_allclose(found, angular_frequencies(8) / 2)
        assert factor == 1


def test_rope_theta_is_the_base():
    found, _ = rotary_frequencies(8, scaling={"rope_theta": 500.0})
    np.testing.assert_array_equal(found, angular_frequencies(8, base=500.0))
    same, _ = rotary_frequencies(8, base=500, scaling={"rope_theta": 500.0})
    np.testing.assert_array_equal(found, same)


def test_a_part_of_the_width_turns():
    found, _ = rotary_frequencies(64, scaling={"partial_rotary_factor": 0.25})
    np.testing.assert_array_equal(found, angular_frequencies(16))


def test_proportional_stands_still_at_the_end():
    scaling = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 2.0}
    found, _ = rotary_frequencies(64, scaling=scaling)
    np.testing.assert_allclose(found[:8], angular_frequencies(64)[:8] / 2)
    assert (found[8:] == 0).all()


@pytest.mark.parametrize(("seq_len", "stretch"), [(None, 1), (500, 1), (1000, 1), (3000, 5)])
def test_dynamic_keeps_the_first_pair_and_stretches_the_last(seq_len, stretch):
    found, factor = rotary_frequencies(
        16,
        scaling={"rope_type": "dynamic", "factor": 2.0},
        max_position_embeddings=1000,
        seq_len=seq_len,
    )
    plain = angular_frequencies(16)
    assert found[0] == 1
    np.testing.assert_allclose(plain[-1] / found[-1], stretch)
    assert factor == 1


def test_yarn_leaves_quick_pairs_and_divides_slow_ones():
    found, factor = rotary_frequencies(128, scaling=YARN)
    plain = angular_frequencies(128)
    turns = 4096 * plain / (2 * np.pi)
    np.testing.assert_allclose(found[turns > 36], plain[turns > 36])
    np.testing.assert_allclose(found[turns < 0.8], plain[turns < 0.8] / 4)
    assert (np.diff(found / plain) <= 1e-12).all()
    assert factor == pytest.approx(0.1 * np.log(4) + 1, rel=1e-15)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"attention_factor": 0.5}, 0.5),
        ({"mscale": 2.0, "mscale_all_dim": 1.0}, (0.2 * np.log(4) + 1) / (0.1 * np.log(4) + 1)),
        ({"mscale": 2.0}, 0.1 * np.log(4) + 1),
        ({"factor": 1.0}, 1.0),
    ],
)
def test_yarn_has_a_temperature(change, expected):
    assert rotary_frequencies(64, scaling=YARN | change)[1] == pytest.approx(expected, rel=1e-15)


def test_yarn_takes_the_factor_from_the_lengths():
    given = rotary_frequencies(64, scaling=YARN)
    lengths = rotary_frequencies(64, scaling=YARN | {"factor": None}, max_position_embeddings=16384)
    np.testing.assert_array_equal(given[0], lengths[0])
    assert given[1] == lengths[1]
    with pytest.raises(ValueError, match=r"'factor', or 'original_max"):  # it would do nothing
        rotary_frequencies(64, scaling={"rope_type": "yarn"}, max_position_embeddings=4096)
    missing = {"rope_type": "yarn", "factor": 4.0}
    same = rotary_frequencies(64, scaling=missing, max_position_embeddings=4096)
    np.testing.assert_array_equal(given[0], same[0])


def test_yarn_rounds_its_range_unless_told():
    rounded = rotary_frequencies(64, scaling=YARN | {"truncate": True})[0]
    np.testing.assert_array_equal(rounded, rotary_frequencies(64, scaling=YARN)[0])
    exact = rotary_frequencies(64, scaling=YARN | {"truncate": False})[0]
    assert not np.allclose(rounded, exact, rtol=1e-3)


def test_yarn_with_a_range_of_one_pair():
    scaling = YARN | {"beta_fast": 8, "beta_slow": 8, "truncate": False}
    found = rotary_frequencies(64, scaling=scaling)[0]
    ratio = angular_frequencies(64) / found
    assert set(ratio.round(6)) == {1.0, 4.0}
    assert np.all(np.diff(ratio) >= 0)  # the slow pairs are the ones that are stretched


def test_yarn_begins_at_32_turns_and_ends_at_one():
    smooth = YARN | {"truncate": False}
    told = smooth | {"beta_fast": 32, "beta_slow": 1}
    np.testing.assert_array_equal(
        rotary_frequencies(128, scaling=smooth)[0], rotary_frequencies(128, scaling=told)[0]
    )


@pytest.mark.parametrize("scaling", [YARN, LLAMA3])
def test_a_factor_of_one_stretches_nothing_and_none_is_smaller(scaling):
    plain = rotary_frequencies(64, scaling={"rope_theta": scaling.get("rope_theta", 10_000)})[0]
    found, attention = rotary_frequencies(64, scaling=scaling | {"factor": 1.0})
    np.testing.assert_allclose(found, plain, rtol=1e-15)
    assert attention == 1
    with pytest.raises(ValueError, match=r"scaling\['factor'\] must be at least 1"):
        rotary_frequencies(64, scaling=scaling | {"factor": 0.9})


def test_longrope_has_two_lists():
    plain = angular_frequencies(4)
    for seq_len, name in [(None, "short"), (4096, "short"), (4097, "long")]:
        found, factor = rotary_frequencies(4, scaling=LONGROPE, seq_len=seq_len)
        np.testing.assert_allclose(found, plain / LONGROPE[f"{name}_factor"])
        assert factor == pytest.approx(np.sqrt(1 + np.log(4) / np.log(4096)), rel=1e-15)
    assert rotary_frequencies(4, scaling=LONGROPE | {"attention_factor": 1.25})[1] == 1.25
    assert rotary_frequencies(4, scaling=LONGROPE | {"factor": 1.0})[1] == 1


def test_llama3_blends_between_two_wavelengths():
    found, factor = rotary_frequencies(128, scaling=LLAMA3)
    plain = angular_frequencies(128, base=500_000.0)
    length = 2 * np.pi / plain
    np.testing.assert_allclose(found[length < 2048], plain[length < 2048])
    np.testing.assert_allclose(found[length > 8192], plain[length > 8192] / 8)
    between = (length > 2048) & (length < 8192)
    ratio = plain[between] / found[between]
    assert between.sum() > 3
    assert ((ratio > 1) & (ratio < 8)).all()
    assert factor == 1


@pytest.mark.parametrize("recorded", RECORD, ids=lambda recorded: recorded[1]["rope_type"])
def test_equals_the_record_of_transformers(recorded):
    width, scaling, limit, seq_len, expected, attention = recorded
    found, factor = rotary_frequencies(
        width, scaling=scaling, max_position_embeddings=limit, seq_len=seq_len
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=0)
    assert factor == pytest.approx(attention, rel=1e-15)


ERRORS = [
    ({"d_model": 7}, ValueError, "d_model must be even"),
    ({"scaling": [1]}, TypeError, r"scaling must be a mapping, got \[1\]"),
    ({"scaling": {"rope_type": "ntk"}}, ValueError, "must be one of default, linear.*'ntk'"),
    ({"scaling": {"rope_type": "linear"}}, ValueError, "^scaling needs the field 'factor'$"),
    ({"scaling": {"rope_type": "linear", "factor": 0.5}}, ValueError, r"'factor'\] must be at l"),
    ({"scaling": {"rope_type": "linear", "factor": "2"}}, TypeError, r"'factor'\] must be a real"),
    ({"scaling": {"rope_type": "linear", "factors": 2}}, ValueError, "doesn't know: 'factors'"),
    ({"scaling": {"factor": 2.0}}, ValueError, "type 'default' doesn't know: 'factor'"),
    ({"scaling": {"rope_type": "yarn", "type": "linear"}}, ValueError, "differ: 'yarn', 'linear'"),
    ({"scaling": {"full": {}, "sliding": {}}}, ValueError, "full, sliding: pass one of them$"),
    ({"base": 10_000.0, "scaling": {"rope_theta": 5e5}}, ValueError, "500000, but base is 10000"),
    ({"scaling": {"rope_theta": -1.0}}, ValueError, "base must be positive"),
    ({"scaling": {"partial_rotary_factor": 1.5}}, ValueError, "at most 1, got 1.5"),
    ({"scaling": {"partial_rotary_factor": 0.0}}, ValueError, r"factor'\] must be positive"),
    ({"scaling": {"partial_rotary_factor": 0.4}}, ValueError, "even number .* got 3 of 8"),
    ({"scaling": {"partial_rotary_factor": 0.1}}, ValueError, "even number .* got 0 of 8"),
    (
        {"scaling": {"rope_type": "dynamic", "factor": 2.0}},
        ValueError,
        "^scaling of type 'dynamic' needs max_position_embeddings$",
    ),
    (
        {"scaling": {"rope_type": "dynamic", "factor": 0.5}, "max_position_embeddings": 9},
        ValueError,
        r"'factor'\] must be at least 1",
    ),
    (
        {"scaling": {"rope_type": "proportional", "factor": 0.5}},
        ValueError,
        r"'factor'\] must be at least 1",
    ),
    (
        {
            "d_model": 2,
            "scaling": {"rope_type": "dynamic", "factor": 2.0},
            "max_position_embeddings": 9,
        },
        ValueError,
        "^scaling of type 'dynamic' needs two pairs or more, got one$",
    ),
    ({"max_position_embeddings": 0}, ValueError, "max_position_embeddings must be at least 1"),
    ({"seq_len": 1.5}, TypeError, "seq_len must be an int"),
    ({"scaling": {"rope_type": "yarn", "factor": 4.0}}, ValueError, "'original_max_position_emb"),
    (
        {"scaling": YARN | {"original_max_position_embeddings": 1}},
        ValueError,
        r"scaling\['original_max_position_embeddings'\] must be at least 2",
    ),
    ({"scaling": YARN | {"beta_fast": 1, "beta_slow": 2}}, ValueError, "must not be below beta_s"),
    ({"scaling": YARN | {"truncate": "no"}}, TypeError, "truncate.* must be a bool"),
    ({"scaling": YARN | {"factor": None}}, ValueError, "needs the field 'factor'"),
    (
        {"scaling": YARN | {"factor": None}, "max_position_embeddings": 2048},
        ValueError,
        "at least original_max_position_embeddings = 4096, got 2048",
    ),
    ({"base": 1.0, "scaling": YARN}, ValueError, "base must be above 1"),
    ({"scaling": LONGROPE}, ValueError, "'short_factor'.* each of the 4 pairs"),
    ({"scaling": LONGROPE | {"short_factor": None}}, ValueError, "needs the field 'short_factor'"),
    ({"d_model": 4, "scaling": LONGROPE | {"long_factor": [1, 0]}}, ValueError, "must hold posit"),
    ({"d_model": 4, "scaling": LONGROPE | {"long_factor": [1, "2"]}}, TypeError, r"g\['long_fact"),
    ({"scaling": LLAMA3 | {"high_freq_factor": 0.5}}, ValueError, "must not be below low_freq"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), ERRORS)
def test_errors_name_the_field(arguments, error, message):
    with pytest.raises(error, match=message):
        rotary_frequencies(**{"d_model": 8, **arguments})
