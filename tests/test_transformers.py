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

# As `test_vectors` describes it; the others have plain frequencies, or lack what it needs.
RECORD = json.loads(Path(__file__).with_name("rotary.json").read_text("utf-8"))
STRETCHED = [row for row in RECORD if "factor" in row[1]]


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


@pytest.mark.parametrize("row", STRETCHED, ids=lambda row: row[1]["rope_type"])
def test_the_record_of_frequencies_is_what_it_computes(row):
    width, scaling, limit, seq_len, expected, attention = row
    config = LlamaConfig(
        hidden_size=width,
        num_attention_heads=1,
        max_position_embeddings=limit,
        rope_parameters=dict(scaling),
    )
    compute = ROPE_INIT_FUNCTIONS[scaling["rope_type"]]
    omega, factor = compute(config, device="cpu", seq_len=seq_len)
    np.testing.assert_allclose([*omega, factor], [*expected, attention], rtol=1e-5)
