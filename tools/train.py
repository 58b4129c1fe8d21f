"""Retrain every model of the experiments, into `notebooks/data`: `make experiments`.

`studies.yml` says what is trained. A job is one contender, from all its seeds; its rows are kept in
`_build/experiments`, so that a run that was interrupted goes on where it stopped. Delete that
folder to train everything again.
"""

import csv
import hashlib
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
import yaml
from joblib import Parallel, delayed

from posenc.book import experiments as ex

ROOT = Path(__file__).parents[1]
DATA = ROOT / "notebooks" / "data"
KEPT = ROOT / "_build" / "experiments"
STUDIES = yaml.safe_load(Path(__file__).with_name("studies.yml").read_text("utf-8"))
SWEEP_SEEDS = [200, 201, 202]
STAGES = {32: 120, 64: 120}  # length: training steps, in order


def jobs():
    """Yield a study and the settings of one contender."""
    for study in STUDIES:
        fields = study["settings"]
        for values in product(*fields.values()):
            chosen = dict(zip(fields, values, strict=True))
            prose = chosen["task"] == "prose"
            yield study, ex.language_model(**chosen) if prose else ex.Settings(**chosen)


def rows_of(study, settings):
    """Return a contender's rows: the kept ones, or those of newly trained models."""
    name = hashlib.sha1(repr((study, settings)).encode()).hexdigest()
    path = KEPT / f"{name}.json"
    if not path.exists():
        rows = list(train(study, settings))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def train(study, settings):
    """Choose rate and start on held-out data, train all seeds, and yield their rows."""
    torch.set_num_threads(1)
    if settings.task == "prose":
        ex.Prose(DATA / "prose.txt")
    if "sweep" in study:
        settings, swept = choose(study, settings)
        yield from swept
    first, number = study["seeds"]
    models = ex.train(settings, range(first, first + number))
    same = [settings] * number
    for role, measured in MEASURES[study["measure"]](study, models):
        yield from ex.records(study["study"], role, same, models.seeds, measured)


def choose(study, settings):
    """Return the candidate that does best on the sweep's seeds, and the rows of all."""
    sweep = study["sweep"]
    candidates = [
        replace(settings, **dict(zip(sweep, values, strict=True)))
        for values in product(*sweep.values())
    ]
    tried = [candidate for candidate in candidates for _ in SWEEP_SEEDS]
    models = ex.train(tried, SWEEP_SEEDS * len(candidates))
    right = ex.accuracy(models, settings.seq_len, exam=3)
    means = right.view(len(candidates), -1).mean(1)
    best = candidates[int(means.argmax())]  # ties go to the first
    measured = {f"{settings.seq_len}": right}
    return best, ex.records(study["study"], "sweep", tried, models.seeds, measured)


def text(study, models):
    """Measure models that read prose; rotary ones also with their frequencies scaled."""
    prose = ex.Prose(DATA / "prose.txt")
    yield "test", prose.measure(models, (64, 128, 256, 512))
    settings = models.settings
    for name, rule in study.get("rules", {}).items():
        if rule is None:  # no rotation: trained on at the old length, on as many characters
            encoding = ex.Encoding(settings)
            tuned = ex.fine_tune(models, encoding, 64, steps=60, batch=32)
        else:
            encoding = ex.Scaled(settings, rule, seq_len=256)
            tuned = ex.fine_tune(models, encoding, 256, steps=60, batch=8)
        as_it_was = models.with_encoding(encoding)
        yield f"{name}, not tuned", prose.measure(as_it_was, (64, 256))
        yield f"{name}, tuned", prose.measure(tuned, (64, 256))


def lengths(_study, models):
    """Measure accuracy by length; of rotary models, also without the rotation."""
    yield "test", by_length(models)
    if models.settings.encoding == "rotary":
        none = ex.Encoding(models.settings)
        yield "removed, not tuned", by_length(models.with_encoding(none))
        tuned = ex.fine_tune(models, none, 16, steps=120, batch=16)
        yield "removed, tuned", by_length(tuned)


def by_length(models):
    """Return accuracy at 16 to 128 letters."""
    return {
        f"{seq_len}": ex.accuracy(models, seq_len, number)
        for seq_len, number in ex.LENGTHS.items()
    }


MEASURES = {"text": text, "lengths": lengths}


def write():
    """Train what isn't kept, and write a table for each name in `studies.yml`."""
    todo = list(jobs())
    costs = [cost(*job) for job in todo]
    start, done = time.monotonic(), 0
    work = (delayed(rows_of)(*job) for job in todo)
    for number, _ in enumerate(Parallel(2, return_as="generator")(work), 1):
        done = sum(costs[:number])
        left = (time.monotonic() - start) * (sum(costs) / done - 1)
        print(f"{number} of {len(todo)}, {left / 60:.0f} minutes left", flush=True)
    for table in dict.fromkeys(study["table"] for study in STUDIES):
        jobs_of = [job for job in todo if job[0]["table"] == table]
        write_table(table, [row for job in jobs_of for row in rows_of(*job)])


def cost(study, settings):
    """Return what grows as the time that a job takes."""
    letters = settings.steps * settings.batch * settings.seq_len
    return study["seeds"][1] * letters * settings.width


def write_table(table, rows):
    """Write rows with the columns that any of them has."""
    columns = dict.fromkeys(key for row in rows for key in row)
    with (DATA / f"{table}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    write()
