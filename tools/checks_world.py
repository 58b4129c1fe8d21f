"""Run `posenc.checks` on other packages' implementations, and record the results.

`make bench RECORD=notebooks/data/speed.json` installs the packages, and updates both records; what
isn't installed is reported and skipped. An entry calls an implementation as its own package does,
given its module m and the arguments of its kind: n and d, d alone, or x and the positions k.
"""

import importlib.util
import json
import math
import os
import sys
from datetime import date
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

from posenc import checks

LONGEST = 131_072  # for implementations that precompute a table
TABLED, SHORT = {"longest": LONGEST}, {"longest": 20_000}
BARE = ("timm", "timm.layers", "vit_pytorch", "torchtune", "torchtune.modules")


@cache
def made(make, *given, **named):
    """Make a layer or a table once."""
    return make(*given, **named)


def timm(m, n, d):
    parts = m.build_sincos2d_pos_embed([n, 1], 2 * d).reshape(n, 2, 2, d // 2)
    return parts[:, :, 0].reshape(n, d)  # of sin and cos, y and x


def llama(m, x, k):
    d = x.shape[-1]
    config = m.LlamaConfig(hidden_size=2 * d, num_attention_heads=2, head_dim=d)
    return m.apply_rotary_pos_emb(x, x, *m.LlamaRotaryEmbedding(config)(x, k[None]))[0]


def gptj(m, x, k):
    table = made(m.create_sinusoidal_positions, LONGEST, x.shape[-1])[k][None].to(
        x.dtype
    )
    return m.apply_rotary_pos_emb(x.transpose(1, 2), *table.chunk(2, dim=-1)).transpose(
        1, 2
    )


def roformer(m, x, k):
    table = made(m.RoFormerSinusoidalPositionalEmbedding, 20_000, x.shape[-1])
    table = made(table.create_weight)[k][None, None].to(x.dtype)
    return m.RoFormerSelfAttention.apply_rotary_position_embeddings(table, x, x)[0]


def lucidrains(m, x, k):
    turn = made(m.RotaryEmbedding, x.shape[-1]).rotate_queries_or_keys
    rows = [turn(x[..., n : n + 1, :], offset=int(each)) for n, each in enumerate(k)]
    return torch.cat(rows, dim=-2) if rows else x.clone()


def torchtune(m, x, k):
    layer = made(m.RotaryPositionalEmbeddings, x.shape[-1], max_seq_len=LONGEST)
    return layer(x.transpose(1, 2), input_pos=k[None]).transpose(1, 2)


MODELS, EMBEDDINGS = "transformers.models.", "diffusers.models.embeddings"
X, GLUON = "x_transformers.x_transformers", "gluonts.torch.model.patch_tst.module"
# fmt: off
ENTRIES = (  # package, name there, kind, module, adapter (module, *arguments), options
    ("transformers", "MarianSinusoidalPositionalEmbedding", "table",
     MODELS + "marian.modeling_marian",
     lambda m, n, d: m.MarianSinusoidalPositionalEmbedding(max(n, 1), d).create_weight()[:n]),
    ("transformers", "Speech2TextSinusoidalPositionalEmbedding", "table",
     MODELS + "speech_to_text.modeling_speech_to_text",
     lambda m, n, d: m.Speech2TextSinusoidalPositionalEmbedding.get_embedding(n, d)),
    ("transformers", "create_sinusoidal_embeddings (DistilBERT)", "table",
     MODELS + "distilbert.modeling_distilbert",
     lambda m, n, d: m.create_sinusoidal_embeddings(n, d, torch.empty(n, d)), SHORT),
    ("diffusers", "get_timestep_embedding", "table", EMBEDDINGS,
     lambda m, n, d: m.get_timestep_embedding(torch.arange(n), d)),
    ("diffusers", "get_1d_sincos_pos_embed_from_grid", "table", EMBEDDINGS,
     lambda m, n, d: m.get_1d_sincos_pos_embed_from_grid(d, torch.arange(n), output_type="pt")),
    ("diffusers", "SinusoidalPositionalEmbedding", "module", EMBEDDINGS,
     lambda m, d: m.SinusoidalPositionalEmbedding(d, max_seq_length=5000)),
    ("positional-encodings", "PositionalEncoding1D", "table",
     "positional_encodings.torch_encodings",
     lambda m, n, d: m.PositionalEncoding1D(d)(torch.empty(1, n, d))),
    ("x-transformers", "ScaledSinusoidalEmbedding", "table", X,
     torch.no_grad()(lambda m, n, d: m.ScaledSinusoidalEmbedding(d)(torch.empty(1, n, 0)))),
    ("vit-pytorch", "posemb_sincos_1d", "table", "vit_pytorch.simple_vit_1d",
     lambda m, n, d: m.posemb_sincos_1d(torch.empty(1, n, d))),
    ("timm", "build_sincos2d_pos_embed (one axis)", "table", "timm.layers.pos_embed_sincos", timm),
    ("keras-hub", "SinePositionEncoding", "table", "keras_hub.layers",
     lambda m, n, d: m.SinePositionEncoding()(torch.empty(1, n, d))),
    ("gluonts", "SinusoidalPositionalEmbedding (PatchTST)", "table", GLUON,
     lambda m, n, d: m.SinusoidalPositionalEmbedding(max(n, 1), d).weight.detach()[:n], SHORT),
    ("transformers", "LlamaRotaryEmbedding", "rotary", MODELS + "llama.modeling_llama", llama),
    ("transformers", "GPT-J", "rotary", MODELS + "gptj.modeling_gptj", gptj, TABLED),
    ("transformers", "RoFormerSelfAttention.apply_rotary_position_embeddings", "rotary",
     MODELS + "roformer.modeling_roformer", roformer, SHORT),
    ("diffusers", "get_1d_rotary_pos_embed", "rotary", EMBEDDINGS, lambda m, x, k:
     m.apply_rotary_emb(x, m.get_1d_rotary_pos_embed(x.shape[-1], k, use_real=True))),
    ("x-transformers", "RotaryEmbedding", "rotary", X, lambda m, x, k:
     m.apply_rotary_pos_emb(x, *m.RotaryEmbedding(x.shape[-1])(k)) if len(k) else x.clone()),
    ("rotary-embedding-torch", "rotate_queries_or_keys", "rotary", "rotary_embedding_torch",
     lucidrains),
    ("litgpt", "build_rope_cache, apply_rope", "rotary", "litgpt.model", lambda m, x, k:
     m.apply_rope(x, *(t[k][None] for t in made(m.build_rope_cache, LONGEST, x.shape[-1]))),
     TABLED),
    ("torchtune", "RotaryPositionalEmbeddings", "rotary", "torchtune.modules.position_embeddings",
     torchtune, TABLED),
    ("keras-hub", "RotaryEmbedding", "rotary", "keras_hub.layers", lambda m, x, k:
     made(m.RotaryEmbedding, dtype=str(x.dtype)[6:])(x[0], positions=k)),
)
# fmt: on


def check(package, number, name, kind, subject, options):
    """Check one implementation, and return its row of the record."""

    def rotate(x, positions):  # as (1, heads, seq_len, d), which most expect
        four = x.reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:])
        return subject(four, positions).reshape(x.shape)

    adapters = () if kind == "module" else ("compile", "device")  # they would test ours
    laws = [law for law in checks.laws_of(kind) if law not in adapters]
    report = checks.check(
        rotate if kind == "rotary" else subject, kind, laws=laws, **options
    )
    print(f"\n{package} {number}, {name}\n{report!r}", flush=True)
    return {
        "package": package,
        "version": number.partition("+")[0],
        "name": name,
        "convention": report.known(),
        "failed": {law: two_digits(report[law].measured) for law in report.failed},
        "errors": {
            k: two_digits(report.errors[k]) for k in report.errors if k == LONGEST - 1
        },
    }


def two_digits(value):
    return value if isinstance(value, str) else float(f"{value:.1e}")


def skip_packages():
    """Let modules of `BARE` packages be imported without their `__init__`, for torchvision."""
    for name in BARE:
        if importlib.util.find_spec(name.partition(".")[0]):
            sys.modules[name] = importlib.util.module_from_spec(
                importlib.util.find_spec(name)
            )


def write(record):
    """Record the results in the files given, if any."""
    for name in sys.argv[1:]:
        text = json.dumps(record, indent=1, ensure_ascii=False)
        Path(name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    skip_packages()
    rows = []
    for package, name, kind, module, adapt, *options in ENTRIES:
        try:
            number, subject = (
                version(package),
                partial(adapt, importlib.import_module(module)),
            )
        except (ImportError, LookupError, OSError, RuntimeError) as error:
            print(f"skipped: {package}, {name}: {error}")
        else:
            rows.append(check(package, number, name, kind, subject, *(options or [{}])))
    print(
        f"\n{len(rows)} implementations of {len({row['package'] for row in rows})} packages"
    )
    record = {"made by": "tools/checks_world.py", "date": str(date.today())}
    write(
        record | {"torch": version("torch").partition("+")[0], "implementations": rows}
    )
