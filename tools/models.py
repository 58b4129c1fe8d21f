"""Record the position fields of configurations: classes' defaults and released files.

`python tools/models.py` instantiates every configuration class of the installed transformers and
writes the fields about positions to ``notebooks/data/models.json``. For the files in
``notebooks/data/released.json`` it writes what transformers computes. `make bench` installs it in
``.venv/bench``.
"""

import copy
import importlib
import json
import re
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path

DATA = Path(__file__).parents[1] / "notebooks" / "data"
TELLING = re.compile(
    r"position|relative|alibi|rotary|rope|num_buckets|^(?:head_dim|hidden_size|num_attention_heads)$"
)


def configurations():
    """Return each model type's fields about positions and the width of heads."""
    from transformers import CONFIG_MAPPING

    found = {}
    for name in sorted(CONFIG_MAPPING):
        with suppress(Exception):  # a class that needs arguments
            said = sorted(CONFIG_MAPPING[name]().to_dict().items())
            kept = {key: value for key, value in said if TELLING.search(key)}
            found[name] = {k: v for k, v in kept.items() if not isinstance(v, list | str | None)}
    return {name: kept for name, kept in found.items() if kept}


def rotation(config):
    """Return some frequencies and the factor that a model's code computes, by kind of layer."""
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    kinds = [
        vars(module)[name] for name in vars(module) if re.search("^(?!.*Vision).*Rotary", name)
    ]
    kinds = [kind for kind in kinds if hasattr(kind, "compute_default_rope_parameters")]
    found, layer = {}, kinds[0](config=config) if kinds else None
    for buffer, frequencies in layer.named_buffers() if kinds else ():
        label = buffer.removesuffix("inv_freq")
        if buffer.endswith("inv_freq") and "original" not in label:
            factor = getattr(layer, f"{label}attention_scaling", None) or layer.attention_scaling
            omega = frequencies.tolist()
            found[label.rstrip("_") or "all layers"] = {
                "frequencies": [omega[0], omega[1], omega[len(omega) // 2], omega[-1]],
                "attention_factor": float(factor),
            }
    return found


def released():
    """Return the released files with the factor and a few frequencies from transformers."""
    from transformers import CONFIG_MAPPING

    record = json.loads((DATA / "released.json").read_text(encoding="utf-8"))
    for entry in record.values():
        entry.pop("transformers", None)
        config = copy.deepcopy(entry["config"])
        kind = config.pop("model_type")
        if kind in CONFIG_MAPPING and "cut down" not in entry.get("note", ""):
            layers = rotation(CONFIG_MAPPING[kind](**config).get_text_config())
            entry |= {"transformers": layers} if layers else {}
    return record


def write(name, record):
    """Write a data file, with each flat list on one line."""
    text = json.dumps(record, indent=1, default=str, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text)
    (DATA / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    made = {"made by": "tools/models.py", "transformers": version("transformers")}
    write("models.json", made | {"date": str(date.today()), "models": configurations()})
    write("released.json", released())
