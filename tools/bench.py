"""Benchmark posenc against code that people write or install: `make bench`.

Every time is a ratio within one round, in which all contenders take turns, of the processor's time
on one thread: other programs on the machine count little. With a file name, the results that the
chapter on precision and speed shows are recorded in it.
"""

import importlib.util
import json
import os
import platform
import sys
import timeit
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import thread_time

# Before torch is imported: give it huge pages, which numpy uses by default.
os.environ["THP_MEM_ALLOC_ENABLE"] = "1"

import numpy as np
import torch

# torchtune's own __init__ imports torchvision: import its modules without it.
for bare in ("torchtune", "torchtune.modules"):
    spec = importlib.util.find_spec(bare)
    sys.modules[bare] = importlib.util.module_from_spec(spec)

from diffusers.models.embeddings import get_timestep_embedding
from torchtune.modules.position_embeddings import RotaryPositionalEmbeddings
from transformers.models.llama import modeling_llama as llama
from transformers.models.speech_to_text import modeling_speech_to_text as speech

from posenc import nn, sinusoidal_encoding

ROUNDS = 15
SHORTEST = 0.005  # seconds per measurement; quicker calls are repeated
SIZES = [(128, 64), (512, 512), (5000, 512), (32_768, 512)]
LONGEST_LOOP = 512  # rows that the loops of S0 are asked for
PACKAGES = (
    "numpy",
    "torch",
    "transformers",
    "diffusers",
    "torchtune",
)
# First position and length, in 32 heads of 128, as in a model of 7B parameters.
STAGES = {"prefill": (0, 2048), "decode": (1000, 1)}


def loops_of_s0(seq_len, d_model):
    rows = []
    for k in range(seq_len):
        row = []
        for i in range(d_model // 2):
            row.append(np.sin(k / 10_000 ** (2 * i / d_model)))
            row.append(np.cos(k / 10_000 ** (2 * i / d_model)))
        rows.append(np.array(row))
    return np.array(rows)


def broadcast(seq_len, d_model, dtype):
    omega = 10_000 ** -(np.arange(0, d_model, 2, dtype=dtype) / dtype(d_model))
    angles = np.arange(seq_len, dtype=dtype)[:, None] * omega
    table = np.empty((seq_len, d_model), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def torch_of_s4(seq_len, d_model):
    table = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    even = torch.arange(0, d_model, 2).float()
    div_term = torch.exp(even * (-np.log(10_000.0) / d_model))
    table[:, 0::2] = torch.sin(position * div_term)
    table[:, 1::2] = torch.cos(position * div_term)
    return table


def table_makers(n, d):
    """Return ways to make a table of n rows of width d."""
    layer = speech.Speech2TextSinusoidalPositionalEmbedding
    makers = {
        "posenc": lambda: sinusoidal_encoding(n, d),
        "allocate and fill": lambda: np.ones((n, d), np.float32),  # the limit for any
        "numpy, float64": lambda: broadcast(n, d, np.float64),
        "numpy, float32": lambda: broadcast(n, d, np.float32),
        "torch of S4": lambda: torch_of_s4(n, d),
        "transformers, Speech2Text": lambda: layer.get_embedding(n, d),
        "diffusers, timesteps": lambda: get_timestep_embedding(torch.arange(n), d),
    }
    if n <= LONGEST_LOOP:
        makers["loops of S0"] = lambda: loops_of_s0(n, d)
    return makers


def rotations(first, seq_len, dtype):
    """Return ways to rotate a query and a key: with their turns, and with turns made before."""
    q, k = torch.randn(2, 1, 32, seq_len, 128).to(dtype)
    rows = q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous()
    where = torch.arange(seq_len) + first
    config = llama.LlamaConfig(hidden_size=4096, num_attention_heads=32)
    their_turns = llama.LlamaRotaryEmbedding(config)
    tuned = RotaryPositionalEmbeddings(128)

    def ours():
        return nn.rotary_turns(where, 128, dtype=dtype)

    def in_pairing(pairing):
        return lambda t: [nn.rotate_pairs(x, turns=t, pairing=pairing) for x in (q, k)]

    ways = {  # what makes the turns, and what turns with them
        "posenc": (ours, in_pairing("halves")),
        "posenc, neighbors": (ours, in_pairing("neighbors")),
        "transformers": (
            lambda: their_turns(q, where[None]),
            lambda t: llama.apply_rotary_pos_emb(q, k, *t),
        ),
    }
    now, before = {}, {}
    for name, (make, turn) in ways.items():
        now[name] = lambda make=make, turn=turn: turn(make())
        before[name] = partial(turn, make())
    before["torchtune"] = lambda: [tuned(x, input_pos=where[None]) for x in rows]
    return {"with its turns": now, "turns made before": before}


def compare(ways, **setting):
    """Return a row for each way: its time as a multiple of ours, quartiles over all rounds."""
    calls, seconds = {}, {name: [] for name in ways}
    for name, way in ways.items():
        once = min(timeit.repeat(way, timer=thread_time, number=1, repeat=3))
        calls[name] = max(1, round(SHORTEST / once))
    order = np.random.default_rng(0)
    for _ in range(ROUNDS):
        for name in order.permutation(list(ways)):
            total = timeit.timeit(ways[name], timer=thread_time, number=calls[name])
            seconds[name].append(total / calls[name])
    rows = []
    for name in ways:
        ratios = np.percentile(
            np.divide(seconds[name], seconds["posenc"]), [25, 50, 75]
        )
        ratios = [float(f"{ratio:.2g}") for ratio in ratios]
        rows.append({"way": name, **setting, "ratios": ratios})
        print(*rows[-1].values(), sep="\t", flush=True)
    return rows


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    versions = {name: version(name).partition("+")[0] for name in PACKAGES}
    record = {
        "made by": "tools/bench.py",
        "date": str(date.today()),
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "load": [round(load, 1) for load in os.getloadavg()],
        "versions": {"Python": platform.python_version(), **versions},
        "rounds": ROUNDS,
        "times": [],
        "shapes": {stage: [1, 32, n, 128] for stage, (_, n) in STAGES.items()},
        "rotations": [],
    }
    for n, d in SIZES:
        record["times"] += compare(table_makers(n, d), seq_len=n, d_model=d)
    for dtype in ("float32", "bfloat16"):
        for stage, (first, n) in STAGES.items():
            for what, ways in rotations(first, n, getattr(torch, dtype)).items():
                torch.compiler.reset()
                setting = {"stage": stage, "what": what, "dtype": dtype}
                record["rotations"] += compare(ways, **setting, mode="eager")
                compiled = {name: torch.compile(way) for name, way in ways.items()}
                record["rotations"] += compare(compiled, **setting, mode="compiled")
    for name in sys.argv[1:]:
        text = json.dumps(record, indent=1).replace("\n   ", " ")  # a line for each row
        Path(name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
