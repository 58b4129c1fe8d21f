"""Record what configurations say of positions, of classes and of released models.

`python tools/models.py` makes every configuration class of the installed transformers with its
defaults, and writes the fields that tell how positions enter to ``notebooks/data/models.json``.
What is made of several parts counts once; the parts have classes of their own, as a rule.
`make bench` installs transformers in ``.venv/bench``.

`python tools/models.py NAME REPOSITORY@COMMIT:PATH FILE [NOTE]` adds a released ``config.json`` to
``notebooks/data/released.json``: the model's name, the public copy that FILE was read from (always
one at a commit), and what that copy is where it isn't the file itself.
"""

from __future__ import annotations

import copy
import datetime
import importlib
import json
import logging
import re
import sys
import warnings
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "notebooks" / "data"
TELLING = re.compile(
    r"position|relative|alibi|rotary|rope|num_buckets|^(?:head_dim|hidden_size|num_attention_heads)$"
)
RELEASED = re.compile(
    TELLING.pattern
    + r"|pos_emb|head_dim|heads|n_head|n_embd|n_ctx|d_model|d_kv|model_type|layer|window"
    r"|seq_len|attention_chunk|pattern|interval|pos_att|pad_token_id|transformers_version|version"
)


def fields(config: Any) -> dict[str, Any]:
    """The fields of a configuration that have to do with positions, and the width of its heads."""
    found = sorted(config.to_dict().items())
    return {
        name: value
        for name, value in found
        if TELLING.search(name) and value is not None and not isinstance(value, (list, str))
    }


def configurations() -> dict[str, dict[str, Any]]:
    """The fields of every model type."""
    import transformers

    found = {}
    for name in transformers.CONFIG_MAPPING:
        try:
            found[name] = fields(transformers.CONFIG_MAPPING[name]())
        except Exception as error:  # a class that can't be made without arguments
            print(f"{name}: {type(error).__name__}")
    return {name: telling for name, telling in sorted(found.items()) if telling}


def telling(config: dict[str, Any]) -> dict[str, Any]:
    """What a released file says of positions and of the width of heads."""
    kept = {}
    for name, value in config.items():
        if name in ("text_config", "attn_config"):
            kept[name] = telling(value)
        elif RELEASED.search(name) and not re.search(r"norm|drop|moe|mlp|linear_|vision", name):
            kept[name] = value
    return kept


def rotation(config: Any) -> dict[str, dict[str, Any]]:
    """What the model's own code computes: for each kind of layer its frequencies and factor."""
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    found: dict[str, dict[str, Any]] = {}
    for name, kind in vars(module).items():
        if "Rotary" not in name or not hasattr(kind, "compute_default_rope_parameters"):
            continue
        if "Vision" in name or kind.__module__ != module.__name__:
            continue
        layer = kind(config=config)
        for buffer, frequencies in layer.named_buffers():
            if buffer.endswith("inv_freq") and "original" not in buffer:
                label = buffer.removesuffix("inv_freq")
                factor = getattr(layer, f"{label}attention_scaling", None)
                found[label.rstrip("_") or "all layers"] = {
                    "frequencies": frequencies.tolist(),
                    "attention_factor": float(
                        layer.attention_scaling if factor is None else factor
                    ),
                }
        break
    return found


def released() -> dict[str, Any]:
    """The released files, each with some frequencies and the factor that transformers computes."""
    import transformers

    record: dict[str, Any] = json.loads((DATA / "released.json").read_text(encoding="utf-8"))
    for entry in record.values():
        config = copy.deepcopy(entry["config"])
        entry.pop("transformers", None)
        if config["model_type"] in transformers.CONFIG_MAPPING and "cut down" not in entry.get(
            "note", ""
        ):
            made = transformers.CONFIG_MAPPING[config.pop("model_type")](**config)
            kinds = rotation(made.get_text_config())
            for values in kinds.values():
                omega = values["frequencies"]
                values["frequencies"] = [omega[0], omega[1], omega[len(omega) // 2], omega[-1]]
            if kinds:
                entry["transformers"] = kinds
    return record


def write(name: str, record: dict[str, Any]) -> None:
    """Write a file of the folder, with lists of numbers or words on one line."""
    text = json.dumps(record, indent=1, default=str, ensure_ascii=False)
    flat = re.compile(r"\[[^\[\]{}]*\]")
    text = flat.sub(lambda found: re.sub(r"\s+", " ", found[0]), text)
    (DATA / name).write_text(text + "\n", encoding="utf-8")


def add(name: str, source: str, file: str, note: str = "") -> None:
    """Add a released file."""
    record = json.loads((DATA / "released.json").read_text(encoding="utf-8"))
    config = json.loads(Path(file).read_text(encoding="utf-8"))
    today = datetime.date.today().isoformat()
    record[name] = {"source": source, "read": today} | ({"note": note} if note else {})
    record[name]["config"] = telling(config)
    write("released.json", dict(sorted(record.items(), key=lambda each: each[0].casefold())))


def main() -> None:
    """Write a file."""
    if len(sys.argv) > 1:
        return add(*sys.argv[1:])
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    record = {
        "made by": "tools/models.py",
        "transformers": transformers.__version__,
        "date": datetime.date.today().isoformat(),
        "models": configurations(),
    }
    write("models.json", record)
    write("released.json", released())
    print(f"{len(record['models'])} configurations of transformers {transformers.__version__}")
    return None


if __name__ == "__main__":
    main()
