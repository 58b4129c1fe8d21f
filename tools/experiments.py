"""Train all models of the chapter on experiments: `make experiments`.

What is done is kept in `.experiments`, one file for each contender, so a run that was stopped goes
on where it was, also after a change to the package that doesn't concern the models, their tasks or
their tests. When all are done, the results go into `notebooks/data`.
"""

import argparse
import ast
import csv
import functools
import hashlib
import inspect
import json
import multiprocessing
import platform
import signal
import textwrap
import time
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import torch

from posenc import experiments
from posenc.encoding import angular_frequencies, sinusoidal_encoding
from posenc.experiments import WIDTH, Settings, examine, measure, records, share, train
from posenc.nn import alibi_slopes, rotate_pairs

ROOT = Path(__file__).parents[1]
PARTS = ROOT / ".experiments"
TABLE = ROOT / "notebooks" / "data" / "experiments.csv"

SEEDS = range(300, 320)
"""Nobody looked at these before the design was settled; trials had seeds below 300, or 1000."""

SWEEP = range(200, 203)
"""Seeds on which rate and start are chosen: other starts, other data, other tests."""

RATES = (1e-2, 5e-3, 2e-2)
STARTS = (WIDTH**-0.5, 1.0)
"""The best mean over the seeds of the sweep is taken, the first of equals."""

MAIN = ("none", "sinusoidal", "learned", "rotary", "ALiBi", "T5")
TABLES = ("sinusoidal", "learned", "frozen", "shuffled", "smooth", "directed", "arc")


def grid():
    """All contenders, the most important first: what for, settings, starts to choose from."""

    def job(study, task, encoding="sinusoidal", starts=STARTS, **others):
        return study, Settings(task, encoding, **others), starts

    def main(task, causal=False, encodings=MAIN):
        return [job("main", task, encoding, causal=causal) for encoding in encodings]

    yield from main("order")
    yield from main("back")
    yield from main("order", causal=True, encodings=MAIN[:2])
    for encoding in TABLES:
        yield job("little", "order", encoding, sequences=64)
    yield job("spread", "order", spread=128)
    for start in STARTS:
        for scale in (1.0, WIDTH**0.5):
            yield job("scale", "back", starts=(start,), scale=scale)
    yield job("join", "back", "concatenated")
    for layers in (1, 2, 3):
        yield job("depth", "marked", "none", causal=True, layers=layers)
    yield from main("local")
    yield from main("count")
    for base in (10.0, 100.0, 1e6):
        yield job("base", "order", base=base)
    for residual in (False, True):
        yield job("residual", "back", starts=STARTS[:1], residual=residual, steps=0)
    yield job("residual", "back", residual=False)
    yield from main("order", causal=True, encodings=MAIN[2:])
    for layers in (1, 3):
        yield job("depth", "order", "none", causal=True, layers=layers)
    yield from main("back", causal=True)
    yield job("join", "order", "concatenated")
    for encoding in TABLES:
        yield job("little", "back", encoding, sequences=16)
    for base in (10.0, 100.0, 1e4, 1e6):
        yield job("base", "order", base=base, seq_len=32)
    yield from main("local", causal=True)
    yield from main("count", causal=True)
    for layers in (1, 3):
        yield job("depth", "back", "none", causal=True, layers=layers)
    for layers in (1, 2, 3):
        yield job("depth", "place", "none", causal=True, layers=layers)
    for start in STARTS:
        for scale in (1.0, WIDTH**0.5):
            yield job("scale", "order", starts=(start,), scale=scale)
    for base in (10.0, 100.0, 1e4, 1e6):
        yield job("base", "order", base=base, seq_len=64)


MATTERS = (
    experiments,
    angular_frequencies,
    sinusoidal_encoding,
    alibi_slopes,
    rotate_pairs,
)
"""The source that the results depend on."""


