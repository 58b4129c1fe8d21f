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
from itertools import product
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
SIZES = [(128, 64), (512, 512), (5000, 512), (32_768, 512)]
# What S0 and S4 are is said in the book's references.
LONGEST_LOOP = 512  # rows that the loops of S0 are asked for
PACKAGES = ("numpy", "torch", "transformers", "diffusers", "torchtune")
# First position and length, in 32 heads of 128, as in a model of 7B parameters.
STAGES = {"prefill": (0, 2048), "decode": (1000, 1)}


def loops_of_s0(n, d):
    table = np.zeros((n, d))
    for k in range(n):
        for i in range(d // 2):
            denominator = np.power(10_000, 2 * i / d)
            table[k, 2 * i] = np.sin(k / denominator)
            table[k, 2 * i + 1] = np.cos(k / denominator)
    return table


def broadcast(n, d, dtype):
    """Return a table whose angles are computed in a dtype, without loops."""
    omega = 10_000 ** -(np.arange(0, d, 2, dtype=dtype) / dtype(d))
    angles = np.arange(n, dtype=dtype)[:, None] * omega
    table = np.empty((n, d), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def torch_of_s4(n, d):
    table = torch.zeros(n, d)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-np.log(10_000.0) / d))
    angles = torch.arange(n).float().unsqueeze(1) * div_term
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


TABLES = {  # ways to make a table of n rows of width d
    "posenc": sinusoidal_encoding,
    "allocate and fill": lambda n, d: np.ones((n, d), np.float32),  # a limit for any
    "numpy, float64": partial(broadcast, dtype=np.float64),
    "numpy, float32": partial(broadcast, dtype=np.float32),
    "loops of S0": loops_of_s0,
    "torch of S4": torch_of_s4,
    "transformers, Speech2Text": (
        speech.Speech2TextSinusoidalPositionalEmbedding.get_embedding
    ),
    "diffusers, timesteps": lambda n, d: get_timestep_embedding(torch.arange(n), d),
}


def rotations(first, seq_len, dtype):
    """Return ways to rotate a query and a key: with their turns, and with turns made before."""
    q, k = torch.randn(2, 1, 32, seq_len, 128).to(dtype)
    rows = q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous()
    places = torch.arange(seq_len) + first
    config = llama.LlamaConfig(hidden_size=4096, num_attention_heads=32)
    their_turns = llama.LlamaRotaryEmbedding(config)
    tuned = RotaryPositionalEmbeddings(128)

    def ours():
        return nn.rotary_turns(places, 128, dtype=dtype)

    def turned(turns, pairing="halves"):
        return [nn.rotate_pairs(x, turns=turns, pairing=pairing) for x in (q, k)]

    ways = {  # what makes the turns, and what turns with them
        "posenc": (ours, turned),
        "posenc, neighbors": (ours, partial(turned, pairing="neighbors")),
        "transformers": (
            lambda: their_turns(q, places[None]),
            lambda turns: llama.apply_rotary_pos_emb(q, k, *turns),
        ),
    }
    now, before = {}, {}
    for name, (make, turn) in ways.items():
        now[name] = lambda make=make, turn=turn: turn(make())
        before[name] = partial(turn, make())
    before["torchtune"] = lambda: [tuned(x, input_pos=places[None]) for x in rows]
    return {"with its turns": now, "turns made before": before}


def compare(ways, **setting):
    """Return a row for each way: its time as a multiple of the first's, quartiles over all rounds.

    `ways` has a call without arguments for each name.
    """
    timers = [timeit.Timer(way, timer=thread_time) for way in ways.values()]
    calls = [timer.autorange()[0] for timer in timers]
    seconds = np.empty((ROUNDS, len(timers)))
    order = np.random.default_rng(0)
    for times in seconds:
        for i in order.permutation(len(timers)):
            times[i] = timers[i].timeit(calls[i]) / calls[i]
    quartiles = np.percentile(seconds / seconds[:, :1], [25, 50, 75], axis=0)
    rows = []
    for name, ratios in zip(ways, quartiles.T, strict=True):
        rounded = [float(f"{ratio:.2g}") for ratio in ratios]
        rows.append({"way": name, **setting, "ratios": rounded})
        print(*rows[-1].values(), sep="\t", flush=True)
    return rows


def compare_rotations():
    """Return rows for all rotations, with and without the compiler."""
    rows = []
    for dtype, (stage, (first, n)) in product(("float32", "bfloat16"), STAGES.items()):
        for what, ways in rotations(first, n, getattr(torch, dtype)).items():
            torch.compiler.reset()
            setting = {"stage": stage, "what": what, "dtype": dtype}
            rows += compare(ways, **setting, mode="eager")
            compiled = {name: torch.compile(way) for name, way in ways.items()}
            rows += compare(compiled, **setting, mode="compiled")
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
    }
    for n, d in SIZES:
        makers = {name: partial(make, n, d) for name, make in TABLES.items()}
        if n > LONGEST_LOOP:
            del makers["loops of S0"]
        record["times"] += compare(makers, seq_len=n, d_model=d)
    record["rotations"] = compare_rotations()
    for name in sys.argv[1:]:
        text = json.dumps(record, indent=1).replace("\n   ", " ")  # a line for each row
        Path(name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
