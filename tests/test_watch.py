"""What `read_config` and the record say is what transformers runs, which `make bench` installs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import transformers
import watch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from posenc import read_config
from posenc.config.fields import TYPES
from posenc.layers import ROTARY

# Fields by which code chooses another way; a type's file gets those that its class has.
CHOICES = """{"rope_theta": 12345.0}
{"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}
{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.7}}
{"partial_rotary_factor": 0.5}
{"sliding_window": 3}
{"sliding_window": null}
{"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 2}
{"layer_types": SIX_LAYERS}
{"rope_interleave": false}
{"no_rope_layer_interval": 3}
{"no_rope_layers": [0, 1, 1, 0, 1, 1]}
{"attention_chunk_size": null}
{"use_mem_rope": true}
{"position_embedding_type": "rope"}
{"position_embedding_type": "nope"}
{"position_embedding_type": "rotary"}
{"position_embedding_type": "absolute"}
{"position_embeddings_type": "rotary"}
{"position_embeddings_type": null}
{"alibi": true}
{"rotary_dim": 16}
{"head_dim": 32}
{"qk_rope_head_dim": 32}"""
SIX_LAYERS = ["full_attention", "sliding_attention"] * 3
ALWAYS = {"rope_theta", "rope_scaling", "partial_rotary_factor"}
# Their code moves neighbors apart, into halves, in queries and keys alike.
PERMUTED = {"deepseek_v3", "deepseek_v32", "kimi_k2"}
# Their code doesn't hand over queries and keys.
UNSEEN = {"bloom", "deberta-v2", "falcon", "mamba", "mamba2", "mpnet", "mpt"}
# They hear, or can't be small.
UNSEEN |= {"wav2vec2", "wav2vec2-bert", "whisper"}
# Fields that only the code of the release reads: the table has a note.
OF_RELEASE = {"mimo_v2_flash": {"rope_theta", "partial_rotary_factor"}}
TYPES_OF_TEXT = [
    kind
    for kind, entry in TYPES.items()
    if hasattr(transformers, entry.code)
    and "image_size" not in entry.defaults
    and "image" not in entry.axes
    and kind not in UNSEEN
]


def differences(fields, calls):
    """Yield where calls of a small model's attention are otherwise than its file is read."""
    groups = read_config(fields).layers
    layers_of = {i: layers for layers in groups for i in layers.indices}
    for call in calls:
        layers = layers_of[call.layer]
        if layers.where is None:  # the reading says so
            continue
        if fields["model_type"] in PERMUTED:
            layers = replace(layers, pairing="halves")
        for check in (differences_of_keys, differences_of_scores, differences_of_masks):
            for difference in check(call, layers):
                yield f"layer {call.layer} {difference}"


def differences_of_keys(call, layers):
    """Yield whether keys, which are the same but for their turns, turn otherwise than read."""
    keys = call.keys.numpy()
    expected = np.broadcast_to(keys[0], keys.shape)
    limit = 5e-6
    if layers.where == ROTARY:
        # What turns the first key into the others, without the factor that all have.
        plain = replace(layers, attention_factor=1.0)
        expected = layers.rotate(expected, plain.turns(np.arange(len(keys))))
        limit = 2e-5
    error = np.abs(expected - keys).max() / np.abs(keys).max()
    if error > limit:
        yield f"has keys that differ by {error:.1g}, read {layers.where}"


def differences_of_scores(call, layers):
    """Yield whether scores are multiplied otherwise than read."""
    if layers.score_factor:
        # The usual scale is one over the root of the width; code passes it with the factor in it.
        factor = layers.score_factor * layers.head_dim**-0.5 / call.scale
        if abs(factor - 1) > 1e-4:
            yield f"has scores that are read {factor} times too large"


def differences_of_masks(call, layers):
    """Yield whether a causal mask lets a query see from another key on than read."""
    if call.mask is None:
        return
    hidden = call.mask[0, 0].numpy() != 0  # (queries, keys)
    places = np.arange(len(hidden))
    is_causal = hidden[places[:, None] < places].all()
    first_seen = hidden.argmin(axis=1)  # of each query
    if layers.chunk:
        expected = places // layers.chunk * layers.chunk
    else:
        expected = places + 1 - (layers.window or len(hidden))
    if is_causal and (first_seen != np.maximum(expected, 0)).any():
        yield f"sees otherwise than window {layers.window}, chunk {layers.chunk}"


def choices_of(kind):
    """The choices whose fields the configuration's class or the code of the release has."""
    has = watch.class_of(kind).config_class().to_dict().keys() | ALWAYS
    for line in CHOICES.splitlines():
        choice = json.loads(line.replace("SIX_LAYERS", json.dumps(SIX_LAYERS)))
        if choice.keys() <= has - OF_RELEASE.get(kind, set()):
            yield choice


@pytest.mark.parametrize("kind", TYPES_OF_TEXT)
def test_each_type_runs_as_it_is_read(kind):
    small = watch.small_fields(kind)
    calls = watch.watched(small)  # each type must run as it is
    assert calls, "no attention was seen: do the names that `watch` uses still hold?"
    apart = {"as it is": [*differences(small, calls)]}
    for choice in choices_of(kind):
        fields = small | choice
        try:
            calls = watch.watched(fields)
        except Exception:  # transformers refuses some combinations
            continue
        apart[json.dumps(choice)] = [*differences(fields, calls)]
    assert not any(apart.values()), apart
    assert len(apart) > 1


RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text("utf-8"))


# Those without a factor are plain, or lack what the function needs.
@pytest.mark.parametrize(
    "case", [case for case in RECORD if "factor" in case["scaling"]]
)
def test_the_record_of_frequencies_is_what_it_computes(case):
    config = LlamaConfig(
        hidden_size=case["d_model"],
        num_attention_heads=1,
        max_position_embeddings=case["max_position_embeddings"],
        rope_parameters=dict(case["scaling"]),
    )
    compute = ROPE_INIT_FUNCTIONS[case["name"]]
    omega, factor = compute(config, device="cpu", seq_len=case["seq_len"])
    expected = [*case["values"], case["attention_factor"]]
    np.testing.assert_allclose([*omega, factor], expected, rtol=1e-5)
