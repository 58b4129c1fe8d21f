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


# Of the other tasks, chapter 11 prints texts, and golden values show what they ask.
def test_sums_ask_for_digits_from_the_ones_on():
    tokens, targets = ex.TASKS["sums"]((50_000,), 5, torch.Generator())
    # 1 + 2 = 3
    text = torch.tensor([ex.LETTERS.index(letter) for letter in "b?c^d"])
    same = (tokens == text).all(-1)
    assert same.any()
    assert targets[same].unique(dim=0).tolist() == [[-1, -1, -1, 3, 0]]


@pytest.mark.parametrize("encoding", ex.ENCODINGS)
def test_each_kind_learns_to_read(encoding):
    models = ex.train(ex.Settings("prose", encoding, **READER), [1])
    assert PROSE.bits(models, 16) < BITS_OF_A_GUESS


def test_fine_tuning_leaves_the_models_alone():
    models = ex.train(ex.Settings("prose", "rotary", **READER), [1])
    before = PROSE.bits(models, 16)
    tuned = ex.fine_tune(models, models.model.encoding, 32)
    assert PROSE.bits(models, 16) == before
    assert PROSE.bits(tuned, 16) < before


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
