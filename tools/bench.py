"""How fast, how large and how exact: posenc beside what people write and install.

Run it with `make bench`. It prints Markdown. Every time is a ratio, taken within one round in
which all contenders run in turn, so that a machine that is busy or slow is so for all of them.
`--record FILE` also writes what the chapter on precision and speed shows, as JSON.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from math import log
from pathlib import Path

# Before torch is loaded: let it have huge pages, as numpy has them by itself.
os.environ["THP_MEM_ALLOC_ENABLE"] = "1"

import machine
import mpmath
import numpy as np
import torch
from diffusers.models.embeddings import get_1d_sincos_pos_embed_from_grid, get_timestep_embedding
from positional_encodings.torch_encodings import PositionalEncoding1D
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.speech_to_text.modeling_speech_to_text import (
    Speech2TextSinusoidalPositionalEmbedding,
)
from x_transformers.x_transformers import ScaledSinusoidalEmbedding

from posenc import sinusoidal_encoding

ROUNDS = 30
THREADS = torch.get_num_threads()
SHORTEST = 0.005  # seconds that one measurement lasts; quicker calls are repeated in a row
SLOW_LIMIT = 2**18  # entries beyond which the Python loops are left out

SMALL = [(4, 4), (32, 16), (128, 64)]
MIDDLE = [(512, 512), (5000, 512)]
LARGE = [(131_072, 128), (32_768, 512), (8192, 2048)]  # 64 MiB each
SUMMARY = [(128, 64), (512, 512), (5000, 512), (32_768, 512)]  # columns of the book's table
NEAR, FAR = (5000, 512), (131_072, 512)  # tables whose last rows are checked for digits
WEIGHED = (32_768, 512)  # the table whose memory is counted


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


def numpy_broadcast(seq_len, d_model, dtype):
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


def positional_encodings(seq_len, d_model):
    """Call the layer for a tensor; it takes the shape alone, so this one has no memory."""
    return PositionalEncoding1D(d_model)(torch.zeros(1).expand(1, seq_len, d_model))[0]


def distilbert(seq_len, d_model):
    """Fill the position embeddings of a DistilBERT."""
    return create_sinusoidal_embeddings(seq_len, d_model, torch.empty(seq_len, d_model))


def diffusers_timesteps(seq_len, d_model):
    """Encode timesteps 0, 1, …."""
    return get_timestep_embedding(torch.arange(seq_len), d_model)


def diffusers_grid(seq_len, d_model):
    """Encode a grid of one dimension; it computes in float64."""
    return get_1d_sincos_pos_embed_from_grid(d_model, torch.arange(seq_len)).float()


@torch.no_grad()
def x_transformers(seq_len, d_model):
    """Call the layer for a batch without channels; it takes the length alone."""
    return ScaledSinusoidalEmbedding(d_model)(torch.empty(1, seq_len, 0))


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
VECTORIZED = "numpy, float64"
CONTENDERS = {
    OURS: Contender(sinusoidal_encoding, threaded=False),
    LIMIT: Contender(memory_limit, threaded=False),
    VECTORIZED: Contender(lambda *size: numpy_broadcast(*size, np.float64), threaded=False),
    "numpy, float32": Contender(lambda *size: numpy_broadcast(*size, np.float32), threaded=False),
    "loops of S0": Contender(loop_s0, slow=True, threaded=False),
    "loops of S2": Contender(loop_s2, slow=True, threaded=False),
    "torch of S3": Contender(torch_s3),
    "torch of S4": Contender(torch_s4),
    "positional-encodings": Contender(positional_encodings),
    "transformers, Speech2Text": Contender(
        Speech2TextSinusoidalPositionalEmbedding.get_embedding, halves=True, last=1
    ),
    "transformers, DistilBERT": Contender(distilbert, slow=True, threaded=False),
    "diffusers, timesteps": Contender(diffusers_timesteps, halves=True, last=1),
    "diffusers, grid": Contender(diffusers_grid, halves=True),
    "x-transformers": Contender(x_transformers, halves=True, scaled=True),
}


def duration(make, size, calls=1):
    """Seconds per call, of some calls in a row."""
    began = time.perf_counter()
    for _ in range(calls):
        make(*size)
    return (time.perf_counter() - began) / calls


def best_threads(contender, size):
    """Give torch one thread or all: the number that is quicker, and the seconds a call takes."""
    found = {}
    for threads in (1, THREADS) if contender.threaded else (1,):
        torch.set_num_threads(threads)
        found[threads] = min(duration(contender.make, size) for _ in range(3))
    return min(found.items(), key=lambda item: item[1])


def measure(size, rounds):
    """Seconds per call of each contender, one entry per round, and the threads that each got."""
    makers = {
        name: contender.make
        for name, contender in CONTENDERS.items()
        if not contender.slow or size[0] * size[1] <= SLOW_LIMIT
    }
    prepared = {name: best_threads(CONTENDERS[name], size) for name in makers}
    order = np.random.default_rng(0)
    seconds = {name: [] for name in makers}
    for _ in range(rounds):
        for name in order.permutation(list(makers)):
            threads, expected = prepared[name]
            torch.set_num_threads(threads)
            calls = max(1, round(SHORTEST / expected))
            seconds[name].append(duration(makers[name], size, calls))
    threads = {name: prepared[name][0] for name in makers}
    return {name: np.array(values) for name, values in seconds.items()}, threads


def quartiles(above, below):
    """Quartiles of the ratio of two contenders, round by round."""
    return np.percentile(above / below, [25, 50, 75])


def ratio(above, below):
    """Median ratio of two contenders, round by round, with its quartiles."""
    low, middle, high = quartiles(above, below)
    return f"{short(middle)} ({short(low)}–{short(high)})"


def short(number):
    """Two or three digits of a ratio."""
    return f"{number:.{0 if number >= 20 else 1 if number >= 2 else 2}f}"


def exact_rows(positions, d_model, last):
    """Sines and cosines in pairs, with angles counted in 2**-64 of a turn."""
    table = np.empty((len(positions), d_model))
    for i in range(d_model // 2):
        with mpmath.workdps(40):
            omega = mpmath.power(10_000, -mpmath.mpf(i) / (d_model // 2 - last))
            step = int(mpmath.nint(omega / (2 * mpmath.pi) * 2**64))
        angles = (positions.astype(np.uint64) * np.uint64(step)).view(np.int64) * (np.pi / 2**63)
        table[:, 2 * i], table[:, 2 * i + 1] = np.sin(angles), np.cos(angles)
    return table


def largest_error(contender, seq_len, d_model, rows=1000):
    """Largest error over the last `rows` rows, in the contender's own convention."""
    table = np.asarray(contender.make(seq_len, d_model))[-rows:].astype(np.float64)
    if contender.scaled:
        table /= np.float64(np.float32(d_model**-0.5))
    if contender.halves:
        table = table.reshape(rows, 2, -1).swapaxes(1, 2).reshape(rows, -1)
    positions = np.arange(seq_len - rows, seq_len)
    return np.abs(table - exact_rows(positions, d_model, contender.last)).max()


