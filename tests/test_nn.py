"""Rotations, biases, and the layer: their definitions, in numpy and torch, and their errors."""

import inspect

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import posenc
from posenc import alibi_bias, alibi_slopes, nn, rotary_turns, rotate_pairs, t5_buckets
from posenc.nn import SinusoidalPositionalEncoding as Layer

RNG = np.random.default_rng(0)
PAIRINGS = pytest.mark.parametrize("pairing", ["halves", "neighbors"])

WHOLE = 10_000.0 ** -(np.arange(4) / 4)
PART = np.array([1.0, 0.3, 0.1])
ROW = np.arange(5.0)[None, :, None]
EACH = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, -1, 2]])
PLACES, AXES = RNG.random((5, 2)), RNG.random((2, 3))
ROTATIONS = [  # options, and by what angles (batch, seq_len, pairs) they turn
    (
        {"base": 16.0},
        ROW * 0.5 ** np.arange(4),
    ),
    (
        {"positions": EACH},
        EACH[..., None] * WHOLE,
    ),
    (
        {"frequencies": PART, "first": 2},
        ROW * PART,
    ),
    (
        {"frequencies": AXES, "positions": PLACES},
        (PLACES @ AXES)[None],
    ),
]


def defined(x, angles, pairing, first=0):
    """Multiply pairs of x (batch, heads, seq_len, d_model) as complex numbers."""
    pairs = np.arange(angles.shape[-1])
    if pairing == "halves":
        one, two = first + pairs, first + pairs + len(pairs)
    else:
        one, two = first + 2 * pairs, first + 2 * pairs + 1
    z = (x[..., one] + 1j * x[..., two]) * np.exp(1j * angles)[:, None]
    out = x.copy()
    out[..., one], out[..., two] = z.real, z.imag
    return out


@PAIRINGS
@pytest.mark.parametrize(("options", "angles"), ROTATIONS)
def test_rotations_are_as_defined(options, angles, pairing):
    x = RNG.normal(size=(2, 3, 5, 8))
    expected = defined(x, angles, pairing, options.get("first", 0))
    turned = rotate_pairs(x, pairing=pairing, **options)
    np.testing.assert_allclose(turned, expected, rtol=0, atol=1e-14)

    if "positions" in options:
        options = options | {"positions": torch.from_numpy(options["positions"])}
    swapped = torch.from_numpy(x).transpose(1, 2)  # (batch, seq_len, heads, d_model)
    turned = nn.rotate_pairs(swapped, pairing=pairing, seq_dim=1, **options)
    turned = turned.transpose(1, 2).numpy()
    np.testing.assert_allclose(turned, expected, rtol=0, atol=1e-14)


def test_the_attention_factor_multiplies_what_turns():
    x = RNG.normal(size=(5, 8))
    turned = rotate_pairs(x, attention_factor=1.5)
    np.testing.assert_allclose(turned, 1.5 * rotate_pairs(x))
    x = torch.from_numpy(x)
    turned = nn.rotate_pairs(x, attention_factor=1.5)
    torch.testing.assert_close(turned, 1.5 * nn.rotate_pairs(x))


@PAIRINGS
def test_half_precision_is_rounded_once(pairing):
    x = torch.from_numpy(RNG.normal(size=(64, 128, 64))).bfloat16()
    exact = nn.rotate_pairs(x.double(), pairing=pairing)
    turned = nn.rotate_pairs(x, pairing=pairing, dtype=torch.float32)
    least = exact.bfloat16().double() - exact
    assert turned.dtype == torch.bfloat16
    assert (turned.double() - exact).norm() <= 1.05 * least.norm()


@PAIRINGS
def test_what_is_compiled_is_computed_the_same(pairing):
    x, k = torch.randn(2, 5, 8).double(), torch.arange(5) / 3
    compiled = torch.compile(nn.rotate_pairs, backend="eager", fullgraph=True)
    for options in ({"base": 50.0}, {"frequencies": [1.0, 0.1], "first": 4}):
        turned = compiled(x, k, pairing=pairing, **options)
        expected = nn.rotate_pairs(x, k, pairing=pairing, **options)
        torch.testing.assert_close(turned, expected, rtol=0, atol=1e-14)


def test_slopes_and_biases_are_as_defined():
    exponents = [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]
    np.testing.assert_allclose(alibi_slopes(12), 0.5 ** np.array(exponents), rtol=1e-7)
    assert torch.equal(nn.alibi_slopes(12), torch.from_numpy(alibi_slopes(12)))
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    expected = -distance * alibi_slopes(3)[:, None, None]
    np.testing.assert_array_equal(alibi_bias(3, 6), expected)
    np.testing.assert_array_equal(alibi_bias(3, [4, 5], range(6)), expected[:, 4:])


@pytest.mark.parametrize("both", [True, False])
def test_a_bucket_counts_the_bounds_that_a_distance_has_passed(both):
    exact = 8 if both else 16
    growing = exact * (128 / exact) ** (np.arange(exact) / exact)
    bounds = np.append(np.arange(1, exact), growing)
    distance = np.arange(256)
    expected = (distance[:, None] >= bounds - 1e-9).sum(axis=1)
    found = t5_buckets(-distance, bidirectional=both)
    np.testing.assert_array_equal(found, expected)
    later = expected[1:] + 16 if both else 0
    np.testing.assert_array_equal(t5_buckets(distance[1:], bidirectional=both), later)
    extremes = t5_buckets([-(2**63), 2**63 - 1], bidirectional=both)
    assert extremes.tolist() == t5_buckets([-256, 256], bidirectional=both).tolist()


