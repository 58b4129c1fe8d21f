"""What `read_config` says of each type is what transformers runs, which `make bench` installs."""

import json
from dataclasses import replace

import numpy as np
import pytest

transformers = pytest.importorskip("transformers", reason="run by `make bench`")

import watch  # noqa: E402

from posenc import read_config  # noqa: E402
from posenc.config.fields import TYPES  # noqa: E402
from posenc.layers import ROTARY  # noqa: E402

# Fields by which code chooses another way; a type's file gets those that its class has.
CHOICES = """{}
{"rope_theta": 12345.0}
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
# Its code doesn't hand over queries and keys.
UNSEEN = {"falcon"}
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
    reading = read_config(fields)
    read = {i: layers for layers in reading.layers for i in layers.indices}
    for i, keys, mask, scale in calls:  # a `watch.Call`, whose layer has a number here
        layers, keys = read[i], keys.numpy()
        turned = np.ptp(keys, axis=0).max() > 1e-5 * np.abs(keys).max()
        if layers.where is None:  # the reading says so
            continue
        if turned != (layers.where == ROTARY):
            yield f"layer {i} turns: {turned}, read {layers.where}"
        elif turned:
            if fields["model_type"] in PERMUTED:
                layers = replace(layers, pairing="halves")
            # What turns the first key into the others, without the factor that all have.
            turns = replace(layers, attention_factor=1.0).turns(np.arange(len(keys)))
            expected = layers.rotate(np.broadcast_to(keys[0], keys.shape), turns)
            error = np.abs(expected - keys).max() / np.abs(keys).max()
            if error > 2e-5:
                yield f"keys of layer {i} differ by {error:.1g}"
        if layers.score_factor:
            factor = layers.score_factor * layers.head_dim**-0.5 / scale
            if abs(factor - 1) > 1e-4:
                yield f"scores of layer {i} are read {factor} times too large"
        yield from differences_of_masks(i, layers, mask)


def differences_of_masks(i, layers, mask):
    """Yield where a causal mask lets a query see from another key on."""
    hidden = None if mask is None else mask[0, 0].numpy() != 0
    if hidden is None or not hidden[np.triu_indices(len(hidden), 1)].all():
        return
    rows = np.arange(len(hidden))
    first = rows + 1 - (layers.window or len(hidden))
    if layers.chunk:
        first = rows // layers.chunk * layers.chunk
    if (hidden.argmin(1) != np.maximum(first, 0)).any():
        yield f"layer {i} sees otherwise than window {layers.window}, chunk {layers.chunk}"


def choices_of(kind):
    """The choices whose fields the configuration's class or the code of the release has."""
    has = watch.class_of(kind).config_class().to_dict().keys() | ALWAYS
    for line in CHOICES.splitlines():
        choice = json.loads(line.replace("SIX_LAYERS", json.dumps(SIX_LAYERS)))
        if choice.keys() <= has - OF_RELEASE.get(kind, set()):
            yield choice


def tried(fields):
    """What attention gets, or the error by which transformers refuses some combinations."""
    try:
        return watch.watched(fields)
    except Exception as error:
        return error


@pytest.mark.parametrize("kind", TYPES_OF_TEXT)
def test_each_type_runs_as_it_is_read(kind):
    small = watch.small_fields(kind)
    plain = tried(small)
    if isinstance(plain, Exception):
        pytest.skip(f"{type(plain).__name__}: {plain}"[:200])
    apart = {}
    for choice in choices_of(kind):
        calls = tried(small | choice)
        # Not within `tried`: if the package fails on a file that runs, that is a failure.
        if not isinstance(calls, Exception):
            apart[json.dumps(choice)] = [*differences(small | choice, calls)]
    assert not any(apart.values()), apart
    assert len(apart) > 1
