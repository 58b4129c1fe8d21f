"""Run `posenc.checks` on what other packages ship, and record what it says.

`make bench RECORD=notebooks/data/speed.json` installs them side by side, and records both. What
isn't installed is left out, and named. Alone:
`PYTHONPATH=src .venv/bench/bin/python tools/checks_world.py`, with `--record` and a file.

Each entry adapts an implementation to one of the three signatures, as its own package calls it.
What an adapter makes impossible, such as torch.compile around a wrapper of ours, isn't tried.
"""

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from posenc import checks

SHOWN = (1000, 4095, 131_071, 999_999)
OURS = ("compile", "device")  # of an adapter, these say nothing about what it adapts
LONGEST = 131_072  # of those that make a table first
TABLED = {"longest": LONGEST}
BARE = ("timm", "timm.layers", "vit_pytorch", "torchtune", "torchtune.modules")


def bare(names):
    """Let files be imported without their package's `__init__`, which asks for torchvision."""
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]):
            sys.modules[name] = importlib.util.module_from_spec(importlib.util.find_spec(name))


def four_axes(x):
    """Shape (1, heads, seq_len, d), as most of them take it."""
    return x.reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:])


def heads_last(turn):
    """Adapt what takes (batch, seq_len, heads, d)."""

    def rotate(x, positions):
        return turn(four_axes(x).transpose(1, 2), positions).transpose(1, 2).reshape(x.shape)

    return rotate


# Adapters: from a module of the package to a subject


def marian(m):
    make = m.MarianSinusoidalPositionalEmbedding
    return lambda n, d: make(max(n, 1), d).create_weight()[:n]


def grid(m):
    make = m.get_1d_sincos_pos_embed_from_grid
    return lambda n, d: make(d, torch.arange(n), output_type="pt")


def distilbert(m):
    return lambda n, d: m.create_sinusoidal_embeddings(n, d, torch.empty(n, d))


