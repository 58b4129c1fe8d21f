"""How fast, how large and how exact: posenc beside what people write and install.

Run it with `make bench`. Every time is a ratio, taken within one round in which all contenders run
in turn, so that a machine that is busy or slow is so for all of them. `--record FILE` keeps what
the chapter on precision and speed shows.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import platform
import re
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from math import log
from pathlib import Path

# Before torch is loaded: let it have huge pages, as numpy has them by itself.
os.environ["THP_MEM_ALLOC_ENABLE"] = "1"

import numpy as np
import torch
from checks_world import ENTRIES

from posenc import sinusoidal_encoding

THREADS = torch.get_num_threads()
SHORTEST = 0.005  # seconds that one measurement lasts; quicker calls are repeated in a row
SIZES = [(128, 64), (512, 512), (5000, 512), (32_768, 512)]
SLOW_LIMIT = 2**18  # entries beyond which the Python loops are left out
NEAR, FAR = (5000, 512), (131_072, 512)  # tables whose last rows are checked for digits
WEIGHED = (32_768, 512)  # the table whose memory is counted
COMPARED = ("numpy", "torch", "positional-encodings", "transformers", "diffusers", "x-transformers")


def memory_limit(seq_len, d_model):
    """Allocate a table and fill it: no way to make one is faster."""
    table = np.empty((seq_len, d_model), np.float32)
    table.fill(1)
    return table


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


def loop_s2(seq_len, d_model):
    """Write entry by entry, as document S2 does."""
    table = np.zeros((seq_len, d_model))
    for k in range(seq_len):
        for i in range(d_model // 2):
            denominator = np.power(10_000, 2 * i / d_model)
            table[k, 2 * i] = np.sin(k / denominator)
            table[k, 2 * i + 1] = np.cos(k / denominator)
    return table


def numpy_broadcast(dtype, seq_len, d_model):
    """Broadcast positions over frequencies, all in `dtype`, into a float32 table."""
    omega = 10_000 ** -(np.arange(0, d_model, 2, dtype=dtype) / dtype(d_model))
    angles = np.arange(seq_len, dtype=dtype)[:, None] * omega
    table = np.empty((seq_len, d_model), np.float32)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def torch_s3(seq_len, d_model):
    """Stack and flatten, as document S3 does."""
    even = torch.arange(0, d_model, 2).float()
    position = torch.arange(seq_len).reshape(-1, 1)
    angles = position / torch.pow(10_000, even / d_model)
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=2).flatten(1)


def torch_s4(seq_len, d_model):
    """Assign to slices, as document S4 does."""
    table = torch.zeros(seq_len, d_model)
    position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-log(10_000.0) / d_model))
    table[:, 0::2] = torch.sin(position * div_term)
    table[:, 1::2] = torch.cos(position * div_term)
    return table


def theirs(name):
    """What a package ships, called as the checks of other packages call it."""
    entry = next(entry for entry in ENTRIES if entry[1] == name)
    return partial(entry[4], importlib.import_module(entry[3]))


@dataclass
class Contender:
    """A way to make a table, and the convention it follows."""

    make: Callable
    halves: bool = False  # all sines, then all cosines
    last: int = 0  # frequencies end at base**-(1 - last·2/d): 1 for the denominators d/2 - 1
    slow: bool = False
    scaled: bool = False
    threaded: bool = True  # torch, which can use more than one thread


OURS, LIMIT = "posenc", "allocate and fill"
SPEECH2TEXT = theirs("Speech2TextSinusoidalPositionalEmbedding")
GRID = theirs("get_1d_sincos_pos_embed_from_grid")  # which computes in float64
DISTILBERT = theirs("create_sinusoidal_embeddings (DistilBERT)")
CONTENDERS = {
    OURS: Contender(sinusoidal_encoding, threaded=False),
    LIMIT: Contender(memory_limit, threaded=False),
    "numpy, float64": Contender(partial(numpy_broadcast, np.float64), threaded=False),
    "numpy, float32": Contender(partial(numpy_broadcast, np.float32), threaded=False),
    "loops of S0": Contender(loop_s0, slow=True, threaded=False),
    "loops of S2": Contender(loop_s2, slow=True, threaded=False),
    "torch of S3": Contender(torch_s3),
    "torch of S4": Contender(torch_s4),
    "positional-encodings": Contender(theirs("PositionalEncoding1D")),
    "transformers, Speech2Text": Contender(SPEECH2TEXT, halves=True, last=1),
    "transformers, DistilBERT": Contender(DISTILBERT, slow=True, threaded=False),
    "diffusers, timesteps": Contender(theirs("get_timestep_embedding"), halves=True, last=1),
    "diffusers, grid": Contender(lambda n, d: GRID(n, d).float(), halves=True),
    "x-transformers": Contender(theirs("ScaledSinusoidalEmbedding"), halves=True, scaled=True),
}


def seconds(name, size, threads, calls=1):
    """Seconds per call, of some calls in a row."""
    torch.set_num_threads(threads)
    return timeit.timeit(partial(CONTENDERS[name].make, *size), number=calls) / calls


def ratios(size, rounds):
    """Yield each contender's time in multiples of ours: quartiles of all rounds."""
    names = [n for n, c in CONTENDERS.items() if not c.slow or size[0] * size[1] <= SLOW_LIMIT]
    prepared = {}  # torch gets one thread or all: the number that is quicker
    for name in names:
        choices = (1, THREADS) if CONTENDERS[name].threaded else (1,)
        once = {n: min(seconds(name, size, n) for _ in range(3)) for n in choices}
        threads = min(once, key=once.get)
        prepared[name] = threads, max(1, round(SHORTEST / once[threads]))
    order, taken = np.random.default_rng(0), {name: [] for name in names}
    for _ in range(rounds):
        for name in order.permutation(names):
            taken[name].append(seconds(name, size, *prepared[name]))
    for name in names:
        quartiles = np.percentile(np.divide(taken[name], taken[OURS]), [25, 50, 75])
        digits = [round(x, 0 if x >= 20 else 1 if x >= 2 else 2) for x in quartiles.tolist()]
        where = {"way": name, "seq_len": size[0], "d_model": size[1]}
        yield where | {"threads": prepared[name][0], "ratios": digits}


