"""`read_config` reads what a file and its type say, and names what it can't read."""

import json
import os
import subprocess
import sys
from itertools import product
from types import MappingProxyType

import pytest
from reading import rows, text_of

from posenc.config import read_config
from posenc.config.__main__ import main
from posenc.config.fields import TYPES, UNKNOWN, WORDS
from posenc.config.verdict import SUGGESTED

RELEASED = json.loads(text_of("notebooks/data/released.json"))
CONFIGS = {name.partition("/")[2]: model["config"] for name, model in RELEASED.items()}
PLAIN = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4}
PLAIN |= {"rope_theta": 10_000.0, "max_position_embeddings": 4096}


# What YARN stands for in the rows below; SUGGESTED stands for the words of the verdict.
YARN = '"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024'


YARNED = json.loads(f"{{{YARN}}}")

# For each kind of layer of a released file: number of layers, where positions enter, or how many
# dimensions turn, in which pairs, by which base, scaling, and slowest frequency (radians).
EXPECTED = rows("""
OLMo-2-1124-7B → 32 128/128 halves 500000 default 2.455e-06
Olmo-3.1-32B-Instruct → 16 128/128 halves 500000 yarn 3.069e-07
Olmo-3.1-32B-Instruct → 48 128/128 halves 500000 default 2.455e-06
bloom → 1 scores, a bias
DeepSeek-V2-Lite → 27 64/192 neighbors 10000 yarn 3.334e-06
DeepSeek-V3 → 61 64/192 neighbors 10000 yarn 3.334e-06
DeepSeek-V4-Pro → None 64/512 None 10000 yarn 2.757e-05
pythia-6.9b → 32 32/128 halves 10000 default 0.0001778
roberta-base → 12 input, a table
bert-base-uncased → 12 input, a table
t5-small → 6 scores, a bias
gemma-2-2b → 13 256/256 halves 10000 default 0.0001075
gemma-2-2b → 13 256/256 halves 10000 default 0.0001075
gemma-3-1b-it → 4 256/256 halves 1000000 default 1.114e-06
gemma-3-1b-it → 22 256/256 halves 10000 default 0.0001075
gemma-3-27b-it → 4 128/128 halves 1000000 linear 1.551e-07
gemma-3-27b-it → 22 128/128 halves 10000 default 0.0001155
gemma-4-26B-A4B → 5 128/512 halves 1000000 proportional 0.03338
gemma-4-26B-A4B → 25 256/256 halves 10000 default 0.0001075
internlm2_5-7b → 32 128/128 None 1000000 dynamic 1.241e-06
Llama-3.2-1B → 16 64/64 halves 500000 llama3 9.418e-08
Llama-4-Scout-17B-16E-Instruct → 36 128/128 neighbors 500000 llama3 1.534e-07
Llama-4-Scout-17B-16E-Instruct → 12 nowhere
Meta-Llama-3.1-8B → 32 128/128 halves 500000 llama3 3.069e-07
deberta-v3-base → 12 scores, by offset
Phi-3.5-mini-instruct → 32 96/96 halves 10000 longrope 4.266e-05
Phi-4-mini-instruct → 32 96/128 halves 10000 longrope 0.0001212
MiniMax-M2.5 → 62 64/128 halves 5000000 default 3.239e-07
Ministral-3-3B-Instruct-2512 → 26 128/128 halves 1000000 yarn 7.756e-08
Mistral-7B-Instruct-v0.3 → 32 128/128 halves 1000000 default 1.241e-06
Mixtral-8x7B-v0.1 → 32 128/128 halves 1000000 default 1.241e-06
Kimi-K2-Instruct → 61 64/192 neighbors 50000 yarn 8.764e-07
mpt-7b → 32 scores, a bias
Nemotron-H-56B-Base-8K → 10 nowhere
Nemotron-H-56B-Base-8K → 54 nowhere, and without attention
Nemotron-H-56B-Base-8K → 54 nowhere, and without attention
gpt2 → 12 input, a table
gpt-oss-20b → 12 64/64 halves 150000 yarn 3.024e-07
gpt-oss-20b → 12 64/64 halves 150000 yarn 3.024e-07
Qwen2.5-7B-Instruct → 28 128/128 halves 1000000 default 1.241e-06
Qwen2.5-VL-7B-Instruct → 28 128/128 halves 1000000 default 1.241e-06
Qwen3-8B → 36 128/128 halves 1000000 default 1.241e-06
Qwen3.5-27B → 16 64/256 halves 10000000 default 1.655e-07
Qwen3.5-27B → 48 nowhere, and without attention
falcon-40b → 60 64/64 halves 10000 default 0.0001334
MiMo-V2-Flash → 9 64/192 halves 5000000 default 3.239e-07
MiMo-V2-Flash → 39 64/192 halves 10000 default 0.0001334
""")


