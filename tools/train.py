"""Retrain every model of the experiments, into `notebooks/data`: `make experiments`."""

import csv
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

from joblib import Parallel, delayed

from posenc.book import experiments as ex
from posenc.book.experiments import Scaled, Settings, examine, fine_tune, share, train

DATA = Path(__file__).parents[1] / "notebooks" / "data"
SEEDS = range(
    300, 320
)  # unused until the design was settled; trials had those below, or from 1000
FRESH = range(320, 340)  # for studies designed after the results of `SEEDS` were known
SECOND = (
    "again",
    "little",
    "longer",
    "stretch",
    "stages",
)  # the studies that use `FRESH`
CONTEXT = ("stretch", "stages")  # the studies of longer contexts
SWEEP = range(
    200, 203
)  # held-out seeds for choosing rate and start: other weights, data and tests
RATES, STARTS = (
    (1e-2, 5e-3, 2e-2),
    (ex.WIDTH**-0.5, 1.0),
)  # the best pair; ties go to the first
STAGES = {32: 120, 64: 120}  # length → training steps, in order, after training at 16
# Ways to read 64 letters with models trained on 16, in the fields of a `config.json`.
RULES = json.loads((DATA / "rules.json").read_text(encoding="utf-8"))


def each(name, *values):
    """Return the choices of one of the settings."""
    return [{name: value} for value in values]


ORDER, BACK, MASKS = (
    each("task", "order"),
    each("task", "back"),
    each("causal", False, True),
)
WAVES, ROTARY = each("encoding", "sinusoidal"), each("encoding", "rotary")
MAIN = each("encoding", "none", "sinusoidal", "learned", "rotary", "ALiBi", "T5")
TABLES = each("encoding", "sinusoidal", "learned", *ex.FIXED)
JOINED = each("encoding", "concatenated")
FEW = [{"task": "order", "sequences": 64}, {"task": "back", "sequences": 16}]
MORE = [
    {"task": "back"},
    {"task": "order", "causal": True},
    {"task": "back", "causal": True},
]
DEEP = [{"encoding": "none", "causal": True, "layers": layers} for layers in (1, 2, 3)]
SCALES, LENGTHS = each("scale", 1.0, ex.WIDTH**0.5), each("seq_len", 16, 32, 64)
TURNED = [{"task": "needle", "steps": 600}, {"task": "back", "steps": 240}]
# Study and candidate starts; then choices, of which all combinations are trained.
STUDIES = [
    ("main", STARTS, each("task", "order", "back", "local", "count"), MASKS, MAIN),
    ("little", STARTS, TABLES, FEW),
    ("longer", STARTS, ORDER, [*WAVES, MAIN[2], *JOINED], each("seq_len", 32)),
    ("again", STARTS, ORDER, MAIN[1:]),
    ("again", STARTS, MORE, MAIN[1:3]),
    ("join", STARTS, ORDER + BACK, JOINED),
    *(("scale", (start,), BACK + ORDER, WAVES, SCALES) for start in STARTS),
    ("depth", STARTS, each("task", "marked", "place", "order", "back"), DEEP),
    ("base", STARTS, ORDER, WAVES, LENGTHS, each("base", 10.0, 100.0, 1e4, 1e6)),
    (
        "residual",
        STARTS[:1],
        BACK,
        WAVES,
        each("residual", False, True),
        each("steps", 0),
    ),
    ("residual", STARTS, BACK, WAVES, each("residual", False)),
    ("spread", STARTS, ORDER, WAVES, each("spread", 128)),
    ("stretch", (1.0,), [*TURNED, {"task": "order"}], ROTARY),
    ("stages", (1.0,), TURNED, ROTARY, each("base", 10.0, 30.0, 100.0, 1e4)),
]


def grid():
    """Yield all contenders: study, settings, candidate starts."""
    known = set()
    for study, starts, *choices in STUDIES:
        for chosen in product(*choices):
            settings = Settings(**{name: one[name] for one in chosen for name in one})
            if study == "main":
                known.add(settings)
            if study not in ("depth", "base") or settings not in known:  # not twice
                yield study, settings, starts


def choose(settings, starts):
    """Train all rates and starts on the sweep's seeds; return the best, and data for all rows."""
    tried = [
        replace(settings, init_std=start, rate=rate)
        for start in starts
        for rate in RATES
    ]
    all_tried, seeds = [one for one in tried for _ in SWEEP], [*SWEEP] * len(tried)
    _, targets, answers = examine(train(all_tried, seeds), settings.seq_len, exam=3)
    found = share(targets, answers)
    best = tried[int(found.view(len(tried), -1).mean(dim=1).argmax())]
    return best, (all_tried, seeds, {str(settings.seq_len): found})


def found_at(models, seq_len, depths=True):
    """Return accuracy on new sequences of a length and, in the needle task, by depth."""
    _, targets, answers = examine(models, seq_len, number=128)
    found = {f"{seq_len}": share(targets, answers)}
    if depths and models.settings.task == "needle":
        parts = enumerate(ex.by_depth(models, seq_len))
        found |= {f"depth{part}of{seq_len}": shares for part, shares in parts}
    return found


def stretched(trained):
    """Yield role and measures of models under each rule, without and with fine-tuning at 64."""
    for name, rule in RULES.items():
        short, long = (Scaled(trained.settings, rule, seq_len) for seq_len in (16, 64))
        for how, models in (
            ("not tuned", trained),
            ("tuned", fine_tune(trained, long, 64)),
        ):
            at_64 = found_at(models.with_encoding(long), 64)
            yield f"{name}, {how}", found_at(models.with_encoding(short), 16) | at_64


def in_stages(trained):
    """Yield role and measures after each stage of training on longer and longer texts."""
    yield "up to 16", found_at(trained, 16, False)
    models = trained
    for seq_len, steps in STAGES.items():
        models = fine_tune(
            models, Scaled(trained.settings, {}, seq_len), seq_len, steps=steps
        )
        yield (
            f"up to {seq_len}",
            found_at(models, 16, False) | found_at(models, seq_len),
        )


def run(job):
    """Choose rate and start on held-out data, train the models, and return their rows."""
    study, settings, starts = job
    chosen, swept = choose(settings, starts)
    seeds = FRESH if study in SECOND else SEEDS
    trained = train(chosen, seeds)
    if study in CONTEXT:
        results = (stretched if study == "stretch" else in_stages)(trained)
    else:
        results = [("test", ex.measure(trained, study in ("main", "again", "spread")))]
    rows = [*ex.records(study, "sweep", *swept)]
    for role, found in results:
        rows += ex.records(study, role, [chosen] * len(seeds), seeds, found)
    return rows


def write(parts):
    """Write both tables."""
    for table, longer in (("experiments", False), ("context", True)):
        rows = [
            row for part in parts for row in part if (row["study"] in CONTEXT) == longer
        ]
        columns = dict.fromkeys(key for row in rows for key in row)
        with (DATA / f"{table}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    write(Parallel(2, verbose=50)(map(delayed(run), grid())))  # reports progress
