"""Both the tool and the package reproduce the test vectors."""

import json

import jsonschema
import numpy as np
import pytest
import torch
import vectors

from posenc import read_config, rotary_frequencies
from posenc.checks import KNOWN
from posenc.checks.conventions import join
from posenc.nn import rotate_pairs
from posenc.scaling import SCALINGS

VECTORS = json.loads(vectors.FILE.read_text(encoding="utf-8"))


def each_of(part):
    names = [next(iter(case.values())) for case in VECTORS[part]]
    return pytest.mark.parametrize("case", VECTORS[part], ids=names)


def near(found, texts, rtol=0.0, atol=0.0):
    np.testing.assert_allclose(found, np.array(texts, dtype=float), rtol=rtol, atol=atol)


def test_the_file_is_what_the_tool_computes():
    assert vectors.computed(VECTORS) == VECTORS
    assert {each["convention"] for each in VECTORS["tables"] + VECTORS["rotations"]} == {*KNOWN}


def test_the_schema_describes_the_file():
    schema = json.loads(vectors.FILE.with_suffix(".schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(VECTORS, schema)
    wrong = VECTORS["tables"][0] | {"values": [["1e-3"]]}
    for broken in ({"format": 2}, {"more": 1}, {"tables": [wrong]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(VECTORS | broken, schema)


@each_of("tables")
def test_tables(case):
    known = KNOWN[case["convention"]]
    for name in ("layout", "direction", "first"):
        assert case[name] == getattr(known, name)
    assert case["exponent"] == f"i/({known.rule})"
    assert case["step"] == (known.step if known.step == "one turn" else f"{known.step:g}")
    angles = known.angles(case["rows"], case["seq_len"], case["d_model"])
    near(join(np.exp(1j * angles), known.layout), case["values"], atol=5e-16)


def turned(case, **options):
    """A case's x, rotated by the package to the case's positions."""
    positions, x = torch.tensor(case["positions"]), torch.tensor([*map(float, case["x"])])
    return rotate_pairs(x.double().expand(len(positions), -1), positions, **options).numpy()


@each_of("rotations")
def test_rotations(case):
    found = turned(case, base=float(case["base"]), pairing=case["layout"])
    near(found, case["values"], atol=1e-9)


@each_of("axes")
def test_axes(case):
    powers = [over / under for over, under in (map(int, e.split("/")) for e in case["exponents"])]
    follows = np.array(case["axis"]) == np.arange(len(case["positions"][0]))[:, None]
    omega = follows * float(case["base"]) ** -np.array(powers)
    found = turned(case, frequencies=omega, pairing="neighbors")
    near(found, case["values"], atol=1e-9)


@each_of("frequencies")
def test_frequencies(case):
    names = ("d_model", "scaling", "max_position_embeddings", "seq_len")
    asked = {name: case[name] for name in names}
    found, factor = rotary_frequencies(base=float(case["base"]), **asked)
    near(found, case["values"], rtol=1e-13)
    near(factor, case["attention_factor"], rtol=1e-14)


def test_every_type_of_scaling_has_a_vector():
    assert {case["scaling"]["rope_type"] for case in VECTORS["frequencies"]} == {*SCALINGS}


@each_of("multipliers")
def test_multipliers(case):
    config = {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": case["scaling"]}
    (layers,) = read_config(config).layers
    near(layers.attention_factor, case["attention_factor"], rtol=1e-14)
    near(layers.score_factor or 1, case["score_factor"], rtol=1e-14)