def in_numbers(layers):
    if not layers.frequencies:
        return f"{layers.count} {layers.where}"
    slowest = min(frequency for frequency in layers.frequencies if frequency)
    return (
        f"{layers.count} {layers.rotated}/{layers.head_dim} {layers.pairing} "
        f"{layers.base:.0f} {layers.scaling} {slowest:.4g}"
    )


@pytest.mark.parametrize("name", CONFIGS)
def test_released_files_give_these_numbers(name):
    expected = [numbers for model, numbers in EXPECTED if model == name]
    assert [*map(in_numbers, read_config(CONFIGS[name]).layers)] == expected
    assert {model for model, _ in EXPECTED} == CONFIGS.keys()


# What the file says of its encoding beats the type. Frequencies along the axes of images aren't
# guessed. A share such as 30 of 176 dimensions isn't exact in binary.
ENCODINGS = rows("""
"bert", "position_embedding_type": "alibi" → 4 scores, a bias
"falcon", "alibi": true → 4 scores, a bias
"esm", "position_embedding_type": "absolute" → 4 input, a table
"granitemoehybrid", "position_embedding_type": "nope" → 4 nowhere
"wav2vec2-bert", "position_embeddings_type": "rotary" → 4 64/64 halves 10000 default 0.0001334
"wav2vec2-bert", "position_embeddings_type": null → 4 nowhere
"deepseek_v3", "qk_rope_head_dim": 0 → 4 nowhere
"llama4_vision_model", "image_size": 336 → 4 queries and keys, rotary
"zamba2", "use_mem_rope": true, "kv_channels": 64, "hybrid_layer_ids": [0, 1, 2, 3]
    → 4 128/128 halves 10000 default 0.0001155
"phi", "partial_rotary_factor": 0 → 4 nowhere
"phi", "rope_parameters": {"partial_rotary_factor": 0} → 4 nowhere
"phi", "partial_rotary_factor": 0, "rope_parameters": {"partial_rotary_factor": 0.5}
    → 4 32/64 halves 10000 default 0.0001778
"mpnet", "relative_attention_num_buckets": 9 → 4 scores, a bias; input, a table
"mpt", "attn_config": {"alibi": false} → 4 input, a table
"nemotron_h", "layer_types": ["attention", "attention", "attention", "attention"] → 4 nowhere
"phi", "head_dim": 176, "rope_scaling": {"type": "proportional", "partial_rotary_factor": 0.1706}
    → 4 30/176 halves 10000 proportional 0.231
"pixtral", "patch_size": 14, "position_embedding_type": "rope" → 4 queries and keys, rotary
"clip_vision_model", "patch_size": 14, "position_embedding_type": "rope"
    → 4 queries and keys, rotary
"unknown", "patch_size": 14, "position_embedding_type": "rope" → 4 queries and keys, rotary
"deepseek_v3", "rope_interleave": "64" → 4 64/192 None 10000 default 0.0001334
"gemma2", "layer_types": "64" → None 256/256 halves 10000 default 0.0001075
""")


