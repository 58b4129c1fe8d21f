"""Golden values of short trainings: drift here would change the records of chapters 11 and 15."""

import json
from pathlib import Path

import pytest

from posenc.book import experiments as ex
from posenc.book.experiments import Settings, train

RECORD = Path(__file__).with_name("measures.json")
MEASURED = json.loads(RECORD.read_text(encoding="utf-8"))
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0}


def measure(settings):
    """Measure two trained models; for the needle task, also after fine-tuning on longer texts."""
    models = train(settings, [1, 2])
    found = ex.measure(models)
    if settings.task == "needle":
        longer = ex.fine_tune(models, ex.Scaled(settings, DYNAMIC, 64), 24, steps=9)
        found |= {f"depth{part}": share for part, share in enumerate(ex.by_depth(longer, 24))}
    return {name: [round(float(one), 3) for one in each] for name, each in found.items()}


@pytest.mark.parametrize(("settings", "recorded"), MEASURED, ids=lambda each: each.get("task"))
def test_measures_are_the_recorded_ones(settings, recorded):
    """To record an intended difference: `.venv/bin/python tests/test_measures.py`."""
    found = measure(Settings(**settings))
    assert found.keys() == recorded.keys()
    for name, values in found.items():
        assert values == pytest.approx(recorded[name], abs=0.005), name


if __name__ == "__main__":
    rows = [json.dumps([each, measure(Settings(**each))]) for each, _ in MEASURED]
    RECORD.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
