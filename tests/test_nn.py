"""Rotations, biases, and the layer: their definitions, in numpy and torch, and their errors."""

import inspect
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import posenc
from posenc import alibi_bias, alibi_slopes, nn, rotate_pairs, t5_buckets
from posenc.nn import SinusoidalPositionalEncoding as Layer

RNG = np.random.default_rng(0)
close = partial(np.testing.assert_allclose, rtol=0, atol=1e-14)
PAIRINGS = pytest.mark.parametrize("pairing", ["halves", "neighbors"])

WHOLE = 10_000.0 ** -(np.arange(4) / 4)
PART = np.array([1.0, 0.3, 0.1])
ROW = np.arange(5.0)[None, :, None]
EACH = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, -1, 2]])
PLACES = RNG.random((5, 2))
AXES = RNG.random((2, 3))
ROTATIONS = [  # options, and by what angles (batch, seq_len, pairs) they turn
    (
        {"base": 16.0, "attention_factor": 1.5},
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


def defined(x, angles, pairing, first=0, attention_factor=1.0):
    """Multiply pairs of x (batch, heads, seq_len, d_model) as complex numbers."""
    pairs = np.arange(angles.shape[-1])
    one, two = first + pairs, first + pairs + len(pairs)
    if pairing == "neighbors":
        one, two = first + 2 * pairs, first + 2 * pairs + 1
    z = (x[..., one] + 1j * x[..., two]) * np.exp(1j * angles)[:, None]
    out = x.copy()
    out[..., one] = attention_factor * z.real
    out[..., two] = attention_factor * z.imag
    return out


@PAIRINGS
@pytest.mark.parametrize(("options", "angles"), ROTATIONS)
def test_rotations_are_as_defined(options, angles, pairing):
    x = RNG.normal(size=(2, 3, 5, 8))
    first = options.get("first", 0)
    expected = defined(x, angles, pairing, first, options.get("attention_factor", 1.0))
    turned = rotate_pairs(x, pairing=pairing, **options)
    close(turned, expected)

    if "positions" in options:
        options = options | {"positions": torch.from_numpy(options["positions"])}
    swapped = torch.from_numpy(x).transpose(1, 2)  # (batch, seq_len, heads, d_model)
    turned = nn.rotate_pairs(swapped, pairing=pairing, seq_dim=1, **options)
    turned = turned.transpose(1, 2).numpy()
    close(turned, expected)


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
    x = torch.randn(2, 5, 8).double()
    k = torch.arange(5) / 3
    compiled = torch.compile(nn.rotate_pairs, backend="eager", fullgraph=True)
    for options in (
        {"base": 50.0},
        {"frequencies": [1.0, 0.1], "first": 4},
    ):
        turned = compiled(x, k, pairing=pairing, **options)
        expected = nn.rotate_pairs(x, k, pairing=pairing, **options)
        close(turned, expected)


def test_slopes_and_biases_are_as_defined():
    exponents = np.array([1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5])
    close(alibi_slopes(12), 0.5**exponents, rtol=1e-7)
    distance = np.abs([[4, 3, 2, 1, 0, -1], [5, 4, 3, 2, 1, 0]])
    expected = -distance * alibi_slopes(3)[:, None, None]
    close(alibi_bias(3, [4, 5], range(6)), expected)


@pytest.mark.parametrize("both", [True, False])
def test_a_bucket_counts_the_bounds_that_a_distance_has_passed(both):
    exact = 8 if both else 16
    bounds = [*range(1, exact), *exact * (128 / exact) ** (np.arange(exact) / exact)]
    distance = np.arange(256)
    expected = (distance[:, None] >= np.array(bounds) - 1e-9).sum(axis=1)
    found = t5_buckets(-distance, bidirectional=both)
    close(found, expected)
    far = t5_buckets([-(2**63), -256, 256, 2**63 - 1], bidirectional=both)
    assert far.tolist() == ([15, 15, 31, 31] if both else [31, 31, 0, 0])


@pytest.mark.parametrize("axis", [0, 1])
def test_the_layer_adds_rows_along_the_sequence(axis):
    layer = Layer(8, dropout=0.0, batch_first=axis == 0)
    x = torch.randn(2, 3, 8)
    assert torch.equal(layer(x.transpose(0, axis)).transpose(0, axis), x + layer.pe[:3])
    for rows in ([0, 1, 2], [[4, 0, 2]], [[4, 0, 2], [1, 1, 3]]):
        k = torch.tensor(rows)
        y = layer(x.transpose(0, axis), k).transpose(0, axis)
        close(y, x + layer.pe[k], atol=1e-6)


def test_the_layer_has_dropout_and_no_state():
    layer = Layer(64, dropout=0.5)
    x = torch.full((2, 50, 64), 3.0)
    torch.manual_seed(0)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()
    assert not layer.state_dict()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32, torch.float64])
def test_a_cast_layer_keeps_its_digits(kind):
    layer = Layer(8, dropout=0.0).to(torch.bfloat16).to(kind)
    exact = posenc.sinusoidal_encoding(300, 8, dtype=np.float64)
    digits = 1e-13 if kind == torch.float64 else 3.1e-8
    close(layer.pe[:300], exact, atol=digits)
    y = layer(torch.zeros(1, 300, 8).double(), torch.arange(300))
    close(y[0], exact, atol=digits)


class NoFloat64(TorchDispatchMode):
    """Makes the meta device stand in for one without float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.is_meta and out.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return out


def test_devices_without_float64_are_served():
    x = torch.zeros(2, 4, 8, device="meta")
    layer = Layer(8, device="meta")
    with NoFloat64():
        assert nn.rotate_pairs(x).device == x.device
        assert layer(x, torch.arange(4)).device == x.device


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


X = np.ones((2, 4))
T = torch.ones(2, 4)
CALLS = {  # functions, with right arguments
    posenc.sinusoidal_encoding: [3, 8],
    posenc.binary_encoding: [3, 2],
    posenc.rotary_frequencies: [8],
    rotate_pairs: [X],
    alibi_bias: [8, 3],
    t5_buckets: [[3]],
    nn.rotate_pairs: [T],
    Layer: [8],
}


@pytest.mark.parametrize(("function", "right"), CALLS.items())
def test_each_argument_is_refused_by_its_name(function, right):
    signature = inspect.signature(function)
    for name in signature.parameters.keys() - {"device", "dtype", "bidirectional"}:
        for wrong in ("e", np.inf):
            arguments = signature.bind(*right).arguments | {name: wrong}
            with pytest.raises((TypeError, ValueError), match=f"^{name} must "):
                function(**arguments)


PAIR = posenc.rotary_frequencies(4)
MISTAKES = [  # that people make, and what they are told
    (
        nn.rotate_pairs,
        [T, T[:, 0].bfloat16()],
        "bfloat16 has rounded them",
    ),
    (
        partial(nn.rotate_pairs, frequencies=PAIR),
        [T],
        "^frequencies .*: unpack it",
    ),
    (
        rotate_pairs,
        [X[None, :, None], [0, 1]],
        "Pass seq_dim=1$",
    ),
    (
        rotate_pairs,
        [T.bfloat16()],
        "^x must be .*posenc.nn has functions",
    ),
    (
        nn.rotate_pairs,
        [T, T[:, 0].to("meta")],
        "^positions.* must have values",
    ),
    (
        alibi_bias,
        [2, 3, 5],
        "^keys must be a 1-D array of positions, such as",
    ),
]


@pytest.mark.parametrize(("function", "arguments", "words"), MISTAKES)
def test_a_mistake_is_named(function, arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        function(*arguments)