@pytest.mark.parametrize(("fields", "expected"), ENCODINGS)
def test_where_positions_enter_is_read_from_file_and_type(fields, expected):
    fields = fields.replace("YARN", YARN)
    layers = read_config(PLAIN | json.loads(f'{{"model_type": {fields}}}')).layers
    assert {*map(in_numbers, layers)} == {expected}


# Fields of a file that has PLAIN, and a part of the verdict.
VERDICTS = rows("""
"dim": 4096, "n_heads": 32, "norm_eps": 1, "use_scaled_rope": true
    → Not read, though it may change this: use_scaled_rope; RoPE in all 4 layers
"dim": 4096, "n_heads": 32, "norm_eps": 1, "use_hf_rope": false, "no_rope_layer_interval": 4
    → this: no_rope_layer_interval; SUGGESTED RoPE in some or all layers, base 10,000
"dim": 4096, "n_heads": 32, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64
    → the fields suggest RoPE in all 4 layers, base 10,000, 64 of 192 dimensions
"model_type": "deepseek_v2", "use_mla": false, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0
    → the fields suggest RoPE in all 4 layers, base 10,000: no contradiction
"model_type": "llama", "no_rope_layer_interval": 4 → Not read, though it
"model_type": "nemotron_h"
    → and no attention in 1 of 4 layers (moe) (by default: layer_types): nothing wrong
"pe": "rotary", "pe_rotary_dims": 32 → RoPE in all 4 layers, base 10,000, 32 of 64 dimensions
"model_type": "a" → the fields suggest RoPE in all 4 layers, base 10,000
"rope_new": 1 → Not read, though it may change this: rope_new;
"rope": true → base 10,000: no contradiction
"rope_scaling": {YARN, "type": "deepseek_yarn"} → 1,024 stretched to 4,096
"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}
    → : rope_scaling has no original_max_position_embeddings: transformers falls back to max_pos
"rope_scaling": {YARN, "factor": "4"} → rope_scaling: scaling['factor'] must be a real
"hidden_size": null, "rope_scaling": {"type": "linear", "factor": "x"}
    → rope_scaling: scaling['factor'] must be a real number
"hidden_size": null, "rope_scaling": {YARN, "factor": "4"}
    → ; stretched by yarn: rope_scaling: scaling['factor'] must be a real number
"rope_scaling": {YARN, "type": "linear"} → scaling['rope_type'] and scaling['type'] differ
"rope_scaling": {"type": "odd"} → rope_scaling: a scaling's type must be one of default; linear
"model_type": "llama", "rope_theta": null
    → 1e+18, got null); RoPE in all 4 layers: no contradiction
"model_type": "llama", "rope_scaling": "yarn" → this: rope_scaling (must be a mapping, got "yarn");
"model_type": "llama", "rope_scaling": {"rope_type": 5} → rope_scaling.rope_type (must be a string,
"model_type": "llama", "head_dim": "64" → this: head_dim (must be an integer from 1 to 1000000, got
"model_type": "zamba2", "use_mem_rope": true, "hybrid_layer_ids": [1]
    → RoPE in 1 of 4 layers (full_attention), base 10,000, and no attention in 3
"model_type": "zamba2", "layers_block_type": ["hybrid", "mamba", "mamba", "mamba", "mtp"]
    → No encoding in 1 of 4 layers (hybrid), and no attention in 3 of 4 layers (mamba)
"model_type": "zamba2", "layers_block_type": ["hybrid", "mamba"]
    → layers_block_type (must be a list of kinds of layers, 4 or more, got ["hybrid", "mamba"])
"model_type": "zamba2", "use_long_context": true → Not read, though it
"model_type": "jamba", "attn_layer_period": 3, "attn_layer_offset": 1
    → No encoding in 1 of 4 layers (full_attention), and no attention in 3
"model_type": "kimi_linear", "linear_attn_config": {"kda_layers": [2]}, "mla_use_nope": true
    → this: linear_attn_config; SUGGESTED no encoding in some or all layers
"model_type": "mllama_text_model", "cross_attention_layers": [1]
    → this: cross_attention_layers; SUGGESTED RoPE in some or all layers, base 10,000
"model_type": "minimax_text_01", "attn_type_list": [0, 0, 0, 1]
    → this: attn_type_list; SUGGESTED RoPE in some or all layers, base 10,000
"model_type": "exaone4", "sliding_window_pattern": "LLLG", "layer_types": ["full_attention"]
    → this: sliding_window_pattern, layer_types; SUGGESTED RoPE in some or all layers
"model_type": "nemotron-nas", "block_configs": [{"attention": {"no_op": true}}]
    → this: block_configs; SUGGESTED RoPE in some or all layers, base 10,000
"model_type": "ring", "layer_group_size": 5, "mamba_d_state": 16
    → this: layer_group_size, mamba_d_state; SUGGESTED RoPE in some or all layers
"rope_parameters": {"full_attention": {"rope_theta": 1e6}}, "layer_types": ["full_attention"]
    → this: layer_types; SUGGESTED RoPE in full_attention, base 1,000,000
"model_type": "mimo_v2_flash", "rope_scaling": {"partial_rotary_factor": 3}
    → rope_scaling.partial_rotary_factor (must be a positive number, at most 1, got 3)
"model_type": "llama", "rotary_pct": 0.5 → this: rotary_pct; RoPE in all 4 layers, base 10,000: no
"model_type": "llama", "rotary_pct": 1.0 → RoPE in all 4 layers, base 10,000: nothing wrong
"model_type": "llama", "rope_parameters": {"partial_rotary_factor": 0.5}
    → this: rope_parameters.partial_rotary_factor; RoPE in all 4 layers, base 10,000: no
"model_type": "llama", "rope_parameters": {"full": {"rope_pct": 0.5}}
    → this: rope_parameters.full; RoPE in all 4 layers, base 10,000
"model_type": "qwen3", "use_sliding_window": true, "max_window_layers": 3, "sliding_window": 9
    → RoPE in 3 of 4 layers (full_attention), base 10,000, and RoPE in 1 of 4 layers (sliding_
"model_type": "smollm3", "use_sliding_window": true, "sliding_window": 9
    → this: sliding_window; RoPE in 3 of 4 layers, base 10,000, and no encoding in 1 of 4 layers
"rope_theta": 0 → this: rope_theta (must be a positive number, at most 1e+18, got 0); SUGGESTED RoPE
"rope_scaling": {}, "rope_parameters": {"rope_type": "odd"} → rope_parameters: a scaling's type
"rope_scaling": {"rope_type": "linear", "factor": 2}, "rope_parameters": {"rope_theta": 777}
    → this: rope_parameters; SUGGESTED RoPE in some or all layers, base 10,000; stretched by linear
"model_type": "llama", "rope_interleave": true → Not read, though it may change this: rope_interl
"model_type": "falcon", "position_embedding_type": "relative"
    → Nothing about positions in all 4 layers: the file asks for 'relative', which isn't known here
"rope_parameters": {"rope_theta": 777}
    → this: rope_theta; SUGGESTED RoPE in some or all layers, base 777
"model_type": "llama", "rope_parameters": {"rope_theta": 777} → this: rope_theta; RoPE in all
"rope_parameters": {"rope_theta": 1e4, "a": {"rope_theta": 1e4}, "b": {"rope_theta": 1e4}}
    → the fields suggest RoPE in a, base 10,000, and RoPE in b, base 10,000: no contradiction
"model_type": "smollm3", "rope_parameters": {"full_attention": {"rope_x": 3}}, "layer_types": "0000"
    → this: rope_parameters.full_attention.rope_x; RoPE in 3 of 4 layers (full_attention)
"n_positions": 777 → this: n_positions;
"per_layer_config": {"1": {"head_dim": 32}} → this: per_layer_config;
"axes_dims_rope": [16, 56, 56] → this: axes_dims_rope;
"rope_scaling": {"mrope_section": [8, 12]} → 64 of 64 dimensions can't turn in pairs, by
"hidden_size": null, "rope_scaling": {"mrope_section": [8]} → no contradiction
"rope_scaling": {"mrope_section": [-16, 40, 8]} → .mrope_section (must be a list of integers from 0
"model_type": "gptj", "rotary_dim": 33
    → 33 of 64 dimensions can't turn in pairs, by head_dim, rotary_dim
"model_type": "gptj", "rotary_dim": 999 → 999 of 64 dimensions can't turn in pairs
"model_type": "llama", "qk_rope_head_dim": 128 → 128 of 64 dimensions can't turn in pairs
"model_type": "llama", "hidden_size": 130, "num_attention_heads": 4
    → hidden_size, 130, isn't a multiple of num_attention_heads, 4
"model_type": "deepseek_v3", "rope_scaling": {YARN, "mscale_all_dim": -5}
    → rope_scaling: scaling['mscale_all_dim'] must be positive, got -5
"rope_scaling": {YARN, "factor": 1.3}, "max_position_embeddings": 1331
    → 1,024 stretched to 1,331 by yarn: no contradiction
"model_type": "qwen3", "layer_types": "full"
    → layer_types (must be a list of kinds of layers, 4 or more, got "full"); RoPE in some
"model_type": "falcon", "alibi": 1 → this: alibi (must be true or false, got 1); RoPE in all 4
"model_type": "falcon", "alibi": "yes"
    → this: alibi (must be true or false, got "yes"); RoPE in all 4
"model_type": "phi", "rotary_dim": 48 → this: rotary_dim; RoPE in all 4 layers, base 10,000, 32
"model_type": "llama", "position_embedding_type": "none"
    → No encoding in all 4 layers: the file asks for something that LlamaModel doesn't do
"model_type": "gptj", "rotary_dim": false
    → rotary_dim (must be an integer from 0 to 1000000, got false)
"model_type": "deepseek_v3", "qk_nope_head_dim": null
    → this: qk_nope_head_dim (must be an integer from 0
"model_type": "gemma3_text", "sliding_window_pattern": null
    → this: sliding_window_pattern (must be an integer from 1 to 1e+12, got null); RoPE in some or
"model_type": "zamba2", "use_mem_rope": true, "hybrid_layer_ids": [1], "head_dim": -7
    → : nothing wrong
"model_type": "gemma2", "layer_types": ["full_attention"]
    → RoPE in full_attention, base 10,000, and RoPE in sliding_attention, base 10,000 (by default:
"model_type": "gemma2", "layer_types": [["a"], {"b": 1}, null, "full_attention"]
    → RoPE in full_attention, base 10,000, and RoPE in sliding_attention, base 10,000 (by default:
"model_type": "llama4_text", "no_rope_layers": [1, 0]
    → this: no_rope_layers (must be a list of integers from 0 on, 4 or more, got [1, 0]); RoPE in ch
"model_type": "smollm3", "no_rope_layer_interval": null
    → this: no_rope_layer_interval (must be an integer from 1 to 1e+12, got null); RoPE in some or
"model_type": "qwen2", "use_sliding_window": null
    → this: use_sliding_window (must be true or false, got null); RoPE in some or all layers
"model_type": "qwen3_vl_text", "layer_types": "full" → RoPE in some or all layers, base 10,000
"model_type": "mistral", "layer_types": "0101"
    → this: layer_types; RoPE in all 4 layers, base 10,000 (by default: sliding_window)
"model_type": "llama", "global_rope_theta": 777 → this: global_rope_theta; RoPE in all 4 layers
"model_type": "gemma2", "sliding_window_pattern": 4 → RoPE in 2 of 4 layers (full_attention)
"model_type": "olmo3", "rope_local_base_freq": 777 → Not read, though it may change this: rope_loc
"model_type": "gpt_neox", "rope_parameters": {"partial_rotary_factor": 0.5} → 32 of 64 dimensions
"model_type": "mistral", "rope_parameters": {"full_attention": {"rope_theta": 777}}
    → this: rope_parameters.full_attention; RoPE in all 4 layers, base 10,000
"model_type": "gemma3_text", "rope_parameters": {"rope_theta": 777}
    → this: rope_theta, rope_parameters.rope_theta; RoPE in all 4 layers, base 10,000
"model_type": "mistral", "sliding_window": null → all 4 layers, base 10,000: nothing wrong
"model_type": "llama", "use_sliding_window": false, "sliding_window": 9 → : nothing wrong
"model_type": "llama4_text", "attention_chunk_size": null
    → RoPE in 3 of 4 layers, base 10,000, and no encoding in 1 of 4 layers (by
"model_type": "nemotron_h", "layer_types": null → No encoding in 1 of 4 layers (full_attention)
"model_type": "llama", "rope_local_base_freq": 5, "full_attn_layers": [1], "sliding_window": 9
    → this: rope_local_base_freq, full_attn_layers, sliding_window; RoPE
"model_type": "nemotron_h", "num_hidden_layers": 6
    → this: layer_types (must be a list of kinds of layers, 6 or more, got ["linear_attention",
"model_type": "gemma2", "num_hidden_layers": null
    → this: num_hidden_layers (must be an integer from 1 to 10000, got null); RoPE in some or all
"model_type": "gemma3_text", "rope_parameters": {"sliding_attention": {"rope_theta": 9}, "x": 8}
    → this: rope_parameters.x; RoPE in all 4 layers, base 9 (by default:
"model_type": "gemma3_text", "rope_parameters": {"slide_attention": {"theta": 9}}
    → this: rope_parameters.slide_attention; RoPE in all 4 layers, base 10,000
"rope_parameters": {"full_attention": {"theta": 9}, "sliding_attention": 5}
    → this: rope_parameters.sliding_attention; SUGGESTED RoPE in full_attention, base 9
"model_type": "gemma2", "rope_parameters": {"rope_theta": 7, "extra": {}}
    → this: rope_theta; RoPE in 2 of 4 layers (full_attention), base 7
"model_type": "smollm3", "num_hidden_layers": null, "layer_types": "0000", "no_rope_layers": [1, 0]
    → got null); RoPE in full_attention, base 10,000, and no encoding in full_attention: no contra
"model_type": "t5", "alibi": false → Scores, a bias in all 4 layers: nothing wrong
"model_type": "mpt", "attn_config": {"alibi": false, "learned_pos_emb": false} → No encoding in all
"model_type": "deberta-v2", "position_biased_input": false → No encoding in all 4 layers
"model_type": "deberta-v2", "relative_attention": null → relative_attention (must be true or false
"model_type": "deberta-v2", "relative_attention": true → Scores, by offset; input, a table in all 4
"model_type": "llama", "auto_map": {"AutoModel": "own.Model"}
    → Not read, though it may change this: auto_map; RoPE in all 4 layers
"auto_map": {"AutoModel": "own.Model"} → the fields suggest RoPE in all 4 layers
"model_type": "llama", "draft_vocab_size": 9 → this: draft_vocab_size; RoPE in all 4 layers
"architecture": {"alibi": true} → the fields suggest RoPE in all 4 layers
"base_model_name_or_path": "a" → this: base_model_name_or_path
"save_interval": 9 → no contradiction
"model_type": "qwen3_moe", "rope_parameters": {"mrope_section": [8], "mrope_interleaved": true}
    → this: rope_parameters.mrope_section; RoPE in all 4 layers, base 10,000: no contradiction
"model_type": "qwen2_vl_text", "rope_scaling": {"mrope_section": [8]} → 64 of 64 dimensions can't
"model_type": "llama", "use_rope": false
    → No encoding in all 4 layers: the file asks for something that LlamaModel doesn't do
"model_type": "gptj", "rotary_dim": 0 → No encoding in all 4 layers: nothing wrong
"model_type": "llama", "rotary_base": 777 → this: rotary_base; RoPE in all 4 layers, base 10,000
"NTK_by_parts_factor": 32 → this: NTK_by_parts_factor;
"attention_layers": ["global", "local"] → this: attention_layers;
"attn": {"layers": [1], "window_size": 9} → this: attn;
"conf_attention_context_left": 13 → this: conf_attention_context_left;
"model_type": "lfm2", "full_attn_idxs": [9]
    → full_attn_idxs (must be a list of integers from 0 on, below 4, got [9]); RoPE in some or all
""")
# Fields of a file that has few others: what its type adds is named.
DEFAULTS = rows("""
"model_type": "qwen2", "rope_theta": 1e6
    → RoPE in all 32 layers, base 1,000,000 (by default: num_hidden_layers, hidden_size, num_
"model_type": "llama", "num_hidden_layers": 16, "head_dim": 8, "max_position_embeddings": 9
    → RoPE in all 16 layers, base 10,000 (by default: rope_theta): nothing wrong
"model_type": "gemma3_text", "rope_theta": 1e6, "num_hidden_layers": 6
    → RoPE in 1 of 6 layers (full_attention), base 1,000,000, and RoPE in 5 of 6 layers
"model_type": "gemma3_text", "rope_theta": 1e6, "num_hidden_layers": 6
    → (sliding_attention), base 10,000 (by default: full_attention_interval, sliding_window,
"model_type": "gemma3_text", "rope_theta": 1e6, "num_hidden_layers": 2
    → RoPE in all 2 layers, base 10,000 (by default: full_attention_interval, sliding_window,
"model_type": "gpt_neox", "num_hidden_layers": 6, "head_dim": 96, "rotary_emb_base": 5
    → , 24 of 96 dimensions (by default: partial_rotary_factor, max_position_embeddings)
"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 4}
    → 2,048 stretched to 8,192 by yarn (by default: num_hidden_layers,
"model_type": "modernbert", "global_rope_theta": 777
    → (full_attention), base 777, and RoPE in 14 of 22
"model_type": "modernbert", "global_rope_theta": 777
    → (sliding_attention), base 10,000 (by default: num_hidden_layers,
"model_type": "gemma3_text", "num_hidden_layers": 1, "full_attn_layers": [0]
    → RoPE in all 1 layers, base 1,000,000 (by default: sliding_window,
"model_type": "smollm3", "num_hidden_layers": 2, "no_rope_layers": [1, 0]
    → no encoding in 1 of 2 layers (by default: hidden_size,
"model_type": "llama", "": 8 → (by default: num_hidden_layers, hidden_size, num_attention_heads,
"model_type": "gptj", "rope_scaling": {} → max_position_embeddings): nothing wrong
"model_type": "gpt_oss", "rope_scaling": null → 4,096 stretched to 131,072 by yarn
"model_type": "gpt_oss" → to 131,072 by yarn (by default: rope_parameters, num_hidden_layers,
"text_config": {"model_type": "llama"}, "rope_scaling": null → max_position_embeddings): nothing
"text_config": {"model_type": "llama"}, "rope_scaling": {YARN}
    → max_position_embeddings): rope_scaling beside text_config is ignored
"text_config": {"model_type": "llama", "rope_scaling": {YARN}}, "rope_scaling": {YARN}
    → max_position_embeddings): the factor is 4
"context_window_size": 9, "prefill_chunk_size": 3 → nothing about positions in all layers: no contr
"model_type": "qwen2", "model_config": {"num_hidden_layers": 2, "rope_theta": 5}
    → the fields suggest RoPE in all 2 layers, base 5: no contradiction
"num_hidden_layers": 2, "position_embedding_type": "rope_gpt_neox", "rotary_base": 777
    → RoPE in all 2 layers, base 777: no contradiction
"architecture": {"num_hidden_layers": 2, "alibi": true} → scores, a bias in all 2 layers
""")


