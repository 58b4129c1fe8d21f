"""The package computes what transformers does; `make bench` installs it.

`test_watch` holds rotations to it, in both pairings.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaConfig
from transformers.models.t5.modeling_t5 import T5Attention

from posenc import alibi_bias, t5_buckets

# The frequencies that `test_vectors` compares; the others are plain, or lack what it needs.
RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text("utf-8"))
STRETCHED = [case for case in RECORD if "factor" in case["scaling"]]


@pytest.mark.parametrize("both", [True, False])
def test_buckets_are_t5_s(both):
    offsets = torch.arange(-300, 300)
    expected = T5Attention._relative_position_bucket(offsets, bidirectional=both)
    ours = t5_buckets(offsets, bidirectional=both)
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("n_heads", [8, 12])
def test_biases_are_bloom_s(n_heads):
    # Bloom adds slope · key; in a row of scores that differs from ours by a constant.
    theirs = build_alibi_tensor(torch.ones(1, 9), n_heads, torch.float32)[:, 0]
    ours = alibi_bias(n_heads, [8], range(9))[:, 0]
    np.testing.assert_allclose(ours - ours[:, :1], theirs, rtol=1e-6)


@pytest.mark.parametrize("case", STRETCHED, ids=lambda case: case["name"])
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
