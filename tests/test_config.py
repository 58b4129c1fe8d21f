"""`read_config` reads files as transformers does, and its errors name the field."""

import io
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc.config import read_config
from posenc.config.__main__ import main
from posenc.config.fields import data
from posenc.scaling import SCALINGS

ROOT = Path(__file__).parents[1]
RELEASED = json.loads((ROOT / "notebooks" / "data" / "released.json").read_text(encoding="utf-8"))
RECORD = ROOT / "tests" / "readings.txt"
*READINGS, SAID = [part.split("\n", 1) for part in RECORD.read_text("utf-8")[2:].split("\n# ")]
WORDS = set(SAID[1].splitlines())
PLAIN = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4}
PLAIN |= {"rope_theta": 10_000.0, "max_position_embeddings": 4096}
SCALED = ["rope_type", *sorted({name for each in SCALINGS.values() for name in each.fields})]
SPOKEN = ["layer_types", "no_rope_layers", "hybrid_override_pattern", "sliding_window_pattern"]
SPOKEN += ["partial_rotary_factor", "linear_attn_config", "per_layer_config", "text_config"]
SPOKEN += ["architectures", "vision_config", "attn_config", "cross_attention_layers"]
NUMBERS = ["count", "window", "chunk", "head_dim", "rotated", "first", "pairing", "base"]
NUMBERS += ["scaling", "attention_factor", "attention_factor_beyond", "score_factor"]
NUMBERS += ["score_scale", "norm", "sections", "axes", "table"]


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


def number(value):
    if isinstance(value, tuple):
        some = value if isinstance(value[0], int) else (len(value), value[0], value[-1])
        return "/".join(map(number, some))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def reading(head):
    """Return lines for lengths and for each kind of layer, or the error; and warnings."""
    try:
        found = read_config(RELEASED[head]["config"] if head in RELEASED else json.loads(head))
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}\n", set()
    lines, words = [], set()
    for part, each in {"": found, **found.parts}.items():
        lengths = [*map(str, (each.length_before_scaling, each.intended_length, each.limit))]
        lines.append(" ".join([*[part] * bool(part), *lengths, f"warnings={len(each.warnings)}"]))
        words |= set(each.warnings)
        for layers in each.layers:
            said = {name: getattr(layers, name) for name in NUMBERS}
            said |= {"frequencies": layers.frequencies, "beyond": layers.frequencies_beyond}
            told = [f"{name}={number(value)}" for name, value in said.items() if value is not None]
            lines.append(" ".join([f"{layers.name}: {layers.where};", *told]))
    return "\n".join(lines) + "\n", words


@pytest.mark.parametrize(("head", "recorded"), READINGS)
def test_readings_are_the_recorded_ones(head, recorded):
    """To record an intended difference or a new row: `.venv/bin/python tests/test_config.py`."""
    numbers, words = reading(head)
    assert numbers == recorded
    assert words <= WORDS


