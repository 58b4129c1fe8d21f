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

X = RNG.normal(size=(2, 5, 3, 8))  # (batch, seq_len, heads, d_model)
PLACES = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, -1, 2]])
PART = np.array([1.0, 0.3, 0.1])
OPTIONS = [
    {
        "base": 16.0,
        "attention_factor": 1.5,
    },
    {"positions": PLACES},
    {
        "frequencies": PART,
        "first": 2,
    },
    {
        "frequencies": RNG.random((2, 3)),
        "positions": RNG.random((5, 2)),
    },
]


@PAIRINGS
@pytest.mark.parametrize("options", OPTIONS)
def test_tensors_turn_as_arrays_do(options, pairing):
    options = options | {"pairing": pairing, "seq_dim": 1}
    expected = rotate_pairs(X, **options)
    for name in options.keys() & {"frequencies", "positions"}:
        options[name] = torch.from_numpy(options[name])
    x = torch.from_numpy(X)
    close(nn.rotate_pairs(x, **options), expected)
    compiled = torch.compile(nn.rotate_pairs, backend="eager", fullgraph=True)
    close(compiled(x, **options), expected)


@PAIRINGS
def test_what_turns_by_which_positions(pairing):
    turn = partial(rotate_pairs, pairing=pairing, seq_dim=1)
    close(turn(X, PLACES)[1], rotate_pairs(X[1], PLACES[1], pairing=pairing, seq_dim=0))
    part = turn(X, frequencies=PART, first=2)
    close(part[..., :2], X[..., :2])
    close(part[..., 2:], turn(X[..., 2:], frequencies=PART))
    close(turn(X, attention_factor=1.5), 1.5 * turn(X))


@PAIRINGS
def test_half_precision_is_rounded_once(pairing):
    x = torch.from_numpy(RNG.normal(size=(64, 128, 64))).bfloat16()
    exact = nn.rotate_pairs(x.double(), pairing=pairing)
    turned = nn.rotate_pairs(x, pairing=pairing, dtype=torch.float32)
    least = exact.bfloat16().double() - exact
    assert turned.dtype == torch.bfloat16
    assert (turned.double() - exact).norm() <= 1.05 * least.norm()


def test_a_bias_is_slope_times_distance():
    distance = np.abs(np.subtract.outer([4, 5], range(6)))
    expected = -distance * alibi_slopes(3)[:, None, None]
    close(alibi_bias(3, [4, 5], range(6)), expected)


def test_buckets_widen_and_share_the_last_one():
    least, most = -(2**63), 2**63 - 1
    offsets = [least, -91, -90, -16, -15, -7, 0, 7, 8, most]
    assert t5_buckets(offsets).tolist() == [15, 15, 14, 10, 9, 7, 0, 23, 24, 31]
    offsets = [least, -113, -112, -16, -15, 0, 8, most]
    behind = t5_buckets(offsets, bidirectional=False)
    assert behind.tolist() == [31, 31, 30, 16, 15, 0, 0, 0]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_layer_adds_rows_along_the_sequence(axis):
    layer = Layer(8, dropout=0.0, batch_first=axis == 0)
    x = torch.randn(2, 3, 8)
    given = x.transpose(0, axis)
    close(layer(given).transpose(0, axis), x + layer.pe[:3])
    for rows in ([0, 1, 2], [[4, 0, 2]], [[4, 0, 2], [1, 1, 3]]):
        k = torch.tensor(rows)
        y = layer(given, k).transpose(0, axis)
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
    bound = 1e-13 if kind == torch.float64 else 3.1e-8
    close(layer.pe[:300], exact, atol=bound)
    y = layer(torch.zeros(1, 300, 8).double(), torch.arange(300))
    close(y[0], exact, atol=bound)


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
    for wrong in (old + 0.02, old[:, :6]):
        with pytest.warns(UserWarning, match="is not the table of this layer"):
            keys = model.load_state_dict({"0.pe": wrong}, strict=False)
        assert keys.unexpected_keys == ["0.pe"]
    assert torch.equal(model[0].pe, before)


T = torch.ones(2, 4)
CALLS = {  # functions, with right arguments
    posenc.sinusoidal_encoding: [3, 8],
    posenc.binary_encoding: [3, 2],
    posenc.rotary_frequencies: [8],
    rotate_pairs: [T.numpy()],
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


# Both numbers that `rotary_frequencies` returns, for one of them.
WHOLE = partial(nn.rotate_pairs, frequencies=posenc.rotary_frequencies(4))
MISTAKES = [  # that people make, and what they are told
    (
        nn.rotate_pairs,
        [T, T[:, 0].bfloat16()],
        "bfloat16 has rounded them",
    ),
    (
        WHOLE,
        [T],
        "^frequencies .*: unpack it",
    ),
    (
        rotate_pairs,
        [X, range(5)],
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