def timm(m):
    def encode(n, d):
        made = m.build_sincos2d_pos_embed([n, 1], 2 * d)
        parts = made.reshape(n, 2, 2, d // 2)  # sin and cos, y and x
        return parts[:, :, 0].reshape(n, d)

    return encode


def of_zeros(make):
    """Adapt what takes embeddings, and returns rows for them."""
    return lambda n, d: make(n, d)(torch.zeros(1, 1, 1).expand(1, n, d))


def x_table(m):
    return torch.no_grad()(lambda n, d: m.ScaledSinusoidalEmbedding(d)(torch.empty(1, n, 0)))


def llama(m):
    def rotate(x, positions):
        d = x.shape[-1]
        config = m.LlamaConfig(hidden_size=2 * d, num_attention_heads=2, head_dim=d)
        cos, sin = m.LlamaRotaryEmbedding(config)(x, positions[None])
        return m.apply_rotary_pos_emb(four_axes(x), four_axes(x), cos, sin)[0].reshape(x.shape)

    return rotate


def gptj(m):
    tables = cache(lambda d: m.create_sinusoidal_positions(LONGEST, d))

    def turn(x, positions):
        sin, cos = tables(x.shape[-1])[positions][None].to(x.dtype).chunk(2, dim=-1)
        return m.apply_rotary_pos_emb(x, sin, cos)

    return heads_last(turn)


def roformer(m):
    tables = cache(lambda d: m.RoFormerSinusoidalPositionalEmbedding(20_000, d).create_weight())

    def rotate(x, positions):
        table, four = tables(x.shape[-1])[positions][None, None].to(x.dtype), four_axes(x)
        turn = m.RoFormerSelfAttention.apply_rotary_position_embeddings
        return turn(table, four, four)[0].reshape(x.shape)

    return rotate


def diffusers_rotary(m):
    def rotate(x, positions):
        table = m.get_1d_rotary_pos_embed(x.shape[-1], positions, use_real=True)
        return m.apply_rotary_emb(four_axes(x), table).reshape(x.shape)

    return rotate


def x_rotary(m):
    def rotate(x, positions):
        if not len(positions):
            return x.clone()
        freqs, scale = m.RotaryEmbedding(x.shape[-1])(positions)
        return m.apply_rotary_pos_emb(four_axes(x), freqs, scale).reshape(x.shape)

    return rotate


def lucidrains(m):
    layers = cache(m.RotaryEmbedding)

    def rotate(x, positions):
        turn = layers(x.shape[-1]).rotate_queries_or_keys
        rows = [turn(x[..., n : n + 1, :], offset=int(k)) for n, k in enumerate(positions)]
        return torch.cat(rows, dim=-2) if rows else x.clone()

    return rotate


def litgpt(m):
    tables = cache(lambda d: m.build_rope_cache(LONGEST, d))

    def rotate(x, positions):
        cos, sin = (table[positions][None] for table in tables(x.shape[-1]))
        return m.apply_rope(x[None], cos, sin)[0]

    return rotate


def torchtune(m):
    layers = cache(lambda d: m.RotaryPositionalEmbeddings(d, max_seq_len=LONGEST))
    return heads_last(lambda x, positions: layers(x.shape[-1])(x, input_pos=positions[None]))


def keras_rotary(m):
    layers = cache(lambda dtype: m.RotaryEmbedding(dtype=str(dtype)[6:]))
    return lambda x, k: layers(x.dtype)(four_axes(x)[0], positions=k).reshape(x.shape)


MODELS, EMBEDDINGS = "transformers.models.", "diffusers.models.embeddings"
X = "x_transformers.x_transformers"
# fmt: off
ENTRIES = (  # package, name there, kind, module, what makes it a subject, options
    ("transformers", "MarianSinusoidalPositionalEmbedding", "table",
     MODELS + "marian.modeling_marian", marian),
    ("transformers", "Speech2TextSinusoidalPositionalEmbedding", "table",
     MODELS + "speech_to_text.modeling_speech_to_text",
     lambda m: m.Speech2TextSinusoidalPositionalEmbedding.get_embedding),
    ("transformers", "create_sinusoidal_embeddings (DistilBERT)", "table",
     MODELS + "distilbert.modeling_distilbert", distilbert, {"longest": 20_000}),
    ("diffusers", "get_timestep_embedding", "table", EMBEDDINGS,
     lambda m: lambda n, d: m.get_timestep_embedding(torch.arange(n), d)),
    ("diffusers", "get_1d_sincos_pos_embed_from_grid", "table", EMBEDDINGS, grid),
    ("diffusers", "SinusoidalPositionalEmbedding", "module", EMBEDDINGS,
     lambda m: lambda d: m.SinusoidalPositionalEmbedding(d, max_seq_length=5000)),
    ("positional-encodings", "PositionalEncoding1D", "table",
     "positional_encodings.torch_encodings",
     lambda m: of_zeros(lambda n, d: m.PositionalEncoding1D(d))),
    ("x-transformers", "ScaledSinusoidalEmbedding", "table", X, x_table),
    ("vit-pytorch", "posemb_sincos_1d", "table", "vit_pytorch.simple_vit_1d",
     lambda m: lambda n, d: m.posemb_sincos_1d(torch.empty(1, n, d))),
    ("timm", "build_sincos2d_pos_embed (one axis)", "table", "timm.layers.pos_embed_sincos", timm),
    ("keras-hub", "SinePositionEncoding", "table", "keras_hub.layers",
     lambda m: of_zeros(lambda n, d: m.SinePositionEncoding())),
    ("gluonts", "SinusoidalPositionalEmbedding (PatchTST)", "table",
     "gluonts.torch.model.patch_tst.module",
     lambda m: lambda n, d: m.SinusoidalPositionalEmbedding(max(n, 1), d).weight.detach()[:n],
     {"longest": 20_000}),
    ("transformers", "LlamaRotaryEmbedding", "rotary", MODELS + "llama.modeling_llama", llama),
    ("transformers", "GPT-J", "rotary", MODELS + "gptj.modeling_gptj", gptj, TABLED),
    ("transformers", "RoFormerSelfAttention.apply_rotary_position_embeddings", "rotary",
     MODELS + "roformer.modeling_roformer", roformer, {"longest": 20_000}),
    ("diffusers", "get_1d_rotary_pos_embed", "rotary", EMBEDDINGS, diffusers_rotary),
    ("x-transformers", "RotaryEmbedding", "rotary", X, x_rotary),
    ("rotary-embedding-torch", "rotate_queries_or_keys", "rotary", "rotary_embedding_torch",
     lucidrains),
    ("litgpt", "build_rope_cache, apply_rope", "rotary", "litgpt.model", litgpt, TABLED),
    ("torchtune", "RotaryPositionalEmbeddings", "rotary", "torchtune.modules.position_embeddings",
     torchtune, TABLED),
    ("keras-hub", "RotaryEmbedding", "rotary", "keras_hub.layers", keras_rotary),
)
# fmt: on


def checked(package, name, kind, module, adapt, options=None):
    """Check one implementation: a row of the record, or nothing, and why."""
    try:
        number = version(package)
        subject = adapt(importlib.import_module(module))
    except (PackageNotFoundError, ImportError, LookupError, OSError, RuntimeError) as error:
        print(f"left out: {package}, {name}: {str(error).splitlines()[0]}")
        return None
    laws = [law for law in checks.laws_of(kind) if kind == "module" or law not in OURS]
    report = checks.check(subject, kind, laws=laws, **options or {})
    print(f"\n{package} {number}, {name}\n{report!r}", flush=True)
    return {
        "package": package,
        "version": number.partition("+")[0],
        "name": name,
        "kind": kind,
        "convention": report.known(),
        "passed": [row.law for row in report if row.status == "passed"],
        "failed": {
            row.law: row.measured if isinstance(row.measured, str) else float(f"{row.measured:.1e}")
            for row in report
            if row.status == "failed"
        },
        "errors": {k: float(f"{report.errors[k]:.1e}") for k in SHOWN if k in report.errors},
    }


def main():
    """Check all, print all, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="a file for what the book shows, as JSON")
    arguments = parser.parse_args()
    bare(BARE)
    rows = [row for row in (checked(*each) for each in ENTRIES) if row]
    print(f"\n{len(rows)} implementations of {len({row['package'] for row in rows})} packages")
    if arguments.record:
        record = {
            "made by": "tools/checks_world.py",
            "date": str(date.today()),
            "Python": sys.version.split()[0],
            "torch": torch.__version__.partition("+")[0],
            "implementations": rows,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        arguments.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
