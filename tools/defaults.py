"""Record what the configuration classes of transformers say of positions by default.

`.venv/bench/bin/python tools/defaults.py` writes ``notebooks/data/models.json``, which chapters
read; `make bench` installs what it needs.
"""

import json
import re
from contextlib import suppress
from datetime import date
from pathlib import Path

import transformers

RECORD = Path(__file__).parents[1] / "notebooks" / "data" / "models.json"
# Fields that are recorded: max_position_embeddings, rope_theta, alibi; and what widths follow from.
ABOUT_POSITIONS = re.compile(
    "position|relative|alibi|rotary|rope|num_buckets"
    "|^(?:head_dim|hidden_size|num_attention_heads)$"
)


def defaults():
    """Return each type's defaults of fields about positions and the width of heads."""
    models = {}
    for name, config in sorted(transformers.CONFIG_MAPPING.items()):
        usual = {}
        with suppress(Exception):  # a class that needs arguments
            usual = config().to_dict()
        # Chapters compare numbers, switches, and mappings as `rope_parameters`.
        fields = {
            field: value
            for field, value in sorted(usual.items())
            if ABOUT_POSITIONS.search(field)
            and not isinstance(value, list | str | None)
        }
        if fields:
            models[name] = fields
    return models


if __name__ == "__main__":
    made = {
        "made by": "tools/defaults.py",
        "transformers": transformers.__version__,
        "date": str(date.today()),
        "models": defaults(),
    }
    text = json.dumps(made, indent=1, default=str, ensure_ascii=False)
    RECORD.write_text(text + "\n", encoding="utf-8")