def code(part):
    """Return what a module or a function does, without its comments, docstrings and layout."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list):
            node.body = [line for line in node.body if not is_text(line)]
    return ast.dump(tree)


def is_text(line):
    """Tell whether a statement is a string and nothing else."""
    value = line.value if isinstance(line, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@functools.cache
def source():
    """Return a few letters that change when the source does, or torch."""
    parts = [code(part) for part in MATTERS] + [torch.__version__]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def name(job):
    """Return the name of a contender's file, which tells all that it was made with."""
    made = hashlib.sha256(repr((job, SEEDS, SWEEP, RATES, source())).encode())
    return f"{job[0]}-{made.hexdigest()[:12]}.json"


def label(settings):
    """Return what is unusual, in a few words."""
    usual = asdict(Settings())
    return ", ".join(
        f"{k}={v}" for k, v in asdict(settings).items() if v != usual[k] or k == "task"
    )


def cost(settings):
    """About how long a contender takes, in any unit."""
    return (settings.steps + 80) * settings.layers * settings.seq_len


def choose(settings, starts):
    """Train all rates and starts from each seed of the sweep; return the best, and all rows."""
    tried = [replace(settings, start=start, rate=rate) for start in starts for rate in RATES]
    each = [one for one in tried for _ in SWEEP]
    seeds = [*SWEEP] * len(tried)
    models = train(each, seeds)
    _, targets, answers = examine(models, settings.seq_len, exam=3)
    found = share(targets, answers)
    best = tried[int(found.view(len(tried), -1).mean(dim=1).argmax())]
    return best, (each, seeds, {str(settings.seq_len): found})


def run(job):
    """Choose rate and start on held-out data, train the models, store what was measured."""
    study, settings, starts = job
    path, begin = PARTS / name(job), time.process_time()
    chosen, swept = choose(settings, starts)
    made = list(records(study, "sweep", *swept))
    found = measure(train(chosen, SEEDS), beyond=study in ("main", "spread"))
    made += records(study, "test", [chosen] * len(SEEDS), SEEDS, found)
    part = {"seconds": time.process_time() - begin, "rows": made}
    path.with_suffix(".new").write_text(json.dumps(part))
    path.with_suffix(".new").rename(path)
    return job, float(found[str(settings.seq_len)].mean())


def write(jobs):
    """Write the table, and beside it what it was made with."""
    parts = [json.loads((PARTS / name(job)).read_text()) for job in jobs]
    table = [row for part in parts for row in part["rows"]]
    columns = dict.fromkeys(key for row in table for key in row)
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    made = {
        "made on": time.strftime("%Y-%m-%d"),
        "models": len(table),
        "minutes of one core": round(sum(part["seconds"] for part in parts) / 60, 1),
        "seeds": [*SEEDS],
        "seeds of the sweep": [*SWEEP],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "processor": platform.machine(),
        "settings": [field.name for field in fields(Settings)],
    }
    TABLE.with_suffix(".json").write_text(json.dumps(made, indent=1) + "\n")
    print(f"{len(table)} models in {TABLE.name}")


def prepare():
    """Make a process of the pool ready: one thread, and Ctrl+C is for the main process alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


def train_all(jobs, processes):
    """Train contenders side by side, and print how far it has come."""
    total = sum(cost(job[1]) for job in jobs)
    done, begin = 0, time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes, prepare) as pool:
        for number, ((study, settings, _), result) in enumerate(pool.imap_unordered(run, jobs), 1):
            done += cost(settings)
            seconds = (time.perf_counter() - begin) * (total / done - 1)
            left_over = f"{number:3} of {len(jobs)}  {seconds / 60:5.1f} min left"
            print(f"{left_over}  {result:.3f}  {study}  {label(settings)}", flush=True)


def main():
    """Train what isn't trained yet, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--partial", action="store_true", help="write what there is, train nothing")
    options = parser.parse_args()
    PARTS.mkdir(parents=True, exist_ok=True)
    jobs = list(grid())
    left = [job for job in jobs if not (PARTS / name(job)).exists()]
    if options.partial:
        write([job for job in jobs if job not in left])
        return
    try:
        train_all(left, options.processes)
    except KeyboardInterrupt:
        raise SystemExit("\nStopped. What is done is kept: the next run goes on.") from None
    write(jobs)


if __name__ == "__main__":
    main()
