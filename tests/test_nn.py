"""What posenc.nn has, and rotations and biases in numpy: the definition, and every error."""

import inspect
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import posenc
from posenc import alibi_bias, alibi_slopes, nn, rotary_turns, rotate_pairs, t5_buckets
from posenc.nn import SinusoidalPositionalEncoding as Layer

RNG = np.random.default_rng(0)
LIBRARIES = pytest.mark.parametrize("library", [posenc, nn], ids=["numpy", "torch"])
TENSORS = ("x", "positions", "turns")


def call(library, name, **options):
    """Call a function of a library, which gets its own arrays."""
    if library is nn:
        tensors = torch.utils._pytree.tree_map_only(
            np.ndarray, torch.from_numpy, options
        )
        options |= {name: each for name, each in tensors.items() if name in TENSORS}
    return getattr(library, name)(**options)


def defined(
    x, positions=None, base=1e4, frequencies=None, attention_factor=1.0, **options
):
    """Turn pairs as complex numbers."""
    first, axis = options.get("first", 0), options.get("seq_dim", -2)
    rows = np.moveaxis(x, axis, -2).copy()
    n, width = rows.shape[-2], rows.shape[-1] - first
    omega = (
        base ** (-np.arange(0, width, 2) / width)
        if frequencies is None
        else frequencies
    )
    where = np.arange(n)[:, None] if positions is None else positions
    if np.ndim(omega) == 1:
        where, omega = np.reshape(where, (-1, n, 1)), [omega]
    turns = attention_factor * np.exp(1j * np.expand_dims(where @ np.array(omega), -3))
    one = first + np.arange(turns.shape[-1]) * (2 if "pairing" in options else 1)
    two = one + (1 if "pairing" in options else len(one))
    z = (rows[..., one] + 1j * rows[..., two]) * turns
    rows[..., one], rows[..., two] = z.real, z.imag
    return np.moveaxis(rows, -2, axis)


NEIGHBORS = {"pairing": "neighbors"}
EACH = np.array([[0, 1, 2, 3, 4], [7, 8.5, 9, -1, 2]])
OPTIONS = [
    {"base": 50},
    {"positions": EACH, **NEIGHBORS},
    {"positions": EACH[1:], "attention_factor": 1.5, "frequencies": [1.0, 0.3, 0.1]},
    {
        "positions": RNG.random((5, 2)),
        "frequencies": RNG.random((2, 3)),
        "first": 2,
        **NEIGHBORS,
    },
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
        for rows in (
            x.astype(kind),
            odd,
        ):  # whose strides rule torch's complex numbers out
            found = np.asarray(call(library, "rotate_pairs", x=rows, **options))
            assert (found.dtype, found.shape) == (kind, x.shape)
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=12 * np.finfo(kind).eps
            )


@LIBRARIES
def test_turns_are_made_once_in_the_dtype_asked(library):
    x, k = RNG.normal(size=(5, 8)), np.arange(5)
    kind = np.float64 if library is posenc else torch.float64
    turns = call(library, "rotary_turns", positions=k, d_model=8, base=50, dtype=kind)
    found = call(library, "rotate_pairs", x=x, turns=turns)
    np.testing.assert_array_equal(found, call(library, "rotate_pairs", x=x, base=50))
    once, _ = call(library, "rotary_turns", positions=k, d_model=8)
    assert np.asarray(once).dtype == (np.float64 if library is posenc else np.float32)
    assert {each.dtype for each in rotary_turns(k, 8, dtype=np.float16)} == {
        np.dtype("f2")
    }


def test_slopes_and_bias():
    between = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12).tolist() == pytest.approx(
        [2**-h for h in range(1, 9)] + between
    )
    assert torch.equal(nn.alibi_slopes(12), torch.from_numpy(alibi_slopes(12)))
    assert nn.alibi_slopes(3, device="meta").is_meta
    assert alibi_slopes(1).dtype == alibi_bias(3, 0).dtype == np.float32
    assert t5_buckets([1]).dtype == np.int64
    k = np.arange(6)
    expected = -np.abs(np.subtract.outer(k, k)) * alibi_slopes(3)[:, None, None]
    np.testing.assert_array_equal(alibi_bias(3, 6), expected)
    np.testing.assert_array_equal(alibi_bias(3, [4, 5], k), expected[:, 4:])


