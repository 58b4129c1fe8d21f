"""The numpy functions of attention: against torch's, a loop, and the definition."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import posenc
from posenc import alibi_bias, alibi_slopes, nn, rotary_turns, rotate_pairs, t5_buckets

RNG = np.random.default_rng(0)
AXES = RNG.random((2, 3))
HALF, REST = np.s_[:4], np.s_[4:]
OPTIONS = [
    {},
    {"pairing": "neighbors", "base": 50},
    {"positions": RNG.random((2, 5)) * 100},
    {"positions": [[0, 1, 2, 8, 9]], "attention_factor": 1.5, "frequencies": [1.0, 0.3, 0.1]},
    {"positions": RNG.random((5, 2)), "frequencies": AXES, "first": 2, "pairing": "neighbors"},
    {"positions": [3, 4, 5], "seq_dim": 1},
    {"turns": rotary_turns(np.arange(5), 8, dtype=np.float32)},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_torch_rotates_as_numpy_does(options):
    x = RNG.normal(size=(2, 3, 5, 8))
    given = {
        name: torch.as_tensor(value) if name == "positions" else value
        for name, value in options.items()
    }
    if turns := options.get("turns"):
        given["turns"] = tuple(map(torch.from_numpy, turns))
    for kind in (np.float64, np.float32):
        found = rotate_pairs(x.astype(kind), **options)
        other = nn.rotate_pairs(torch.from_numpy(x.astype(kind)), **given)
        assert (found.dtype, found.shape) == (kind, x.shape)
        np.testing.assert_allclose(other.numpy(), found, rtol=0, atol=8 * np.finfo(kind).eps)


def test_a_pair_is_turned_as_a_complex_number():
    x, z = np.zeros((9, 8)), RNG.normal(size=(9, 4)) + 1j * RNG.normal(size=(9, 4))
    turned = z * np.exp(1j * np.outer(np.arange(9), posenc.angular_frequencies(8)))
    for pairing, one, two in (("halves", HALF, REST), ("neighbors", np.s_[::2], np.s_[1::2])):
        x[:, one], x[:, two] = z.real, z.imag
        found = rotate_pairs(x, pairing=pairing)
        np.testing.assert_allclose(found[:, one] + 1j * found[:, two], turned, rtol=0, atol=1e-14)


def test_slopes_and_bias():
    between = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx([2**-h for h in range(1, 9)] + between)
    for heads in (1, 3, 12):
        assert (nn.alibi_slopes(heads).numpy() == alibi_slopes(heads)).all()
    k = np.arange(6)
    expected = -np.abs(np.subtract.outer(k, k)) * alibi_slopes(3)[:, None, None]
    np.testing.assert_array_equal(alibi_bias(3, 6), expected)
    np.testing.assert_array_equal(alibi_bias(3, [4, 5], k), expected[:, 4:])


def test_buckets_are_those_of_the_definition():
    """At each distance below 2 · `limit`, counted as bounds that the distance has passed."""
    for buckets, limit, both in ((32, 128, True), (32, 128, False), (64, 512, True), (6, 9, False)):
        own = buckets // (4 if both else 2)
        bounds = [*range(1, own), *(own * (limit / own) ** (j / own) for j in range(own))]
        away = np.arange(2 * limit)
        expected = (away[:, None] >= np.array(bounds) - 1e-9).sum(1)
        named = {"n_buckets": buckets, "max_distance": limit, "bidirectional": both}
        np.testing.assert_array_equal(t5_buckets(-away, **named), expected)
        after = t5_buckets(away[1:], **named)
        np.testing.assert_array_equal(after, expected[1:] + 2 * own if both else 0 * after)
        if (buckets, limit) == (32, 128):  # the defaults
            np.testing.assert_array_equal(t5_buckets(-away, bidirectional=both), expected)


X = np.ones((2, 4))
BAD = [
    (lambda: rotate_pairs([[1, 2]]), TypeError, "^x must hold floating-point numbers, got int"),
    (lambda: rotate_pairs(X, turns=rotary_turns([7], 4)), ValueError, r"got \(1,\)"),
    (lambda: rotate_pairs(X, [0, np.nan]), ValueError, "^positions must be finite"),
    (
        lambda: rotate_pairs(X, turns=([1], [2])),
        TypeError,
        "^turns must be rotary_turns' pair of ndarray",
    ),
    (lambda: rotary_turns([1.0]), ValueError, "^d_model or frequencies must be given$"),
    (lambda: t5_buckets([0.5]), TypeError, "^offsets must hold whole numbers"),
    (lambda: t5_buckets([1], n_buckets=6), ValueError, "^n_buckets must be a multiple of 4, got 6"),
    (lambda: t5_buckets([1], max_distance=8), ValueError, "^max_distance must be at least 9"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA = {"model_type": "llama", "head_dim": 8, "rope_scaling": YARN, "rope_theta": 500.0}
IMAGES = {"model_type": "qwen2_vl", "head_dim": 8, "rope_theta": 1e4}
IMAGES |= {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}


def test_a_layer_of_a_configuration_gives_its_turns_and_rotates():
    """With the attention factor, the pairing and the part that turns, in numpy and in torch."""
    (layers,), k = posenc.read_config(LLAMA).layers, np.arange(5)
    omega, factor = posenc.rotary_frequencies(8, base=500, scaling=YARN)
    x, named = RNG.normal(size=(2, 5, 8)), {"frequencies": omega, "attention_factor": factor}
    found = layers.rotate(x, layers.turns(k), pairing="halves")
    np.testing.assert_allclose(found, rotate_pairs(x, **named), rtol=1e-15)
    turns = layers.turns(torch.arange(5))
    other = layers.rotate(torch.from_numpy(x).float(), turns, pairing="halves")
    np.testing.assert_allclose(other.numpy(), found, rtol=0, atol=2e-6)
    part = replace(layers, rotated=4, first=4, frequencies=(1.0, 0.1), pairing="neighbors")
    named = {"frequencies": [1.0, 0.1], "attention_factor": factor, "first": 4}
    expected = rotate_pairs(x, pairing="neighbors", **named)
    np.testing.assert_array_equal(part.rotate(x, part.turns(k)), expected)
    with pytest.raises(ValueError, match=r"^x must have width head_dim = 8, got 4"):
        layers.rotate(x[..., :4], layers.turns(k))
    with pytest.raises(ValueError, match=r"^pairing must be .*, as the file doesn't say it$"):
        replace(layers, pairing=None).rotate(x, layers.turns(k))


def test_a_layer_has_frequencies_for_each_axis_and_for_longer_texts():
    (layers,) = posenc.read_config(IMAGES).layers
    places = np.array([[5, 6, 7], [1, 0, 2]])
    cos, _ = layers.turns(places, by_axis=True)
    np.testing.assert_allclose(cos, np.cos(places[:, layers.axes] * layers.frequencies))
    text = layers.turns([5, 1])
    np.testing.assert_allclose(layers.turns([[5] * 3, [1] * 3], by_axis=True), text, rtol=1e-14)
    longer = replace(layers, axes=None, frequencies_beyond=(0.5,), attention_factor_beyond=2.0)
    np.testing.assert_allclose(longer.turns([3], beyond=True)[0], [[2 * np.cos(1.5)]])
    silent = replace(layers, frequencies=None)
    for wrong, words in ((longer, "^by_axis must be False"), (silent, "how")):
        with pytest.raises(ValueError, match=words):
            wrong.turns(places, by_axis=True)
