"""The torch module and functions."""

import math

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import (
    angular_frequencies,
    nn,
    rotary_frequencies,
    shift_matrix,
    sinusoidal_encoding,
)
from posenc.nn import SinusoidalPositionalEncoding, alibi_slopes, rotary_turns, rotate_pairs


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_adds_the_table():
    layer = SinusoidalPositionalEncoding(6, max_len=10, dropout=0.0)
    x = random(3, 7, 6)
    expected = x + torch.from_numpy(sinusoidal_encoding(7, 6))
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=0)


def test_batch_second():
    first = SinusoidalPositionalEncoding(6, dropout=0.0)
    second = SinusoidalPositionalEncoding(6, dropout=0.0, batch_first=False)
    x = random(3, 7, 6)
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
    says = "x .* at most max_len = 5 positions, got 6: give the layer a larger max_len, or pass pos"
    with pytest.raises(ValueError, match=says):
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


INTEGERS = torch.full((2, 2), 10)
NO_TENSORS = [
    (lambda: SinusoidalPositionalEncoding(6)(torch.zeros(1, 4, 6).long()), "x .* torch.int64"),
    (lambda: SinusoidalPositionalEncoding(6)(np.zeros((1, 4, 6))), "x must be a floating-point"),
    (lambda: rotate_pairs(INTEGERS), "x must be a floating-point tensor, got one of torch.int64"),
    (lambda: rotate_pairs(torch.ones(2, 2), "a"), "positions must be a tensor .* 'a'"),
    (lambda: rotate_pairs(torch.ones(2, 2), torch.ones(2) > 0), "positions .* torch.bool"),
    (
        lambda: rotate_pairs(torch.ones(2, 2), frequencies=torch.ones(1) > 0),
        "frequencies must be a float",
    ),
    (lambda: rotate_pairs(torch.ones(2, 2), attention_factor="1"), "attention_factor must be"),
]


@pytest.mark.parametrize(("call", "message"), NO_TENSORS)
def test_what_is_no_tensor_of_numbers(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("x", "positions", "message"),
    [
        (torch.zeros(4, 6), None, "x must have 3 dimensions"),
        (torch.zeros(1, 4, 8), None, "width d_model = 6"),
        (torch.zeros(2, 4, 6), torch.arange(3), r"shape \(4,\) or \(2, 4\), got \(3,\)"),
    ],
)
def test_bad_input(x, positions, message):
    with pytest.raises(ValueError, match=message):
        SinusoidalPositionalEncoding(6)(x, positions)


def test_a_cast_layer_keeps_its_digits_and_gives_one_answer():
    expected = sinusoidal_encoding(300, 8)
    x, where = torch.zeros(1, 300, 8), torch.arange(300)
    layer = SinusoidalPositionalEncoding(8, max_len=300, dropout=0.0)
    for cast in (layer.bfloat16(), layer.half(), layer.float(), layer.double()):
        np.testing.assert_array_equal(cast.pe.float().numpy(), expected)
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            whole = cast(x.to(dtype))
            torch.testing.assert_close(cast(x.to(dtype), where), whole, rtol=0, atol=2e-13)
    exact = sinusoidal_encoding(300, 8, dtype=np.float64)
    np.testing.assert_array_equal(layer.double().pe.numpy(), exact)


def test_made_on_meta_and_filled_later():
    with torch.device("meta"):
        model = torch.nn.Sequential(SinusoidalPositionalEncoding(8, max_len=20))
    assert model.to("meta")[0].pe.is_meta
    filled = model.to_empty(device="cpu")[0]
    np.testing.assert_array_equal(filled.pe.numpy(), sinusoidal_encoding(20, 8))
    filled.pe = torch.full_like(filled.pe, torch.nan)  # as a framework may replace it
    filled.reset_parameters()
    np.testing.assert_array_equal(filled.pe.numpy(), sinusoidal_encoding(20, 8))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "d_model must be given, or frequencies"),
        ({"frequencies": torch.ones(2, 4)}, "a coordinate for each of 2 axes, got shape"),
    ],
)
def test_turns_that_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        rotary_turns(torch.arange(5), **given)


