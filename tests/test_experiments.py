"""Golden values of short trainings, which hold the models of the experiments.

Chapter 11 holds that models trained together are those of a loop that trains one, and prints what
tasks ask.
"""

import json

import pytest
from reading import text_of

from posenc.book import experiments as ex

# A row: settings, and what `ex.measure` gives after a training with seed 1. When a change of the
# models is meant, it is copied from this test's message. Sums in another order, as on another
# machine, may turn one answer of many: hence the tolerance.
RECORD = json.loads(text_of("tests/measures.json"))


@pytest.mark.parametrize(("fields", "recorded"), RECORD)
def test_measures_are_the_recorded_ones(fields, recorded):
    models = ex.train(ex.Settings(**fields), [1])
    measured = {name: value.item() for name, value in ex.measure(models).items()}
    assert measured == pytest.approx(recorded, abs=0.005)
