"""`rotary_frequencies` matches a record of transformers, and its errors name the field."""

import json
from pathlib import Path

import numpy as np
import pytest

from posenc import angular_frequencies, rotary_frequencies

# Width, rope_parameters, max_position_embeddings, seq_len; then the frequencies and the attention
# factor that the functions of transformers 5.23.0 compute from them in float64.
RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text(encoding="utf-8"))
ORIGINAL = "original_max_position_embeddings"
YARN = {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 4096}
UNSTATED = {"rope_type": "yarn", "factor": 4.0}
LONG = {"rope_type": "longrope", "factor": 4.0, ORIGINAL: 4096}
LONG |= {"short_factor": [1.0, 1.5], "long_factor": [2.0, 4.0]}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, ORIGINAL: 8192}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}


@pytest.mark.parametrize("recorded", RECORD, ids=lambda recorded: recorded[1]["rope_type"])
def test_equals_the_record_of_transformers(recorded):
    width, scaling, limit, seq_len, expected, attention = recorded
    found, factor = rotary_frequencies(
        width, scaling=scaling, max_position_embeddings=limit, seq_len=seq_len
    )
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=0)
    assert factor == pytest.approx(attention, rel=1e-15)


def test_without_scaling_they_are_the_encoding_s():
    for scaling in (None, {}, {"rope_type": "default"}, {"type": "default", "factor": None}):
        frequencies, factor = rotary_frequencies(64, scaling=scaling)
        np.testing.assert_array_equal(frequencies, angular_frequencies(64))
        assert factor == 1
    theta = {"rope_theta": 500.0}
    for asked in ({"base": 500}, {"scaling": theta}, {"base": 500, "scaling": theta}):
        found, _ = rotary_frequencies(8, **asked)
        np.testing.assert_array_equal(found, angular_frequencies(8, base=500.0))


# Equivalent settings
SAME = [
    ({"rope_type": "linear", "factor": 2}, {"type": "linear", "factor": 2.0}),
    (YARN, YARN | {"truncate": True}),
    (YARN, YARN | {"factor": None}),
    (UNSTATED, YARN),  # the original length defaults to the limit
    (YARN, YARN | {"mscale": 2.0}),  # no effect without mscale_all_dim
    (YARN | {"truncate": False}, YARN | {"truncate": False, "beta_fast": 32, "beta_slow": 1}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_left_out_has_a_default(one, other):
    limit = 4096 if one == UNSTATED else None
    found, factor = rotary_frequencies(64, scaling=one, max_position_embeddings=limit)
    same, again = rotary_frequencies(64, scaling=other, max_position_embeddings=16_384)
    np.testing.assert_array_equal(found, same)
    assert factor == again


def test_what_is_short_or_stated_is_left_alone():
    for seq_len in (None, 500, 1000):
        lengths = {"max_position_embeddings": 1000, "seq_len": seq_len}
        found, _ = rotary_frequencies(16, scaling=DYNAMIC, **lengths)
        np.testing.assert_allclose(found, angular_frequencies(16), rtol=1e-15)
    assert rotary_frequencies(8, scaling=YARN | {"factor": 1.0})[1] == 1
    assert rotary_frequencies(4, scaling=LONG | {"attention_factor": 1.5})[1] == 1.5


def test_pairs_jump_where_a_range_is_empty():
    """In YaRN with beta_fast = beta_slow, in llama3 with equal frequency factors."""
    empty = {"beta_fast": 8, "beta_slow": 8, "truncate": False}, {"low_freq_factor": 4.0}
    for scaling, stretch in ((YARN | empty[0], 4.0), (LLAMA3 | empty[1], 8.0)):
        ratio = angular_frequencies(64) / rotary_frequencies(64, scaling=scaling)[0]
        assert set(ratio.round(6)) == {1.0, stretch}
        assert np.all(np.diff(ratio) >= 0)  # the slow pairs are stretched


LINEAR, UNSCALED = {"rope_type": "linear"}, {"rope_type": "yarn"}
SHARE, LIMIT = {"rope_type": "proportional"}, {"max_position_embeddings": 9}
ERRORS = [
    ({"scaling": [1]}, TypeError, r"scaling must be a mapping, got \[1\]"),
    ({"scaling": {"rope_type": "wrong"}}, ValueError, "must be one of default, linear.*'wrong'"),
    ({"scaling": LINEAR}, ValueError, "^scaling needs the field 'factor'$"),
    ({"scaling": LINEAR | {"factors": 2}}, ValueError, "type 'linear': 'factors'"),
    ({"scaling": UNSCALED | {"type": "linear"}}, ValueError, "differ: 'yarn', 'linear'"),
    ({"scaling": {"full": {}, "sliding": {}}}, ValueError, "full, sliding: pass one of them$"),
    ({"base": 10_000.0, "scaling": {"rope_theta": 5e5}}, ValueError, "500000, but base is 10000"),
    ({"scaling": {"partial_rotary_factor": 1.5}}, ValueError, "at most 1, got 1.5"),
    ({"scaling": {"partial_rotary_factor": 0.0}}, ValueError, r"factor'\] must be positive"),
    ({"scaling": {"partial_rotary_factor": 0.4}}, ValueError, "even number .* got 3 of 8"),
    ({"max_position_embeddings": 0}, ValueError, "max_position_embeddings must be at least 1"),
    ({"seq_len": 1.5}, TypeError, "seq_len must be an int"),
    ({"scaling": DYNAMIC}, ValueError, "^scaling of type 'dynamic' needs max_position_embeddings$"),
    ({"scaling": DYNAMIC, "d_model": 2, **LIMIT}, ValueError, "^scaling of .* two pairs or more"),
    ({"scaling": UNSTATED}, ValueError, "'original_max_position_emb"),
    ({"scaling": UNSCALED, **LIMIT}, ValueError, "^scaling needs .* or 'original_max"),
    ({"scaling": YARN | {"truncate": "no"}}, TypeError, "truncate.* must be a bool"),
    ({"scaling": YARN | {"factor": None}, **LIMIT}, ValueError, f"{ORIGINAL} = 4096, got 9"),
    ({"base": 1.0, "scaling": YARN}, ValueError, "base must be above 1"),
    ({"scaling": LLAMA3 | {"high_freq_factor": 0.5}}, ValueError, "'high_freq_factor'.* not be"),
]
for each in (LINEAR, DYNAMIC, SHARE, YARN, LLAMA3):
    ERRORS += [({"scaling": each | {"factor": 0.9}}, ValueError, r"'factor'\] must be at least 1")]


@pytest.mark.parametrize(("arguments", "error", "message"), ERRORS)
def test_errors_name_the_field(arguments, error, message):
    with pytest.raises(error, match=message):
        rotary_frequencies(**{"d_model": 8, **arguments})
