"""The models of the experiments, golden values of short trainings, and tables of results."""

import json
from collections import Counter
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import train as tool

from posenc import sinusoidal_encoding
from posenc.book import experiments as ex
from posenc.book.experiments import NO_TARGET, TASKS, Settings, init_model, stack, train

SMALL = Settings("back", "sinusoidal", rate=1e-2, steps=4, batch=8)


def asked(text, task):
    """A task's targets, computed from the text alone."""
    a, silent = text.find("A"), [NO_TARGET] * len(text)
    if task in ("order", "count"):
        more = text.count("A") > text.count("B")
        return [*silent[1:], a < text.find("B") if task == "order" else more]
    if task == "back":
        return silent[:3] + [ex.LETTERS.index(letter) for letter in text[:-3]]
    if task == "local":
        return silent[:4] + [
            text[i - 4 : i + 1].count("A") > 2 for i in range(4, len(text))
        ]
    return (
        [ex.LETTERS.index(text[a + 1])] * len(text)
        if task == "needle"
        else [*range(len(text))]
    )


@pytest.mark.parametrize("task", TASKS)
def test_tasks_ask_what_they_say(task):
    tokens, targets = TASKS[task]((300,), 20, torch.Generator().manual_seed(0))
    for row, wanted in zip(tokens, targets.tolist(), strict=True):
        text = "".join(ex.LETTERS[token] for token in row)
        assert wanted == asked(text, task), text
        capitals = {"order": 2, "count": 3, "needle": 1, "local": 20}.get(task, 0)
        assert text.count("A") + text.count("B") == capitals
        assert ("^" in text, "?" in text) == (
            task == "marked",
            task in ("order", "count"),
        )
    if task in ("order", "count", "local"):
        assert targets[targets != NO_TARGET].double().mean() == pytest.approx(
            0.5, abs=0.08
        )


def test_a_layer_without_a_residual_connection_passes_nothing_on():
    model, x = init_model(Settings(residual=False), 0), torch.randn(1, 5, ex.WIDTH)
    for weight in model.layers.parameters():
        torch.nn.init.zeros_(weight)
    assert not model.layers[0](x, torch.arange(5), model.encoding).any()


