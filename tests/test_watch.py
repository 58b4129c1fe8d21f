"""What posenc reads agrees with transformers, which `make bench` installs."""

import copy
import json
import re
from importlib import import_module

import numpy as np
import pytest

transformers = pytest.importorskip("transformers", reason="run by `make bench`")

import watch  # noqa: E402

from posenc import read_config  # noqa: E402

RELEASED = json.loads(watch.DEFAULTS.with_name("released.json").read_text("utf-8"))


@pytest.mark.parametrize("name", RELEASED)
def test_released_files_are_read_as_transformers_reads_them(name):
    known, config = transformers.CONFIG_MAPPING, RELEASED[name]["config"]
    if config["model_type"] not in known or "cut down" in RELEASED[name].get(
        "note", ""
    ):
        pytest.skip("transformers has no class for it")
    fields = {field: value for field, value in config.items() if field != "model_type"}
    built = known[config["model_type"]](**copy.deepcopy(fields)).get_text_config()
    module = import_module(
        type(built).__module__.replace("configuration_", "modeling_")
    )
    kinds = [
        vars(module)[each]
        for each in vars(module)
        if re.search("^(?!.*Vision).*Rotary", each)
    ]
    kinds = [each for each in kinds if hasattr(each, "compute_default_rope_parameters")]
    for layers in read_config(config).layers if kinds else ():
        theirs, label = kinds[0](config=built), f"{layers.name}_"
        label = label if hasattr(theirs, f"{label}inv_freq") else ""
        omega = getattr(theirs, f"{label}inv_freq", None)
        if layers.frequencies and omega is not None:
            np.testing.assert_allclose(layers.frequencies, omega, rtol=1e-5)
            factor = vars(theirs)[f"{label}attention_scaling"]
            assert layers.attention_factor == pytest.approx(factor)


def test_every_class_that_turns_is_read_as_it_runs():
    """Tiny models are built, run and watched; the reader agrees layer by layer."""
    agree, seen, apart = set(), 0, {}
    for kind, _, config, layers in watch.watched():
        if config is not None and watch.turning(layers):
            asked = (config.to_dict(), config.to_diff_dict())
            found = [
                each for said in asked for each in watch.differences(kind, said, layers)
            ]
            apart |= {kind: found} if found else {}
            agree |= set() if found else {kind}
            seen += len(layers)
    print(f"{len(agree)} types agree, {seen} layers were watched")
    assert apart.keys() == watch.APART.keys(), apart
    assert len(agree) > 175


def test_tables_are_those_of_the_classes():
    known = json.loads(watch.RECORD.read_text("utf-8"))
    recorded = {
        kind: each["tables"] for kind, each in known.items() if "tables" in each
    }
    assert {kind: seen for kind, _, seen, _ in watch.every_tabled(known)} == recorded


def test_the_record_of_defaults_is_what_the_classes_say():
    recorded = json.loads(watch.DEFAULTS.read_text("utf-8"))
    if recorded["transformers"] != transformers.__version__:
        pytest.skip(f"recorded with {recorded['transformers']}: run tools/watch.py")
    assert json.loads(json.dumps(watch.defaults(), default=str)) == recorded["models"]
