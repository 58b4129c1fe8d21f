"""The models of the experiments, golden values of short trainings, and tables of results.

Chapter 11 holds that models trained together are those of a loop that trains one, and prints what
tasks ask.
"""

import json

import pytest
import train
from reading import text_of

from posenc.book import experiments as ex

BITS_OF_A_GUESS = 5.55  # at one of 47 characters
PROSE = ex.Prose(train.DATA / "prose.txt")
PROSE.register()
READER = ex.Settings(
    "prose", "rotary", causal=True, width=16, steps=10, symbols=47, answers=47
)


UNFIT = {
    "steps must be at least": {"steps": 0},
    "spread must be at least": {"spread": 15},
    "answers must be at least": {"task": "place", "seq_len": 17},
    # A table would say False of it.
    "causal must be bool": {"causal": 1},
}


@pytest.mark.parametrize("message", UNFIT)
def test_settings_that_cannot_be_trained_are_refused(message):
    with pytest.raises((TypeError, ValueError), match=message):
        ex.Settings(**UNFIT[message])


def test_fine_tuning_leaves_the_models_alone():
    models = ex.train(READER, [1])
    before = PROSE.bits(models, 16)
    assert before < BITS_OF_A_GUESS
    tuned = ex.fine_tune(models, models.model.encoding, 32)
    assert PROSE.bits(tuned, 16) < before == PROSE.bits(models, 16)


def test_the_tables_are_of_the_studies():
    """Chapters 11 and 15 say what was trained, and from how many seeds."""
    listed = {
        (study["study"], model.task, model.encoding, seed)
        for study, model in train.jobs()
        for seed in train.seeds_of(study)
    }
    recorded = {
        (row["study"], row["task"], row["encoding"], row["seed"])
        for table in {study["table"] for study in train.STUDIES}
        for row in ex.read(train.DATA / f"{table}.csv")
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
