"""Record the position fields of model configurations: classes' defaults and released files.

`python tools/models.py` instantiates every configuration class of the installed transformers and
writes the fields about positions to ``notebooks/data/models.json``. It also updates what
transformers computes for the released files. `make bench` installs it in ``.venv/bench``.

`python tools/models.py NAME REPOSITORY@COMMIT:PATH FILE [NOTE]` adds a released ``config.json`` to
``notebooks/data/released.json``: the model's name, the commit and path of the public copy that
FILE was read from, and a note if that copy isn't the original.
"""

import copy
import importlib
import json
import re
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

DATA = Path(__file__).parents[1] / "notebooks" / "data"
TELLING = re.compile(
    r"position|relative|alibi|rotary|rope|num_buckets|^(?:head_dim|hidden_size|num_attention_heads)$"
)
RELEASED = re.compile(
    TELLING.pattern
    + r"|pos_emb|head_dim|heads|n_head|n_embd|n_ctx|d_model|d_kv|model_type|layer|window"
    r"|seq_len|attention_chunk|pattern|interval|pos_att|pad_token_id|version"
)
UNTOLD = re.compile("norm|drop|moe|mlp|linear_|vision")


def configurations():
    """Return each model type's fields about positions and the width of heads."""
    from transformers import CONFIG_MAPPING

    found = {}
    for name in sorted(CONFIG_MAPPING):
        try:
            said = sorted(CONFIG_MAPPING[name]().to_dict().items())
        except Exception as error:  # a class that needs arguments
            print(f"{name}: {type(error).__name__}")
            continue
        kept = {key: value for key, value in said if TELLING.search(key)}
        found[name] = {k: v for k, v in kept.items() if not isinstance(v, list | str | None)}
    return {name: kept for name, kept in found.items() if kept}


def telling(config):
    """Return a released file's fields about positions and the width of heads."""
    nested = {n: telling(config[n]) for n in ("text_config", "attn_config") if n in config}
    kept = {n: config[n] for n in config if RELEASED.search(n) and not UNTOLD.search(n)}
    return {n: (kept | nested)[n] for n in config if n in kept | nested}


def rotation(config):
    """Return the frequencies and factor that the model's code computes, by kind of layer."""
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    found = {}
    for name, kind in vars(module).items():
        ours = "Rotary" in name and "Vision" not in name and kind.__module__ == module.__name__
        if found or not ours or not hasattr(kind, "compute_default_rope_parameters"):
            continue
        layer = kind(config=config)
        for buffer, frequencies in layer.named_buffers():
            label = buffer.removesuffix("inv_freq")
            if buffer.endswith("inv_freq") and "original" not in label:
                factor = getattr(layer, f"{label}attention_scaling", None)
                found[label.rstrip("_") or "all layers"] = {
                    "frequencies": frequencies.tolist(),
                    "attention_factor": float(factor or layer.attention_scaling),
                }
    return found


def released():
    """Return the released files with the factor and a few frequencies from transformers."""
    from transformers import CONFIG_MAPPING

    record = json.loads((DATA / "released.json").read_text(encoding="utf-8"))
    for entry in record.values():
        config, layers = copy.deepcopy(entry["config"]), {}
        kind = config.pop("model_type")
        if kind in CONFIG_MAPPING and "cut down" not in entry.get("note", ""):
            layers = rotation(CONFIG_MAPPING[kind](**config).get_text_config())
        for values in layers.values():
            omega = values["frequencies"]
            values["frequencies"] = [omega[0], omega[1], omega[len(omega) // 2], omega[-1]]
        entry.pop("transformers", None)
        entry |= {"transformers": layers} if layers else {}
    return record


def write(name, record):
    """Write a data file, with each flat list on one line."""
    text = json.dumps(record, indent=1, default=str, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text)
    (DATA / name).write_text(text + "\n", encoding="utf-8")


def add(name, source, file, note=None):
    """Add a released file to the record."""
    record = json.loads((DATA / "released.json").read_text(encoding="utf-8"))
    said = {"source": source, "read": str(date.today())} | ({"note": note} if note else {})
    record[name] = said | {"config": telling(json.loads(Path(file).read_text(encoding="utf-8")))}
    write("released.json", dict(sorted(record.items(), key=lambda each: each[0].casefold())))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(add(*sys.argv[1:]))
    made = {"made by": "tools/models.py", "transformers": version("transformers")}
    write("models.json", made | {"date": str(date.today()), "models": configurations()})
    write("released.json", released())