class NoFloat64(TorchDispatchMode):
    """As on a device that has no float64, which the meta device plays here."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in torch.utils._pytree.tree_leaves(out):
            if isinstance(each, torch.Tensor) and each.is_meta and each.dtype == torch.float64:
                raise TypeError("this device has no float64")
        return out


def test_a_device_without_float64(monkeypatch):
    monkeypatch.setattr(nn, "_NO_FLOAT64", {"meta"})
    x = torch.zeros(2, 4, 8, device="meta")
    layer = SinusoidalPositionalEncoding(8, dropout=0.0).to("meta")
    omega = angular_frequencies(8)
    with NoFloat64():
        for positions in (None, torch.arange(4)):
            assert layer(x, positions).device == x.device
            assert rotate_pairs(x, positions, frequencies=omega).dtype == torch.float32
        with pytest.raises(TypeError, match="no float64"):
            x.double()


def test_turns_are_computed_once_for_all_layers():
    class Count(TorchDispatchMode):
        cosines = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.cosines += func is torch.ops.aten.cos.default
            return func(*args, **(kwargs or {}))

    q, k = random(2, 2, 3, 5, 8)
    where = torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 2]])
    with Count() as count:
        turns = rotary_turns(where, 8)
        turned = [rotate_pairs(each, turns=turns) for each in (q, k)]
    assert count.cosines == 1
    for each, found in zip((q, k), turned, strict=True):
        assert torch.equal(found, rotate_pairs(each, where))


@pytest.mark.parametrize("layout", ["neighbors", "halves"])
def test_rotary_scores_depend_on_the_offset_alone(layout):
    query, key = random(2, 1, 16).double()
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
    x = random(1, 8).double()
    turned = rotate_pairs(x, torch.tensor([3]), base=50)[0].numpy()
    np.testing.assert_allclose(turned, shift_matrix(-3, 8, base=50) @ x[0].numpy(), atol=1e-14)


def test_rotary_layouts_differ_by_a_permutation():
    x = random(2, 5, 8)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    halves = rotate_pairs(x[..., order], layout="halves")
    torch.testing.assert_close(rotate_pairs(x)[..., order], halves, rtol=0, atol=0)


def test_rotary_default_positions_and_dtype():
    x = random(2, 5, 8).to(torch.bfloat16)
    turned = rotate_pairs(x)
    assert turned.dtype == torch.bfloat16
    assert torch.equal(turned, rotate_pairs(x, torch.arange(5)))
    x = x.double()
    assert torch.equal(rotate_pairs(x), rotate_pairs(x, base=10_000))


def test_rotary_has_the_angles_of_float64():
    x, far = torch.ones(1, 6, dtype=torch.float64), torch.tensor([1_000_000])
    exact = torch.from_numpy(angular_frequencies(6))
    torch.testing.assert_close(
        rotate_pairs(x, far), rotate_pairs(x, far, frequencies=exact), rtol=0, atol=1e-8
    )


def test_rotary_stays_on_its_device():
    x = torch.empty(2, 5, 8, device="meta")  # a device that holds no data
    assert rotate_pairs(x).device == x.device
    assert rotate_pairs(x, frequencies=angular_frequencies(8)).device == x.device


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": torch.zeros(2, 3)}, "d_model must be even"),
        ({"x": torch.ones(4)}, r"x must have at least 2 dimensions, got shape \(4,\)"),
        ({"x": torch.ones(2, 4), "frequencies": torch.tensor(1.0)}, r"frequencies .* got \(\)"),
        ({"x": torch.ones(2, 4), "layout": "interleaved"}, "is called 'neighbors' now"),
        ({"x": torch.ones(2, 4), "attention_factor": 0}, "attention_factor must be positive"),
        (
            {"x": torch.ones(2, 4), "positions": torch.ones(2), "turns": (torch.ones(2, 2),) * 2},
            "positions must not be given beside turns",
        ),
        ({"x": torch.zeros(2, 4), "layout": "thirds"}, "layout must be 'neighbors' or 'halves'"),
        (
            {"x": torch.zeros(2, 4), "positions": torch.arange(3)},
            r"positions must have shape \(2,\), got \(3,\)",
        ),
        (
            {"x": torch.zeros(3, 2, 4), "positions": torch.zeros(2, 2)},
            r"shape \(2,\) or \(3, 2\), got \(2, 2\)",
        ),
        (
            {"x": torch.zeros(2, 4), "frequencies": torch.ones(3, 2)},
            r"positions must have shape \(2, 3\), got \(2,\)",
        ),
        ({"x": torch.zeros(2, 4), "frequencies": torch.ones(3)}, "at most 2 pairs, got 3"),
        ({"x": torch.zeros(2, 4), "frequencies": torch.ones(0)}, "1 pair at least"),
        ({"x": torch.zeros(2, 4), "frequencies": torch.ones(1, 1, 1)}, "must have shape"),
        ({"x": torch.zeros(2, 4), "base": -1}, "base must be positive"),
    ],
)
def test_rotary_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        rotate_pairs(**arguments)


def test_rotary_takes_positions_of_each_sequence():
    x = random(2, 3, 5, 8)  # batch, heads, seq_len, width
    positions = torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 2]])
    turned = rotate_pairs(x, positions)
    for row, where in enumerate(positions):
        assert torch.equal(turned[row], rotate_pairs(x[row], where))


@pytest.mark.parametrize("layout", ["neighbors", "halves"])
def test_rotary_turns_a_part(layout):
    x = random(5, 8)
    frequencies, _ = rotary_frequencies(8, scaling={"partial_rotary_factor": 0.5})
    turned = rotate_pairs(x, frequencies=frequencies, layout=layout)
    assert torch.equal(turned[:, 4:], x[:, 4:])
    assert torch.equal(turned[:, :4], rotate_pairs(x[:, :4], layout=layout))


def test_rotary_takes_frequencies_and_their_attention_factor():
    x = random(5, 8)
    frequencies, factor = rotary_frequencies(8, scaling={"rope_type": "linear", "factor": 2.0})
    halved = rotate_pairs(x, frequencies=frequencies, attention_factor=factor)
    torch.testing.assert_close(halved, rotate_pairs(x, torch.arange(5) / 2))
    torch.testing.assert_close(rotate_pairs(x, attention_factor=1.5), 1.5 * rotate_pairs(x))


def test_rotary_of_two_axes_depends_on_both_offsets_alone():
    query, key = random(2, 1, 8).double()
    frequencies = torch.zeros(2, 4)
    frequencies[0, :2] = frequencies[1, 2:] = torch.tensor([1.0, 0.1])
    where = torch.tensor([[3, 5], [10, 1]])
    scores = [
        rotate_pairs(query, start[None], frequencies=frequencies)
        @ rotate_pairs(key, (start + torch.tensor([2, 7]))[None], frequencies=frequencies).T
        for start in where
    ]
    torch.testing.assert_close(*scores)
    x = random(3, 2, 8)
    both = rotate_pairs(x, where, frequencies=frequencies)
    batch = rotate_pairs(x, where.expand(3, 2, 2), frequencies=frequencies)
    assert torch.equal(both, batch)
    first = rotate_pairs(x[..., :4], where[:, 0], base=100)
    torch.testing.assert_close(both[..., :4], first, rtol=0, atol=1e-6)


def test_positions_are_added_where_they_say():
    layer = SinusoidalPositionalEncoding(8, max_len=6, dropout=0.0)
    x = random(2, 4, 8)
    positions = torch.tensor([[0, 0, 0, 1], [2, 3, 4, 70]])
    expected = x + torch.stack(
        [torch.from_numpy(sinusoidal_encoding(row, 8)) for row in positions.tolist()]
    )
    torch.testing.assert_close(layer(x, positions), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(layer(x, torch.arange(4)), layer(x), rtol=0, atol=1e-6)
    second = SinusoidalPositionalEncoding(8, dropout=0.0, batch_first=False)
    for where in (positions, torch.arange(3, 7)):
        swapped = second(x.transpose(0, 1), where).transpose(0, 1)
        torch.testing.assert_close(swapped, layer(x, where), rtol=0, atol=0)


def test_step_by_step_equals_whole():
    layer = SinusoidalPositionalEncoding(8, dropout=0.0)
    x = random(2, 5, 8)
    steps = [layer(x[:, [k]], torch.tensor([k])) for k in range(5)]
    torch.testing.assert_close(torch.cat(steps, dim=1), layer(x), rtol=0, atol=1e-6)
    turned = [rotate_pairs(x[:, [k]], torch.tensor([k])) for k in range(5)]
    torch.testing.assert_close(torch.cat(turned, dim=1), rotate_pairs(x), rtol=0, atol=0)


def test_half_precision_keeps_far_positions_apart():
    layer = SinusoidalPositionalEncoding(64, dropout=0.0).bfloat16()
    rows = layer(torch.zeros(1, 2, 64, dtype=torch.bfloat16), torch.tensor([300, 301]))[0]
    assert (rows[0] != rows[1]).any()


@pytest.mark.parametrize("length", [1, 20, 70])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_an_old_checkpoint_loads(length, axis):
    old = torch.from_numpy(sinusoidal_encoding(length, 8)).bfloat16()
    old = old if axis is None else old.unsqueeze(axis)
    model = torch.nn.Sequential(SinusoidalPositionalEncoding(8, max_len=50))
    model.load_state_dict({"0.pe": old.to("meta")})
    model.load_state_dict({"0.pe": old})
    np.testing.assert_array_equal(model[0].pe.numpy(), sinusoidal_encoding(50, 8))
    model.load_state_dict({})


@pytest.mark.parametrize(
    "wrong",
    [
        sinusoidal_encoding(20, 6),
        sinusoidal_encoding(20, 8, base=99),
        sinusoidal_encoding(20, 8) + np.float32(0.02),
        sinusoidal_encoding(20, 8) * np.float32(1.02),
        np.stack([sinusoidal_encoding(20, 8)] * 2),
    ],
)
def test_a_checkpoint_with_another_table_is_refused(wrong):
    layer = SinusoidalPositionalEncoding(8)
    with pytest.raises(ValueError, match="is not the table of this layer: it has another width"):
        layer.load_state_dict({"pe": torch.from_numpy(wrong)})


class Model(torch.nn.Module):
    """Both ways to use positions."""

    def __init__(self):
        super().__init__()
        self.encode = SinusoidalPositionalEncoding(8, max_len=64, dropout=0.0)

    def forward(self, x, positions):
        rows = self.encode(x, positions)
        halves = rotate_pairs(rows, positions, layout="halves")
        return self.encode(x), rows, halves, rotate_pairs(rows, positions)


def test_compiles_and_exports():
    model, x = Model().eval(), random(2, 6, 8)
    compiled = torch.compile(model, fullgraph=True, backend="eager", dynamic=True)
    seq_len = torch.export.Dim("seq_len", min=2, max=64)
    exported = torch.export.export(
        model,
        (x, torch.arange(6)),
        dynamic_shapes={"x": {1: seq_len}, "positions": {0: seq_len}},
    ).module()
    for length in (6, 9):
        arguments = random(2, length, 8), torch.arange(100, 100 + length)
        for form in (compiled, exported):
            for found, expected in zip(form(*arguments), model(*arguments), strict=True):
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_alibi_slopes_are_float32_whatever_the_default():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert alibi_slopes(3).dtype == torch.float32
    finally:
        torch.set_default_dtype(before)


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
