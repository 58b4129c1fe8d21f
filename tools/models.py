"""Record what the configurations of transformers say of positions: `python tools/models.py`.

It makes every configuration class of the installed transformers with its defaults, which are those
of one published model each, as a rule, and writes the fields that tell how positions enter to
``notebooks/data/models.json``. `make bench` installs transformers in ``.venv/bench``.
"""

from __future__ import annotations

import datetime
import json
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import transformers

OUT = Path(__file__).parents[1] / "notebooks" / "data" / "models.json"
TELLING = re.compile(
    r"position|relative|alibi|rotary|rope|num_buckets|^(?:head_dim|hidden_size|num_attention_heads)$"
)
PARTS = ("text_config", "decoder", "thinker_config")


def fields(config: transformers.PreTrainedConfig) -> dict[str, Any]:
    """The fields of a configuration that have to do with positions, and the width of its heads."""
    found = sorted(config.to_dict().items())
    return {
        name: value
        for name, value in found
        if TELLING.search(name) and value is not None and not isinstance(value, (list, str))
    }


def configurations() -> dict[str, dict[str, Any]]:
    """The fields of every model type; of models with several parts, those that read text too."""
    found = {}
    for name, kind in transformers.CONFIG_MAPPING.items():
        try:
            config = kind()
        except Exception as error:  # a class that can't be made without arguments
            print(f"{name}: {type(error).__name__}")
            continue
        found[name] = fields(config)
        for part in PARTS:
            inner = getattr(config, part, None)
            if isinstance(inner, transformers.PreTrainedConfig):
                found[f"{name}.{part}"] = fields(inner)
    return {name: telling for name, telling in sorted(found.items()) if telling}


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    record = {
        "made by": "tools/models.py",
        "transformers": transformers.__version__,
        "date": datetime.date.today().isoformat(),
        "models": configurations(),
    }
    OUT.parent.mkdir(exist_ok=True)
    lines = json.dumps(record, indent=1, default=str, ensure_ascii=False)
    OUT.write_text(lines + "\n", encoding="utf-8")
    print(f"{len(record['models'])} configurations of transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