@pytest.mark.parametrize("axis", [0, 1])
def test_the_layer_adds_rows_along_the_sequence(axis):
    layer = Layer(8, dropout=0.0, batch_first=axis == 0)
    x = torch.randn(2, 3, 8)
    assert torch.equal(layer(x.transpose(0, axis)).transpose(0, axis), x + layer.pe[:3])
    for rows in ([0, 1, 2], [[4, 0, 2]], [[4, 0, 2], [1, 1, 3]]):
        k = torch.tensor(rows)
        y = layer(x.transpose(0, axis), k).transpose(0, axis)
        torch.testing.assert_close(y, x + layer.pe[k], rtol=0, atol=1e-6)


def test_the_layer_has_dropout_and_no_state():
    layer = Layer(64, dropout=0.5)
    x = torch.full((2, 50, 64), 3.0)
    torch.manual_seed(0)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()
    assert not [*layer.parameters(), *layer.state_dict()]


def test_a_cast_layer_keeps_its_digits():
    layer = Layer(8, dropout=0.0)
    x = torch.zeros(1, 300, 8)
    exact = posenc.sinusoidal_encoding(300, 8, dtype=np.float64)
    for kind in (torch.bfloat16, torch.float32, torch.float64):
        y = layer.to(kind)(x.double(), torch.arange(300))
        digits = 1e-13 if kind == torch.float64 else 3.1e-8
        np.testing.assert_allclose(y[0], exact, rtol=0, atol=digits)
        np.testing.assert_allclose(layer.pe[:300], exact, rtol=0, atol=digits)
        assert layer(x.to(kind)).dtype == kind


class NoFloat64(TorchDispatchMode):
    """Makes the meta device stand in for one without float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.is_meta and out.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return out


def test_devices_without_float64_are_served():
    x, layer = torch.zeros(2, 4, 8, device="meta"), Layer(8, device="meta")
    with NoFloat64():
        for k in (None, torch.arange(4)):
            assert nn.rotate_pairs(x, k).device == layer(x, k).device == x.device


@pytest.mark.parametrize("length", [1, 20, 70])
def test_an_old_checkpoint_loads_if_its_table_is_this_one(length):
    old = torch.from_numpy(posenc.sinusoidal_encoding(length, 8))
    model = torch.nn.Sequential(Layer(8, max_len=50))
    before = model[0].pe.clone()
    for saved in (old.bfloat16(), old[:, None], old.to("meta")):
        model.load_state_dict({"0.pe": saved})
        assert torch.equal(model[0].pe, before)
    for wrong in (old + 0.02, old[:, :6]):
        with pytest.warns(UserWarning, match="is not the table of this layer"):
            keys = model.load_state_dict({"0.pe": wrong}, strict=False)
        assert keys.unexpected_keys == ["0.pe"]


X, T = np.ones((2, 4)), torch.ones(2, 4)
CALLS = [
    (
        posenc.sinusoidal_encoding,
        [3, 8],
    ),
    (
        posenc.shift_matrix,
        [3, 8],
    ),
    (
        posenc.offset_kernel,
        [[3], 8],
    ),
    (
        posenc.binary_encoding,
        [3, 2],
    ),
    (
        posenc.rotary_frequencies,
        [8],
    ),
    (
        rotary_turns,
        [[3], 8],
    ),
    (
        rotate_pairs,
        [X],
    ),
    (
        alibi_bias,
        [8, 3],
    ),
    (
        t5_buckets,
        [[3]],
    ),
    (
        nn.rotate_pairs,
        [T],
    ),
    (
        Layer,
        [8],
    ),
]


@pytest.mark.parametrize(("function", "right"), CALLS)
def test_each_argument_is_refused_by_its_name(function, right):
    signature = inspect.signature(function)
    for name in signature.parameters.keys() - {"device", "dtype", "bidirectional"}:
        for wrong in ("e", np.inf):
            arguments = signature.bind(*right).arguments | {name: wrong}
            with pytest.raises((TypeError, ValueError), match=f"^{name} must "):
                function(**arguments)


UNPACKED = posenc.rotary_frequencies(4)
MISTAKES = [  # that people make, and what they are told
    (
        lambda: rotate_pairs(X, np.array([0, 1], "f2")),
        "float16 has rounded them",
    ),
    (
        lambda: nn.rotate_pairs(T, T[:, 0].bfloat16()),
        "bfloat16 has rounded them",
    ),
    (
        lambda: nn.rotate_pairs(T, frequencies=UNPACKED),
        "^frequencies .*: unpack it",
    ),
    (
        lambda: rotate_pairs(X[None, :, None], [0, 1]),
        "Pass seq_dim=1$",
    ),
    (
        lambda: rotate_pairs(T.bfloat16()),
        "^x must be .*posenc.nn has functions",
    ),
    (
        lambda: nn.rotate_pairs(T.to(torch.float8_e5m2)),
        "^x must be floating-point",
    ),
    (
        lambda: nn.rotate_pairs(T, T[:, 0].to("meta")),
        "^positions.* must have values",
    ),
    (
        lambda: alibi_bias(2, 3, 5),
        "^keys must be a 1-D array of positions, such as",
    ),
]


@pytest.mark.parametrize(("mistake", "words"), MISTAKES)
def test_a_mistake_is_named(mistake, words):
    with pytest.raises((TypeError, ValueError), match=words):
        mistake()
