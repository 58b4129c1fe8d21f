"""Rotations and the layer where the checks don't look: options, casts, checkpoints, errors.

`specimens` has `rotate_pairs` and the layer, which pass all laws: batches, positions of each
sequence, half precision, gradients, compilation. Biases are proven there, too, and by the examples
of their docstrings. Arrays and tensors are turned by other code, which is unlikely to err alike.
Chapters 7, 13 and 16 hold dropout, half precision and checkpoints of the layer.
"""

import inspect
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import posenc
from posenc import nn, rotate_pairs
from posenc.nn import SinusoidalPositionalEncoding as Layer

close = partial(np.testing.assert_allclose, rtol=0, atol=1e-14)

# (batch, seq_len, heads, d_model)
X = torch.linspace(-2, 2, 240, dtype=torch.float64).reshape(2, 5, 3, 8)
PART = torch.tensor([1.0, 0.3, 0.1])  # of four pairs; one doesn't turn
OPTIONS = {
    "frequencies": torch.stack([PART, PART.flip(0)]),  # (axes, pairs)
    "positions": torch.arange(10).reshape(5, 2),  # (seq_len, axes)
    "first": 2,
    "seq_dim": 1,
}


@pytest.mark.parametrize("pairing", ["halves", "neighbors"])
def test_tensors_turn_as_arrays_do(pairing):
    options = OPTIONS | {"pairing": pairing}
    expected = rotate_pairs(X.numpy(), **options)
    close(nn.rotate_pairs(X, **options), expected)


def test_a_layer_that_was_cast_has_all_digits_again():
    layer = Layer(8, max_len=300).bfloat16().double()
    exact = posenc.sinusoidal_encoding(300, 8, dtype=np.float64)
    close(layer.pe, exact)


class NoFloat64(TorchDispatchMode):
    """Makes the meta device stand in for one without float64, as Apple's is."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.is_meta and out.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return out


def test_devices_without_float64_are_served():
    x = torch.zeros(2, 4, 8, device="meta")
    layer = Layer(8, device="meta")
    with NoFloat64():
        assert nn.rotate_pairs(x).is_meta
        assert layer(x, torch.arange(4)).is_meta


def test_a_checkpoint_s_table_is_reported_if_it_is_another_one():
    layer = Layer(8)
    # As old versions saved it, for another length, and rounded.
    layer.load_state_dict({"pe": layer.pe[:70].bfloat16()})
    # Of another base or layout, and of another width
    for other in layer.pe + 0.02, layer.pe[:, :6]:
        with pytest.warns(UserWarning, match="is not the table of this layer"):
            keys = layer.load_state_dict({"pe": other}, strict=False)
        assert keys.unexpected_keys == ["pe"]


CALLS = {  # functions, with right arguments
    posenc.sinusoidal_encoding: [3, 8],
    posenc.binary_encoding: [3, 2],
    posenc.rotary_frequencies: [8],
    rotate_pairs: [X.numpy()],
    posenc.alibi_bias: [8, 3],
    posenc.t5_buckets: [[3]],
    nn.rotate_pairs: [X],
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


# What people write, by what they are told.
frequencies = partial(posenc.rotary_frequencies, 8, base=100)
MISTAKES = {
    "^scaling needs the field 'factor'$": lambda: frequencies(
        scaling={"rope_type": "linear"}
    ),
    "full, sliding: pass one of them$": lambda: frequencies(
        scaling={"full": {}, "sliding": {}}
    ),
    "^base must be finite": lambda: posenc.rotary_frequencies(8, base=10**400),
    "500000, but base is 100": lambda: frequencies(scaling={"rope_theta": 5e5}),
    "even number .* got 3 of 8": lambda: frequencies(
        scaling={"partial_rotary_factor": 0.4}
    ),
    "^frequencies .*: unpack it": lambda: nn.rotate_pairs(X, frequencies=frequencies()),
    r"^turns must .* \(5, 4\) and \(4, 5\)$": lambda: nn.rotate_pairs(
        X, turns=(torch.ones(5, 4), torch.ones(4, 5)), seq_dim=1
    ),
    r"^turns must .* \(\) and \(\)$": lambda: rotate_pairs(
        X.numpy(), turns=(np.array(1.0), np.array(0.0))
    ),
    "Pass seq_dim=1$": lambda: rotate_pairs(X.numpy(), range(5)),
    "^keys must be a 1-D array": lambda: posenc.alibi_bias(2, 3, 5),
}


@pytest.mark.parametrize(("words", "call"), MISTAKES.items())
def test_a_mistake_is_told_with_its_cure(words, call):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