@pytest.mark.parametrize("encoding", ex.ENCODINGS)
def test_stacked_models_are_the_single_ones(encoding):
    settings = Settings(
        "local", encoding, causal=True, base=100.0, scale=2.0, init_std=0.5
    )
    tokens = torch.randint(12, (2, 5, 16), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(16)
    models = stack(settings, [4, 5])
    scores, states = models(tokens, positions), models(tokens, positions, states=True)
    for index, seed in enumerate([4, 5]):
        model = init_model(settings, seed)
        torch.testing.assert_close(model(tokens[index], positions), scores[index])
        last = model(tokens[index], positions, states=True)[2]
        torch.testing.assert_close(last, states[2][index])
    shared = init_model(replace(settings, encoding="none"), 5).state_dict()
    assert all(torch.equal(model.state_dict()[name], shared[name]) for name in shared)


def test_training_many_is_training_each():
    """With individual rates and initial scales; chapter 11 compares with torch's optimizer."""
    own = replace(SMALL, spread=40)
    choices = [
        replace(own, rate=rate, init_std=size)
        for rate, size in ((3e-3, 0.2), (1e-2, 1.0))
    ]
    models = train(choices, [1, 2])
    for index, (settings, seed) in enumerate(zip(choices, [1, 2], strict=True)):
        alone = train(settings, [seed])
        curves = models.curve[:, index], alone.curve[:, 0]
        torch.testing.assert_close(*curves, rtol=0, atol=0.02)
        for name, (weight,) in alone.weights.items():
            torch.testing.assert_close(
                models.weights[name][index], weight, rtol=0, atol=1e-3
            )


def test_fine_tuning_leaves_the_models_alone():
    models = train(Settings("needle", "rotary", steps=2), [1, 2])
    before = {name: weight.detach().clone() for name, weight in models.weights.items()}
    scaled = ex.Scaled(models.settings, {"rope_type": "linear", "factor": 2.0}, 32)
    longer = ex.fine_tune(models, scaled, 32, steps=3)
    assert train(replace(models.settings, steps=0), [1, 2]).curve.shape == (0, 2)
    assert all(torch.equal(before[name], models.weights[name]) for name in before)
    assert not torch.equal(longer.weights["words.weight"], before["words.weight"])
    assert (longer.curve.shape, ex.by_depth(longer, 32).shape) == ((3, 2), (4, 2))


def test_fixed_tables_differ_only_as_their_names_say():
    spread, sums = {}, []
    for name in [*ex.FIXED, "sinusoidal"]:
        torch.manual_seed(0)
        rows = ex.ENCODINGS[name](Settings()).rows(
            torch.zeros(16, 32), torch.arange(16)
        )
        spread[name] = (rows - rows.mean(0)).square().sum(1).mean().sqrt().item()
        assert name == "widened" or torch.allclose(rows.norm(dim=1), torch.tensor(4.0))
        sums.append((torch.arange(16.0) @ rows).abs().sum().item())
    drawn = [725.0, 1784.0, 479.7, 946.1, 1925.5, 198.7, 430.3, 1755.4, 494.5, 2022.4]
    assert sums[:-1] == pytest.approx(
        drawn, rel=1e-3
    )  # golden: chapter 11 shows these tables
    for name in ["smooth", "directed", "arc"]:
        assert spread[name] == pytest.approx(spread[f"shuffled {name}"])
    low = ex.ENCODINGS["sinusoidal"](Settings(base=9.0)).rows(
        torch.zeros(16, 32), torch.arange(16)
    )
    assert np.allclose(low, sinusoidal_encoding(16, 32, base=9), rtol=0, atol=1e-6)
    assert spread["widened"] == pytest.approx(4, abs=0.01)
    assert spread["narrow"] == pytest.approx(spread["sinusoidal"], abs=0.15)


def test_measures():
    few = train(Settings("order", "learned", sequences=4, steps=60, rate=1e-2), [1, 2])
    assert ex.measure(few)["known"].min() == 1
    few.curve = torch.tensor([[1.0, 0.0], [0.8, 0.5], [0.9, 0.9]])
    assert ex.steps_to(few, window=2).tolist() == [2, 3]
    assert ex.probe(stack(Settings(), [1, 2]), number=32)[0][0].max() < 0.2
    bags = stack(Settings("order"), range(8))  # insensitive to where the filler is
    early, late = (ex.padded(bags, where, number=64) for where in ("early", "late"))
    assert torch.equal(early, late)
    assert late.max() == 0.5

    untrained = stack(Settings("order", "sinusoidal", steps=0), [1, 2])
    assert min(share.min() for share in ex.probe(untrained)[0]) == 1
    assert (ex.examine(untrained, 32, number=5)[1][..., :16] == NO_TARGET).all()


def test_what_is_recorded_reads_as_it_was_written(tmp_path, monkeypatch):
    stages = Settings("back", "rotary", steps=2)
    jobs = [
        ("base", SMALL, (0.5, 1.0)),
        ("stages", stages, (1.0,)),
        ("stretch", stages, (1.0,)),
    ]
    rules = {name: tool.RULES[name] for name in ("as trained", "YaRN")}
    few = {"SEEDS": range(2), "FRESH": range(2), "STAGES": {32: 1}, "RULES": rules}
    few |= {"DATA": tmp_path, "fine_tune": partial(ex.fine_tune, steps=2)}
    for name, value in few.items():
        monkeypatch.setattr(tool, name, value)
    tool.write([tool.run(job) for job in jobs])
    rows = ex.read(tmp_path / "experiments.csv")
    assert [row["role"] for row in rows] == ["sweep"] * 18 + ["test"] * 2
    roles = [row["role"] for row in ex.read(tmp_path / "context.csv")]
    staged = ["sweep"] * 9 + ["up to 16"] * 2 + ["up to 32"] * 2
    assert roles[:22] == staged + ["sweep"] * 9
    assert roles[22::2] == [
        f"{rule}, {how}" for rule in rules for how in ("not tuned", "tuned")
    ]
    (made,) = ex.records("main", "test", [SMALL], [7], {"16": torch.tensor([0.12345])})
    assert made == {
        "study": "main",
        "role": "test",
        "seed": 7,
        **asdict(SMALL),
        "16": 0.1235,
    }
    assert ex.settings_of(made) == SMALL


def test_tables_have_every_contender_tuned_with_equal_effort():
    """Chapters 11 and 15 state how many models were trained."""
    rows = ex.read(tool.DATA / "experiments.csv") + ex.read(tool.DATA / "context.csv")
    tuned, wanted = (
        Counter(row["study"] for row in rows if row["role"] == "sweep"),
        Counter(),
    )
    for study, _, starts in tool.grid():
        wanted[study] += len(starts) * len(tool.RATES) * len(tool.SWEEP)
    assert tuned == wanted


RECORD = Path(__file__).with_name("measures.json")
MEASURED = json.loads(RECORD.read_text(encoding="utf-8"))
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0}


def measure(settings):
    """Measure two trained models; for the needle task, also after fine-tuning on longer texts."""
    models = train(settings, [1, 2])
    found = ex.measure(models)
    if settings.task == "needle":
        longer = ex.fine_tune(models, ex.Scaled(settings, DYNAMIC, 64), 24, steps=9)
        found |= {
            f"depth{part}": share for part, share in enumerate(ex.by_depth(longer, 24))
        }
    return {
        name: [round(float(one), 3) for one in each] for name, each in found.items()
    }


@pytest.mark.parametrize(
    ("settings", "recorded"), MEASURED, ids=lambda each: each.get("task")
)
def test_measures_are_the_recorded_ones(settings, recorded):
    """To record an intended difference: `.venv/bin/python tests/test_experiments.py`."""
    found = measure(Settings(**settings))
    assert found.keys() == recorded.keys()
    for name, values in found.items():
        assert values == pytest.approx(recorded[name], abs=0.005), name


if __name__ == "__main__":
    rows = [json.dumps([each, measure(Settings(**each))]) for each, _ in MEASURED]
    RECORD.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
