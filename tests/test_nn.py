"""The torch module and functions: what the laws in `test_checks` don't cover, and every error."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import angular_frequencies, nn, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding as Layer
from posenc.nn import alibi_slopes, rotate_pairs


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_buffer_and_dropout():
    layer = Layer(64, dropout=0.5)
    assert (list(layer.parameters()), layer.state_dict(), layer.pe.shape) == ([], {}, (5000, 64))
    assert Layer(64).dropout.p == 0.1
    table = sinusoidal_encoding(20, 8, base=99)
    np.testing.assert_array_equal(Layer(8, 20, base=99).pe, table)
    Layer(8, base=99).load_state_dict({"pe": torch.from_numpy(table)})
    torch.manual_seed(0)
    x = torch.full((2, 50, 64), 3.0)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()


@pytest.mark.parametrize("batch_first", [True, False])
def test_rows_are_added_to_each_text(batch_first):
    layer, table = Layer(8, dropout=0.0, batch_first=batch_first), Layer(8).pe
    x, where = random(3, 5, 8), torch.arange(15).reshape(3, 5)
    for positions in (None, where[1], where[:1], where):
        out = layer(x if batch_first else x.transpose(0, 1), positions)
        rows = table[where[0] if positions is None else positions]
        torch.testing.assert_close(out if batch_first else out.transpose(0, 1), x + rows)


def test_a_cast_layer_keeps_its_digits_and_gives_one_answer():
    x, where = torch.zeros(1, 300, 8), torch.arange(300)
    layer = Layer(8, max_len=300, dropout=0.0, base=50)
    exact = sinusoidal_encoding(300, 8, base=50, dtype=np.float64)
    for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        cast = layer.to(kind)
        np.testing.assert_array_equal(cast.pe.numpy(), exact.astype(cast.pe.numpy().dtype))
        assert cast.pe.dtype == (kind if kind == torch.float64 else torch.float32)
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            whole = cast(x.to(dtype))
            assert whole.dtype == dtype
            torch.testing.assert_close(cast(x.to(dtype), where), whole, rtol=0, atol=2e-13)


class NoFloat64(TorchDispatchMode):
    """Makes the meta device stand in for one without float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in torch.utils._pytree.tree_leaves(out):
            if isinstance(each, torch.Tensor) and each.is_meta and each.dtype == torch.float64:
                raise TypeError("this device has no float64")
        return out


def test_devices(request):
    """The meta device, which doesn't mix with the CPU, stands in for others."""
    request.addfinalizer(nn._with_float64.cache_clear)
    x, layer = torch.zeros(2, 4, 8, device="meta"), Layer(8, dropout=0.0, device="meta")
    omega = angular_frequencies(8)
    there = torch.arange(4, device="meta")
    assert layer(x, there).device == rotate_pairs(x, there, frequencies=omega).device == x.device
    nn._with_float64.cache_clear()
    with NoFloat64():
        for positions in (None, torch.arange(4)):
            assert layer(x, positions).device == x.device
            turned = rotate_pairs(x, positions, frequencies=omega)
            assert (turned.device, turned.dtype) == (x.device, torch.float32)


@pytest.mark.parametrize("pairing", ["halves", "neighbors"])
def test_products_in_float32_are_rounded_once(pairing):
    x = random(64, 128, 64).bfloat16()
    exact = rotate_pairs(x.double(), pairing=pairing)
    once = rotate_pairs(x.float(), pairing=pairing).bfloat16()
    found = rotate_pairs(x, pairing=pairing, dtype=torch.float32)
    off, least = ((each.double() - exact).norm() for each in (found, once))
    assert found.dtype == torch.bfloat16
    assert off <= 1.05 * least < 1.5 * (rotate_pairs(x, pairing=pairing) - exact).norm()


@pytest.mark.parametrize("pairing", ["halves", "neighbors"])
def test_what_is_traced_is_computed_the_same(pairing, monkeypatch):
    x, k = random(5, 8).double(), torch.arange(5) / 3
    found = rotate_pairs(x, k, pairing=pairing)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.testing.assert_close(rotate_pairs(x, k, pairing=pairing), found, rtol=0, atol=1e-14)
    assert rotate_pairs(x, k / 0).isnan().any()  # values can't be looked at


def test_the_conventions_of_torch_s_modules():
    layer = Layer(8, 10, device="meta", dtype=torch.float64)
    assert (layer.pe.device.type, layer.pe.dtype) == ("meta", torch.float64)
    assert repr(layer).splitlines()[1].strip() == "8, max_len=10, base=10000.0, batch_first=True"
    with torch.device("meta"):
        assert Layer(8).pe.is_meta
    assert alibi_slopes(3, device="meta").is_meta


@pytest.mark.parametrize("length", [1, 20, 70])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_an_old_checkpoint_loads_if_its_table_is_this_one(length, axis):
    old = torch.from_numpy(sinusoidal_encoding(length, 8)).bfloat16()
    old = old if axis is None else old.unsqueeze(axis)
    model = torch.nn.Sequential(Layer(8, max_len=50))
    for saved in (old.to("meta"), old):
        model.load_state_dict({"0.pe": saved})
        np.testing.assert_array_equal(model[0].pe.numpy(), sinusoidal_encoding(50, 8))
    others = [sinusoidal_encoding(20, 6), sinusoidal_encoding(20, 8, base=99), np.float32(1)]
    for wrong in (*others, np.stack([old.float()] * 2), old.float().numpy() + np.float32(0.02)):
        saved = {"0.pe": torch.as_tensor(wrong)}
        with pytest.warns(UserWarning, match=r"0.pe .* is not the table of this layer: its width"):
            assert model.load_state_dict(saved, strict=False).unexpected_keys == ["0.pe"]
        with pytest.warns(), pytest.raises(RuntimeError, match=r'Unexpected .* "0.pe"'):
            model.load_state_dict(saved)


X = torch.ones(2, 4)
BAD = [
    (lambda: Layer(8, 0), ValueError, "max_len must be at least 1, got 0"),
    (lambda: Layer(8, dropout="0"), TypeError, "^dropout must be a real number"),
    (lambda: Layer(8, dropout=1.0), ValueError, r"dropout must be in \[0, 1\), got 1.0"),
    (lambda: Layer(8, dropout=-0.1), ValueError, r"dropout must be in \[0, 1\), got -0.1"),
    (lambda: Layer(8, batch_first=1), TypeError, "batch_first must be a bool, got 1"),
    (lambda: Layer(4)(np.zeros((1, 4, 4))), TypeError, "x must be a floating-point"),
    (lambda: Layer(4)(X), ValueError, "x must have 3 dimensions"),
    (lambda: Layer(6)(X[None]), ValueError, r"width d_model = 6, got shape \(1, 2, 4\)"),
    (lambda: Layer(4)(X[None], "a"), TypeError, "^positions must be a tensor of real .* 'a'"),
    (lambda: Layer(4)(X[None], X[0]), ValueError, r"shape \(2,\), \(1, 2\) or .*, got \(4,\)"),
    (lambda: Layer(4, 1)(X[None]), ValueError, "at most max_len = 1 .* got 2: give .* or pass pos"),
]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_scripting_is_refused_in_a_sentence():
    for scripted in (rotate_pairs, Layer(4), torch.nn.Sequential(Layer(4))):
        with pytest.raises(TypeError, match=r"^posenc.nn can't be scripted: use torch.compile"):
            torch.jit.script(scripted)


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
