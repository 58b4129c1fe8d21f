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
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
TABLE = VECTORS["tables"][0]


def numbers(texts):
    return np.array(texts, dtype=float)


def test_the_file_is_what_the_tool_writes():
    schema = json.loads(FILE.with_suffix(".schema.json").read_text(encoding="utf-8"))
    assert vectors.vectors() == VECTORS
    jsonschema.validate(VECTORS, schema)
    tables = ({"values": [["1e-3"]]}, {"layout": "sofa"}, {"d_model": 7}, {"first": "0"})
    for broken in ({"format": 2}, {"more": 1}, *({"tables": [TABLE | each]} for each in tables)):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(VECTORS | broken, schema)
    with pytest.raises(jsonschema.ValidationError, match="'tables' is a required property"):
        jsonschema.validate({n: VECTORS[n] for n in VECTORS if n != "tables"}, schema)
    there = {each["convention"] for each in VECTORS["tables"] + VECTORS["rotations"]}
    assert there == set(KNOWN)


@pytest.mark.parametrize(
    "table", VECTORS["tables"], ids=lambda table: f"{table['convention']}-{table['d_model']}"
)
def test_tables(table):
    known = KNOWN[table["convention"]]
    names = ("layout", "direction", "first")
    assert {name: table[name] for name in names} == {name: getattr(known, name) for name in names}
    assert table["exponent"] == f"i/({known.rule})"
    assert table["step"] in (known.step, f"{known.step:g}" if known.step != "one turn" else "")
    angles = known.angles(table["rows"], table["seq_len"], table["d_model"])
    found, half = numbers(table["values"]), table["d_model"] // 2
    parts = {"interleaved": (found[:, ::2], found[:, 1::2])}
    parts |= {"sin, cos": (found[:, :half], found[:, half:])}
    parts |= {"cos, sin": (found[:, half:], found[:, :half])}
    for part, function in zip(parts[table["layout"]], (np.sin, np.cos), strict=True):
        np.testing.assert_allclose(part, function(angles), rtol=0, atol=5e-16)


def turned(case, **options):
    """What the package makes of a case's x at its positions."""
    positions, x = torch.tensor(case["positions"]), torch.from_numpy(numbers(case["x"]))
    return rotate_pairs(x.expand(len(positions), -1), positions, **options).numpy()


@pytest.mark.parametrize("case", VECTORS["rotations"])
def test_rotations(case):
    found = turned(case, base=float(case["base"]), layout=case["layout"])
    np.testing.assert_allclose(found, numbers(case["values"]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", VECTORS["axes"], ids=lambda case: case["name"])
def test_axes(case):
    powers = [over / under for over, under in (map(int, e.split("/")) for e in case["exponents"])]
    follows = np.array(case["axis"]) == np.arange(len(case["positions"][0]))[:, None]
    found = turned(case, frequencies=follows * float(case["base"]) ** -np.array(powers))
    np.testing.assert_allclose(found, numbers(case["values"]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", VECTORS["frequencies"], ids=lambda case: case["name"])
def test_frequencies(case):
    names = ("d_model", "scaling", "max_position_embeddings", "seq_len")
    asked = {name: case[name] for name in names}
    found, factor = rotary_frequencies(base=float(case["base"]), **asked)
    np.testing.assert_allclose(found, numbers(case["values"]), rtol=1e-13, atol=0)
    assert factor == pytest.approx(float(case["attention_factor"]), rel=1e-14)


@pytest.mark.parametrize("case", VECTORS["multipliers"], ids=lambda case: case["name"])
def test_multipliers(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    assert layers.attention_factor == pytest.approx(float(case["attention_factor"]), rel=1e-14)
    assert (layers.score_factor or 1) == pytest.approx(float(case["score_factor"]), rel=1e-14)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js: its reader is left out")
def test_a_reader_in_another_language_agrees_and_notices(tmp_path):
    wrong = json.loads(FILE.read_text(encoding="utf-8"))
    wrong["tables"][0]["values"][1][0] = "0.8415"
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(wrong), encoding="utf-8")
    command = ["node", str(ROOT / "tests" / "vectors.mjs")]
    right = subprocess.run([*command, FILE], capture_output=True, text=True)
    found = subprocess.run([*command, path], capture_output=True, text=True)
    assert re.fullmatch(r"\d{4,} entries agree\n", right.stdout), right.stderr
    assert found.returncode != 0
    assert "paper, row 1, pair 0" in found.stderr
