"""The models of the experiments, golden values of short trainings, and tables of results."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import train as tool
from joblib import Memory

from posenc.book import experiments as ex
from posenc.book.experiments import TASKS, Settings

READER = Settings(
    "prose",
    causal=True,
    width=16,
    seq_len=16,
    window=4,
    steps=2,
    symbols=47,
    answers=47,
)


@pytest.fixture(scope="module")
def prose():
    """The task `prose`, for all tests that take it."""
    text = ex.Prose(tool.DATA / "prose.txt")
    text.register()
    return text


ASKED = {
    "order": ("bAcB?", [-1, -1, -1, -1, 1]),
    "count": ("BAcB?", [-1, -1, -1, -1, 0]),
    "back": ("bcadb", [-1, -1, -1, 1, 2]),
    "local": ("ABABAA", [-1, -1, -1, -1, 1, 1]),
    "needle": ("bAcdb", [2] * 5),
    "recall": ("bAcdb", [-1, -1, 2, 2, 2]),
    "place": ("bcadb", [0, 1, 2, 3, 4]),
    "marked": ("^cadb", [0, 1, 2, 3, 4]),
}


@pytest.mark.parametrize("task", ASKED)
def test_tasks_ask_what_they_say(task):
    """Among many short texts is the one written here, with its answers."""
    text, answers = ASKED[task]
    shape = (200_000,)
    tokens, targets = TASKS[task](shape, len(text), torch.Generator().manual_seed(0))
    wanted = torch.tensor([ex.LETTERS.index(letter) for letter in text])
    same = (tokens == wanted).all(-1)
    assert same.any()
    assert targets[same].unique(dim=0).tolist() == [answers]


@pytest.mark.parametrize("encoding", ex.ENCODINGS)
def test_each_kind_trains_and_many_seeds_train_as_each(encoding, prose):
    settings = replace(READER, encoding=encoding)
    both = ex.train(settings, [1, 2])
    alone = ex.train(settings, [2])
    for name, weight in alone.weights.items():
        together = both.weights[name][1]
        torch.testing.assert_close(together, weight[0], rtol=0, atol=1e-3)
    untrained = ex.stack(settings, [1, 2])
    assert (prose.bits(both, 16) < prose.bits(untrained, 16)).all()
    with torch.no_grad():
        single = ex.init_model(settings, 2)
        tokens = torch.arange(16)[None]
        stacked = untrained(tokens.expand(2, 1, 16), torch.arange(16))
        torch.testing.assert_close(single(tokens, torch.arange(16)), stacked[1])


def test_windows_see_near_places_and_hybrids_all():
    """In three layers, a window of four reaches nine places back."""
    near = torch.zeros(1, 1, 16, dtype=torch.long)
    far = near.clone()
    far[..., 0] = 1
    for encoding, same in (("windows", True), ("hybrid", False)):
        settings = replace(READER, encoding=encoding, layers=3)
        models = ex.stack(settings, [1])
        last_near = models(near, torch.arange(16))[..., -1, :]
        last_far = models(far, torch.arange(16))[..., -1, :]
        assert torch.equal(last_near, last_far) == same


def test_fine_tuning_leaves_the_models_alone():
    models = ex.train(Settings("needle", "rotary", steps=2), [1, 2])
    before = {name: weight.detach().clone() for name, weight in models.weights.items()}
    scaled = ex.Scaled(models.settings, {"rope_type": "linear", "factor": 2.0}, 32)
    longer = ex.fine_tune(models, scaled, 32, steps=3)
    assert all(torch.equal(before[name], models.weights[name]) for name in before)
    assert not torch.equal(longer.weights["words.weight"], before["words.weight"])
    assert longer.curve.shape == (3, 2)


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """What is recorded reads as it was written, and nothing is trained twice."""
    study = {
        "study": "a",
        "table": "small",
        "seeds": [1, 2],
        "sweep": {"rate": [0.1, 0.01]},
        "lengths": [16, 32],
        "changes": [
            {
                "rules": {"YaRN": {"rope_type": "yarn", "factor": 2.0}},
                "asked": [32],
                "tune": {"seq_len": 32, "steps": 1},
            }
        ],
        "settings": {"task": ["back"], "encoding": ["rotary"], "steps": [2]},
    }
    ways = ["sweep"] * 3 + ["test", "YaRN, not tuned", "YaRN, tuned"]
    monkeypatch.setattr(tool, "STUDIES", [study])
    monkeypatch.setattr(tool, "DATA", tmp_path)
    (tmp_path / "prose.txt").write_text("# a text\n" + "letters " * 2000)
    kept = Memory(tmp_path, verbose=0).cache(tool.rows_of.func)
    monkeypatch.setattr(tool, "rows_of", kept)
    tool.write()
    rows = ex.read(tmp_path / "small.csv")
    assert [row["role"] for row in rows] == [way for way in ways for _ in range(2)]
    monkeypatch.setattr(ex, "train", None)
    assert tool.rows_of(*next(tool.jobs()), tool.sources()) == rows


def test_a_changed_source_trains_again(tmp_path, monkeypatch):
    prose = tmp_path / "prose.txt"
    prose.write_text("# a text")
    monkeypatch.setattr(tool, "DATA", tmp_path)
    before = tool.sources()
    assert tool.sources() == before
    prose.write_text("# another")
    assert tool.sources() != before


def test_the_tables_are_of_the_studies():
    """Chapters 11 and 15 say how many models were trained."""
    for table in ("experiments", "context", "text"):
        rows = ex.read(tool.DATA / f"{table}.csv")
        recorded = {(row["study"], row["task"], row["encoding"]) for row in rows}
        listed = [job for job in tool.jobs() if job[0]["table"] == table]
        assert recorded == {(one["study"], s.task, s.encoding) for one, s in listed}


RECORD = Path(__file__).with_name("measures.json")


@pytest.mark.parametrize(("fields", "recorded"), json.loads(RECORD.read_text("utf-8")))
def test_measures_are_the_recorded_ones(fields, recorded):
    measured = ex.measure(ex.train(Settings(**fields), [1, 2]))
    assert measured.keys() == recorded.keys()
    for name, values in measured.items():
        assert values.tolist() == pytest.approx(recorded[name], abs=0.005), name
