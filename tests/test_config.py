"""`read_config` reads files as transformers does, and its errors name the field."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from posenc.config import read_config
from posenc.config.__main__ import main

ROOT = Path(__file__).parents[1]
RELEASED = json.loads((ROOT / "notebooks" / "data" / "released.json").read_text(encoding="utf-8"))
RECORD = ROOT / "tests" / "readings.txt"
READINGS = [part.split("\n", 1) for part in RECORD.read_text("utf-8")[2:].split("\n# ")]
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


def reading(head):
    """A file's reading as printed, then the head_dim and rotated part of each kind of layer."""
    found = read_config(RELEASED[head]["config"] if head in RELEASED else json.loads(head))
    lines = [str(found)]
    for layers in found.layers:
        beyond = "".join(f" {each:.4g}" for each in layers.frequencies_beyond or ())
        lines.append(f"{layers.name}: {layers.head_dim}, {layers.rotated}{beyond}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("head", "recorded"), READINGS)
def test_readings_are_the_recorded_ones(head, recorded):
    """To record an intended difference or a new row: `.venv/bin/python tests/test_config.py`."""
    assert reading(head) == recorded


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
    found = read_config(file).as_dict()
    assert capsys.readouterr().out == json.dumps(found, indent=1) + "\n"
    assert found["layers"][0]["scaling"] == "linear"
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
    said = (f"# {head}\n{reading(head)}" for head, _ in READINGS)
    RECORD.write_text("\n".join(said), encoding="utf-8")
