"""A config.json is read as transformers reads it, and what is wrong with one is named."""

import json
import runpy
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from posenc import rotary_frequencies
from posenc.config import BIAS, NOWHERE, ROTARY, TABLE, read_config
from posenc.config.__main__ import main

ROOT = Path(__file__).parents[1]
RELEASED = json.loads((ROOT / "notebooks" / "data" / "released.json").read_text(encoding="utf-8"))
READINGS = ROOT / "tests" / "readings.txt"
HEADS = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4}
ORIGINAL = "original_max_position_embeddings"
PLAIN = {**HEADS, "rope_theta": 10_000.0, "max_position_embeddings": 4096}
YARN = {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 1024}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, ORIGINAL: 1024}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONG = {"rope_type": "longrope", ORIGINAL: 1024}
LONG |= {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}


def scaled(**fields):
    return {**PLAIN, "rope_scaling": fields}


@pytest.mark.parametrize("name", [name for name in RELEASED if "transformers" in RELEASED[name]])
def test_released_files_are_read_as_transformers_reads_them(name):
    found = read_config(RELEASED[name]["config"])
    for label, theirs in RELEASED[name]["transformers"].items():
        for layers in found.layers:
            if layers.frequencies and label in ("all layers", layers.name):
                omega = layers.frequencies
                some = [omega[0], omega[1], omega[len(omega) // 2], omega[-1]]
                np.testing.assert_allclose(some, theirs["frequencies"], rtol=1e-5)
                assert layers.attention_factor == pytest.approx(theirs["attention_factor"])


def readings():
    """What is said of each released file, and of each one below."""
    files = {name: RELEASED[name]["config"] for name in RELEASED}
    files |= {f"{number}": row[0] for number, row in enumerate([*FIELDS, *WARNED])}
    return "\n".join(f"# {name}\n{read_config(files[name])}\n" for name in files)


def test_readings_are_the_recorded_ones():
    """Read the difference. If it is right: `.venv/bin/python tests/test_config.py`."""
    assert readings() == READINGS.read_text(encoding="utf-8")


def test_trained_and_intended_lengths():
    dynamic = {"a": BOTH["a"] | {"type": "dynamic", "factor": 2.0}, "b": BOTH["b"]}
    found = read_config(PLAIN | {"rope_parameters": dynamic})
    assert (found.trained_length, found.intended_length) == (4096, 8192)
    wanted = {"openai-community/gpt2": (1024, 1024), "google/gemma-3-27b-it": (None, None)}
    wanted["internlm/internlm2_5-7b"] = (32_768, 65_536)
    wanted["meta-llama/Meta-Llama-3.1-8B"] = (8192, 131_072)
    for name, lengths in wanted.items():
        found = read_config(RELEASED[name]["config"])
        assert (found.trained_length, found.intended_length) == lengths


BOTH = {"a": {"rope_theta": 1e4}, "b": {"rope_theta": 1e6}}
BOTH_PLACES = f"{BIAS}; {TABLE}"
NESTED = {**HEADS, "rope_parameters": BOTH}
OWN = {**HEADS, "layer_types": ["a"] * 4, "rope_parameters": {"a": BOTH["a"]}}
TWO = ["full_attention", "sliding_attention"]
ONLY_A = {"layer_types": ["a"] * 4, "rope_interleave": True}
SPELLINGS = [
    ("n_embd", "n_head", "n_layer"),
    ("d_model", "n_heads", "n_layers"),
    ("hidden_size", "num_heads", "num_layers"),
]
# A configuration, fields of its layers, and the values that they have one after the other
FIELDS = [
    (RELEASED["google/gemma-3-1b-it"]["config"], "count base", [(4, 1e6), (22, 1e4)]),
    (PLAIN | {"no_rope_layers": [1, 1, 1, 0]}, "where count", [(ROTARY, 4), (NOWHERE, 1)]),
    (PLAIN | {"no_rope_layer_interval": 4}, "where count", [(ROTARY, 4), (NOWHERE, 1)]),
    (PLAIN | {"rotary_pct": 0.25}, "rotated", [16]),
    (PLAIN | {"rope_interleave": True}, "pairing", ["neighbors"]),
    (PLAIN | {"sliding_window": 128}, "window", [128]),
    (PLAIN | {"sliding_window": 128, "use_sliding_window": False}, "window", [None]),
    ({"thinker_config": {"text_config": PLAIN}}, "base", [10_000]),
    ({"rope_theta": 10_000.0}, "frequencies", [None]),
    (HEADS | {"alibi": True}, "where", [BIAS]),
    (RELEASED["mosaicml/mpt-7b"]["config"], "where", [BIAS]),
    (RELEASED["google-bert/bert-base-uncased"]["config"], "where", [TABLE]),
    (HEADS | {"relative_attention": True}, "where", [BIAS]),
    (HEADS | {"relative_attention": True, "position_biased_input": True}, "where", [BOTH_PLACES]),
    (NESTED, "name base", [("a", 1e4), ("b", 1e6)]),
    (NESTED | {"layer_types": ["a"] * 4}, "name count", [("a", 4), ("b", None)]),
    (OWN | {"per_layer_config": {"00": {"head_dim": 32}}}, "head_dim", [32]),
    *(
        (
            {"rope_theta": 1e4, **dict(zip(names, (512, 8, 4), strict=True))},
            "head_dim count",
            [(64, 4)],
        )
        for names in SPELLINGS
    ),
    *(
        (PLAIN | {name: 3, "num_hidden_layers": 5}, "name count", [(TWO[0], 1), (TWO[1], 4)])
        for name in ("_sliding_window_pattern", "global_attn_every_n_layers")
    ),
    (PLAIN | {"text_config": {"rope_theta": 5e5}}, "base", [1e4]),
    (OWN | {"text_config": PLAIN}, "name", ["a"]),
    (PLAIN | {"num_hidden_layers": 4.0}, "count", [4]),
    (PLAIN | {"qk_rope_head_dim": 32, "qk_nope_head_dim": 0}, "head_dim rotated", [(64, 32)]),
    (HEADS | {"qk_rope_head_dim": 32}, "where base", [(ROTARY, None)]),
    (HEADS | {"rotary_dim": 32}, "where rotated", [(ROTARY, 32)]),
    (PLAIN | {"alibi": True}, "where", [BIAS]),
    (PLAIN | {"rope_interleave": False}, "pairing", ["halves"]),
    (
        PLAIN | {"layer_types": TWO, "swa_head_dim": 32, "global_head_dim": 128},
        "head_dim",
        [128, 32],
    ),
    (PLAIN | {"layer_types": TWO, "hybrid_layer_pattern": [1]}, "name", TWO),
    (PLAIN | {"layer_types": TWO, "local_attention": 128}, "window", [None, 128]),
    (
        PLAIN | {"layer_types": ["conv", "full", "mamba", "linear"]},
        "name where",
        [("conv", None), ("full", ROTARY), ("linear", None), ("mamba", None)],
    ),
    (
        scaled(rope_type="default", partial_rotary_factor=0.5)
        | {"layer_types": TWO, "rope_local_base_freq": 1e3},
        "base rotated",
        [(1e4, 32), (1e3, 32)],
    ),
    (HEADS | {"layer_types": TWO, "rope_parameters": {"rope_theta": 5e5}}, "base", [5e5, 5e5]),
    (NESTED | {"layer_types": ["a", "c", "mamba"]}, "name", ["a", "mamba", "b"]),
    (
        PLAIN | ONLY_A | {"rope_parameters": {"a": {}, "b": {"type": "dynamic", "factor": 2.0}}},
        "name base pairing",
        [("a", 1e4, "neighbors"), ("b", 1e4, "neighbors")],
    ),
    (
        scaled(rope_type="proportional", factor=2.0, partial_rotary_factor=0.25),
        "rotated",
        [16],
    ),
    (scaled(**{**YARN, "factor": 1.0}, mscale_all_dim=1.0), "score_factor", [None]),
    (scaled(**{**YARN, "factor": None}, mscale_all_dim=1.0), "score_factor", [None]),
    (scaled(**{**YARN, ORIGINAL: 2}), "scaling", ["yarn"]),
]


@pytest.mark.parametrize(("config", "names", "values"), FIELDS)
def test_fields_of_layers(config, names, values):
    found = read_config(config)
    assert [attrgetter(*names.split())(layers) for layers in found.layers] == values
    assert all(str(layers.window or "") in str(found) for layers in found.layers)


def test_frequencies_and_factors_beyond_the_trained_length():
    long = read_config(scaled(**LONG)).layers[0]
    np.testing.assert_allclose(np.divide(long.frequencies, long.frequencies_beyond), 4)
    dynamic = scaled(rope_type="dynamic", factor=2.0)
    beyond, _ = rotary_frequencies(
        64, scaling=dynamic["rope_scaling"], max_position_embeddings=4096, seq_len=8192
    )
    np.testing.assert_array_equal(read_config(dynamic).layers[0].frequencies_beyond, beyond)
    deepseek = read_config(RELEASED["deepseek-ai/DeepSeek-V3"]["config"]).layers[0]
    assert (deepseek.head_dim, deepseek.rotated, deepseek.attention_factor) == (192, 64, 1)
    assert deepseek.score_factor == pytest.approx((0.1 * np.log(40) + 1) ** 2)


WARNED = [
    (scaled(type="linear", factor=2.0), "old spelling"),
    (scaled(type="su", **{k: v for k, v in LONG.items() if k != "rope_type"}), "old type 'su'"),
    (scaled(rope_type="linear", type="yarn", factor=2.0), "rope_type 'linear' and type 'yarn'"),
    (scaled(rope_type="yarn", factor=4.0), "takes max_position_embeddings, 4096"),
    (scaled(**YARN, original=3), "rope_scaling.original isn't read"),
    (scaled(**{**YARN, ORIGINAL: 8192}), "exceeds"),
    (scaled(**{**YARN, "factor": 2.0}), "4096 / 1024 is 4: the factor is what counts"),
    ({**scaled(**YARN), "factor": 2.0}, "factor is outside rope_scaling"),
    ({**scaled(**YARN), ORIGINAL: 2048}, "not every program looks"),
    ({**scaled(**YARN, rope_theta=5e5)}, "rope_theta is 10000 outside"),
    ({**scaled(**YARN), "rope_parameters": {"rope_type": "default"}}, "takes rope_scaling"),
    (scaled(**YARN, mscale_all_dim=1.0, mscale=1.0), "times 1.296"),
    (scaled(**YARN, attention_factor=1.0, mscale=1.0), "change no cosine"),
    (scaled(**{**LLAMA3, "high_freq_factor": 1.0}), "nothing is blended"),
    (scaled(rope_type="default", mrope_section=[8, 8, 8]), "sums to 24, but 32 pairs"),
    ({**scaled(**YARN), "rope_local_base_freq": 1e4}, "not for windows"),
    ({**scaled(**YARN), "sliding_window_pattern": 2}, "if windows scale"),
    ({"rope_scaling": YARN, "text_config": PLAIN}, "beside text_config is not read"),
    ({**HEADS, "rotary_pct": 0.25}, "no base"),
    ({**PLAIN, "rotary_dim": 32, "partial_rotary_factor": 0.25}, "32 dimensions"),
    ({**PLAIN, "head_dim": 45}, "an odd number"),
    ({**PLAIN, "compress_rope_theta": 1e5}, "second base"),
    ({**PLAIN, "attn_temperature_tuning": True}, "where nothing turns"),
    ({**HEADS, "alibi": True, "learned_pos_emb": True}, "both set"),
    (scaled(rope_type="axial"), "axes of an image"),
    *(
        (PLAIN | {name: 1.0}, f"{name} is outside rope_parameters")
        for name in ("factor", "rope_type", "beta_fast", "low_freq_factor", "long_factor")
    ),
    (scaled(**{**LLAMA3, ORIGINAL: None}) | {ORIGINAL: 1024}, "not every program looks"),
    (scaled(**LONG, factor=2.0), "4096 / 1024 is 4: the factor is what counts"),
    (scaled(**{**YARN, "factor": 1.5}, mscale_all_dim=1.0), "times 1.083"),
    (scaled(**YARN, attention_factor=1.0, mscale_all_dim=1.0), "change no cosine"),
    (
        scaled(type="linear", factor=2.0) | {"layer_types": ["sliding", "top"]},
        "one for two kinds of layer",
    ),
    (
        HEADS
        | {"layer_types": ["a"]}
        | {"rope_parameters": {"a": {**BOTH["a"], "type": "linear", "factor": 2.0}, "b": {}}},
        "rope_parameters.a.type is the old spelling",
    ),
    (NESTED | ONLY_A | {"rope_parameters": {"a": BOTH["a"], "b": {"type": "mrope"}}}, "base for b"),
]


@pytest.mark.parametrize(("config", "words"), WARNED)
def test_warnings(config, words):
    assert any(words in each for each in read_config(config).warnings)
    assert words in str(read_config(config))


def test_what_is_right_warns_of_nothing():
    for config in (PLAIN, scaled(**YARN), scaled(**LLAMA3), scaled(**LONG)):
        assert read_config(config).warnings == ()


WRONG = [
    ([], TypeError, "config must be a mapping"),
    (scaled(rope_type="ntk"), ValueError, "rope_type must be one of default, axial, linear"),
    (scaled(rope_type="linear"), ValueError, "rope_scaling needs the field 'factor'"),
    (scaled(**{**LONG, "long_factor": [1.0]}), ValueError, "rope_scaling['long_factor']"),
    (scaled(**{**YARN, "factor": "4"}), TypeError, "rope_scaling['factor']"),
    ({**PLAIN, "rope_scaling": 4}, TypeError, "rope_scaling must be a mapping"),
    ({**PLAIN, "max_position_embeddings": "4096"}, TypeError, "max_position_embeddings"),
    ({**PLAIN, "partial_rotary_factor": 2.0}, ValueError, "partial_rotary_factor"),
    ({**PLAIN, "partial_rotary_factor": 0.0}, ValueError, "partial_rotary_factor must be above 0"),
    ({**PLAIN, "partial_rotary_factor": "1"}, TypeError, "partial_rotary_factor must be"),
    (scaled(**{**YARN, ORIGINAL: "1024"}), TypeError, f"rope_scaling['{ORIGINAL}'] must be"),
    *(
        (scaled(**{**fields, missing: None}), ValueError, f"needs the field {missing!r} for type")
        for fields, missing in (
            ({"rope_type": "dynamic"}, "factor"),
            (LLAMA3, "low_freq_factor"),
            (LONG, "short_factor"),
        )
    ),
    (
        scaled(rope_type="dynamic", factor="2") | {"alibi": True},
        TypeError,
        "factor must be a real number",
    ),
    ({**HEADS, "alibi": True, ORIGINAL: 1}, ValueError, f"{ORIGINAL} must be at least 2"),
    ({**PLAIN, "rope_theta": 0.0}, ValueError, "base"),
    ({"text_config": {**PLAIN, "head_dim": 0}}, ValueError, "text_config.head_dim"),
    ({**PLAIN, "layer_types": "full"}, TypeError, "layer_types must be a list"),
]


@pytest.mark.parametrize(("config", "error", "words"), WRONG)
def test_errors_name_the_field(config, error, words):
    with pytest.raises(error) as caught:
        read_config(config)
    assert words in str(caught.value)


def test_the_command(tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(scaled(type="linear", factor=2.0)), encoding="utf-8")
    assert main([str(file)]) == 0
    printed = capsys.readouterr().out
    assert "trained length: the file doesn't say" in printed
    assert "wavelengths: 12.5664 to 94 2" in printed
    assert main([str(file), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == read_config(file).as_dict()
    assert printed["layers"][0]["scaling"] == "linear"
    file.write_text("{", encoding="utf-8")
    assert main([str(file)]) == 2
    assert "config must be a JSON file" in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    with pytest.raises(SystemExit), pytest.warns(RuntimeWarning, match="posenc.config.__main__"):
        runpy.run_module("posenc.config", run_name="__main__")


def test_the_page(site, visit):
    from sphinx_posenc import config_page

    page = visit((site / "book" / "config.html").as_uri())
    choice, shown = page.locator("#config-choice"), page.locator("#config-shown")
    for name in config_page.CHOICE:
        found = read_config(RELEASED[name]["config"])
        drawn = [layers.scaling for layers in found.layers if layers.frequencies]
        assert choice.input_value() == name
        assert shown.locator("svg").count() == len(drawn)
        assert shown.locator("li").all_inner_texts() == list(found.warnings)
        if "longrope" in drawn:
            assert "moves 0 of 48 pairs, and 47 in longer texts." in shown.inner_text()
        choice.press("ArrowDown")


if __name__ == "__main__":
    READINGS.write_text(readings(), encoding="utf-8")
