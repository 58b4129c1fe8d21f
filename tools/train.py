"""Retrain every model of the experiments, into `notebooks/data`: `make experiments`.

`notebooks/data/studies.yml` says what is trained. A job is one contender, from all its seeds.

A study is a mapping with these keys; those in brackets may be missing:

- `study`: its name in the tables; `table`: the CSV file that gets its rows, without `.csv`;
- `settings`: lists of values of fields of `Settings`; each combination is a contender;
- `seeds`: the first seed, and how many;
- [`sweep`]: lists of values of fields, of which each contender takes what does best on other seeds;
- [`beyond`]: models are measured at the trained length, and if it is true, beyond it, too;
- [`lengths`]: the lengths that models are asked at, as they were trained;
- [`changes`]: what is tried on rotary models after training. Each has `rules`: configurations of
  their frequencies, by name; `asked`: the lengths; and `tune`: the `seq_len` that models are tuned
  for, and further options of `fine_tune`.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
import yaml
from joblib import Parallel, delayed

from posenc.book import experiments as ex

ROOT = Path(__file__).parents[1]
DATA = ROOT / "notebooks" / "data"
STUDIES = yaml.safe_load((DATA / "studies.yml").read_text(encoding="utf-8"))
PROCESSES = 2  # each with one thread
# A sweep has other weights, data and exams than any study.
SWEEP_SEEDS = [200, 201, 202]
SWEEP_EXAM = 3  # `measure` takes exam 0


def jobs():
    """Yield a study and the settings of one contender."""
    for study in STUDIES:
        for chosen in combinations(study["settings"]):
            yield study, ex.Settings(**chosen)


def seeds_of(study):
    """Return the seeds that each contender trains from."""
    first, number = study["seeds"]
    return range(first, first + number)


def combinations(values):
    """Yield each combination of listed values, as a mapping."""
    for chosen in product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def rows_of(study, settings):
    """Train a contender from all its seeds, and return the rows of what was measured."""
    torch.set_num_threads(1)  # of each process
    prose = ex.Prose(DATA / "prose.txt")
    ex.TASKS["prose"] = prose.task
    ask = prose.ask if settings.task == "prose" else ex.ask
    rows = []
    if "sweep" in study:
        settings = choose(study, settings, rows)
    models = ex.train(settings, seeds_of(study))
    for role, measured in measures(study, models, ask):
        rows += ex.records(study["study"], role, settings, models.seeds, measured)
    return rows


def choose(study, settings, rows):
    """Return settings with the swept values that do best, and add the rows of all."""
    means = {}
    for chosen in combinations(study["sweep"]):
        tried = replace(settings, **chosen)
        models = ex.train(tried, SWEEP_SEEDS)
        right = ex.accuracy(models, settings.seq_len, exam=SWEEP_EXAM)
        means[tried] = right.mean()
        measured = {f"{settings.seq_len}": right}
        rows += ex.records(study["study"], "sweep", tried, SWEEP_SEEDS, measured)
    return max(means, key=means.get)  # ties go to the first


def measures(study, models, ask):
    """Yield a role and measures: of models as trained, then under each rule."""
    if "beyond" in study:
        yield "test", ex.measure(models, study["beyond"])
    if "lengths" in study:
        yield "test", at_lengths(models, ask, study["lengths"])
    for change in study.get("changes", []):
        tune = change["tune"]
        for name, rule in change["rules"].items():
            encoding = ex.Scaled(models.settings, rule, tune["seq_len"])
            tuned = ex.fine_tune(models, encoding, **tune)
            for way, tried in (("not tuned", models), ("tuned", tuned)):
                measured = at_lengths(tried, ask, change["asked"], rule)
                yield f"{name}, {way}", measured


def at_lengths(models, ask, lengths, rule=None):
    """Return what models are asked at each length that their encoding reaches.

    With a rule, their frequencies are scaled for the length.
    """
    measured = {}
    for seq_len in lengths:
        if models.model.encoding.ends and seq_len > models.settings.seq_len:
            continue
        asked = models
        if rule is not None:
            encoding = ex.Scaled(models.settings, rule, seq_len)
            asked = models.with_encoding(encoding)
        measured |= ask(asked, seq_len)
    return measured


def write():
    """Train all, and write the tables; joblib says what is done."""
    work = [delayed(rows_of)(*job) for job in jobs()]
    trained = Parallel(PROCESSES, batch_size=1, verbose=len(work) + 1)(work)
    tables = {}
    for (study, _), rows in zip(jobs(), trained, strict=True):
        tables.setdefault(study["table"], []).extend(rows)
    for table, rows in tables.items():
        ex.write(DATA / f"{table}.csv", rows)


if __name__ == "__main__":
    write()
