"""Run tiny models of transformers, and look at the keys that attention gets.

`tests/test_watch.py` holds the table of types to it weekly (`make bench` installs what it needs).
"""

import inspect
import re
from copy import deepcopy
from typing import NamedTuple

import torch
import transformers
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from posenc.config.fields import TYPES, UNKNOWN, spellings

LENGTH = 13  # positions of a text; no width of a head

# How large a field of a tiny model is at most, by patterns of its name; the first match counts.
SIZES = {
    # num_hidden_layers, decoder_layers, n_layer
    r"^(en|de)?(coder_)?(num_)?(hidden_)?(layers|depth)$|^n_layers?$": 6,
    # vocab_size
    r"vocab": 64,
    # intermediate_size, ffn_dim, mlp_hidden_size, n_inner
    r"intermediate|ffn|mlp_(dim|size|hidden)|inner|shared_expert": 32,
    # num_local_experts
    r"num_(local_)?experts$|n_routed_experts": 4,
    # num_experts_per_tok, moe_top_k
    r"experts_per_tok|moe_topk|top_k$|num_selected|moe_k$": 2,
    # n_group, of experts
    r"^(n_group|topk_group)$": 1,
    # num_key_value_heads, of at most 4 heads
    r"num_(key_value|kv)_heads": 2,
    # pad_token_id; ids of a text are 7
    r"token_id$": 1,
    # sliding_window
    r"^(sliding_window|local_attention|attention_chunk_size)$": 6,
    # kv_lora_rank
    r"lora_rank$": 32,
}
# Fields without which a small model can't be built, or has no attention.
NEEDED = {
    "deepseek_v2": {"n_routed_experts": 4, "num_experts_per_tok": 2},
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "granitemoehybrid": {"layer_types": ["full_attention"] * 6},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"] * 3},
}


def small_fields(kind):
    """Return fields of a file, for a small model of a type, with heads about as wide as usual."""
    usual = class_of(kind).config_class().to_dict()
    fields = {"model_type": kind}
    for name, value in usual.items():
        sizes = [size for pattern, size in SIZES.items() if re.search(pattern, name)]
        if sizes and type(value) is int:
            fields[name] = min(value, sizes[0])
    spelled = spellings(usual, UNKNOWN)
    heads, hidden = map(spelled.get, ("num_attention_heads", "hidden_size"))
    if heads and hidden:
        # A multiple of 8, which most rotations allow.
        width = max(usual[hidden] // usual[heads] // 8 * 8, 8)
        fields |= {heads: 4, hidden: 4 * width}
    return fields | NEEDED.get(kind, {})


def class_of(kind):
    """Return the class that the table of types names."""
    return getattr(transformers, TYPES[kind].code)


def model_of(fields, attention):
    """Return a model of a file that calls `attention`, and gets its masks as numbers."""
    fields = deepcopy(fields)  # transformers completes mappings in place
    build = class_of(fields.pop("model_type"))
    config = build.config_class(**fields)
    ALL_ATTENTION_FUNCTIONS.register("watch", attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register("watch", eager_mask)
    config._attn_implementation = "watch"
    torch.manual_seed(0)
    return build(config).eval()


class Call(NamedTuple):
    """What one call of attention got: of one text's first head, where there are several."""

    layer: int | None  # its number, if its name has one
    keys: torch.Tensor  # (positions, width)
    mask: torch.Tensor | None  # added to scores, (1, heads or 1, queries, keys)
    scale: float | None


def same_everywhere(module, args, kwargs):
    """Give an attention the input of its first position at every position.

    Then keys differ only by what the attention does with their positions.
    """

    def same(x):
        return x[:, :1].expand_as(x) if torch.is_tensor(x) and x.ndim == 3 else x

    named = {
        name: same(x) if re.search("hidden|key_value", name) else x
        for name, x in kwargs.items()
    }
    return (*map(same, args[:1]), *args[1:]), named


def watched(fields):
    """Return what attention gets in each layer, as `Call`s.

    An attention whose class isn't named "…Attention" gets inputs that aren't the same everywhere.
    """
    calls, numbers = [], {}  # numbers of layers, by module

    def attention(module, query, key, value, mask, scaling=None, **options):
        """Note what comes, and attend to nothing."""
        if mask is not None and mask.shape[-1] < key.shape[2]:
            raise ValueError("no mask for all keys: attention couldn't add it")
        keys = key[0, 0].double()
        calls.append(Call(numbers.get(module), keys, mask, scaling))
        batch, heads, length, _ = query.shape
        return value.new_zeros(batch, length, heads, value.shape[-1]), None

    model = model_of(fields, attention)
    for name, module in model.named_modules():
        # model.layers.3.self_attn, transformer.h.3.attn
        number = re.search(r"(?:layers|h|blocks?|layer)\.(\d+)\.[\w.]*$", name)
        if number:
            numbers[module] = int(number[1])
        if type(module).__name__.endswith("Attention"):
            module.register_forward_pre_hook(same_everywhere, with_kwargs=True)
    names = inspect.signature(model.forward).parameters
    ids = torch.full((1, LENGTH), 7)
    texts = {name: ids for name in ("input_ids", "decoder_input_ids") if name in names}
    with torch.no_grad():
        model(**texts)
    return calls
