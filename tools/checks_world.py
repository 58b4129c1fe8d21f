"""Run `posenc.checks` on what other packages ship, and record what it says.

`make bench RECORD=notebooks/data/speed.json` installs them side by side, and records both. What
isn't installed is left out, and named. Alone:
`PYTHONPATH=src .venv/bench/bin/python tools/checks_world.py`, with `--record` and a file.

Each entry adapts an implementation to one of the three signatures, as its own package calls it.
What an adapter makes impossible, such as torch.compile around a wrapper of ours, isn't tried.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from posenc import checks

SHOWN = (1000, 4095, 131_071, 999_999)
OURS = ("compile", "device")  # of an adapter, these say nothing about what it adapts


@dataclass
class Entry:
    """An implementation: its package, its name there, and what makes it a subject."""

    package: str
    name: str
    kind: str
    make: object
    options: dict | None = None
    leave: tuple = OURS


ENTRIES = []


def entry(package, name, kind, leave=OURS, **options):
    """List the function below as an implementation."""

    def add(make):
        ENTRIES.append(Entry(package, name, kind, make, options, leave))
        return make

    return add


def alone(package, path):
    """Load one file of a package whose `__init__` asks for more than the file needs."""
    found = importlib.util.find_spec(package)
    where = Path(found.submodule_search_locations[0]) / path
    spec = importlib.util.spec_from_file_location(where.stem, where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Tables


@entry("transformers", "MarianSinusoidalPositionalEmbedding", "table")
def marian():
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding as M

    def encode(seq_len, d_model):
        layer = M(max(seq_len, 1), d_model)
        made = layer.create_weight()
        return made[:seq_len]

    return encode


@entry("transformers", "Speech2TextSinusoidalPositionalEmbedding", "table")
def speech():
    from transformers.models.speech_to_text import modeling_speech_to_text as s

    return s.Speech2TextSinusoidalPositionalEmbedding.get_embedding


@entry("transformers", "create_sinusoidal_embeddings (DistilBERT)", "table", longest=20_000)
def distilbert():
    from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings

    def encode(seq_len, d_model):
        out = torch.empty(seq_len, d_model)
        return create_sinusoidal_embeddings(seq_len, d_model, out)

    return encode


@entry("diffusers", "get_timestep_embedding", "table")
def timesteps():
    from diffusers.models.embeddings import get_timestep_embedding

    return lambda seq_len, d_model: get_timestep_embedding(torch.arange(seq_len), d_model)


@entry("diffusers", "get_1d_sincos_pos_embed_from_grid", "table")
def grid():
    from diffusers.models.embeddings import get_1d_sincos_pos_embed_from_grid as make

    return lambda seq_len, d_model: make(d_model, torch.arange(seq_len), output_type="pt")


@entry("diffusers", "SinusoidalPositionalEmbedding", "module", leave=())
def diffusers_layer():
    from diffusers.models.embeddings import SinusoidalPositionalEmbedding

    return lambda d_model: SinusoidalPositionalEmbedding(d_model, max_seq_length=5000)


@entry("positional-encodings", "PositionalEncoding1D", "table")
def positional_encodings():
    from positional_encodings.torch_encodings import PositionalEncoding1D

    def encode(seq_len, d_model):
        return PositionalEncoding1D(d_model)(torch.zeros(1, 1, 1).expand(1, seq_len, d_model))

    return encode


@entry("x-transformers", "ScaledSinusoidalEmbedding", "table")
def x_table():
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    @torch.no_grad()
    def encode(seq_len, d_model):
        return ScaledSinusoidalEmbedding(d_model)(torch.empty(1, seq_len, 0))

    return encode


@entry("vit-pytorch", "posemb_sincos_1d", "table")
def vit():
    from vit_pytorch.simple_vit_1d import posemb_sincos_1d

    return lambda seq_len, d_model: posemb_sincos_1d(torch.empty(1, seq_len, d_model))


@entry("timm", "build_sincos2d_pos_embed (one axis)", "table")
def timm_table():
    from timm.layers.pos_embed_sincos import build_sincos2d_pos_embed

    def encode(seq_len, d_model):
        made = build_sincos2d_pos_embed([seq_len, 1], 2 * d_model)  # y sin, y cos or sin, sin
        parts = made.reshape(seq_len, 2, 2, d_model // 2)  # sin and cos, y and x
        return parts[:, :, 0].reshape(seq_len, d_model)

    return encode


@entry("keras-hub", "SinePositionEncoding", "table")
def keras_table():
    from keras_hub.layers import SinePositionEncoding

    layer = SinePositionEncoding()
    return lambda seq_len, d_model: layer(torch.zeros(1, 1, 1).expand(1, seq_len, d_model))


@entry("speechbrain", "PositionalEncoding", "table")
def speechbrain_table():
    from speechbrain.lobes.models.transformer.Transformer import PositionalEncoding

    def encode(seq_len, d_model):
        layer = PositionalEncoding(d_model, max_len=max(seq_len, 1))
        return layer(torch.zeros(1, 1, 1).expand(1, seq_len, d_model))

    return encode


@entry("gluonts", "SinusoidalPositionalEmbedding (PatchTST)", "table", longest=20_000)
def gluonts():
    from gluonts.torch.model.patch_tst.module import SinusoidalPositionalEmbedding

    def encode(seq_len, d_model):
        made = SinusoidalPositionalEmbedding(max(seq_len, 1), d_model)
        return made.weight.detach()[:seq_len]

    return encode


# Rotations


def four_axes(x):
    """Shape (1, heads, seq_len, d), as most of them take it."""
    return x.reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:])


@entry("transformers", "LlamaRotaryEmbedding", "rotary")
def llama():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    def rotate(x, positions):
        d = x.shape[-1]
        config = LlamaConfig(hidden_size=2 * d, num_attention_heads=2, head_dim=d)
        cos, sin = LlamaRotaryEmbedding(config)(x, positions[None])
        four = four_axes(x)
        return apply_rotary_pos_emb(four, four, cos, sin)[0].reshape(x.shape)

    return rotate


@entry("transformers", "GPT-J", "rotary", longest=131_072)
def gptj():
    from transformers.models.gptj import modeling_gptj as gptj

    tables = {}

    def rotate(x, positions):
        d = x.shape[-1]
        if d not in tables:
            tables[d] = gptj.create_sinusoidal_positions(131_072, d)
        sin, cos = tables[d][positions][None].chunk(2, dim=-1)
        four = four_axes(x).transpose(0, 1).transpose(1, 2)  # (batch, seq, heads, d)
        out = gptj.apply_rotary_pos_emb(four, sin.to(x.dtype), cos.to(x.dtype))
        return out.transpose(1, 2).reshape(x.shape)

    return rotate


@entry(
    "transformers",
    "RoFormerSelfAttention.apply_rotary_position_embeddings",
    "rotary",
    longest=20_000,
)
def roformer():
    from transformers.models.roformer import modeling_roformer as r

    tables = {}

    def rotate(x, positions):
        d = x.shape[-1]
        if d not in tables:
            layer = r.RoFormerSinusoidalPositionalEmbedding(20_000, d)
            tables[d] = layer.create_weight()
        sinusoidal = tables[d][positions][None, None].to(x.dtype)
        four = four_axes(x)
        turn = r.RoFormerSelfAttention.apply_rotary_position_embeddings
        return turn(sinusoidal, four, four)[0].reshape(x.shape)

    return rotate


@entry("diffusers", "get_1d_rotary_pos_embed", "rotary")
def diffusers_rotary():
    from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed

    def rotate(x, positions):
        table = get_1d_rotary_pos_embed(x.shape[-1], positions, use_real=True)
        four = four_axes(x)
        return apply_rotary_emb(four, table).reshape(x.shape)

    return rotate


@entry("x-transformers", "RotaryEmbedding", "rotary")
def x_rotary():
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    def rotate(x, positions):
        if not len(positions):
            return x.clone()
        freqs, scale = RotaryEmbedding(x.shape[-1])(positions)
        four = four_axes(x)
        return apply_rotary_pos_emb(four, freqs, scale).reshape(x.shape)

    return rotate


@entry("rotary-embedding-torch", "rotate_queries_or_keys", "rotary")
def lucidrains():
    from rotary_embedding_torch import RotaryEmbedding

    layers = {}

    def rotate(x, positions):
        d = x.shape[-1]
        layer = layers.setdefault(d, RotaryEmbedding(d))
        rows = [
            layer.rotate_queries_or_keys(x[..., row : row + 1, :], offset=int(k))
            for row, k in enumerate(positions)
        ]
        return torch.cat(rows, dim=-2) if rows else x.clone()

    return rotate


@entry("litgpt", "build_rope_cache, apply_rope", "rotary", longest=131_072)
def litgpt():
    from litgpt.model import apply_rope, build_rope_cache

    tables = {}

    def rotate(x, positions):
        d = x.shape[-1]
        if d not in tables:
            tables[d] = build_rope_cache(131_072, d)
        cos, sin = (table[positions][None] for table in tables[d])
        return apply_rope(x[None], cos, sin)[0]

    return rotate


@entry("torchtune", "RotaryPositionalEmbeddings", "rotary", longest=131_072)
def torchtune():
    module = alone("torchtune", "modules/position_embeddings.py")
    layers = {}

    def rotate(x, positions):
        d = x.shape[-1]
        if d not in layers:
            layers[d] = module.RotaryPositionalEmbeddings(d, max_seq_len=131_072)
        four = four_axes(x).transpose(1, 2)  # (batch, seq, heads, d)
        return layers[d](four, input_pos=positions[None]).transpose(1, 2).reshape(x.shape)

    return rotate


@entry("keras-hub", "RotaryEmbedding", "rotary")
def keras_rotary():
    from keras_hub.layers import RotaryEmbedding

    layers = {}

    def rotate(x, positions):
        layer = layers.setdefault(x.dtype, RotaryEmbedding(dtype=str(x.dtype)[6:]))
        three = four_axes(x)[0]
        return layer(three, positions=positions).reshape(x.shape)

    return rotate


def checked(each):
    """Check one implementation: a row of the record, or the reason why there is none."""
    try:
        number = version(each.package)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            subject = each.make()
    except (PackageNotFoundError, ImportError, LookupError, OSError) as error:
        print(f"left out: {each.package}, {each.name}: {str(error).splitlines()[0]}")
        return None
    laws = [law for law in checks.laws_of(each.kind) if law not in each.leave]
    began = time.perf_counter()
    report = checks.check(subject, each.kind, laws=laws, **each.options)
    took = time.perf_counter() - began
    print(f"\n{each.package} {number}, {each.name}, {took:.0f} s\n{report!r}", flush=True)
    errors = {k: float(f"{report.errors[k]:.1e}") for k in SHOWN if k in report.errors}
    return {
        "package": each.package,
        "version": number.partition("+")[0],
        "name": each.name,
        "kind": each.kind,
        "convention": report.known(),
        "passed": [row.law for row in report if row.status == "passed"],
        "failed": {
            row.law: row.measured if isinstance(row.measured, str) else float(f"{row.measured:.1e}")
            for row in report
            if row.status == "failed"
        },
        "errors": errors,
    }


def main():
    """Check all, print all, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="a file for what the book shows, as JSON")
    parser.add_argument("--only", help="check these alone: a kind, or a package; keep other rows")
    arguments = parser.parse_args()
    only = arguments.only or ""
    wanted = [each for each in ENTRIES if only in each.package or only == each.kind]
    rows = [row for row in map(checked, wanted) if row]
    packages = len({row["package"] for row in rows})
    print(f"\n{len(rows)} implementations of {packages} packages")
    if arguments.record:
        if only and arguments.record.exists():
            done = {(row["package"], row["name"]) for row in rows}
            kept = json.loads(arguments.record.read_text(encoding="utf-8"))["implementations"]
            rows = [row for row in kept if (row["package"], row["name"]) not in done] + rows
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
