"""Benchmark posenc against code that people write or install.

Run it with `make bench`. Every time is a ratio within one round, in which all contenders take
turns, of the processor's time on one thread: other programs on the machine count little. With a
file name, it records the results that the chapter on precision and speed shows.
"""

import os
import platform
import timeit
from datetime import date
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import product
from math import log
from time import thread_time

# Before torch is imported: give it huge pages, which numpy uses by default.
os.environ["THP_MEM_ALLOC_ENABLE"] = "1"

import numpy as np
import torch
from checks_world import ENTRIES, skip_packages, two_digits, write

from posenc import nn, sinusoidal_encoding

ROUNDS = 15
SHORTEST = 0.005  # seconds per measurement; quicker calls are repeated
SIZES = [(128, 64), (512, 512), (5000, 512), (32_768, 512)]
SLOW_LIMIT = 2**18  # entries; the loops are skipped for larger tables
LUCID = "rotary-embedding-torch"
COMPARED = (
    "numpy",
    "torch",
    "positional-encodings",
    "transformers",
    "diffusers",
    "x-transformers",
)
COMPARED += ("torchtune", LUCID)
LLAMA = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
}
STAGES = {
    "prefill": (0, 2048),
    "decode": (1000, 1),
}  # first position, length; of a 7B model


def loop_s0(seq_len, d_model):
    """Append values and rows to lists, as document S0 does."""
    rows = []
    for k in range(seq_len):
        row = []
        for i in range(d_model // 2):
            row.append(np.sin(k / 10_000 ** (2 * i / d_model)))
            row.append(np.cos(k / 10_000 ** (2 * i / d_model)))
        rows.append(np.array(row))
    return np.array(rows)


def numpy_broadcast(dtype, seq_len, d_model):
    """Broadcast positions over frequencies, all in `dtype`, into a float32 table."""
    omega = 10_000 ** -(np.arange(0, d_model, 2, dtype=dtype) / dtype(d_model))
    angles = np.arange(seq_len, dtype=dtype)[:, None] * omega
    table = np.empty((seq_len, d_model), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def torch_s4(seq_len, d_model):
    """Assign to slices, as document S4 does."""
    table = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(
        torch.arange(0, d_model, 2).float() * (-log(10_000.0) / d_model)
    )
    table[:, 0::2] = torch.sin(position * div_term)
    table[:, 1::2] = torch.cos(position * div_term)
    return table


def theirs(name):
    """Return a package's implementation, called as `checks_world` calls it."""
    module, call = next(entry[3:5] for entry in ENTRIES if entry[1] == name)
    return partial(call, import_module(module))


OURS, NEIGHBORS, PAPER, LOOPS = (
    "posenc",
    "posenc, neighbors",
    "neighbors",
    "loops of S0",
)
GRID = theirs("get_1d_sincos_pos_embed_from_grid")  # computes in float64
TABLES = {
    OURS: sinusoidal_encoding,
    "allocate and fill": lambda n, d: np.ones(
        (n, d), np.float32
    ),  # the limit for any way
    "numpy, float64": partial(numpy_broadcast, np.float64),
    "numpy, float32": partial(numpy_broadcast, np.float32),
    LOOPS: loop_s0,
    "torch of S4": torch_s4,
    "positional-encodings": theirs("PositionalEncoding1D"),
    "transformers, Speech2Text": theirs("Speech2TextSinusoidalPositionalEmbedding"),
    "diffusers, timesteps": theirs("get_timestep_embedding"),
    "diffusers, grid": lambda n, d: GRID(n, d).float(),
    "x-transformers": theirs("ScaledSinusoidalEmbedding"),
}


def beside(ways, **where):
    """Yield each way's time as a multiple of ours: quartiles over all rounds."""
    calls, taken, order = {}, {name: [] for name in ways}, np.random.default_rng(0)
    for name, way in ways.items():
        once = min(timeit.repeat(way, timer=thread_time, number=1, repeat=3))
        calls[name] = max(1, round(SHORTEST / once))
    for _ in range(ROUNDS):
        for name in order.permutation(list(ways)):
            seconds = timeit.timeit(ways[name], timer=thread_time, number=calls[name])
            taken[name].append(seconds / calls[name])
    for name in ways:
        quartiles = np.percentile(np.divide(taken[name], taken[OURS]), [25, 50, 75])
        yield {"way": name} | where | {"ratios": [*map(two_digits, quartiles)]}


def tables():
    """Yield ratios of making a table."""
    for n, d in SIZES:
        some = {
            name: way
            for name, way in TABLES.items()
            if name != LOOPS or n * d <= SLOW_LIMIT
        }
        ways = {name: partial(way, n, d) for name, way in some.items()}
        yield from beside(ways, seq_len=n, d_model=d)


def rotations(first, seq_len, dtype):
    """Yield ways to turn a query and a key, of `LLAMA`'s shapes, with turns made now or before."""
    llama = import_module("transformers.models.llama.modeling_llama")
    theirs = import_module("x_transformers.x_transformers")
    tune = import_module("torchtune.modules.position_embeddings")
    lucid = import_module("rotary_embedding_torch").RotaryEmbedding(128)
    q, k = torch.randn(2, 1, 32, seq_len, 128).to(dtype)
    rows, where = (
        [x.transpose(1, 2).contiguous() for x in (q, k)],
        torch.arange(seq_len) + first,
    )
    layer = llama.LlamaRotaryEmbedding(llama.LlamaConfig(**LLAMA))
    other, tuned = theirs.RotaryEmbedding(128), tune.RotaryPositionalEmbeddings(128)
    ours = partial(nn.rotary_turns, where, 128, dtype=dtype)
    ways = {  # what makes turns, and what turns with them
        OURS: (ours, lambda t: [nn.rotate_pairs(x, turns=t) for x in (q, k)]),
        NEIGHBORS: (
            ours,
            lambda t: [nn.rotate_pairs(x, turns=t, pairing=PAPER) for x in (q, k)],
        ),
        "transformers": (
            lambda: layer(q, where[None]),
            lambda t: llama.apply_rotary_pos_emb(q, k, *t),
        ),
        "x-transformers": (
            lambda: other(where),
            lambda t: [theirs.apply_rotary_pos_emb(x, *t) for x in (q, k)],
        ),
    }

    def step(make, turn, made=None):
        return lambda: turn(made or make())

    now = {name: step(*way) for name, way in ways.items()}
    now[LUCID] = lambda: [lucid.rotate_queries_or_keys(x, offset=first) for x in (q, k)]
    yield "with its turns", now
    before = {name: step(*way, way[0]()) for name, way in ways.items()}
    before["torchtune"] = lambda: [
        tuned(x, input_pos=where[None]) for x in rows
    ]  # its table
    yield "turns made before", before


@torch.no_grad()
def turning():
    """Yield ratios of rotations, eager and compiled."""
    for dtype, (stage, shape) in product(
        (torch.float32, torch.bfloat16), STAGES.items()
    ):
        for what, ways in rotations(*shape, dtype):
            torch.compiler.reset()
            where = {"stage": stage, "what": what, "dtype": str(dtype)[6:]}
            yield from beside(ways, **where, mode="eager")
            compiled = {name: torch.compile(way) for name, way in ways.items()}
            yield from beside(compiled, **where, mode="compiled")


def main():
    """Measure, print, and record."""
    skip_packages()
    torch.set_num_threads(1)
    versions = {name: version(name).split("+")[0] for name in COMPARED}
    record = {
        "made by": "tools/bench.py",
        "date": str(date.today()),
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "load": [round(load, 1) for load in os.getloadavg()],
        "versions": {"Python": platform.python_version(), **versions},
        "rounds": ROUNDS,
        "times": list(tables()),
        "shapes": {stage: [1, 32, n, 128] for stage, (_, n) in STAGES.items()},
        "rotations": list(turning()),
    }
    for row in record["times"] + record["rotations"]:
        print(*row.values(), sep="\t")
    write(record)


if __name__ == "__main__":
    main()
