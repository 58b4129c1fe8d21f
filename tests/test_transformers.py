"""Records and frequencies are those of transformers, which `make bench` installs."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from posenc import read_config

transformers = pytest.importorskip("transformers", reason="run by `make bench`")

ROOT = Path(__file__).parents[1]
RECORD = yaml.safe_load((ROOT / "tests" / "rotary.yml").read_text(encoding="utf-8"))


def frequencies(width, fields, limit, seq_len):
    """The frequencies and the attention factor that transformers computes."""
    config = transformers.LlamaConfig(
        hidden_size=4 * width,
        num_attention_heads=4,
        head_dim=width,
        max_position_embeddings=limit,
        rope_parameters={"factor": None} | fields if "yarn" in fields.values() else dict(fields),
    )
    kind = fields["rope_type"]
    if kind == "default":
        from transformers.models.stablelm.modeling_stablelm import StableLmRotaryEmbedding as Layer

        return Layer.compute_default_rope_parameters(config)
    compute = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS[kind]
    return compute(config, "cpu", seq_len=seq_len)


@pytest.mark.parametrize("recorded", RECORD, ids=lambda recorded: recorded[1]["rope_type"])
def test_the_record_is_what_transformers_computes(recorded, monkeypatch):
    # Theirs subtracts float32 numbers that are nearly equal; its formulas are what is held to.
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    *asked, expected, attention = recorded
    found, factor = frequencies(*asked)
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=1e-6, atol=0)
    assert factor == attention


# What only the model's code tells, or what isn't a text's: each with what its file leaves out.
UNTOLD = {
    "efficientloftr": "two axes of an image share a head, as partial_rotary_factor 4",
    "embedding_gemma2_text": "width of the last kind of layer",
    "eomt_dinov3": "two axes of an image share a head",
    "ernie4_5_vl_moe_text": "frequencies are ordered by axis",
    "granitemoehybrid": "a base, but no layer with attention",
    "minimax_m3_vl_text": "rotary_dim, which released files state",
    "moonshine": "heads of encoder and decoder apart",
}


def rotating():
    """Every configuration class that rotates, with what its own layer computes."""
    sys.path.append(str(ROOT / "tools"))
    models = importlib.import_module("models")
    for name in transformers.CONFIG_MAPPING:
        try:
            config = transformers.CONFIG_MAPPING[name]()
            if getattr(config, "rope_parameters", None):
                yield name, config, models.rotation(config)
        except Exception:  # needs arguments, or packages that aren't here
            continue


def test_every_class_that_rotates_is_read_as_its_code_does():
    compared = set()
    for name, config, theirs in rotating():
        if name in UNTOLD or "vision" in name:  # images have axes of their own
            continue
        found = read_config(json.loads(json.dumps(config.to_dict(), default=str)))
        for label, values in theirs.items():
            for layers in found.layers:
                if layers.frequencies and label in ("all layers", layers.name):
                    np.testing.assert_allclose(
                        layers.frequencies, values["frequencies"], rtol=1e-4, err_msg=name
                    )
                    assert abs(layers.attention_factor - values["attention_factor"]) < 1e-6
                    compared.add(name)
    assert len(compared) > 180


def test_the_records_are_what_the_classes_say(monkeypatch):
    sys.path.append(str(ROOT / "tools"))
    models = importlib.import_module("models")
    record = json.loads((models.DATA / "models.json").read_text(encoding="utf-8"))
    if record["transformers"] != transformers.__version__:
        pytest.skip(f"the record is of {record['transformers']}: run tools/models.py")
    assert json.loads(json.dumps(models.configurations(), default=str)) == record["models"]
    released = json.loads((models.DATA / "released.json").read_text(encoding="utf-8"))
    assert models.released() == released