def resident(field):
    """Bytes of memory in use (VmRSS) or used at most (VmHWM), as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def peak(name, size):
    """Most memory that one call takes, in tables. Run it in a process of its own."""
    CONTENDERS[name].make(4, 4)
    Path("/proc/self/clear_refs").write_text("5")  # forget what was used at most so far
    before = resident("VmRSS")
    table = CONTENDERS[name].make(*size)
    used = resident("VmHWM") - before
    del table
    return used / (4 * size[0] * size[1])


def versions():
    """The versions of what is compared."""
    packages = ["numpy", "torch", "positional-encodings", "transformers", "diffusers"]
    numbers = {name: version(name).split("+")[0] for name in [*packages, "x-transformers"]}
    return {"Python": platform.python_version(), **numbers}


def described(found):
    """Say in a sentence what was measured on."""
    numbers = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return (
        f"{found['date']}. {found['processor']}, {found['cores']} cores, {found['system']}; "
        f"{numbers}; torch with huge pages and one thread or {THREADS}, whichever is quicker, "
        f"everything else with one thread."
    )


def print_table(head, rows):
    """Print Markdown."""
    print("\n| " + " | ".join(head) + " |\n|---" + "|--:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def print_times(title, sizes, rounds):
    """Measure and print the times of all contenders at some sizes; return them, and threads."""
    measured = {size: measure(size, rounds) for size in sizes}
    seconds = {size: times for size, (times, _) in measured.items()}
    print(f"\n{title}, in times that posenc takes: median (quartiles) of {rounds} rounds")
    rows = [
        [name, *(ratio(s[name], s[OURS]) if name in s else "–" for s in seconds.values())]
        for name in CONTENDERS
        if name != OURS
    ]
    print_table(["", *(f"{seq_len} × {d_model}" for seq_len, d_model in sizes)], rows)
    for (seq_len, d_model), s in seconds.items():
        quicker = [n for n in s if n != LIMIT and np.median(s[n] / s[OURS]) < 1]
        print(
            f"\n{seq_len} × {d_model}: posenc takes {ratio(s[OURS], s[LIMIT])} times as long as "
            f"allocate and fill, {np.median(s[OURS]) * 1e6:.0f} µs. "
            f"Quicker than posenc: {', '.join(quicker) or 'none'}."
        )
    return measured


def digits_and_memory(name):
    """Errors of a contender in the last rows of two tables, and its memory in tables, or None."""
    contender = CONTENDERS[name]
    if name == LIMIT:
        return None, None, None
    near = largest_error(contender, *NEAR)
    if contender.slow:
        return near, None, None
    far = largest_error(contender, *FAR)
    if sys.platform != "linux":
        return near, far, None
    used = subprocess.check_output([sys.executable, __file__, "--peak", name])
    return near, far, float(used)


def as_record(found, rounds, measured, exactness):
    """Choose what the book shows of a run; ratios are low, middle and high quartile."""
    times = []
    for (seq_len, d_model), (seconds, threads) in measured.items():
        if (seq_len, d_model) not in SUMMARY:
            continue
        for name, values in seconds.items():
            ratios = [float(short(x)) for x in quartiles(values, seconds[OURS])]
            size = {"seq_len": seq_len, "d_model": d_model}
            times.append({"way": name, **size, "threads": threads[name], "ratios": ratios})
    digits = [
        {
            "way": name,
            "error_near": near and float(f"{near:.1e}"),
            "error_far": far and float(f"{far:.1e}"),
            "memory": used and round(used, 1),
        }
        for name, (near, far, used) in exactness.items()
    ]
    sizes = {"near": NEAR, "far": FAR, "weighed": WEIGHED}
    return {
        "made by": f"tools/bench.py --rounds {rounds}",
        **found,
        "rounds": rounds,
        "unit": OURS,
        "sizes": sizes,
        "times": times,
        "digits": digits,
    }


def main():
    """Print times, errors and memory, and a summary of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--record", type=Path, help="a file for what the book shows, as JSON")
    parser.add_argument("--peak", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print(peak(arguments.peak, WEIGHED))
        return
    found = {**machine.describe(), "versions": versions()}
    print(described(found))
    measured = print_times("Small tables", SMALL, arguments.rounds)
    measured |= print_times("Middling tables", MIDDLE, arguments.rounds)
    measured |= print_times("Tables of 64 MiB", LARGE, arguments.rounds)

    exactness = {name: digits_and_memory(name) for name in CONTENDERS}
    print("\nIn short: median ratios; the largest error of the last 1000 rows of", end=" ")
    print(f"{NEAR[0]} × {NEAR[1]} and of\n{FAR[0]} × {FAR[1]};", end=" ")
    print(f"the most memory at {WEIGHED[0]} × {WEIGHED[1]}, in tables")
    rows = []
    for name in CONTENDERS:
        times = [measured[size][0] for size in SUMMARY]
        ratios = [short(np.median(s[name] / s[OURS])) if name in s else "–" for s in times]
        near, far, used = exactness[name]
        errors = [f"{error:.1e}" if error else "–" for error in (near, far)]
        rows.append([name, *ratios, *errors, f"{used:.1f}" if used else "–"])
    sizes = [f"{seq_len} × {d_model}" for seq_len, d_model in SUMMARY]
    print_table(["", *sizes, "error", "far out", "memory"], rows)
    if arguments.record:
        record = as_record(found, arguments.rounds, measured, exactness)
        text = json.dumps(record, indent=1, ensure_ascii=False)
        arguments.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