@pytest.mark.parametrize(
    ("plain", "row"),
    [(PLAIN, row) for row in VERDICTS] + [({}, row) for row in DEFAULTS],
)
def test_the_verdict_says_what_runs_and_what_is_wrong(plain, row):
    fields, words = row
    config = plain | json.loads(f"{{{fields.replace('YARN', YARN)}}}")
    assert words.replace("SUGGESTED ", SUGGESTED) in read_config(config).verdict


def test_a_mapping_needn_t_be_a_dict():
    reading = read_config(PLAIN | {"rope_scaling": MappingProxyType(YARNED)})
    assert reading == read_config(PLAIN | {"rope_scaling": YARNED})


def test_a_part_for_images_is_read_like_the_text():
    part = {"layers": 4, "heads": 8, "rope": True, "intp_freq": True}
    config = {"text_cfg": {}, "vision_cfg": part, "audio_cfg": {"window_size": 8}}
    parts = read_config(config | {"attn_config": {"window_size": 8}}).parts
    assert parts.keys() == {"vision_cfg", "audio_cfg"}
    verdict = parts["vision_cfg"].verdict
    assert "may change this: vision_cfg.intp_freq;" in verdict
    assert "RoPE in some or all layers" in verdict


@pytest.mark.parametrize("model_type", TYPES)
def test_a_file_may_leave_all_to_its_type(model_type):
    entry = TYPES[model_type]
    assert vars(entry).keys() == vars(UNKNOWN).keys()  # none is misspelled
    reading = read_config({"model_type": model_type})
    assert reading.layers[0].where
    assert "Not read" not in reading.verdict
    assert {*entry.notes} <= {*reading.warnings}


