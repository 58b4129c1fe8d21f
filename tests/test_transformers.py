"""Records and frequencies match those of transformers, which `make bench` installs."""

import json

import numpy as np
import pytest
import torch

from posenc import read_config

transformers = pytest.importorskip("transformers", reason="run by `make bench`")

import models  # noqa: E402
from transformers.models.stablelm.modeling_stablelm import StableLmRotaryEmbedding  # noqa: E402

RECORD = json.loads((models.DATA.parents[1] / "tests" / "rotary.json").read_text("utf-8"))
MODELS, RELEASED = (
    json.loads((models.DATA / f"{name}.json").read_text("utf-8")) for name in ("models", "released")
)


@pytest.mark.parametrize("recorded", RECORD, ids=lambda recorded: recorded[1]["rope_type"])
def test_the_record_is_what_transformers_computes(recorded, monkeypatch):
    # Compare formulas, in float64: in float32, theirs subtract nearly equal numbers.
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    width, fields, limit, seq_len, expected, attention = recorded
    kind = fields["rope_type"]
    config = transformers.LlamaConfig(
        hidden_size=4 * width,
        num_attention_heads=4,
        head_dim=width,
        max_position_embeddings=limit,
        rope_parameters=({"factor": None} if kind == "yarn" else {}) | fields,
    )
    if kind == "default":
        found, factor = StableLmRotaryEmbedding.compute_default_rope_parameters(config)
    else:
        compute = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS[kind]
        found, factor = compute(config, "cpu", seq_len=seq_len)
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=1e-6, atol=0)
    assert factor == attention


# Models whose positions only the code tells, or that aren't text models, with the reason.
UNTOLD = {
    "efficientloftr": "two axes of an image share a head, as partial_rotary_factor 4",
    "embedding_gemma2_text": "width of the last kind of layer",
    "eomt_dinov3": "two axes of an image share a head",
    "ernie4_5_vl_moe_text": "frequencies are ordered by axis",
    "granitemoehybrid": "a base, but no layer with attention",
    "minimax_m3_vl_text": "rotary_dim, which released files state",
    "moonshine": "heads of encoder and decoder apart",
}


def test_every_class_that_rotates_is_read_as_its_code_does():
    compared = set()
    for name in transformers.CONFIG_MAPPING:
        try:
            config = transformers.CONFIG_MAPPING[name]()
            theirs = models.rotation(config) if getattr(config, "rope_parameters", None) else {}
        except Exception:  # needs arguments or missing packages
            continue
        if name in UNTOLD or "vision" in name or not theirs:  # images have several axes
            continue
        found = read_config(json.loads(json.dumps(config.to_dict(), default=str)))
        for layers in (each for each in found.layers if each.frequencies):
            for label in theirs.keys() & {"all layers", layers.name}:
                expected = theirs[label]["frequencies"]
                np.testing.assert_allclose(layers.frequencies, expected, rtol=1e-4, err_msg=name)
                assert abs(layers.attention_factor - theirs[label]["attention_factor"]) < 1e-6
                compared.add(name)
    assert len(compared) > 180


def test_the_records_are_what_the_classes_say():
    if MODELS["transformers"] != transformers.__version__:
        pytest.skip(f"recorded with {MODELS['transformers']}: run tools/models.py")
    assert json.loads(json.dumps(models.configurations(), default=str)) == MODELS["models"]
    assert models.released() == RELEASED
