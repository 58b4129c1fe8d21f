"""The models of the experiments, golden values of short trainings, and tables of results.

Chapter 11 holds that models trained together are those of a loop that trains one, and shows tasks.
"""

import json

import pytest
import torch
import train
from reading import text_of

from posenc.book import experiments as ex

BITS_OF_A_GUESS = 5.55  # at one of 47 characters
PROSE = ex.Prose(train.DATA / "prose.txt")
PROSE.register()
READER = {
    "causal": True,
    "width": 16,
    "seq_len": 16,
    "window": 4,
    "steps": 10,
    "symbols": 47,
    "answers": 47,
}


# A text, and below each letter the answer that is asked there, if one is. Of the other tasks,
# chapter 11 prints texts, and golden values show what they ask.
EXAMPLES = [("needle", "bAcdb", "22222"), ("sums", "b?c^d", "---30")]


@pytest.mark.parametrize(("task", "text", "answers"), EXAMPLES)
def test_a_task_asks_what_it_says(task, text, answers):
    """Among many short texts is the one written here, with its answers."""
    tokens, targets = ex.TASKS[task]((50_000,), len(text), torch.Generator())
    wanted = torch.tensor([ex.LETTERS.index(letter) for letter in text])
    asked = ["01234".find(answer) for answer in answers]  # -1 is not asked
    same = (tokens == wanted).all(-1)
    assert same.any()
    assert targets[same].unique(dim=0).tolist() == [asked]


@pytest.mark.parametrize("encoding", ex.ENCODINGS)
def test_each_kind_learns_to_read(encoding):
    models = ex.train(ex.Settings("prose", encoding, **READER), [1])
    assert PROSE.bits(models, 16) < BITS_OF_A_GUESS


def test_fine_tuning_leaves_the_models_alone():
    models = ex.train(ex.Settings("prose", "rotary", **READER), [1])
    before = PROSE.bits(models, 16)
    tuned = ex.fine_tune(models, models.model.encoding, 32)
    assert PROSE.bits(tuned, 16) < before == PROSE.bits(models, 16)


def test_the_tables_are_of_the_studies():
    """Chapters 11 and 15 say what was trained, and from how many seeds."""
    listed = {
        (study["study"], model.task, model.encoding, seed)
        for study, model in train.jobs()
        for seed in train.seeds_of(study)
    }
    tables = {study["table"] for study in train.STUDIES}
    rows = [row for table in tables for row in ex.read(train.DATA / f"{table}.csv")]
    recorded = {
        (row["study"], row["task"], row["encoding"], row["seed"])
        for row in rows
        if row["role"] != "sweep"
    }
    assert recorded == listed


# A row: settings, and what `ex.measure` gives after a training with seed 1. When a change of the
# models is meant, it is copied from this test's message. Sums in another order, as on another
# machine, may turn one answer of many: hence the tolerance.
RECORD = json.loads(text_of("tests/measures.json"))


@pytest.mark.parametrize(("fields", "recorded"), RECORD)
def test_measures_are_the_recorded_ones(fields, recorded):
    models = ex.train(ex.Settings(**fields), [1])
    measured = {name: value.item() for name, value in ex.measure(models).items()}
    assert measured == pytest.approx(recorded, abs=0.005)