def test_what_a_file_says_cannot_steer_a_terminal():
    base = {"rope_theta": 5, "rope_type": "\x1b[31m"}
    part = PLAIN | {"rope_scaling": base}
    printed = str(read_config(part | {"\x1b[31m_config": part}))
    assert all(map(str.isprintable, printed.splitlines()))


ODD = None, True, -1, 0.3, 1e99, 10**4000, "x", [], [[1]], {}, {"x": []}, {(1, 2): 2}
NAMES = [name for spellings in WORDS["spellings"].values() for name in spellings]


@pytest.mark.parametrize("name", [*NAMES, "text_config", "factor"])
def test_no_field_is_so_wrong_that_nothing_is_read(name):
    """Each value is tried with each type of model, and in each place."""
    kinds = "llama", "gemma3_text", "mpt", "unknown"
    for number, (odd, kind) in enumerate(product(ODD, kinds)):
        field = {name: odd}
        places = field, {"rope_parameters": field}, {"rope_scaling": YARNED | field}
        config = PLAIN | {"model_type": kind} | places[number % 3]
        assert read_config(config).as_dict()["verdict"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1\n "b": 2}', "Expecting ',' delimiter: line 2 column 2"),
        (b'{"rope_theta": ' + b"9" * 5000 + b"}", "Exceeds the limit (4300 digits)"),
        (b"[" * 100_000, "the file isn't JSON: "),
        (b"\xff", "can't decode byte 0xff in position 0"),
        (b" " * 8_000_000 + b"{}", "Expecting value"),  # only 8 MB are read
    ],
)
def test_what_is_no_configuration_gives_a_sentence(content, words, tmp_path, capsys):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert main([str(file)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_the_command(tmp_path, capsys, monkeypatch):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(PLAIN))
    (tmp_path / "generation_config.json").write_text("{}")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        for arguments in ["-"], [file, file], ["--json", tmp_path]:
            assert main([*map(str, arguments)]) == 0
    printed = capsys.readouterr().out
    assert printed.count(str(read_config(file))) == 2
    assert printed.count('"rotated": 64') == 1


def test_a_closed_pipe_and_an_old_terminal_get_no_traceback(tmp_path):
    file = tmp_path / "config.json"
    # With so many frequencies, what is printed doesn't fit into a pipe.
    wide = PLAIN | {"model_type": "\N{SNOWMAN}", "head_dim": 50_000}
    file.write_text(json.dumps(wide), "utf-8")
    old = os.environ | {"PYTHONIOENCODING": "cp1252"}
    command = f"'{sys.executable}' -OO -m posenc.config '{file}' | head -n 1"
    run = subprocess.run(command, shell=True, env=old, capture_output=True)
    assert (run.stdout[-1:], run.stderr) == (b"\n", b"")
