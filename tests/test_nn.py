"""The torch module and functions: laws, what no law asks, and every error."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posenc import angular_frequencies, checks, nn, rotary_frequencies, sinusoidal_encoding
from posenc.nn import SinusoidalPositionalEncoding as Layer
from posenc.nn import alibi_slopes, rotary_turns, rotate_pairs

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
STRETCHED, TEMPERATURE = rotary_frequencies(16, scaling=YARN)
AXES = np.kron(np.eye(2), rotary_frequencies(8, base=100)[0])
SOME = angular_frequencies(8)


def once(x, positions):
    return rotate_pairs(x, turns=rotary_turns(positions, x.shape[-1], base=50))


def penalty(seq_len):
    where = torch.arange(seq_len)
    return -alibi_slopes(12)[:, None, None] * (where[:, None] - where).abs()


YARN_TURNS = {"frequencies": STRETCHED, "attention_factor": TEMPERATURE}
# name: what is checked, and options of the check
RIGHT = {
    "layer": (Layer, {"base": 10_000, "convention": "paper"}),
    "layer, batch second": (partial(Layer, base=100, batch_first=False), {"base": 100}),
    "neighbors": (rotate_pairs, {"convention": "rotary, neighbors"}),
    "halves": (partial(rotate_pairs, layout="halves"), {"convention": "rotary, halves"}),
    "turns, made once": (once, {"base": 50}),
    "a part": (partial(rotate_pairs, frequencies=SOME), {"frequencies": SOME, "widths": [32]}),
    "YaRN": (partial(rotate_pairs, layout="halves", **YARN_TURNS), YARN_TURNS | {"widths": [16]}),
    "two axes": (
        partial(rotate_pairs, frequencies=AXES),
        {"frequencies": AXES, "axes": [0] * 4 + [1] * 4, "widths": [16]},
    ),
    "ALiBi": (penalty, {}),
}


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def checked(name, laws):
    """The report of those laws that a function chooses."""
    subject, options = RIGHT[name]
    kind = "module" if name.startswith("layer") else checks.kind_of(subject)
    return checks.check(subject, kind, laws=laws(checks.laws_of(kind)), **options)


@pytest.mark.parametrize("name", RIGHT)
def test_the_laws_hold(name):
    report = checked(name, lambda laws: [law for law in laws if law != "compile"])
    report.raise_if_failed()
    silent = {"axes", "convention"} - RIGHT[name][1].keys()
    if not name.startswith("layer"):  # a function isn't cast, and has no buffer
        silent |= {"cast", "meta"}
    assert {row.law for row in report.rows if row.status == "skipped"} <= silent


def test_buffer_and_dropout():
    layer = Layer(64, dropout=0.5)
    assert (list(layer.parameters()), layer.state_dict(), layer.pe.shape) == ([], {}, (5000, 64))
    assert Layer(64).dropout.p == 0.1
    torch.manual_seed(0)
    x = torch.full((2, 50, 64), 3.0)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()


def test_a_cast_layer_keeps_its_digits_and_gives_one_answer():
    x, where = torch.zeros(1, 300, 8), torch.arange(300)
    layer = Layer(8, max_len=300, dropout=0.0)
    for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        cast = layer.to(kind)
        np.testing.assert_array_equal(cast.pe.float().numpy(), sinusoidal_encoding(300, 8))
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            whole = cast(x.to(dtype))
            assert whole.dtype == dtype
            torch.testing.assert_close(cast(x.to(dtype), where), whole, rtol=0, atol=2e-13)
    exact = sinusoidal_encoding(300, 8, dtype=np.float64)
    np.testing.assert_array_equal(layer.double().pe.numpy(), exact)


def test_made_on_meta_and_filled_later():
    with torch.device("meta"):
        model = torch.nn.Sequential(Layer(8, max_len=20, base=50))
    assert model.to("meta")[0].pe.is_meta
    filled = model.to_empty(device="cpu")[0]
    np.testing.assert_array_equal(filled.pe.numpy(), sinusoidal_encoding(20, 8, base=50))
    filled.pe = torch.full_like(filled.pe, torch.nan)  # as a framework may replace it
    filled.reset_parameters()
    np.testing.assert_array_equal(filled.pe.numpy(), sinusoidal_encoding(20, 8, base=50))


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
    layer = Layer(8, dropout=0.0).to("meta")
    with NoFloat64():
        for positions in (None, torch.arange(4)):
            assert layer(x, positions).device == x.device
            turned = rotate_pairs(x, positions, frequencies=angular_frequencies(8))
            assert (turned.device, turned.dtype) == (x.device, torch.float32)
        with pytest.raises(TypeError, match="no float64"):
            x.double()


def test_rotations_have_the_angles_of_float64():
    x, far = torch.tensor([[1.0, 0.0] * 3], dtype=torch.float64), torch.tensor([1_000_000])
    angles = 1_000_000 * angular_frequencies(6)
    expected = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(1, 6)
    np.testing.assert_allclose(rotate_pairs(x, far).numpy(), expected, rtol=0, atol=1e-8)


def test_each_text_of_a_batch_has_positions_for_all_its_heads():
    x, positions = random(3, 2, 5, 8), torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 1, 2], [4] * 5])
    alone = [rotate_pairs(text, at) for text, at in zip(x, positions, strict=True)]
    torch.testing.assert_close(rotate_pairs(x, positions), torch.stack(alone))


def test_a_pair_turns_by_the_sum_over_its_axes():
    x, here = torch.rand(1, 1, 4, dtype=torch.float64), torch.tensor([[2, 3]])
    found = rotate_pairs(x, here, frequencies=np.array([[0.1, 0.2], [0.3, 0.4]]))
    once = rotate_pairs(x, torch.tensor([1]), frequencies=np.array([1.1, 1.6]))
    torch.testing.assert_close(found, once)


@pytest.mark.parametrize("length", [1, 20, 70])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_an_old_checkpoint_loads(length, axis):
    old = torch.from_numpy(sinusoidal_encoding(length, 8)).bfloat16()
    old = old if axis is None else old.unsqueeze(axis)
    model = torch.nn.Sequential(Layer(8, max_len=50))
    for saved in ({"0.pe": old.to("meta")}, {"0.pe": old}, {}):
        model.load_state_dict(saved)
        np.testing.assert_array_equal(model[0].pe.numpy(), sinusoidal_encoding(50, 8))


@pytest.mark.parametrize(
    "wrong",
    [
        sinusoidal_encoding(20, 6),
        sinusoidal_encoding(20, 8, base=99),
        sinusoidal_encoding(20, 8) + np.float32(0.02),
        np.stack([sinusoidal_encoding(20, 8)] * 2),
        np.float32(1),
    ],
)
def test_a_checkpoint_with_another_table_is_refused(wrong):
    with pytest.raises(ValueError, match="is not the table of this layer: it has another width"):
        Layer(8).load_state_dict({"pe": torch.as_tensor(wrong)})


class Model(torch.nn.Module):
    """Both ways to use positions."""

    def __init__(self):
        super().__init__()
        self.encode = Layer(8, max_len=64, dropout=0.0)

    def forward(self, x, positions):
        rows = self.encode(x, positions)
        return self.encode(x), rows, rotate_pairs(rows, positions)


def test_compiles_and_exports():
    for name in ("layer", "neighbors", "halves", "turns, made once", "YaRN", "two axes"):
        checked(name, lambda laws: ["compile"]).raise_if_failed()
    model, seq_len = Model().eval(), torch.export.Dim("seq_len", min=2, max=64)
    shapes = {"x": {1: seq_len}, "positions": {0: seq_len}}
    given = random(2, 6, 8), torch.arange(6)
    exported = torch.export.export(model, given, dynamic_shapes=shapes).module()
    longer = random(2, 9, 8), torch.arange(100, 109)
    for found, expected in zip(exported(*longer), model(*longer), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_alibi_slopes():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert alibi_slopes(3).tolist() == [2.0**-4, 2.0**-8, 2.0**-2]
    expected = [2.0**-h for h in (1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5)]
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        found = alibi_slopes(12)
    finally:
        torch.set_default_dtype(before)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32))


X, WHOLE, FEW = torch.ones(2, 4), torch.full((2, 2), 10), torch.ones(2) > 0
BAD = [
    (lambda: Layer(7), ValueError, "d_model must be even"),
    (lambda: Layer(8, 0), ValueError, "max_len must be at least 1, got 0"),
    (lambda: Layer(8, 2.0), TypeError, "max_len must be an int"),
    (lambda: Layer(8, dropout=1.0), ValueError, r"dropout must be in \[0, 1\), got 1.0"),
    (lambda: Layer(8, dropout=-0.1), ValueError, r"dropout must be in \[0, 1\), got -0.1"),
    (lambda: Layer(8, dropout="0"), TypeError, "dropout must be a real number"),
    (lambda: Layer(8, base=0), ValueError, "base must be positive"),
    (lambda: Layer(8, batch_first=1), TypeError, "batch_first must be a bool, got 1"),
    (lambda: Layer(4)(torch.zeros(1, 4, 4).long()), TypeError, "x .* torch.int64"),
    (lambda: Layer(4)(np.zeros((1, 4, 4))), TypeError, "x must be a floating-point"),
    (lambda: Layer(4)(X), ValueError, "x must have 3 dimensions"),
    (lambda: Layer(6)(X[None]), ValueError, "width d_model = 6, got 4"),
    (lambda: Layer(4)(X[None], X[0]), ValueError, r"shape \(2,\) or \(1, 2\), got \(4,\)"),
    (lambda: Layer(4, 1)(X[None]), ValueError, "at most max_len = 1 .* got 2: give .* or pass pos"),
    (lambda: rotate_pairs(WHOLE), TypeError, "x must be a floating-point tensor, got one of .*int"),
    (lambda: rotate_pairs(X, "a"), TypeError, "positions must be a tensor .* 'a'"),
    (lambda: rotate_pairs(X, FEW), TypeError, "positions .* torch.bool"),
    (lambda: rotate_pairs(X, frequencies=FEW), TypeError, "frequencies must be a float"),
    (lambda: rotate_pairs(X, attention_factor="1"), TypeError, "attention_factor must be"),
    (lambda: rotate_pairs(X, attention_factor=0), ValueError, "attention_factor must be positive"),
    (lambda: rotate_pairs(X[:, :3]), ValueError, "d_model must be even"),
    (lambda: rotate_pairs(X[0]), ValueError, r"x must have at least 2 dimensions, got shape \(4,"),
    (lambda: rotate_pairs(X, base=-1), ValueError, "base must be positive"),
    (lambda: rotate_pairs(X, layout="interleaved"), ValueError, "is called 'neighbors' now"),
    (
        lambda: rotate_pairs(X, layout="thirds"),
        ValueError,
        "layout must be 'neighbors' or 'h",
    ),
    (lambda: rotate_pairs(X, FEW * 1.0, turns=(X, X)), ValueError, "not be given beside turns"),
    (lambda: rotate_pairs(X, X[0]), ValueError, r"positions must have shape \(2,\), got \(4,\)"),
    (lambda: rotate_pairs(X[None], X), ValueError, r"shape \(2,\) or \(1, 2\), got \(2, 4\)"),
    (lambda: rotate_pairs(X, frequencies=X[:, :2]), ValueError, r"shape \(2, 2\), got \(2,\)"),
    (lambda: rotate_pairs(X, frequencies=X[0]), ValueError, "at most 2 pairs, got 4"),
    (lambda: rotate_pairs(X, frequencies=X[0, :0]), ValueError, "1 pair at least"),
    (lambda: rotary_turns(X[0], frequencies=X[None]), ValueError, r"frequencies .* got \(1, 2, 4"),
    (lambda: rotate_pairs(X, frequencies=X[0, 0]), ValueError, r"frequencies .* got \(\)"),
    (lambda: rotary_turns(X[0]), ValueError, "d_model must be given, or frequencies"),
    (lambda: rotary_turns(X[0], frequencies=X), ValueError, "a coordinate for each of 2 axes, got"),
    (lambda: alibi_slopes(0), ValueError, "^n_heads must be at least 1"),
    (lambda: alibi_slopes(True), TypeError, "^n_heads must be an int"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
