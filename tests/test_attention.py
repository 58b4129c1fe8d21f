"""The functions of attention, in numpy and in torch: the definition, and every error."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import posenc
from posenc import alibi_bias, alibi_slopes, nn, rotary_turns, rotate_pairs, t5_buckets

RNG = np.random.default_rng(0)
LIBRARIES = pytest.mark.parametrize("library", [posenc, nn], ids=["numpy", "torch"])
TENSORS = ("x", "positions", "turns")


def call(library, name, **options):
    """Call a function of a library, which gets its own arrays."""
    if library is nn:
        tensors = torch.utils._pytree.tree_map_only(np.ndarray, torch.from_numpy, options)
        options |= {name: each for name, each in tensors.items() if name in TENSORS}
    return getattr(library, name)(**options)


def defined(x, positions=None, base=1e4, frequencies=None, attention_factor=1.0, **options):
    """Turn pairs as complex numbers, by angles that the slow way computes."""
    axis, first = options.get("seq_dim", -2), options.get("first", 0)
    rows = np.moveaxis(x, axis, -2).copy()
    n, width = rows.shape[-2], rows.shape[-1] - first
    where = np.arange(n) if positions is None else np.asarray(positions)
    if frequencies is None:
        frequencies = [base ** (-2 * i / width) for i in range(width // 2)]
    omega = np.atleast_2d(frequencies)
    pairs, where = omega.shape[1], where if len(omega) > 1 else where[..., None]
    for index in np.ndindex(rows.shape[:-1]):
        at = where if where.ndim == 2 else where[min(index[0], len(where) - 1)]
        for i in range(pairs):
            two = (2 * i, 2 * i + 1) if "pairing" in options else (i, i + pairs)
            a, b = (first + each for each in two)
            z = complex(rows[*index, a], rows[*index, b]) * attention_factor
            z *= np.exp(1j * sum(k * w for k, w in zip(at[index[-1]], omega[:, i], strict=True)))
            rows[*index, a], rows[*index, b] = z.real, z.imag
    return np.moveaxis(rows, -2, axis)


NEIGHBORS = {"pairing": "neighbors"}
EACH = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, -1, 2]])
OPTIONS = [
    {},
    {"base": 50, **NEIGHBORS},
    {"positions": EACH},
    {"positions": EACH, **NEIGHBORS},
    {"positions": EACH[1:], "attention_factor": 1.5, "frequencies": [1.0, 0.3, 0.1]},
    {"positions": RNG.random((5, 2)), "frequencies": RNG.random((2, 3)), "first": 2, **NEIGHBORS},
    {"positions": np.array([3, 4, 5]), "seq_dim": 1},
    {"positions": EACH[:1, :3], "seq_dim": 1, "first": 4},
    {"positions": np.array([8, 9]), "seq_dim": 0},
]


@LIBRARIES
@pytest.mark.parametrize("options", OPTIONS)
def test_rotations_are_as_defined(library, options):
    x = RNG.normal(size=(2, 3, 5, 8))
    expected = defined(x, **options)
    for kind in (np.float64, np.float32):
        odd = np.concatenate((x, x[..., :1]), axis=-1).astype(kind)[..., :8]
        for rows in (x.astype(kind), odd):  # whose strides rule torch's complex numbers out
            found = np.asarray(call(library, "rotate_pairs", x=rows, **options))
            assert (found.dtype, found.shape) == (kind, x.shape)
            np.testing.assert_allclose(found, expected, rtol=0, atol=12 * np.finfo(kind).eps)


@LIBRARIES
def test_turns_are_made_once_in_the_dtype_asked(library):
    x, k = RNG.normal(size=(5, 8)), np.arange(5)
    kind = np.float64 if library is posenc else torch.float64
    turns = call(library, "rotary_turns", positions=k, d_model=8, base=50, dtype=kind)
    found = call(library, "rotate_pairs", x=x, turns=turns)
    np.testing.assert_array_equal(found, call(library, "rotate_pairs", x=x, base=50))
    once = call(library, "rotary_turns", positions=k, d_model=8)
    usual = call(library, "rotary_turns", positions=k, d_model=8, base=10_000)
    assert all(map(np.array_equal, once, usual))
    assert np.asarray(once[0]).dtype == (np.float64 if library is posenc else np.float32)


def test_slopes_and_bias(request):
    between = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx([2**-h for h in range(1, 9)] + between)
    request.addfinalizer(lambda: torch.set_default_dtype(torch.float32))
    torch.set_default_dtype(torch.float64)
    for heads in (1, 3, 12):
        assert torch.equal(nn.alibi_slopes(heads), torch.from_numpy(alibi_slopes(heads)))
    assert alibi_slopes(3).dtype == np.float32
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


X, ONE = np.ones((2, 4)), rotary_turns([7], 4)
WRONG = [  # arguments of `rotate_pairs` beside x, in both libraries
    ({"x": X[0]}, ValueError, r"^x must have at least 2 dimensions, got shape \(4,\)"),
    ({"x": X[:, 1:]}, ValueError, "^d_model must be even"),
    ({"pairing": "thirds"}, ValueError, "^pairing must be 'halves' or 'neighbors'"),
    ({"seq_dim": -1}, ValueError, "^seq_dim must be .* not the last, got -1"),
    ({"first": 4}, ValueError, "^first must be .* dimension of x, below 4, got"),
    ({"first": 1}, ValueError, "^first must be even and a dim.* of x, .* got 1"),
    ({"positions": np.array([0, np.nan])}, ValueError, "^positions must be finite, got "),
    ({"positions": X[0] > 0}, TypeError, "^positions must .*real numbers.*"),
    ({"x": X[None], "positions": X}, ValueError, r"\(2,\), \(1, 2\) or .* got \(2, 4\)"),
    ({"attention_factor": 0}, ValueError, "^attention_factor must be positive"),
    ({"attention_factor": "1"}, TypeError, "^attention_factor must be a real"),
    ({"frequencies": X[0] > 0}, TypeError, "^frequencies must "),
    ({"frequencies": [np.inf]}, ValueError, "^frequencies must be finite"),
    ({"frequencies": X[0]}, ValueError, "^frequencies must have at most 2 pairs, got 4"),
    ({"frequencies": X[0, :0]}, ValueError, "^freq.* at least 1 pair, got"),
    ({"frequencies": np.ones((3, 1))}, ValueError, "a coordinate for each of 3 axes, got"),
    ({"frequencies": X[0, :2], "base": 9}, ValueError, "^base .* with frequencies"),
    ({"positions": X[0], "turns": (X, X)}, ValueError, "^positions .* which include it$"),
    ({"base": 9, "turns": (X, X)}, ValueError, "^base must not be given with turns"),
    ({"turns": ONE}, ValueError, r"shape \(2,\), \(1, 2\) or .* got \(1,\)"),
    ({"turns": (X, X[0])}, ValueError, "^turns must be two of one shape"),
    ({"turns": ([1], [2])}, TypeError, "^turns must be rotary_turns' pair of (ndarray|Tensor)"),
    ({"turns": X}, TypeError, "^turns must be rotary_turns' pair"),
    ({"first": 2, "turns": (X, X)}, ValueError, "at most 1 pairs .* 2 of 4, got"),
]


@LIBRARIES
@pytest.mark.parametrize(("options", "error", "words"), WRONG)
def test_wrong_arguments_are_refused(library, options, error, words):
    with pytest.raises(error, match=words):
        call(library, "rotate_pairs", **{"x": X} | options)


T = torch.ones(2, 4)
JAGGED = torch.nested.nested_tensor([T, T[:1]], layout=torch.jagged)
BAD = [
    (lambda: rotate_pairs([[1, 2]]), TypeError, "^x must hold floating-point numbers, got int"),
    (
        lambda: nn.rotate_pairs(T.long()),
        TypeError,
        "^x must be a floating-point tensor, got one of",
    ),
    (lambda: nn.rotate_pairs(X), TypeError, "^x must be a floating-point tensor, got array"),
    (lambda: nn.rotate_pairs(JAGGED), TypeError, r"^x must be a dense .*: pass x.values\(\)"),
    (lambda: nn.rotate_pairs(T, dtype="half"), TypeError, "^dtype must be a floating-point type"),
    (lambda: rotary_turns([1.0]), ValueError, "^d_model or frequencies must be given$"),
    (lambda: nn.rotary_turns(T[0]), ValueError, "^d_model or frequencies must be given$"),
    (lambda: rotary_turns([1], 4, dtype=int), TypeError, "^dtype must be a floating-point type"),
    (lambda: nn.alibi_slopes(0), ValueError, "^n_heads must be at least 1"),
    (lambda: t5_buckets([0.5]), TypeError, "^offsets must hold whole numbers"),
    (lambda: t5_buckets([1], n_buckets=6), ValueError, "^n_buckets must be a multiple of 4, got 6"),
    (lambda: t5_buckets([1], max_distance=8), ValueError, "^max_distance must be at least 9"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), BAD)
def test_bad_input_is_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


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
