"""The test vectors are what their tool writes, what the package computes, and what Node reads."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch
import vectors

from posenc import read_config, rotary_frequencies
from posenc.checks import KNOWN
from posenc.nn import rotate_pairs

ROOT = Path(__file__).parents[1]
FILE = ROOT / "book" / "vectors.json"
SCHEMA = ROOT / "book" / "vectors.schema.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_files_are_what_the_tool_writes():
    assert vectors.vectors() == VECTORS
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == vectors.schema()


def test_the_file_follows_its_schema():
    schema = vectors.schema()
    jsonschema.validate(VECTORS, schema)
    for broken in (
        VECTORS | {"format": 2},
        VECTORS | {"more": 1},
        {name: VECTORS[name] for name in VECTORS if name != "tables"},
        VECTORS | {"tables": [VECTORS["tables"][0] | {"values": [["1e-3"]]}]},
        VECTORS | {"tables": [VECTORS["tables"][0] | {"layout": "sofa"}]},
        VECTORS | {"tables": [VECTORS["tables"][0] | {"d_model": 7}]},
        VECTORS | {"tables": [VECTORS["tables"][0] | {"first": "0"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_every_convention_is_there():
    tables = {table["convention"] for table in VECTORS["tables"]}
    rotations = {rotation["convention"] for rotation in VECTORS["rotations"]}
    assert tables | rotations == set(KNOWN)


@pytest.mark.parametrize(
    "table", VECTORS["tables"], ids=lambda t: f"{t['convention']}-{t['d_model']}"
)
def test_tables(table):
    known = KNOWN[table["convention"]]
    names = ("layout", "direction", "first")
    assert {name: table[name] for name in names} == {name: getattr(known, name) for name in names}
    assert table["exponent"] == f"i/({known.rule})"
    assert table["step"] in (known.step, f"{known.step:g}" if known.step != "one turn" else "")
    angles = known.angles(table["rows"], table["seq_len"], table["d_model"])
    found = np.array(table["values"], dtype=float)
    half = table["d_model"] // 2
    sin = {"interleaved": np.s_[0::2], "sin, cos": np.s_[:half], "cos, sin": np.s_[half:]}
    cos = {"interleaved": np.s_[1::2], "sin, cos": np.s_[half:], "cos, sin": np.s_[:half]}
    atol = {"rtol": 0, "atol": 5e-16}
    np.testing.assert_allclose(found[:, sin[table["layout"]]], np.sin(angles), **atol)
    np.testing.assert_allclose(found[:, cos[table["layout"]]], np.cos(angles), **atol)


@pytest.mark.parametrize("rotation", VECTORS["rotations"])
def test_rotations(rotation):
    positions = torch.tensor(rotation["positions"])
    x = torch.tensor([float(each) for each in rotation["x"]], dtype=torch.float64)
    layout = rotation["layout"]
    found = rotate_pairs(
        x.expand(len(positions), -1), positions, base=float(rotation["base"]), layout=layout
    )
    expected = np.array(rotation["values"], dtype=float)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-9)  # angles in float64


@pytest.mark.parametrize("scaled", VECTORS["frequencies"], ids=lambda each: each["name"])
def test_frequencies(scaled):
    found, factor = rotary_frequencies(
        scaled["d_model"],
        base=float(scaled["base"]),
        scaling=scaled["scaling"],
        max_position_embeddings=scaled["max_position_embeddings"],
        seq_len=scaled["seq_len"],
    )
    np.testing.assert_allclose(found, np.array(scaled["values"], dtype=float), rtol=1e-13, atol=0)
    assert factor == pytest.approx(float(scaled["attention_factor"]), rel=1e-14)


@pytest.mark.parametrize("turned", VECTORS["axes"], ids=lambda each: each["name"])
def test_axes(turned):
    places = torch.tensor(turned["positions"])
    frequencies = torch.zeros(places.shape[1], len(turned["axis"]), dtype=torch.float64)
    for pair, (axis, exponent) in enumerate(zip(turned["axis"], turned["exponents"], strict=True)):
        over, under = map(int, exponent.split("/"))
        frequencies[axis, pair] = float(turned["base"]) ** (-over / under)
    x = torch.tensor([float(each) for each in turned["x"]], dtype=torch.float64)
    found = rotate_pairs(x.expand(len(places), -1), places, frequencies=frequencies)
    expected = np.array(turned["values"], dtype=float)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("asked", VECTORS["multipliers"], ids=lambda each: each["name"])
def test_multipliers(asked):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": asked["scaling"]}
    (layers,) = read_config(config).layers
    assert layers.attention_factor == pytest.approx(float(asked["attention_factor"]), rel=1e-14)
    assert (layers.score_factor or 1) == pytest.approx(float(asked["score_factor"]), rel=1e-14)


def test_a_reader_in_another_language():
    if shutil.which("node") is None:
        pytest.skip("no Node.js: the reader of the test vectors is left out")
    command = ["node", str(ROOT / "tests" / "vectors.mjs")]
    found = subprocess.run([*command, str(FILE)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert re.fullmatch(r"\d{4,} entries agree\n", found.stdout)


def test_the_reader_notices(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("no Node.js: the reader of the test vectors is left out")
    wrong = json.loads(FILE.read_text(encoding="utf-8"))
    wrong["tables"][0]["values"][1][0] = "0.8415"
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    command = ["node", str(ROOT / "tests" / "vectors.mjs"), str(path)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode != 0
    assert "paper, row 1, pair 0" in found.stderr