HOSTILE = [
    (b'{"a": 1\n "b": 2}', "line 1, column 7: a comma is missing behind this"),
    (b'{"a": 1,\n}', "line 1, column 8: a comma too many"),
    (b'{"a": 1', "line 1, column 7: the end is missing"),
    (b'{"rope_theta": NaN}', "rope_theta must be at most 1e+18, got nan"),
    (b'{"a": "x\ny"}', "line 1, column 9: invalid control character"),
    (b'{"rope_theta": 1' + b"0" * 400 + b"}", "rope_theta must be at most 1e+18"),
    (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
    (b"[" * 100_000, "nested too deeply"),
    (b"\xff", "isn't text in UTF-8"),
    (b" " * 50_000_000, "over 8 MB"),
    (b"[1]", "must be a mapping"),
    (b'{"model_type": "\\u001b[31m", "rope_theta": 1e4, "head_dim": 1000000000}', "head_dim must"),
    (b'{"rope_theta": 1e4, "head_dim": 64, "num_hidden_layers": 1000000000}', "num_hidden_layers"),
]


@pytest.mark.parametrize(("content", "words"), HOSTILE, ids=range(len(HOSTILE)))
def test_any_file_gives_a_sentence(content, words, tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert main([str(file)]) == 2
    said = capsys.readouterr().err
    assert words in said[:400]
    assert said.count("\n") == 1


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
FIELDS = st.sampled_from([*data("models.json")["deepseek_v3"]["fields"], *PLAIN, *SPOKEN])


@given(st.dictionaries(FIELDS, ODD), st.dictionaries(st.sampled_from(SCALED), ODD), st.data())
@settings(max_examples=200, deadline=None)
def test_wrong_types_in_every_field_are_named(outside, inside, data):
    kind = data.draw(st.sampled_from(["cohere2", "deepseek_v3", "gemma3", "llama4", "unknown"]))
    asked = data.draw(st.sampled_from(["rope_scaling", "rope_parameters"]))
    said = ""
    try:
        said = str(read_config(PLAIN | outside | {asked: inside, "model_type": kind}))
    except (TypeError, ValueError) as error:
        said = str(error)
    assert any(str(each) in said for each in [*outside, *inside, *PLAIN, asked, "model type"])


def test_names_told_twice_and_fields_not_read_are_warned_of():
    found = read_config(b'{"head_dim": 1, "head_dim": 8, "rope_new": 3, "a": Infinity}')
    said = "head_dim' appears twice: the last one counts", "'rope_new' isn't read here"
    assert all(any(words in each for each in found.warnings) for words in said)
    many = read_config({f"rope_{i}": 1 for i in range(60)})
    assert many.warnings[-1] == "and 10 more warnings"
    found = read_config(PLAIN | {"rope_scaling": {"mrope_section": [8, 12, 12]}})
    assert "sections: 8, 12, 12" in str(found)


def test_the_table_of_families_is_what_is_read():
    page = (ROOT / "book" / "rope_in_production.md").read_text(encoding="utf-8")
    page = page.partition("## What each model does")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)`(?:, `(\S+)`)? \| (.+) \|$", page, re.MULTILINE)
    files = {name.partition("/")[2]: each["config"] for name, each in RELEASED.items()}
    assert len(rows) > 20
    norms = {None: "", "before": ", norm before", "after": ", norm after"}
    for kind, name, told in rows:
        found = read_config(files[name] if name else {"model_type": kind})
        turned = [each for each in found.layers if each.rotated]
        still = sorted(i for each in found.layers if not each.rotated for i in each.indices)
        which = "`" + ", ".join(map(str, still[:4])) + "`, …" if turned else "all"
        columns = [
            [f"`{each.base:.0f}`" for each in turned],
            [f"`{each.rotated / each.head_dim:.2g}`" for each in turned],
            [(each.pairing or "not said") + norms[each.norm] for each in turned],
            [which if still else "none"],
        ]
        assert told == " | ".join(" and ".join(dict.fromkeys(each)) or "–" for each in columns)


def test_the_command(tmp_path, capsys, monkeypatch):
    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        return capsys.readouterr().out

    file, other = tmp_path / "config.json", tmp_path / "other" / "config.json"
    other.parent.mkdir()
    scaled = PLAIN | {"rope_scaling": {"type": "linear", "factor": 2.0}}
    changed = PLAIN | {"rope_theta": 5e5, "max_position_embeddings": 8192}
    file.write_text(json.dumps(scaled), encoding="utf-8")
    other.write_text(json.dumps(changed), encoding="utf-8")
    printed = run(file)
    assert "length before scaling: the file doesn't say" in printed
    assert "wavelengths 12.5664 to 94 2" in printed
    assert run(file, "--json") == json.dumps(read_config(file).as_dict(), indent=1) + "\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert run("-") == printed
    assert run(tmp_path).count("model type") == 2
    told = run("--diff", file, other)
    assert told.startswith("intended length: 4 096 -> 8 192\nlimit: 4 096 -> 8 192\n")
    assert "layers 0, 1, 2, 3:\n  base: 10 000 -> 500 000\n  scaling: linear -> default" in told
    assert main(["--diff", str(file), str(file)]) == 2
    other.write_bytes(file.read_bytes())
    assert "What runs is the same." in run("--diff", file, other)
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
    told = [(head, *reading(head)) for head, _ in READINGS]
    words = sorted(set().union(*(each for _, _, each in told)))
    parts = [f"# {head}\n{numbers}" for head, numbers, _ in told]
    RECORD.write_text("\n".join([*parts, "# warnings", *words]) + "\n", encoding="utf-8")