def largest_error(contender, seq_len, d_model, rows=1000):
    """Largest error over the last `rows` rows, in the contender's own convention."""
    table = np.asarray(contender.make(seq_len, d_model)).reshape(seq_len, d_model)
    table = table[-rows:].astype(np.float64)
    if contender.scaled:
        table /= np.float64(np.float32(d_model**-0.5))
    if contender.halves:
        table = table.reshape(rows, 2, -1).swapaxes(1, 2).reshape(rows, -1)
    pairs = np.arange(d_model // 2, dtype=np.longdouble)
    omega = 10_000 ** -(pairs / (d_model // 2 - contender.last))
    angles = np.arange(seq_len - rows, seq_len)[:, None] * omega
    exact = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(rows, -1)
    return float(np.abs(table - exact).max())


def resident(field):
    """Bytes of memory in use (VmRSS) or used at most (VmHWM), as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def peak(name):
    """Most memory that one call takes, in tables. Run it in a process of its own."""
    CONTENDERS[name].make(4, 4)
    Path("/proc/self/clear_refs").write_text("5")  # forget what was used at most so far
    before = resident("VmRSS")
    CONTENDERS[name].make(*WEIGHED)
    return (resident("VmHWM") - before) / (4 * WEIGHED[0] * WEIGHED[1])


def digits_and_memory(name, contender):
    """Errors of a contender in the last rows of two tables, and its memory."""
    near = far = used = None
    if name != LIMIT:
        near = float(f"{largest_error(contender, *NEAR):.1e}")
        if not contender.slow:
            far = float(f"{largest_error(contender, *FAR):.1e}")
            with multiprocessing.get_context("spawn").Pool(1) as alone:
                used = round(alone.apply(peak, [name]), 1)
    return {"way": name, "error_near": near, "error_far": far, "memory": used}


def machine():
    """What is measured on, without its name, and how busy it is."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return {
        "date": str(date.today()),
        "processor": found[1] if found else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "system": platform.system(),
    }


def main():
    """Measure, print, and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--record", type=Path, help="a file for what the book shows, as JSON")
    arguments = parser.parse_args()
    versions = {name: version(name).split("+")[0] for name in COMPARED}
    record = {
        "made by": f"tools/bench.py --rounds {arguments.rounds}",
        **machine(),
        "versions": {"Python": platform.python_version(), **versions},
        "rounds": arguments.rounds,
        "times": [row for size in SIZES for row in ratios(size, arguments.rounds)],
        "digits": [digits_and_memory(*each) for each in CONTENDERS.items()],
    }
    for row in record["times"] + record["digits"]:
        print(*row.values(), sep="\t")
    if arguments.record:
        text = json.dumps(record, indent=1, ensure_ascii=False)
        arguments.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
