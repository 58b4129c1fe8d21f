"""The torch module and functions."""

import math

import numpy as np
import pytest
import torch

from posenc import shift_matrix, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotate_pairs


def test_adds_the_table():
    layer = SinusoidalPositionalEncoding(6, max_len=10, dropout=0.0)
    x = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(0))
    expected = x + torch.from_numpy(sinusoidal_encoding(7, 6))
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=0)


def test_batch_second():
    first = SinusoidalPositionalEncoding(6, dropout=0.0)
    second = SinusoidalPositionalEncoding(6, dropout=0.0, batch_first=False)
    x = torch.randn(3, 7, 6, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(second(x.transpose(0, 1)), first(x).transpose(0, 1))


def test_is_a_buffer_and_not_trained():
    layer = SinusoidalPositionalEncoding(6)
    assert not list(layer.parameters())
    assert not layer.state_dict()
    assert dict(layer.named_buffers())["pe"].shape == (5000, 6)
    assert layer.double().pe.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_keeps_dtype_and_gradient(dtype):
    x = torch.zeros(1, 4, 6, dtype=dtype, requires_grad=True)
    y = SinusoidalPositionalEncoding(6, dropout=0.0)(x)
    assert y.dtype == dtype
    y.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_dropout_only_in_training():
    torch.manual_seed(0)
    layer = SinusoidalPositionalEncoding(64, dropout=0.5)
    x = torch.full((2, 50, 64), 3.0)
    dropped = (layer(x) == 0).float().mean().item()
    assert dropped == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()


def test_base_reaches_the_table():
    layer = SinusoidalPositionalEncoding(4, max_len=4, dropout=0.0, base=100)
    np.testing.assert_array_equal(layer.pe.numpy(), sinusoidal_encoding(4, 4, base=100))


def test_default_max_len_is_the_limit():
    layer = SinusoidalPositionalEncoding(2, max_len=5, dropout=0.0)
    assert layer(torch.zeros(1, 5, 2)).shape == (1, 5, 2)
    with pytest.raises(ValueError, match="x must have at most max_len = 5 positions, got 6"):
        layer(torch.zeros(1, 6, 2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"d_model": 7}, ValueError, "d_model must be even"),
        ({"d_model": 8, "max_len": 0}, ValueError, "max_len must be at least 1, got 0"),
        ({"d_model": 8, "max_len": 2.0}, TypeError, "max_len must be an int"),
        ({"d_model": 8, "dropout": 1.0}, ValueError, r"dropout must be in \[0, 1\), got 1.0"),
        ({"d_model": 8, "dropout": -0.1}, ValueError, r"dropout must be in \[0, 1\), got -0.1"),
        ({"d_model": 8, "dropout": "0"}, TypeError, "dropout must be a real number"),
        ({"d_model": 8, "base": 0}, ValueError, "base must be positive"),
        ({"d_model": 8, "batch_first": 1}, TypeError, "batch_first must be a bool, got 1"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        SinusoidalPositionalEncoding(**arguments)


@pytest.mark.parametrize(
    ("shape", "message"), [((4, 6), "x must have 3 dimensions"), ((1, 4, 8), "width d_model = 6")]
)
def test_bad_input(shape, message):
    with pytest.raises(ValueError, match=message):
        SinusoidalPositionalEncoding(6)(torch.zeros(shape))


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_rotary_scores_depend_on_the_offset_alone(layout):
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 16, generator=generator, dtype=torch.float64)
    for offset in (0, 1, 5):
        scores = [
            rotate_pairs(query, torch.tensor([k]), layout=layout)
            @ rotate_pairs(key, torch.tensor([k + offset]), layout=layout).T
            for k in (0, 3, 40)
        ]
        torch.testing.assert_close(scores[0], scores[1])
        torch.testing.assert_close(scores[0], scores[2])


def test_rotary_turns_like_the_shift_matrix():
    # The shift matrix turns (sin, cos) by its offset; rotary turns (x, y) the other way round.
    x = torch.randn(1, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = rotate_pairs(x, torch.tensor([3]), base=50)[0].numpy()
    np.testing.assert_allclose(turned, shift_matrix(-3, 8, base=50) @ x[0].numpy(), atol=1e-14)


def test_rotary_layouts_differ_by_a_permutation():
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    halves = rotate_pairs(x[..., order], layout="halves")
    torch.testing.assert_close(rotate_pairs(x)[..., order], halves, rtol=0, atol=0)


def test_rotary_default_positions_and_dtype():
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    turned = rotate_pairs(x)
    assert turned.dtype == torch.bfloat16
    assert torch.equal(turned, rotate_pairs(x, torch.arange(5)))
    x = x.double()
    assert torch.equal(rotate_pairs(x), rotate_pairs(x, base=10_000))


def test_rotary_stays_on_its_device():
    x = torch.empty(2, 5, 8, device="meta")  # a device that holds no data
    assert rotate_pairs(x).device == x.device


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": torch.zeros(2, 3)}, "d_model must be even"),
        ({"x": torch.zeros(2, 4), "layout": "thirds"}, "layout must be 'interleaved' or 'halves'"),
        (
            {"x": torch.zeros(2, 4), "positions": torch.arange(3)},
            r"positions must have shape \(2,\)",
        ),
        ({"x": torch.zeros(2, 4), "base": -1}, "base must be positive"),
    ],
)
def test_rotary_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        rotate_pairs(**arguments)


def test_alibi_slopes_of_powers_of_two():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert alibi_slopes(1).tolist() == [2.0**-8]


def test_alibi_slopes_in_between():
    expected = [2.0 ** -(8 * h / 8) for h in range(1, 9)]
    expected += [2.0 ** -(8 * h / 16) for h in (1, 3, 5, 7)]
    np.testing.assert_allclose(alibi_slopes(12), expected, rtol=1e-6)
    assert math.isclose(alibi_slopes(3)[2], 2.0**-2, rel_tol=1e-6)


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (2.0, TypeError), (True, TypeError)])
def test_alibi_bad_input(n, error):
    with pytest.raises(error, match=r"^n_heads"):
        alibi_slopes(n)