def test_buckets_are_those_of_the_definition():
    """At each distance below 2 · `limit`, counted as bounds that the distance has passed."""
    assert np.array_equal(
        t5_buckets([-99, 99]), t5_buckets([-99, 99], n_buckets=32, max_distance=128)
    )
    for buckets, limit, both in (
        (32, 128, True),
        (32, 128, False),
        (64, 512, True),
        (6, 9, False),
    ):
        own = buckets // (4 if both else 2)
        bounds = [
            *range(1, own),
            *(own * (limit / own) ** (j / own) for j in range(own)),
        ]
        away = np.arange(2 * limit)
        expected = (away[:, None] >= np.array(bounds) - 1e-9).sum(1)
        named = {"n_buckets": buckets, "max_distance": limit, "bidirectional": both}
        np.testing.assert_array_equal(t5_buckets(-away, **named), expected)
        after = t5_buckets(away[1:], **named)
        np.testing.assert_array_equal(
            after, expected[1:] + 2 * own if both else 0 * after
        )


def test_buffer_dropout_and_the_conventions_of_torch_s_modules():
    layer = Layer(8, 10, device="meta", dtype=torch.float64)
    assert (layer.pe.device.type, layer.pe.dtype) == ("meta", torch.float64)
    assert (
        repr(layer).splitlines()[1].strip()
        == "8, max_len=10, base=10000.0, batch_first=True"
    )
    layer = Layer(64, dropout=0.5)
    assert (list(layer.parameters()), layer.state_dict(), layer.pe.shape) == (
        [],
        {},
        (5000, 64),
    )
    assert Layer(64).dropout.p == 0.1
    torch.manual_seed(0)
    x = torch.full((2, 50, 64), 3.0)
    assert (layer(x) == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert not (layer.eval()(x) == 0).any()


def test_a_cast_layer_keeps_its_digits_and_gives_one_answer():
    x, where = torch.zeros(1, 300, 8), torch.arange(300)
    layer = Layer(8, max_len=300, dropout=0.0, base=50)
    exact = posenc.sinusoidal_encoding(300, 8, base=50, dtype=np.float64)
    for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        cast = layer.to(kind)
        np.testing.assert_array_equal(
            cast.pe.numpy(), exact.astype(cast.pe.numpy().dtype)
        )
        assert cast.pe.dtype == (kind if kind == torch.float64 else torch.float32)
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            whole = cast(x.to(dtype))
            assert whole.dtype == dtype
            torch.testing.assert_close(
                cast(x.to(dtype), where), whole, rtol=0, atol=2e-13
            )


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_added_along_the_sequence(axis):
    """The first dimension is the batch, or the second."""
    x, layer = torch.randn(2, 3, 8), Layer(8, dropout=0.0, batch_first=axis == 0)
    layer.load_state_dict({})
    for rows in ([0, 1, 2], [[4, 0, 2]], [[4, 0, 2], [1, 1, 3]]):
        where = torch.tensor(rows)
        found = layer(x.transpose(0, axis), where).transpose(0, axis)
        torch.testing.assert_close(found, x + layer.pe[where], rtol=0, atol=1e-6)
    found = layer(x.transpose(0, axis)).transpose(0, axis)
    assert torch.equal(found, x + layer.pe[:3])


class NoFloat64(TorchDispatchMode):
    """Makes the meta device stand in for one without float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in torch.utils._pytree.tree_leaves(out):
            if (
                isinstance(each, torch.Tensor)
                and each.is_meta
                and each.dtype == torch.float64
            ):
                raise TypeError("this device has no float64")
        return out


def test_devices():
    """The meta device, which doesn't mix with the CPU, stands in for others."""
    x, layer = torch.zeros(2, 4, 8, device="meta"), Layer(8, dropout=0.0, device="meta")
    omega = posenc.angular_frequencies(8)
    there = torch.arange(4, device="meta")
    assert (
        layer(x, there).device
        == nn.rotate_pairs(x, there, frequencies=omega).device
        == x.device
    )
    with NoFloat64():
        for positions in (None, torch.arange(4)):
            assert layer(x, positions).device == x.device
            turned = nn.rotate_pairs(x, positions, frequencies=omega)
            assert (turned.device, turned.dtype) == (x.device, torch.float32)


@pytest.mark.parametrize("pairing", ["halves", "neighbors"])
def test_products_in_float32_are_rounded_once(pairing):
    x = torch.from_numpy(RNG.normal(size=(64, 128, 64))).bfloat16()
    exact = nn.rotate_pairs(x.double(), pairing=pairing)
    once = nn.rotate_pairs(x.float(), pairing=pairing).bfloat16()
    found = nn.rotate_pairs(x, pairing=pairing, dtype=torch.float32)
    off, least = ((each.double() - exact).norm() for each in (found, once))
    assert found.dtype == torch.bfloat16
    assert (
        off <= 1.05 * least < 1.5 * (nn.rotate_pairs(x, pairing=pairing) - exact).norm()
    )


@pytest.mark.parametrize("pairing", ["halves", "neighbors"])
def test_what_is_traced_is_computed_the_same(pairing, monkeypatch):
    x, k = torch.randn(5, 8).double(), torch.arange(5) / 3
    found = nn.rotate_pairs(x, k, pairing=pairing)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.testing.assert_close(
        nn.rotate_pairs(x, k, pairing=pairing), found, rtol=0, atol=1e-14
    )
    assert nn.rotate_pairs(x, k / 0).isnan().any()  # values can't be looked at


@pytest.mark.parametrize("length", [1, 20, 70])
def test_an_old_checkpoint_loads_if_its_table_is_this_one(length):
    old = torch.from_numpy(posenc.sinusoidal_encoding(length, 8, base=50))
    model = torch.nn.Sequential(Layer(8, max_len=50, base=50))
    for saved in (old.bfloat16(), old[None], old[:, None], old.to("meta")):
        model.load_state_dict({"0.pe": saved})
        expected = posenc.sinusoidal_encoding(50, 8, base=50)
        np.testing.assert_array_equal(model[0].pe.numpy(), expected)
    others = [posenc.sinusoidal_encoding(20, 6), posenc.sinusoidal_encoding(20, 8)]
    for wrong in (*others, np.float32(1), np.stack([old] * 2), old + 0.02):
        saved = {"0.pe": torch.as_tensor(wrong)}
        with pytest.warns(
            UserWarning, match=r"0.pe .* is not the table of this layer: its width"
        ):
            assert model.load_state_dict(saved, strict=False).unexpected_keys == [
                "0.pe"
            ]


X = np.ones((2, 4))
WRONG = [  # arguments of `rotate_pairs` beside x, in both libraries
    ({"x": X[0]}, ValueError, r"^x must have at least 2 dimensions, got shape \(4,\)"),
    ({"x": X[:, 1:]}, ValueError, "^d_model must be even"),
    ({"first": 4}, ValueError, "^first must be .* dimension of x, below 4, got"),
    ({"first": 1}, ValueError, "^first must be even and a dim.* of x, .* got 1"),
    (
        {"positions": np.array([0, np.nan])},
        ValueError,
        "^positions must be finite, got ",
    ),
    ({"positions": X[0] > 0}, TypeError, "^positions must .*real numbers.*"),
    (
        {"x": X[None], "positions": X},
        ValueError,
        r"\(2,\), \(1, 2\) or .* got \(2, 4\)",
    ),
    ({"frequencies": X[0] > 0}, TypeError, "^frequencies must "),
    ({"frequencies": [np.inf]}, ValueError, "^frequencies must be finite"),
    (
        {"frequencies": X[0]},
        ValueError,
        "^frequencies must have at most 2 pairs, got 4",
    ),
    ({"frequencies": X[0, :0]}, ValueError, "^freq.* at least 1 pair, got"),
    (
        {"frequencies": np.ones((3, 1))},
        ValueError,
        "a coordinate for each of 3 axes, got",
    ),
    ({"frequencies": X[0, :2], "base": 9}, ValueError, "^base .* with frequencies"),
    (
        {"positions": X[0], "turns": (X, X)},
        ValueError,
        "^positions .* which include it$",
    ),
    ({"turns": (X, X[0])}, ValueError, "^turns must be two of one shape"),
    (
        {"turns": ([1], [2])},
        TypeError,
        "^turns must be rotary_turns' pair of (ndarray|Tensor)",
    ),
    (
        {"first": 2, "turns": rotary_turns([0, 1], 4)},
        ValueError,
        "at most 1 pairs .* 2 of 4, got",
    ),
]


@LIBRARIES
@pytest.mark.parametrize(("options", "error", "words"), WRONG)
def test_wrong_arguments_are_refused(library, options, error, words):
    with pytest.raises(error, match=words):
        call(library, "rotate_pairs", **{"x": X} | options)


T = torch.ones(2, 4)
CALLS = [  # functions, and right arguments
    (posenc.angular_frequencies, [8]), (posenc.wavelengths, [8]), (posenc.shift_matrix, [3, 8]),
    (posenc.sinusoidal_encoding, [3, 8]), (posenc.binary_encoding, [3, 2]), (alibi_slopes, [8]),
    (posenc.offset_kernel, [[3], 8]), (posenc.rotary_frequencies, [8]), (alibi_bias, [8, 3]),
    (rotary_turns, [[3], 8]), (rotate_pairs, [X]), (t5_buckets, [[3]]), (Layer, [8]),
    (nn.rotary_turns, [T[0], 8]), (nn.rotate_pairs, [T]), (nn.alibi_slopes, [8]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "right"), CALLS)
def test_each_argument_is_refused_by_its_name(function, right):
    signature = inspect.signature(function)
    others = {
        "dtype",
        "device",
        "bidirectional",
        "frequencies",
    }  # of more than one kind
    for name, wrong in product(
        signature.parameters.keys() - others, ("e", -np.inf, np.inf, -1)
    ):
        given = signature.bind(*right).arguments | {name: wrong}
        if wrong != -1 or name not in ("offset", "offsets", "positions"):
            with pytest.raises((TypeError, ValueError), match=f"^{name} must "):
                function(**given)


JAGGED = torch.nested.nested_tensor([T, T[:1]], layout=torch.jagged)
OMEGA, PE, BITS = (
    posenc.angular_frequencies,
    posenc.sinusoidal_encoding,
    posenc.binary_encoding,
)
BAD = [
    (lambda: OMEGA(0), ValueError, "^d_model must be at least 2, got 0"),
    (lambda: OMEGA(8, base=0), ValueError, "base must be positive.*0"),
    (lambda: PE([np.inf], 8), ValueError, "positions must be finite.*inf"),
    (lambda: PE([[0, 1]], 8), ValueError, "positions.*1-D array, got shape"),
    (lambda: PE(-1, 8), ValueError, "^positions must be at least 0, got -1"),
    (lambda: PE([True], 8), TypeError, "positions must hold real numbers"),
    (lambda: PE(4, 8, dtype=np.int32), TypeError, "dtype must be a floating"),
    (lambda: BITS(8, 64), ValueError, "n_bits must be at most 63.*64"),
    (lambda: BITS(9, 3), ValueError, r"positions must be from 0 to 2\*.* = 7, got 8"),
    (lambda: BITS([-1], 3), ValueError, "positions must be from 0 .*, got -1"),
    (lambda: BITS([0.5], 3), TypeError, "positions must hold whole numbers"),
    (
        lambda: Layer(8, dropout=1.0),
        ValueError,
        r"dropout must be in \[0, 1\), got 1.0",
    ),
    (lambda: Layer(4)(T), ValueError, "x must have 3 dimensions"),
    (
        lambda: Layer(6)(T[None]),
        ValueError,
        r"width d_model = 6, got shape \(1, 2, 4\)",
    ),
    (
        lambda: Layer(4)(T[None], "a"),
        TypeError,
        "^positions must be a tensor, got 'a'",
    ),
    (
        lambda: Layer(4)(T[None], T[0]),
        ValueError,
        r"shape \(2,\), \(1, 2\) or .*, got \(4,\)",
    ),
    (
        lambda: Layer(4, 1)(T[None]),
        ValueError,
        "at most max_len = 1 .* got 2: give .* or pass pos",
    ),
    (
        lambda: rotate_pairs([[1, 2]]),
        TypeError,
        "^x must hold floating-point numbers, got int",
    ),
    (
        lambda: nn.rotate_pairs(T.long()),
        TypeError,
        "^x must be floating-point, .*, got torch.int64",
    ),
    (
        lambda: nn.rotate_pairs(JAGGED),
        TypeError,
        r"^x must be a dense .*: pass x.values\(\)",
    ),
    (
        lambda: nn.rotate_pairs(T, dtype="half"),
        TypeError,
        "^dtype must be .*floating-point",
    ),
    (lambda: rotary_turns([1.0]), ValueError, "^d_model or frequencies must be given$"),
    (
        lambda: nn.rotary_turns(T[0]),
        ValueError,
        "^d_model or frequencies must be given$",
    ),
    (
        lambda: rotary_turns([1], 4, dtype=int),
        TypeError,
        "^dtype must be .*floating-point",
    ),
    (lambda: t5_buckets([0.5]), TypeError, "^offsets must hold whole numbers"),
    (
        lambda: t5_buckets([1], n_buckets=6),
        ValueError,
        "^n_buckets must be a multiple of 4, got 6",
    ),
    (
        lambda: t5_buckets([1], max_distance=8),
        ValueError,
        "^max_distance must be at least 9",
    ),
]


@pytest.mark.parametrize(("wrong", "error", "words"), BAD)
def test_bad_input_is_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA = {
    "model_type": "llama",
    "head_dim": 8,
    "rope_scaling": YARN,
    "rope_theta": 500.0,
}
IMAGES = {"model_type": "qwen2_vl", "head_dim": 8, "rope_theta": 1e4}
IMAGES |= {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}


def test_a_layer_of_a_configuration_gives_its_turns_and_rotates():
    """With the attention factor, the pairing and the part that turns, in numpy and in torch."""
    (layers,), k, x = (
        posenc.read_config(LLAMA).layers,
        np.arange(5),
        RNG.normal(size=(2, 5, 8)),
    )
    omega, factor = posenc.rotary_frequencies(8, base=500, scaling=YARN)
    found = layers.rotate(x, layers.turns(k), pairing="halves")
    expected = rotate_pairs(x, frequencies=omega, attention_factor=factor)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    part = replace(
        layers, rotated=4, first=4, frequencies=(1.0, 0.1), pairing="neighbors"
    )
    found = part.rotate(torch.from_numpy(x), part.turns(torch.arange(5)))
    named = {
        "frequencies": [1.0, 0.1],
        "attention_factor": factor,
        "first": 4,
        **NEIGHBORS,
    }
    np.testing.assert_allclose(found, rotate_pairs(x, **named), rtol=0, atol=2e-6)
    with pytest.raises(ValueError, match=r"^x must have width head_dim = 8, got 4"):
        layers.rotate(x[..., :4], layers.turns(k))
    with pytest.raises(
        ValueError, match=r"^pairing must be .*, as the file doesn't say it$"
    ):
        replace(layers, pairing=None).rotate(x, layers.turns(k))


def test_a_layer_has_frequencies_for_each_axis_and_for_longer_texts():
    (layers,) = posenc.read_config(IMAGES).layers
    places = np.array([[5, 6, 7], [1, 0, 2]])
    cos, _ = layers.turns(places, by_axis=True)
    np.testing.assert_allclose(cos, np.cos(places[:, layers.axes] * layers.frequencies))
    text = layers.turns([5, 1])
    np.testing.assert_allclose(
        layers.turns([[5] * 3, [1] * 3], by_axis=True), text, rtol=1e-14
    )
    longer = replace(
        layers, axes=None, frequencies_beyond=(0.5,), attention_factor_beyond=2.0
    )
    np.testing.assert_allclose(longer.turns([3], beyond=True)[0], [[2 * np.cos(1.5)]])
    silent = replace(layers, frequencies=None)
    for wrong, words in ((longer, "^by_axis must be False"), (silent, "how")):
        with pytest.raises(ValueError, match=words):
            wrong.turns(places, by_axis=True)
