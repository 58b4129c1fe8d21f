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
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import thread_time
from timeit import Timer

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
# Up to 10 MB the allocator keeps a table's memory for the next; from 32 MB on it is new.
SIZES = [(128, 64), (512, 512), (5000, 512), (16_384, 512)]
LONGEST_LOOP = 512  # rows that the loops of S2 are asked for
PACKAGES = ("numpy", "torch", "transformers", "diffusers", "torchtune")
# Heads and their width, as in a model of 7B parameters.
HEADS, WIDTH = 32, 128
# First position and length of what is rotated.
STAGES = {"prefill": (0, 2048), "decode": (1000, 1)}


# What S2 and S4 are is said in the book's references.
def loops_of_s2(n, d):
    table = np.zeros((n, d))
    for k in range(n):
        for i in range(d // 2):
            denominator = np.power(10_000, 2 * i / d)
            table[k, 2 * i] = np.sin(k / denominator)
            table[k, 2 * i + 1] = np.cos(k / denominator)
    return table


def torch_of_s4(n, d):
    table = torch.zeros(n, d)
    div_term = torch.exp(torch.arange(0, d, 2).float() * (-np.log(10_000.0) / d))
    angles = torch.arange(n).float().unsqueeze(1) * div_term
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


def broadcast(n, d, dtype):
    """Return a table whose angles are computed in a dtype, without loops."""
    omega = 10_000 ** -(np.arange(0, d, 2, dtype=dtype) / dtype(d))
    angles = np.arange(n, dtype=dtype)[:, None] * omega
    table = np.empty((n, d), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


TABLES = {  # ways to make a table of n rows of width d
    "posenc": sinusoidal_encoding,
    # Memory of a table's size, with ones: a limit for any
    "allocate and fill": lambda n, d: np.ones((n, d), np.float32),
    "numpy, float64": partial(broadcast, dtype=np.float64),
    "numpy, float32": partial(broadcast, dtype=np.float32),
    "loops of S2": loops_of_s2,
    "torch of S4": torch_of_s4,
    "transformers, Speech2Text": (
        speech.Speech2TextSinusoidalPositionalEmbedding.get_embedding
    ),
    "diffusers, timesteps": lambda n, d: get_timestep_embedding(torch.arange(n), d),
}


def rotations(stage, dtype):
    """Return ways to rotate a query and a key, by turns that were made before."""
    first, seq_len = STAGES[stage]
    q, k = torch.randn(2, 1, HEADS, seq_len, WIDTH).to(dtype)
    positions = torch.arange(first, first + seq_len)
    turns = nn.rotary_turns(positions, WIDTH, dtype=dtype)

    config = llama.LlamaConfig(hidden_size=HEADS * WIDTH, num_attention_heads=HEADS)
    turns_of_llama = llama.LlamaRotaryEmbedding(config)(q, positions[None])
    # torchtune's heads come after positions, and its module looks turns up in a table.
    rows = [x.transpose(1, 2).contiguous() for x in (q, k)]
    torchtune = RotaryPositionalEmbeddings(WIDTH)

    def turn(pairing):
        return [nn.rotate_pairs(x, turns=turns, pairing=pairing) for x in (q, k)]

    return {
        "posenc": partial(turn, "halves"),
        "posenc, neighbors": partial(turn, "neighbors"),
        "transformers": partial(llama.apply_rotary_pos_emb, q, k, *turns_of_llama),
        "torchtune": lambda: [torchtune(x, input_pos=positions[None]) for x in rows],
    }


def compare(ways, **setting):
    """Return a row for each way: its time as a multiple of the first's, quartiles over all rounds.

    `ways` has a call without arguments for each name.
    """
    timers = [Timer(way, timer=thread_time) for way in ways.values()]
    for timer in timers:
        timer.timeit(1)  # it may be compiled
    # Some twentieth of a second each: a round's times are then of one moment.
    calls = [max(timer.autorange()[0] // 8, 1) for timer in timers]
    seconds = np.empty((ROUNDS, len(timers)))
    rng = np.random.default_rng(0)
    for times in seconds:
        for i in rng.permutation(len(timers)):
            times[i] = timers[i].timeit(calls[i]) / calls[i]
    quartiles = np.percentile(seconds / seconds[:, :1], [25, 50, 75], axis=0)
    rows = []
    for way, ratios in zip(ways, quartiles.T, strict=True):
        rounded = [float(f"{ratio:.2g}") for ratio in ratios]
        rows.append({"way": way, **setting, "ratios": rounded})
        print(*rows[-1].values(), sep="\t", flush=True)
    return rows


def compare_tables():
    """Return rows for all tables."""
    rows = []
    for n, d in SIZES:
        ways = {way: partial(make, n, d) for way, make in TABLES.items()}
        if n > LONGEST_LOOP:
            del ways["loops of S2"]
        rows += compare(ways, seq_len=n, d_model=d)
    return rows


def compare_rotations():
    """Return rows for all rotations, with and without the compiler."""
    rows = []
    for dtype, stage in product((torch.float32, torch.bfloat16), STAGES):
        ways = rotations(stage, dtype)
        setting = {"stage": stage, "dtype": str(dtype).removeprefix("torch.")}
        rows += compare(ways, **setting, mode="eager")
        torch.compiler.reset()
        compiled = {way: torch.compile(call) for way, call in ways.items()}
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
        "shapes": {stage: [1, HEADS, n, WIDTH] for stage, (_, n) in STAGES.items()},
        "times": compare_tables(),
        "rotations": compare_rotations(),
    }
    for name in sys.argv[1:]:
        Path(name).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
