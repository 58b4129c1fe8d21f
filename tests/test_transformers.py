"""The rotary frequencies are those of transformers, which `make bench` installs."""

import importlib
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from posenc import read_config, rotary_frequencies

transformers = pytest.importorskip("transformers", reason="run by `make bench`")

ROOT = Path(__file__).parents[1]
WIDTHS = (8, 32, 64, 96, 128, 256)
BASES = (10_000.0, 500_000.0, 1_000_000.0, 150_000.0)
FACTORS = (1.0, 1.5, 2.0, 8.0, 32.0)


def draw(kind, rng):
    """One setting of a type: the width, the mapping, both lengths."""
    width = rng.choice(WIDTHS[kind == "dynamic" :])  # of one pair, theirs divides by zero
    trained = rng.choice((2048, 4096, 8192, 32_768))
    fields = {"rope_type": kind, "rope_theta": rng.choice(BASES)}
    factor = rng.choice(FACTORS)
    limit = int(trained * factor)
    seq_len = rng.choice((None, 100, trained, trained + 1, 4 * limit))
    share = rng.choice((None, None, 0.5, 0.25))
    if share:
        fields["partial_rotary_factor"] = share
    if kind in ("linear", "dynamic", "proportional", "llama3", "yarn", "longrope"):
        fields["factor"] = factor
    if kind in ("yarn", "longrope", "llama3"):
        fields["original_max_position_embeddings"] = trained
    if kind == "llama3":
        fields["low_freq_factor"] = rng.choice((1.0, 2.0))
        fields["high_freq_factor"] = rng.choice((4.0, 8.0))
    if kind == "yarn":
        fields |= rng.choice(
            (
                {},
                {"beta_fast": 16, "beta_slow": 2},
                {"attention_factor": 0.8},
                {"mscale": 1.0, "mscale_all_dim": 0.7},
                {"truncate": False},
                {"factor": None},
            )
        )
    if kind == "longrope":
        pairs = int(width * (share or 1)) // 2
        fields["short_factor"] = [rng.uniform(1, 2) for _ in range(pairs)]
        fields["long_factor"] = [rng.uniform(1, 50) for _ in range(pairs)]
        fields |= rng.choice(({}, {"attention_factor": 1.2}, {"factor": None}))
    return width, fields, limit, seq_len


def theirs(width, fields, limit, seq_len):
    """The frequencies and the attention factor that transformers computes."""
    config = transformers.LlamaConfig(
        hidden_size=4 * width,
        num_attention_heads=4,
        head_dim=width,
        max_position_embeddings=limit,
        rope_parameters=dict(fields),
    )
    kind = fields["rope_type"]
    if kind == "default":
        from transformers.models.stablelm.modeling_stablelm import StableLmRotaryEmbedding as Layer

        return Layer.compute_default_rope_parameters(config)
    compute = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS[kind]
    return compute(config, "cpu", seq_len=seq_len)


KINDS = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_equals_transformers(kind, seed, monkeypatch):
    # Theirs subtracts float32 numbers that are nearly equal; its formulas are what is held to.
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    width, fields, limit, seq_len = draw(kind, random.Random(f"{kind} {seed}"))
    expected, attention = theirs(width, fields, limit, seq_len)
    found, factor = rotary_frequencies(
        width, scaling=fields, max_position_embeddings=limit, seq_len=seq_len
    )
    np.testing.assert_allclose(found, expected.double().numpy(), rtol=1e-6, atol=0)
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
